"""A scan for published messages that a subscription never received, inside tasks.

Rules: a producer often does not know the partition, so a message is identified by its topic and key, and all
of a topic meet in one task, 16 bytes for each publish. By position it is also identified by partition and
scope. Texts are compared by their hashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from spark_reports.audit.numbered.grouping import AT, KEY, Grouping, gathered
from spark_reports.audit.numbered.hashing import key_numbers
from spark_reports.audit.numbered.keys import KeySet

PART = (
    "topic string, partition string, scope string, subscription string, kind string, "
    "once binary, again binary"
)
"""Columns of a part. In one of publishes `once` are keys in order, and `again` their instants."""
FIGURES = ("published", "received", "acked_only", "before", "between", "after")
NOT_DELIVERED = f"subscription string, topic string, {', '.join(f'{name} bigint' for name in FIGURES)}"
PUBLISH, DELIVER, ACK = "publish", "deliver", "ack"
NO_KEYS = np.empty(0, np.uint64)

Place = tuple[str, str, str]
"""Topic, and by position partition and scope."""


class LossScan:
    """What one task finds: pass it to `mapInArrow`."""

    def __init__(
        self,
        kinds: dict[str, str],
        scoped: bool,
        most: int,
        by_position: bool,
        whole: frozenset[str] = frozenset(),
    ) -> None:
        self.rules, self.by_position = (kinds, scoped, most, whole), by_position

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        grouping = Grouping(*self.rules)
        published: dict[Place, list[tuple[np.ndarray, np.ndarray]]] = {}
        received: dict[tuple[Place, str, str], KeySet] = {}
        for batch in gathered(batches):
            order, starts, numbers = grouping.sorted_groups(batch)
            at_us = batch.column(AT).fill_null(0).to_numpy()[order]
            keys = key_numbers(batch.column(KEY))[order]
            ends = [*starts[1:].tolist(), len(order)]
            for number, start, end in zip(numbers.tolist(), starts.tolist(), ends):
                group = grouping.groups[number]
                subscription, topic, partition, scope = group.place
                place = (topic, partition, scope) if self.by_position else (topic, "", "")
                if group.kind == PUBLISH:
                    published.setdefault(place, []).append((keys[start:end], at_us[start:end]))
                elif group.kind in (DELIVER, ACK):
                    name = (place, subscription, group.kind)
                    received.setdefault(name, KeySet()).add(keys[start:end])
        yield _batch([*_publishes(published), *_readers(received)], PART)


def _publishes(published: dict[Place, list[tuple[np.ndarray, np.ndarray]]]) -> Iterator[tuple[Any, ...]]:
    for place, parts in published.items():
        keys, at_us = first_instants(parts)
        yield (*place, None, PUBLISH, keys.tobytes(), at_us.tobytes())


def _readers(received: dict[tuple[Place, str, str], KeySet]) -> Iterator[tuple[Any, ...]]:
    for (place, subscription, kind), own in received.items():
        if own.sparse:
            yield (*place, subscription, kind, own.numbers().tobytes(), None)
        else:
            yield (*place, subscription, kind, own.once.serialize(), b"")


def first_instants(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The different keys in order, and the first instant of each."""
    keys, at_us = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    order = np.lexsort((at_us, keys))
    keys, at_us = keys[order], at_us[order]
    new = np.concatenate(([True], keys[1:] != keys[:-1]))
    return keys[new], at_us[new]


def not_delivered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The figures of each subscription of a topic, from all parts of the topic."""
    published: dict[str, dict[Place, list[tuple[np.ndarray, np.ndarray]]]] = {}
    received: dict[tuple[str, str], dict[tuple[Place, str], KeySet]] = {}
    for batch in batches:
        for *place, subscription, kind, once, again in zip(*(one.to_pylist() for one in batch.columns)):
            where = (place[0], place[1], place[2])
            if kind == PUBLISH:
                part = (np.frombuffer(once, np.uint64), np.frombuffer(again, np.int64))
                published.setdefault(where[0], {}).setdefault(where, []).append(part)
                continue
            known = received.setdefault((subscription, where[0]), {}).setdefault((where, kind), KeySet())
            if again is None:
                known.hold(0, np.frombuffer(once, np.uint64))
            else:
                known.join(0, BitMap64.deserialize(once), BitMap64())
    first = {
        topic: {place: first_instants(parts) for place, parts in places.items()}
        for topic, places in published.items()
    }
    rows = [
        (subscription, topic, *_figures(first[topic], own))
        for (subscription, topic), own in received.items()
        if topic in first and any(kind == DELIVER for _, kind in own)
    ]
    yield _batch(rows, NOT_DELIVERED)


def _figures(
    published: dict[Place, tuple[np.ndarray, np.ndarray]], received: dict[tuple[Place, str], KeySet]
) -> tuple[int, ...]:
    count = acked_only = 0
    got, missing = [], []
    for place, (keys, at_us) in published.items():
        delivered = _among(keys, received.get((place, DELIVER)))
        acked = _among(keys, received.get((place, ACK))) & ~delivered
        count += len(keys)
        acked_only += int(acked.sum())
        got.append(at_us[delivered])
        missing.append(at_us[~delivered & ~acked])
    known, at = np.concatenate(got), np.concatenate(missing)
    if not len(known):
        return count, 0, acked_only, len(at), 0, 0
    first, last = known.min(), known.max()
    inside = (at > first) & (at < last)
    found = (len(known), acked_only, (at <= first).sum(), inside.sum(), (at >= last).sum())
    return count, *map(int, found)


def _among(keys: np.ndarray, known: KeySet | None) -> np.ndarray:
    """Which of the keys, which are in order, are known."""
    own = known.numbers() if known else NO_KEYS
    if not len(own):
        return np.zeros(len(keys), bool)
    found = np.searchsorted(own, keys)
    found[found == len(own)] = 0
    return own[found] == keys


def _batch(rows: list[tuple[Any, ...]], schema: str) -> pa.RecordBatch:
    kinds = {"string": pa.string(), "binary": pa.binary(), "bigint": pa.int64()}
    fields = [(name, kinds[kind]) for name, kind in (one.split(" ") for one in schema.split(", "))]
    columns = list(zip(*rows)) if rows else [()] * len(fields)
    arrays = [pa.array(list(column), kind) for column, (_, kind) in zip(columns, fields)]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in fields])
