"""Acknowledgement-state sync between clusters, and the filter at the receiving broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyroaring import BitMap

from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic


class AcknowledgementFilter:
    """The filter of one subscription.

    `reported` maps a peer to the acknowledged state that it reported. `received_us` is when the last report
    arrived. `filtered` counts messages.

    Rules: the broker acknowledges such a message itself (docs/pulsar.md). The dispatcher checks
    each entry before it sends it. The reported states survive crashes. Nothing is deleted.
    """

    __slots__ = (
        "filtered",
        "received_us",
        "reported",
        "runtime",
        "subscription",
        "topic",
    )

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.reported: dict[str, AcknowledgedState] = {}
        self.received_us: int | None = None
        self.filtered = 0

    def receive(self, peer: str, state: AcknowledgedState) -> None:
        """Add the state that a peer reports to its earlier ones."""
        before = self.reported.get(peer)
        self.reported[peer] = state if before is None else before.followed_by(state)
        self.received_us = self.runtime.now_us

    def remaining(self, index: int, record: int) -> int:
        """Bit set of the entry's messages that no peer reports as acknowledged."""
        return self.not_reported(origin_of(self.topic, index), self.runtime.messages.batch[record])

    def not_reported(self, origin: tuple[int, int], count: int) -> int:
        """Bit set of the `count` messages at an original position that no peer reports as acknowledged."""
        remaining = (1 << count) - 1
        for state in self.reported.values():
            remaining &= state.remaining(*origin, count)
        return remaining

    def takes(self, index: int, record: int, cause: int) -> bool:
        """Acknowledge the messages of an entry that peers report as acknowledged.

        Returns True when that is the whole entry.
        """
        runtime, cursor, count = self.runtime, self.subscription.cursor, self.runtime.messages.batch[record]
        if self.remaining(index, record) == (1 << count) - 1:
            return False
        acked, remaining = self._reported_acked(index, count)
        if not acked:
            return False
        before, seq, subscription = cursor.mark_delete, NULL, self.subscription
        topic, at = self.topic, self.topic.log.position(index)
        for bit, peer in sorted(acked.items()):
            producer, sequence_id = (
                runtime.messages.producer[record + bit],
                runtime.messages.sequence_id[record + bit],
            )
            seq = runtime.rows.message_filtered(
                cause,
                **subscription.names,
                peer=peer,
                producer=producer,
                sequence_id=sequence_id,
                at=at,
                batch_index=NULL if count == 1 else bit,
                evidence_seq=self.reported[peer].seq,
            )
            seq = subscription.note_registered(index, record + bit, NULL if count == 1 else bit, seq)
            if count > 1:
                cursor.acknowledge_batch(index, bit, count)
        self.filtered += len(acked)
        if not remaining:
            cursor.acknowledge(index)
            window = runtime.windows.get(subscription.name)
            if window is not None and window.target == topic.cluster.name:
                for message in range(record, record + count):
                    window.settled(message)
        subscription.after_acknowledgement(before, "acknowledgement", seq)
        return not remaining

    def _reported_acked(self, index: int, count: int) -> tuple[dict[int, str], int]:
        """By batch index the peer that reports a message as acknowledged, where it is not acknowledged here.

        The second value is the bit set of the other messages.
        """
        origin, remaining = (
            origin_of(self.topic, index),
            self.subscription.cursor.batch_remaining(index, count),
        )
        acked: dict[int, str] = {}
        for peer, state in self.reported.items():
            acked_there = remaining & ~state.remaining(*origin, count)
            acked.update(dict.fromkeys((bit for bit in range(count) if acked_there >> bit & 1), peer))
            remaining &= ~acked_there
        return acked, remaining


# --- acknowledgement-state sync: a cluster sends another the acknowledged messages of a subscription
#
# The design is in docs/pulsar.md.
#
# Rules: a request carries the whole state over the link, with its latency and loss, never in the topic.
# Entries are named by the cluster where they were published and their index in its log. Every copy carries
# both, so the receiver need not translate the state. The receiver adds it to the earlier states of the
# peer, so a cursor that moves back in a crash withdraws nothing. Only an administrator's reset does. The
# receiver's dispatcher filters by the state. Nothing is deleted.


NONE, ONCE = "none", "once"  # once: on command only; else "periodic"
REQUEST_BYTES, RANGE_BYTES = 64, 32
"""Size of a request on a link, in bytes: names and mark-delete, and an addition for each range.

An individually deleted range adds two positions. A partly acknowledged batch adds a position and a bit set.
"""

MOST_ON_THE_WIRE = 100
"""Most requests to one peer that are on the wire at once.

Each holds a whole state. With a period far below the latency, further requests wait for earlier ones.
"""

_DRAWS = 1 << 58  # draws of the link's latency that belong to requests, far from those of entries
_NOTHING = BitMap()


class AcknowledgedState(NamedTuple):
    """The acknowledged state that one cluster reported.

    `whole[origin]` are indices in that cluster's log. `parts` are the messages of batched entries that are
    *not* acknowledged, by (origin, index). `history` is the row that opened the cursor or the row of an
    administrator's last reset. `seq` is the row that applied the newest request.
    """

    whole: dict[int, BitMap]
    parts: dict[tuple[int, int], int]
    history: int
    seq: int

    def remaining(self, origin: int, index: int, messages: int) -> int:
        """Bit set of the messages of an entry that are not acknowledged in this state."""
        if index in self.whole.get(origin, _NOTHING):
            return 0
        return self.parts.get((origin, index), (1 << messages) - 1)

    def followed_by(self, newer: AcknowledgedState) -> AcknowledgedState:
        """The state after a newer request: the union of both, or only the newer one after a reset."""
        if newer.history != self.history:
            return newer
        whole = {
            origin: self.whole.get(origin, _NOTHING) | newer.whole.get(origin, _NOTHING)
            for origin in {**self.whole, **newer.whole}
        }
        parts = {
            (origin, index): remaining & self.parts.get((origin, index), remaining)
            for (origin, index), remaining in {**self.parts, **newer.parts}.items()
            if index not in whole.get(origin, _NOTHING)
        }
        return AcknowledgedState(whole, parts, newer.history, newer.seq)


class CursorState(NamedTuple):
    """The part of a cursor's state that decides whether a new request is due."""

    history: int
    mark_delete: int
    deleted: BitMap
    partly_acknowledged: dict[int, int]


class Line:
    """One connection to a peer: the last state sent on it, and the requests on the wire.

    Requests arrive in order. When one is lost, all later ones on the connection are lost.
    """

    def __init__(self, number: int, connection: tuple[int, int]) -> None:
        self.number = number
        self.connection = connection  # the topic's load, the replicator's connection
        self.sent: CursorState | None = None
        self.waiting = 0
        self.due_us = 0


class AcknowledgementSender:
    """The sending side of one subscription in one cluster."""

    def __init__(self, subscription: Subscription, period_us: int | None, place: int) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.period_us = period_us  # None: on command only
        self.opened = self.history = NULL  # the rows that opened the cursor and that last reset it
        self.lines: dict[str, Line] = {}
        self.arrived: dict[str, CursorState] = {}  # peer -> the newest state that it has
        self.next_us: int | None = None  # the time of its next periodic request
        self.requests = self.connections = 0
        self._draws = _DRAWS + (max(self.topic.partition, 0) << 48) + (place << 32)
        self._seen = BitMap()  # own indices whose origins are in `_others` already
        self._others: dict[int, BitMap] = {}

    def opened_by(self, seq: int) -> None:
        """The row that created the subscription."""
        self.opened = self.history = seq

    def reset_by(self, seq: int) -> None:
        """An administrator reset the cursor: the next request withdraws the earlier ones."""
        self.history = seq

    def start(self) -> None:
        """Begin to send: the subscription was created, or the topic loaded."""
        self.lines, self.arrived = {}, {}
        self._tick_later(self.topic.epoch)

    def _tick_later(self, epoch: int) -> None:
        if self.period_us is not None:
            self.next_us = self.runtime.now_us + self.period_us
            self.runtime.schedule(self.next_us, self.topic.rank, self.tick, epoch)

    def _is_current_epoch(self, epoch: int) -> bool:
        subscription = self.topic.subscriptions.get(self.subscription.name)
        return (
            epoch == self.topic.epoch
            and self.topic.loaded
            and subscription is self.subscription
            and subscription.sender is self
        )

    def is_current(self, peer: str) -> bool:
        """Whether the peer has the present state."""
        cursor = self.subscription.cursor
        return self.arrived.get(peer) == CursorState(
            self.history, cursor.mark_delete, cursor.acknowledged(), cursor.partly_acknowledged()
        )

    def on_the_wire(self, peer: str) -> int:
        """Requests to the peer that have not arrived."""
        line = self.lines.get(peer)
        return 0 if line is None else line.waiting

    def tick(self, epoch: int) -> None:
        """Send to every peer at the end of a period."""
        if self._is_current_epoch(epoch):
            for peer in self.topic.remote_clusters():
                self.send(peer, NULL)
            self._tick_later(epoch)

    def send(self, peer: str, cause: int) -> bool:
        """Send the state to a peer that can be reached and does not have it; False when nothing was sent."""
        runtime, topic, cursor = self.runtime, self.topic, self.subscription.cursor
        replicator = topic.replicators.get(peer)
        if replicator is None or not replicator.reachable():
            return False
        line = self._line(peer, (topic.epoch, replicator.connection))
        newest = CursorState(
            self.history, cursor.mark_delete, cursor.acknowledged(), cursor.partly_acknowledged()
        )
        if line.waiting >= MOST_ON_THE_WIRE or not self._is_news(line.sent or self.arrived.get(peer), newest):
            return False
        size_bytes = REQUEST_BYTES + RANGE_BYTES * (cursor.ranges_total + len(newest.partly_acknowledged))
        seq = runtime.rows.acknowledgements_sent(
            cause,
            **self.subscription.names,
            peer=peer,
            at=topic.log.position(cursor.mark_delete),
            count=cursor.deleted_count,
            size_bytes=size_bytes,
        )
        self.requests += 1
        due_us = replicator.link.transmit(runtime.now_us, size_bytes, self._draws + self.requests)
        line.sent, line.waiting, line.due_us = newest, line.waiting + 1, max(due_us, line.due_us)
        runtime.schedule(
            line.due_us, topic.rank, self.arrive, (peer, line.number, self._state(), newest, seq)
        )
        return True

    def _line(self, peer: str, connection: tuple[int, int]) -> Line:
        """The present connection to a peer.

        Requests on an earlier connection will not arrive. Their state is sent again.
        """
        line = self.lines.get(peer)
        if line is None or line.connection != connection:
            self.connections += 1
            line = self.lines[peer] = Line(self.connections, connection)
        return line

    def _is_news(self, sent: CursorState | None, newest: CursorState) -> bool:
        if sent is not None:
            return sent != newest
        return (
            newest.mark_delete >= 0
            or bool(newest.deleted)
            or bool(newest.partly_acknowledged)
            or self.history != self.opened
        )

    def arrive(self, argument: tuple) -> None:
        """A request reached the peer, or was lost."""
        peer, number, state, newest, seq = argument
        line = self.lines.get(peer)
        if line is None or line.number != number or not self._holds(peer, line):
            self.runtime.rows.acknowledgements_lost(
                seq, **self.subscription.names, peer=peer, evidence_seq=seq
            )
            if line is not None and line.number == number:
                del self.lines[peer]
            return
        line.waiting -= 1
        self.arrived[peer] = newest
        apply(self.runtime.clusters[peer].topics[self.topic.name], self.subscription, state, newest, seq)

    def _holds(self, peer: str, line: Line) -> bool:
        """Whether the connection has lasted until now."""
        epoch, connection = line.connection
        replicator = self.topic.replicators.get(peer)
        if replicator is not None and replicator.broken.carries(connection):
            return True  # the broker's process died: what it had sent arrives
        return (
            replicator is not None
            and not replicator.broken.is_closing
            and self._is_current_epoch(epoch)
            and replicator.connection == connection
            and replicator.reachable()
        )

    def _state(self) -> AcknowledgedState:
        """The present state of the cursor, by origin."""
        cursor, topic, own = self.subscription.cursor, self.topic, self.topic.cluster.index
        acknowledged = cursor.acknowledged()
        acknowledged.add_range(0, cursor.mark_delete + 1)
        acknowledged.run_optimize()
        if not self._seen <= acknowledged:  # the cursor moved back
            self._seen, self._others = BitMap(), {}
        self._note_origins(acknowledged - self._seen)
        self._seen = acknowledged
        parts = {
            origin_of(topic, index): remaining for index, remaining in cursor.partly_acknowledged().items()
        }
        whole = {own: acknowledged, **{origin: indices.copy() for origin, indices in self._others.items()}}
        return AcknowledgedState(whole, parts, self.history, NULL)

    def _note_origins(self, new: BitMap) -> None:
        """Record where the newly acknowledged entries of other clusters were published."""
        if not new:
            return
        topic, indices = self.topic, np.array(new.to_array(), dtype=np.int64)
        records = topic.log.records.view(int(indices[0]), int(indices[-1]) + 1)[indices - indices[0]]
        indices, records = indices[records >= 0], records[records >= 0]
        origins = np.frombuffer(self.runtime.messages.origin, dtype=np.int64)[records]
        for origin in np.unique(origins).tolist():
            if origin != topic.cluster.index:
                carried = (topic.source_indices[index] for index in indices[origins == origin].tolist())
                self._others.setdefault(origin, BitMap()).update(carried)


def sender_for(subscription: Subscription) -> AcknowledgementSender | None:
    """The sending side, when the scenario configures one."""
    specs = subscription.runtime.subscriptions
    spec = specs.get(subscription.name)
    migrates = subscription.topic.base in subscription.runtime.synchronised
    if spec is None or (spec.acknowledgement_sync == NONE and not migrates):
        return None
    period_us = None if spec.acknowledgement_sync == ONCE else spec.ack_sync_period_us
    return AcknowledgementSender(subscription, period_us, sorted(specs).index(spec.name))


def origin_of(topic: Topic, index: int) -> tuple[int, int]:
    """(origin cluster's ordinal, index in its log) of an entry of messages: the position that it carries."""
    origin = topic.runtime.messages.origin[topic.log.records[index]]
    return origin, index if origin == topic.cluster.index else topic.source_indices[index]


def apply(
    topic: Topic, sender: Subscription, state: AcknowledgedState, newest: CursorState, cause: int
) -> None:
    """The receiving broker adds the state to the earlier states of the peer.

    A subscription that is missing is opened at Earliest.
    """
    peer, name = sender.topic.cluster, sender.name
    subscription = topic.subscriptions.get(name)
    if subscription is None:
        subscription = topic.add_subscription(
            name, sender.type, topic.log.first_kept - 1, False, "acknowledgement-sync", cause
        )
    seq = topic.runtime.rows.acknowledgements_applied(
        cause,
        **subscription.names,
        peer=peer.number,
        to=sender.topic.log.position(newest.mark_delete),
        count=len(newest.deleted),
        evidence_seq=cause,
    )
    subscription.filter.receive(peer.name, state._replace(seq=seq))
