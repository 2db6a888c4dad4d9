"""Finds repeated messages by bitmaps over their integer keys, where a log in Parquet has integer keys.

Rules: positions and sequence numbers are dense, so a bitmap of a million of them takes 128 KiB or less. A
task keeps two bitmaps per group, of keys seen once and of keys seen again, and only these are shuffled. A
group is a hash of its columns; the caller has checked that no two groups share one.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyroaring import BitMap
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.audit.columns import GROUP

Key = tuple[int, int]
"""A group's hash, and the upper 32 bits of the keys."""

BATCH_ROWS = 1_000_000
"""Rows that a task gathers before it sorts them: fewer would cost time for each group in them."""
LOW = np.uint64(0xFFFFFFFF)
PARTIAL = "gid bigint, high bigint, lines bigint, once binary, again binary"
MERGED = "gid bigint, high bigint, lines bigint, messages bigint, again binary"
KEYS = "gid bigint, key_number bigint"
_SCHEMAS = {
    "partial": pa.schema(
        [
            ("gid", pa.int64()),
            ("high", pa.int64()),
            ("lines", pa.int64()),
            ("once", pa.binary()),
            ("again", pa.binary()),
        ]
    ),
    "merged": pa.schema(
        [
            ("gid", pa.int64()),
            ("high", pa.int64()),
            ("lines", pa.int64()),
            ("messages", pa.int64()),
            ("again", pa.binary()),
        ]
    ),
    "keys": pa.schema([("gid", pa.int64()), ("key_number", pa.int64())]),
}


def group_hash() -> Column:
    """The hash of a row's group and scope."""
    return F.xxhash64(*(F.coalesce(name, F.lit("")) for name in (*GROUP, "scope")))


def key_number() -> Column:
    """The key as a number; the caller has checked that every key is one."""
    return F.col("key").cast("bigint")


def merged(deliveries: DataFrame, tasks: int) -> DataFrame:
    """Rows, messages and repeated keys of each group, one row per group and upper half of the keys."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not have this package
    numbers = deliveries.select(group_hash().alias("gid"), key_number().alias("key"))
    partial = numbers.mapInArrow(_partial, PARTIAL)
    return partial.repartition(tasks, "gid").mapInArrow(_merge, MERGED)


def repeated_keys(found: DataFrame) -> DataFrame:
    """The group's hash and number of each key that is in the rows more than once."""
    return found.select("gid", "high", "again").mapInArrow(_explode, KEYS)


def _partial(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    groups: dict[Key, list] = {}
    for gids, keys in _gathered(batches):
        _add(groups, gids, keys)
    yield _batch(
        "partial",
        [
            (gid, high, lines, once.serialize(), again.serialize())
            for (gid, high), (lines, once, again) in groups.items()
        ],
    )


def _gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The columns of about `BATCH_ROWS` rows at a time."""
    held: list[tuple[np.ndarray, np.ndarray]] = []
    rows = 0
    for batch in batches:
        held.append((batch.column(0).to_numpy(), batch.column(1).to_numpy()))
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield np.concatenate([one[0] for one in held]), np.concatenate([one[1] for one in held])
            held, rows = [], 0
    if held:
        yield np.concatenate([one[0] for one in held]), np.concatenate([one[1] for one in held])


def _add(groups: dict[Key, list], gids: np.ndarray, keys: np.ndarray) -> None:
    """Add rows to the bitmaps of their groups."""
    order = np.lexsort((keys, gids)) if (gids != gids[0]).any() else np.argsort(keys, kind="stable")
    gids, keys = gids[order], keys[order].view(np.uint64)
    highs = keys >> np.uint64(32)
    cuts = np.flatnonzero((gids[1:] != gids[:-1]) | (highs[1:] != highs[:-1])) + 1
    for first, last in zip([0, *cuts], [*cuts, len(keys)]):
        own = keys[first:last]
        new = np.concatenate(([True], own[1:] != own[:-1]))
        once = _bitmap(own[new])
        again = _bitmap(own[~new])
        known = groups.setdefault((int(gids[first]), int(highs[first])), [0, BitMap(), BitMap()])
        _join(known, last - first, once, again)


def _join(known: list, lines: int, once: BitMap, again: BitMap) -> None:
    known[0] += int(lines)
    known[2] |= again | (known[1] & once)
    known[1] |= once


def _bitmap(keys: np.ndarray) -> BitMap:
    return BitMap(array.array("I", (keys & LOW).astype(np.uint32).tobytes()))


def _merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    groups: dict[Key, list] = {}
    for batch in batches:
        for row in batch.to_pylist():
            known = groups.setdefault((row["gid"], row["high"]), [0, BitMap(), BitMap()])
            _join(known, row["lines"], BitMap.deserialize(row["once"]), BitMap.deserialize(row["again"]))
    yield _batch(
        "merged",
        [
            (gid, high, lines, len(once), again.serialize())
            for (gid, high), (lines, once, again) in groups.items()
        ],
    )


def _explode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            low = np.frombuffer(BitMap.deserialize(row["again"]).to_array(), np.uint32).astype(np.uint64)
            keys = (low | (np.uint64(row["high"]) << np.uint64(32))).view(np.int64)
            columns = [pa.array(np.full(len(keys), row["gid"], np.int64)), pa.array(keys)]
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMAS["keys"])


def _batch(name: str, rows: list[tuple]) -> pa.RecordBatch:
    schema = _SCHEMAS[name]
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(list(column), field.type) for column, field in zip(columns, schema)], schema=schema
    )
