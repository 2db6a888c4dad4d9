"""The files of an experiment: their names, types and paths.

Rules: names come from this table, never from a request. The worker writes each file aside and renames it, so
a file that exists is complete.
"""

from __future__ import annotations

from visualizer.tasks.files import Download

DOWNLOADS = (
    Download("html", "sweep.html", "text/html; charset=utf-8", "the report as one page that opens offline"),
    Download("json", "sweep.json", "application/json", "every figure of the report"),
    Download("parquet", "runs.parquet", "application/vnd.apache.parquet", "one row for each run"),
)

TEXT = "experiment.yaml"
"""The name of the experiment's own text as a download."""
