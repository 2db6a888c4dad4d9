"""Audits of consumption logs: duplicates per subscription and partition, from people's own logs.

Rules: a log is read by Spark and becomes canonical rows (`columns.py`). Counting, findings and page read only
those. What a log cannot prove is None in the result and called unknown on the page.
"""
