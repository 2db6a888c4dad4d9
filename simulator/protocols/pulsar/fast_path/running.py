"""Runs batched stretches with the same rows, state and pending events as the event engine.

Rules: a stretch consists of whole instants, up to the first event outside it. It computes exactly what the
event engine would, so its bounds change no row. The tests run everything with and without stretches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simulator.protocols.pulsar.fast_path.consuming import consume
from simulator.protocols.pulsar.fast_path.flow import MESSAGES_AT_ONCE, Flow, flow_of
from simulator.protocols.pulsar.fast_path.order import Order, Seqs
from simulator.protocols.pulsar.fast_path.peer_events import ROWS_MAX
from simulator.protocols.pulsar.fast_path.rows import Consumed, rows_of
from simulator.protocols.pulsar.fast_path.stretch import Stretch
from simulator.protocols.pulsar.fast_path.survey import Survey
from simulator.protocols.pulsar.fast_path.wire import Wire

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.producer import Producer

MESSAGES_BETWEEN_LOOKS_MAX = 64
"""Most messages published one by one between two attempts while no stretch is possible."""
MESSAGES_MIN, MESSAGES_MIN_PER_CONSUMER = 8, 8
"""Least messages of a stretch, in total and per consumer: a shorter one is slower than single events."""
ROWS_PER_EVENT = 16
"""Number of rows in columns that take about the time of one event of the queue."""


class StretchAttempts:
    """When a producer next tries a batched stretch.

    An attempt takes the time of a message or two, so a producer tries less often after several failed ones.
    """

    __slots__ = ("from_us", "from_message", "misses")

    def __init__(self) -> None:
        self.from_us = self.from_message = self.misses = 0

    def due(self, message: int, now_us: int) -> bool:
        """Whether to try, at the publish of this message of the plan."""
        return message >= self.from_message and now_us >= self.from_us

    def missed(self, message: int, until_us: int) -> None:
        """Record that no stretch is possible now, nor before that instant."""
        self.misses += 1
        self.from_message, self.from_us = (
            message + min(self.misses**2 // 16, MESSAGES_BETWEEN_LOOKS_MAX),
            until_us,
        )


def run_stretch(producer: Producer) -> int | None:
    """Run from the publish that is due now to the next other event, if that is far enough away.

    Returns how many queue events that replaces, None when no stretch was run.
    """
    runtime, flow = producer.runtime, flow_of(producer)
    if flow is None:
        producer.attempts.missed(producer.scheduled, runtime.now_us)
        return None
    worth = MESSAGES_MIN + MESSAGES_MIN_PER_CONSUMER * len(flow.sessions)
    near_us, far_us = runtime.now_us, runtime.limit_us + 1
    if producer.intervals is None:
        near_us, far_us = (
            runtime.now_us + (worth - 1) * producer.every_us,
            runtime.now_us + MESSAGES_AT_ONCE * producer.every_us,
        )
    survey = Survey(flow, near_us, far_us)
    horizon_us = survey.horizon_us if survey.horizon_us <= near_us else flow.plan(survey)
    if len(flow.published_us) <= worth or flow.published_us[worth - 1] >= horizon_us:
        producer.attempts.missed(producer.scheduled, horizon_us)
        return None
    producer.attempts.misses = 0
    stretch = Stretch(flow, survey, _wires(flow, survey, horizon_us), horizon_us)
    order = Order(stretch)
    if (
        runtime.rows_max is not None
        and runtime.seq + order.row_count + ROWS_MAX * len(stretch.peer_events) >= runtime.rows_max
    ):
        return None
    horizon_us = run_peer_events(order)
    if horizon_us < stretch.horizon_us:
        stretch = stretch.until(horizon_us)
        order = Order(stretch)
    _take_effect(stretch, order)
    return order.row_count // ROWS_PER_EVENT


def run_peer_events(order: Order) -> int:
    """Run the events of peers that are due in a stretch.

    Returns the first instant, at most the horizon of the stretch, of an event that they scheduled.
    """
    stretch = order.stretch
    runtime, horizon_us = stretch.flow.producer.runtime, stretch.horizon_us
    now_us = runtime.now_us
    for one in stretch.peer_events:
        if one.at_us >= horizon_us:
            break
        order.bring(one)
        one.seq, asked = order.seq_of(one), runtime.asked
        runtime.now_us = one.at_us
        one.rows = runtime.aside(one.seq, one.run)
        follows_us = [
            at_us for at_us, _rank, added, *_rest in runtime.events() if added > asked and at_us < horizon_us
        ]
        horizon_us = min([horizon_us, *follows_us])
        assert horizon_us > one.at_us, (
            f"{one.method} of {one.target} asked for something at its own instant, {one.at_us} us"
        )
        order.has_run(one)
    runtime.now_us = now_us
    return horizon_us


def _take_effect(stretch: Stretch, order: Order) -> None:
    """Apply the stretch: rows, state and pending events."""
    runtime, seqs, count = stretch.flow.producer.runtime, order.seqs(), order.row_count
    for wire, sent in zip(stretch.wires, seqs.replicated, strict=True):
        wire.sent_by(sent)
    consumed = Consumed(stretch, seqs) if stretch.flow.sessions else None
    _publish(stretch)
    _store(stretch, seqs, order.last_us)
    # else they are stored already
    runtime.emit_rows(count, rows_of(stretch, seqs, consumed) if runtime.writes(count) else ())
    events = [event for wire in stretch.wires for event in _carry(stretch, wire)]
    if consumed is not None:
        events += consume(stretch, consumed)
    next_us, producer = int(stretch.flow.published_us[len(stretch.published_us)]), stretch.flow.producer
    runtime.pass_to(
        order.last_us,
        stretch.horizon_us,
        [*events, (next_us, producer.rank, producer.tick, producer.epoch)],
    )


def _wires(flow: Flow, survey: Survey, horizon_us: int) -> list[Wire]:
    """The replicators' wires, with the messages sent before `horizon_us`."""
    wires = [
        Wire(replicator, peer, survey.sent[replicator.rank], horizon_us)
        for replicator, peer in flow.replicators
    ]
    count = int(flow.published_us.searchsorted(horizon_us))
    indices, messages = (
        flow.topic.log.length + np.arange(count),
        flow.producer.runtime.message_count + np.arange(count),
    )
    for wire in wires:
        wire.send(indices, messages, flow.published_us[:count], horizon_us)
    return wires


def _publish(stretch: Stretch) -> None:
    flow, count = stretch.flow, len(stretch.published_us)
    producer, runtime = flow.producer, flow.producer.runtime
    runtime.messages.put_many(
        runtime.message_count,
        count,
        producer=producer.number,
        sequence_id=stretch.sequence_ids,
        published_us=stretch.published_us,
        size_bytes=producer.spec.size_bytes,
        key=stretch.keys,
        batch=1,
        deliver_at_us=0,
        origin=flow.topic.cluster.index,
        replicate_to=producer.replicate_to,
    )
    runtime.message_count += count
    producer.next_sequence_id += count
    producer.scheduled += count
    producer.published += count
    producer.receipted += count


def _store(stretch: Stretch, seqs: Seqs, last_us: int) -> None:
    """Append the entries to all logs."""
    flow, count = stretch.flow, len(stretch.published_us)
    flow.topic.append_many(
        stretch.messages, seqs.stored, count * flow.producer.spec.size_bytes, int(stretch.published_us[-1])
    )
    if delay_us := flow.topic.hot.new_entries_check_delay_us:
        for tail in flow.tails:
            tail.read_at(int(stretch.published_us[-1]), delay_us)
    for wire, arrived in zip(stretch.wires, seqs.arrived, strict=True):
        rest = slice(wire.stored, len(arrived))
        wire.store(len(arrived), arrived[rest], int(wire.size_bytes(rest).sum()), last_us)


def _carry(stretch: Stretch, wire: Wire) -> list[tuple]:
    """Apply the sending to the replicator; returns the events of later arrivals."""
    replicator, count = wire.replicator, len(stretch.published_us)
    arrived = max(len(wire.arrivals_us) - wire.before, 0)
    indices, due_us = (
        wire.indices[wire.before + arrived :].tolist(),
        wire.due_us[wire.before + arrived :].tolist(),
    )
    replicator.wire.extend(zip(indices, stretch.published_us[arrived:].tolist(), due_us))
    replicator.last_arrival_us = int(wire.due_us[-1])
    replicator.read_index = replicator.read_to = replicator.read_index + count
    replicator.sent_entries += count
    replicator.sent_bytes += count * stretch.flow.producer.spec.size_bytes
    seqs = wire.seqs[wire.before + arrived :].tolist()
    connection = replicator.connection
    return [
        (at_us, replicator.rank, replicator.arrive, (connection, index, seq))
        for at_us, index, seq in zip(due_us, indices, seqs)
    ]
