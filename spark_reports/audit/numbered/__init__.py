"""Counts logs in Parquet whose messages have integer keys: two scans, counted with NumPy inside tasks."""
