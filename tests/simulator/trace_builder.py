"""A small language for writing traces by hand, row by row, without an engine.

Rules: time only moves by `at` and `wait`; positions are assigned in order, one ledger for each cluster;
messages are numbers of the producer `web` unless stated otherwise. Every method writes exactly the rows it
names and returns the seq of the last, so a test contains everything that its counting depends on.
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.protocols.pulsar.scenario.model import ClusterSpec, PulsarScenario, SubscriptionSpec, TopicSpec
from simulator.protocols.pulsar.verdicts import CountedFailover, CountedRun, count_run
from simulator.protocols.registry import BY_NAME, VOCABULARY
from simulator.scenarios.model import Distribution, LinkSpec, Scenario
from simulator.trace.registry import NAME_COLUMNS, NULL
from simulator.trace.trace import Trace

LATENCY_US = 40_000


def scenario_of(
    clusters: tuple[str, ...],
    topic: str,
    subscriptions: tuple[str, ...],
    settings: dict,
    replication=None,
    listed=None,
) -> Scenario:
    """The smallest scenario that counting reads: clusters, links of 40 ms, one topic, its subscriptions."""
    pairs = [(one, other) for one in clusters for other in clusters if one != other]
    return PulsarScenario(
        name="by-hand",
        title="By hand",
        family="replicated-subscriptions",
        until_us=60_000_000,
        settings=settings,
        clusters={name: ClusterSpec(name) for name in clusters},
        links={pair: LinkSpec(*pair, Distribution(value_us=LATENCY_US)) for pair in pairs},
        topics={topic: TopicSpec(topic, listed or clusters, replication=replication)},
        subscriptions={name: SubscriptionSpec(name, topic, "Shared", True) for name in subscriptions},
    )


class TraceBuilder:
    """A trace under construction, and the scenario it belongs to."""

    def __init__(
        self,
        *clusters: str,
        topic: str = "orders",
        subscription: str = "billing",
        replicators: bool = True,
        settings=None,
    ) -> None:
        self.clusters = clusters or ("a", "b")
        self.topic, self.subscription = topic, subscription
        self.trace = Trace(VOCABULARY)
        self.now_us = 0
        self.scenario = scenario_of(self.clusters, topic, (subscription,), settings or {})
        self.next_entry = dict.fromkeys(self.clusters, 0)
        self.ledger = {name: number + 1 for number, name in enumerate(self.clusters)}
        self.positions: dict[tuple[str, str, int], tuple[int, int]] = {}
        self.stored_seq: dict[tuple[str, str, int], int] = {}
        self.mark: dict[str, tuple[int, int]] = {}
        self.markers = 0
        self.row("run.started", detail="by hand")
        if replicators:
            for one in self.clusters:
                for other in self.clusters:
                    if one != other:
                        self.row(
                            "replicator.created",
                            cluster=one,
                            peer=other,
                            topic=topic,
                            ledger=self.ledger[one],
                            entry=-1,
                        )

    # --- rows

    def at(self, at_us: int) -> TraceBuilder:
        assert at_us >= self.now_us, "time goes forward"
        self.now_us = at_us
        return self

    def wait(self, span_us: int = 1000) -> TraceBuilder:
        return self.at(self.now_us + span_us)

    def row(self, event: str, **fields) -> int:
        """One row of any type; names as strings, missing fields are null."""
        declared = BY_NAME[event]
        unknown = set(fields) - set(declared.fields)
        assert not unknown, f"{event} has no {unknown}"
        values = []
        for name in declared.fields:
            value = fields.get(name)
            values.append(
                NULL if value is None else self.trace.intern(value) if name in NAME_COLUMNS else value
            )
        self.trace.append((declared.code, self.now_us, NULL, *values))
        return len(self.trace) - 1

    def here(self, event: str, cluster: str, **fields) -> int:
        """A row of the builder's topic in a cluster."""
        return self.row(event, cluster=cluster, topic=self.topic, **fields)

    def ours(self, event: str, cluster: str, **fields) -> int:
        """A row of the builder's subscription in a cluster."""
        return self.here(event, cluster, subscription=self.subscription, **fields)

    # --- logs

    def append(self, cluster: str) -> dict[str, int]:
        """The next position of a cluster's log."""
        entry = self.next_entry[cluster]
        self.next_entry[cluster] = entry + 1
        return {"ledger": self.ledger[cluster], "entry": entry}

    def store(
        self, messages: Iterable[int], cluster: str, source: str | None = None, producer: str = "web"
    ) -> int:
        for number in messages:
            place = self.append(cluster)
            self.positions[cluster, producer, number] = (place["ledger"], place["entry"])
            seq = self.here(
                "message.stored",
                cluster,
                peer=source,
                producer=producer,
                sequence_id=number,
                size_bytes=1000,
                **place,
            )
            self.stored_seq[cluster, producer, number] = seq
        return len(self.trace) - 1

    def publish(
        self,
        messages: Iterable[int],
        cluster: str = "a",
        to: Iterable[str] = (),
        producer: str = "web",
        keys: int | None = None,
    ) -> int:
        """Published, stored and acknowledged to the producer at a cluster, then stored at the others."""
        messages = list(messages)
        for number in messages:
            key = None if keys is None else number % keys
            self.here(
                "message.published", cluster, producer=producer, sequence_id=number, key=key, size_bytes=1000
            )
            self.store([number], cluster, producer=producer)
            self.here("message.receipted", cluster, producer=producer, sequence_id=number)
        for other in to:
            self.store(messages, other, cluster, producer)
        return len(self.trace) - 1

    def _message(self, number: int, cluster: str, producer: str) -> dict[str, int | str]:
        ledger, entry = self.positions[cluster, producer, number]
        return {"producer": producer, "sequence_id": number, "ledger": ledger, "entry": entry}

    # --- the application

    def deliver(self, messages: Iterable[int], cluster: str, client: str = "c", producer: str = "web") -> int:
        for number in messages:
            stored = self.stored_seq[cluster, producer, number]
            self.ours(
                "message.delivered",
                cluster,
                client=client,
                evidence_seq=stored,
                count=0,
                **self._message(number, cluster, producer),
            )
        return len(self.trace) - 1

    def ack(self, messages: Iterable[int], cluster: str, client: str = "c", producer: str = "web") -> int:
        for number in messages:
            self.ours(
                "message.acknowledged",
                cluster,
                client=client,
                reason="individual",
                **self._message(number, cluster, producer),
            )
        return len(self.trace) - 1

    def register(
        self, messages: Iterable[int], cluster: str, client: str = "c", producer: str = "web"
    ) -> int:
        for number in messages:
            self.ours(
                "message.registered", cluster, client=client, **self._message(number, cluster, producer)
            )
        return len(self.trace) - 1

    def consume(self, messages: Iterable[int], cluster: str) -> int:
        """Delivered, acknowledged and registered, one after the other."""
        for number in messages:
            self.deliver([number], cluster)
            self.ack([number], cluster)
            self.register([number], cluster)
        return len(self.trace) - 1

    # --- cursors

    def create(
        self, cluster: str, before: int | None = 0, reason: str = "consumer", replicated: bool = True
    ) -> int:
        """The subscription, its mark-delete before entry `before`; None: behind the last entry (Latest)."""
        entry = (self.next_entry[cluster] if before is None else before) - 1
        self.mark[cluster] = (self.ledger[cluster], entry)
        return self.ours(
            "subscription.created",
            cluster,
            ledger=self.ledger[cluster],
            entry=entry,
            reason=reason,
            count=int(replicated),
        )

    def move(self, cluster: str, entry: int, reason: str = "acknowledgement") -> int:
        """The mark-delete moves to an entry."""
        ledger, before = self.mark[cluster]
        self.mark[cluster] = (ledger, entry)
        return self.ours(
            "cursor.moved",
            cluster,
            ledger=ledger,
            entry=before,
            to_ledger=ledger,
            to_entry=entry,
            reason=reason,
        )

    def persist(self, cluster: str, count: int = 0) -> int:
        ledger, entry = self.mark[cluster]
        return self.ours("cursor.persisted", cluster, ledger=ledger, entry=entry, count=count)

    def recover(self, cluster: str, entry: int, count: int = 0) -> int:
        self.mark[cluster] = (self.ledger[cluster], entry)
        return self.ours("cursor.recovered", cluster, ledger=self.ledger[cluster], entry=entry, count=count)

    # --- snapshots and Updates

    def snapshot(
        self, cluster: str, number: int, entry: int, peers: dict[str, int], requested_us: int | None = None
    ) -> int:
        """Requested (now), completed `requested_us` later, with its local entry and its peers' entries."""
        self.here("snapshot.requested", cluster, snapshot=number, count=1)
        self.wait(2 * LATENCY_US if requested_us is None else requested_us)
        seq = self.here(
            "snapshot.completed",
            cluster,
            snapshot=number,
            ledger=self.ledger[cluster],
            entry=entry,
            reason="full",
        )
        for peer, to_entry in peers.items():
            self.here(
                "snapshot.position",
                cluster,
                peer=peer,
                snapshot=number,
                to_ledger=self.ledger[peer],
                to_entry=to_entry,
            )
        return seq

    def cached(self, cluster: str, number: int, entry: int) -> int:
        return self.ours(
            "snapshot.cached", cluster, snapshot=number, ledger=self.ledger[cluster], entry=entry
        )

    def update(self, cluster: str, number: int, entry: int, peers: dict[str, int]) -> int:
        """Snapshot used at `entry`, Update written with its peers' entries; returns the marker's number."""
        self.markers += 1
        self.ours("snapshot.used", cluster, snapshot=number, ledger=self.ledger[cluster], entry=entry)
        self.ours("update.written", cluster, snapshot=number, marker=self.markers, **self.append(cluster))
        for peer, to_entry in peers.items():
            self.ours(
                "update.position",
                cluster,
                peer=peer,
                snapshot=number,
                marker=self.markers,
                to_ledger=self.ledger[peer],
                to_entry=to_entry,
            )
        return self.markers

    def travel(self, event: str, cluster: str, peer: str, marker: int) -> int:
        """`marker.sent`, `marker.stored`, … of an Update."""
        return self.ours(event, cluster, peer=peer, marker=marker, reason="subscription_update")

    def apply(self, cluster: str, peer: str, marker: int, entry: int) -> int:
        """`peer`'s Update takes effect."""
        self.ours(
            "update.applied",
            cluster,
            peer=peer,
            marker=marker,
            to_ledger=self.ledger[cluster],
            to_entry=entry,
        )
        return self.move(cluster, entry, "update")

    # --- faults and failovers

    def crash(self, cluster: str) -> int:
        return self.row("cluster.crashed", cluster=cluster)

    def restart(self, cluster: str) -> int:
        return self.row("cluster.restarted", cluster=cluster)

    def fail_over(self, source: str, target: str, mode: str = "crash") -> int:
        return self.row(
            "failover.started", cluster=source, peer=target, subscription=self.subscription, reason=mode
        )

    def connect(self, cluster: str, client: str = "c") -> int:
        return self.ours("consumer.connected", cluster, client=client)

    # --- counting

    def counted(self, upto_seq: int | None = None) -> CountedRun:
        return count_run(self.trace, self.scenario, upto_seq)

    def failover(self, number: int = -1) -> CountedFailover:
        return self.counted().failovers[number]


def causes(failover: CountedFailover) -> dict[str, int]:
    """The causes with a count above zero."""
    return {name: count for name, count in failover.by_cause.items() if count}


def losses(failover: CountedFailover) -> dict[str, int]:
    """The causes of losses with a count above zero."""
    return {name: count for name, count in failover.lost_by_cause.items() if count}
