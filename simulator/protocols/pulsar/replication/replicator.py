"""A geo-replicator: reads one topic partition in one cluster and sends it to one other.

The source is `GeoPersistentReplicator` and `PersistentReplicator`. It performs the effects of `connecting`.
Starting, it checks whether the peer has the topic in the same shape (`creation.replicator_start`). Once
started the cursor is rewound, so all entries without a receipt are sent again. At most
replicationProducerQueueSize entries are on the wire or without receipt; reading continues below nine tenths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from simulator.kernel.random import stream_key
from simulator.log.cursors import Border, Cursor
from simulator.protocols.pulsar.creation import replicator_start, schemas
from simulator.protocols.pulsar.creation.schemas import ReplicatedSchemas
from simulator.protocols.pulsar.markers.entries import SNAPSHOT, SOURCE_POSITION, Marker
from simulator.protocols.pulsar.ranks import REPLICATOR, rank
from simulator.protocols.pulsar.replication import connecting
from simulator.protocols.pulsar.replication.connecting import (
    DISCONNECTED,
    NEVER_US,
    STARTED,
    BrokenProcess,
    Connecting,
    Effect,
    HeldConnection,
)
from simulator.protocols.pulsar.storage import messages as tail_read
from simulator.protocols.pulsar.storage import retention
from simulator.protocols.pulsar.storage.messages import TailRead, lateness_of
from simulator.protocols.pulsar.storage.retention import Expired
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.creation.replicator_start import Outcome
    from simulator.protocols.pulsar.pulsar import Pulsar


# --- the receipts of a replicator's entries, and the cursor that they move
#
# Rules: a receipt needs no event of its own: its instant is known when the entry is stored, and `settle`
# applies those that are due. Cursor writes are limited to one per second
# (`managedLedgerDefaultMarkDeleteRateLimit`), and a write includes every receipt that has arrived by then.


PERSIST_INTERVAL_US = 1_000_000


class Receipts:
    """Entries that are stored at the peer, whose receipts have not been applied.

    `pending` are (index, instant of the receipt), in order. `last_us` is the instant of the last one on this
    connection.
    """

    __slots__ = (
        "cursor",
        "last_us",
        "pending",
        "runtime",
    )

    def __init__(self, cursor: Cursor, runtime: Pulsar) -> None:
        self.cursor = cursor
        self.runtime = runtime
        self.pending: deque[tuple[int, int]] = deque()
        self.last_us = 0

    @property
    def due(self) -> int:
        """Number of receipts that have arrived and are not applied yet; they arrive in order."""
        return bisect_right(self.pending, self.runtime.now_us, key=lambda receipt: receipt[1])

    def acknowledge(self, index: int) -> None:
        """Move the replication cursor past an entry (receipt, or nothing to send)."""
        cursor = self.cursor
        cursor.acknowledge(index)
        if self.runtime.now_us - cursor.last_persist_us >= PERSIST_INTERVAL_US:
            self.settle(self.runtime.now_us)  # a write includes every receipt that has arrived
            self.persist_if_due(self.runtime.now_us)

    def persist_if_due(self, now_us: int) -> None:
        """Write the cursor, unless it was written less than a second ago."""
        if now_us - self.cursor.last_persist_us >= PERSIST_INTERVAL_US:
            self.cursor.persist(now_us)

    def settle(self, now_us: int) -> None:
        """Apply the receipts that are due by then."""
        pending, cursor = self.pending, self.cursor
        while pending and pending[0][1] <= now_us:
            index, at_us = pending.popleft()
            if index != cursor.mark_delete + 1:
                cursor.acknowledge(index)
            else:  # consecutive ones are one step, up to the one with which the cursor is written
                write_us = cursor.last_persist_us + PERSIST_INTERVAL_US
                while at_us < write_us and pending and pending[0][0] == index + 1 and pending[0][1] <= now_us:
                    index, at_us = pending.popleft()
                cursor.mark_delete_to(index)
            if at_us - cursor.last_persist_us >= PERSIST_INTERVAL_US:
                cursor.persist(at_us)

    def settled_cursor(self) -> Cursor:
        """A copy of the cursor with the due receipts applied; the cursor itself is not changed."""
        cursor = self.cursor.copy()
        for index, at_us in self.pending:
            if at_us > self.runtime.now_us:
                break
            cursor.acknowledge(index)
        return cursor

    def settled_mark_delete(self) -> int:
        """The mark-delete with the due receipts applied; the cursor itself is not changed."""
        last = self.cursor.mark_delete
        for index, at_us in self.pending:
            if at_us > self.runtime.now_us:
                break
            if self.cursor.next_unacknowledged(last + 1) == index:
                last = self.cursor.next_unacknowledged(index + 1) - 1
        return last


class LedgerReceipts:
    """`ledger` is the ledger of the last receipts, NULL while only one is kept.

    The first receipt of each ledger: from then on the replicator needs no earlier ledger.

    Rules: a receipt has no event of its own, except the first one of a ledger while an earlier ledger is
    kept, because the earlier ones may be deleted then (`ManagedLedgerImpl.internalTrimLedgers`).
    """

    __slots__ = ("replicator", "ledger")

    def __init__(self, replicator: Replicator) -> None:
        self.replicator = replicator
        self.ledger = NULL

    def expect(self, index: int, receipt_us: int) -> None:
        """The receipt of entry `index` arrives at this instant; several ledgers are kept."""
        replicator = self.replicator
        log = replicator.topic.log
        if index < log.ledgers[1].first_index:
            return
        ledger = log.position(index)[0]
        if ledger != self.ledger:
            self.ledger = ledger
            replicator.runtime.schedule(
                receipt_us, replicator.rank, self.first_arrived, (replicator.connection, index)
            )

    def first_arrived(self, argument: tuple[int, int]) -> None:
        """The first receipt of a ledger has arrived."""
        connection, index = argument
        if connection == self.replicator.connection:
            retention.passed_border(self.replicator.topic, index, NULL)


_POWERS_OF_TEN = 10 ** np.arange(1, 19, dtype=np.int64)
_LONGEST = 2 * 19
"""Digits of two Java longs."""


class CopySize:
    """The bytes that the replicators of one cluster add.

    Bytes that a replicator adds to an entry: the metadata of the copy names where it came from.

    Source: `GeoPersistentReplicator.replicateEntries` sets `replicated_from` to its cluster and adds the
    property MSG_PROP_REPL_SOURCE_POSITION with "ledger:entry" of the original, to messages and markers alike,
    whether or not the peer deduplicates (since #23697). Rules: sizes are those of the protobuf encoding;
    nothing is encoded for each entry. A test compares them with encoded metadata.
    """

    __slots__ = ("fixed", "_ledger", "_from_entry", "_below_entry", "_bytes")

    def __init__(self, cluster: str) -> None:
        value_begin = 2 + _field(len(SOURCE_POSITION))  # tag and length of the property, its key
        self.fixed = _field(len(cluster.encode())) + value_begin + 2 + len(":")
        self._ledger = self._from_entry = self._below_entry = self._bytes = 0

    def of(self, ledger: int, entry: int) -> int:
        """Bytes added to the copy of the entry at this position."""
        if ledger != self._ledger or not self._from_entry <= entry < self._below_entry:
            # asked for each entry, in order: the next positions have as many digits
            digits = len(str(entry))
            self._ledger, self._bytes = ledger, self.fixed + len(str(ledger)) + digits
            self._from_entry, self._below_entry = 10 ** (digits - 1) if digits > 1 else 0, 10**digits
        return self._bytes

    @property
    def most(self) -> int:
        """The most bytes that are added to any entry."""
        return self.fixed + _LONGEST


def _field(length: int) -> int:
    """Bytes of a string field of a message: a tag of one byte, the length as a varint, the text."""
    return 1 + (1 if length < 128 else 2) + length


PASSED_AT_ONCE = 1024
"""Most entries of other clusters that one step skips, so its time does not grow with the backlog."""


class Replicator:
    """The replicator X -> Y of one topic partition, in X."""

    __slots__ = (
        "expired",
        "back",
        "border",
        "broken",
        "checked",
        "connecting",
        "copy_size",
        "cursor",
        "draw_base",
        "failed_starts",
        "held",
        "last_arrival_us",
        "last_error",
        "ledger_receipts",
        "link",
        "next_try_us",
        "origin_index",
        "peer",
        "peer_bit",
        "peer_number",
        "rank",
        "read_index",
        "read_to",
        "is_reading",
        "receipts",
        "requested_seq",
        "runtime",
        "schemas",
        "sent_bytes",
        "sent_entries",
        "stalled",
        "start_seq",
        "started_us",
        "tail",
        "topic",
        "wire",
    )

    def __init__(self, topic: Topic, peer: str, mark_delete: int) -> None:
        runtime = topic.runtime
        self.topic, self.runtime, self.peer = topic, runtime, peer
        self.peer_number = runtime.name(peer)
        self.origin_index = topic.cluster.index
        self.peer_bit = 1 << runtime.cluster_index(peer)
        self.rank = rank(REPLICATOR, runtime.cluster_index(peer), topic.rank & 0xFFFF)
        # so its first write is not delayed
        self.cursor = Cursor(mark_delete, runtime.now_us - PERSIST_INTERVAL_US)
        self.link = runtime.links[(topic.cluster.name, peer)]
        self.back = runtime.links[(peer, topic.cluster.name)]
        self.connecting = Connecting(
            stream_key(runtime.seed, f"backoff/{topic.cluster.name}/{peer}/{topic.name}")
        )
        self.draw_base = topic.partition + 1 << 44
        self.read_index = mark_delete + 1
        self.read_to = self.read_index  # entries below were read before: some may have their receipt
        # (index, sent_us, due_us), not yet stored at the peer
        self.wire: deque[tuple[int, int, int]] = deque()
        self.receipts = Receipts(self.cursor, runtime)
        self.tail = TailRead(lateness_of(runtime, f"replicator/{topic.cluster.name}/{peer}/{topic.name}"))
        self.broken = BrokenProcess(self)
        self.held = HeldConnection(self)
        self.copy_size = CopySize(topic.cluster.name)
        self.last_arrival_us = 0
        self.border = Border(topic.log)
        self.ledger_receipts = LedgerReceipts(self)
        self.is_reading = self.stalled = False
        self.started_us = 0
        # the row that requested the present start; the last such row, without retries
        self.start_seq = self.requested_seq = NULL
        self.checked: Outcome | None = None  # the result of its last start check
        self.next_try_us: int | None = None  # the end of the present backoff
        self.failed_starts = 0  # over the run, lost connections too; `connecting` has the backoff's own count
        self.last_error: str | None = None  # the error that prevents replication now
        self.schemas = ReplicatedSchemas()
        self.sent_entries = self.sent_bytes = 0  # since the topic's load, repeats too
        self.expired = Expired()

    @property
    def state(self) -> str:
        """One of `CONNECTION_MOVES`."""
        return self.connecting.state

    @property
    def connection(self) -> int:
        """The number of connections so far; entries on an earlier one are lost."""
        return self.connecting.number

    @property
    def connected(self) -> bool:
        """Whether its producer is connected to the peer: the condition of the snapshot tick's rule 4."""
        return self.connecting.state == STARTED

    @property
    def reads_on(self) -> bool:
        """Whether it has read all entries: it is connected, and nothing blocks or delays its reading."""
        free = self.connecting.state == STARTED and not self.stalled and not self.schemas.waiting
        appending = self.topic.readable_length < self.topic.log.length
        return free and not self.tail.check_due and not appending

    # --- connecting

    def start(self, cause: int, at_once: bool = False) -> None:
        """Connect: takes a round trip, or no time in a run that begins connected."""
        if self.connecting.state != DISCONNECTED:
            return
        self.start_seq = cause
        if cause != NULL:
            self.requested_seq = cause
        now_us = self.runtime.now_us
        effects = self.connecting.start(self._obstacle(), now_us)
        if at_once and effects == [connecting.Connect()] and replicator_start.passes_at_once(self):
            effects = self.connecting.checked(replicator_start.PASS, now_us)
        self._perform(effects, cause)

    def _perform(self, effects: list[Effect], cause: int, reason: str = "") -> None:
        runtime = self.runtime
        for effect in effects:
            match effect:
                case connecting.Connect():
                    base = self.draw_base
                    at_us = runtime.now_us + self.link.latency_us(base) + self.back.latency_us(base)
                    runtime.schedule(at_us, self.rank, self.connected_now, self.connection)
                case connecting.Check():
                    verdict = replicator_start.check(self)
                    self._perform(self.connecting.checked(verdict, runtime.now_us), cause)
                case connecting.Order(shape):
                    replicator_start.order(self, shape)
                case connecting.Begin():
                    self._started(cause)
                case connecting.Break():
                    self._break(reason, cause)
                case connecting.Retry(at_us, why):
                    self.last_error, self.next_try_us = why, at_us
                    self.failed_starts += 1
                    runtime.schedule(at_us, self.rank, self.retry_now, self.connection)
                case connecting.Refuse():
                    self._note_refused(effect)

    def reachable(self) -> bool:
        """Whether this topic is loaded, the link is up, and a broker at the peer has the topic."""
        return self.topic.loaded and self.peer_serves()

    def peer_serves(self) -> bool:
        """Whether the link is up, and a broker at the peer has the topic."""
        remote = self.runtime.clusters[self.peer]
        there = remote.topics.get(self.topic.name)
        return self.link.up and remote.up and there is not None and there.loaded

    def _obstacle(self) -> str | None:
        """Why it cannot connect now, None if it can; a missing topic at the peer is no obstacle."""
        remote = self.runtime.clusters[self.peer]
        there = remote.topics.get(self.topic.name)
        up = self.link.up and not self.held.back
        if not (self.topic.loaded and up and remote.up and (there is None or there.loaded)):
            return f"no connection to {self.peer}"
        if self.broken.entries:
            return f"a producer of the former connection is still connected in {self.peer}"
        if there is not None and there.terminated:
            return f"Topic was already terminated in {self.peer}"
        if there is not None and retention.refuses_producers(there) is not None:
            return f"Cannot create producer on topic with backlog quota exceeded in {self.peer}"
        return None

    def _note_refused(self, refuse: connecting.Refuse) -> None:
        if refuse.wait_us is None:  # its producer is closed for good
            self.last_error, self.next_try_us = refuse.why, None
            self.failed_starts += 1
        self.runtime.rows.replicator_start_refused(
            self.start_seq,
            **self.topic.names,
            peer=self.peer_number,
            count=self.failed_starts,
            duration_us=refuse.wait_us,
            reason=refuse.reason,
            detail=refuse.why,
        )

    def create_remote(self, argument: tuple[int, int]) -> None:
        """The request to create the topic reaches the peer."""
        replicator_start.create_remote(self, *argument)

    def creation_answered(self, argument: tuple[int, tuple[str, str] | None]) -> None:
        """The peer's response to that request: connect, or retry because of (a word, a sentence)."""
        connection, why_not = argument
        if connection != self.connection:
            return
        if why_not is None:
            self.connected_now(connection)
        else:
            replicator_start.denied(self, why_not[1])
            self._perform(self.connecting.refused(*why_not, self.runtime.now_us), NULL)

    def retry_now(self, connection: int) -> None:
        """Start again after the backoff."""
        if connection == self.connection:
            self.start(NULL)

    def connected_now(self, connection: int) -> None:
        """The round trip of connecting is over."""
        effects = self.connecting.connected(connection, self._obstacle(), self.runtime.now_us)
        self._perform(effects, NULL)

    def _started(self, cause: int) -> None:
        self.started_us = self.runtime.now_us
        self.last_error = None
        self.schemas.reset()
        self.tail.cancel()
        # order holds within a connection, not across connections
        self.last_arrival_us = self.receipts.last_us = 0
        cluster, topic = self.topic.cluster.number, self.topic.number
        seq = self.runtime.rows.replicator_started(cause, cluster=cluster, peer=self.peer_number, topic=topic)
        self.read_index = max(
            self.cursor.next_unacknowledged(self.cursor.mark_delete + 1), self.topic.log.first_kept
        )
        if self.read_index < self.read_to:
            position = self.topic.log.position(self.read_index - 1)
            self.runtime.rows.replicator_rewound(
                seq, cluster=cluster, peer=self.peer_number, topic=topic, at=position
            )
        self.read()

    def disconnect(self, reason: str, cause: int, delivered: bool = False) -> None:
        """The connection broke: entries on the wire are lost; retry, unless a retry is scheduled.

        `delivered`: the peer's process died, and what it had sent arrives first.
        """
        if delivered and self.connected:
            self.broken.peer_dies(reason, cause)
            return
        self.broken.lose(cause)
        effects = self.connecting.lost(reason, self.topic.loaded, self.runtime.now_us)
        self._perform(effects, cause, reason)

    def _break(self, reason: str, cause: int) -> None:
        self.settle()
        seq = self.runtime.rows.replicator_disconnected(
            cause, **self.topic.names, peer=self.peer_number, reason=reason
        )
        self.broken.note_lost(self.wire, seq)
        self.wire.clear()
        self.receipts.pending.clear()
        self.stalled = False
        self.ledger_receipts.ledger = NULL

    def close(self, reason: str, cause: int, clean: bool, delivered: bool = False) -> None:
        """The topic leaves its broker; if not cleanly, receipts since the cursor's last write are lost.

        `delivered`: its process died, and entries on the wire still arrive.
        """
        if delivered:
            self.broken.dies()
        self._perform(self.connecting.close(), cause, reason)
        self.sent_entries = self.sent_bytes = 0
        self.expired = Expired()
        if clean or self._flushed_by_now():
            self.cursor.persist(self.runtime.now_us)
        else:
            self.cursor.recover()

    def _flushed_by_now(self) -> bool:
        """Whether the flush that bounds how long a cursor stays dirty has been, with all acks.

        Acks a second or more after the last write are written themselves, so that flush misses none.
        """
        flush_us = (
            self.topic.cluster.setting("managedLedgerCursorPositionFlushSeconds", self.topic) * 1_000_000
        )
        return self.runtime.now_us - self.cursor.last_persist_us >= flush_us

    def remove(self, cause: int) -> None:
        """The peer was removed from the replication list: remove the cursor, too."""
        self.broken.lose(cause)
        self._perform(self.connecting.remove(), cause, "removed")
        self.runtime.rows.replicator_removed(cause, **self.topic.names, peer=self.peer_number)

    # --- reading and sending

    def read(self) -> None:
        """Read from the cursor while connected and while the queue has room, entry by entry in order."""
        if self.is_reading or self.connecting.state != STARTED or self.schemas.waiting:
            return
        log, size_max = self.topic.log, self.topic.hot.replicator_queue_entries
        delay_us = self.topic.hot.new_entries_check_delay_us
        limited = delay_us or self.topic.appends is not None
        if limited and not tail_read.begin(self, delay_us):
            return
        self.is_reading = True
        values, origins, origin_index = log.records.values, self.runtime.messages.origin, self.origin_index
        pending = self.receipts.pending
        while (
            self.read_index < (self.tail.end if limited else log.length) and self.connecting.state == STARTED
        ):
            if len(self.wire) + len(pending) >= size_max and not self._has_room(size_max):
                break
            index = self.read_index
            self.read_index = index + 1
            if index < self.read_to and self.cursor.is_acknowledged(index):
                continue
            record = values[index]
            if record < 0:
                self._read_marker(index, self.runtime.markers[-record - 1])
            elif origins[record] != origin_index:
                self.receipts.acknowledge(index)  # from another cluster: never forwarded
                if index + 1 < log.length:
                    self._pass_over_others(index)
            elif not self._send_message(index, record):
                self.read_index = index
                break
        if self.read_to < self.read_index:
            self.read_to = self.read_index
        self.is_reading = False
        if limited and self.connecting.state == STARTED and not self.stalled and not self.schemas.waiting:
            tail_read.wait(self, delay_us)

    def check_for_new_entries(self, check_us: int) -> None:
        """The delay is over, and entries were appended in it."""
        if self.tail.check_due and self.tail.check_us == check_us:
            self.tail.check_due = False
            self.read()

    def _send_message(self, index: int, record: int) -> bool:
        """Send or skip it; False when it must wait for its schema."""
        runtime, messages, topic = self.runtime, self.runtime.messages, self.topic
        if (messages.replicate_to[record] != -1 or topic.hot.ttl_us) and not self._is_wanted(index, record):
            self.receipts.acknowledge(index)
            return True
        if runtime.schemas is not None and schemas.holds_back(self, index, record):
            return False
        count = messages.batch[record]
        position = topic.log.position(index)
        cause, seq = topic.stored_seqs.values[index], NULL
        for message in (record,) if count == 1 else range(record, record + count):
            seq = runtime.rows.message_replicated(
                cause,
                cluster=topic.cluster.number,
                topic=topic.number,
                peer=self.peer_number,
                producer=messages.producer[message],
                sequence_id=messages.sequence_id[message],
                at=position,
                batch_index=NULL if count == 1 else message - record,
            )
        self.send(index, messages.size_bytes[record] * count, self.copy_size.of(*position), seq)
        return True

    def send(self, index: int, size_bytes: int, copied_bytes: int, seq: int, extra_us: int = 0) -> None:
        """Put an entry on the wire, in order; its copy is longer by `copied_bytes`."""
        now_us = self.runtime.now_us
        due_us = self.link.transmit(now_us, size_bytes + copied_bytes, self.draw_base + index) + extra_us
        if due_us < self.last_arrival_us:
            due_us = self.last_arrival_us
        self.last_arrival_us = due_us
        self.sent_entries += 1
        self.sent_bytes += size_bytes
        self.wire.append((index, now_us, due_us))
        self.runtime.schedule(due_us, self.rank, self.arrive, (self.connecting.number, index, seq))

    def arrive(self, argument: tuple[int, int, int]) -> None:
        """An entry reached the peer: store it and send its receipt back."""
        connection, index, seq = argument
        if connection != self.connecting.number or self.connecting.state != STARTED:
            self.broken.arrive(connection, index, seq)
            return
        broken, held = self.broken, self.held  # both are idle in nearly every run
        closing = broken.closing is not None and broken.is_closing
        if closing or ((held.there or held.released_us) and not held.arrives(argument)):
            return
        self.wire.popleft()
        receipts = self.receipts
        sent_us = self.runtime.now_us
        receipt_us = NEVER_US if held.back else sent_us + self.back.latency_us(self.draw_base + index)
        if receipt_us < receipts.last_us:
            receipt_us = receipts.last_us
        receipts.last_us = receipt_us
        receipts.pending.append((index, receipt_us))
        if len(self.topic.log.ledgers) > 1 and not held.back:
            self.ledger_receipts.expect(index, receipt_us)
        self.store_at_peer(index, seq)
        if self.stalled and not held.back:
            self.runtime.schedule(receipt_us, self.rank, self.room, connection)

    # --- one entry: the rules in the broker's order, and the effects of its arrival
    #
    # 1 marker of the peer -> controller. 2 replicated from another cluster -> skip. 3 replicate_to. 4 TTL.
    # 5 send. The source is `GeoPersistentReplicator.replicateEntries`. Messages of other clusters need no
    # event while a read waits at the end of the log (`storage.messages`), because a replicator only skips
    # them. They count as read at their instant or at the check, and the cursor passes them with the next
    # read.

    def _read_marker(self, index: int, marker: Marker) -> None:
        """Handle, skip or send a marker that was read."""
        topic, runtime = self.topic, self.runtime
        about = topic.about_marker(marker, self.peer, index)
        own = marker.origin == topic.cluster.name
        if not own and marker.origin == self.peer and marker.type != SNAPSHOT:
            seq = runtime.rows.marker_handled(topic.stored_seqs[index], about=about)
            self._handle_marker(marker, index, seq)
        if (
            not own
            or (marker.addressee is not None and marker.addressee != self.peer)
            or self._is_expired(marker.published_us)
        ):
            self.receipts.acknowledge(index)
            return
        seq = runtime.rows.marker_sent(topic.stored_seqs[index], about=about)
        delay_us = 0
        fault = next((f for f in runtime.marker_faults if self._is_meant(f, marker)), None)
        if fault is not None:
            runtime.marker_faults.remove(fault)
            if fault["by_us"] is None:
                runtime.rows.marker_dropped(seq, about=about)
                self.receipts.acknowledge(index)
                return
            delay_us = fault["by_us"]
            runtime.rows.marker_delayed(seq, about=about, duration_us=delay_us)
        copied_bytes = self.copy_size.of(*topic.log.position(index))
        self.send(index, marker.size_bytes, copied_bytes, seq, delay_us)

    def _is_meant(self, fault: dict, marker: Marker) -> bool:
        return (
            fault["type"] == marker.type
            and fault["cluster"] == self.topic.cluster.name
            and fault["peer"] in (None, self.peer)
        )

    def _handle_marker(self, marker: Marker, index: int, cause: int) -> None:
        """Pass a remote's marker to the controller, which is created if necessary.

        With the option forcedControllerStart it is also started. Otherwise a new one only responds.
        """
        topic = self.topic
        if not topic.replicated_subscriptions_possible():
            return
        controller = topic.controller
        if controller is None:
            controller = topic.create_controller()
            if self.runtime.option("forcedControllerStart"):
                topic.start_controller("forced", cause)
        controller.receive(marker, index, cause)

    def _is_wanted(self, index: int, record: int) -> bool:
        """Whether a local message is sent to the peer: replicate_to, then TTL."""
        runtime, topic = self.runtime, self.topic
        reason = None
        replicate_to = runtime.messages.replicate_to[record]
        if replicate_to == -1 and not topic.hot.ttl_us:
            return True
        if replicate_to != -1 and not replicate_to & self.peer_bit:
            reason = "replicate_to"
        elif self._is_expired(runtime.messages.published_us[record]):
            reason = "expired"
        if reason is None:
            return True
        if reason == "expired":
            self.expired.dropped(1, runtime.now_us)
        for message in range(record, record + runtime.messages.batch[record]):
            runtime.rows.message_not_replicated(
                topic.stored_seqs[index],
                **topic.names,
                peer=self.peer_number,
                producer=runtime.messages.producer[message],
                sequence_id=runtime.messages.sequence_id[message],
                reason=reason,
            )
        return False

    def _pass_over_others(self, index: int) -> None:
        """Skip consecutive messages of other clusters after `index` in one step, if none was read before.

        The cursor was written at this instant, if that was due.
        """
        if self.read_to > index + 1:
            return
        log = self.topic.log
        records = log.records.view(index + 1, min(log.length, index + 1 + PASSED_AT_ONCE))
        ours = (records < 0) | (
            self.runtime.messages.values("origin", np.maximum(records, 0)) == self.origin_index
        )
        last = index + (int(ours.argmax()) if ours.any() else len(records))
        self.cursor.acknowledge_range(index + 1, last)
        self.read_index = last + 1

    def _is_expired(self, published_us: int) -> bool:
        ttl_us = self.topic.hot.ttl_us
        return ttl_us > 0 and published_us + ttl_us < self.runtime.now_us

    def store_at_peer(self, index: int, cause: int) -> None:
        """Append an arrived entry to the peer's log, unless deduplication drops it."""
        runtime, source = self.runtime, self.topic
        target = runtime.clusters[self.peer].topics[source.name]
        record, position = source.log.records.values[index], source.log.position(index)
        copied_bytes = self.copy_size.of(*position)
        if record < 0:
            marker = runtime.markers[-record - 1]
            target.wake(target.append_marker(marker, source.cluster.name, cause, copied_bytes))
            return
        messages, count = runtime.messages, runtime.messages.batch[record]
        if target.hot.deduplicates:
            name = "pulsar.repl." + source.cluster.name
            if position <= target.producers_seen.get(name, (-1, -1)):
                for message in range(record, record + count):
                    runtime.rows.message_deduplicated(
                        cause,
                        **target.names,
                        peer=source.cluster.number,
                        producer=messages.producer[message],
                        sequence_id=messages.sequence_id[message],
                    )
                return
            target.producers_seen[name] = position
        size_bytes = messages.size_bytes[record] * count + copied_bytes
        seq = target.append_messages(record, count, source.cluster.number, size_bytes, cause, index)
        if target.appends is not None:
            return  # the readers are notified when the append is complete
        if delay_us := target.hot.new_entries_check_delay_us:
            for one in target.replicators.values():
                one.tail.skip((runtime.now_us,), delay_us)
        target.wake_dispatchers(seq)

    def _skip_others(self) -> None:
        """Skip the messages of other clusters at the read position, without a read."""
        log, messages = self.topic.log, self.runtime.messages
        if self.connecting.state != STARTED or self.stalled or self.schemas.waiting:
            return
        while self.read_to <= (index := self.read_index) < log.length:
            record = log.records.values[index]
            if record < 0 or messages.origin[record] == self.origin_index:
                break
            self.read_index = index + 1
            self.receipts.acknowledge(index)
            self._pass_over_others(index)
            self.read_to = self.read_index

    # --- receipts

    @property
    def in_flight(self) -> int:
        """Entries sent without receipt."""
        return len(self.wire) + len(self.receipts.pending)

    @property
    def unreceipted(self) -> int:
        """Entries sent whose receipt has not arrived; no receipt is applied."""
        return self.in_flight - self.receipts.due

    def settle(self) -> None:
        """Apply the receipts that are due now."""
        self.receipts.settle(self.runtime.now_us)

    def _has_room(self, size_max: int) -> bool:
        """Whether the queue has room once the due receipts are applied.

        A full queue continues when receipts have brought it below nine tenths.
        """
        receipts, pending, now_us = self.receipts, self.receipts.pending, self.runtime.now_us
        if pending and pending[0][1] <= now_us:
            receipts.settle(now_us)
        in_flight = len(self.wire) + len(pending)
        if in_flight < size_max:
            return True
        self.stalled = True
        needed = min(in_flight - size_max * 9 // 10, in_flight - 1)  # a queue of one: when it is empty
        if 0 <= needed < len(pending):
            self.runtime.schedule(pending[needed][1], self.rank, self.room, self.connecting.number)
        return False

    def room(self, connection: int) -> None:
        """A receipt arrived while stalled."""
        if connection != self.connecting.number or not self.stalled:
            return
        self.receipts.settle(self.runtime.now_us)
        in_flight = len(self.wire) + len(self.receipts.pending)
        if in_flight < self.topic.hot.replicator_queue_entries * 9 // 10 or not in_flight:
            self.stalled = False
            self.read()

    # --- the cursor

    def ledger_opened(self) -> None:
        """A new ledger was opened: a cursor at the end of the previous one moves to it."""
        self.catch_up()
        ledger = self.border.next_ledger(self.cursor.mark_delete)
        if ledger is not None:
            self.border.move(self.cursor.mark_delete, ledger)

    def catch_up(self) -> None:
        """Bring the cursor up to date: skip entries of other clusters and apply the due receipts."""
        if self.topic.hot.new_entries_check_delay_us:
            self._skip_others()
        elif not self.stalled:
            self.read()
        self.settle()

    def cursor_now(self) -> Cursor:
        """A copy of the cursor, brought up to date; the cursor itself is not changed."""
        cursor = self.receipts.settled_cursor()
        if self.reads_on:
            cursor.acknowledge_range(self.read_index, self.topic.log.length - 1)
        return cursor

    def settled_mark_delete(self) -> int:
        """The mark-delete, brought up to date; the cursor itself is not changed."""
        last = self.receipts.settled_mark_delete()
        caught_up = last == self.read_index - 1 and self.reads_on
        # unread entries are from other clusters and will be skipped
        return self.topic.log.length - 1 if caught_up else last

    @property
    def backlog(self) -> int:
        """replicationBacklog: entries after the cursor, those that will be skipped included."""
        return self.cursor.backlog(self.topic.log.length)

    # --- schemas

    def register_schema(self, argument: tuple[int, int, str]) -> None:
        """The request to register a schema that the next entry needs reaches the peer."""
        schemas.register(self, *argument)

    def schema_answered(self, argument: tuple[int, int, str, str | None]) -> None:
        """Its response: continue, or stop until the next connection."""
        schemas.answered(self, *argument)
