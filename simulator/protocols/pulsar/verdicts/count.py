"""Counting a run: from a trace and its scenario to every number of the contract (`docs/counting.md`).

Rules: a pure reader. The trace decides, the scenario only adds what was configured. The forecast shown beside
a failover is not counted here: it is made from the world's state at that instant
(`simulator.protocols.pulsar.verdicts.forecast`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.counting.results import CountedFailover, CountedRun, CountingError, SubscriptionCounts
from simulator.protocols.pulsar.verdicts.causes import explain
from simulator.protocols.pulsar.verdicts.facts import Facts, History
from simulator.protocols.pulsar.verdicts.windows import (
    MessageFacts,
    Window,
    caught_up_us,
    dedup_window,
    drained_us,
    judge,
    keys_by_message,
    lost,
    message_facts,
    pending_repeats,
    redelivered_list,
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
    windows = windows_of(facts)
    failovers = []
    if windows:
        keys = keys_by_message(facts)
        known: dict[int, MessageFacts] = {}
        for window in windows:
            if window.subscription not in known:
                known[window.subscription] = message_facts(facts, window.subscription)
            failovers.append(_count_failover(facts, window, known[window.subscription], keys))
    subscriptions, partitions = subscription_counts(facts, windows)
    return CountedRun(facts.history.upto_seq, failovers, subscriptions, partitions)


def _count_failover(facts: Facts, window: Window, known: MessageFacts, keys: np.ndarray) -> CountedFailover:
    judged = judge(facts, window)
    by_cause, duplicates = explain(facts, window, judged)
    topics = facts.topics_of(window.subscription)
    losses, lost_list = lost(facts, window, topics, known)
    left, stranded_list = stranded(facts, window, topics, known)
    remembered, span_us = dedup_window(judged)
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
        reordered=reordered(facts, judged, keys),
        by_cause=by_cause,
        dedup_window_messages=remembered,
        dedup_window_us=span_us,
        caught_up_us=caught_up_us(facts, window, topics, known),
        drained_us=drained_us(facts, window, topics),
        pending_repeats=pending_repeats(facts, window, topics, judged),
        duplicates_list=duplicates,
        redelivered_list=redelivered_list(facts, judged),
        lost_list=lost_list,
        stranded_list=stranded_list,
        **losses,
        **left,
    )
    if len(judged.first):
        counted.first_delivery_us = int(judged.first.at_us[0])
        counted.outage_us = counted.first_delivery_us - facts.end_of(window.source, window.opened_seq).at_us
    check_sums(counted)
    return counted


def check_sums(counted: CountedFailover) -> None:
    """Raise `CountingError` unless causes are exclusive and add up."""
    if (
        sum(counted.by_cause.values()) != counted.duplicates
        or sum(counted.lost_by_cause.values()) != counted.lost
    ):
        raise CountingError("the causes of a failover do not add up", {"failover": counted.opened_seq})


_COUNTED = ("delivered", "acknowledged", "expired", "skipped")


def subscription_counts(
    facts: Facts, windows: list[Window]
) -> tuple[dict[tuple[str, str], SubscriptionCounts], dict[tuple[str, str, str], SubscriptionCounts]]:
    """By (subscription, cluster), and by (subscription, cluster, topic partition).

    Rows of each subscription in each cluster: delivered, acknowledged, repeated, expired, skipped.

    Rules: `delivered`, `acknowledged`, `expired` and `skipped` are numbers of rows. A repeat is a delivery of
    a message that this cluster had delivered before. It counts here only outside the windows that move the
    subscription to this cluster.
    """
    outer: dict[tuple[str, str], SubscriptionCounts] = {}
    inner: dict[tuple[str, str, str], SubscriptionCounts] = {}
    for subscription in facts.subscriptions():
        for cluster in facts.clusters:
            for topic, counts in _by_topic(facts, windows, subscription, cluster).items():
                key = (facts.name(subscription), facts.name(cluster))
                inner[(*key, facts.name(topic))] = counts
                outer[key] = _added(outer.get(key, SubscriptionCounts()), counts)
    return outer, inner


def _by_topic(
    facts: Facts, windows: list[Window], subscription: int, cluster: int
) -> dict[int, SubscriptionCounts]:
    where = {"subscription": subscription, "cluster": cluster}
    created = facts.history.table("subscription.created", **where).topic
    tables = {name: facts.history.table(f"message.{name}", **where) for name in _COUNTED}
    repeats = _repeats(facts, windows, subscription, cluster)
    topics = np.unique(np.concatenate([created, *(table.topic for table in tables.values())])).tolist()
    found = {}
    for topic in sorted(topics, key=facts.name):
        numbers = {name: int((table.topic == topic).sum()) for name, table in tables.items()}
        found[topic] = SubscriptionCounts(
            **numbers, repeated=int((tables["delivered"].topic[repeats] == topic).sum())
        )
    return found


def _repeats(facts: Facts, windows: list[Window], subscription: int, cluster: int) -> np.ndarray:
    """Mask of the cluster's deliveries that repeat an earlier one there and belong to no window."""
    delivered = facts.history.table("message.delivered", subscription=subscription, cluster=cluster)
    repeats = np.ones(len(delivered), dtype=bool)
    repeats[np.unique(delivered.message, return_index=True)[1]] = False
    for window in windows:
        if window.subscription == subscription and window.target == cluster:
            repeats &= (delivered.seq < window.opened_seq) | (delivered.seq >= window.closed_seq)
    return repeats


def _added(one: SubscriptionCounts, other: SubscriptionCounts) -> SubscriptionCounts:
    return SubscriptionCounts(
        *(
            getattr(one, name) + getattr(other, name)
            for name in ("delivered", "acknowledged", "repeated", "expired", "skipped")
        )
    )


# --- counted values as the JSON of the contract: exactly its keys, each present even at 0


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
    return {
        name: getattr(counted, name)
        for name in ("delivered", "acknowledged", "repeated", "expired", "skipped")
    }
