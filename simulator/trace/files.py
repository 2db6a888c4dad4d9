"""Trace files: a trace written as Parquet or JSON lines, and read back with the same digest.

Rules: columns are `seq` and then the registry's, in its order. Names are strings, missing values nulls. The
run that made the rows (format, engine version, scenario, seed, commands, digest, end) is one JSON object
under the key `failover-lab`, with the name table, so that reading restores the same trace. Rows are written
and read in row groups of one sealed block, so memory use is constant. A file gets its name only when it is
complete.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from simulator.trace.json_lines import (
    METADATA_KEY,
    TraceFileError,
    check_seq,
    checked_meta,
    event_code,
    fill_trace,
    full_meta,
    json_line_rows,
    json_lines_meta,
    write_json_lines,
)
from simulator.trace.registry import COLUMNS, INTEGER, NAME, NULL, Vocabulary
from simulator.trace.trace import BLOCK_ROWS, Trace

SUFFIXES = (".parquet", ".jsonl")

SCHEMA = pa.schema(
    [pa.field("seq", pa.int64(), nullable=False)]
    + [
        pa.field(name, pa.int64() if kind == INTEGER else pa.string(), nullable=name not in ("at_us", "type"))
        for name, (kind, _) in COLUMNS.items()
    ]
)


@dataclass(frozen=True, slots=True)
class TraceFile:
    """The result of `read_trace`: the rows, and the run that made them."""

    trace: Trace
    meta: dict[str, Any]


def write_trace(path: str | Path, trace: Trace, meta: dict[str, Any]) -> None:
    """Write every row to `path` (.parquet or .jsonl).

    `meta` has engine_version, scenario, seed, commands and until_us.
    """
    path = Path(path)
    writer = {".parquet": _write_parquet, ".jsonl": write_json_lines}.get(path.suffix)
    if writer is None:
        raise TraceFileError(f"{path.name}: a trace file ends in .parquet or .jsonl")
    partial = path.with_name(path.name + ".partial")
    try:
        writer(partial, trace, full_meta(trace, meta))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def read_meta(path: str | Path) -> dict[str, Any]:
    """The metadata of the run that made a trace file, without its rows."""
    path = Path(path)
    if path.suffix in (".jsonl", ".gz"):
        return json_lines_meta(path)
    if path.suffix != ".parquet":
        raise TraceFileError(f"{path.name}: a trace file ends in .parquet or .jsonl")
    try:
        with parquet.ParquetFile(path) as file:
            return checked_meta(path, (file.schema_arrow.metadata or {}).get(METADATA_KEY.encode()))
    except pa.ArrowInvalid as error:
        raise TraceFileError(f"{path.name} is not a Parquet file: {error}") from error


def read_trace(path: str | Path, vocabulary: Vocabulary, rows_max: int | None = None) -> TraceFile:
    """Read a file that `write_trace` made, with the event types of `vocabulary`.

    Raises TraceFileError when its digest is not the one it was written with, or when it has more than
    `rows_max` rows.
    """
    path = Path(path)
    meta = read_meta(path)
    trace = Trace(vocabulary)
    rows = _parquet_rows(path, trace) if path.suffix == ".parquet" else json_line_rows(path, trace)
    fill_trace(trace, path, meta, rows, rows_max)
    return TraceFile(trace, meta)


# --- Parquet


class ParquetParts:
    """A trace as the bytes of a Parquet file, made in parts, for a reader that cannot wait for the whole.

    `meta` is that of the complete file (`full_meta`). Memory holds the rows of one row group. Bytes without
    those of `end` have no footer, so no reader takes them for a complete file.
    """

    def __init__(self, meta: dict[str, Any]) -> None:
        self._schema = _schema_of(meta)
        self._sink = _Parts()
        self._writer = _parquet_writer(cast("IO[bytes]", self._sink), self._schema)
        self._waiting: list[pa.Table] = []
        self._rows = 0

    def add(self, rows: list[dict[str, Any]]) -> bytes:
        """Add rows as `Trace.rows` gives them. Returns the bytes of the row groups that they complete."""
        self._waiting.append(pa.Table.from_pylist(rows, schema=self._schema))
        self._rows += len(rows)
        while self._rows >= BLOCK_ROWS:
            self._write_group()
        return self._sink.taken()

    def end(self) -> bytes:
        """The last bytes: those of the rows left over, and the footer."""
        if self._rows:
            self._write_group()
        self._writer.close()
        return self._sink.taken()

    def _write_group(self) -> None:
        whole = pa.concat_tables(self._waiting)
        self._writer.write_table(whole.slice(0, BLOCK_ROWS).combine_chunks(), row_group_size=BLOCK_ROWS)
        self._waiting = [whole.slice(BLOCK_ROWS)]
        self._rows = self._waiting[0].num_rows


class _Parts(io.RawIOBase):
    """A file to write to, whose bytes are taken as they come."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _schema_of(meta: dict[str, Any]) -> pa.Schema:
    return SCHEMA.with_metadata({METADATA_KEY: json.dumps(meta, separators=(",", ":"))})


def _parquet_writer(file: Path | IO[bytes], schema: pa.Schema) -> parquet.ParquetWriter:
    names = [name for name, (kind, _) in COLUMNS.items() if kind == NAME and name != "type"]
    return parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=["type", *names])


def _write_parquet(path: Path, trace: Trace, meta: dict[str, Any]) -> None:
    schema = _schema_of(meta)
    names = pa.array(trace.names, pa.string())
    type_names = pa.array([event.name for event in trace.vocabulary.types], pa.string())
    with _parquet_writer(path, schema) as writer:
        for first in range(0, len(trace), BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, len(trace))
            columns = trace.columns(first, last)
            arrays = [pa.array(np.arange(first, last, dtype=np.int64))]
            arrays += [_arrow_column(columns[name], _words_of(name, names, type_names)) for name in COLUMNS]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=BLOCK_ROWS)


def _words_of(column: str, names: pa.Array, type_names: pa.Array) -> pa.Array | None:
    """The texts behind the numbers of a column; None when they are numbers in the file too."""
    if column == "type":
        return type_names
    return names if COLUMNS[column][0] == NAME else None


def _arrow_column(values: np.ndarray, words: pa.Array | None) -> pa.Array:
    numbers = pa.array(values, mask=values == NULL)
    return numbers if words is None else words.take(numbers)


def _parquet_rows(path: Path, trace: Trace) -> Iterator[tuple[int, ...]]:
    """The rows as the engine's tuples, column by column within a row group.

    Dictionaries would take ten times as long.
    """
    with parquet.ParquetFile(path) as file:
        missing = [name for name in SCHEMA.names if name not in file.schema_arrow.names]
        if missing:
            raise TraceFileError(
                f"{path.name} lacks the columns {', '.join(missing)}; write it again with this version"
            )
        for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=SCHEMA.names):
            columns = {name: _memory_column(path, trace, name, batch.column(name)) for name in SCHEMA.names}
            for row, (seq, code) in enumerate(zip(columns["seq"], columns["type"], strict=True)):
                check_seq(path, len(trace), seq)
                fields = trace.vocabulary.types[code].fields
                yield (
                    code,
                    columns["at_us"][row],
                    columns["cause_seq"][row],
                    *(columns[name][row] for name in fields),
                )


def _memory_column(path: Path, trace: Trace, name: str, values: pa.Array) -> list[int]:
    if pa.types.is_integer(values.type):
        return values.fill_null(NULL).to_pylist()
    encoded = values.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    numbers = (
        [event_code(path, trace.vocabulary, word) for word in words]
        if name == "type"
        else [trace.intern(word) for word in words]
    )
    return [NULL if index is None else numbers[index] for index in encoded.indices.to_pylist()]
