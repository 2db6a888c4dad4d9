"""Answers to a page's questions about a lab beside the live stream: rows, tiles, curves, stories."""
