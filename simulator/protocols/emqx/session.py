"""A session: one MQTT client at the broker, with the streams that it reads.

Rules: it reads private and borrowed streams in one loop. Every stream with messages provides one chunk, and
the next only when that one is finished, so neither kind starves the other. At most `max_inflight` messages
wait for an acknowledgement, in order. A session that ends cleanly reports its progress to its borrowers'
leaders; a killed one sends nothing. Its chunks are kept in both cases: a client that reconnects gets its
unacknowledged messages again, whatever the leader has done since.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simulator.kernel.clock import CONTINUES_RANK
from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key
from simulator.protocols.emqx.borrower import Agent
from simulator.protocols.emqx.cluster_state import ClusterState, in_turn, next_generations
from simulator.protocols.emqx.protocol import END, BorrowerId, Progress
from simulator.protocols.emqx.scenario.sections import Subscription, parse_subscription
from simulator.protocols.emqx.storage import Reading
from simulator.trace.registry import NULL, About

if TYPE_CHECKING:
    from simulator.protocols.emqx.scenario.model import SessionSpec


# --- what a session keeps of its streams while its client is away, and sends again when it returns
#
# Rules: a session has one record for each subscription and stream (`#srs{}` of emqx_persistent_session_ds).
# A new lease of a stream replaces the record, so the chunk of the lease before is not sent again by the
# session (`add_stream_to_session` of emqx_persistent_session_ds_shared_subs). Chunks are sent again in the
# order in which they were fetched (`find_replay_streams` of emqx_persistent_session_ds_stream_scheduler).
# Private subscriptions with QoS 0 do not read what was published while the client was away.


def note_record(session: Session, reading: Reading) -> None:
    """Make a new reading the session's record of its stream, in place of the one before."""
    key = reading.subscription, reading.stream
    before = session.readings.get(session.records.get(key, -1))
    if before is not None:
        before.replaced = True
    session.records[key] = reading.number


def forget_record(session: Session, reading: Reading) -> None:
    """Forget the record of a reading that the session removes."""
    key = reading.subscription, reading.stream
    if session.records.get(key) == reading.number:
        del session.records[key]


def drop_replaced(session: Session) -> None:
    """Remove the readings whose records were replaced: with the connection their chunks are gone."""
    for reading in [one for one in session.readings.values() if one.replaced]:
        session.remove(reading)


def resume(session: Session, cause: int) -> None:
    """Send every chunk in flight again, and continue to read the private streams."""
    for reading in sorted(session.readings.values(), key=lambda one: one.chunk_seq):
        _send_again(session, reading, cause)
    for reading in list(session.readings.values()):
        if reading.borrower is not None:
            reading.released = reading.forgotten = True  # a borrowed stream must be granted again
            session.let_go(reading)
        elif not reading.busy:
            if session.direct and session.spec.durable:
                reading.skip_to(session.system.storage.streams[reading.stream])
            session.wake(reading.number)


def _send_again(session: Session, reading: Reading, cause: int) -> None:
    """Put the unacknowledged messages of a chunk into the queue again."""
    again = sorted(reading.unacked)
    reading.unacked = {}
    reading.unsent = reading.heavy = len(again)
    if again:
        session.note_chunk(reading, cause, again[0], again[-1] + 1, "again")
        session.outgoing.extend((reading, offset) for offset in again)


def forget(session: Session) -> None:
    """Delete a session with its subscriptions and all messages that its client has not acknowledged.

    A group's position in a stream is kept by its leader. For its next session the client subscribes again.
    """
    for subscription in session.subscriptions.values():
        if subscription.group is None:
            session.system.storage.remove_route(subscription.filter, session.direct)
    session.subscriptions.clear()
    session.readings.clear()
    session.lent.clear()
    session.records.clear()
    session.begun = False


def is_direct(system: ClusterState, spec: SessionSpec) -> bool:
    """Whether private subscriptions use the broker's routes, not storage (`desired_subscription_mode`)."""
    return not spec.durable or (spec.qos == 0 and system.option("qos0Subscriptions") == "direct")


SESSION_RANK = 4
STEPS_AT_ONCE = 1_000
"""Fetches, deliveries and acknowledgements of one event, which take some milliseconds."""
OFFLINE, ONLINE = "offline", "online"


class Session:
    """A session's subscriptions, readings and messages in flight.

    `readings` are by number; `lent` has the borrowed ones by (borrower, stream), `records` the latest of each
    (subscription, stream). `ready` are readings that may have messages to read. `outgoing` is (reading,
    offset); `in_flight` also has the row of the delivery.
    """

    __slots__ = (
        "system",
        "spec",
        "direct",
        "name",
        "node",
        "state",
        "subscriptions",
        "subscription_count",
        "agent",
        "readings",
        "lent",
        "records",
        "reading_count",
        "ready",
        "outgoing",
        "in_flight",
        "processing",
        "busy_until_us",
        "acks_paused",
        "due",
        "life",
        "processed",
        "index",
        "borrower_states",
        "begun",
    )

    def __init__(self, system: ClusterState, spec: SessionSpec) -> None:
        self.system, self.spec, self.name, self.node = system, spec, spec.name, spec.node
        self.direct = is_direct(system, spec)
        self.state = OFFLINE
        self.subscriptions: dict[int, Subscription] = {}
        self.subscription_count = 0
        self.begun = False
        self.agent = Agent(self)
        self.borrower_states: dict[BorrowerId, str] = {}  # the state of each borrower as last written
        self.readings: dict[int, Reading] = {}
        self.lent: dict[tuple[BorrowerId, str], dict[int, Reading]] = {}
        self.records: dict[tuple[int, str], int] = {}
        self.reading_count = 0
        self.ready: deque[int] = deque()
        self.outgoing: deque[tuple[Reading, int]] = deque()
        self.in_flight: deque[tuple[Reading, int, int]] = deque()
        self.processing = Sampler(spec.processing, stream_key(system.seed, f"processing/{spec.name}"))
        self.busy_until_us: int | None = None
        self.acks_paused = spec.paused
        self.due = False
        self.life = 0
        self.processed = 0
        self.index = system.name(spec.name)

    @property
    def online(self) -> bool:
        return self.state == ONLINE

    # --- connecting and disconnecting

    def start(self, _argument: None = None) -> None:
        """Connect the client as planned, with its first subscriptions."""
        if self.online:
            return
        if self.system.nodes[self.node].up:
            self.connect(NULL, self.node)
        elif self.spec.reconnect_us is not None:
            self._retry()

    def connect(self, cause: int, node: str, clean: bool = False) -> None:
        """Connect the client.

        An existing session continues from its position unless a clean start is requested. A new one
        subscribes as planned.
        """
        if self.online:
            # EMQX's takeover_kick ends the old connection's process without a message to leaders
            self.kill(cause, "taken-over")
        if clean:
            forget(self)
        known = bool(self.subscriptions)
        self.node, self.state = node, ONLINE
        self.life += 1
        seq = self.system.rows.session_connected(
            cause, cluster=node, client=self.name, reason="resumed" if known else "new"
        )
        resume(self, seq)
        for number, subscription in self.subscriptions.items():
            if subscription.group is not None:
                self.agent.borrow(number, subscription, seq)
        if not self.begun:
            self.begun = True
            for text in self.spec.subscriptions:
                self.subscribe(text, seq)
        self.be_due()

    def disconnect(self, cause: int, why: str = "closed") -> None:
        """End the connection and the session's process cleanly: its progress is reported to leaders."""
        seq = self._end(cause, why)
        self.agent.disconnect(
            {borrower: self._progress_of(borrower, True) for borrower in list(self.agent.borrowers)}, seq
        )

    def kill(self, cause: int, why: str) -> None:
        """Kill the session's process: no leader is notified."""
        seq = self._end(cause, why)
        self.agent.kill(seq)

    def _end(self, cause: int, why: str) -> int:
        self.state = OFFLINE
        self.life += 1
        # fetched and not yet sent: QoS 1 or 2 is redelivered with its chunk, QoS 0 is lost
        for reading, offset in self.outgoing:
            if self._quality(reading, offset) > 0:
                reading.unacked[offset] = None
            reading.unsent = reading.heavy = 0
        drop_replaced(self)
        self.outgoing.clear()
        self.in_flight.clear()
        self.ready.clear()
        self.busy_until_us = None
        seq = self.system.rows.session_disconnected(cause, cluster=self.node, client=self.name, reason=why)
        if not self.spec.durable and why != "taken-over":  # kept in memory only
            forget(self)
        if self.spec.reconnect_us is not None and why not in ("closed", "taken-over"):
            self._retry()
        return seq

    def _retry(self) -> None:
        assert self.spec.reconnect_us is not None, f"{self.name} does not reconnect"
        self.system.schedule(
            self.system.now_us + self.spec.reconnect_us, SESSION_RANK, self.reconnect, self.life
        )

    def reconnect(self, life: int) -> None:
        """Connect again, at the same node or the first that is up."""
        if self.life != life or self.online:
            return
        node = (
            self.node
            if self.system.nodes[self.node].up
            else next((name for name in self.system.node_names if self.system.nodes[name].up), None)
        )
        if node is None:
            self._retry()
        else:
            self.connect(NULL, node)

    def stop(self, _argument: None = None) -> None:
        """Disconnect the client as planned."""
        if self.online:
            self.disconnect(NULL)

    # --- subscriptions

    def subscribe(self, text: str, cause: int) -> None:
        """Subscribe the client; an existing subscription does not change."""
        subscription = parse_subscription(text)
        if subscription in self.subscriptions.values():
            return  # MQTT accepts it; it is the same subscription
        self.system.register(subscription, self.direct, cause)
        number = self.subscription_count
        self.subscription_count += 1
        self.subscriptions[number] = subscription
        seq = self._note_subscription(False, cause, number, subscription)
        if subscription.group is not None:
            self.agent.borrow(number, subscription, seq)
        else:
            storage = self.system.storage
            for name, _rank in storage.listed(subscription.filter, self.system.now_us, self.direct):
                self.read(number, None, None, name, storage.streams[name].length, seq)

    def unsubscribe(self, number: int, cause: int) -> None:
        """Unsubscribe the client; its borrower stays until all is acknowledged or it times out."""
        subscription = self.subscriptions.pop(number)
        seq = self._note_subscription(True, cause, number, subscription)
        for reading in list(self.readings.values()):
            if reading.subscription == number:
                reading.released = True
                if subscription.group is None:
                    reading.forgotten = True
                    self.let_go(reading)
        if subscription.group is None:
            self.system.storage.remove_route(subscription.filter, self.direct)
        else:
            self.agent.unsubscribe(number, seq)

    def _note_subscription(self, ends: bool, cause: int, number: int, subscription: Subscription) -> int:
        rows = self.system.rows
        write = rows.session_unsubscribed if ends else rows.session_subscribed
        return write(
            cause,
            cluster=self.node,
            subscription=self.system.group_name(subscription),
            client=self.name,
            count=number,
            detail=subscription.text,
        )

    # --- streams

    def read(
        self,
        subscription: int,
        borrower: BorrowerId | None,
        group: str | None,
        stream: str,
        position: int,
        cause: int,
    ) -> Reading:
        """Begin to read a stream."""
        number = self.reading_count
        self.reading_count += 1
        reading = self.readings[number] = Reading(
            number, subscription, borrower, group, stream, position, cause
        )
        note_record(self, reading)
        if borrower is not None:
            self.lent.setdefault((borrower, stream), {})[number] = reading
        self.wake(number)
        return reading

    def wake(self, number: int) -> None:
        """Schedule a stream that may have new messages."""
        if self.online and number in self.readings:
            self.ready.append(number)
            self.be_due()

    def be_due(self) -> None:
        """Schedule the session's work, once for this instant."""
        if not self.due:
            self.due = True
            self.system.schedule(self.system.now_us, SESSION_RANK, self.proceed)

    def proceed(self, _argument: None = None) -> None:
        """Report progress due after lease changes, then read, send and handle acknowledgements."""
        self.due = False
        if not self.online:
            return
        self.agent.report_due()
        self.take_steps(self.life)

    def take_steps(self, life: int) -> None:
        """Do a portion of the work; the rest follows at this instant, before anything else."""
        if life != self.life:
            return
        for _step in range(STEPS_AT_ONCE):
            if not (self.online and (self._take_in() or self._send() or self._acknowledge())):
                return
        self.system.schedule(self.system.now_us, CONTINUES_RANK, self.take_steps, life)

    def _take_in(self) -> bool:
        """Fetch from the next stream that may have messages, however slow the client is."""
        if not self.ready:
            return False
        self._fetch(self.readings.get(self.ready.popleft()))
        return True

    def _send(self) -> bool:
        """Hand the next message to the client."""
        if not self.outgoing or len(self.in_flight) >= self.system.max_inflight:
            return False
        reading, offset = self.outgoing.popleft()
        reading.unsent -= 1
        stream = self.system.storage.streams[reading.stream]
        stored_seq = stream.stored_seqs[offset]
        if reading.group is not None:
            self.system.figures.deliver(reading.group, self.name, reading.stream, offset)
        dup = offset < reading.sent  # update_dup and process_batch of emqx_persistent_session_ds
        reading.sent = max(reading.sent, offset + 1)
        seq = self.system.rows.message_delivered(
            reading.chunk_seq, about=self._about(reading, offset), count=int(dup), evidence_seq=stored_seq
        )
        if self._quality(reading, offset) > 0:
            reading.heavy -= 1
            reading.unacked[offset] = None
            self.in_flight.append((reading, offset, seq))
        elif not reading.busy:
            self._next_turn(reading)
        return True

    def _quality(self, reading: Reading, offset: int) -> int:
        """The QoS of a delivery: the lesser of the publisher's and the subscriber's."""
        return min(self.spec.qos, self.system.quality(reading, offset))

    def _fetch(self, reading: Reading | None) -> None:
        """Fetch the next batch of a stream, or wait for one."""
        if reading is None or reading.busy or reading.released or reading.at_end:
            return
        stream = self.system.storage.streams[reading.stream]
        if not in_turn(reading, self.readings, self.system.storage):
            return
        count = min(stream.length - reading.end, self.system.batch_size)
        if count > 0:
            reading.begin, reading.end = reading.end, reading.end + count
            reading.unsent = count
            self.note_chunk(
                reading,
                max(reading.since_seq, stream.stored_seqs[reading.end - 1]),
                reading.begin,
                reading.end,
                "fetched",
            )
            chunk = [(reading, offset) for offset in range(reading.begin, reading.end)]
            reading.heavy = sum(self._quality(*one) > 0 for one in chunk)
            self.outgoing.extend(chunk)
            if not reading.heavy:
                self._chunk_done(reading, reading.chunk_seq)
        elif stream.closed:
            reading.begin = reading.end = END
            self._report(reading, reading.since_seq)
            for number in next_generations(reading, self.readings, self.system.storage):
                self.wake(number)
        else:
            stream.readers[self.name, reading.number] = None

    def note_chunk(self, reading: Reading, cause: int, first: int, last: int, why: str) -> None:
        borrower = NULL if reading.borrower is None else reading.borrower[2]
        reading.chunk_seq = self.system.rows.chunk_fetched(
            cause,
            cluster=self.node,
            subscription=reading.group,
            client=self.name,
            topic=reading.stream,
            count=borrower,
            entry=first,
            to_entry=last,
            reason=why,
        )

    def _acknowledge(self) -> bool:
        """Start processing the oldest message that the client has."""
        if not self.in_flight or self.acks_paused or self.busy_until_us is not None:
            return False
        constant_us = self.processing.constant
        span_us = self.processing.at(self.processed) if constant_us is None else constant_us
        self.processed += 1
        if span_us == 0:
            self._acknowledged()
            return True
        self.busy_until_us = self.system.now_us + span_us
        self.system.schedule(self.busy_until_us, SESSION_RANK, self.processed_one, self.life)
        return False

    def processed_one(self, life: int) -> None:
        """Finish the client's processing of a message."""
        if life != self.life:
            return
        self.busy_until_us = None
        if not self.acks_paused:
            self._acknowledged()
        self.proceed()

    def _acknowledged(self) -> None:
        reading, offset, delivered_seq = self.in_flight.popleft()
        del reading.unacked[offset]
        if reading.group is not None:
            self.system.figures.acknowledge(reading.group, reading.stream, offset)
        seq = self.system.rows.message_acknowledged(
            delivered_seq, about=self._about(reading, offset), reason=self.system.individual
        )
        if not reading.blocked:
            self._chunk_done(reading, seq)

    def _chunk_done(self, reading: Reading, cause: int) -> None:
        reading.finish()
        self._report(reading, cause)
        if not reading.busy:
            self._next_turn(reading)

    def _next_turn(self, reading: Reading) -> None:
        """Continue after a chunk that is fully sent and acknowledged."""
        self.let_go(reading)
        if not reading.released:
            self.ready.append(reading.number)

    def let_go(self, reading: Reading) -> None:
        """Remove a reading that is no longer needed, once none of its messages is in flight."""
        if reading.forgotten and not reading.busy:
            self.remove(reading)

    def remove(self, reading: Reading) -> None:
        """Remove a reading with the session's record of its stream."""
        if self.readings.pop(reading.number, None) is None:
            return
        forget_record(self, reading)
        if reading.borrower is not None:
            beside = self.lent[reading.borrower, reading.stream]
            del beside[reading.number]
            if not beside:
                del self.lent[reading.borrower, reading.stream]

    # --- reporting

    def _report(self, reading: Reading, cause: int) -> None:
        """Report the acknowledged position of a borrowed stream to its borrower, if it still exists."""
        if reading.borrower is None:
            return
        position = NULL if reading.position == END else reading.position
        seq = self.system.rows.progress_told(
            cause,
            cluster=self.node,
            subscription=reading.group,
            client=self.name,
            topic=reading.stream,
            count=reading.borrower[2],
            entry=position,
        )
        if not reading.forgotten:
            self.agent.report(
                reading.borrower, [Progress(reading.stream, reading.position, reading.released)], seq
            )

    def acknowledged_progress(self) -> dict[BorrowerId, list[Progress]]:
        """The progress of every fully acknowledged stream, by borrower."""
        found: dict[BorrowerId, list[Progress]] = {}
        for one in self.readings.values():
            if one.borrower is not None and not one.blocked and not one.forgotten:
                found.setdefault(one.borrower, []).append(Progress(one.stream, one.position, one.released))
        return found

    def _progress_of(self, borrower: BorrowerId, finished: bool) -> list[Progress]:
        return [
            Progress(one.stream, one.position, finished)
            for one in self.readings.values()
            if one.borrower == borrower and not one.forgotten
        ]

    def release(self, borrower: BorrowerId, stream: str | None = None, forget: bool = False) -> None:
        """Stop reading one stream of a borrower, or all its streams."""
        among = self.readings if stream is None else self.lent.get((borrower, stream), {})
        for reading in list(among.values()):
            if reading.borrower == borrower:
                reading.released = True
                reading.forgotten = reading.forgotten or forget
                self.let_go(reading)

    def _about(self, reading: Reading, offset: int) -> About:
        system = self.system
        stream = system.storage.streams[reading.stream]
        message = stream.messages[offset]
        group = NULL if reading.group is None else system.name(reading.group)
        return (
            system.name(self.node),
            system.name(reading.stream),
            group,
            self.index,
            system.messages.publisher[message],
            system.messages.number[message],
            stream.rank.generation,
            offset,
            NULL,
        )
