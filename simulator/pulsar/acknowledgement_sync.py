"""Acknowledgement-state sync: a cluster tells another which messages a subscription has acknowledged (docs/acknowledgement-sync.md).

Rules: a request carries the whole state over the link, with its latency and loss, never in the topic. Entries are named by
the cluster where they were published and their index in its log, which every copy carries; so the state needs no
translation at the receiver. The receiver's dispatcher filters what the state says is acknowledged; nothing is deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyroaring import BitMap

from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.pulsar.subscription import Subscription
    from simulator.pulsar.topic import Topic

NONE, PERIODIC = "none", "periodic"  # and "once": on command only
REQUEST_BYTES, RANGE_BYTES = 64, 32
"""What a request weighs on a link: names and mark-delete, and two positions for each individually deleted range."""

_DRAWS = 1 << 58  # draws of the link's latency that belong to requests, far from those of entries
_NOTHING = BitMap()
_NOTHING_ACKNOWLEDGED = (-1, _NOTHING, {})


class AcknowledgedState(NamedTuple):
    """What one cluster said: `whole[origin]` are indices in that cluster's log, `parts` the messages of batched entries that
    are *not* acknowledged, by (origin, index). `seq` is the row that applied it."""

    whole: dict[int, BitMap]
    parts: dict[tuple[int, int], int]
    seq: int

    def remaining(self, origin: int, index: int, messages: int) -> int:
        """Bit set of the messages of an entry that this state does not know to be acknowledged."""
        if index in self.whole.get(origin, _NOTHING):
            return 0
        return self.parts.get((origin, index), (1 << messages) - 1)


class AcknowledgementSender:
    """The sending side of one subscription in one cluster."""

    def __init__(self, subscription: Subscription, period_us: int | None) -> None:
        self.subscription = subscription
        self.topic = subscription.topic
        self.runtime = subscription.runtime
        self.period_us = period_us  # None: on command only
        self.sent: dict[str, tuple] = {}  # peer -> the state that it has or that is on its way
        self.last_due_us: dict[str, int] = {}
        self.requests = 0
        self._seen = BitMap()  # own indices whose origins are in `_others` already
        self._others: dict[int, BitMap] = {}

    def start(self) -> None:
        """Begin to send: the subscription was created, or the topic loaded."""
        self.sent = {}
        if self.period_us is not None:
            self.runtime.schedule(self.runtime.now_us + self.period_us, self.topic.rank, self, "tick", self.topic.epoch)

    def _stands(self, epoch: int) -> bool:
        return epoch == self.topic.epoch and self.topic.loaded and self.topic.subscriptions.get(self.subscription.name) is self.subscription

    def tick(self, epoch: int) -> None:
        """The period is over."""
        if self._stands(epoch):
            for peer in self.topic.remote_clusters():
                self.send(peer, NULL)
            self.runtime.schedule(self.runtime.now_us + self.period_us, self.topic.rank, self, "tick", epoch)

    def send(self, peer: str, cause: int) -> bool:
        """Send the state to a peer that can be reached and does not have it; False when nothing was sent."""
        runtime, topic, cursor = self.runtime, self.topic, self.subscription.cursor
        replicator, known = topic.replicators.get(peer), (cursor.mark_delete, cursor.acknowledged(), cursor.partly_acknowledged())
        if replicator is None or not replicator.reachable() or self.sent.get(peer, _NOTHING_ACKNOWLEDGED) == known:
            return False
        size_bytes = REQUEST_BYTES + RANGE_BYTES * cursor.ranges_total
        seq = runtime.note("acknowledgements.sent", cause, topic.cluster.number, peer, topic.number, self.subscription.number,
                           *topic.log.position(cursor.mark_delete), cursor.deleted_count, size_bytes)  # fmt: skip
        self.requests += 1
        due_us = replicator.link.transmit(runtime.now_us, size_bytes, _DRAWS + (max(topic.partition, 0) << 40) + self.requests)
        due_us = self.last_due_us[peer] = max(due_us, self.last_due_us.get(peer, 0))
        self.sent[peer] = known
        runtime.schedule(due_us, topic.rank, self, "arrive", (peer, topic.epoch, replicator.connection, self._state(), known, seq))
        return True

    def arrive(self, argument: tuple) -> None:
        """A request reached the peer, or would have."""
        peer, epoch, connection, state, known, seq = argument
        replicator = self.topic.replicators.get(peer)
        if not self._stands(epoch) or replicator is None or replicator.connection != connection or not replicator.reachable():
            self.sent.pop(peer, None)
            self.runtime.note("acknowledgements.lost", seq, self.topic.cluster.number, peer, self.topic.number, self.subscription.number, seq)
            return
        there = self.runtime.clusters[peer].topics[self.topic.name]
        apply(there, self.subscription, state, known, seq)

    def _state(self) -> AcknowledgedState:
        """The cursor as it stands, by origin."""
        cursor, topic, own = self.subscription.cursor, self.topic, self.topic.cluster.index
        acknowledged = cursor.acknowledged()
        acknowledged.add_range(0, cursor.mark_delete + 1)
        acknowledged.run_optimize()
        if not self._seen <= acknowledged:  # the cursor went back
            self._seen, self._others = BitMap(), {}
        self._note_origins(acknowledged - self._seen)
        self._seen = acknowledged
        parts = {self._name(index): remaining for index, remaining in cursor.partly_acknowledged().items()}
        return AcknowledgedState({own: acknowledged, **{origin: indices.copy() for origin, indices in self._others.items()}}, parts, NULL)

    def _note_origins(self, new: BitMap) -> None:
        """Where the newly acknowledged entries of other clusters were published."""
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

    def _name(self, index: int) -> tuple[int, int]:
        return origin_of(self.topic, index)


def sender_for(subscription: Subscription) -> AcknowledgementSender | None:
    """The sending side, when the scenario asks for one."""
    spec = subscription.runtime.subscriptions.get(subscription.name)
    if spec is None or spec.acknowledgement_sync == NONE:
        return None
    return AcknowledgementSender(subscription, spec.ack_sync_period_us if spec.acknowledgement_sync == PERIODIC else None)


def origin_of(topic: Topic, index: int) -> tuple[int, int]:
    """(origin cluster's ordinal, index in its log) of an entry of messages: the position that it carries."""
    origin = topic.runtime.messages.origin[topic.log.records[index]]
    return origin, index if origin == topic.cluster.index else topic.source_indices[index]


def apply(topic: Topic, sender: Subscription, state: AcknowledgedState, known: tuple, cause: int) -> None:
    """The receiving broker keeps the newest state of each peer; a subscription that is missing is opened at Earliest."""
    peer, name = sender.topic.cluster, sender.name
    subscription = topic.subscriptions.get(name)
    if subscription is None:
        subscription = topic.add_subscription(name, sender.type, topic.log.first_kept - 1, False, "acknowledgement-sync", cause)
    seq = topic.runtime.note("acknowledgements.applied", cause, topic.cluster.number, peer.number, topic.number, subscription.number,
                             *sender.topic.log.position(known[0]), len(known[1]), cause)  # fmt: skip
    subscription.synced[peer.name] = state._replace(seq=seq)
    subscription.synced_at_us = topic.runtime.now_us
