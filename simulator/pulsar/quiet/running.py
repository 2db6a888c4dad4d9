"""Runs quiet stretches, and leaves the system as the event engine would have: the same rows, the same state, the same events to come.

Rules: a stretch takes whole instants, up to the first event of anything else. What it computes is the event engine's and nothing
more, so where one begins and ends changes no row; the tests run everything with and without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.pulsar.quiet.lane import Lane, lane_of
from simulator.pulsar.quiet.stretch import Stretch
from simulator.pulsar.quiet.wire import Wire
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.pulsar.producer import Producer

MESSAGES_BETWEEN_LOOKS_MAX = 64
"""Messages published one by one between two looks for a stretch, where there never is one."""
MESSAGES_MIN = 16
"""A shorter stretch costs more in columns than event by event."""
ROWS_PER_EVENT = 16
"""About how many rows in columns take the time of an event of the queue."""


class Quiet:
    """When a producer looks for a quiet stretch again. Looking takes the time of a message or two, so who finds none time after time looks less often."""

    __slots__ = ("from_us", "from_message", "misses")

    def __init__(self) -> None:
        self.from_us = self.from_message = self.misses = 0

    def due(self, message: int, now_us: int) -> bool:
        """Whether to look, at the publish of this message of the plan."""
        return message >= self.from_message and now_us >= self.from_us

    def missed(self, message: int, until_us: int) -> None:
        """There is none now, and none before that instant."""
        self.misses += 1
        self.from_message, self.from_us = message + min(self.misses**2 // 16, MESSAGES_BETWEEN_LOOKS_MAX), until_us


def run_quietly(producer: Producer) -> int | None:
    """Run from the publish that is due now to the next event of anything else, if that is far enough away; returns how many queue
    events that stands for, None when nothing was done."""
    runtime, lane = producer.runtime, lane_of(producer)
    if lane is None:
        producer.quiet.missed(producer.scheduled, runtime.now_us)
        return None
    busy_us, timer_us, horizon_us, sent = _survey(lane)
    if producer.intervals is not None or runtime.now_us + (MESSAGES_MIN - 1) * producer.every_us < horizon_us:
        horizon_us = lane.foresee(runtime.now_us, busy_us, timer_us, horizon_us)
    if len(lane.published_us) <= MESSAGES_MIN or lane.published_us[MESSAGES_MIN - 1] >= horizon_us:
        producer.quiet.missed(producer.scheduled, horizon_us)
        return None
    producer.quiet.misses = 0
    wires = [Wire(replicator, peer, sent[replicator.rank], horizon_us) for replicator, peer in lane.replicators]
    count = int(lane.published_us.searchsorted(horizon_us))
    indices, messages = lane.topic.log.length + np.arange(count), runtime.message_count + np.arange(count)
    for wire in wires:
        wire.send(indices, messages, lane.published_us[:count], horizon_us)
    stretch = Stretch(lane, wires, busy_us, horizon_us)
    if runtime.rows_max is not None and runtime.seq + len(stretch.codes) >= runtime.rows_max:
        return None
    _publish(stretch)
    runtime.emit_rows(stretch.codes, stretch.rows() if runtime.writes(len(stretch.codes)) else {})
    _store(stretch)
    events = [event for wire in wires for event in _carry(stretch, wire)]
    if lane.consumer is not None:
        events += _consume(stretch)
    _set_calendar(stretch, events)
    return len(stretch.codes) // ROWS_PER_EVENT


def _survey(lane: Lane) -> tuple[int | None, int | None, int, dict[int, dict[int, int]]]:
    """Until when the consumer is busy, when the acks that wait are sent, the first instant with an event of anything else, and by replicator's
    rank and index the rows that sent what is on the wires."""
    runtime, records = lane.producer.runtime, lane.topic.log.records.values
    horizon_us, consumer = runtime.limit_us + 1, lane.consumer
    own: dict[str, tuple[int, int]] = {}  # (instant, order) of the consumer's events
    replicators = {replicator.rank: replicator for replicator, _peer in lane.replicators}
    sent: dict[int, dict[int, int]] = {rank: {} for rank in replicators}
    for at_us, rank, order, target, method, argument in runtime.events():
        if target is consumer and argument == consumer.epoch and (method == "flush_timer" or (method == "processed" and consumer.current is not None)):
            own[method] = (at_us, order)
        elif method == "arrive" and target is replicators.get(rank) and (argument[0] != target.connection or records[argument[1]] >= 0):
            if argument[0] == target.connection:
                sent[rank][argument[1]] = argument[2]
        elif at_us < horizon_us and (target is not consumer or method != "processed"):
            horizon_us = at_us
    (busy_us, begun), (timer_us, asked) = own.get("processed", (None, 0)), own.get("flush_timer", (None, 0))
    if busy_us == timer_us and begun < asked:
        horizon_us = min(horizon_us, timer_us)  # acks that a person released: the group would go after the work is done
    return busy_us, timer_us, horizon_us, sent


def _publish(stretch: Stretch) -> None:
    lane, count = stretch.lane, len(stretch.published_us)
    producer, runtime = lane.producer, lane.producer.runtime
    runtime.messages.put_many(runtime.message_count, count, producer=producer.number, sequence_id=stretch.sequence_ids, published_us=stretch.published_us,
                              size_bytes=producer.spec.size_bytes, key=stretch.keys, batch=1, deliver_at_us=0, origin=lane.topic.cluster.index,
                              replicate_to=producer.replicate_to)  # fmt: skip
    runtime.message_count += count
    producer.next_sequence_id += count
    producer.scheduled += count
    producer.published += count
    producer.receipted += count


def _store(stretch: Stretch) -> None:
    """The entries in all logs."""
    lane, count = stretch.lane, len(stretch.published_us)
    lane.topic.append_many(stretch.messages, stretch.stored, count * lane.producer.spec.size_bytes, int(stretch.published_us[-1]))
    for wire, seqs in zip(stretch.wires, stretch.arrived, strict=True):
        if len(seqs):
            records = wire.records[: len(seqs)]
            size_bytes = int(lane.producer.runtime.messages.values("size_bytes", records).sum())
            wire.peer.append_many(records, seqs, size_bytes, int(wire.arrivals_us[-1]))


def _carry(stretch: Stretch, wire: Wire) -> list[tuple]:
    """The replicator's side of what was sent and what arrived; returns the arrivals that are still to come."""
    replicator, count, arrived = wire.replicator, len(stretch.published_us), len(wire.arrivals_us)
    for _ in range(wire.before):
        replicator.wire.popleft()
    fresh = max(arrived - wire.before, 0)
    indices, due_us = wire.indices[wire.before + fresh :].tolist(), wire.due_us[wire.before + fresh :].tolist()
    replicator.wire.extend(zip(indices, stretch.published_us[fresh:].tolist(), due_us))
    replicator.last_arrival_us = int(wire.due_us[-1])
    replicator.read_index = replicator.read_to = replicator.read_index + count
    replicator.sent_entries += count
    replicator.sent_bytes += count * stretch.lane.producer.spec.size_bytes
    if arrived:
        replicator.take_receipts(wire.indices[:arrived], wire.arrivals_us, stretch.last_us)
    seqs = wire.seqs[wire.before + fresh :].tolist()
    return [(at_us, replicator.rank, replicator, "arrive", (replicator.connection, index, seq)) for at_us, index, seq in zip(due_us, indices, seqs)]


def _consume(stretch: Stretch) -> list[tuple]:
    """The client's and the dispatcher's side; returns the timers of the acks' group and the cursor's write, if they begin, and the end of the
    work under way."""
    lane, consumer, session = stretch.lane, stretch.lane.consumer, stretch.lane.session
    runtime, name, count = consumer.runtime, session.subscription.name, len(stretch.published_us)
    first = int(stretch.messages[0])
    runtime.acknowledged[name].add_range(first, first + stretch.done)
    runtime.delivered[name].add_range(first, first + stretch.begun)
    session.push_many(count, count * lane.producer.spec.size_bytes)
    session.take_many(stretch.begun)
    session.subscription.dispatcher.sent_many(count)
    consumer.last_seq = max([consumer.last_seq, *stretch.delivered[-1:].tolist(), *stretch.acknowledged[-1:].tolist()])
    events = _acknowledge(stretch) + lane.groups.settle()
    for at, (index, message, about) in enumerate(stretch.handed(stretch.done), stretch.done):
        item = (session, index, message, NULL, 0, int(stretch.stored[at]))
        if at >= stretch.begun:
            consumer.queue.append(item)
        else:
            key = (lane.topic.place, index, NULL)
            consumer.current = consumer.in_hand[key] = (item, int(stretch.delivered[at]), key, about)
            events.append((int(lane.done_us[at]), consumer.rank, consumer, "processed", consumer.epoch))
    return events


def _acknowledge(stretch: Stretch) -> list[tuple]:
    """The acks that wait for their group; returns its timer, if it begins."""
    consumer, place, groups, timed = stretch.lane.consumer, stretch.lane.topic.place, stretch.lane.groups, stretch.lane.consumer.flush_due
    if groups.sent:
        consumer.ack_pending.clear()
    first = max(groups.registered - len(groups.waiting), 0)  # of the stretch's acks, the first that waits
    seqs = stretch.acknowledged[first:].tolist()
    if stretch.current is not None:
        (_session, index, message, _batch_index, _redelivery, _cause), _seq, key, about = stretch.current
        consumer.current = None
        del consumer.in_hand[key]
        consumer.runtime.acknowledged[stretch.lane.session.subscription.name].add(message)
        if first == 0:
            consumer.ack_pending[key] = (index, NULL, seqs.pop(0), message, about)
        first = max(first - 1, 0)
    handed = stretch.handed(first) if seqs else ()
    consumer.ack_pending.update(((place, index, NULL), (index, NULL, seq, message, about)) for seq, (index, message, about) in zip(seqs, handed))
    consumer.flush_due = bool(consumer.ack_pending)
    if not consumer.flush_due or (timed and not groups.sent):
        return []
    return [(groups.next_us, consumer.rank, consumer, "flush_timer", consumer.epoch)]


def _set_calendar(stretch: Stretch, events: list[tuple]) -> None:
    """What was due in the stretch has been; these are still to come, and the next publish."""
    lane, runtime = stretch.lane, stretch.lane.producer.runtime
    producer = lane.producer
    next_us = int(lane.published_us[len(stretch.published_us)])
    runtime.pass_to(stretch.last_us, stretch.horizon_us, [*events, (next_us, producer.rank, producer, "tick", producer.epoch)])
