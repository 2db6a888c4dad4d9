"""One folder for each protocol's part of reports, with a manifest, listed in `table.py`."""
