"""The verdict on every delivery: first, duplicate, redelivery, extra, or a repeat outside any window.

Rules: a row is before a delivery when its seq is smaller. A delivery belongs to a failover when it is at the
target inside the window. Each message gets one verdict, at its first delivery there. Duplicate: acknowledged
before, in any cluster. Redelivery: delivered before in any cluster, not acknowledged before. The rows are
sorted once, by message and subscription. What a verdict asks about earlier rows is a running value over them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from spark_reports.scans.columns import (
    NONE,
    begins,
    changes,
    code_of,
    codes,
    count_before,
    first_in,
    is_text,
    last_before,
    numbers,
    order_by,
    places,
)
from spark_reports.scans.files import Scan, Wanted

PUBLISHED, DELIVERED, ACKNOWLEDGED = "message.published", "message.delivered", "message.acknowledged"
WANTED = Wanted(
    (PUBLISHED, DELIVERED, ACKNOWLEDGED),
    ("seq", "at_us", "sequence_id", "key", "ledger", "entry", "evidence_seq"),
    ("producer", "subscription", "cluster", "topic", "client"),
)
JUDGED = pa.schema(
    [
        ("run", pa.int64()),
        ("subscription", pa.string()),
        ("producer", pa.string()),
        ("sequence_id", pa.int64()),
        ("seq", pa.int64()),
        ("at_us", pa.int64()),
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("client", pa.string()),
        ("place", pa.int64()),
        ("stored_seq", pa.int64()),
        ("key", pa.int64()),
        ("origin", pa.string()),
        ("failover_seq", pa.int64()),
        ("ack_seq", pa.int64()),
        ("ack_us", pa.int64()),
        ("ack_cluster", pa.string()),
        ("ack_place", pa.int64()),
        ("verdict", pa.string()),
    ]
)
"""A delivery with its verdict, and the latest acknowledgement before it.

`origin` is the cluster in which the message was published, `failover_seq` null outside a window.
"""
OWN = ("subscription", "producer", "sequence_id", "seq", "at_us", "cluster", "topic", "client")
VERDICTS = ("plain", "repeated", "first", "duplicate", "redelivery", "extra", "acknowledged")
PLAIN, REPEATED, FIRST, DUPLICATE, REDELIVERY, EXTRA, ACKNOWLEDGED_AGAIN = range(len(VERDICTS))


class FailoverWindow(NamedTuple):
    """One failover of a run: after the row `failover_seq` and before the row `end_seq`."""

    run: int
    failover_seq: int
    subscription: str
    target: str
    end_seq: int


def windows_of(failovers: list[Any]) -> list[FailoverWindow]:
    """The windows of collected failovers."""
    return [
        FailoverWindow(row.run, row.failover_seq, row.subscription, row.target, row.end_seq)
        for row in failovers
    ]


class Judged(NamedTuple):
    """The rows of some messages by message and subscription, with what the verdicts were made from.

    Each of the arrays has a value per row: a code of VERDICTS, the row of the publish, the row of the latest
    acknowledgement before, and the failover. NONE: there is none.
    """

    run: int
    rows: pa.Table
    verdict: np.ndarray
    published: np.ndarray
    ack: np.ndarray
    failover: np.ndarray


def deliveries(run: int, rows: pa.Table, windows: list[FailoverWindow]) -> pa.Table:
    """All deliveries, in the columns of JUDGED."""
    judged = judge(run, rows, windows)
    return _table(judged, (judged.verdict != NONE) & (judged.verdict != ACKNOWLEDGED_AGAIN))


def notable(run: int, rows: pa.Table, windows: list[FailoverWindow]) -> pa.Table:
    """Deliveries inside windows, repeats outside, and acknowledgements that were repeated.

    The latter have the verdict "acknowledged". Nearly all deliveries of a long run are none of these.
    """
    judged = judge(run, rows, windows)
    return _table(judged, (judged.verdict != NONE) & (judged.verdict != PLAIN))


def judge(run: int, rows: pa.Table, windows: list[FailoverWindow]) -> Judged:
    """The verdicts on the rows of some messages, which are in the order of their seq."""
    rows = rows.take(
        pa.array(order_by(numbers(rows, "sequence_id"), codes(rows, "producer"), codes(rows, "subscription")))
    )
    message = changes(numbers(rows, "sequence_id"), codes(rows, "producer"))
    of_message, of_both = begins(message), begins(message | changes(codes(rows, "subscription")))
    is_publish, is_delivery, is_ack = (
        is_text(rows, "type", name) for name in (PUBLISHED, DELIVERED, ACKNOWLEDGED)
    )
    ack = last_before(of_both, is_ack)
    failover = _failovers(rows, is_delivery, [window for window in windows if window.run == run])
    verdict = np.full(len(ack), NONE, np.int8)
    verdict[is_ack & (ack != NONE)] = ACKNOWLEDGED_AGAIN
    outside, inside = is_delivery & (failover == NONE), is_delivery & (failover != NONE)
    verdict[outside] = PLAIN
    verdict[outside & _here_before(rows, of_both, is_delivery)] = REPEATED
    verdict[inside] = FIRST
    verdict[inside & (count_before(of_both, is_delivery) > 0)] = REDELIVERY
    verdict[inside & (ack != NONE)] = DUPLICATE
    verdict[_extra(of_both, failover)] = EXTRA
    return Judged(run, rows, verdict, first_in(of_message, is_publish), ack, failover)


def _here_before(rows: pa.Table, begin: np.ndarray, is_delivery: np.ndarray) -> np.ndarray:
    """Whether the same cluster had delivered the message before to the subscription."""
    again = np.zeros(len(begin), bool)
    several = begin[is_delivery & (count_before(begin, is_delivery) > 0)]
    if len(several):
        mine = np.flatnonzero(is_delivery & np.isin(begin, several))
        mine = mine[order_by(begin[mine], codes(rows, "cluster")[mine])]
        again[mine[~changes(begin[mine], codes(rows, "cluster")[mine])]] = True
    return again


def _failovers(rows: pa.Table, is_delivery: np.ndarray, windows: list[FailoverWindow]) -> np.ndarray:
    """The failover of each delivery at the target inside its window; windows of a subscription are apart."""
    found = np.full(len(is_delivery), NONE)
    seq, cluster, subscription = numbers(rows, "seq"), codes(rows, "cluster"), codes(rows, "subscription")
    for name in dict.fromkeys(window.subscription for window in windows):
        mine = sorted(window for window in windows if window.subscription == name)
        starts, ends, targets = (
            np.array(values)
            for values in zip(
                *((one.failover_seq, one.end_seq, code_of(rows, "cluster", one.target)) for one in mine)
            )
        )
        at = np.flatnonzero(is_delivery & (subscription == code_of(rows, "subscription", name)))
        number = np.searchsorted(starts, seq[at], "left") - 1
        inside = (number >= 0) & (seq[at] < ends[number]) & (cluster[at] == targets[number])
        found[at[inside]] = starts[number[inside]]
    return found


def _extra(begin: np.ndarray, failover: np.ndarray) -> np.ndarray:
    """Whether an earlier delivery of the same message is in the same failover."""
    extra = np.zeros(len(begin), bool)
    inside = np.flatnonzero(failover != NONE)
    extra[inside[~changes(begin[inside], failover[inside])]] = True
    return extra


def _table(judged: Judged, wanted: np.ndarray) -> pa.Table:
    """The wanted rows in the columns of JUDGED."""
    chosen = np.flatnonzero(wanted)
    failover, published, ack = (array[chosen] for array in (judged.failover, judged.published, judged.ack))
    mine = judged.rows.take(pa.array(chosen))
    of_publish = judged.rows.select(["key", "cluster"]).take(pa.array(published, mask=published == NONE))
    of_ack = judged.rows.select(["seq", "at_us", "cluster", "ledger", "entry"]).take(
        pa.array(ack, mask=ack == NONE)
    )
    columns = {
        "run": pa.array(np.full(len(chosen), judged.run)),
        **{name: mine.column(name) for name in OWN},
        "place": places(mine),
        "stored_seq": mine.column("evidence_seq"),
        "key": of_publish.column("key"),
        "origin": of_publish.column("cluster"),
        "failover_seq": pa.array(failover, mask=failover == NONE),
        "ack_seq": of_ack.column("seq"),
        "ack_us": of_ack.column("at_us"),
        "ack_cluster": of_ack.column("cluster"),
        "ack_place": places(of_ack),
        "verdict": pa.DictionaryArray.from_arrays(pa.array(judged.verdict[chosen]), pa.array(VERDICTS)),
    }
    return pa.table(columns).cast(JUDGED)


DELIVERIES, NOTABLE = Scan(WANTED, deliveries, JUDGED), Scan(WANTED, notable, JUDGED)
