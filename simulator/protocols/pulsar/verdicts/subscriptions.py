"""Rows of each subscription in each cluster: delivered, acknowledged, repeated, expired, skipped.

Rules: `delivered`, `acknowledged`, `expired` and `skipped` are numbers of rows. A repeat is a delivery of a
message that this cluster had delivered before. It counts here only outside the windows that move the
subscription to this cluster.
"""

from __future__ import annotations

import numpy as np

from simulator.counting.results import SubscriptionCounts
from simulator.protocols.pulsar.verdicts.facts import Facts
from simulator.protocols.pulsar.verdicts.windows import Window

_COUNTED = ("delivered", "acknowledged", "expired", "skipped")


def subscription_counts(
    facts: Facts, windows: list[Window]
) -> tuple[dict[tuple[str, str], SubscriptionCounts], dict[tuple[str, str, str], SubscriptionCounts]]:
    """By (subscription, cluster), and by (subscription, cluster, topic partition)."""
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
