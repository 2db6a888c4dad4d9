"""The files of a finished report: their names and types."""

from __future__ import annotations

from visualizer.tasks.files import Download

DOWNLOADS = (
    Download(
        "html", "report.html", "text/html; charset=utf-8", "the whole report as one page that opens offline"
    ),
    Download("csv", "figures.csv", "text/csv; charset=utf-8", "every figure, one line a failover"),
    Download(
        "parquet",
        "deliveries.parquet",
        "application/vnd.apache.parquet",
        "every delivery with its verdict and cause",
    ),
    Download("json", "report.json", "application/json", "everything the page was made from"),
    Download("trace", "trace.parquet", "application/vnd.apache.parquet", "the run's trace, row by row"),
)
