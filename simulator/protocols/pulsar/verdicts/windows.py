"""The windows of failovers, and which deliveries in them are duplicates or redeliveries.

Rules: a window opens with `failover.started` and closes with the next one of the same subscription, or where
counting stops. Only deliveries at the target between the two rows belong to it. Each message is judged once,
at its first delivery there. It is a duplicate if the message was acknowledged before, in any cluster. It is a
redelivery if the message was only delivered before, in any cluster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.counting.results import LazyList, Redelivery
from simulator.protocols.pulsar.verdicts.facts import Facts
from simulator.protocols.pulsar.verdicts.lookup import LatestBefore
from simulator.protocols.pulsar.verdicts.read import Table


@dataclass(frozen=True, slots=True)
class Window:
    """One failover, with names as numbers.

    `closed_seq` is the first row that no longer belongs to it.
    """

    subscription: int
    source: int
    target: int
    mode: int
    opened_seq: int
    opened_us: int
    closed_seq: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The deliveries of one window: all, the first of each message, duplicates and redeliveries.

    `latest_ack` is the row of `acknowledged` that came last before each duplicate, `delivered_before` the seq
    of the delivery that came last before each redelivery.
    """

    deliveries: Table
    first: Table
    duplicates: Table
    redeliveries: Table
    delivered_before: np.ndarray
    acknowledged: Table
    latest_ack: np.ndarray


def windows_of(facts: Facts) -> list[Window]:
    """The failovers of the run in order."""
    started = facts.history.table("failover.started").dicts()
    windows = []
    for place, row in enumerate(started):
        later = [
            other["seq"] for other in started[place + 1 :] if other["subscription"] == row["subscription"]
        ]
        closed_seq = later[0] if later else facts.history.upto_seq
        windows.append(
            Window(
                row["subscription"],
                row["cluster"],
                row["peer"],
                row["reason"],
                row["seq"],
                row["at_us"],
                closed_seq,
            )
        )
    return windows


def judge(facts: Facts, window: Window) -> Judged:
    """Sort the window's deliveries into first deliveries, duplicates and redeliveries."""
    history, subscription = facts.history, window.subscription
    deliveries = history.table("message.delivered", subscription=subscription, cluster=window.target)
    deliveries = deliveries.between(window.opened_seq, window.closed_seq)
    _, first_rows = np.unique(deliveries.message, return_index=True)
    first = deliveries.take(np.sort(first_rows))
    acknowledged = history.table("message.acknowledged", subscription=subscription)
    latest = LatestBefore(acknowledged.message, acknowledged.seq).row(first.message, first.seq)
    delivered = history.table("message.delivered", subscription=subscription)
    before = LatestBefore(delivered.message, delivered.seq).row(first.message, first.seq)
    duplicate = latest >= 0
    again = (before >= 0) & ~duplicate
    return Judged(
        deliveries,
        first,
        first.take(duplicate),
        first.take(again),
        delivered.seq[before[again]],
        acknowledged,
        latest[duplicate],
    )


def redelivered_list(facts: Facts, judged: Judged) -> LazyList:
    """The redeliveries of a window, in the order of their deliveries."""
    rows = judged.redeliveries
    producer, sequence_id = facts.history.identity(rows.message)
    columns = {
        "producer": producer,
        "sequence_id": sequence_id,
        "at_us": rows.at_us,
        "delivered_seq": rows.seq,
    }
    return LazyList(
        Redelivery,
        columns,
        {"delivered": rows.seq, "delivered_before": judged.delivered_before},
        facts.history.names,
        ("producer",),
    )
