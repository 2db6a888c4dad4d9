"""The filter of acknowledgement-state sync: messages that a peer reports as acked are not dispatched.

Rules: the broker acknowledges such a message itself (docs/acknowledgement-sync.md). The dispatcher checks
each entry before it sends it. The reported states survive crashes. Nothing is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.ack_sync.sync import AcknowledgedState, origin_of
from simulator.protocols.pulsar.events import CODE
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription

_REGISTERED = CODE["message.registered"]


class AcknowledgementFilter:
    """The filter of one subscription.

    `reported` maps a peer to the acknowledged state that it reported. `received_us` is when the last report
    arrived. `filtered` counts messages.
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
        topic, (ledger, entry) = self.topic, self.topic.log.position(index)
        for bit, peer in sorted(acked.items()):
            producer, sequence_id = (
                runtime.messages.producer[record + bit],
                runtime.messages.sequence_id[record + bit],
            )
            where = (producer, sequence_id, ledger, entry, NULL if count == 1 else bit)
            seq = runtime.note(
                "message.filtered",
                cause,
                topic.cluster.number,
                peer,
                topic.number,
                subscription.number,
                *where,
                self.reported[peer].seq,
            )
            seq = runtime.emit(
                (
                    _REGISTERED,
                    runtime.now_us,
                    seq,
                    topic.cluster.number,
                    topic.number,
                    subscription.number,
                    NULL,
                    *where,
                )
            )
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
            known = remaining & ~state.remaining(*origin, count)
            acked.update(dict.fromkeys((bit for bit in range(count) if known >> bit & 1), peer))
            remaining &= ~known
        return acked, remaining
