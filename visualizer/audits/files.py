"""The files of a finished audit: their names and types, and its scenario as a link to My set-up."""

from __future__ import annotations

import base64
import zlib

from django.urls import reverse

from visualizer.audits.models import Audit
from visualizer.tasks.files import Download

DOWNLOADS = (
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

SCENARIO = "scenario.yaml"


def downloads_of(row: Audit) -> list[Download]:
    """The files that the audit has."""
    return [one for one in DOWNLOADS if one.path_in(row.result) is not None]


def set_up_link(row: Audit) -> str:
    """The link that opens the audit's scenario in My set-up; empty without a scenario.

    The text is in the fragment, as `static/js/wire/text_link.js` reads it.
    """
    path = row.result / SCENARIO
    if not path.is_file():
        return ""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(path.read_bytes()) + packer.flush()
    letters = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return f"{reverse('visualizer:set-up')}#yaml={letters}"
