"""Numbers the groups of rows inside a task.

Rules: a group is a kind, cluster, topic, partition, subscription and class of instants. Texts are compared
once per batch and group, never once per row. A group holds the values as they are in the log; `Group` has
them as `rows.py` makes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_reports.audit.labels import place_of

AT, CODE, KEY = 0, 1, 2
"""Columns of a batch: the instant, the code of its time unit, and the key. Texts and further ones follow."""
TEXTS = ("kind", "cluster", "topic", "partition", "subscription")
FIRST_TEXT = 3
BATCH_ROWS = 500_000
"""Rows that a task gathers before it sorts them: fewer would cost time for each group in them."""
LATEST_US = 4_102_444_800_000_000
CLASSES, USABLE = 3, 2
"""Classes of an instant: none, outside the accepted range, usable."""
TABLE_MOST = 1 << 22
"""The largest table of group numbers; more combinations of values are sorted instead."""
GROUPS_MARK = "audit input with too many groups"


class Group(NamedTuple):
    """One group: values as text or None, the code of the time unit, class of the instant, and the rest.

    `place` is (subscription, topic, partition, scope) as the audit names them. `kind` is the canonical one of
    rows that can be used, else None.
    """

    values: tuple[str | None, ...]
    code: int
    instant: int
    keyed: bool
    kind: str | None
    place: tuple[str, str, str, str]
    cluster: str


class Grouping:
    """The groups that a task has seen; their numbers count from 0.

    `whole` are topics whose messages are identified without their partition.
    """

    def __init__(
        self, kinds: dict[str, str], scoped: bool, most: int, whole: frozenset[str] = frozenset()
    ) -> None:
        self.kinds, self.scoped, self.most, self.whole = kinds, scoped, most, whole
        self.groups: list[Group] = []
        self._numbers: dict[tuple[Any, ...], int] = {}

    def sorted_groups(self, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """An order of the batch's rows by group, where each group begins in it, and the groups' numbers."""
        index, size, columns = self._combined(batch)
        if size > TABLE_MOST:
            found, index = np.unique(index, return_inverse=True)
            size = len(found)
        counts = np.bincount(index, minlength=size)
        present = np.flatnonzero(counts)
        row_of = np.empty(size, np.int64)
        row_of[index] = np.arange(len(index))
        numbers = np.array([self._number(columns, row) for row in row_of[present].tolist()])
        if len(present) == 1:
            order = np.arange(len(index))
        else:
            small = np.zeros(size, np.uint16 if len(present) < 1 << 16 else np.int64)
            small[present] = np.arange(len(present))
            order = np.argsort(small[index], kind="stable")
        counted = counts[present]
        return order, np.cumsum(counted) - counted, numbers

    def _combined(self, batch: pa.RecordBatch) -> tuple[np.ndarray, int, list[tuple[np.ndarray, list]]]:
        """One number per row for its combination of values, how many numbers there are, and the values."""
        at = batch.column(AT)
        at_us = pc.fill_null(at, -1).to_numpy(zero_copy_only=False)
        instant = np.where((at_us >= 0) & (at_us <= LATEST_US), USABLE, 1)
        if at.null_count:
            instant[pc.is_null(at).to_numpy(zero_copy_only=False)] = 0
        keyed = pc.is_valid(batch.column(KEY)).to_numpy(zero_copy_only=False)
        code = batch.column(CODE).to_numpy(zero_copy_only=False).astype(np.int64)
        shape, shapes = np.unique_inverse((code * CLASSES + instant) * 2 + keyed)[::-1]
        index, size = shape.astype(np.int64), len(shapes)
        columns = [(shape, shapes.tolist())]
        for number in range(len(TEXTS)):
            encoded = batch.column(FIRST_TEXT + number)
            if not pa.types.is_dictionary(encoded.type):
                encoded = encoded.dictionary_encode(null_encoding="encode")
            own = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy(zero_copy_only=False)
            values = [*encoded.dictionary.to_pylist(), None]
            columns.append((own, values))
            if size * len(values) > 1 << 40:
                found, index = np.unique(index, return_inverse=True)
                size = len(found)
            index = index * len(values) + own
            size *= len(values)
        return index, size, columns

    def _number(self, columns: list[tuple[np.ndarray, list]], row: int) -> int:
        shape, *texts = (values[own[row]] for own, values in columns)
        name = (shape, *texts)
        number = self._numbers.get(name)
        if number is None:
            if len(self.groups) >= self.most:
                raise ValueError(GROUPS_MARK)
            number = self._numbers[name] = len(self.groups)
            self.groups.append(self._group(shape, texts))
        return number

    def _group(self, shape: int, texts: list[Any]) -> Group:
        values = tuple(None if one is None else str(one) for one in texts)
        kind, cluster, topic, partition, subscription = ((one or "").strip(" ") for one in values)
        keyed, instant = bool(shape % 2), shape // 2 % CLASSES
        topic, partition = place_of(topic, partition)
        if topic in self.whole:
            partition = ""
        usable = keyed and instant == USABLE
        scope = cluster if self.scoped else ""
        return Group(
            values,
            shape // (2 * CLASSES),
            instant,
            keyed,
            self.kinds.get(kind.lower()) if usable else None,
            (subscription, topic, partition, scope),
            cluster,
        )


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of the batches, about `BATCH_ROWS` at a time."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= BATCH_ROWS:
            yield pa.concat_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.concat_batches(held)
