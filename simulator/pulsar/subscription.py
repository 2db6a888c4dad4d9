"""A subscription in one cluster: its cursor, its dispatcher, its snapshot cache.

Rules: an ack is registered here and may move the mark-delete; a moved mark-delete looks up a snapshot and may write an
Update (fact sheet sections 7 and 9). Cursor writes are limited in rate, so a crash forgets recent acks (B6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.log.border import Border
from simulator.log.cursors import Cursor
from simulator.pulsar import upkeep
from simulator.pulsar.acknowledgement_sync import AcknowledgedState, origin_of, sender_for
from simulator.pulsar.dispatch import dispatcher_for
from simulator.pulsar.markers import Marker
from simulator.pulsar.snapshot_cache import OLDEST_FIRST, CachedSnapshot, SnapshotCache
from simulator.trace.row_columns import RowColumns
from simulator.trace.registry import CODE, NULL

if TYPE_CHECKING:
    from simulator.pulsar.acknowledging import Ack
    from simulator.pulsar.session import Session
    from simulator.pulsar.topic import Topic
    from simulator.pulsar.waiting_acks import AckColumns

_REGISTERED = CODE["message.registered"]
_SECOND_US = 1_000_000
_CACHE_SIZE, _CACHE_SIZE_OLD = 30, 10  # fact sheet section 3


class Subscription:
    """One durable subscription of one topic partition."""

    def __init__(self, topic: Topic, name: str, type_: str, mark_delete: int, replicated: bool) -> None:
        self.topic = topic
        self.runtime = topic.runtime
        self.name = name
        self.number = topic.runtime.name(name)
        self.type = type_
        self.cursor = Cursor(mark_delete, -_SECOND_US)
        self.replicated = replicated
        self.cache: SnapshotCache | None = self._new_cache() if replicated else None
        self.dispatcher = dispatcher_for(self)
        self.last_update_us: int | None = None
        self.last_applied_us: int | None = None
        self.flush_due = False
        self.border = Border(self.topic.log)
        self.border.put(mark_delete)
        self.border.persist()
        self.cursor_ledger = -1  # the cursor's own ledger, -1 before its first write
        self.sent_before = (0, 0)  # messages and bytes sent to sessions that have ended since the load
        self.synced: dict[str, AcknowledgedState] = {}  # peer -> what it last said is acknowledged there; survives crashes
        self.synced_at_us: int | None = None
        self.filtered = 0  # messages
        self.sender = sender_for(self)

    def _new_cache(self) -> SnapshotCache:
        rule = self.runtime.option("snapshotCacheRule")
        size = self.topic.cluster.setting("replicatedSubscriptionsSnapshotMaxCachedPerSubscription", self.topic)
        return SnapshotCache(rule, size if size is not None else _CACHE_SIZE_OLD if rule == OLDEST_FIRST else _CACHE_SIZE)

    # --- replicated state

    def switch_replication(self, enabled: bool, cause: int) -> None:
        """Set the cursor's property; the cache object exists exactly while it is set."""
        if enabled == self.replicated:
            return
        self.replicated = enabled
        seq = self.runtime.note("subscription.replication-switched", cause, self.topic.cluster.number, self.topic.number, self.number, int(enabled))
        if enabled:
            self.cache = self._new_cache()
        else:
            self._drop_cache("switched-off", seq)
            self.cache = None
        self.topic.evaluate_controller(seq)

    def snapshot_read(self, marker: Marker, cause: int) -> None:
        """The dispatcher read a snapshot marker: keep it, and look it up at once (#16651) unless the option is off."""
        if self.cache is None:
            return
        index = self.topic.log.index_of(*marker.position)
        gone = self.cache.add(CachedSnapshot(marker.snapshot, index, marker.clusters))
        seq = self._note_snapshot("snapshot.cached", marker.snapshot, cause, *marker.position)
        for snapshot, reason in gone:
            self._note_snapshot("snapshot.evicted", snapshot.snapshot, seq, reason)
        if self.runtime.option("lookupOnSnapshotArrival"):
            self.look_up_snapshot(seq)

    def look_up_snapshot(self, cause: int) -> None:
        """Write one Update for the newest snapshot at or below the mark-delete, if there is one."""
        if self.cache is None or not self.topic.loaded:
            return
        snapshot, passed = self.cache.take_up_to(self.cursor.mark_delete)
        for old in passed:
            self._note_snapshot("snapshot.evicted", old.snapshot, cause, "passed")
        if snapshot is None:
            return
        position = self.topic.log.position(snapshot.index)
        used = self._note_snapshot("snapshot.used", snapshot.snapshot, cause, *position)
        if self.topic.controller is not None:  # without one the broker drops the snapshot, too
            self.last_update_us = self.runtime.now_us
            self.topic.controller.write_update(self, snapshot, used)

    def _note_snapshot(self, event: str, snapshot: int, cause: int, *more: int | str) -> int:
        return self.runtime.note(event, cause, self.topic.cluster.number, self.topic.number, self.number, snapshot, *more)

    def _drop_cache(self, reason: str, cause: int) -> None:
        if self.cache is not None:
            for snapshot in self.cache.snapshots:
                self._note_snapshot("snapshot.evicted", snapshot.snapshot, cause, reason)
            self.cache.snapshots = []

    def session_ended(self, session: Session) -> None:
        """A consumer left: the subscription's counters keep what was sent to it."""
        messages, size_bytes = self.sent_before
        self.sent_before = (messages + session.sent_messages, size_bytes + session.sent_bytes)

    def change_type(self, type_: str) -> None:
        """A consumer of another type subscribes to a subscription without consumers: the type is the consumer's."""
        self.type = type_
        self.dispatcher = dispatcher_for(self)

    # --- acks

    def acknowledge(self, acks: list[Ack]) -> None:
        """Register individual acks: one group, one lookup."""
        emit, now_us, cursor = self.runtime.emit, self.runtime.now_us, self.cursor
        before, seq = cursor.mark_delete, NULL
        acked, released = [ack[0] for ack in acks], []
        for index, batch_index, ack_seq, message, about in acks:
            if batch_index == NULL:
                cursor.acknowledge(index)
                released.append(index)
            elif self._acknowledge_in_batch(index, batch_index, message):
                released.append(index)
            seq = emit((_REGISTERED, now_us, ack_seq, *about))
        self.after_acknowledgement(before, "acknowledgement", seq)
        self.dispatcher.release(acked, released, seq)

    def acknowledge_columns(self, acks: AckColumns) -> None:
        """`acknowledge` for acks by column."""
        runtime, before, indices = self.runtime, self.cursor.mark_delete, acks.indices.tolist()
        seqs = runtime.seq + np.arange(len(indices))
        self.cursor.acknowledge_many(acks.indices)
        runtime.emit_rows(len(indices), [RowColumns(_REGISTERED, seqs, (runtime.now_us, acks.seqs, *acks.about))])
        self.after_acknowledgement(before, "acknowledgement", int(seqs[-1]))
        self.dispatcher.release(indices, indices, int(seqs[-1]))

    def _acknowledge_in_batch(self, index: int, batch_index: int, message: int) -> bool:
        """One message of a batched entry; True when that removed the entry."""
        return self.cursor.acknowledge_batch(index, batch_index, self.runtime.messages.batch[message - batch_index])

    def filter_marker(self, index: int, marker: Marker, cause: int) -> None:
        """The dispatcher read a marker: never delivered, a snapshot goes to the cache, then the broker acks it."""
        topic = self.topic
        seq = self.runtime.note("marker.filtered", cause, topic.cluster.number, None, topic.number, marker.number, marker.type,
                                marker.snapshot, self.number, *topic.log.position(index))  # fmt: skip
        if marker.type == "snapshot":
            self.snapshot_read(marker, seq)
        before = self.cursor.mark_delete
        self.cursor.acknowledge(index)
        self.after_acknowledgement(before, "acknowledgement", seq)

    def said_to_remain(self, index: int, record: int) -> int:
        """Bit set of the entry's messages that no peer says are acknowledged."""
        return self.unsaid(origin_of(self.topic, index), self.runtime.messages.batch[record])

    def unsaid(self, origin: tuple[int, int], count: int) -> int:
        """Bit set of the `count` messages at an original position that no peer says are acknowledged."""
        remaining = (1 << count) - 1
        for state in self.synced.values():
            remaining &= state.remaining(*origin, count)
        return remaining

    def filter_acknowledged(self, index: int, record: int, cause: int) -> bool:
        """The filter stage: messages that a peer says are acknowledged are acked by the broker, not sent; True when that is the whole entry."""
        topic, runtime, count = self.topic, self.runtime, self.runtime.messages.batch[record]
        if self.said_to_remain(index, record) == (1 << count) - 1:
            return False
        present = remaining = self.cursor.batch_remaining(index, count)
        origin = origin_of(topic, index)
        said: dict[int, str] = {}
        for peer, state in self.synced.items():
            known = remaining & ~state.remaining(*origin, count)
            said.update(dict.fromkeys((bit for bit in range(count) if known >> bit & 1), peer))
            remaining &= ~known
        if remaining == present:
            return False
        before, seq, (ledger, entry) = self.cursor.mark_delete, NULL, topic.log.position(index)
        for bit, peer in sorted(said.items()):
            producer, sequence_id = runtime.messages.producer[record + bit], runtime.messages.sequence_id[record + bit]
            where = (producer, sequence_id, ledger, entry, NULL if count == 1 else bit)
            seq = runtime.note("message.filtered", cause, topic.cluster.number, peer, topic.number, self.number, *where, self.synced[peer].seq)
            seq = runtime.emit((_REGISTERED, runtime.now_us, seq, topic.cluster.number, topic.number, self.number, NULL, *where))
            if count > 1:
                self.cursor.acknowledge_batch(index, bit, count)
        self.filtered += len(said)
        if not remaining:
            self.cursor.acknowledge(index)
        self.after_acknowledgement(before, "acknowledgement", seq)
        return not remaining

    def acknowledge_up_to(self, index: int, reason: str, cause: int) -> bool:
        """Cumulative ack by the broker (Update, expiry, skip…); True when the mark-delete moved."""
        before = self.cursor.mark_delete
        if not self.cursor.mark_delete_to(index):
            return False
        self.dispatcher.skip_to(self.cursor.mark_delete)
        self.after_acknowledgement(before, reason, cause)
        window = self.runtime.windows.get(self.name)
        if window is not None and window.target == self.topic.cluster.name:
            window.cursor_moved()
        return True

    def pass_over_to(self, index: int, reason: str, cause: int) -> None:
        """Skip, clear or expiry: what consumers hold of it counts no longer as unacknowledged, and who was blocked goes on (#25592).

        An Update frees nobody, for there the acks of consumers are awaited.
        """
        self.dispatcher.let_go_up_to(index)
        if self.acknowledge_up_to(index, reason, cause):
            self.dispatcher.go_on(cause)

    def after_acknowledgement(self, before: int, reason: str, cause: int) -> None:
        """What follows an ack: the row of a moved mark-delete, persistence, the lookup, trimming."""
        after = self.cursor.mark_delete
        self.persist_if_due(cause)
        if after == before:
            return
        seq = self.note_moved(before, reason, cause)
        if reason in ("acknowledgement", "update"):
            self.look_up_snapshot(seq)
            if self.topic.migrated_to is not None and not self.backlog:
                self.runtime.blue_green.drained_by_ack(self, seq)
        upkeep.trim_if_switched(self.topic, self.border.position(before)[0], before, after, seq)

    @property
    def mark_delete_text(self) -> str:
        """The mark-delete as Pulsar prints it."""
        ledger, entry = self.border.position(self.cursor.mark_delete)
        return f"{ledger}:{entry}"

    def note_moved(self, before: int, reason: str, cause: int) -> int:
        """The `cursor.moved` row from `before` to the present mark-delete."""
        return self.runtime.note("cursor.moved", cause, self.topic.cluster.number, self.topic.number, self.number,
                                 *self.border.position(before), *self.border.position(self.cursor.mark_delete), reason)  # fmt: skip

    def ledger_opened(self, cause: int) -> None:
        """A new ledger was opened, to which the cursor moves where it stands at the border."""
        ledger = self.border.next_ledger(self.cursor.mark_delete)
        if ledger is not None:
            self.move_to_ledger(ledger, cause)

    def move_to_ledger(self, ledger: int, cause: int) -> None:
        """The cursor stands at `<ledger>:-1` from now on, which is after the same entry."""
        mark_delete = self.cursor.mark_delete
        before = self.border.position(mark_delete)
        self.border.move(mark_delete, ledger)
        self.runtime.note("cursor.moved", cause, self.topic.cluster.number, self.topic.number, self.number, *before, ledger, -1, "rollover")

    def reset(self, mark_delete: int, reason: str, cause: int) -> None:
        """A person's seek or reset: ranges and batch sets are cleared; no Update follows (fact sheet section 9)."""
        before = self.cursor.mark_delete
        self.cursor.reset(mark_delete)
        self.border.put(mark_delete)
        seq = self.note_moved(before, reason, cause)
        if self.sender is not None:
            self.sender.reset_by(seq)
        self.persist(seq)
        for session in self.dispatcher.sessions:
            session.consumer.forget_cumulative(self.topic.place)
        self.dispatcher.restart_reading(seq)

    # --- persistence

    def persist_if_due(self, cause: int) -> None:
        """Write the cursor when the rate limit allows, else see that a flush comes."""
        now_us = self.runtime.now_us
        if not self.cursor.dirty:
            return
        if now_us - self.cursor.last_persist_us >= self.topic.hot.persist_interval_us:
            self.persist(cause)
        elif not self.flush_due:
            self.flush_due = True
            self.runtime.schedule(self.flush_due_us(now_us, self.cursor), self.topic.rank, self, "flush")

    def flush_due_us(self, now_us: int, cursor: Cursor) -> int:
        """When its cursor, standing so now, is written at the latest."""
        seconds = self.topic.cluster.setting("managedLedgerCursorPositionFlushSeconds", self.topic)
        return max(now_us, cursor.last_persist_us + seconds * _SECOND_US)

    def persist(self, cause: int) -> None:
        """Make the present state what a crash would leave."""
        topic, cursor = self.topic, self.cursor
        if cursor.last_persist_us < 0:
            self.cursor_ledger = topic.cluster.take_ledger()  # opened at its first write
        kept = topic.cluster.setting("managedLedgerMaxUnackedRangesToPersist", topic)
        cursor.persist(self.runtime.now_us, kept, topic.log)
        self.border.persist()
        self.runtime.note("cursor.persisted", cause, topic.cluster.number, topic.number, self.number,
                          *self.border.position(cursor.mark_delete), cursor.deleted_count)  # fmt: skip

    def flush(self, _argument: None) -> None:
        """The timer that bounds how long a cursor stays dirty."""
        self.flush_due = False
        if self.cursor.dirty and self.topic.loaded and self.topic.subscriptions.get(self.name) is self:
            self.persist(NULL)

    # --- life

    def unload(self, cause: int, clean: bool) -> None:
        """The topic leaves its broker: clients are disconnected, the cache is gone, the cursor flushed or not."""
        self.dispatcher.disconnect_all("unload" if clean else "crash", cause)
        self._drop_cache("unloaded", cause)
        self.sent_before = (0, 0)
        if clean and self.cursor.dirty:
            self.persist(cause)

    def recover(self, cause: int) -> None:
        """The topic was loaded: the cursor stands where it was persisted, but never ahead of the last entry that the topic knows of.

        Only a shadow can know of fewer than before: what was acknowledged beyond is delivered again.
        """
        topic, before = self.topic, self.cursor.mark_delete
        stood = self.border.position(before)
        self.cursor.recover()
        if self.cursor.mark_delete != before:
            self.border.recover()
        seq = self.runtime.note("cursor.recovered", cause, topic.cluster.number, topic.number, self.number,
                                *self.border.position(self.cursor.mark_delete), self.cursor.deleted_count)  # fmt: skip
        if self.cursor.mark_delete != before:
            seq = self.runtime.note("cursor.moved", seq, topic.cluster.number, topic.number, self.number,
                                    *stood, *self.border.position(self.cursor.mark_delete), "recovery")  # fmt: skip
        ahead, last = self.cursor.mark_delete, topic.log.length - 1
        if ahead > last:
            self.cursor.set_back(last)
            seq = self.note_moved(ahead, "ahead-of-last", seq)
        self.dispatcher.restart_reading(seq)

    @property
    def backlog(self) -> int:
        """Entries after the mark-delete that are not individually deleted, markers included (B4)."""
        return max(0, self.cursor.backlog(self.topic.log.length))  # a shadow's last confirmed entry may go back


def note_owed(topic: Topic, name: str, mark_delete: int) -> None:
    """What lies at or below the opening mark-delete was never promised to the subscription here; the earliest opening counts."""
    below = topic.present.copy()
    for record in topic.log.records.view(max(mark_delete + 1, topic.log.first_kept), topic.log.length).tolist():
        if record >= 0:
            below.remove_range(record, record + topic.runtime.messages.batch[record])
    topic.owed_from[name] = below & topic.owed_from[name] if name in topic.owed_from else below
