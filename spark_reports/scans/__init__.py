"""Scans of trace files inside tasks, by messages."""
