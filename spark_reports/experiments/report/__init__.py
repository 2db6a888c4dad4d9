"""The report of an experiment: statistics, page and JSON, from one row per run.

Nothing here starts Spark. `docs/reports.md` describes methods and files.
"""

from spark_reports.experiments.report.write import PAGE, write_report

__all__ = ["PAGE", "write_report"]
