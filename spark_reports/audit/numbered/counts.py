"""The first scan, inside tasks: rows of every group, and the delivered keys of every partition.

Rules: a task returns one row for each group (`once` is null) and one for each set of keys (`shape` is -1).
Parts of a group meet in one task, which joins them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from spark_reports.audit.numbered.grouping import AT, CLASSES, KEY, Grouping, gathered
from spark_reports.audit.numbered.hashing import key_numbers
from spark_reports.audit.numbered.keys import KeySet

PARTIAL = (
    "kind string, cluster string, topic string, partition string, subscription string, shape int, "
    "lines bigint, first_us bigint, last_us bigint, once binary, again binary"
)
"""Columns of a part. In one of keys `cluster` is the scope, and `again` is null where they are sparse."""
COUNTED = f"{PARTIAL}, messages bigint"
"""Columns of a joined group. `again` are the keys of several rows, 8 bytes each."""
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("kind", "cluster", "topic", "partition", "subscription")),
        ("shape", pa.int32()),
        *((name, pa.int64()) for name in ("lines", "first_us", "last_us")),
        ("once", pa.binary()),
        ("again", pa.binary()),
    ]
)
DELIVER = "deliver"


class FirstScan:
    """What one task counts: pass it to `mapInArrow`."""

    def __init__(
        self, kinds: dict[str, str], scoped: bool, most: int, whole: frozenset[str] = frozenset()
    ) -> None:
        self.rules = (kinds, scoped, most, whole)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        grouping = Grouping(*self.rules)
        spans: list[list[int | None]] = []
        sets: dict[tuple[str, ...], KeySet] = {}
        for batch in gathered(batches):
            _add(batch, grouping, spans, sets)
        yield _batch([*_group_rows(grouping, spans), *_key_rows(sets)])


def _add(batch: pa.RecordBatch, grouping: Grouping, spans: list, sets: dict[tuple[str, ...], KeySet]) -> None:
    order, starts, numbers = grouping.sorted_groups(batch)
    ends = [*starts[1:].tolist(), len(order)]
    at_us = batch.column(AT).fill_null(0).to_numpy()[order]
    keys = key_numbers(batch.column(KEY))[order]
    spans.extend([0, None, None] for _ in range(len(grouping.groups) - len(spans)))
    first_us, last_us = np.minimum.reduceat(at_us, starts), np.maximum.reduceat(at_us, starts)
    for place, (number, start, end) in enumerate(zip(numbers.tolist(), starts.tolist(), ends)):
        group = grouping.groups[number]
        if group.instant:
            _join_span(spans[number], end - start, int(first_us[place]), int(last_us[place]))
        else:
            spans[number][0] += end - start
        if group.kind == DELIVER:
            sets.setdefault(group.place, KeySet()).add(keys[start:end])


def _join_span(known: list, lines: int, first_us: int | None, last_us: int | None) -> None:
    known[0] += lines
    if first_us is not None and last_us is not None:
        known[1] = first_us if known[1] is None else min(known[1], first_us)
        known[2] = last_us if known[2] is None else max(known[2], last_us)


def _group_rows(grouping: Grouping, spans: list) -> Iterator[tuple[Any, ...]]:
    for group, span in zip(grouping.groups, spans):
        shape = (group.code * CLASSES + group.instant) * 2 + group.keyed
        yield (*group.values, shape, *span, None, None)


def _key_rows(sets: dict[tuple[str, ...], KeySet]) -> Iterator[tuple[Any, ...]]:
    for (subscription, topic, partition, scope), own in sets.items():
        name = (None, scope, topic, partition, subscription, -1, own.lines, None, None)
        if own.sparse:
            yield (*name, own.numbers().tobytes(), None)
        else:
            yield (*name, own.once.serialize(), own.again.serialize())


def joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The parts of each group joined: pass it to `mapInArrow`."""
    spans: dict[tuple[Any, ...], list] = {}
    sets: dict[tuple[Any, ...], KeySet] = {}
    for batch in batches:
        for *texts, lines, first_us, last_us, once, again in zip(*(one.to_pylist() for one in batch.columns)):
            name = tuple(texts)
            if once is None:
                _join_span(spans.setdefault(name, [0, None, None]), lines, first_us, last_us)
                continue
            known = sets.setdefault(name, KeySet())
            if again is None:
                known.hold(lines, np.frombuffer(once, np.uint64))
            else:
                known.join(lines, BitMap64.deserialize(once), BitMap64.deserialize(again))
    rows = [(*name, *span, None, None, None) for name, span in spans.items()]
    for name, own in sets.items():
        messages, repeated = own.counted()
        rows.append((*name, own.lines, None, None, None, repeated.tobytes(), messages))
    yield _batch(rows, SCHEMA.append(pa.field("messages", pa.int64())))


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    columns = list(zip(*rows)) if rows else [()] * len(schema)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
