"""Trace files as JSON lines: the metadata of the run in the first line, then one object for each row.

Rules: it needs no pyarrow, so that a site can show recordings before Spark is installed. A file that ends in
`.gz` is read through gzip. `simulator.trace.files` chooses between this format and Parquet by a file's name.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from simulator.trace.registry import NULL, Vocabulary
from simulator.trace.trace import BLOCK_ROWS, Trace

FILE_FORMAT = 1
METADATA_KEY = "failover-lab"
HEAD_CHARACTERS_MAX = 64_000_000
"""The longest first line: the largest scenario, and the names of the largest run."""


class TraceFileError(ValueError):
    """The file is not a trace this version can read, or its name has no known format."""


@contextmanager
def _lines_of(path: Path) -> Iterator[IO[str]]:
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as lines
        ):
            yield lines
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise TraceFileError(f"{path.name} is not a complete gzip file: {error}") from error


def full_meta(trace: Trace, meta: dict[str, Any]) -> dict[str, Any]:
    """The metadata of a file with this trace; `meta` is about the run that made it."""
    return {
        "format": FILE_FORMAT,
        **meta,
        "trace_sha256": trace.digest(),
        "rows": len(trace),
        "names": trace.names,
    }


def json_lines_meta(path: Path) -> dict[str, Any]:
    """The metadata in the first line of a file."""
    with _lines_of(path) as lines:
        return meta_of_line(path, lines.readline(HEAD_CHARACTERS_MAX))


def write_json_lines(path: Path, trace: Trace, meta: dict[str, Any]) -> None:
    """Write the metadata and every row."""
    with path.open("w", encoding="utf-8") as lines:
        lines.write(json.dumps({METADATA_KEY: meta}, separators=(",", ":")) + "\n")
        for first in range(0, len(trace), BLOCK_ROWS):
            for row in trace.rows(first, first + BLOCK_ROWS):
                lines.write(json.dumps(row, separators=(",", ":")) + "\n")


def json_line_rows(path: Path, trace: Trace) -> Iterator[tuple[int, ...]]:
    """The rows of a file as the engine's tuples; `trace` gets their names."""
    with _lines_of(path) as lines:
        next(lines)
        for number, line in enumerate(lines, start=2):
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise TraceFileError(f"{path.name} line {number} is not JSON: {error.msg}") from error
            check_seq(path, len(trace), row.get("seq"))
            code = event_code(path, trace.vocabulary, row.get("type"))
            values = (row.get(name, NULL) for name in trace.vocabulary.types[code].fields)
            fields = (trace.intern(value) if isinstance(value, str) else value for value in values)
            yield (code, row["at_us"], row.get("cause_seq", NULL), *fields)


def fill_trace(
    trace: Trace,
    path: Path,
    meta: dict[str, Any],
    rows: Iterable[tuple[int, ...]],
    rows_max: int | None = None,
) -> None:
    """Add the rows of a file to an empty trace, and check that they have the digest that the file names.

    Raises TraceFileError, also when there are more than `rows_max` rows.
    """
    for name in meta["names"]:
        trace.intern(name)
    for row in rows:
        if rows_max is not None and len(trace) == rows_max:
            raise TraceFileError(f"{path.name} has more than {rows_max:,} rows")
        trace.append(row)
    if trace.digest() != meta["trace_sha256"]:
        raise TraceFileError(
            f"{path.name}: the rows do not have the digest that the file names; it was changed after it "
            f"was written"
        )


def check_seq(path: Path, expected: int, seq: int | None) -> None:
    if seq != expected:
        raise TraceFileError(f"{path.name}: row {expected} says seq {seq}; seqs run from 0 without holes")


def event_code(path: Path, vocabulary: Vocabulary, word: str | None) -> int:
    code = None if word is None else vocabulary.code.get(word)
    if code is None:
        raise TraceFileError(f"{path.name}: {word!r} is not an event type of this version")
    return code


def meta_of_line(path: Path, line: str) -> dict[str, Any]:
    try:
        head = json.loads(line)
    except json.JSONDecodeError as error:
        raise TraceFileError(f"{path.name} line 1 is not JSON: {error.msg}") from error
    return checked_meta(
        path, json.dumps(head[METADATA_KEY]) if isinstance(head, dict) and METADATA_KEY in head else None
    )


def checked_meta(path: Path, text: str | bytes | None) -> dict[str, Any]:
    if text is None:
        raise TraceFileError(
            f"{path.name} is not a Failover Lab trace: it lacks the {METADATA_KEY!r} header that `simulate "
            "--trace` writes"
        )
    meta = json.loads(text)
    if meta.get("format") != FILE_FORMAT:
        raise TraceFileError(
            f"{path.name} has trace format {meta.get('format')}; this version reads format {FILE_FORMAT}"
        )
    return meta
