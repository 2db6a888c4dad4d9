"""Causes of the duplicates of shared groups, lost messages, and handovers of streams."""
