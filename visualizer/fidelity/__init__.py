"""The page of the comparison with real brokers."""
