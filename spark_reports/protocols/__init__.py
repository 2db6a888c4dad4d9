"""What belongs to one protocol in a report: one folder each, with a manifest, listed in `table.py`."""
