"""The second scan, inside tasks: rows of repeated messages, and of those whose times are measured.

Rules: the keys of several rows come with the task, as sorted numbers of 8 bytes. A text with the hash of
another is chosen with it. Times are measured on one message in so many, chosen by a hash of its key, so all
rows of a message are chosen or none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from spark_reports.audit.numbered.grouping import AT, FIRST_TEXT, KEY, TEXTS, Grouping, gathered
from spark_reports.audit.numbered.hashing import FACTOR, key_numbers

CONSUMER, DELIVERY_COUNT = FIRST_TEXT + len(TEXTS), FIRST_TEXT + len(TEXTS) + 1
CHOSEN = (
    "at_us bigint, kind string, cluster string, subscription string, topic string, partition string, "
    "scope string, key string, consumer string, delivery_count bigint, again boolean, measured boolean"
)
"""Columns of a chosen row, as `rows.of_kinds` has them. `again`: of a message with several rows."""
SCHEMA = pa.schema(
    [
        ("at_us", pa.int64()),
        *((name, pa.string()) for name in ("kind", "cluster", "subscription", "topic", "partition", "scope")),
        ("key", pa.string()),
        ("consumer", pa.string()),
        ("delivery_count", pa.int64()),
        ("again", pa.bool_()),
        ("measured", pa.bool_()),
    ]
)
PUBLISH, DELIVER, ACK = "publish", "deliver", "ack"


class SecondScan:
    """What one task chooses: pass it to `mapInArrow`."""

    def __init__(
        self,
        kinds: dict[str, str],
        scoped: bool,
        most: int,
        again: dict[tuple[str, str, str, str], bytes],
        share: int,
        whole: frozenset[str] = frozenset(),
    ) -> None:
        self.rules = (kinds, scoped, most, whole)
        self.again, self.share = again, share

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        grouping = Grouping(*self.rules)
        again = {place: np.frombuffer(keys, np.uint64) for place, keys in self.again.items()}
        for batch in gathered(batches):
            yield from self._chosen(batch, grouping, again)

    def _chosen(
        self, batch: pa.RecordBatch, grouping: Grouping, again: dict[tuple[str, str, str, str], np.ndarray]
    ) -> Iterator[pa.RecordBatch]:
        order, starts, numbers = grouping.sorted_groups(batch)
        keys = key_numbers(batch.column(KEY))[order]
        measured = self._measured(keys)
        repeated = np.zeros(len(order), bool)
        for number, start, end in zip(numbers.tolist(), starts.tolist(), [*starts[1:].tolist(), len(order)]):
            group = grouping.groups[number]
            if group.kind not in (PUBLISH, DELIVER, ACK):
                measured[start:end] = False
            elif group.kind != PUBLISH:
                repeated[start:end] = _among(keys[start:end], again.get(group.place))
        places = np.flatnonzero(measured | repeated)
        if len(places):
            owners = np.repeat(numbers, np.diff([*starts, len(order)]))[places]
            rows = batch.take(pa.array(order[places]))
            yield _batch(rows, grouping, owners, repeated[places], measured[places])

    def _measured(self, keys: np.ndarray) -> np.ndarray:
        if self.share == 1:
            return np.ones(len(keys), bool)
        return ((keys * FACTOR) >> np.uint64(32)) % np.uint64(self.share) == 0


def _among(keys: np.ndarray, known: np.ndarray | None) -> np.ndarray | bool:
    """Which keys are among the known ones, which are in order."""
    if known is None or not len(known):
        return False
    found = np.searchsorted(known, keys)
    found[found == len(known)] = 0
    return known[found] == keys


def _batch(
    rows: pa.RecordBatch, grouping: Grouping, owners: np.ndarray, repeated: np.ndarray, measured: np.ndarray
) -> pa.RecordBatch:
    def of_groups(values: list[str | None]) -> pa.Array:
        return pa.array(values, pa.string()).take(pa.array(owners))

    groups = grouping.groups
    return pa.RecordBatch.from_arrays(
        [
            rows.column(AT),
            of_groups([one.kind for one in groups]),
            of_groups([one.cluster for one in groups]),
            *(of_groups([one.place[number] for one in groups]) for number in range(4)),
            rows.column(KEY).cast(pa.string()),
            rows.column(CONSUMER).cast(pa.string()),
            rows.column(DELIVERY_COUNT),
            pa.array(repeated),
            pa.array(measured),
        ],
        schema=SCHEMA,
    )
