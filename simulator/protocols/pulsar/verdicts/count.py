"""Counting a run: from a trace and its scenario to every number of the contract (`docs/counting.md`).

Rules: a pure reader. The trace decides, the scenario only adds what was configured. The forecast shown beside
a failover is not counted here: it is made from the world's state at that instant
(`simulator.protocols.pulsar.verdicts.forecast`).
"""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.counting import CountedFailover, CountedRun, CountingError, SubscriptionCounts
from simulator.protocols.pulsar.verdicts.causes import explain
from simulator.protocols.pulsar.verdicts.facts import NEVER, Facts, History
from simulator.protocols.pulsar.verdicts.windows import (
    Interval,
    Judged,
    MessageFacts,
    Remembered,
    Window,
    caught_up,
    covered,
    dedup_window,
    judge,
    keys_by_message,
    lost,
    message_facts,
    overlaps,
    pending_repeats,
    redelivered_list,
    remembered,
    reordered,
    stranded,
    windows_of,
)

if TYPE_CHECKING:
    from simulator.trace.trace import Trace


def count_run(trace: Trace, scenario: Any, upto_seq: int | None = None) -> CountedRun:
    """Count the rows before `upto_seq` (default: all).

    Raises `CountingError` when the trace contradicts the definitions.
    """
    facts = Facts(History(trace, upto_seq, tuple(scenario.audiences)), scenario)
    share = count_share(facts)
    keys = keys_by_message(facts) if share.failovers else np.empty(0, dtype=np.int64)
    for part in share.failovers:
        part.counted.reordered = reordered(facts, part.judged, keys)
    return summed([share])


@dataclass(slots=True)
class FailoverPart:
    """One failover as one share of the run's messages shows it.

    Its numbers in `counted` are those of the share. What is no sum follows from the other fields: the first
    delivery, the first row by which no message needed a delivery any more, and the rows between which the
    target's cursor covers its log as of the failover, each with its instant; and what must be remembered.
    """

    window: Window
    judged: Judged
    counted: CountedFailover
    source_ended_us: int
    first_delivery: tuple[int, int]
    caught_up: tuple[int, int]
    covered: list[Interval]
    instants: dict[int, int]
    remembered: Remembered


@dataclass(slots=True)
class ShareCounts:
    """The counts of one share of a run's messages."""

    upto_seq: int
    failovers: list[FailoverPart]
    partitions: dict[tuple[str, str, str], SubscriptionCounts]


def count_share(facts: Facts) -> ShareCounts:
    """Judge a share of a run's messages. `reordered` is not counted: it compares messages of all shares."""
    windows = windows_of(facts)
    failovers = []
    known: dict[int, MessageFacts] = {}
    for window in windows:
        if window.subscription not in known:
            known[window.subscription] = message_facts(facts, window.subscription)
        failovers.append(_count_failover(facts, window, known[window.subscription]))
    return ShareCounts(facts.history.upto_seq, failovers, _partition_counts(facts, windows))


def _count_failover(facts: Facts, window: Window, known: MessageFacts) -> FailoverPart:
    judged = judge(facts, window)
    by_cause, duplicates = explain(facts, window, judged)
    topics = facts.topics_of(window.subscription)
    losses, lost_list = lost(facts, window, topics, known)
    left, stranded_list = stranded(facts, window, topics, known)
    counted = CountedFailover(
        subscription=facts.name(window.subscription),
        source=facts.name(window.source),
        target=facts.name(window.target),
        mode=facts.name(window.mode),
        at_us=window.opened_us,
        opened_seq=window.opened_seq,
        closed_seq=window.closed_seq,
        duplicates=len(judged.duplicates),
        extra_deliveries=len(judged.deliveries) - len(judged.first),
        redeliveries=len(judged.redeliveries),
        by_cause=by_cause,
        pending_repeats=pending_repeats(facts, window, topics, judged),
        duplicates_list=duplicates,
        redelivered_list=redelivered_list(facts, judged),
        lost_list=lost_list,
        stranded_list=stranded_list,
        **losses,
        **left,
    )
    check_sums(counted)
    first = judged.first
    intervals = covered(facts, window, topics)
    return FailoverPart(
        window,
        judged,
        counted,
        facts.end_of(window.source, window.opened_seq).at_us,
        (int(first.seq[0]), int(first.at_us[0])) if len(first) else (NEVER, NEVER),
        caught_up(facts, window, topics, known),
        intervals,
        {start: facts.history.at_us(start) for start, _ in intervals},
        remembered(judged),
    )


_PLAIN = (
    "mode",
    "at_us",
    "duplicates",
    "extra_deliveries",
    "redeliveries",
    "lost",
    "lost_recovered",
    "lost_by_cause",
    "stranded",
    "stranded_unprocessed",
    "stranded_returned",
    "stranded_missing",
    "expired",
    "skipped",
    "reordered",
    "by_cause",
)
_BY_CAUSE = ("by_cause", "lost_by_cause")
SUMMED = tuple(name for name in _PLAIN if name not in ("mode", "at_us", *_BY_CAUSE))
"""Figures of a failover that are numbers of messages or deliveries."""


def summed(shares: list[ShareCounts]) -> CountedRun:
    """The counts of a run from those of all its shares. The lists are those of the first share."""
    failovers = [
        _summed_failover(list(parts)) for parts in zip(*(one.failovers for one in shares), strict=True)
    ]
    partitions: dict[tuple[str, str, str], SubscriptionCounts] = {}
    for share in shares:
        for key, counts in share.partitions.items():
            partitions[key] = _added(partitions.get(key, SubscriptionCounts()), counts)
    subscriptions: dict[tuple[str, str], SubscriptionCounts] = {}
    for (subscription, cluster, _), counts in partitions.items():
        outer = (subscription, cluster)
        subscriptions[outer] = _added(subscriptions.get(outer, SubscriptionCounts()), counts)
    return CountedRun(shares[0].upto_seq, failovers, subscriptions, partitions)


def _summed_failover(parts: list[FailoverPart]) -> CountedFailover:
    counted, window = parts[0].counted, parts[0].window
    for part in parts[1:]:
        for name in SUMMED:
            setattr(counted, name, getattr(counted, name) + getattr(part.counted, name))
        for name in _BY_CAUSE:
            mine, theirs = getattr(counted, name), getattr(part.counted, name)
            setattr(counted, name, {cause: mine[cause] + theirs[cause] for cause in mine})
        if counted.pending_repeats is not None:
            counted.pending_repeats += part.counted.pending_repeats or 0
    counted.dedup_window_messages, counted.dedup_window_us = dedup_window(
        _remembered([part.remembered for part in parts])
    )
    together = reduce(overlaps, (part.covered for part in parts))
    if together:
        start = together[0][0]
        counted.drained_us = next(part.instants[start] for part in parts if start in part.instants)
    latest, latest_us = max(part.caught_up for part in parts)
    counted.caught_up_us = latest_us if latest < window.closed_seq else None
    seq, at_us = min(part.first_delivery for part in parts)
    if seq != NEVER:
        counted.first_delivery_us, counted.outage_us = at_us, at_us - parts[0].source_ended_us
    return counted


def _remembered(parts: list[Remembered]) -> Remembered:
    if len(parts) == 1:
        return parts[0]
    first, last, early, late = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "last", "early", "late")
    )
    order = np.argsort(early)
    acks = np.sort(np.concatenate([part.acks for part in parts])) if len(first) else parts[0].acks
    return Remembered(acks, early[order], late[order], first, last, max(part.span_us for part in parts))


def check_sums(counted: CountedFailover) -> None:
    """Raise `CountingError` unless causes are exclusive and add up."""
    if (
        sum(counted.by_cause.values()) != counted.duplicates
        or sum(counted.lost_by_cause.values()) != counted.lost
    ):
        raise CountingError("the causes of a failover do not add up", {"failover": counted.opened_seq})


_COUNTED = ("delivered", "acknowledged", "expired", "skipped")


def _partition_counts(facts: Facts, windows: list[Window]) -> dict[tuple[str, str, str], SubscriptionCounts]:
    """By (subscription, cluster, topic partition) the numbers of rows.

    Rules: `delivered`, `acknowledged`, `expired` and `skipped` are numbers of rows. A repeat is a delivery of
    a message that this cluster had delivered before. It counts here only outside the windows that move the
    subscription to this cluster.
    """
    return {
        (facts.name(subscription), facts.name(cluster), facts.name(topic)): counts
        for subscription in facts.subscriptions()
        for cluster in facts.clusters
        for topic, counts in _by_topic(facts, windows, subscription, cluster).items()
    }


def _by_topic(
    facts: Facts, windows: list[Window], subscription: int, cluster: int
) -> dict[int, SubscriptionCounts]:
    where = {"subscription": subscription, "cluster": cluster}
    created = facts.history.table("subscription.created", **where).topic
    tables = {name: facts.history.table(f"message.{name}", **where) for name in _COUNTED}
    repeats = repeats_outside(facts, windows, subscription, cluster)
    topics = np.unique(np.concatenate([created, *(table.topic for table in tables.values())])).tolist()
    found = {}
    for topic in sorted(topics, key=facts.name):
        numbers = {name: int((table.topic == topic).sum()) for name, table in tables.items()}
        found[topic] = SubscriptionCounts(
            **numbers, repeated=int((tables["delivered"].topic[repeats] == topic).sum())
        )
    return found


def repeats_outside(facts: Facts, windows: list[Window], subscription: int, cluster: int) -> np.ndarray:
    """Mask of the cluster's deliveries that repeat an earlier one there and belong to no window."""
    delivered = facts.history.table("message.delivered", subscription=subscription, cluster=cluster)
    repeats = np.ones(len(delivered), dtype=bool)
    repeats[np.unique(delivered.message, return_index=True)[1]] = False
    for window in windows:
        if window.subscription == subscription and window.target == cluster:
            repeats &= (delivered.seq < window.opened_seq) | (delivered.seq >= window.closed_seq)
    return repeats


def _added(one: SubscriptionCounts, other: SubscriptionCounts) -> SubscriptionCounts:
    return SubscriptionCounts(*map(add, astuple(one), astuple(other)))


# --- counted values as the JSON of the contract: exactly its keys, each present even at 0


def failover_summary(counted: CountedFailover, forecast: dict[str, int] | None = None) -> dict[str, Any]:
    """One entry of `failovers[]`.

    `forecast` is the world's forecast at the failover's instant, None when it made none.
    """
    figures = forecast or {}
    return {
        "subscription": counted.subscription,
        "from": counted.source,
        "to": counted.target,
        **{name: _copied(getattr(counted, name)) for name in _PLAIN},
        "dedup_window": {"messages": counted.dedup_window_messages, "us": counted.dedup_window_us},
        "outage_us": counted.outage_us,
        "first_delivery_us": counted.first_delivery_us,
        "caught_up_us": counted.caught_up_us,
        "drained_us": counted.drained_us,
        "pending_repeats": counted.pending_repeats,
        "forecast": {name: figures.get(name) for name in ("duplicates", "lost", "stranded")},
    }


def _copied(value: Any) -> Any:
    return dict(value) if isinstance(value, dict) else value


def subscription_summary(counted: SubscriptionCounts) -> dict[str, int]:
    """The counted part of one entry of `subscriptions.{S}.{C}` or of its `partitions`."""
    return asdict(counted)
