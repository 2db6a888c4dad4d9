"""Removal from a topic: ledgers that no cursor needs, messages past their time to live.

Rules: trimming deletes whole ledgers that every durable cursor, replicators' included, has passed, and that
retention releases (`ManagedLedgerImpl.internalTrimLedgers`). `retention_timers` has the timers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from simulator.protocols.pulsar.broker import session
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.policies import (
    EVICTION,
    MESSAGE_AGE,
    QUOTA_TYPES,
    SIZE,
    BacklogQuota,
)
from simulator.trace.registry import NULL
from simulator.trace.trace import RowColumns

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.log.ledgers import Ledger
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.replication.replicator import Replicator


# --- backlog quotas: the broker's periodic check, and what it evicts
#
# Rules: as in Pulsar 4.2.4 (`BrokerService.monitorBacklogQuota`, `BacklogQuotaManager`). The size of a
# topic's backlog is the estimate after the slowest durable cursor, replication cursors included
# (`ManagedLedgerImpl.getSlowestConsumer`, `getEstimatedBacklogSize`). Of the two types only the size counts
# where both are exceeded. A quota of a topic precedes that of its namespace, and this the broker's default.
# Eviction writes no Update, and what a replication cursor passes is never sent again.


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
        return published_us(topic, after) // _MS if after < log.length else None
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
    cause = topic.runtime.rows.topic_quota_exceeded(
        NULL,
        **topic.names,
        reason=type_,
        detail=quota.policy,
        size_bytes=backlog_bytes(topic),
        duration_us=None if oldest is None else topic.runtime.now_us - oldest * _MS,
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
        last = newest_published_before(topic, subscription.cursor, limit_us)
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
        yield from pass_over(subscription, last, "message.evicted", cause)
        subscription.pass_over_to(last, REASON, cause)
    if ledger is not None and cursor.mark_delete == last:
        subscription.move_to_ledger(ledger, cause)


def _pass_replicator(
    replicator: Replicator, last: int, cause: int, ledger: int | None = None
) -> Iterator[int]:
    """Evict the entries of a replication cursor up to `last`, markers included."""
    cursor = replicator.cursor
    if last > cursor.mark_delete:
        yield from move_replication_cursor(replicator, last, REASON, cause)
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


# --- search of a log by publish time, as brokers search: a binary search, whatever the order of the log
#
# Rules: as in Pulsar 4.2.4. The search returns the newest entry that was published before an instant, if
# the log is in the order of publish times (`OpFindNewest`, `PersistentMessageFinder`). In a log that is
# not, because a link was cut or slow, it may stop anywhere between two entries of which the first is older
# and the second is not. So it passes messages that are newer, or returns to messages that are older.
# Markers are entries, and their own publish time counts. Acknowledged entries are read, too. The range is
# narrowed by the times at which ledgers were closed (`getFindPositionRange`). It begins at the last entry
# of the newest ledger that was closed before the instant, and ends with the oldest ledger that was closed
# after it, each by more than managedLedgerCursorResetLedgerCloseTimestampMaxClockSkewMillis. Instants are
# compared in milliseconds. Expiry of one cursor searched only its entries after the mark-delete before 4.2
# (`SearchActiveEntries`, option `expirySearchRange`), and ended where nothing more was unacknowledged.


CLOCK_SKEW = "managedLedgerCursorResetLedgerCloseTimestampMaxClockSkewMillis"
_RETENTION_MS = 1000


def published_us(topic: Topic, index: int) -> int:
    """When the entry's producer published it: the start of its TTL in every cluster."""
    record = topic.log.records[index]
    return (
        topic.runtime.markers[-record - 1].published_us
        if record < 0
        else topic.runtime.messages.published_us[record]
    )


def newest_before(topic: Topic, instant_us: int) -> int | None:
    """The index of the entry at which the broker's search for an instant ends, None where it finds none.

    A reset continues after it, or at the first entry without one. Expiry covers everything up to it.
    """
    instant_ms = instant_us // _RETENTION_MS
    first, end = _range(topic, instant_ms)
    return _search(topic, instant_ms, first, end, topic.log.length - 1)


def newest_active_before(topic: Topic, cursor: Cursor, after: int, instant_us: int) -> int | None:
    """The same of a search among a cursor's entries after one, with `SearchActiveEntries`."""
    newest = topic.log.length - 1
    last_unacked = newest
    if cursor.last_acknowledged == newest and cursor.deleted_count:
        first, _last = cursor.ranges()[-1]
        last_unacked = first - 1
    return _search(topic, instant_us // _RETENTION_MS, after + 1, newest, last_unacked)


def _search(topic: Topic, instant_ms: int, first: int, end: int, readable: int) -> int | None:
    """The binary search from `first` to `end`; it ends at a place after `readable` (`hasMoreEntries`)."""
    newest = topic.log.length - 1
    count = min(end, newest) - first + 1

    def is_older(place: int) -> bool:
        return published_us(topic, min(first + place, newest)) // _RETENTION_MS < instant_ms

    if count <= 0 or first > readable or not is_older(0):
        return None
    if min(first + count, newest) > readable:
        return first
    if is_older(count):  # one entry past the range, where the log has one
        return min(first + count, newest)
    low, high, last = 0, count, 0
    middle = _middle(low, high)
    while True:
        if first + middle > readable:
            return min(first + last, newest)
        if is_older(middle):
            low = last = middle
        else:
            high = middle - 1
        middle = _middle(low, high)
        if high <= low:
            return min(first + last, newest)


def _middle(low: int, high: int) -> int:
    return low + max((high - low) // 2, 1)


def _range(topic: Topic, instant_ms: int) -> tuple[int, int]:
    """The indices of the first entry that the search compares, and of the last one of its range."""
    log = topic.log
    first, end = log.first_kept, log.length - 1
    skew_ms = topic.cluster.setting(CLOCK_SKEW, topic)
    if skew_ms < 0:
        return first, end
    for ledger in log.ledgers:
        if ledger.closed_us is None:
            break
        closed_ms, last = ledger.closed_us // _RETENTION_MS, ledger.first_index + ledger.entries - 1
        if closed_ms <= instant_ms - skew_ms:
            first = max(last, log.first_kept)
        elif closed_ms > instant_ms + skew_ms:
            end = last
            break
    return first, end


def last_of_expired_ledgers(topic: Topic, ledger_id: int, ttl_us: int) -> int | None:
    """The last index of the closed ledgers from this one on that are older than the time to live.

    The instant at which a ledger was closed counts, whatever its messages' publish times
    (`checkExpiryByLedgerClosureTime`).
    """
    found = None
    for ledger in topic.log.ledgers:
        if ledger.id < ledger_id:
            continue
        if (
            ledger.closed_us is None
            or topic.runtime.now_us // _RETENTION_MS <= (ledger.closed_us + ttl_us) // _RETENTION_MS
        ):
            break
        found = ledger.first_index + ledger.entries - 1
    return found


_REMOVED = CODE["message.removed"]
_SECOND_US, _MINUTE_US, _MEGABYTE = 1_000_000, 60_000_000, 1 << 20
BACKLOG_TO_EXPIRE = 1000
"""Backlog in entries below which a cursor with consumers expires only after 1.5 times the TTL.

The oldest entry counts (Pulsar's MINIMUM_BACKLOG_FOR_EXPIRY_CHECK).
"""


RATES_OVER_US = 10_000_000
"""Span of the rates that pulsar-admin prints; a broker's are over its last full minute."""


class Expired:
    """What expiry has moved a cursor over since the topic's load: entries, markers included.

    The source is `PersistentMessageExpiryMonitor`. `recent` holds (instant, entries) of the span of rates.
    """

    __slots__ = ("checked_us", "recent", "total")

    def __init__(self) -> None:
        self.total = 0
        self.checked_us = -1  # when expired messages were last looked for
        self.recent: deque[tuple[int, int]] = deque()

    def passed(self, entries: int, now_us: int) -> None:
        """Expiry moved the cursor over so many entries of its backlog."""
        self.total += entries
        self.dropped(entries, now_us)

    def dropped(self, entries: int, now_us: int) -> None:
        """A replicator read expired entries and did not send them: they count in its rate only."""
        self.recent.append((now_us, entries))
        while self.recent[0][0] < now_us - RATES_OVER_US:
            self.recent.popleft()

    def since(self, from_us: int) -> int:
        """The entries from an instant on that is at most `RATES_OVER_US` ago."""
        return sum(entries for at_us, entries in self.recent if at_us >= from_us)


def trim_if_switched(topic: Topic, ledger: int, before: int, after: int, cause: int) -> None:
    """A cursor in `ledger` was moved from `before` to `after`: trim when it alone was the slowest.

    Both are indices. It must be in another ledger now. So acking the last entry of a ledger deletes nothing,
    and acking the first of the next does (`ManagedLedgerImpl.onCursorMarkDeletePositionUpdated`).
    """
    if switches_ledger(topic, ledger, after) and _passed_by_all(topic, before + 1):
        topic.trim(cause)


def switches_ledger(topic: Topic, ledger: int, after: int) -> bool:
    """Whether index `after` is in another ledger than `ledger`, and there is one to be deleted.

    The entry at `after` may not be appended yet.
    """
    log = topic.log
    return len(log.ledgers) > 1 and ledger != (
        log.current.id if log.current is not None and after >= log.length else log.position(after)[0]
    )


def passed_border(topic: Topic, index: int, cause: int) -> None:
    """A replicator has the receipt of entry `index`, its first in a ledger: trim when all passed it."""
    if len(topic.log.ledgers) > 1 and _passed_by_all(topic, index):
        topic.trim(cause)


def cursor_deleted(topic: Topic, cause: int) -> None:
    """Trim after a subscription or a replication cursor was deleted (`asyncDeleteCursor`).

    The source is ManagedLedgerImpl.
    """
    if topic.loaded:
        topic.trim(cause)


def trim_if_slowest_moved(topic: Topic, cause: int) -> None:
    """A load moved cursors into the next ledger: trim when the slowest is one of them.

    They were at the end of a closed ledger (`onCursorMarkDeletePositionUpdated`).
    """
    slowest = _slowest(topic)
    if topic.source is None and slowest is not None and topic.log.ledger_after(slowest) is not None:
        topic.trim(cause)


def subscription_deleted(topic: Topic, name: str) -> None:
    """Notify a failover into this cluster: the subscription's cursor covers no message any more."""
    if (window := topic.runtime.window_into(topic.cluster.name, name)) is not None:
        window.cursor_went_back(topic)


def trim(topic: Topic, cause: int) -> None:
    """Delete the ledgers that no cursor needs any more."""
    delete_ledgers(topic, let_go(topic), cause)


def let_go(topic: Topic) -> list[Ledger]:
    """The closed ledgers that every durable cursor has passed and retention releases, oldest first."""
    slowest = _slowest(topic)
    passed = topic.log.length - 1 if slowest is None else slowest
    return _without_retained(
        topic,
        [ledger for ledger in topic.log.ledgers[:-1] if ledger.first_index + ledger.entries - 1 <= passed],
    )


def _slowest(topic: Topic) -> int | None:
    """The mark-delete index of the slowest durable cursor, None without any.

    Replicators and audiences are included.
    """
    for replicator in topic.replicators.values():
        replicator.catch_up()
    cursors = [s.cursor.mark_delete for s in topic.subscriptions.values()] + [
        r.cursor.mark_delete for r in topic.replicators.values()
    ]
    cursors += [
        slowest for audience in topic.audiences.values() if (slowest := audience.slowest()) is not None
    ]
    return min(cursors, default=None)


def _passed_by_all(topic: Topic, index: int) -> bool:
    """Whether every durable cursor is at `index` or beyond."""
    slowest = _slowest(topic)
    return slowest is None or slowest >= index


def delete_ledgers(topic: Topic, ledgers: list[Ledger], cause: int) -> None:
    """Delete the oldest ledgers of a topic, with their messages, and notify those that read them."""
    if not ledgers:
        return
    before_index, seq = ledgers[-1].first_index + ledgers[-1].entries, cause
    for ledger in ledgers:
        seq = topic.runtime.rows.ledger_trimmed(cause, **topic.names, ledger=ledger.id, count=ledger.entries)
        _note_removed(topic, ledger.first_index, ledger.first_index + ledger.entries, seq)
    topic.log.trim(before_index, keep_last=True)  # of a terminated topic the last one may be empty
    topic.shadows.trimmed()
    topic.shadows.ledgers_changed(seq)
    topic.runtime.recount(topic.cluster.name)


def drop_everything(topic: Topic, cause: int) -> None:
    """Delete all ledgers of a deleted topic, even those still needed."""
    log, runtime = topic.log, topic.runtime
    if log.current is not None:
        closed = log.current
        log.close_ledger(runtime.now_us)
        runtime.rows.ledger_closed(cause, **topic.names, ledger=closed.id, count=closed.entries)
    for ledger in tuple(log.ledgers):
        seq = runtime.rows.ledger_trimmed(cause, **topic.names, ledger=ledger.id, count=ledger.entries)
        _note_removed(topic, ledger.first_index, ledger.first_index + ledger.entries, seq)
    log.trim(log.length)
    runtime.recount(topic.cluster.name)
    topic.terminated, topic.refuses = False, None  # a topic created again under this name is a new one


def _without_retained(topic: Topic, ledgers: list) -> list:
    """The first ledgers whose retention time is over, or that the size quota does not need.

    PR 20898 quotes the rule.
    """
    minutes = topic.cluster.setting("defaultRetentionTimeInMinutes", topic)
    megabytes = topic.cluster.setting("defaultRetentionSizeInMB", topic)
    if minutes == -1 and megabytes == -1:
        return []
    size_bytes = sum(ledger.size_bytes for ledger in topic.log.ledgers)
    let_go = []
    for ledger in ledgers:
        over_time = minutes != -1 and topic.runtime.now_us - (ledger.closed_us or 0) > minutes * _MINUTE_US
        over_size = megabytes != -1 and size_bytes - ledger.size_bytes >= megabytes * _MEGABYTE
        if not (over_time or over_size):
            break
        let_go.append(ledger)
        size_bytes -= ledger.size_bytes
    return let_go


def _note_removed(topic: Topic, first: int, last: int, cause: int) -> None:
    """Write one row per message of the deleted entries, by column, because a ledger may hold many.

    All entries are of one ledger.
    """
    runtime, messages, first = topic.runtime, topic.runtime.messages, max(first, topic.log.first_kept)
    records = topic.log.records.view(first, last)
    entries, records = np.flatnonzero(records >= 0), records[records >= 0]
    if not len(records):
        return
    ledger, first_entry = topic.log.position(first)
    counts = messages.values("batch", records)
    # of each message in its entry
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = np.repeat(records, counts) + places
    fields = (
        runtime.now_us,
        cause,
        topic.cluster.number,
        topic.number,
        messages.values("producer", numbers),
        messages.values("sequence_id", numbers),
        ledger,
        first_entry + np.repeat(entries, counts),
        np.where(np.repeat(counts, counts) == 1, NULL, places),
    )
    runtime.emit_rows(len(numbers), [RowColumns(_REMOVED, runtime.seq + np.arange(len(numbers)), fields)])


def messages_between(topic: Topic, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """(index, message number, batch_index or NULL) of every message in entries `first` to `last - 1`."""
    for index in range(max(first, topic.log.first_kept), last):
        record = topic.log.records[index]
        if record >= 0:
            count = topic.runtime.messages.batch[record]
            for offset in range(count):
                yield index, record + offset, NULL if count == 1 else offset


LOOKED_AT_ONCE = 2_000
"""Entries that a search checks in one event: a millisecond."""

PORTION_ENTRIES = 500
"""Entries that a cursor is moved over in one event: two or three milliseconds."""


def pass_over(
    subscription: Subscription, last: int, event: str, cause: int, reason: str | None = None
) -> Iterator[int]:
    """Write rows for the unacked messages that a cursor is about to be moved past.

    They are those up to entry `last`, in portions of the clock's.
    """
    topic, cursor, first = (
        subscription.topic,
        subscription.cursor,
        max(subscription.cursor.mark_delete + 1, subscription.topic.log.first_kept),
    )
    for begin in range(first, last + 1, PORTION_ENTRIES):
        end = min(begin + PORTION_ENTRIES, last + 1)
        _pass_over(topic, cursor, subscription, begin, end, event, cause, reason)
        if end <= last:
            yield PORTION_ENTRIES


def _pass_over(
    topic: Topic,
    cursor: Cursor,
    subscription: Subscription,
    first: int,
    end: int,
    event: str,
    cause: int,
    reason: str | None,
) -> None:
    rows, messages = topic.runtime.rows, topic.runtime.messages
    for index, message, batch_index in messages_between(topic, first, end):
        remaining = cursor.batch_remaining(index, messages.batch[message - max(batch_index, 0)])
        if remaining >> max(batch_index, 0) & 1:
            about = (
                *(topic.cluster.number, topic.number, subscription.number),
                *(messages.producer[message], messages.sequence_id[message]),
                *(*topic.log.position(index), batch_index),
            )
            if event == "message.skipped":
                rows.message_skipped(cause, about=about, reason=reason)
            elif event == "message.evicted":
                rows.message_evicted(cause, about=about)
            else:
                rows.message_expired(cause, about=about)
            if event != "message.evicted":  # which is a loss
                topic.runtime.settled[subscription.name].add(message)


def expire(topic: Topic) -> Iterator[int]:
    """TTL: move each cursor to where the search for expired messages ends, in portions.

    It triggers no Update. In a log that is not in the order of publish times this passes messages that are
    not expired, or stops before some that are (`message_finder`).
    """
    ttl_us = topic.hot.ttl_us
    if ttl_us == 0:
        return
    limit_us = topic.runtime.now_us - ttl_us
    once = topic.runtime.option("expirySearch") == "of-topic"
    last = newest_before(topic, limit_us) if once else None
    if once and last is None:
        return
    for subscription in tuple(topic.subscriptions.values()):
        if last is not None:
            yield from expire_to(subscription, last, NULL)
        elif may_expire(subscription, ttl_us):
            yield from expire_published_before(subscription, limit_us, NULL)
    for replicator in tuple(topic.replicators.values()):
        replicator.settle()
        cursor = replicator.cursor
        if last is None and not may_expire_for(topic, cursor, ttl_us):
            continue
        end = newest_published_before(topic, cursor, limit_us) if last is None else last
        yield from expire_replication(replicator, end, "expired", NULL)


def may_expire_for(topic: Topic, cursor: Cursor, ttl_us: int) -> bool:
    """The condition of `PersistentReplicator.expireMessages`."""
    return cursor.backlog(topic.log.length) > 0 and not nearly_caught_up(topic, cursor, ttl_us)


def may_expire(subscription: Subscription, ttl_us: int) -> bool:
    """Whether the broker looks for expired messages (`PersistentSubscription.expireMessages`)."""
    topic, cursor = subscription.topic, subscription.cursor
    return cursor.backlog(topic.log.length) > 0 and not (
        subscription.dispatcher.sessions and nearly_caught_up(topic, cursor, ttl_us)
    )


def expire_published_before(subscription: Subscription, limit_us: int, cause: int) -> Iterator[int]:
    """Expire up to where the search for entries that were published before an instant ends, in portions."""
    last = newest_published_before(subscription.topic, subscription.cursor, limit_us)
    yield from expire_to(subscription, last, cause)


def expire_to(subscription: Subscription, last: int, cause: int) -> Iterator[int]:
    """Expire everything up to entry `last` that is not acked, in portions."""
    subscription.expired.checked_us = subscription.topic.runtime.now_us
    if last > subscription.cursor.mark_delete:
        yield from pass_over(subscription, last, "message.expired", cause)
        cursor, length = subscription.cursor, subscription.topic.log.length
        before = cursor.backlog(length)
        subscription.pass_over_to(last, "expiry", cause)
        subscription.expired.passed(before - cursor.backlog(length), subscription.topic.runtime.now_us)


def newest_published_before(topic: Topic, cursor: Cursor, limit_us: int) -> int:
    """The index to which expiry of what was published before an instant moves a cursor.

    It is the mark-delete where nothing is expired (`PersistentMessageExpiryMonitor.expireMessages`).
    """
    log, found = topic.log, cursor.mark_delete
    if log.length <= log.first_kept:
        return found
    ledger = log.position(min(max(found, log.first_kept), log.length - 1))[0]
    closed = last_of_expired_ledgers(topic, ledger, topic.runtime.now_us - limit_us)
    if closed is not None:
        found = max(found, closed)
    if topic.runtime.option("expirySearchRange") == "active-entries":
        last = newest_active_before(topic, cursor, max(found, log.first_kept - 1), limit_us)
    else:
        last = newest_before(topic, limit_us)
    return found if last is None else max(found, last)


def nearly_caught_up(topic: Topic, cursor: Cursor, ttl_us: int) -> bool:
    """Whether a cursor with consumers is not expired yet.

    It has a small backlog, and its oldest entry is not past 1.5 times the TTL, in whole seconds. Without a
    TTL no entry is (`PersistentTopic.isOldestMessageExpired`).
    """
    oldest, patience_us = cursor.mark_delete + 1, ttl_us // _SECOND_US * 3 // 2 * _SECOND_US
    return cursor.backlog(topic.log.length) < BACKLOG_TO_EXPIRE and (
        oldest >= topic.log.length
        or not patience_us
        or published_us(topic, oldest) + patience_us >= topic.runtime.now_us
    )


def expire_replication(replicator: Replicator, last: int, reason: str, cause: int) -> Iterator[int]:
    """Expire a replication cursor's entries up to `last`, those on the wire, too.

    They still arrive, unless their connection breaks (`PersistentMessageExpiryMonitor.findEntryComplete`
    moves mark-delete and cancels nothing).
    """
    if last > replicator.cursor.mark_delete:
        entries = yield from move_replication_cursor(replicator, last, reason, cause)
        replicator.expired.passed(entries, replicator.runtime.now_us)


def move_replication_cursor(
    replicator: Replicator, last: int, reason: str, cause: int
) -> Generator[int, None, int]:
    """Move a replication cursor past entries, write it if that is due, and trim what nobody needs now.

    Returns the number of entries that it moved over.
    """
    before = replicator.cursor.mark_delete
    ledger = replicator.border.position(before)[0]
    entries = yield from pass_over_replication(replicator, last, reason, cause)
    replicator.receipts.persist_if_due(replicator.runtime.now_us)
    trim_if_switched(replicator.topic, ledger, before, replicator.cursor.mark_delete, cause)
    return entries


def pass_over_replication(
    replicator: Replicator, last: int, reason: str, cause: int
) -> Generator[int, None, int]:
    """Move a replication cursor past the entries up to `last`, in portions: they are never sent again.

    Returns the number of entries in its backlog that it moved over.

    Entries on the wire still arrive, unless their connection breaks (`ManagedCursorImpl.asyncMarkDelete`
    moves the read position and cancels nothing).
    """
    replicator.settle()
    topic, cursor = replicator.topic, replicator.cursor
    first = max(cursor.mark_delete + 1, topic.log.first_kept)
    for begin in range(first, last + 1, PORTION_ENTRIES):
        end = min(begin + PORTION_ENTRIES, last + 1)
        for index, message, _batch_index in messages_between(topic, begin, end):
            _note_not_replicated(replicator, index, message, reason, cause)
        if end <= last:
            yield PORTION_ENTRIES
    before = cursor.backlog(topic.log.length)
    if cursor.mark_delete_to(last):
        replicator.read_index = max(replicator.read_index, last + 1)
    return before - cursor.backlog(topic.log.length)


def _note_not_replicated(replicator: Replicator, index: int, message: int, reason: str, cause: int) -> None:
    topic, messages = replicator.topic, replicator.runtime.messages
    if messages.origin[message] != replicator.origin_index or replicator.cursor.is_acknowledged(index):
        return
    replicate_to = messages.replicate_to[message]
    replicator.runtime.rows.message_not_replicated(
        topic.stored_seqs[index] if cause == NULL else cause,
        **topic.names,
        peer=replicator.peer_number,
        producer=messages.producer[message],
        sequence_id=messages.sequence_id[message],
        reason="replicate_to" if replicate_to != -1 and not replicate_to & replicator.peer_bit else reason,
    )


def after_skipping(topic: Topic, cursor: Cursor, count: int) -> Generator[int, None, int]:
    """The last of the next `count` entries that are not acked, markers included; yields between portions.

    The source is `ManagedCursorImpl.asyncSkipEntries` with IndividualDeletedEntries.Exclude.
    """
    index, left = cursor.mark_delete, count
    while left and index + 1 < topic.log.length:
        index += 1
        left -= not cursor.is_acknowledged(index)
        if index % LOOKED_AT_ONCE == 0:
            yield LOOKED_AT_ONCE // 10
    return index


class RetentionTimers:
    """The periodic checks of a loaded topic.

    The periodic checks of a topic: trimming, message TTL and backlog quotas.

    `ledger_rollover` has rollover by age.

    Rules: a timer belongs to one load of the topic and is stale after it (`epoch`).
    """

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.checks_quota = NULL  # the load in which the quotas are checked
        self.evictions = dict.fromkeys(QUOTA_TYPES, 0)  # checks since the load that evicted, by type
        self.oldest_ms: int | None = None  # of the last check, see `oldest_ms`

    def start(self) -> None:
        """Start the timers of a load; that of the open ledger's age runs already."""
        self._time_trim()
        self._time_expiry()
        self.evictions = dict.fromkeys(QUOTA_TYPES, 0)
        self.oldest_ms = None
        self.quota_changed()

    def quota_changed(self) -> None:
        """A quota may be in force now, or none any more: check at the next instant of the broker's timer.

        Without a quota there is no timer, since its check would do nothing.
        """
        topic = self.topic
        topic.blocks_producers = blocks_producers(topic)
        if topic.loaded and self.checks_quota != topic.epoch and is_limited(topic):
            self.checks_quota = topic.epoch
            self._time_quota()

    def oldest_age_s(self) -> int | None:
        """The age of the oldest unacknowledged message that the last check found, in whole seconds."""
        now_ms = self.topic.runtime.now_us // 1000
        return None if self.oldest_ms is None else (now_ms - self.oldest_ms) // 1000

    def _time_quota(self) -> None:
        topic = self.topic
        after_us = topic.cluster.setting("backlogQuotaCheckIntervalInSeconds") * _SECOND_US
        since_us = topic.runtime.now_us - topic.loaded_us
        due_us = topic.loaded_us + (since_us // after_us + 1) * after_us
        topic.runtime.schedule(due_us, topic.rank, self.check_quota, topic.epoch)

    def _time_trim(self) -> None:
        topic = self.topic
        after_us = topic.cluster.setting("retentionCheckIntervalInSeconds", topic) * _SECOND_US
        topic.runtime.schedule(topic.runtime.now_us + after_us, topic.rank, self.trim, topic.epoch)

    def _time_expiry(self) -> None:
        topic = self.topic
        after_us = topic.cluster.setting("messageExpiryCheckIntervalInMinutes", topic) * _MINUTE_US
        topic.runtime.schedule(topic.runtime.now_us + after_us, topic.rank, self.expire, topic.epoch)

    def trim(self, epoch: int) -> None:
        """The periodic consumed-ledgers check."""
        if epoch == self.topic.epoch and self.topic.loaded:
            self.topic.trim(NULL)
            self._time_trim()

    def expire(self, epoch: int) -> None:
        """The periodic TTL check."""
        if epoch == self.topic.epoch and self.topic.loaded:
            self.topic.runtime.in_portions(expire(self.topic))
            self._time_expiry()

    def check_quota(self, epoch: int) -> None:
        """The periodic check of the backlog quotas."""
        topic = self.topic
        if epoch != topic.epoch or not topic.loaded:
            return
        if not is_limited(topic):
            self.checks_quota = NULL
            return
        if topic.cluster.setting("backlogQuotaCheckEnabled"):
            topic.runtime.in_portions(check(topic))
        self._time_quota()
