"""Replicated subscriptions' snapshots (PIP-33): controller, builder, cache and lookup."""
