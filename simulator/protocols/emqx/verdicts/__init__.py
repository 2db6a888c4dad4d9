"""Causes of the duplicates of shared groups, lost messages, and hand-overs of streams."""
