"""Entries of logs: how far each log reached by time, and what it held above a position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from spark_reports.scans.columns import code_of, codes, numbers, places
from spark_reports.scans.files import Scan, Wanted
from spark_reports.transforms.places import NEVER

STORED, REMOVED = "message.stored", "message.removed"
APPENDS = Wanted(
    (STORED, "marker.written", "marker.stored"),
    ("seq", "at_us", "sequence_id", "ledger", "entry"),
    ("cluster", "topic"),
)
LOG_BINS = pa.schema(
    [
        ("run", pa.int64()),
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("ledger", pa.int64()),
        ("bin", pa.int64()),
        ("last_entry", pa.int64()),
    ]
)
PAST = pa.schema(
    [
        ("run", pa.int64()),
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("place", pa.int64()),
        ("until_seq", pa.int64()),
        ("past_us", pa.int64()),
    ]
)
"""The instant at which a part got its first entry."""
OF_COPIES = Wanted(
    (STORED, REMOVED), ("seq", "sequence_id", "ledger", "entry"), ("cluster", "topic", "producer")
)
COPIES = pa.schema(
    [
        ("run", pa.int64()),
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("producer", pa.string()),
        ("sequence_id", pa.int64()),
        ("seq", pa.int64()),
        ("type", pa.string()),
        ("place", pa.int64()),
    ]
)


class Part(NamedTuple):
    """The part of a log above a place, up to a row of the run."""

    run: int
    cluster: str
    topic: str
    place: int
    until_seq: int = NEVER


class _Logs:
    """The rows of some logs, from which parts are chosen."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.cluster, self.topic = codes(rows, "cluster"), codes(rows, "topic")
        self.place, self.seq = places(rows).fill_null(-NEVER).to_numpy(), numbers(rows, "seq")

    def inside(self, part: Part) -> np.ndarray:
        """Whether each row is in the part."""
        return (
            (self.cluster == code_of(self.rows, "cluster", part.cluster))
            & (self.topic == code_of(self.rows, "topic", part.topic))
            & (self.place > part.place)
            & (self.seq <= part.until_seq)
        )


def log_bins(run: int, rows: pa.Table, bins_us: dict[int, int]) -> pa.Table:
    """The appends in the columns of LOG_BINS. `bins_us` has the width of each run's bins."""
    number = pa.array(numbers(rows, "at_us") // bins_us[run], pa.int64())
    found = (
        rows.append_column("bin", number)
        .group_by(["cluster", "topic", "ledger", "bin"], use_threads=False)
        .aggregate([("entry", "max")])
    )
    return pa.table([pa.repeat(run, found.num_rows), *found.columns], names=LOG_BINS.names).cast(LOG_BINS)


def first_past(run: int, rows: pa.Table, parts: list[Part]) -> pa.Table:
    """When each part got its first entry, in the columns of PAST."""
    logs, at_us, found = _Logs(rows), numbers(rows, "at_us"), []
    for part in parts:
        if part.run == run:
            inside = at_us[logs.inside(part)]
            if len(inside):
                found.append({**part._asdict(), "past_us": int(inside.min())})
    return pa.Table.from_pylist(found, PAST)


def copies_above(run: int, rows: pa.Table, parts: list[Part]) -> pa.Table:
    """Rows of messages stored in the parts and removed from them, in the columns of COPIES."""
    logs, chosen = _Logs(rows), np.zeros(rows.num_rows, bool)
    for part in parts:
        if part.run == run:
            chosen |= logs.inside(part)
    found = rows.append_column("place", pa.array(logs.place)).take(pa.array(np.flatnonzero(chosen)))
    return found.append_column("run", pa.repeat(run, found.num_rows)).select(COPIES.names).cast(COPIES)


BINS, FIRST_PAST = Scan(APPENDS, log_bins, LOG_BINS), Scan(APPENDS, first_past, PAST)
COPIES_ABOVE = Scan(OF_COPIES, copies_above, COPIES)
