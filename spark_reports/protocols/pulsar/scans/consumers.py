"""The consumers at the source before a failover: numbers of messages and slowest acknowledgement."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from spark_reports.scans.columns import (
    NONE,
    changes,
    code_of,
    codes,
    is_text,
    numbers,
    order_by,
)
from spark_reports.scans.files import Scan, Wanted
from spark_reports.transforms import NEVER

DELIVERED, ACKNOWLEDGED = "message.delivered", "message.acknowledged"
WANTED = Wanted(
    (DELIVERED, ACKNOWLEDGED),
    ("seq", "at_us", "sequence_id"),
    ("producer", "subscription", "cluster", "client"),
)
CONSUMERS = pa.schema(
    [
        ("run", pa.int64()),
        ("failover_seq", pa.int64()),
        ("cluster", pa.string()),
        ("client", pa.string()),
        ("delivered", pa.int64()),
        ("acknowledged", pa.int64()),
        ("unacked", pa.int64()),
        ("slowest_us", pa.int64()),
    ]
)
"""`unacked`: delivered and not acknowledged since. `slowest_us`: null without an acknowledged delivery."""


class Source(NamedTuple):
    """A failover and the cluster that its subscription left."""

    run: int
    failover_seq: int
    subscription: str
    cluster: str


def consumers(run: int, rows: pa.Table, sources: list[Source]) -> pa.Table:
    """The figures of each failover's consumers, in the columns of CONSUMERS."""
    found = [CONSUMERS.empty_table()]
    for source in sources:
        if source.run == run:
            before = (
                (codes(rows, "subscription") == code_of(rows, "subscription", source.subscription))
                & (codes(rows, "cluster") == code_of(rows, "cluster", source.cluster))
                & (numbers(rows, "seq") < source.failover_seq)
            )
            each = _each_message(rows.take(pa.array(np.flatnonzero(before))))
            summed = each.group_by("client", use_threads=False).aggregate(
                [("deliveries", "sum"), ("acks", "sum"), ("unacked", "sum"), ("took_us", "max")]
            )
            same = [pa.repeat(value, summed.num_rows) for value in (run, source.failover_seq, source.cluster)]
            found.append(pa.table([*same, *summed.columns], names=CONSUMERS.names).cast(CONSUMERS))
    return pa.concat_tables(found)


def _each_message(rows: pa.Table) -> pa.Table:
    """What each client did with each message: client, deliveries, acks, unacked, took_us."""
    rows = rows.take(
        pa.array(order_by(codes(rows, "client"), codes(rows, "producer"), numbers(rows, "sequence_id")))
    )
    begins = np.flatnonzero(
        changes(codes(rows, "client"), codes(rows, "producer"), numbers(rows, "sequence_id"))
    )
    seq, at_us, is_ack = numbers(rows, "seq"), numbers(rows, "at_us"), is_text(rows, "type", ACKNOWLEDGED)
    if not len(begins):
        deliveries = acks = took_us = np.arange(0)
        unacked = never = np.zeros(0, bool)
    else:
        deliveries, acks = (np.add.reduceat(chosen.astype(np.int64), begins) for chosen in (~is_ack, is_ack))
        delivered_us, acked_us = (
            np.minimum.reduceat(np.where(chosen, at_us, NEVER), begins) for chosen in (~is_ack, is_ack)
        )
        delivered_seq, acked_seq = (
            np.maximum.reduceat(np.where(chosen, seq, NONE), begins) for chosen in (~is_ack, is_ack)
        )
        unacked = (delivered_seq != NONE) & (acked_seq < delivered_seq)
        took_us, never = acked_us - delivered_us, (deliveries == 0) | (acks == 0)
    return pa.table(
        {
            "client": rows.column("client").take(pa.array(begins)),
            "deliveries": deliveries,
            "acks": acks,
            "unacked": unacked.astype(np.int64),
            "took_us": pa.array(took_us, mask=never),
        }
    )


SCAN = Scan(WANTED, consumers, CONSUMERS)
