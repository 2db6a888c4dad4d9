"""A finished report's files: their names, types and paths.

Rules: names come from this table, never from a request. The page is served with a content security policy of
its own: it contains its scripts and styles, and may load nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from visualizer.reports.models import Report

PAGE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
    "frame-ancestors 'self'; sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox "
    "allow-modals allow-downloads"
)


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download, at `place` inside the report's folder.

    If `place` is a folder, the file is the one Parquet file that Spark wrote in it.
    """

    kind: str
    place: str
    content_type: str
    says: str


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


def path_of(report: Report, download: Download) -> Path | None:
    """The path of the file; None when it does not exist."""
    path = report.folder / download.place
    if path.is_dir():
        parts = sorted(path.glob("part-*.parquet"))
        return parts[0] if parts else None
    return path if path.is_file() else None
