"""Backlog quotas: the broker's periodic check, and what it evicts.

Rules: as in Pulsar 4.2.4 (`BrokerService.monitorBacklogQuota`, `BacklogQuotaManager`). The size of a topic's
backlog is the estimate after the slowest durable cursor, replication cursors included
(`ManagedLedgerImpl.getSlowestConsumer`, `getEstimatedBacklogSize`). Of the two types only the size counts
where both are exceeded. A quota of a topic precedes that of its namespace, and this the broker's default.
Eviction writes no Update, and what a replication cursor passes is never sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.pulsar.broker import session
from simulator.protocols.pulsar.scenario.policies import (
    EVICTION,
    MESSAGE_AGE,
    SIZE,
    BacklogQuota,
)
from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.replication.replicator import Replicator

REASON = "backlog-quota"
"""Why a cursor was moved, a message was not replicated, and a producer was disconnected."""

PRECISE = "preciseTimeBasedBacklogQuotaCheck"
_DEFAULTS = ("backlogQuotaDefaultLimitBytes", "backlogQuotaDefaultLimitSecond")
_POLICY = "backlogQuotaDefaultRetentionPolicy"
_MS, _SECOND_MS = 1000, 1000


class Slowest(NamedTuple):
    """The slowest durable cursor of a topic: where it is, whose it is, and how it is moved past entries.

    `pass_over(owner, last, cause, ledger)`: up to entry `last`, then to the `L:-1` of `ledger`, if given.
    """

    position: tuple[int, int]
    owner: Subscription | Replicator
    pass_over: Callable[..., Iterator[int]]


# --- quotas


def quota_of(topic: Topic, type_: str) -> BacklogQuota:
    """The quota of a type in force: the topic's, else its namespace's, else the broker's default."""
    cluster = topic.cluster
    if not any(name in topic.policies for name in (*_DEFAULTS, _POLICY)):
        namespace = topic.runtime.scenario.topics[topic.base].namespace
        present = topic.runtime.policies.namespaces.get((cluster.name, namespace))
        quotas = (present or {}).get("backlog_quotas") or {}
        if type_ in quotas:
            return quotas[type_]
    limit_bytes, limit_s = (cluster.setting(name, topic) for name in _DEFAULTS)
    return BacklogQuota(cluster.setting(_POLICY, topic), limit_bytes, limit_s)


def is_limited(topic: Topic) -> bool:
    """Whether a quota can be exceeded at all, so that the periodic check is needed."""
    return quota_of(topic, SIZE).limit_bytes >= 0 or quota_of(topic, MESSAGE_AGE).limit_s > 0


def blocks_producers(topic: Topic) -> bool:
    """Whether a quota in force makes the broker refuse producers once it is exceeded."""
    size, age = quota_of(topic, SIZE), quota_of(topic, MESSAGE_AGE)
    return (size.policy != EVICTION and size.limit_bytes >= 0) or (age.policy != EVICTION and age.limit_s > 0)


def evict_down_to(limit: int) -> int:
    """Nine tenths of a limit (`BacklogQuotaManager.computeEvictionTarget`)."""
    return limit * 9 // 10


def entries_to_evict(backlog_bytes: int, limit_bytes: int, entries: int) -> int:
    """The share of the slowest cursor's entries that is above the target (`computeEntriesToEvict`)."""
    return (backlog_bytes - evict_down_to(limit_bytes)) * entries // backlog_bytes


# --- the backlog


def slowest(topic: Topic) -> Slowest | None:
    """The slowest durable cursor; among equals the subscriptions by name, then the replicators.

    In a broker the first of equals depends on the order of earlier moves (`ManagedCursorContainerImpl`).
    """
    found = [
        Slowest(one.border.position(one.cursor.mark_delete), one, _pass_subscription)
        for _name, one in sorted(topic.subscriptions.items())
    ]
    for _peer, one in sorted(topic.replicators.items()):
        one.catch_up()
        found.append(Slowest(one.border.position(one.cursor.mark_delete), one, _pass_replicator))
    return min(found, key=lambda one: one.position, default=None)


def bytes_after(topic: Topic, position: tuple[int, int]) -> int:
    """A broker's estimate of the bytes after a position.

    Ledgers count whole. Entries of the first one count with their average size.
    """
    ledger_id, entry = position
    total = sum(ledger.size_bytes for ledger in topic.log.ledgers)
    for ledger in topic.log.ledgers:
        if ledger.id < ledger_id:
            total -= ledger.size_bytes
        elif ledger.id == ledger_id and ledger.entries:
            passed = min(entry + 1, ledger.entries)
            total -= (
                ledger.size_bytes
                if passed == ledger.entries
                else passed * (ledger.size_bytes // ledger.entries)
            )
    return total


def backlog_bytes(topic: Topic) -> int:
    """The size of the backlog that is compared with a quota, 0 without a cursor."""
    found = slowest(topic)
    return 0 if found is None else bytes_after(topic, found.position)


def oldest_ms(topic: Topic) -> int | None:
    """The instant that counts as the age of the oldest unacknowledged message; None where none is known.

    Without a backlog of a subscription there is none, even if a replication cursor has one
    (`PersistentTopic.updateOldPositionInfo`, `hasBacklogs`). Precise: the publish time of the first entry
    after the slowest cursor. Else the instant at which its ledger was closed, and none for the open one
    (`estimatedTimeBasedBacklogQuotaCheck`).
    """
    log, found = topic.log, slowest(topic)
    if found is None or not any(one.backlog for one in topic.subscriptions.values()):
        return None
    after = max(found.owner.cursor.mark_delete + 1, log.first_kept)
    if topic.cluster.setting(PRECISE):
        return retention.published_us(topic, after) // _MS if after < log.length else None
    ledger_id, entry = found.position
    if log.ledgers and log.ledgers[-1].id == ledger_id:
        return None
    ledger = next((one for one in log.ledgers if one.id == ledger_id), None)
    if (ledger is None or entry == ledger.entries - 1) and after < log.length:
        ledger_id = log.position(after)[0]
        ledger = next((one for one in log.ledgers if one.id == ledger_id), None)
    return None if ledger is None or ledger.closed_us is None else ledger.closed_us // _MS


def exceeded(topic: Topic) -> str | None:
    """The type of the quota that is exceeded now: the size first, None for neither."""
    if 0 <= quota_of(topic, SIZE).limit_bytes <= backlog_bytes(topic):
        return SIZE
    return MESSAGE_AGE if _is_too_old(topic) else None


def _is_too_old(topic: Topic) -> bool:
    limit_s = quota_of(topic, MESSAGE_AGE).limit_s
    oldest = oldest_ms(topic) if limit_s > 0 else None
    return oldest is not None and topic.runtime.now_us // _MS > oldest + limit_s * _SECOND_MS


# --- the check


def check(topic: Topic) -> Iterator[int]:
    """The periodic check: evict, or disconnect the producers; yields between portions."""
    type_, oldest = exceeded(topic), oldest_ms(topic)
    topic.timers.oldest_ms = oldest
    if type_ is None:
        return
    quota = quota_of(topic, type_)
    cause = topic.runtime.note(
        "topic.quota-exceeded",
        NULL,
        topic.cluster.number,
        topic.number,
        type_,
        quota.policy,
        backlog_bytes(topic),
        None if oldest is None else topic.runtime.now_us - oldest * _MS,
    )
    if quota.policy != EVICTION:
        disconnect_producers(topic, cause)
        return
    topic.timers.evictions[type_] += 1
    if type_ == SIZE:
        yield from _evict_by_size(topic, quota.limit_bytes, cause)
    elif topic.cluster.setting(PRECISE):
        yield from _evict_by_publish_time(topic, quota.limit_s, cause)
    else:
        yield from _evict_closed_ledgers(topic, quota.limit_s, cause)


def _evict_by_size(topic: Topic, limit_bytes: int, cause: int) -> Iterator[int]:
    """Move slowest cursors until the backlog is at most the target (`dropBacklogForSizeLimit`)."""
    previous = None
    while (found := slowest(topic)) is not None:
        size_bytes = bytes_after(topic, found.position)
        if size_bytes <= evict_down_to(limit_bytes) or found.owner is previous:
            return
        cursor, log = found.owner.cursor, topic.log
        count = entries_to_evict(size_bytes, limit_bytes, cursor.backlog(log.length))
        if not count:
            return
        last = max(cursor.mark_delete, log.first_kept - 1) + count
        yield from found.pass_over(found.owner, min(last, log.length - 1), cause)
        previous = found.owner


def _evict_by_publish_time(topic: Topic, limit_s: int, cause: int) -> Iterator[int]:
    """Expire what is older than the target, for subscriptions only (`dropBacklogForTimeLimit`)."""
    limit_us = topic.runtime.now_us - evict_down_to(limit_s) * 1_000_000
    for subscription in tuple(topic.subscriptions.values()):
        last = retention.newest_published_before(topic, subscription.cursor, limit_us)
        yield from _pass_subscription(subscription, last, cause)


def _evict_closed_ledgers(topic: Topic, limit_s: int, cause: int) -> Iterator[int]:
    """Move slowest cursors past whole ledgers that were closed too long ago (`dropBacklogForTimeLimit`).

    A cursor moves to the next ledger's `L:-1`. The broker rejects that while the next ledger is empty, unless
    the cursor has all of its own (`ManagedCursorImpl.asyncMarkDelete`), and ends the eviction.
    """
    while (found := slowest(topic)) is not None:
        ledgers = topic.log.ledgers
        here = next((one for one in ledgers if one.id == found.position[0]), None)
        after = next((one for one in ledgers if one.id > found.position[0]), None)
        if after is None:
            break
        if here is not None:
            now_ms = topic.runtime.now_us // _MS
            if here.closed_us is None or now_ms - here.closed_us // _MS <= limit_s * _SECOND_MS:
                break
            if not after.entries and found.position[1] + 1 < here.entries:
                break
        yield from found.pass_over(found.owner, after.first_index - 1, cause, after.id)
    topic.trim(cause)


def _pass_subscription(
    subscription: Subscription, last: int, cause: int, ledger: int | None = None
) -> Iterator[int]:
    """Evict a subscription's entries up to `last`.

    Covered messages of its consumers no longer count as unacknowledged
    (`BacklogQuotaManager.markDeletePositionMoveForward`).
    """
    cursor = subscription.cursor
    if last > cursor.mark_delete:
        yield from retention.pass_over(subscription, last, "message.evicted", cause)
        subscription.pass_over_to(last, REASON, cause)
    if ledger is not None and cursor.mark_delete == last:
        subscription.move_to_ledger(ledger, cause)


def _pass_replicator(
    replicator: Replicator, last: int, cause: int, ledger: int | None = None
) -> Iterator[int]:
    """Evict the entries of a replication cursor up to `last`, markers included."""
    cursor = replicator.cursor
    if last > cursor.mark_delete:
        yield from retention.move_replication_cursor(replicator, last, REASON, cause)
    if ledger is not None and cursor.mark_delete == last:
        replicator.border.move(last, ledger)


# --- producers


def refuses_producers(topic: Topic) -> str | None:
    """The policy by which the broker refuses to create a producer now, None if it accepts one.

    The source is `ServerCnx.handleProducer`, `PersistentTopic.checkBacklogQuotaExceeded`.
    """
    if not topic.blocks_producers:
        return None
    size, age = quota_of(topic, SIZE), quota_of(topic, MESSAGE_AGE)
    if size.policy != EVICTION and 0 <= size.limit_bytes <= backlog_bytes(topic):
        return size.policy
    return age.policy if age.policy != EVICTION and _is_too_old(topic) else None


def disconnect_producers(topic: Topic, cause: int) -> None:
    """Close all producers of the topic: those of clients, and of other clusters' replicators (#199)."""
    for _name, producer in sorted(topic.runtime.producers.items()):
        producer.closed_by_quota(topic, cause)
    session.disconnect(topic, REASON, cause)
