"""Runs drawn in columns on one clock: one under every strategy, or a real run and its simulated twin."""
