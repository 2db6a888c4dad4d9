"""Runs that were recorded on real brokers: their rows are played, and the state is derived from them."""
