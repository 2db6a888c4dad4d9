"""The consumers' side of a batched stretch: their state as after the event engine, and their timers.

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

Asked = list[tuple[int, tuple]]
"""(seq of the row that schedules it, the event to schedule: (at_us, rank, handler, argument))"""


def consume(stretch: Stretch, consumed: Consumed) -> list[tuple]:
    """The clients' and the dispatcher's side; returns the events that they schedule."""
    lane = stretch.lane
    asked: Asked = []
    _take(stretch, consumed)
    _put_aside(stretch, consumed, asked)
    for turn, consumer in enumerate(lane.consumers):
        mine = lane.work.places(turn)
        acted = [seq for act, seq in zip(stretch.acts, consumed.seqs.acted.tolist()) if act.turn == turn]
        consumer.last_seq = max(
            consumer.last_seq,
            *(int(seqs[mine].max(initial=NULL)) for seqs in (consumed.delivered, consumed.settled)),
            *acted,
        )
        _keep_unacked(consumer, stretch, consumed, turn, asked)
        _keep_acks(consumer, stretch, consumed, turn, asked)
    return [event for _seq, event in sorted(asked, key=lambda one: one[0])] + lane.groups.settle()


def _take(stretch: Stretch, consumed: Consumed) -> None:
    """What was sent, taken from the receiver queues, and acknowledged."""
    lane, work, count = stretch.lane, stretch.lane.work, len(consumed.causes)
    runtime, name, turns = lane.producer.runtime, lane.subscription.name, len(lane.sessions)
    _add(runtime.delivered[name], work.messages[consumed.seqs.begun])
    _add(runtime.acknowledged[name], work.messages[consumed.acknowledged])
    for _seq, act in consumed.acts:
        if act.kind == ACKNOWLEDGED:
            runtime.acknowledged[name].add(act.delivery.received.message)
    lane.dispatcher.sent_many(len(stretch.published_us), work.indices[:count])
    size_bytes, more_bytes = lane.producer.spec.size_bytes, [0] * turns
    taken = np.bincount(stretch.begun % turns, minlength=turns).tolist()
    for place in stretch.again.tolist():
        more_bytes[place % turns] += runtime.messages.size_bytes[int(work.messages[place])] - size_bytes
    for turn, session in enumerate(lane.sessions):
        sent = len(range(turn, count, turns))
        session.push_many(sent, sent * size_bytes + more_bytes[turn])
        session.take_many(taken[turn])


def _put_aside(stretch: Stretch, consumed: Consumed, asked: Asked) -> None:
    """Held and negatively acked messages, in order."""
    lane, work = stretch.lane, stretch.lane.work
    for act in stretch.acts:
        consumer, key = lane.consumers[act.turn], act.delivery.key
        if stretch.own[act.event].method == PROCESSED:
            consumer.current = None
        if act.kind != HELD:
            del consumer.unacked[key]
            consumer.held.serials.pop(key, None)
    for seq, act in consumed.acts:
        consumer, key, until_us = (
            lane.consumers[act.turn],
            act.delivery.key,
            work.until_us(act.turn, act.at_us, act.kind, act.held_us),
        )
        if act.kind == HELD:
            consumer.held.count += 1
            consumer.held.serials[key] = consumer.held.count
            if act.held_us != NULL:
                asked.append(
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
        elif act.kind == NEGATIVE:
            consumer.redelivery.negatively_acknowledged.add(act.delivery.received.message)
            asked.append(
                (
                    seq,
                    (
                        until_us,
                        consumer.rank,
                        consumer.redelivery.delay_over,
                        (consumer.epoch, act.delivery, seq),
                    ),
                )
            )


def _keep_unacked(consumer: Consumer, stretch: Stretch, consumed: Consumed, turn: int, asked: Asked) -> None:
    """What came and is held, worked on or still in the receiver queue."""
    work, turns = stretch.lane.work, len(stretch.lane.sessions)
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
            asked.append(
                (delivery.seq, (int(work.done_us[place]), consumer.rank, consumer.processed, consumer.epoch))
            )


def _keep_acks(consumer: Consumer, stretch: Stretch, consumed: Consumed, turn: int, asked: Asked) -> None:
    """The acks that wait for their group, and its timer, if it begins."""
    groups, timed, sent = (
        stretch.lane.groups,
        consumer.acks.timed,
        any(group.turn == turn for group in stretch.lane.groups.sent),
    )
    if sent:
        consumer.acks.waiting.clear()
    left, left_us = groups.left(turn, stretch.horizon_us)
    if len(left):
        acks = consumed.acks(left)
        if stretch.acts:
            acks = acks.chosen(acks.seqs.argsort())
        consumer.acks.waiting.add(stretch.lane.topic.place, acks)
        if sent or not timed:
            end_us, seq = consumer.acks.ends_us(int(left_us[0])), int(acks.seqs[0])
            asked.append((seq, (end_us, consumer.rank, consumer.acks.time_over, consumer.epoch)))
    consumer.acks.timed = bool(consumer.acks.waiting)


def _add(messages: BitMap, numbers: np.ndarray) -> None:
    """Add numbers that are all different."""
    if len(numbers):
        first, last = int(numbers.min()), int(numbers.max())
        if last - first == len(numbers) - 1:
            messages.add_range(first, last + 1)
        else:
            # a numpy array itself takes ten times as long
            messages |= BitMap(array("I", numbers.astype(np.uint32).tobytes()))
