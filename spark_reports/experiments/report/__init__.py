"""The report of an experiment: statistics, page and JSON, from one row per run; `write` makes it.

Nothing here starts Spark. `docs/reports.md` describes methods and files.
"""
