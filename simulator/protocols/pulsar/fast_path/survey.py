"""The pending events of a flow: its own consumers' and replicators', and the next other event.

Rules: an event of a consumer is the flow's own when `work` and `groups` handle it. An obsolete one that the
consumer ignores is skipped. Every other one ends a stretch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.protocols.pulsar.broker.dispatch_shared import SharedDispatcher
from simulator.protocols.pulsar.client.ack_group import AckGroup
from simulator.protocols.pulsar.client.consumer import Consumer
from simulator.protocols.pulsar.client.held_messages import HeldMessages
from simulator.protocols.pulsar.client.redelivery import RedeliveryRequests
from simulator.protocols.pulsar.fast_path.peer_events import PeerEvents
from simulator.protocols.pulsar.replication.replicator import Replicator
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.message_keys import MessageKey
    from simulator.protocols.pulsar.fast_path.flow import Flow

PROCESSED, ACKS_SENT, ARRIVE = Consumer.processed, AckGroup.time_over, Replicator.arrive
HOLD_OVER, REDELIVERY_REQUESTED = HeldMessages.hold_over, RedeliveryRequests.delay_over
_OWN = (PROCESSED, ACKS_SENT, HOLD_OVER, REDELIVERY_REQUESTED)  # a consumer's rank is its own
_LASTING = frozenset((PROCESSED, ACKS_SENT))  # the flow must know them, however late


class Own(NamedTuple):
    """A pending event of a consumer of the flow; `turn` is the consumer's place in the flow."""

    at_us: int
    rank: int
    order: int
    turn: int
    method: Callable[..., int | None]
    argument: Any


class Survey:
    """The pending events of a flow before `horizon_us`, the first instant of any other event.

    In order, `own` are the events of the flow's consumers, and `peer_events` those of its peers. By consumer,
    `busy_us` is until when it is busy (None: idle), and `timer_us` when its pending acks are sent (None:
    there are none). `sent` has, by replicator's rank and index, the rows that sent the entries on the wires.
    """

    __slots__ = ("horizon_us", "own", "peer_events", "busy_us", "timer_us", "sent")

    def __init__(self, flow: Flow, near_us: int, far_us: int) -> None:
        """Collect the events before `far_us`, or only until an event of another kind due by `near_us`."""
        runtime, records = flow.producer.runtime, flow.topic.log.records.values
        turns = {consumer.rank: turn for turn, consumer in enumerate(flow.consumers)}
        self.horizon_us = horizon_us = min(far_us, runtime.limit_us + 1)
        self.sent: dict[int, dict[int, int]] = {one.rank: {} for one, _peer in flow.replicators}
        wires = {one.rank: (one, one.connection, self.sent[one.rank]) for one, _peer in flow.replicators}
        self.busy_us: list[int | None] = [None] * len(turns)
        self.timer_us: list[int | None] = [None] * len(turns)
        own: list[Own] = []
        peer_events = PeerEvents(flow)
        for event in runtime.events():
            at_us, rank, order, target, method, argument = event
            if at_us >= horizon_us and method not in _LASTING:
                continue
            if method is ARRIVE and rank in wires and wires[rank][0] is target:
                connection, index, seq = argument
                _replicator, present, sent = wires[rank]
                if connection != present:
                    continue
                sent[index] = seq
                if records[index] >= 0 or peer_events.take_marker(event):
                    continue
            elif peer_events.take_tick(event):
                continue
            if rank in turns and method in _OWN:
                turn = turns[rank]
                owned = _owned(flow, turn, method, argument)
                if owned:
                    own.append(Own(at_us, rank, order, turn, method, argument))
                if owned is not None:
                    continue
            if at_us < horizon_us:
                self.horizon_us = horizon_us = at_us
                if at_us <= near_us:
                    break
        self.peer_events, self.horizon_us = peer_events.before(self.horizon_us)
        self._sort(own)

    def _sort(self, own: list[Own]) -> None:
        for event in own:
            if event.method == PROCESSED:
                self.busy_us[event.turn] = event.at_us
            elif event.method == ACKS_SENT:
                self.timer_us[event.turn] = event.at_us
        own = sorted(event for event in own if event.at_us < self.horizon_us)
        back: dict[int, int] = {}  # redelivered once: a second request is ignored
        for event in own:
            if (
                event.method == REDELIVERY_REQUESTED
                and back.setdefault(event.argument[1].key.index, event.order) != event.order
            ):
                self.horizon_us = event.at_us
                break
        self.own = [event for event in own if event.at_us < self.horizon_us]


def _owned(flow: Flow, turn: int, method: Callable[..., int | None], argument: Any) -> bool | None:
    """Whether a consumer's event is the flow's own: True, or False when the consumer ignores it.

    None when the event has effects that a flow does not handle.
    """
    consumer = flow.consumers[turn]
    if method == PROCESSED:
        return argument == consumer.epoch and consumer.current is not None
    if method == ACKS_SENT:
        return True if argument == consumer.epoch and consumer.acks.timed else None
    epoch, what, serial = argument
    if epoch != consumer.epoch or (method == HOLD_OVER and consumer.held.serials.get(what) != serial):
        return False
    key = what if method == HOLD_OVER else what.key
    known = key.place == flow.topic.place and key.batch_index == NULL
    if not known:
        return None
    return (_held_only(consumer, key) if method == HOLD_OVER else _redeliverable(flow, turn, key)) or None


def _held_only(consumer: Consumer, key: MessageKey) -> bool:
    """Whether the application has the message, and is not processing it again."""
    return key in consumer.unacked and (consumer.current is None or consumer.current.key != key)


def _redeliverable(flow: Flow, turn: int, key: MessageKey) -> bool:
    """Whether the dispatcher awaits it from this consumer only."""
    dispatcher, index = flow.dispatcher, key.index
    awaited = (
        isinstance(dispatcher, SharedDispatcher) and dispatcher.pending.get(index) is flow.sessions[turn]
    )
    return (
        awaited
        and not flow.subscription.cursor.is_acknowledged(index)
        and not any(key in one.unacked or key in one.acks.waiting for one in flow.consumers)
    )
