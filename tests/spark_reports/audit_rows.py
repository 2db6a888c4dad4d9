"""Rows as the tasks of an audit read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from spark_reports.audit.generate.logs import EPOCH_US


class Row(NamedTuple):
    """A row as a scan reads it."""

    partition: str
    key: int
    kind: str = "Deliver"
    subscription: str | None = "billing"
    at_us: int = EPOCH_US


def feed_of(rows: Sequence[Row]) -> pa.RecordBatch:
    """A batch of rows."""
    count = len(rows)
    columns = {
        "at_us": pa.array([row.at_us for row in rows]),
        "code": pa.array([3] * count, pa.int8()),
        "key": pa.array([row.key for row in rows]),
        "kind": pa.array([row.kind for row in rows]),
        "cluster": pa.array([None] * count, pa.string()),
        "topic": pa.array([" orders"] * count),
        "partition": pa.array([row.partition for row in rows]),
        "subscription": pa.array([row.subscription for row in rows], pa.string()),
        "consumer": pa.array(["c"] * count),
        "delivery_count": pa.array([1] * count),
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


KINDS = {"deliver": "deliver", "publish": "publish", "ack": "ack"}
BASES = [[0], [0, 1 << 32, 1 << 45], [-(1 << 62), 1 << 62]]
"""Keys are dense, in several dense ranges, or sparse over all integers."""
