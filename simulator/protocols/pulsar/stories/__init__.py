"""The story of one message of a failover, step by step, in words."""
