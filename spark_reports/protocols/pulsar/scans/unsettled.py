"""The messages that a figure of their failover can depend on.

Rules: they are not in the target at the failover though in the source, or there and not acknowledged by then,
or not acknowledged by the window's end. Nearly all messages are none of these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from spark_reports.protocols.pulsar.scans.by_topic import by_topic
from spark_reports.scans.files import Scan, Wanted

RECEIPTED, STORED, ACKNOWLEDGED = "message.receipted", "message.stored", "message.acknowledged"
WANTED = Wanted(
    (RECEIPTED, STORED, ACKNOWLEDGED),
    ("seq", "sequence_id"),
    ("producer", "topic", "cluster", "subscription"),
)
UNSETTLED = pa.schema(
    [
        ("run", pa.int64()),
        ("failover_seq", pa.int64()),
        ("topic", pa.string()),
        ("producer", pa.string()),
        ("sequence_id", pa.int64()),
    ]
)


class Scope(NamedTuple):
    """One topic of a failover."""

    run: int
    failover_seq: int
    topic: str
    subscription: str
    source: str
    target: str
    end_seq: int


def scopes_of(rows: list[Any]) -> list[Scope]:
    """The scopes of collected rows of `fates.scopes`."""
    return [Scope(*(row[name] for name in Scope._fields)) for row in rows]


def unsettled(run: int, rows: pa.Table, scopes: list[Scope]) -> pa.Table:
    """The messages in the columns of UNSETTLED, once per failover."""
    topics, found = by_topic(rows), [UNSETTLED.empty_table()]
    for scope in scopes:
        if scope.run != run or scope.topic not in topics:
            continue
        messages, moved, closed = topics[scope.topic], scope.failover_seq, scope.end_seq - 1
        acknowledged = messages.first("seq", ACKNOWLEDGED, "subscription", scope.subscription)
        there = messages.first("seq", STORED, "cluster", scope.target) <= moved
        left_behind = (messages.first("seq", STORED, "cluster", scope.source) <= moved) & ~there
        held = there & (acknowledged > moved)
        never_done = (messages.first("seq", RECEIPTED) <= closed) & (acknowledged > closed)
        mine = messages.take(np.flatnonzero(left_behind | held | never_done))
        same = {"run": run, "failover_seq": moved, "topic": scope.topic}
        for number, (name, value) in enumerate(same.items()):
            mine = mine.add_column(number, name, pa.repeat(value, mine.num_rows))
        found.append(mine.cast(UNSETTLED))
    return pa.concat_tables(found)


SCAN = Scan(WANTED, unsettled, UNSETTLED)
