"""A producer: the application that publishes, and the client that sends, batches, retries, times out.

Rules: a message is (producer name, sequence id), also when it is resent. Messages that are not acknowledged
to the producer are kept in order in `pending` and are resent when the broker is back. After the send timeout
a message has failed. Sequence ids run over all partitions.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simulator.kernel.distributions import interval_sampler
from simulator.kernel.random import draw, stream_key
from simulator.protocols.pulsar.creation import catalogue
from simulator.protocols.pulsar.lookup import Brokers, first_cluster
from simulator.protocols.pulsar.ranks import PRODUCER, rank
from simulator.protocols.pulsar.scenario.policies import EXCEPTION
from simulator.protocols.pulsar.shadow.source import PRODUCE, refusal
from simulator.protocols.pulsar.storage import retention
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar
    from simulator.protocols.pulsar.scenario.model import ProducerSpec
    from simulator.scenarios.model import Selection


RETRY_US = 100_000
"""Least time between two requests of a client to create a producer: the first step of Pulsar's backoff."""


class QuotaOfProducer:
    """The connections of one producer to topics whose quota refuses producers, by the topic's place.

    `accepted` is the load of the topic in which the broker accepted it, `refused_us` when it last refused it.

    A producer whose topic has a backlog quota: the broker refuses it while the quota is exceeded.

    Rules: while a quota is not exceeded, nothing differs. The client reconnects at most once in RETRY_US, as
    after it lost its broker. With the policy producer_request_hold its messages wait until it is accepted.
    With producer_exception those that wait fail at each refusal (`ProducerImpl.connectionOpened`,
    ProducerBlockedQuotaExceededException).
    """

    __slots__ = ("producer", "accepted", "refused_us")

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.accepted: dict[tuple[str, str], int] = {}
        self.refused_us: dict[tuple[str, str], int] = {}

    def accepts(self, topic: Topic) -> bool:
        """Whether the producer is connected, or the broker accepts it now."""
        place = topic.place
        if not topic.blocks_producers:
            if self.refused_us:
                self._accept(topic)
            return True
        if self.accepted.get(place) == topic.epoch:
            return True
        now_us = self.producer.runtime.now_us
        if place in self.refused_us and now_us < self.refused_us[place] + RETRY_US:
            return False
        policy = retention.refuses_producers(topic)
        if policy is None:
            self._accept(topic)
            return True
        self._refuse(topic, policy, NULL)
        return False

    def close(self, topic: Topic, cause: int) -> None:
        """The broker closes the connection."""
        self.accepted.pop(topic.place, None)
        policy = retention.refuses_producers(topic)
        if policy is not None and topic.place not in self.refused_us:
            self._note_blocked(topic, policy, cause)
        self.refused_us[topic.place] = self.producer.runtime.now_us

    def _refuse(self, topic: Topic, policy: str, cause: int) -> None:
        if topic.place not in self.refused_us:
            cause = self._note_blocked(topic, policy, cause)
        self.refused_us[topic.place] = self.producer.runtime.now_us
        if policy == EXCEPTION:
            self.producer.fail_pending(topic, retention.REASON, cause)

    def _note_blocked(self, topic: Topic, policy: str, cause: int) -> int:
        return self.producer.runtime.rows.producer_blocked(
            cause, **topic.names, client=self.producer.number, reason=policy
        )

    def _accept(self, topic: Topic) -> None:
        if topic.blocks_producers:
            self.accepted[topic.place] = topic.epoch
        if self.refused_us.pop(topic.place, None) is not None:
            self.producer.runtime.rows.producer_unblocked(NULL, **topic.names, client=self.producer.number)


RUNNING, PAUSED, STOPPED, KILLED, DOWN = "running", "paused", "stopped", "killed", "down"


class Producer:
    """One producer of a topic."""

    __slots__ = (
        "brokers",
        "cluster_name",
        "down_from",
        "epoch",
        "every_us",
        "forbidden",
        "intervals",
        "name",
        "next_sequence_id",
        "number",
        "open_batches",
        "pending",
        "planned",
        "published",
        "quota",
        "rank",
        "receipted",
        "refusal",
        "replicate_to",
        "retry_due",
        "runtime",
        "scheduled",
        "schema",
        "schema_refusal",
        "spec",
        "state",
        "topic_numbers",
    )

    def __init__(self, runtime: Pulsar, spec: ProducerSpec) -> None:
        self.runtime = runtime
        self.spec = spec
        self.name = spec.name
        self.number = runtime.name(spec.name)
        # of the topic or its partitions, for those that were published to
        self.topic_numbers: dict[str, int] = {}
        self.brokers = Brokers(self)
        self.quota = QuotaOfProducer(self)
        self.cluster_name = first_cluster(self.brokers.resolver, spec.cluster)
        self.rank = rank(PRODUCER, sorted(runtime.scenario.producers).index(spec.name))
        self.state = PAUSED if spec.paused else RUNNING
        self.every_us = spec.every_us or 0  # 0: no plan by interval
        self.planned = len(spec.at_us) if spec.at_us else spec.count  # messages of the plan, None: no end
        self.next_sequence_id = 0
        self.scheduled = 0  # messages of the plan so far; `producer.publish` adds others
        self.epoch = 0
        self.open_batches: dict[str, tuple[int, int]] = {}  # topic -> first message, messages
        # (first message, messages, topic, times sent)
        self.pending: deque[tuple[int, int, str, int]] = deque()
        self.retry_due = False
        self.published = self.receipted = 0
        # why its role may not publish to this topic, if so
        self.forbidden = refusal(runtime.scenario, spec.role, PRODUCE, spec.topic)
        self.down_from = RUNNING  # the state that a crash of the region interrupted
        self.schema = spec.schema
        self.schema_refusal: tuple[str, str] | None = None
        self.refusal: str | None = None  # why the last request could not create its topic
        self.intervals = None
        if spec.arrivals == "poisson" and spec.every_us:
            self.intervals = interval_sampler(
                spec.every_us, stream_key(runtime.seed, f"arrivals/{spec.name}")
            )
        self.replicate_to = (
            -1
            if spec.replicate_to is None
            else sum(1 << runtime.cluster_index(name) for name in spec.replicate_to)
        )

    # --- the plan

    def begin(self, _argument: None = None) -> None:
        """Schedule the first publish."""
        if self.schema is not None or (self.brokers.resolver is None and self.brokers.shape() is None):
            self.runtime.schedule(
                self.spec.at_us[0] if self.spec.at_us else self.spec.start_us, self.rank, self.connect
            )
        self.brokers.begin()
        if self.spec.at_us:
            self._schedule(self.spec.at_us[0])
        elif self.every_us:
            first_us = self.spec.start_us + (self.intervals.at(0) if self.intervals else 0)
            self._schedule(max(first_us, self.runtime.now_us))

    def _schedule(self, at_us: int) -> None:
        if self.spec.stop_us is None or at_us < self.spec.stop_us:
            self.runtime.schedule(at_us, self.rank, self.tick, self.epoch)
        else:
            self.flush_batches(NULL)

    def tick(self, epoch: int) -> None:
        """Publish one planned message."""
        planned = self.planned
        if (
            epoch != self.epoch
            or self.state != RUNNING
            or (planned is not None and self.scheduled >= planned)
        ):
            return
        self.scheduled += 1
        self.publish(NULL)
        if planned is not None and self.scheduled >= planned:
            self.flush_batches(NULL)
        elif self.spec.at_us:
            # messages missed while it did not run are sent at once
            self._schedule(max(self.spec.at_us[self.scheduled], self.runtime.now_us))
        else:
            self._schedule(self.runtime.now_us + self._gap_us())

    def _gap_us(self) -> int:
        return self.every_us if self.intervals is None else self.intervals.at(self.scheduled)

    def _finished(self) -> bool:
        return self.planned is not None and self.scheduled >= self.planned

    @property
    def is_open(self) -> bool:
        """Whether its client is connected now: it has started, and its plan has not ended."""
        begun, stop_us = self.spec.start_us <= self.runtime.now_us, self.spec.stop_us
        return (
            begun
            and self.state in (RUNNING, PAUSED)
            and not self._finished()
            and (stop_us is None or self.runtime.now_us < stop_us)
        )

    def go_on(self) -> None:
        """Resume the plan from now."""
        self.epoch += 1
        if self._finished():
            return
        if self.spec.at_us:
            self._schedule(max(self.spec.at_us[self.scheduled], self.runtime.now_us))
        elif self.every_us:
            self._schedule(
                max(self.runtime.now_us + (self.every_us if self.scheduled else 0), self.spec.start_us)
            )

    # --- lifecycle

    def set_state(self, state: str, cause: int) -> int:
        """Start, pause, stop, kill: only a running producer follows its plan. Returns the row's seq."""
        seq = self.runtime.rows.client_changed(
            cause, cluster=self.cluster_name, client=self.number, reason=state
        )
        if state in (KILLED, DOWN):
            self.pending.clear()
            self.open_batches.clear()
        elif state == STOPPED:
            self.flush_batches(seq)
        resumed = state == RUNNING and self.state != RUNNING
        self.state = state
        if state in (KILLED, DOWN, STOPPED):
            self.brokers.leave(state, seq)
        if resumed:
            self.brokers.look_up(seq)
            self.go_on()
        return seq

    @property
    def alive(self) -> bool:
        """Whether its process runs, publishing or paused."""
        return self.state in (RUNNING, PAUSED)

    def broker_left(self, topic: Topic, reason: str, cause: int) -> None:
        """A topic left its broker."""
        self.brokers.left(topic, reason, cause)

    def closed_by_quota(self, topic: Topic, cause: int) -> None:
        """The broker closes the producer's connection to a topic whose backlog quota is exceeded."""
        if self.is_open and topic.base == self.spec.topic and self.brokers.connected_to(topic):
            self.quota.close(topic, cause)

    def fail_pending(self, topic: Topic, reason: str, cause: int) -> None:
        """The application is notified that the pending messages of a topic failed."""
        failed = [entry for entry in self.pending if entry[2] == topic.name]
        self.pending = deque(entry for entry in self.pending if entry[2] != topic.name)
        for first, count, _topic, _times in failed:
            self._fail(topic, first, count, reason, cause)

    def slow(self, every_us: int) -> None:
        """Publish every `every_us` from now on."""
        self.every_us = every_us
        if self.intervals is not None:
            self.intervals = interval_sampler(
                every_us, stream_key(self.runtime.seed, f"arrivals/{self.name}")
            )
        if self.state == RUNNING and not self.spec.at_us:
            self.go_on()

    def publish_at_random(self) -> None:
        """Draw the intervals from now on, with the same mean; a planned list of instants stays."""
        if self.every_us and self.intervals is None:
            key = stream_key(self.runtime.seed, f"arrivals/{self.name}")
            self.intervals = interval_sampler(self.every_us, key)

    # --- publishing

    def publish(self, cause: int, chosen: str | None = None) -> None:
        """The application calls send once; `chosen` names the partition, which is otherwise not recorded."""
        runtime, spec = self.runtime, self.spec
        sequence_id, now_us = self.next_sequence_id, runtime.now_us
        self.next_sequence_id = sequence_id + 1
        self.published += 1
        key = sequence_id % spec.keys if spec.keys else NULL
        partitions = self.brokers.partitions(cause)
        cluster, size_bytes = runtime.clusters[self.cluster_name], spec.size_bytes
        topic = chosen or (self._partition_name(key, sequence_id, partitions) if partitions else spec.topic)
        deliver_at_us = 0 if spec.delay is None else self._deliver_at_us(sequence_id, spec.delay)
        batched = spec.batch > 1 and not deliver_at_us
        message = self._take_number(topic) if batched else runtime.take_messages(1)
        runtime.messages.put(
            message,
            (
                self.number,
                sequence_id,
                now_us,
                size_bytes,
                key,
                1,
                deliver_at_us,
                cluster.index,
                self.replicate_to,
            ),
        )
        number = self.topic_numbers.get(topic)
        if number is None:
            number = self.topic_numbers[topic] = runtime.name(topic)
        seq = runtime.rows.message_published(
            cause,
            cluster=cluster.number,
            topic=number,
            producer=self.number,
            sequence_id=sequence_id,
            key=key,
            size_bytes=size_bytes,
        )
        if (
            runtime.schemas is not None
            and catalogue.refuses_schema(self, cluster, self.schema, seq) is not None
        ):
            runtime.rows.message_send_failed(
                seq,
                cluster=cluster.number,
                topic=topic,
                producer=self.number,
                sequence_id=sequence_id,
                reason="schema",
            )
        elif batched:
            self._add_to_batch(topic, seq)
        else:
            if topic in self.open_batches:
                # a message that cannot be batched first sends the open batch
                self._send_batch(topic, seq)
            self._send(message, 1, topic, seq)

    def connect(self, _argument: None = None) -> None:
        """The client opens its producer: a missing topic or schema is created or refused."""
        if self.state in (RUNNING, PAUSED) and self.runtime.clusters[self.cluster_name].up:
            self.brokers.partitions(NULL)
            catalogue.use_schema(self, self.runtime.clusters[self.cluster_name], self.schema, NULL)

    def _rerouted(self) -> Topic | None:
        """The present topic or partition for the first pending entry, where its own one does not exist."""
        first, count, name, times = self.pending[0]
        cluster = self.runtime.clusters[self.cluster_name]
        if not cluster.up or name in cluster.topics or self.brokers.resolver is not None:
            return None
        partitions = self.brokers.partitions(NULL)
        if self.brokers.shape() is None:
            return None
        messages = self.runtime.messages
        name = (
            self._partition_name(messages.key[first], messages.sequence_id[first], partitions)
            if partitions
            else self.spec.topic
        )
        self.pending[0] = (first, count, name, times)
        return self._broker_topic(name)

    def _partition_name(self, key: int, sequence_id: int, partitions: int) -> str:
        chosen = (
            sequence_id // self.spec.batch % partitions
            if key == NULL
            else draw(stream_key(0, "partition"), key) % partitions
        )
        return f"{self.spec.topic}-partition-{chosen}"

    def _deliver_at_us(self, sequence_id: int, delay: Selection) -> int:
        chosen = (self.name, sequence_id) in delay.messages or self.runtime.chance(
            f"delay/{self.name}", sequence_id, delay.share_millionths
        )
        if not chosen:
            return 0
        assert delay.for_us is not None, "a delay has a length"
        return self.runtime.now_us + delay.for_us

    def _take_number(self, topic: str) -> int:
        """The next message number of the topic's open batch.

        A new batch reserves its numbers, because an entry's numbers are consecutive.
        """
        if topic not in self.open_batches:
            self.open_batches[topic] = (self.runtime.take_messages(self.spec.batch), 0)
        first, count = self.open_batches[topic]
        return first + count

    def _add_to_batch(self, topic: str, cause: int) -> None:
        first, count = self.open_batches[topic]
        self.open_batches[topic] = (first, count + 1)
        if count + 1 == self.spec.batch:
            self._send_batch(topic, cause)

    def _send_batch(self, topic: str, cause: int) -> None:
        first, count = self.open_batches.pop(topic)
        self.runtime.messages.set_batch(first, count)
        self._send(first, count, topic, cause)

    def flush_batches(self, cause: int) -> None:
        """Send the open batches."""
        for topic in tuple(self.open_batches):
            self._send_batch(topic, cause)

    # --- sending

    def _send(self, first: int, count: int, topic_name: str, cause: int) -> None:
        topic = self._broker_topic(topic_name)
        if topic is not None and not self.pending and self.quota.accepts(topic):
            self._store(topic, first, count, cause)
            return
        self.pending.append((first, count, topic_name, 1))
        if self.spec.send_timeout_us:
            due_us = self.runtime.now_us + self.spec.send_timeout_us
            self.runtime.schedule(due_us, self.rank, self.send_timed_out, first)
        self._retry_later()

    def _broker_topic(self, name: str) -> Topic | None:
        cluster = self.brokers.cluster_of(name)
        topic = cluster.topics.get(name) if cluster is not None and cluster.up else None
        if topic is None or not topic.loaded:
            return None
        return topic if not topic.migrating else self.brokers.beyond(topic)

    def _store(self, topic: Topic, first: int, count: int, cause: int) -> None:
        runtime, messages = self.runtime, self.runtime.messages
        if self.forbidden or topic.refuses is not None:
            topic.refused_sends += count
            why = topic.refuses if topic.refuses is not None and not self.forbidden else "not-authorised"
            self._fail(topic, first, count, why, cause)
            return
        if runtime.schemas is not None and catalogue.refuses_schema(
            self, topic.cluster, runtime.schemas.of_message(self.number, messages.sequence_id[first]), cause
        ):
            self._fail(topic, first, count, "schema", cause)
            return
        if topic.hot.deduplicates:
            highest = topic.producers_seen.get(self.name, (-1, -1))
            if (messages.sequence_id[first], 0) <= highest:
                seq = runtime.rows.message_deduplicated(
                    cause,
                    **topic.names,
                    peer=None,
                    producer=self.number,
                    sequence_id=messages.sequence_id[first],
                )
                self._receipt(topic, first, count, seq)
                return
            topic.producers_seen[self.name] = (messages.sequence_id[first + count - 1], 0)
        if messages.origin[first] != topic.cluster.index:
            messages.set_origin(first, count, topic.cluster.index)
        seq = topic.append_messages(first, count, NULL, self.spec.size_bytes * count, cause)
        self._receipt(topic, first, count, seq)
        topic.wake(seq)

    def _fail(self, topic: Topic, first: int, count: int, reason: str, cause: int) -> None:
        """The broker rejects the send: each message fails at once, the producer stays connected."""
        for message in range(first, first + count):
            self.runtime.rows.message_send_failed(
                cause,
                **topic.names,
                producer=self.number,
                sequence_id=self.runtime.messages.sequence_id[message],
                reason=reason,
            )

    def _receipt(self, topic: Topic, first: int, count: int, cause: int) -> None:
        runtime, messages = self.runtime, self.runtime.messages
        self.receipted += count
        for message in range(first, first + count):
            runtime.rows.message_receipted(
                cause,
                cluster=topic.cluster.number,
                topic=topic.number,
                producer=self.number,
                sequence_id=messages.sequence_id[message],
            )

    def _retry_later(self) -> None:
        if not self.retry_due:
            self.retry_due = True
            self.runtime.schedule(self.runtime.now_us + RETRY_US, self.rank, self.retry)

    def retry(self, _argument: None) -> None:
        """Send the pending entries in order, as far as brokers are reachable."""
        self.retry_due = False
        while self.pending:
            topic = self._broker_topic(self.pending[0][2]) or self._rerouted()
            if topic is not None and not self.quota.accepts(topic):
                topic = None
            if topic is None:
                if self.pending:
                    self._retry_later()
                return
            first, count, topic_name, times = self.pending[0]
            self.pending.popleft()
            messages = self.runtime.messages
            seq = NULL
            for message in range(first, first + count):
                seq = self.runtime.rows.message_resent(
                    NULL,
                    **topic.names,
                    producer=self.number,
                    sequence_id=messages.sequence_id[message],
                    count=times,
                )
            self._store(topic, first, count, seq)

    def send_timed_out(self, first: int) -> None:
        """The send timeout of an entry: if it is still pending, the send fails for the application."""
        for entry in self.pending:
            if entry[0] == first:
                self.pending.remove(entry)
                cluster, messages = self.runtime.clusters[self.cluster_name], self.runtime.messages
                for message in range(first, first + entry[1]):
                    self.runtime.rows.message_send_failed(
                        NULL,
                        cluster=cluster.number,
                        topic=entry[2],
                        producer=self.number,
                        sequence_id=messages.sequence_id[message],
                        reason="timeout",
                    )
                return
