"""Reads Parquet files inside tasks, for files that Python can open on every worker.

Rules: the rows are those that Spark would read, by the same columns and the same rule for instants
(`rows.timed`). Texts stay dictionaries from the file to the group, so no row's text is made or compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_reports.audit.numbered.grouping import BATCH_ROWS
from spark_reports.audit.numbered.hashing import usable_keys

Scan = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

UNREADABLE_MARK = "audit input that cannot be read:"
"""Begins the text of an error about a file."""
UNIT_BOUNDS = (10**11, 10**14, 10**17)
"""Numbers below each bound are s, ms and us; others are ns."""
FACTORS = (1_000_000, 1_000, 1)
"""Microseconds of s, ms and us."""
TEXT_CODE, NANOSECONDS = 5, 3
TEXT = pa.dictionary(pa.int32(), pa.string())


class Source(NamedTuple):
    """Where each column of a scan is in the files: its name there, or None.

    `constant` has texts that are the same in every row. `instant` is "timestamp", or the place of the
    declared unit among s, ms, us and ns, or None for a unit that is recognised by the number's size.
    """

    at: str
    instant: str | int | None
    key: str
    texts: tuple[str | None, ...]
    constant: tuple[str | None, ...]
    delivery_count: str | None


class FileScan:
    """A scan of files: pass it to `mapInArrow` of a frame with path, part and number of parts."""

    def __init__(self, source: Source, scan: Scan) -> None:
        self.source, self.scan = source, scan

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.scan(self._rows(batches))

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, part, parts in zip(*(column.to_pylist() for column in batch.columns)):
                yield from self._part(path, part, parts)

    def _part(self, path: str, part: int, parts: int) -> Iterator[pa.RecordBatch]:
        source = self.source
        texts = [name for name in source.texts if name]
        wanted = {source.at, source.key, source.delivery_count, *texts}
        try:
            with pq.ParquetFile(path, read_dictionary=texts) as file:
                count = file.num_row_groups
                chosen = list(range(part * count // parts, (part + 1) * count // parts))
                columns = [name for name in file.schema_arrow.names if name in wanted]
                for batch in file.iter_batches(BATCH_ROWS, chosen, columns, use_threads=False):
                    yield self._row_batch(batch)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"{UNREADABLE_MARK} {path}: {error}") from error

    def _row_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows, source = batch.num_rows, self.source
        at_us, code = instants(_column(batch, source.at, pa.int64()), source.instant)
        kind, cluster, topic, partition, subscription, consumer = (
            _text(batch, name) if name else _same(one, rows)
            for name, one in zip(source.texts, source.constant)
        )
        columns = {
            "at_us": at_us,
            "code": code,
            "key": usable_keys(_column(batch, source.key, pa.int64())),
            "kind": kind,
            "cluster": cluster,
            "topic": topic,
            "partition": partition,
            "subscription": subscription,
            "consumer": consumer,
            "delivery_count": _column(batch, source.delivery_count, pa.int64()).cast(pa.int64()),
        }
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def instants(ts: pa.Array, instant: str | int | None) -> tuple[pa.Array, pa.Array]:
    """Microseconds since 1970, null where they overflow, and the code of the unit (0: no instant)."""
    absent = pc.is_null(ts).to_numpy(zero_copy_only=False) if ts.null_count else None
    if instant == "timestamp":
        at_us = ts.cast(pa.timestamp("us", ts.type.tz), safe=False).cast(pa.int64())
        code = np.full(len(ts), TEXT_CODE, np.int8)
    else:
        numbers = pc.fill_null(ts.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        size = np.abs(numbers)
        unit = np.searchsorted(np.array(UNIT_BOUNDS), size, side="right")
        code = (unit + 1).astype(np.int8)
        made, overflown = _in_us(numbers, size, unit if instant is None else instant)
        at_us = pa.array(made, mask=overflown if absent is None else overflown | absent)
    if absent is not None:
        code[absent] = 0
    return at_us, pa.array(code)


def _in_us(numbers: np.ndarray, size: np.ndarray, unit: Any) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in microseconds, and which of them are too large for that."""
    if np.ndim(unit) and len(unit) and (unit == unit[0]).all():
        unit = int(unit[0])
    if np.ndim(unit) == 0 and unit != NANOSECONDS:
        return numbers * FACTORS[unit], size > np.iinfo(np.int64).max // FACTORS[unit]
    whole = numbers // 1000
    if np.ndim(unit) == 0:
        return whole, np.zeros(len(numbers), bool)
    made = np.choose(unit, [*(numbers * factor for factor in FACTORS), whole])
    return made, np.zeros(len(numbers), bool)


def _column(batch: pa.RecordBatch, name: str | None, kind: pa.DataType) -> pa.Array:
    """A column of the file; nulls where the file does not have it."""
    if name is None or name not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    return batch.column(name)


def _text(batch: pa.RecordBatch, name: str) -> pa.DictionaryArray:
    """A column of texts or integers as a dictionary of texts."""
    column = _column(batch, name, pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        column.indices.cast(pa.int32()), column.dictionary.cast(pa.string())
    )


def _same(value: str | None, rows: int) -> pa.DictionaryArray:
    indices = pa.nulls(rows, pa.int32()) if value is None else pa.array(np.zeros(rows, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([value or ""], pa.string()))
