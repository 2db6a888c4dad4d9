"""A subscription in one cluster: its cursor, dispatcher, snapshot cache and cursor writes.

Rules: an ack is registered here and may move the mark-delete. A moved mark-delete looks up a snapshot
(`SnapshotLookup`), which may write an Update
(`PersistentSubscription.processReplicatedSubscriptionSnapshot`, `acknowledgeMessage`). The cursor is
persisted at the rate that `CursorWriter` allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from simulator.log.cursors import Border, Cursor
from simulator.protocols.pulsar.ack_sync import AcknowledgementFilter, sender_for
from simulator.protocols.pulsar.broker.dispatch import dispatcher_for
from simulator.protocols.pulsar.markers.entries import Marker
from simulator.protocols.pulsar.snapshots.rules import (
    OLDEST_FIRST,
    CachedSnapshot,
    SnapshotCache,
    SubscriptionSeen,
    kept_by,
)
from simulator.protocols.pulsar.storage import retention
from simulator.protocols.pulsar.storage.retention import Expired
from simulator.scenarios.rule_files import ask
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.deliveries import Ack
    from simulator.protocols.pulsar.events import SubscriptionNames
    from simulator.protocols.pulsar.pulsar import Pulsar


_SECOND_US = 1_000_000


class Subscription:
    """One durable subscription of one topic partition."""

    __slots__ = (
        "border",
        "cursor",
        "expired",
        "dispatcher",
        "filter",
        "last_applied_us",
        "name",
        "number",
        "replicated",
        "runtime",
        "sender",
        "sent_before",
        "snapshots",
        "topic",
        "type",
        "writer",
    )

    def __init__(self, topic: Topic, name: str, type_: str, mark_delete: int, replicated: bool) -> None:
        self.topic: Topic = topic
        self.runtime: Pulsar = topic.runtime
        self.name: str = name
        self.number = topic.runtime.name(name)
        self.type = type_
        self.cursor: Cursor = Cursor(mark_delete, -_SECOND_US)  # so its first write is not delayed
        self.replicated: bool = replicated
        self.dispatcher = dispatcher_for(self)
        self.snapshots = SnapshotLookup(self)
        self.last_applied_us: int | None = None  # when an Update was last applied to it
        self.border = Border(self.topic.log)
        self.border.put(mark_delete)
        self.border.persist()
        self.writer = CursorWriter(self)
        self.sent_before = (0, 0)  # messages and bytes sent to sessions that have ended since the load
        self.expired = Expired()
        self.sender = sender_for(self)
        self.filter = AcknowledgementFilter(self)

    # --- lifecycle

    def switch_replication(self, enabled: bool, cause: int) -> None:
        """Set the cursor's property; the controller is evaluated even if that changes nothing."""
        if enabled == self.replicated:
            self.topic.evaluate_controller(cause)
            return
        self.replicated = enabled
        seq = self.runtime.rows.subscription_replication_switched(cause, **self.names, count=int(enabled))
        if enabled:
            self.snapshots.begin()
        else:
            self.snapshots.end(seq)
        self.topic.evaluate_controller(seq)

    def session_ended(self, session: Session) -> None:
        """A consumer left: add the messages sent to it to the subscription's counters."""
        messages, size_bytes = self.sent_before
        self.sent_before = (messages + session.sent_messages, size_bytes + session.sent_bytes)

    def change_type(self, type_: str) -> None:
        """Take the type of a consumer that subscribes while there are no others."""
        self.type = type_
        self.dispatcher = dispatcher_for(self)

    def unload(self, cause: int, clean: bool) -> None:
        """The topic leaves its broker: clients are disconnected, the snapshot cache is dropped.

        A clean unload writes the cursor.
        """
        self.dispatcher.disconnect_all("unload" if clean else "crash", cause)
        self.snapshots.drop("unloaded", cause)
        self.sent_before = (0, 0)
        self.expired = Expired()
        if clean and self.cursor.dirty:
            self.writer.write(cause)

    def recover(self, cause: int) -> None:
        """Restore the persisted cursor after the topic was loaded.

        It is never ahead of the log's last entry. Only a shadow can have fewer entries than before: entries
        acknowledged beyond its end are delivered again.
        """
        topic, before = self.topic, self.cursor.mark_delete
        stood = self.border.position(before)
        self.cursor.recover()
        if self.cursor.mark_delete != before:
            self.border.recover()
        seq = self.runtime.rows.cursor_recovered(
            cause,
            **self.names,
            at=self.border.position(self.cursor.mark_delete),
            count=self.cursor.deleted_count,
        )
        if self.cursor.mark_delete != before:
            seq = self.runtime.rows.cursor_moved(
                seq,
                **self.names,
                at=stood,
                to=self.border.position(self.cursor.mark_delete),
                reason="recovery",
            )
        ahead, last = self.cursor.mark_delete, topic.log.length - 1
        if ahead > last:
            self.cursor.set_back(last)
            seq = self.note_moved(ahead, "ahead-of-last", seq)
        if (window := self.runtime.window_into(topic.cluster.name, self.name)) is not None:
            window.cursor_went_back(topic)
        self.dispatcher.restart_reading(seq)

    # --- acks

    def acknowledge(self, acks: list[Ack]) -> None:
        """Register individual acks: one group, one lookup."""
        rows, cursor = self.runtime.rows, self.cursor
        before, seq = cursor.mark_delete, NULL
        acked, released = [ack[0] for ack in acks], []
        for index, batch_index, ack_seq, message, about in acks:
            if batch_index == NULL:
                cursor.acknowledge(index)
                released.append(index)
            elif self._acknowledge_in_batch(index, batch_index, message):
                released.append(index)
            seq = rows.message_registered(ack_seq, about=about)
        self.after_acknowledgement(before, "acknowledgement", seq)
        self.dispatcher.release(acked, released, seq)

    @property
    def names(self) -> SubscriptionNames:
        """The columns that name it in a row."""
        topic = self.topic
        return {"cluster": topic.cluster.number, "topic": topic.number, "subscription": self.number}

    def note_registered(self, index: int, message: int, batch_index: int, cause: int) -> int:
        """Write the row of an ack that the broker makes itself, without a client."""
        topic, messages = self.topic, self.runtime.messages
        about = (
            *(topic.cluster.number, topic.number, self.number, NULL),
            *(messages.producer[message], messages.sequence_id[message]),
            *(*topic.log.position(index), batch_index),
        )
        return self.runtime.rows.message_registered(cause, about=about)

    def _acknowledge_in_batch(self, index: int, batch_index: int, message: int) -> bool:
        """Acknowledge one message of a batched entry; True when that removed the entry."""
        return self.cursor.acknowledge_batch(
            index, batch_index, self.runtime.messages.batch[message - batch_index]
        )

    def filter_marker(self, index: int, marker: Marker, cause: int) -> None:
        """The dispatcher read a marker: a snapshot is cached, then the broker acks it.

        A marker is never delivered.
        """
        topic = self.topic
        about = topic.about_marker(marker, None, index, self.name)
        seq = self.runtime.rows.marker_filtered(cause, about=about)
        if marker.type == "snapshot":
            self.snapshots.read(marker, seq)
        before = self.cursor.mark_delete
        self.cursor.acknowledge(index)
        self.after_acknowledgement(before, "acknowledgement", seq)

    def acknowledge_up_to(self, index: int, reason: str, cause: int) -> bool:
        """Cumulative ack by the broker (Update, expiry, skip…); True when the mark-delete moved."""
        before = self.cursor.mark_delete
        if not self.cursor.mark_delete_to(index):
            return False
        self.dispatcher.skip_to(self.cursor.mark_delete)
        self.after_acknowledgement(before, reason, cause)
        window = self.runtime.windows.get(self.name)
        if window is not None:
            window.recount()
        return True

    def acknowledge_listed(self, entries: Sequence[int], peer: str, evidence_seq: int, cause: int) -> None:
        """Individually delete entries that the Update of a peer lists, if the rule of the run has such ones.

        Consumers keep what they were sent, as with a mark-delete that an Update moves.
        """
        runtime, topic, cursor, messages = self.runtime, self.topic, self.cursor, self.runtime.messages
        before, seq = cursor.mark_delete, cause
        window = runtime.window_into(topic.cluster.name, self.name)
        for index in entries:
            record = topic.log.records[index]
            if record < 0 or cursor.is_acknowledged(index):
                continue
            count = messages.batch[record]
            remaining = cursor.batch_remaining(index, count)
            for bit in range(count):
                if not remaining >> bit & 1:
                    continue
                message = record + bit
                batch_index = NULL if count == 1 else bit
                seq = runtime.rows.message_listed(
                    cause,
                    **self.names,
                    peer=peer,
                    producer=messages.producer[message],
                    sequence_id=messages.sequence_id[message],
                    at=topic.log.position(index),
                    batch_index=batch_index,
                    evidence_seq=evidence_seq,
                )
                seq = self.note_registered(index, message, batch_index, seq)
                if window is not None:
                    window.settled(message)
            cursor.acknowledge(index)
        self.dispatcher.check_below = max(self.dispatcher.check_below, cursor.last_acknowledged + 1)
        self.after_acknowledgement(before, "acknowledgement", seq)

    def pass_over_to(self, index: int, reason: str, cause: int) -> None:
        """Skip, clear or expiry: covered messages of consumers no longer count as unacknowledged.

        Blocked consumers continue (#25592).
        """
        self.dispatcher.let_go_up_to(index)
        if self.acknowledge_up_to(index, reason, cause):
            self.dispatcher.go_on(cause)

    def after_acknowledgement(self, before: int, reason: str, cause: int) -> None:
        """Apply the consequences of an ack: row of a moved mark-delete, persistence, lookup, trimming."""
        after = self.cursor.mark_delete
        if (
            self.runtime.windows
            and (window := self.runtime.window_into(self.topic.cluster.name, self.name)) is not None
        ):
            window.draining.look(self.topic)
        self.writer.write_if_due(cause)
        if after == before:
            return
        seq = self.note_moved(before, reason, cause)
        if reason in ("acknowledgement", "update"):
            self.snapshots.look_up(seq)
            if self.topic.migrated_to is not None and not self.backlog:
                self.runtime.blue_green.drained_by_ack(self, seq)
        retention.trim_if_switched(self.topic, self.border.position(before)[0], before, after, seq)

    # --- the cursor

    def note_moved(self, before: int, reason: str, cause: int) -> int:
        """The `cursor.moved` row from `before` to the present mark-delete."""
        return self.runtime.rows.cursor_moved(
            cause,
            **self.names,
            at=self.border.position(before),
            to=self.border.position(self.cursor.mark_delete),
            reason=reason,
        )

    def ledger_opened(self, cause: int) -> None:
        """A new ledger was opened; a cursor at the end of the previous one moves to it."""
        ledger = self.border.next_ledger(self.cursor.mark_delete)
        if ledger is not None:
            self.move_to_ledger(ledger, cause)

    def move_to_ledger(self, ledger: int, cause: int) -> None:
        """Move the cursor to `<ledger>:-1`, which is after the same entry."""
        mark_delete = self.cursor.mark_delete
        before = self.border.position(mark_delete)
        self.border.move(mark_delete, ledger)
        self.runtime.rows.cursor_moved(cause, **self.names, at=before, to=(ledger, -1), reason="rollover")

    def reset(self, mark_delete: int, reason: str, cause: int, seeks: bool = False) -> None:
        """An administrator's reset or a client's seek: ranges and batch sets are cleared, no Update follows.

        Both disconnect the consumers that may read, which reconnect (`resetCursorInternal`). A client that
        seeks forgets its last cumulative ack, others drop what it covers. The source is
        `ManagedCursorImpl.asyncResetCursor`.
        """
        for session in self.dispatcher.reading_sessions:
            self.dispatcher.remove(session, cause)
            session.consumer.disconnected(session, "reset", cause)
            if seeks:
                session.consumer.flush_and_clean(self.topic.name)
        before = self.cursor.mark_delete
        self.cursor.reset(mark_delete)
        self.border.put(mark_delete)
        seq = self.note_moved(before, reason, cause)
        if self.sender is not None:
            self.sender.reset_by(seq)
        self.writer.write(seq)
        self.dispatcher.restart_reading(seq)
        if (window := self.runtime.window_into(self.topic.cluster.name, self.name)) is not None:
            window.cursor_reset(self.topic)

    @property
    def mark_delete_text(self) -> str:
        """The mark-delete as Pulsar prints it."""
        ledger, entry = self.border.position(self.cursor.mark_delete)
        return f"{ledger}:{entry}"

    @property
    def backlog(self) -> int:
        """Entries after the mark-delete that are not individually deleted, markers included.

        The source is ManagedCursorImpl.
        """
        # a shadow's last confirmed entry may move back
        return max(0, self.cursor.backlog(self.topic.log.length))


def note_owed(topic: Topic, name: str, mark_delete: int) -> None:
    """Record that messages at or below the opening mark-delete are not owed to the subscription here.

    The earliest opening counts.
    """
    below = topic.present.copy()
    for record in topic.log.records.view(
        max(mark_delete + 1, topic.log.first_kept), topic.log.length
    ).tolist():
        if record >= 0:
            below.remove_range(record, record + topic.runtime.messages.batch[record])
    topic.owed_from[name] = below & topic.owed_from[name] if name in topic.owed_from else below


_CACHE_SIZE, _CACHE_SIZE_OLD = 30, 10  # ServiceConfiguration since #25044, and before


class SnapshotLookup:
    """The snapshots of one subscription.

    `last_update_us` is when one was last used for an Update, `used` its positions in the other clusters.

    Rules: the cache exists exactly while the subscription is replicated, and is memory only
    (`PersistentSubscription`, `ReplicatedSubscriptionSnapshotCache`).
    """

    __slots__ = (
        "cache",
        "last_update_us",
        "runtime",
        "subscription",
        "topic",
        "used",
    )

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.cache: SnapshotCache | None = None
        self.last_update_us: int | None = None
        self.used: tuple[tuple[str, int, int], ...] = ()
        if subscription.replicated:
            self.begin()

    @property
    def kept(self) -> list[CachedSnapshot]:
        """The cached snapshots, in order."""
        return [] if self.cache is None else self.cache.snapshots

    def begin(self) -> None:
        """Start the cache: the subscription is now replicated."""
        rule = self.runtime.option("snapshotCacheRule")
        size = self.topic.cluster.setting(
            "replicatedSubscriptionsSnapshotMaxCachedPerSubscription", self.topic
        )
        self.cache = SnapshotCache(
            rule,
            size if size is not None else _CACHE_SIZE_OLD if rule == OLDEST_FIRST else _CACHE_SIZE,
            partial(kept_by, self.runtime.rule),
        )

    def end(self, cause: int) -> None:
        """End the cache: the subscription is no longer replicated."""
        self.drop("switched-off", cause)
        self.cache = None

    def drop(self, reason: str, cause: int) -> None:
        """Drop all cached snapshots."""
        if self.cache is not None:
            for snapshot in self.cache.snapshots:
                self._note_evicted(snapshot, reason, cause)
            self.cache.snapshots = []

    def read(self, marker: Marker, cause: int) -> None:
        """Cache a snapshot marker that the dispatcher read, and look it up at once (#16651).

        The option lookupOnSnapshotArrival switches the look-up off.
        """
        if self.cache is None:
            return
        assert marker.position is not None and marker.snapshot is not None, "a snapshot has both"
        index = self.topic.log.index_of(*marker.position)
        gone = self.cache.add(CachedSnapshot(marker.snapshot, index, marker.clusters, carried=marker.carried))
        seq = self.runtime.rows.snapshot_cached(
            cause, **self.subscription.names, snapshot=marker.snapshot, at=marker.position
        )
        for snapshot, reason in gone:
            self._note_evicted(snapshot, reason, seq)
        if self.runtime.option("lookupOnSnapshotArrival"):
            self.look_up(seq, arrived=True)

    def look_up(self, cause: int, arrived: bool = False) -> None:
        """Write one Update for the newest snapshot at or below the mark-delete, if there is one.

        A rule of one's own may leave it out, or write one without positions when a snapshot has arrived.
        """
        if self.cache is None or not self.topic.loaded:
            return
        snapshot, passed = self.cache.take_up_to(self.subscription.cursor.mark_delete)
        for old in passed:
            self._note_evicted(old, "passed", cause)
        if snapshot is None and not arrived:
            return
        rule = self.runtime.rule
        due = ask(rule, "update_due", SubscriptionSeen(self.subscription), snapshot)
        used = cause
        if snapshot is not None:
            used = self.runtime.rows.snapshot_used(
                cause,
                **self.subscription.names,
                snapshot=snapshot.snapshot,
                at=self.topic.log.position(snapshot.index),
            )
        if not due:
            return
        if self.topic.controller is not None:  # without one the broker drops the snapshot, too
            self.last_update_us = self.runtime.now_us
            if snapshot is not None:
                self.used = snapshot.clusters
            self.topic.controller.write_update(self.subscription, snapshot, used)

    def _note_evicted(self, snapshot: CachedSnapshot, reason: str, cause: int) -> None:
        self.runtime.rows.snapshot_evicted(
            cause, **self.subscription.names, snapshot=snapshot.snapshot, reason=reason
        )


class CursorWriter:
    """Writes one subscription's cursor.

    `ledger` is that of the cursor, -1 before its first write. `flush_due` is whether the timer runs.

    Rules: writes are limited in rate, so a crash loses recent acks. A timer bounds how long the cursor
    differs from its persisted state (`ManagedCursorImpl`, `managedLedgerDefaultMarkDeleteRateLimit`).
    """

    __slots__ = (
        "flush_due",
        "ledger",
        "runtime",
        "subscription",
        "topic",
    )

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.ledger = -1
        self.flush_due = False

    def write_if_due(self, cause: int) -> None:
        """Write the cursor when the rate limit allows, else schedule a flush."""
        cursor, now_us = self.subscription.cursor, self.runtime.now_us
        if not cursor.dirty:
            return
        if now_us - cursor.last_persist_us >= self.topic.hot.persist_interval_us:
            self.write(cause)
        elif not self.flush_due:
            self.flush_due = True
            self.runtime.schedule(self.flush_us(now_us, cursor), self.topic.rank, self.flush)

    def flush_us(self, now_us: int, cursor: Cursor) -> int:
        """When a cursor in this state at this instant is written at the latest."""
        seconds = self.topic.cluster.setting("managedLedgerCursorPositionFlushSeconds", self.topic)
        return max(now_us, cursor.last_persist_us + seconds * _SECOND_US)

    def write(self, cause: int) -> None:
        """Persist the present state."""
        topic, subscription, cursor = self.topic, self.subscription, self.subscription.cursor
        if cursor.last_persist_us < 0:
            self.ledger = topic.cluster.take_ledger()  # created at its first write
        kept = topic.cluster.setting("managedLedgerMaxUnackedRangesToPersist", topic)
        cursor.persist(self.runtime.now_us, kept, topic.log)
        subscription.border.persist()
        self.runtime.rows.cursor_persisted(
            cause,
            **subscription.names,
            at=subscription.border.position(cursor.mark_delete),
            count=cursor.deleted_count,
        )

    def flush(self, _argument: None) -> None:
        """Write the cursor at the timer."""
        self.flush_due = False
        subscription = self.subscription
        if (
            subscription.cursor.dirty
            and self.topic.loaded
            and self.topic.subscriptions.get(subscription.name) is subscription
        ):
            self.write(NULL)
