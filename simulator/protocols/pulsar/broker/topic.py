"""A topic (or one partition of it) in one cluster: its log and everything that reads or writes it.

Rules: internal positions are indices (ordinals in the log). `ledger:entry` is computed at the interface. An
append notifies the replicators, then the subscriptions. A load opens a new ledger. An unload that is not
clean loses the state that was not persisted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyroaring import BitMap

from simulator.log.ledgers import SharedColumn, TopicLog
from simulator.protocols.pulsar.ack_sync import NONE
from simulator.protocols.pulsar.broker import session
from simulator.protocols.pulsar.broker.subscription import Subscription, note_owed
from simulator.protocols.pulsar.events import AboutMarker, TopicNames
from simulator.protocols.pulsar.markers.entries import Marker
from simulator.protocols.pulsar.ranks import TOPIC, rank
from simulator.protocols.pulsar.replication.replicator import Replicator
from simulator.protocols.pulsar.shadow.reads import Reads
from simulator.protocols.pulsar.shadow.source import ShadowSource
from simulator.protocols.pulsar.snapshots.controller import SnapshotController
from simulator.protocols.pulsar.storage import retention
from simulator.protocols.pulsar.storage.ledger_rollover import Appends, LedgerRollover
from simulator.protocols.pulsar.storage.retention import RetentionTimers
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broker.cluster import Cluster


_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class HotSettings:
    """Settings in force for one topic in one cluster; 0 means off where it does in Pulsar.

    The broker settings that the data plane reads for every message, looked up once per topic.

    Rules: looked up again when a topic is loaded and when a setting changes. Units are the engine's
    (microseconds), not Pulsar's.
    """

    ttl_us: int
    deduplicates: bool
    replicator_queue_entries: int
    turn_entries: int
    unacked_per_consumer: int
    unacked_per_subscription: int
    ahead_per_consumer: int
    ahead_per_subscription: int
    delays: bool
    persist_interval_us: int
    new_entries_check_delay_us: int
    checks_late: bool

    @classmethod
    def of(cls, topic: Topic) -> HotSettings:
        """Read a topic's settings."""

        def setting(name: str) -> Any:
            return topic.cluster.setting(name, topic)

        rate = setting("managedLedgerDefaultMarkDeleteRateLimit")
        check_delay_us = setting("managedLedgerNewEntriesCheckDelayInMillis") * 1000
        late_us = topic.runtime.option("newEntriesCheckLateness").nominal_us
        return cls(
            ttl_us=setting("ttlDurationDefaultInSeconds") * _SECOND_US,
            deduplicates=setting("brokerDeduplicationEnabled"),
            replicator_queue_entries=setting("replicationProducerQueueSize"),
            turn_entries=setting("dispatcherMaxRoundRobinBatchSize"),
            unacked_per_consumer=setting("maxUnackedMessagesPerConsumer"),
            unacked_per_subscription=setting("maxUnackedMessagesPerSubscription"),
            ahead_per_consumer=setting("keySharedLookAheadMsgInReplayThresholdPerConsumer"),
            ahead_per_subscription=setting("keySharedLookAheadMsgInReplayThresholdPerSubscription"),
            delays=setting("delayedDeliveryEnabled"),
            persist_interval_us=_SECOND_US // rate if rate else 0,
            new_entries_check_delay_us=check_delay_us,
            checks_late=check_delay_us > 0 and late_us > 0,
        )


class LaterLoad:
    """The loads of one topic that are scheduled; their argument is (its epoch, the row that caused them).

    Loads of a topic that happen later: after a crash's downtime, or when a client's lookup began one.
    """

    __slots__ = ("_topic",)

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def load(self, argument: tuple[int, int]) -> None:
        """Another broker takes the topic after a crash; no effect when it was loaded meanwhile."""
        topic, (epoch, cause) = self._topic, argument
        present = topic.cluster.topics.get(topic.name) is topic
        if epoch == topic.epoch and not topic.loaded and topic.cluster.up and present:
            topic.load(cause)

    def load_for_clients(self, argument: tuple[int, int]) -> None:
        """The load that a client's lookup began is over; clients that waited for it are connected."""
        self.load(argument)
        topic = self._topic
        if topic.loaded and topic.epoch == argument[0] + 1:
            for name in sorted(topic.runtime.consumers):
                topic.runtime.consumers[name].topic_loaded(topic.cluster.name, topic.base, topic.loaded_seq)


class Topic:
    """One topic partition in one cluster. `base` is the topic's name without partition.

    For a shadow topic, `source` is the topic whose ledgers it reads. `refuses` is the reason why it rejects
    normal sends, if it does.
    """

    __slots__ = (
        "_present",
        "_present_to",
        "active_by_ring",
        "appends",
        "audiences",
        "base",
        "batched",
        "blocks_producers",
        "broker",
        "cluster",
        "controller",
        "counts",
        "data_timestamp_ms",
        "epoch",
        "hot",
        "keeps_sources",
        "later",
        "loaded",
        "loaded_length",
        "loaded_seq",
        "loaded_us",
        "log",
        "marker_bytes",
        "marker_written",
        "migrated_to",
        "migrating",
        "name",
        "number",
        "owed_from",
        "partition",
        "place",
        "policies",
        "producers_seen",
        "rank",
        "reads",
        "refused_sends",
        "refuses",
        "replicators",
        "rollover",
        "runtime",
        "shadows",
        "source",
        "source_indices",
        "stored_seqs",
        "subscriptions",
        "terminated",
        "timers",
    )

    def __init__(self, cluster: Cluster, base: str, name: str, partition: int) -> None:
        runtime = cluster.runtime
        self.runtime = runtime
        self.cluster = cluster
        self.base = base
        self.name = name
        self.partition = partition
        self.source: Topic | None = None
        self.refuses: str | None = None
        # blocks_producers: whether a backlog quota in force refuses producers once it is exceeded
        self.terminated = self.blocks_producers = False
        self.marker_written = (-1, -1)  # see `storage.messages`
        self.place = (cluster.name, name)
        self.number = runtime.name(name)
        ordinal = sorted(runtime.scenario.topics).index(base)
        self.rank = rank(TOPIC, ordinal, cluster.index * 1024 + partition + 1)
        self.policies = dict(runtime.scenario.topics[base].settings)
        self.hot = HotSettings.of(self)
        self.log = TopicLog()
        self.stored_seqs = SharedColumn()
        # index in its origin's log that each replicated entry carries, -1: published here
        self.source_indices = SharedColumn()
        migrates = runtime.scenario.topics[base].tenant in runtime.scenario.tenants
        self.keeps_sources = migrates or any(
            spec.acknowledgement_sync != NONE
            for spec in runtime.scenario.subscriptions.values()
            if spec.topic == base
        )
        self.subscriptions: dict[str, Subscription] = {}
        self.replicators: dict[str, Replicator] = {}
        self.controller: SnapshotController | None = None
        self.data_timestamp_ms, self.loaded = 0, False
        self.audiences: dict[str, Audience] = {}
        # the broker that serves it, in a cluster that declares brokers
        self.broker: Broker | None = None
        self.migrating = False  # marked migrated (PIP-188): its producers are about to be redirected
        self.migrated_to: str | None = None  # the cluster to which its clients are redirected
        self.epoch = 0  # counts loads: a timer of an earlier load is stale
        self.active_by_ring = False  # activeConsumerFailoverConsistentHashing when the topic was loaded
        # where a broker's counters of this load began
        self.loaded_seq = self.loaded_length = self.loaded_us = 0
        # deduplication: highest id by producer or replicator
        self.producers_seen: dict[str, tuple[int, int]] = {}
        self._present, self._present_to = BitMap(), 0  # see `present`: counted up to this index
        # subscription -> the messages in the log when a consumer or an operator first opened it
        self.owed_from: dict[str, BitMap] = {}
        self.batched = any(
            spec.batch > 1 for spec in runtime.scenario.producers.values() if spec.topic == base
        )
        counted = "messages snapshot_request snapshot_response snapshot subscription_update"
        self.counts = dict.fromkeys(counted.split(), 0)
        self.marker_bytes = self.refused_sends = 0
        self.later = LaterLoad(self)
        self.rollover = LedgerRollover(self)
        self.timers = RetentionTimers(self)
        self.shadows = ShadowSource(self)
        self.reads: Reads | None = None  # set when reads are counted by cache and bookies
        self.appends = Appends.of(self, f"{cluster.name}/{name}")

    # --- lifecycle

    def load(self, cause: int, first: bool = False) -> None:
        """A broker takes the topic: new ledger, cursors as persisted, replicators and timers started."""
        runtime = self.runtime
        self.loaded = True
        self.epoch += 1
        self.hot = HotSettings.of(self)
        self.active_by_ring = self.cluster.setting("activeConsumerFailoverConsistentHashing", self)
        seq = runtime.rows.topic_loaded(cause, **self.names)
        self.loaded_seq, self.loaded_length, self.loaded_us = seq, self.log.length, runtime.now_us
        if self.broker is not None:
            runtime.rows.topic_assigned(seq, **self.names, broker=self.broker.number)
        self.rollover.age_timed = False
        self.open_ledger(seq)
        self.data_timestamp_ms = 0
        for subscription in self.subscriptions.values():
            subscription.recover(seq)
            if subscription.sender is not None:
                subscription.sender.start()
        for peer in self.remote_clusters():
            if peer not in self.replicators:
                self.add_replicator(peer, seq, at_start=first)
        for replicator in self.replicators.values():
            replicator.start(seq, at_once=first)
        if self.source is None:
            self.rollover.move_cursors_on(seq)
        self.timers.start()
        self.evaluate_controller(seq)
        self.shadows.loaded(seq, first)
        for audience in self.audiences.values():
            audience.topic_loaded()
        retention.trim_if_slowest_moved(self, seq)

    def unload(self, reason: str, cause: int, clean: bool = True, delivered: bool = False) -> None:
        """Leave the broker. Clean: cursors are written; otherwise they fall back to their persisted state.

        `delivered`: its process died, and kernel and network deliver what it had sent.
        """
        if not self.loaded:
            return
        self.loaded = False
        seq = self.runtime.rows.topic_unloaded(cause, **self.names, reason=reason)
        if self.broker is not None:
            self.broker.forget_topic(self)
        for audience in self.audiences.values():
            audience.topic_unloaded(reason, seq)
        if self.appends is not None:
            self.appends.pending.clear()
        for subscription in self.subscriptions.values():
            subscription.unload(seq, clean)
        for replicator in self.replicators.values():
            replicator.close(reason, seq, clean, delivered)
        self.shadows.unloaded(reason, seq, clean)
        if self.reads is not None:
            self.reads.clear()
        for producer in self.runtime.producers.values():
            producer.broker_left(self, reason, seq)
        if self.controller is not None:
            self.controller.close("unloaded", seq)
            self.controller = None
        session.disconnect(self, reason, seq, delivered)
        if self.source is None:
            session.disconnect_sources(self, reason, seq)

    def terminate(self, cause: int) -> int:
        """Close the topic to new messages for good: the open ledger is closed, and none is opened after it.

        Returns the row's seq.
        """
        self.terminated, self.refuses = True, "terminated"
        ledger = self.log.ledgers[-1]
        self.log.close_ledger(self.runtime.now_us)
        self.runtime.rows.ledger_closed(cause, **self.names, ledger=ledger.id, count=ledger.entries)
        seq = self.runtime.rows.topic_terminated(cause, **self.names, at=self.log.last_confirmed)
        self.shadows.ledgers_changed(seq)
        session.disconnect(self, "terminated", seq)
        return seq

    def take_broker(self, broker: Broker | None) -> None:
        """Set the broker that serves it from the next load on."""
        if self.broker is not None:
            self.broker.topics.remove(self.name)
        self.broker = broker
        if broker is not None:
            broker.topics.append(self.name)

    def remote_clusters(self) -> list[str]:
        """Clusters that this one replicates the topic to, in sorted order."""
        return sorted(
            target for source, target in self.runtime.replication[self.base] if source == self.cluster.name
        )

    def add_replicator(self, peer: str, cause: int, at_start: bool = False) -> Replicator:
        """A new replication cursor at replicationStartAt.

        At the start of the run the log is empty, so both values are the same position.
        """
        earliest = at_start or self.cluster.setting("replicationStartAt", self) == "earliest"
        replicator = Replicator(self, peer, self.log.first_kept - 1 if earliest else self.log.length - 1)
        self.replicators[peer] = replicator
        self.replicators = {name: self.replicators[name] for name in sorted(self.replicators)}
        self.runtime.rows.replicator_created(
            cause, **self.names, peer=peer, at=self.log.position(replicator.cursor.mark_delete)
        )
        return replicator

    # --- ledgers

    def open_ledger(self, cause: int) -> None:
        """Open the next ledger."""
        self.rollover.open_next(cause)

    def trim(self, cause: int) -> None:
        """Delete the ledgers that no cursor needs any more."""
        retention.trim(self, cause)

    def empty(self, cause: int) -> None:
        """The topic is deleted: remove its cursors, then its ledgers."""
        for name in tuple(self.subscriptions):
            self.delete_subscription(name, cause)
        for peer in tuple(self.replicators):
            self.replicators.pop(peer).remove(cause)
        self.delete_ledgers(cause)
        for audience in self.audiences.values():
            audience.topic_deleted()
        self.counts = dict.fromkeys(self.counts, 0)
        self.marker_bytes = 0
        self.producers_seen.clear()

    def delete_ledgers(self, cause: int) -> None:
        """The topic is deleted: remove its ledgers, too."""
        retention.drop_everything(self, cause)

    # --- appends

    def append_messages(
        self, first: int, count: int, source: int, size_bytes: int, cause: int, source_index: int = -1
    ) -> int:
        """Append the entry of messages `first`…, with its origin where it was replicated.

        `source` is the number of the cluster it was replicated from, or NULL, `source_index` its index in
        that log. Returns the seq of its (first) `message.stored` row. The caller wakes the readers with
        `wake`.
        """
        runtime, log = self.runtime, self.log
        now_us, messages = runtime.now_us, runtime.messages
        index = log.append(first, size_bytes, now_us)
        ledger = log.ledgers[-1]
        entry = ledger.entries - 1
        seq = runtime.rows.message_stored(
            cause,
            cluster=self.cluster.number,
            topic=self.number,
            peer=source,
            producer=messages.producer[first],
            sequence_id=messages.sequence_id[first],
            ledger=ledger.id,
            entry=entry,
            batch_index=NULL if count == 1 else 0,
            size_bytes=size_bytes,
        )
        if count > 1:
            self._note_rest_of_batch(first, count, source, ledger.id, entry, cause)
        if self.appends is not None:
            self.appends.begin(index, seq)
        stored_seqs = self.stored_seqs.values
        if index == len(stored_seqs):
            stored_seqs.append(seq)
        else:
            self.stored_seqs.append_at(index, seq)
        if self.keeps_sources:
            self.source_indices.append_at(index, source_index)
        self.counts["messages"] += count
        self.data_timestamp_ms = now_us // 1000 or 1  # 0 means "never": a broker's clock never has that value
        most_entries, most_bytes, oldest_us, _youngest_us = self.rollover.limits
        if (
            entry + 1 >= most_entries
            or ledger.size_bytes >= most_bytes
            or now_us - ledger.opened_us >= oldest_us
        ):
            self.rollover.roll_if_full(seq)
        return seq

    def _note_rest_of_batch(
        self, first: int, count: int, source: int, ledger: int, entry: int, cause: int
    ) -> None:
        runtime, messages = self.runtime, self.runtime.messages
        for offset in range(1, count):
            message = first + offset
            runtime.rows.message_stored(
                cause,
                cluster=self.cluster.number,
                topic=self.number,
                peer=source,
                producer=messages.producer[message],
                sequence_id=messages.sequence_id[message],
                ledger=ledger,
                entry=entry,
                batch_index=offset,
                size_bytes=0,
            )

    @property
    def present(self) -> BitMap:
        """Numbers of the messages that were ever in this log; not to be changed."""
        first, self._present_to = self._present_to, max(self._present_to, self.log.length)
        self._present |= self.runtime.messages.numbers_in(self.log.records.view(first, self._present_to))
        return self._present

    def append_marker(self, marker: Marker, source: str | None, cause: int, copied_bytes: int = 0) -> int:
        """Append a marker made here (`source` None) or replicated from `source`; returns its row's seq.

        `copied_bytes` are those that the replicator added.
        """
        size_bytes = marker.size_bytes + copied_bytes
        index = self.log.append(-marker.number, size_bytes, self.runtime.now_us)
        rows, peer = self.runtime.rows, marker.addressee if source is None else source
        write = rows.marker_written if source is None else rows.marker_stored
        seq = write(cause, about=self.about_marker(marker, peer, index), size_bytes=size_bytes)
        self.stored_seqs.append_at(index, seq)
        if self.keeps_sources:
            self.source_indices.append_at(index, -1)
        if source is None and self.marker_written[0] != self.runtime.now_us:
            self.marker_written = (self.runtime.now_us, index)
        if self.appends is not None:
            self.appends.begin(index, seq)
        self.counts[marker.type] += 1
        self.marker_bytes += size_bytes
        self.rollover.roll_if_full(seq)
        return seq

    @property
    def names(self) -> TopicNames:
        """The columns that name it in a row."""
        return {"cluster": self.cluster.number, "topic": self.number}

    def about_marker(
        self, marker: Marker, peer: str | None, index: int, subscription: str | None = None
    ) -> AboutMarker:
        """The columns of a row about the marker at `index` of this log."""
        number = self.runtime.name
        ledger, entry = self.log.position(index)
        return (
            self.cluster.number,
            number(peer),
            self.number,
            marker.number,
            number(marker.type),
            NULL if marker.snapshot is None else marker.snapshot,
            number(subscription or marker.subscription),
            ledger,
            entry,
        )

    @property
    def readable_length(self) -> int:
        """The index after the last entry that can be read: its append is complete."""
        return self.log.length if self.appends is None else self.appends.readable_length

    @property
    def last_confirmed(self) -> tuple[int, int]:
        """Position of the last entry whose append is complete."""
        return self.log.last_confirmed if self.appends is None else self.appends.last_confirmed

    def wake(self, cause: int) -> None:
        """Entries were appended, and can be read or will be: replicators and dispatchers continue."""
        for replicator in self.replicators.values():
            replicator.read()
        self.wake_dispatchers(cause)

    def wake_dispatchers(self, cause: int) -> None:
        """A message of another cluster was appended.

        The geo-replicators are not notified: they skip it when they read next.
        """
        if self.shadows.replicators:
            self.shadows.appended()
        if self.audiences:
            self._wake_by_name(cause)
            return
        for subscription in tuple(self.subscriptions.values()):
            if subscription.dispatcher.sessions:
                subscription.dispatcher.dispatch(cause)

    def _wake_by_name(self, cause: int) -> None:
        """Audiences are notified among the subscriptions, in the order of names."""
        for name in sorted((*self.subscriptions, *self.audiences)):
            if name in self.audiences:
                self.audiences[name].read(cause)
            else:
                self.subscriptions[name].dispatcher.dispatch(cause)

    # --- replicated subscriptions

    def evaluate_controller(self, cause: int) -> None:
        """Start or stop the controller as `checkReplicatedSubscriptionControllerState` (PersistentTopic)."""
        wanted = self.replicated_subscriptions_possible() and any(
            s.replicated for s in self.subscriptions.values()
        )
        if wanted and (self.controller is None or not self.controller.ticking):
            self.start_controller("subscription", cause)
        elif not wanted and self.controller is not None:
            self.controller.close("not-needed", cause)
            self.controller = None

    def replicated_subscriptions_possible(self) -> bool:
        """Feature on and more than one cluster in the topic's replication list."""
        return (
            self.loaded
            and self.cluster.setting("enableReplicatedSubscriptions", self)
            and self.listed_clusters_beyond_one()
        )

    def listed_clusters_beyond_one(self) -> bool:
        """Whether this cluster's replication list of the topic has other clusters.

        Where replication is one-way, the receiving cluster's own list has none.
        """
        return bool(self.remote_clusters())

    def start_controller(self, reason: str, cause: int) -> SnapshotController:
        """Create and start the controller; #26655: a topic with older entries gets a snapshot of them."""
        if self.runtime.option("initialSnapshotCoversOlder") and self.log.length > self.log.first_kept:
            self.data_timestamp_ms = self.runtime.now_us // 1000 or 1
        controller = self.create_controller()
        controller.start(reason, cause)
        return controller

    def create_controller(self) -> SnapshotController:
        """The topic's controller, created if necessary.

        One that is not started responds to markers and applies them, and takes no snapshots.
        """
        if self.controller is None:
            self.controller = SnapshotController(self)
        return self.controller

    def add_subscription(
        self, name: str, type_: str, mark_delete: int, replicated: bool, reason: str, cause: int
    ) -> Subscription:
        """Open a cursor with this mark-delete index."""
        if reason not in ("update", "acknowledgement-sync", "migration"):
            note_owed(self, name, mark_delete)
        subscription = Subscription(self, name, type_, mark_delete, replicated)
        self.subscriptions[name] = subscription
        self.subscriptions = {key: self.subscriptions[key] for key in sorted(self.subscriptions)}
        seq = self.runtime.rows.subscription_created(
            cause,
            **self.names,
            subscription=name,
            at=subscription.border.position(mark_delete),
            reason=reason,
            count=int(replicated),
        )
        if subscription.sender is not None:
            subscription.sender.opened_by(seq)
            subscription.sender.start()
        self.runtime.recount(self.cluster.name)
        return subscription

    def delete_subscription(self, name: str, cause: int) -> int:
        """Delete the subscription and its cursor; returns the row's seq."""
        number = self.subscriptions.pop(name).number
        seq = self.runtime.rows.subscription_deleted(cause, **self.names, subscription=number)
        retention.subscription_deleted(self, name)
        return seq

    def count_reads(self) -> Reads:
        """Start to count the reads served by the cache and by the bookies."""
        if self.reads is None:
            self.reads = Reads(self, self)
        return self.reads
