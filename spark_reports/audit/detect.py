"""Recognises the format of each file of an input, by name and first lines."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import SparkSession

from spark_reports.audit import documents
from spark_reports.audit.errors import AuditError, columns_text
from spark_reports.audit.formats import verifiable
from spark_reports.audit.inputs import InputFile, bare_line, first_lines, flat_columns
from spark_reports.audit.mapping import READY, Mapping

PARQUET, CSV, JSON_LINES, TEXT = "parquet", "csv", "jsonl", "text"
AUTO = "auto"
SPANS, VERIFIABLE, STATS_INTERNAL = "spans", "verifiable", "stats-internal"
FORMATS = (JSON_LINES, CSV, PARQUET, TEXT, SPANS, VERIFIABLE, STATS_INTERNAL)
_BY_SUFFIX = {"parquet": PARQUET, "csv": CSV, "tsv": CSV}
STATISTICS_BEGIN = ("entriesAddedCounter", "lastConfirmedEntry", "metadata")
LINE_CHARACTERS_SHOWN = 300
SNIFFED_FILES = 20
"""Files of one folder and suffix that are opened to recognise their format; the others count as the last."""


def sorted_by_format(
    spark: SparkSession, files: Sequence[InputFile], wanted: str, mapping: Mapping
) -> dict[str, list[InputFile]]:
    """The files of each format. Raises AuditError for a file that is no log."""
    if wanted == TEXT and not mapping.pattern:
        raise AuditError(
            "text needs a regular expression with named groups; write `pattern:` or the name of a ready "
            "mapping with --mapping"
        )
    found: dict[str, list[InputFile]] = {}
    opened: dict[tuple[str, str], list[tuple[str, bool]]] = {}
    for file in files:
        own = _BY_SUFFIX.get(file.suffix) if wanted == AUTO else wanted
        if mapping.pattern and wanted == AUTO and own != PARQUET:
            own = TEXT
        if own in (PARQUET, STATS_INTERNAL):
            found.setdefault(own, []).append(file)
            continue
        alike = opened.setdefault((file.path.rpartition("/")[0], file.suffix), [])
        if len(alike) < SNIFFED_FILES:
            alike.append(_recognised(spark, file, own, mapping))
        kind, whole = alike[-1]
        found.setdefault(kind, []).append(_bounded(file._replace(whole=whole), kind))
    return found


def _recognised(spark: SparkSession, file: InputFile, own: str | None, mapping: Mapping) -> tuple[str, bool]:
    """The format of a file, unless its name or the command says it, and whether it is read at once."""
    lines = first_lines(spark, file)
    if own == TEXT:
        as_json = bool(mapping.fields)
        return TEXT, _is_wide(lines) or (
            as_json and (_is_whole(lines, False) or _is_long_line(spark, file, lines))
        )
    if own is None and _is_statistics("\n".join(lines)):
        return STATS_INTERNAL, False
    whole = _is_whole(lines, own == CSV) or (own != CSV and _is_long_line(spark, file, lines))
    if whole:
        lines = first_lines(spark, _bounded(file._replace(whole=True), own or JSON_LINES))
    kind = own or format_of_lines(lines, mapping)
    if kind is None:
        raise AuditError(f"{file.path}: {_unknown(lines)}")
    return kind, whole and kind != STATS_INTERNAL


def _is_wide(lines: Sequence[str]) -> bool:
    """Whether a text is UTF-16 or UTF-32, whose lines Spark's reader does not find."""
    return any("\0" in line for line in lines[:2])


def _is_whole(lines: Sequence[str], cells: bool) -> bool:
    """Whether a file's rows are not its lines: it is no UTF-8, or a JSON value has several lines."""
    if _is_wide(lines):
        return True
    bare = [line for line in map(bare_line, lines) if line is not None]
    first = next((place for place, line in enumerate(bare) if documents.begin_of(line) is not None), None)
    if cells or first is None or documents.is_list(bare[first], alone=False):
        return not cells and first is not None
    rest = bare[first:]
    is_list = documents.is_list("\n".join(rest))
    if _object(bare[first]) is not None:
        return is_list and not any(line.strip() for line in rest[1:])
    if is_list:
        return True
    return sum(_object(line) is not None for line in rest) * 2 < len(rest)


def _is_long_line(spark: SparkSession, file: InputFile, lines: Sequence[str]) -> bool:
    """Whether a file without recognised lines is JSON in a line that is too long to be sniffed."""
    if any(_object(line) is not None for line in map(bare_line, lines) if line is not None):
        return False
    first = first_lines(spark, file, end="}")
    return bool(first) and documents.begin_of(first[0]) is not None


def _bounded(file: InputFile, kind: str) -> InputFile:
    """The file. Raises AuditError for one that is read at once and is too large, or that never is."""
    if file.whole and kind == VERIFIABLE:
        raise AuditError(
            f"{file.path}: the output of Kafka's verifiable tools has one object per line in UTF-8; save it "
            f"unchanged"
        )
    if file.whole and file.size_bytes > documents.DOCUMENT_MIB << 20:
        raise AuditError(
            f"{file.path}: {file.size_bytes:,} bytes of one JSON array or of text that is not UTF-8; at most "
            f"{documents.DOCUMENT_MIB} MiB are read at once. Write one object per line, for example with "
            f"jq -c '.[]', and UTF-8, for example with iconv -f UTF-16 -t UTF-8"
        )
    return file


def _unknown(lines: Sequence[str]) -> str:
    """What a file without a known format has, and what would be right."""
    found = _columns(lines)
    if found:
        return columns_text(found)
    line = next((line.strip() for line in lines if line.strip()), "")
    return (
        f"it is no log in a known format; formats are {', '.join(FORMATS)}. Name one with --format, and its "
        f"columns with --mapping; for text there are ready mappings ({', '.join(READY)}), or a `pattern`. "
        f"Its first line: {line[:LINE_CHARACTERS_SHOWN]}"
    )


def _columns(lines: Sequence[str]) -> dict[str, str]:
    """The columns of JSON Lines, each with the first value."""
    found: dict[str, str] = {}
    for row in map(_object, filter(None, map(bare_line, lines))):
        for name, value in flat_columns(row or {}).items():
            found[name] = found.get(name) or value
    return found


def columns_of(spark: SparkSession, found: dict[str, list[InputFile]], mapping: Mapping) -> str:
    """What the first file of JSON Lines or text has, as a sentence; empty for other formats."""
    for kind in (JSON_LINES, TEXT):
        for file in found.get(kind, [])[:1]:
            lines = first_lines(spark, file)
            columns = _columns(lines) if kind == JSON_LINES else {}
            if columns:
                return f" {file.path}: {columns_text(columns)}"
            line = next((line.strip() for line in lines if line.strip()), "")
            return f" The first line of {file.path}: {line[:LINE_CHARACTERS_SHOWN]}"
    return ""


def format_of_lines(lines: Sequence[str], mapping: Mapping) -> str | None:
    """The format of a text that begins with these lines, or None."""
    bare = [line for line in map(bare_line, lines) if line is not None]
    rows = [row for row in map(_object, bare) if row is not None]
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
    """Whether a text begins as the output of `topics stats-internal`, or as an array of it."""
    begin = documents.begin_of(text)
    if begin is None or documents.is_list(text[begin:]):
        return False
    names = STATISTICS_BEGIN[:2] if text[begin:].lstrip().startswith("[") else STATISTICS_BEGIN
    return any(f'"{name}"' in text for name in names)


def _object(line: str) -> dict | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
