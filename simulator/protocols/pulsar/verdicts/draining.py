"""When the backlog of a failover is drained: the target's cursor covers its log as of the failover.

Rules: from the rows. It is the first instant at which all copies are covered together, so a later reset
undoes nothing. Between two rows with which the cursor loses acks or goes back, coverage only grows. A copy
that is removed while it is not covered never will be. `pulsar.draining` keeps the same figure live.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.verdicts.cursors import Cursor
from simulator.protocols.pulsar.verdicts.facts import Facts
from simulator.protocols.pulsar.verdicts.logs import Log
from simulator.protocols.pulsar.verdicts.losses import dropped_since
from simulator.protocols.pulsar.verdicts.read import NEVER
from simulator.protocols.pulsar.verdicts.windows import Judged, Window

Interval = tuple[int, int]
"""Rows (first, end): everything is covered from `first` on until before `end`."""


def drained_us(facts: Facts, window: Window, topics: list[int]) -> int | None:
    """The first instant of the window at which the backlog of the failover is drained.

    At that instant the target's cursor covers, in every topic, each copy that was in the log at the
    failover. None when that does not happen in the window.
    """
    together: list[Interval] = [(window.opened_seq, window.closed_seq)]
    for topic in topics:
        log, cursor = facts.log(window.target, topic), facts.cursor(window.subscription, window.target, topic)
        together = _both(together, _covered_intervals(log, cursor, window))
    return facts.history.at_us(together[0][0]) if together else None


def pending_repeats(facts: Facts, window: Window, topics: list[int], judged: Judged) -> int | None:
    """How many messages the target may still deliver again when counting stops.

    Each was delivered or acknowledged in any cluster, so that it will be a duplicate or a redelivery. A copy
    is in the target's log, and the cursor does not cover it. It was not delivered in the window, and no
    client dropped it. While there are any, the failover's numbers may rise. None when the next failover ended
    the window: its numbers are final.
    """
    if window.closed_seq < facts.history.upto_seq:
        return None
    delivered = facts.history.table("message.delivered", subscription=window.subscription).message
    known = np.union1d(delivered, judged.acknowledged.message)
    total = 0
    for topic in topics:
        log, cursor = facts.log(window.target, topic), facts.cursor(window.subscription, window.target, topic)
        copies = np.flatnonzero(log.held(window.closed_seq))
        copies = copies[~cursor.covers(copies, log.position[copies], window.closed_seq)]
        waiting = np.setdiff1d(np.intersect1d(log.message[copies], known), judged.first.message)
        total += int((dropped_since(facts, window, topic)[waiting] == NEVER).sum())
    return total


def _both(one: list[Interval], other: list[Interval]) -> list[Interval]:
    """Where the intervals of both lists overlap, in order."""
    met = ((max(a[0], b[0]), min(a[1], b[1])) for a in one for b in other)
    return sorted(interval for interval in met if interval[0] < interval[1])


def _covered_intervals(log: Log, cursor: Cursor, window: Window) -> list[Interval]:
    """Intervals of the window in which the cursor covers all copies that the log held at the failover."""
    copies = np.flatnonzero(log.held(window.opened_seq))
    if not len(copies):
        return [(window.opened_seq, window.closed_seq)]
    found = []
    for start, end in _stretches(cursor, window):
        since = _covered_since(log, cursor, copies, start, end)
        gone = log.gone_seq[copies]
        if (gone < np.minimum(since, end)).any():
            break
        if (latest := int(since.max(initial=start))) < end:
            found.append((latest, end))
        copies = copies[gone >= end]  # a copy that was covered when it was removed counts as covered
    return found


def _stretches(cursor: Cursor, window: Window) -> list[Interval]:
    """The window cut at each row with which the cursor loses acknowledgements or goes back."""
    cuts = np.unique(np.concatenate((cursor.forgetting_seqs, cursor.backward_seqs)))
    cuts = cuts[(cuts > window.opened_seq) & (cuts < window.closed_seq)].tolist()
    return list(zip([window.opened_seq, *cuts], [*cuts, window.closed_seq], strict=True))


def _covered_since(log: Log, cursor: Cursor, copies: np.ndarray, start: int, end: int) -> np.ndarray:
    """The row since which the cursor covers each copy, from `start` on.

    NEVER when it does not before `end`.
    """
    position = log.position[copies]
    since = np.minimum(
        cursor.passed_between(position, start, end), cursor.registered_between(copies, start, end)
    )
    return np.where(cursor.covers(copies, position, start), start, since)
