"""Slow readers of a shadow lose messages that the source's retention deletes (#18731).

Their cursors are moved past the deleted entries, and each loss is a row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyroaring import BitMap

from simulator.protocols.pulsar.storage import retention

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic

UNREAD, UNACKNOWLEDGED = "unread", "unacknowledged"


def push_cursors(topic: ShadowTopic, first_index: int, cause: int) -> None:
    """Move cursors past the deleted ledgers below `first_index`, where reading continues."""
    for subscription in topic.subscriptions.values():
        if subscription.cursor.mark_delete < first_index - 1:
            _note_lost(topic, subscription, first_index, cause)
    topic.shadow_log.drop_below(first_index)
    topic.reads.stuck = None
    for audience in topic.audiences.values():
        audience.pushed(first_index)
    for subscription in topic.subscriptions.values():
        if subscription.cursor.mark_delete < first_index - 1:
            subscription.border.move(first_index - 1, topic.log.ledgers[0].id)
        subscription.acknowledge_up_to(first_index - 1, "trim", cause)
    topic.wake_dispatchers(cause)


def _note_lost(topic: ShadowTopic, subscription: Subscription, first_index: int, cause: int) -> None:
    runtime, cursor = topic.runtime, subscription.cursor
    acknowledged, settled = runtime.acknowledged[subscription.name], runtime.settled[subscription.name]
    lost = topic.lost.setdefault(subscription.name, BitMap())
    messages = runtime.messages
    for index, message, batch_index in retention.messages_between(topic, cursor.mark_delete + 1, first_index):
        place = max(batch_index, 0)
        remaining = cursor.batch_remaining(index, messages.batch[message - place])
        if not remaining >> place & 1 or message in acknowledged or message in settled:
            continue
        lost.add(message)
        delivered = message in runtime.delivered[subscription.name]
        runtime.note(
            "message.lost",
            cause,
            topic.cluster.number,
            topic.number,
            subscription.number,
            messages.producer[message],
            messages.sequence_id[message],
            *topic.log.position(index),
            batch_index,
            UNACKNOWLEDGED if delivered else UNREAD,
        )


def lost_messages(topic: ShadowTopic, subscription: str) -> int:
    """Number of messages that the source deleted and the subscription's application has not acked so far."""
    lost = topic.lost.get(subscription)
    return 0 if lost is None else len(lost - topic.runtime.acknowledged[subscription])
