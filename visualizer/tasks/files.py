"""The files of a finished task: their names and types, and how they are sent.

Rules: names come from the table of the kind of task, never from a request. A page is served with a content
security policy of its own: it contains its scripts and styles, and may load nothing.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.http import FileResponse, HttpResponse

PAGE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
    "frame-ancestors 'self'; sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox "
    "allow-modals allow-downloads"
)


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Numbers of errors that mean that the disk is full."""

PART_BYTES = 1 << 18
"""Bytes of a file that are read, and held, at once."""


class FileInParts(FileResponse):
    """A file that is read part by part as it is sent. Under ASGI, Django's own holds the whole file."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self.file_to_stream is not None, "it is made of an open file"
        while part := await asyncio.to_thread(self.file_to_stream.read, PART_BYTES):
            yield part


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download, at `place` inside the task's folder.

    If `place` is a folder, the file is the one Parquet file that Spark wrote in it.
    """

    kind: str
    place: str
    content_type: str
    says: str

    def path_in(self, folder: Path) -> Path | None:
        """The path of the file; None when it does not exist."""
        path = folder / self.place
        if path.is_dir():
            parts = sorted(path.glob("part-*.parquet"))
            return parts[0] if parts else None
        return path if path.is_file() else None


REPORT_FILES = (
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

EXPERIMENT_FILES = (
    Download("html", "sweep.html", "text/html; charset=utf-8", "the report as one page that opens offline"),
    Download("json", "sweep.json", "application/json", "every figure of the report"),
    Download("parquet", "runs.parquet", "application/vnd.apache.parquet", "one row for each run"),
)

EXPERIMENT_TEXT = "experiment.yaml"
"""The name of the experiment's own text as a download."""

AUDIT_FILES = (
    Download("html", "audit.html", "text/html; charset=utf-8", "the report as one page that opens offline"),
    Download("csv", "audit.csv", "text/csv; charset=utf-8", "one line per subscription and partition"),
    Download("json", "audit.json", "application/json", "every figure of the report"),
    Download(
        "parquet",
        "repeated.parquet",
        "application/vnd.apache.parquet",
        "one row for each message that was delivered more than once",
    ),
    Download("yaml", "scenario.yaml", "application/yaml", "a scenario with the measured rates and times"),
    Download("unreadable", "unreadable.jsonl", "application/jsonl", "rows that could not be read"),
)


def file_response(
    folder: Path | None, table: Sequence[Download], kind: str, prefix: str | None = None
) -> HttpResponse:
    """One of a task's files: as a download whose name begins with `prefix`, else as a page of the site."""
    known = next((entry for entry in table if entry.kind == kind), None)
    path = known.path_in(folder) if known is not None and folder is not None else None
    if path is None or known is None:
        return HttpResponse(
            "There is no such file. It is not made yet, or it was deleted.",
            status=404,
            content_type="text/plain; charset=utf-8",
        )
    return FileInParts(
        path.open("rb"),
        as_attachment=prefix is not None,
        filename=f"{prefix or 'page'}-{known.place}",
        content_type=known.content_type,
        headers={} if prefix is not None else {"Content-Security-Policy": PAGE_POLICY},
    )
