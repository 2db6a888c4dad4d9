"""The consumers' part of a batched stretch: their state and timers, equal to the event engine's.

Rules: events are scheduled in the order of the rows with which the engine schedules them.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from pyroaring import BitMap

from simulator.protocols.pulsar.fast_path.survey import PROCESSED
from simulator.protocols.pulsar.fast_path.work import ACKNOWLEDGED, HELD, NEGATIVE
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.fast_path.rows import Consumed
    from simulator.protocols.pulsar.fast_path.stretch import Stretch

Scheduled = list[tuple[int, tuple]]
"""(seq of the row that schedules it, the event to schedule: (at_us, rank, handler, argument))."""


def consume(stretch: Stretch, consumed: Consumed) -> list[tuple]:
    """Apply the stretch to clients and dispatcher; returns the events that they schedule."""
    flow = stretch.flow
    scheduled: Scheduled = []
    _take(stretch, consumed)
    _put_aside(stretch, consumed, scheduled)
    for turn, consumer in enumerate(flow.consumers):
        mine = flow.work.places(turn)
        outcome_seqs = [
            seq
            for outcome, seq in zip(stretch.outcomes, consumed.seqs.outcome_seqs.tolist())
            if outcome.turn == turn
        ]
        consumer.last_seq = max(
            consumer.last_seq,
            *(int(seqs[mine].max(initial=NULL)) for seqs in (consumed.delivered, consumed.settled)),
            *outcome_seqs,
        )
        _keep_unacked(consumer, stretch, consumed, turn, scheduled)
        _keep_acks(consumer, stretch, consumed, turn, scheduled)
    return [event for _seq, event in sorted(scheduled, key=lambda one: one[0])] + flow.groups.settle()


def _take(stretch: Stretch, consumed: Consumed) -> None:
    """Apply the messages sent, taken from the receiver queues, and acknowledged."""
    flow, work, count = stretch.flow, stretch.flow.work, len(consumed.causes)
    runtime, name, turns = flow.producer.runtime, flow.subscription.name, len(flow.sessions)
    _add(runtime.delivered[name], work.messages[consumed.seqs.begun])
    _add(runtime.acknowledged[name], work.messages[consumed.acknowledged])
    for _seq, outcome in consumed.outcomes:
        if outcome.kind == ACKNOWLEDGED:
            runtime.acknowledged[name].add(outcome.delivery.received.message)
    flow.dispatcher.sent_many(len(stretch.published_us), work.indices[:count])
    size_bytes, more_bytes = flow.producer.spec.size_bytes, [0] * turns
    taken = np.bincount(stretch.begun % turns, minlength=turns).tolist()
    for place in stretch.redelivered_places.tolist():
        more_bytes[place % turns] += runtime.messages.size_bytes[int(work.messages[place])] - size_bytes
    for turn, session in enumerate(flow.sessions):
        sent = len(range(turn, count, turns))
        session.push_many(sent, sent * size_bytes + more_bytes[turn])
        session.take_many(taken[turn])


def _put_aside(stretch: Stretch, consumed: Consumed, scheduled: Scheduled) -> None:
    """Held and negatively acked messages, in order."""
    flow, work = stretch.flow, stretch.flow.work
    for outcome in stretch.outcomes:
        consumer, key = flow.consumers[outcome.turn], outcome.delivery.key
        if stretch.own[outcome.event].method == PROCESSED:
            consumer.current = None
        if outcome.kind != HELD:
            del consumer.unacked[key]
            consumer.held.serials.pop(key, None)
    for seq, outcome in consumed.outcomes:
        consumer, key = flow.consumers[outcome.turn], outcome.delivery.key
        if outcome.kind == HELD:
            until_us = work.until_us(outcome.turn, outcome.at_us, outcome.kind, outcome.held_us)
            consumer.held.count += 1
            consumer.held.serials[key] = consumer.held.count
            if outcome.held_us != NULL:
                scheduled.append(
                    (
                        seq,
                        (
                            until_us,
                            consumer.rank,
                            consumer.held.hold_over,
                            (consumer.epoch, key, consumer.held.count),
                        ),
                    )
                )
        elif outcome.kind == NEGATIVE:
            consumer.redelivery.negatively_acknowledged.add(outcome.delivery.received.message)
            scheduled.append(
                (
                    seq,
                    (
                        consumer.redelivery.take_single(key.place, outcome.at_us),
                        consumer.rank,
                        consumer.redelivery.delay_over,
                        (consumer.epoch, outcome.delivery, seq),
                    ),
                )
            )


def _keep_unacked(
    consumer: Consumer, stretch: Stretch, consumed: Consumed, turn: int, scheduled: Scheduled
) -> None:
    """Keep the arrivals that are held, being processed, or still in the receiver queue."""
    work, turns = stretch.flow.work, len(stretch.flow.sessions)
    waits = consumed.settled[turn::turns] == NULL
    if work.aside:
        waits |= work.kinds[: len(consumed.causes)][turn::turns] == HELD
    for place in (turn + waits.nonzero()[0] * turns).tolist():
        if consumed.delivered[place] == NULL:
            consumer.queue.append(consumed.received(place))
            continue
        delivery = consumed.delivery(place)
        consumer.unacked[delivery.key] = delivery
        if consumed.settled[place] == NULL:
            consumer.current = delivery
            scheduled.append(
                (delivery.seq, (int(work.done_us[place]), consumer.rank, consumer.processed, consumer.epoch))
            )


def _keep_acks(
    consumer: Consumer, stretch: Stretch, consumed: Consumed, turn: int, scheduled: Scheduled
) -> None:
    """Keep the pending acks of each group, and start its timer if necessary."""
    groups, timed, sent = (
        stretch.flow.groups,
        consumer.acks.timed,
        any(group.turn == turn for group in stretch.flow.groups.sent),
    )
    if sent:
        consumer.acks.waiting.clear()
    left, left_us = groups.left(turn, stretch.horizon_us)
    if len(left):
        acks = consumed.acks(left)
        if stretch.outcomes:
            acks = acks.chosen(acks.seqs.argsort())
        consumer.acks.waiting.add(stretch.flow.topic.place, acks)
        if sent or not timed:
            end_us, seq = consumer.acks.ends_us(int(left_us[0])), int(acks.seqs[0])
            scheduled.append((seq, (end_us, consumer.rank, consumer.acks.time_over, consumer.epoch)))
    consumer.acks.timed = bool(consumer.acks.waiting)


def _add(messages: BitMap, numbers: np.ndarray) -> None:
    """Add numbers without duplicates."""
    if len(numbers):
        first, last = int(numbers.min()), int(numbers.max())
        if last - first == len(numbers) - 1:
            messages.add_range(first, last + 1)
        else:
            # a numpy array itself takes ten times as long
            messages |= BitMap(array("I", numbers.astype(np.uint32).tobytes()))
