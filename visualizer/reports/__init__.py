"""Reports on the site: requesting one, following its progress, reading it.

The task worker makes the report.
"""
