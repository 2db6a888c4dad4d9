"""Sharing a run: its document, the link that holds it, its scenario and its trace as files."""
