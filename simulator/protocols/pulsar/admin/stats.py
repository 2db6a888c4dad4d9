"""`pulsar-admin topics stats` of one topic or partition in one cluster, as Pulsar 4.1 prints it.

Rules: fields, their order and form are those of a Pulsar 4.1 broker. As in a broker, counters begin with the
topic's load. They are counted in the trace. Messages out are counted when the broker sends them. Rates are
over the last RATES_OVER_US of simulated time (a broker: over its last full minute). Features that the
simulator does not model have the value of an idle broker. Names of hosts and versions of clients are omitted
(docs/command-line.md lists all).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus

from simulator.protocols.pulsar.admin.printed import instant
from simulator.protocols.pulsar.admin.tallies import REDELIVERED, Tallies, Tally, backlog_bytes, count
from simulator.protocols.pulsar.scenario.policies import MESSAGE_AGE, SIZE
from simulator.protocols.pulsar.storage import retention
from simulator.protocols.pulsar.storage.retention import RATES_OVER_US, bytes_after
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.shadow.source import ShadowReplicator
    from simulator.protocols.pulsar.storage.retention import Expired


# --- the statistics of a source about its shadows: absent as shipped, optionally PIP-180's map
#
# With the option for it a source has the field `shadowReplication`.


def full_name(replicator: ShadowReplicator) -> str:
    """The shadow topic's name in full."""
    topics = replicator.runtime.scenario.topics
    base = (
        replicator.shadow if replicator.shadow in topics else replicator.shadow.rpartition("-partition-")[0]
    )
    return f"persistent://{topics[base].namespace}/{replicator.shadow}"


def cursor_name(replicator: ShadowReplicator) -> str:
    """`pulsar.repl-` and the shadow topic's name, URL-encoded (`ShadowReplicator`)."""
    return f"pulsar.repl-{quote_plus(full_name(replicator))}"


def shadow_replication(topic: Topic) -> dict[str, Any]:
    """The proposal's field with ReplicatorStatsImpl of every shadow, or an empty object."""
    if topic.runtime.option("shadowReplicationInStats") != "proposal":
        return {}
    return {
        "shadowReplication": {
            full_name(one): _of(one) for _name, one in sorted(topic.shadows.replicators.items())
        }
    }


def _of(one: ShadowReplicator) -> dict[str, Any]:
    return {
        "msgRateIn": 0.0,
        "msgThroughputIn": 0.0,
        "msgInCount": 0,
        "bytesInCount": 0,
        "msgRateOut": 0.0,
        "msgThroughputOut": 0.0,
        "msgOutCount": one.sent_messages,
        "bytesOutCount": one.sent_bytes,
        "msgRateExpired": 0.0,
        "msgExpiredCount": 0,
        "replicationBacklog": one.backlog,
        "connected": one.state == "started",
        "replicationDelayInSeconds": 0,
    }


ADVANCED = ("acknowledgement", "expiry", "update")
"""Reasons of a moved mark-delete that a broker notes in lastMarkDeleteAdvancedTimestamp.

Skip, clear and reset are not among them (`PersistentSubscription`, `PersistentMessageExpiryMonitor`).
"""

_ZERO_OF_TOPIC = (
    "publishRateLimitedTimes",
    "earliestMsgPublishTimeInBacklogs",
    "offloadedStorageSize",
    "lastOffloadLedgerId",
    "lastOffloadSuccessTimeStamp",
    "lastOffloadFailureTimeStamp",
    "ongoingTxnCount",
    "abortedTxnCount",
    "committedTxnCount",
)
_ZERO_OF_COMPACTION = (
    "lastCompactionRemovedEventCount",
    "lastCompactionSucceedTimestamp",
    "lastCompactionFailedTimestamp",
    "lastCompactionDurationTimeInMills",
)
_ZERO_OF_SUBSCRIPTION = (
    "filterProcessedMsgCount",
    "filterAcceptedMsgCount",
    "filterRejectedMsgCount",
    "filterRescheduledMsgCount",
    *(
        f"dispatchThrottled{unit}EventsBy{limit}Limit"
        for limit in ("Subscription", "Topic", "Broker")
        for unit in ("Msg", "Bytes")
    ),
)


class Counters(NamedTuple):
    """Counts since the topic's load, and over the window of the rates."""

    since: Tallies
    window: Tallies
    window_us: int


def counters(runtime: Pulsar, topic: Topic, counted: dict[int, Tallies]) -> Generator[None, None, Counters]:
    """Count what the statistics of a topic need; yields between pieces, returns Counters.

    `counted` keeps, for one answer, the counts since a row. Topics of all clusters share it.
    """
    trace, now_us = runtime.trace, runtime.now_us
    began = topic.loaded_seq if topic.epoch > 1 else 0  # no rows of a topic precede its first load
    from_us = max(now_us - RATES_OVER_US, topic.loaded_us)
    first = min(max(began, trace.first_after(from_us) if from_us else 0), runtime.seq)
    since = yield from _counted_from(runtime, began, counted)
    window = yield from _counted_from(runtime, first, counted)
    return Counters(since, window, max(1, now_us - from_us))


def _counted_from(runtime: Pulsar, first: int, counted: dict[int, Tallies]) -> Generator[None, None, Tallies]:
    if first not in counted:
        counted[first] = yield from count(runtime.trace, first, runtime.seq)
    return counted[first]


class TopicStats:
    """Builds the object of one topic."""

    def __init__(self, runtime: Pulsar, topic: Topic, counted: Counters) -> None:
        self.topic, self.runtime, self.counted = topic, runtime, counted
        self.place = (topic.cluster.number, topic.number)

    # --- counting

    def since(self, event: str, **wanted: int) -> Tally:
        return self.counted.since.of(event, *self.place, **wanted)

    def rate(self, event: str, **wanted: int) -> float:
        """Rows per second over the window."""
        return self._per_second(self.counted.window.of(event, *self.place, **wanted).rows)

    def _per_second(self, amount: int) -> float:
        return amount * 1_000_000 / self.counted.window_us

    def _recently_expired(self, expired: Expired) -> int:
        """The entries over the window."""
        return expired.since(self.runtime.now_us - self.counted.window_us)

    def bytes_rate_in(self, **wanted: int) -> float:
        window = self.counted.window
        return self._per_second(
            sum(
                window.of(event, *self.place, **wanted).size_bytes
                for event in ("message.stored", *self._marker_events(wanted))
            )
        )

    def rate_in(self, **wanted: int) -> float:
        return sum(self.rate(event, **wanted) for event in ("message.stored", *self._marker_events(wanted)))

    @staticmethod
    def _marker_events(wanted: dict[str, int]) -> tuple[str, ...]:
        """Events of stored markers that a broker counts: only those from a replicator's producer.

        The broker does not count the markers that it writes itself.
        """
        return () if "producer" in wanted or wanted.get("peer") == NULL else ("marker.stored",)

    def bytes_rate_out(self, event: str, **wanted: int) -> float:
        """Bytes of messages per second, from the message size of each producer: rows have no size."""
        window, total = self.counted.window, 0
        for producer in self.runtime.producers.values():
            total += (
                window.of(event, *self.place, producer=producer.number, **wanted).rows
                * producer.spec.size_bytes
            )
        return self._per_second(total)

    # --- the object

    def tree(self) -> dict[str, Any]:
        """The whole object, fields in the order in which a broker prints them."""
        topic, log = self.topic, self.topic.log
        stored, markers = self.since("message.stored"), self.since("marker.stored")
        subscriptions = {name: self._subscription(one) for name, one in topic.subscriptions.items()}
        bytes_in, rows_in = self.bytes_rate_in(), self.rate_in()
        checked = topic.timers.oldest_age_s()
        return {
            "msgRateIn": rows_in,
            "msgThroughputIn": bytes_in,
            "msgRateOut": sum(one["msgRateOut"] for one in subscriptions.values()) + 0.0,
            "msgThroughputOut": sum(one["msgThroughputOut"] for one in subscriptions.values()) + 0.0,
            "bytesInCounter": stored.size_bytes + markers.size_bytes,
            "msgInCounter": stored.rows + markers.rows,
            "systemTopicBytesInCounter": 0,
            "bytesOutCounter": sum(one["bytesOutCounter"] for one in subscriptions.values()),
            "msgOutCounter": sum(one["msgOutCounter"] for one in subscriptions.values()),
            "bytesOutInternalCounter": 0,
            "averageMsgSize": bytes_in / rows_in if rows_in else 0.0,
            "msgChunkPublished": False,
            "storageSize": sum(ledger.size_bytes for ledger in log.ledgers),
            "backlogSize": self._slowest_backlog_bytes(),
            "backlogQuotaLimitSize": retention.quota_of(topic, SIZE).limit_bytes,
            "backlogQuotaLimitTime": retention.quota_of(topic, MESSAGE_AGE).limit_s,
            "oldestBacklogMessageAgeSeconds": -1 if checked is None else checked,
            **dict.fromkeys(_ZERO_OF_TOPIC, 0),
            "publishers": [self._publisher(producer) for producer in self._producers()],
            "waitingPublishers": 0,
            "subscriptions": subscriptions,
            "replication": {
                **{peer: self._replication(replicator) for peer, replicator in topic.replicators.items()},
                **self._inbound_only(),
            },
            **shadow_replication(topic),
            "deduplicationStatus": "Enabled"
            if topic.cluster.setting("brokerDeduplicationEnabled", topic)
            else "Disabled",
            "nonContiguousDeletedMessagesRanges": sum(
                one["nonContiguousDeletedMessagesRanges"] for one in subscriptions.values()
            ),
            "nonContiguousDeletedMessagesRangesSerializedSize": 0,
            "delayedMessageIndexSizeInBytes": 0,
            "compaction": dict.fromkeys(_ZERO_OF_COMPACTION, 0),
            "topicCreationTimeStamp": 0,
            "lastPublishTimeStamp": max(0, stored.last_us) // 1000,
        }

    def _slowest_backlog_bytes(self) -> int:
        topic = self.topic
        marks = [one.border.position(one.cursor.mark_delete) for one in topic.subscriptions.values()]
        marks += [topic.log.position(one.settled_mark_delete()) for one in topic.replicators.values()]
        return bytes_after(topic, min(marks)) if marks else 0

    def _producers(self) -> list[Producer]:
        """Producers connected here, by name."""
        mine = [
            one
            for one in self.runtime.producers.values()
            if one.cluster_name == self.topic.cluster.name and one.spec.topic == self.topic.base
        ]
        return sorted((one for one in mine if one.state in ("running", "paused")), key=lambda one: one.name)

    def _publisher(self, producer: Producer) -> dict[str, Any]:
        rate = self.rate_in(producer=producer.number, peer=NULL)
        bytes_rate = self.bytes_rate_in(producer=producer.number, peer=NULL)
        return {
            "accessMode": "Shared",
            "msgRateIn": rate,
            "msgThroughputIn": bytes_rate,
            "averageMsgSize": bytes_rate / rate if rate else 0.0,
            "chunkedMessageRate": 0.0,
            "producerId": 0,
            "supportsPartialProducer": False,
            "producerName": producer.name,
            "metadata": {},
        }

    # --- subscriptions

    def _subscription(self, one: Subscription) -> dict[str, Any]:
        sent_messages, sent_bytes = one.sent_before
        consumers = [self._consumer(one, session) for session in one.dispatcher.sessions]
        number = one.number
        individual = one.type in ("Shared", "Key_Shared")
        delayed = len(getattr(one.dispatcher, "delayed", ()))
        active = getattr(one.dispatcher, "active", None)
        return {
            "msgRateOut": self.rate("message.delivered", subscription=number),
            "msgThroughputOut": self.bytes_rate_out("message.delivered", subscription=number),
            "bytesOutCounter": sent_bytes + sum(session.sent_bytes for session in one.dispatcher.sessions),
            "msgOutCounter": sent_messages
            + sum(session.sent_messages for session in one.dispatcher.sessions),
            "msgRateRedeliver": self.rate(REDELIVERED, subscription=number),
            "messageAckRate": self.rate("message.registered", subscription=number),
            "chunkedMessageRate": 0.0,
            "msgBacklog": one.backlog,
            "backlogSize": backlog_bytes(self.topic, one.cursor, one.border.position(one.cursor.mark_delete)),
            "earliestMsgPublishTimeInBacklog": 0,
            "msgBacklogNoDelayed": one.backlog - delayed,
            "blockedSubscriptionOnUnackedMsgs": getattr(one.dispatcher, "blocked", False),
            "msgDelayed": delayed,
            "msgInReplay": len(getattr(one.dispatcher, "replay", ())),
            "unackedMessages": one.dispatcher.unacked if individual else 0,
            "type": one.type,
            **({"activeConsumerName": active.consumer.name} if active is not None else {}),
            "msgRateExpired": self._per_second(recently := self._recently_expired(one.expired)),
            "msgExpired": recently,
            "totalMsgExpired": one.expired.total,
            **self._instants(one),
            "consumers": consumers,
            "isDurable": True,
            "isReplicated": one.replicated,
            "allowOutOfOrderDelivery": False,
            **({"keySharedMode": "AUTO_SPLIT"} if one.type == "Key_Shared" else {}),
            "consumersAfterMarkDeletePosition": {},
            **dict.fromkeys(
                ("drainingHashesCount", "drainingHashesClearedTotal", "drainingHashesUnackedMessages"), 0
            ),
            "nonContiguousDeletedMessagesRanges": ranges_within_ledgers(one.topic, one.cursor),
            "nonContiguousDeletedMessagesRangesSerializedSize": 0,
            "delayedMessageIndexSizeInBytes": 0,
            "subscriptionProperties": {},
            **dict.fromkeys(_ZERO_OF_SUBSCRIPTION, 0),
            "durable": True,
            "replicated": one.replicated,
        }

    def _instants(self, one: Subscription) -> dict[str, int]:
        """Timestamps in ms of the simulated clock, 0 for never; no row records when permits arrived."""
        reasons = (self.runtime.trace.number(reason) for reason in ADVANCED)
        moves = [
            self.since("cursor.moved", subscription=one.number, reason=number)
            for number in reasons
            if number is not None
        ]
        return {
            "lastExpireTimestamp": max(0, one.expired.checked_us) // 1000,
            "lastConsumedFlowTimestamp": 0,
            "lastConsumedTimestamp": _ms(self.since("message.delivered", subscription=one.number)),
            "lastAckedTimestamp": _ms(self.since("message.registered", subscription=one.number)),
            "lastMarkDeleteAdvancedTimestamp": max((_ms(move) for move in moves), default=0),
        }

    def _consumer(self, one: Subscription, session: Session) -> dict[str, Any]:
        wanted = {"subscription": one.number, "client": session.consumer.number}
        consumed, acked = (
            self.since("message.delivered", **wanted),
            self.since("message.registered", **wanted),
        )
        individual = one.type in ("Shared", "Key_Shared")
        return {
            "msgRateOut": self.rate("message.delivered", **wanted),
            "msgThroughputOut": self.bytes_rate_out("message.delivered", **wanted),
            "bytesOutCounter": session.sent_bytes,
            "msgOutCounter": session.sent_messages,
            "msgRateRedeliver": self.rate(REDELIVERED, **wanted),
            "messageAckRate": self.rate("message.registered", **wanted),
            "chunkedMessageRate": 0.0,
            "consumerName": session.consumer.name,
            "availablePermits": session.permits,
            "unackedMessages": session.unacked if individual else 0,
            "avgMessagesPerEntry": (session.sent_messages + session.sent_entries // 2) // session.sent_entries
            if session.sent_entries
            else 0,
            "blockedConsumerOnUnackedMsgs": session.blocked,
            **dict.fromkeys(
                ("drainingHashesCount", "drainingHashesClearedTotal", "drainingHashesUnackedMessages"), 0
            ),
            "connectedSince": instant(session.connected_us),
            "lastAckedTimestamp": _ms(acked),
            "lastConsumedTimestamp": _ms(consumed),
            "lastConsumedFlowTimestamp": 0,
            "metadata": {},
            "lastAckedTime": instant(max(0, acked.last_us)),
            "lastConsumedTime": instant(max(0, consumed.last_us)),
        }

    # --- replication

    def _replication(self, replicator: Replicator) -> dict[str, Any]:
        peer = replicator.peer_number
        came, received_markers = (
            self.since("message.stored", peer=peer),
            self.since("marker.stored", peer=peer),
        )
        window = self.counted.window
        out = (
            window.of("message.replicated", *self.place, peer=peer).entries
            + window.of("marker.sent", *self.place, peer=peer).rows
        )
        reverse = self.runtime.clusters[replicator.peer].topics.get(self.topic.name)
        inbound = reverse.replicators.get(self.topic.cluster.name) if reverse is not None else None
        return {
            "msgRateIn": self.rate_in(peer=peer),
            "msgThroughputIn": self.bytes_rate_in(peer=peer),
            "msgInCount": came.rows + received_markers.rows,
            "bytesInCount": came.size_bytes + received_markers.size_bytes,
            "msgRateOut": self._per_second(out),
            "msgThroughputOut": self._per_second(out) * replicator.sent_bytes / replicator.sent_entries
            if replicator.sent_entries
            else 0.0,
            "msgOutCount": replicator.sent_entries,
            "bytesOutCount": replicator.sent_bytes,
            "msgRateExpired": self._per_second(self._recently_expired(replicator.expired)),
            "msgExpiredCount": 0,  # `ReplicatorStatsImpl.getMsgExpiredCount` returns 0
            "replicationBacklog": replicator.cursor_now().backlog(self.topic.log.length),
            "connected": replicator.connected,
            "replicationDelayInSeconds": oldest_pending_us(replicator) // 1_000_000,
            **(
                {"inboundConnectedSince": instant(inbound.started_us)}
                if inbound is not None and inbound.connected
                else {}
            ),
            **({"outboundConnectedSince": instant(replicator.started_us)} if replicator.connected else {}),
        }

    def _inbound_only(self) -> dict[str, dict[str, Any]]:
        """Clusters whose replicator is connected here and that this topic does not replicate to (#25583)."""
        topic, found = self.topic, {}
        for peer, cluster in self.runtime.clusters.items():
            source = cluster.topics.get(topic.name)
            inbound = None if source is None else source.replicators.get(topic.cluster.name)
            if inbound is None or not inbound.connected or peer in topic.replicators:
                continue
            number = self.runtime.name(peer)
            found[peer] = {
                "msgRateIn": self.rate_in(peer=number),
                "msgThroughputIn": self.bytes_rate_in(peer=number),
                "msgInCount": 0,
                "bytesInCount": 0,
                "msgRateOut": 0.0,
                "msgThroughputOut": 0.0,
                "msgOutCount": 0,
                "bytesOutCount": 0,
                "msgRateExpired": 0.0,
                "msgExpiredCount": 0,
                "replicationBacklog": 0,
                "connected": False,
                "replicationDelayInSeconds": 0,
                "inboundConnectedSince": instant(inbound.started_us),
            }
        return found


def _ms(tally: Tally) -> int:
    return max(0, tally.last_us) // 1000


def oldest_pending_us(replicator: Replicator) -> int:
    """Age of the oldest pending send, on the wire or held back by its schema.

    It is 0 without a pending send or without a producer.
    """
    if replicator.wire:
        return replicator.runtime.now_us - replicator.wire[0][1]
    return (
        replicator.runtime.now_us - replicator.schemas.since_us
        if replicator.connected and replicator.schemas.waiting
        else 0
    )


def ranges_within_ledgers(topic: Topic, cursor: Cursor) -> int:
    """Individually deleted ranges as a broker counts them: none crosses a ledger."""
    total = cursor.ranges_total
    if not total:
        return 0
    borders = (
        ledger.first_index for ledger in topic.log.ledgers if ledger.first_index > cursor.mark_delete + 1
    )
    return total + sum(cursor.deleted_at(border) and cursor.deleted_at(border - 1) for border in borders)
