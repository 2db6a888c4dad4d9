"""Recognises the format of each file of an input, by name and first lines."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import SparkSession

from spark_reports.audit.errors import AuditError
from spark_reports.audit.formats import verifiable
from spark_reports.audit.inputs import InputFile, first_lines
from spark_reports.audit.mapping import Mapping

PARQUET, CSV, JSON_LINES = "parquet", "csv", "jsonl"
AUTO = "auto"
SPANS, VERIFIABLE, STATS_INTERNAL = "spans", "verifiable", "stats-internal"
FORMATS = (JSON_LINES, CSV, PARQUET, SPANS, VERIFIABLE, STATS_INTERNAL)
_BY_SUFFIX = {"parquet": PARQUET, "csv": CSV, "tsv": CSV}
STATISTICS_BEGIN = ("entriesAddedCounter", "lastConfirmedEntry", "metadata")
SNIFFED_FILES = 20
"""Files of one folder and suffix that are opened to recognise their format; the others count as the last."""


def sorted_by_format(
    spark: SparkSession, files: Sequence[InputFile], wanted: str, mapping: Mapping
) -> dict[str, list[InputFile]]:
    """The files of each format. Raises AuditError for a file that is no log."""
    found: dict[str, list[InputFile]] = {}
    opened: dict[tuple[str, str], list[str]] = {}
    for file in files:
        if wanted != AUTO:
            found.setdefault(wanted, []).append(file)
            continue
        kind = _BY_SUFFIX.get(file.suffix)
        if kind is None:
            alike = opened.setdefault((file.path.rpartition("/")[0], file.suffix), [])
            kind = (
                alike[-1]
                if len(alike) >= SNIFFED_FILES
                else format_of_lines(first_lines(spark, file), mapping)
            )
            if kind is None:
                raise AuditError(
                    f"{file.path}: it is no log in a known format; formats are {', '.join(FORMATS)}. "
                    f"Name one with --format, and its columns with --mapping"
                )
            alike.append(kind)
        found.setdefault(kind, []).append(file)
    return found


def format_of_lines(lines: Sequence[str], mapping: Mapping) -> str | None:
    """The format of a text that begins with these lines, or None."""
    rows = [row for row in map(_object, lines) if row is not None]
    if any(row.get("name") in verifiable.NAMES and "timestamp" in row for row in rows):
        return VERIFIABLE
    if any("resourceSpans" in row or _is_span(row) for row in rows):
        return SPANS
    if _is_statistics("\n".join(lines)):
        return STATS_INTERNAL
    if mapping.given:
        return JSON_LINES if rows else None
    if any({"ts", "kind"} <= set(row) for row in rows):
        return JSON_LINES
    return None


def _is_span(row: dict) -> bool:
    """Whether an object is one span: it has ids of trace and span, and attributes inside or beside them."""
    ids = {"spanId", "span_id", "context"} & set(row)
    flat = any("messaging." in key for key in row)
    return flat or bool(ids and isinstance(row.get("attributes"), dict))


def _is_statistics(text: str) -> bool:
    """Whether a text begins as the output of `topics stats-internal`."""
    return text.lstrip().startswith("{") and any(f'"{name}"' in text for name in STATISTICS_BEGIN)


def _object(line: str) -> dict | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
