"""Claims about what a failover counts, and about clients that reconnect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import Any, NamedTuple, Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch, position
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.model import TopicSpec
from simulator.scenarios.model import Distribution, Scenario
from simulator.scenarios.settings import OPTIONS

_CONSUMER_CONNECTED = CODE["consumer.connected"]
_CONSUMER_DISCONNECTED = CODE["consumer.disconnected"]
_REPLICATOR_CREATED = CODE["replicator.created"]
_TOPIC_LOADED = CODE["topic.loaded"]
_TOPIC_PARTITIONS_CHANGED = CODE["topic.partitions-changed"]
_TOPIC_UNLOADED = CODE["topic.unloaded"]


CLAIM = "The causes of a failover's duplicates and losses add up to its duplicates and losses."

PARTS = (
    # (parts, whole): the parts add up to the whole exactly
    ("by_cause", "duplicates"),
    ("lost_by_cause", "lost"),
)

WITHIN = (
    # (part, whole): the part is at most the whole
    ("lost_recovered", "lost"),
    ("stranded_unprocessed", "stranded"),
    ("stranded_returned", "stranded"),
    ("stranded_missing", "stranded"),
)


def causes_that_do_not_add_up(failovers: Sequence[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Counted failovers whose figures contradict each other, as (instant, reason).

    Absent figures are not judged.

    The causes of a failover's duplicates and losses add up to its duplicates and losses.

    Unlike other checks it reads no rows. It reads the counted failovers, as the summary prints them.
    """
    for number, failover in enumerate(failovers):
        words = f"failover {number} ({failover['subscription']}, {failover['from']} -> {failover['to']})"
        for parts, whole in PARTS:
            if parts in failover and sum(failover[parts].values()) != failover[whole]:
                named = ", ".join(f"{cause} {count}" for cause, count in failover[parts].items() if count)
                yield (
                    failover["at_us"],
                    f"{words} has {failover[whole]} {whole}, but {parts} holds {named or 'none'}",
                )
        for part, whole in WITHIN:
            if part in failover and not 0 <= failover[part] <= failover[whole]:
                yield failover["at_us"], f"{words} has {failover[whole]} {whole}, but {failover[part]} {part}"


class SafeByConfiguration:
    """Follows the replicators of every topic partition, keyed by name, because partitions may be added.

    Whether a topic's replication is safe by configuration, so that its Updates can be judged.

    It is safe when every ordered pair of the topic's clusters replicates since before the first message and
    was never removed from the list, no producer restricts where its messages are replicated, no unsafe option
    is on, and an Update for a missing subscription creates it at Earliest. Elsewhere an Update may skip
    messages because of the configuration. They are counted as lost.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._clusters = _safe_topics(scenario)
        # topic -> pairs that replicate from the first message on
        self._complete: dict[int, set[tuple[int, int]]] = {}
        self._broken: set[int] = set()  # topics with a pair that was added late or removed

    def copy(self) -> SafeByConfiguration:
        """An independent copy."""
        copy = object.__new__(SafeByConfiguration)
        copy._clusters = self._clusters
        copy._complete = {topic: set(pairs) for topic, pairs in self._complete.items()}
        copy._broken = set(self._broken)
        return copy

    def follow(self, known: Knowledge, row: tuple[int, ...]) -> None:
        """Apply a `replicator.created` or `replicator.removed` row.

        Its columns are (seq, type, cluster, peer, topic, ledger, entry).
        """
        seq, kind, cluster, peer, topic, ledger, entry = row
        log = known.logs.of(cluster, topic)
        if kind == _REPLICATOR_CREATED and not log.messages(log.between(-1, position(ledger, entry), seq)):
            self._complete.setdefault(topic, set()).add((cluster, peer))
        else:
            self._broken.add(topic)

    def holds(self, stretch: Stretch, topic: int) -> bool:
        """Whether Updates of this topic are judged now."""
        name = stretch.name(topic)
        clusters = self._clusters.get(name) or self._clusters.get(name.rpartition("-partition-")[0])
        if clusters is None or topic in self._broken:
            return False
        wanted = len(clusters) * (len(clusters) - 1)
        return len(self._complete.get(topic, ())) == wanted


def _safe_topics(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """Clusters of each topic whose configuration is safe from the start."""
    options = {name: scenario.options.get(name, option.default) for name, option in OPTIONS.items()}
    if options["unsafePartialSnapshotAfter"] or options["missingSubscriptionCreation"] != "earliest":
        return {}
    restricted = {
        producer.topic
        for producer in scenario.producers.values()
        if producer.replicate_to is not None
        and set(scenario.topics[producer.topic].clusters) - {producer.cluster, *producer.replicate_to}
    }
    return {
        name: topic.clusters
        for name, topic in scenario.topics.items()
        if name not in restricted and _every_pair(topic)
    }


def _every_pair(topic: TopicSpec) -> bool:
    return topic.replication is None or set(topic.replication) >= set(permutations(topic.clusters, 2))


FIRST_US, MOST_US = 100_000, 60_000_000
_READ = (
    "consumer.connected",
    "consumer.disconnected",
    "client.changed",
    "client.redirected",
    "topic.loaded",
    "topic.unloaded",
    "topic.partitions-changed",
)
NEVER_US = 1 << 62
_BY_BROKER = ("unload", "crash")

Place = tuple[int, int]
"""Fields: (cluster, log)."""


class _Wait(NamedTuple):
    """`lost` logs, and the next try at `next_us`, after `tries` that failed."""

    lost: tuple[Place, ...]
    next_us: int
    tries: int

    def after(self) -> _Wait:
        return self._replace(
            next_us=self.next_us + min(FIRST_US << min(self.tries + 1, 20), MOST_US), tries=self.tries + 1
        )


class ConsumerReconnects(Check):
    """Keeps each consumer's connections and lost logs, and the topics that brokers serve.

    Backoff of a consumer that lost its broker: 100 ms, doubled with each attempt up to 60 s.

    The rule is `Backoff` of Pulsar's client, without a limit on tries. No row records a try, but rows record
    when the consumer lost its broker and when it is connected again, which can only be at a try. A consumer
    waits once for all partitions that it has lost. Judged are consumers that name their cluster, were
    connected to everything before, and may connect whenever the broker serves the topic. Exclusive consumers,
    those with a schema or a role, and runs where connecting takes time or policies create and delete topics
    are not judged. A consumer that is started, stopped or redirected is judged as new.
    """

    claim = (
        "A consumer that lost its broker reconnects after 100 ms, doubled with each attempt up to"
        " 60 s, without end, and succeeds at the first attempt at which the broker serves its "
        "topic."
    )

    def begin(self, scenario: Scenario) -> None:
        topics_change = bool(scenario.namespaces or scenario.tenants) or any(
            topic.exists is not None for topic in scenario.topics.values()
        )
        slow = any(broker.connect_us for broker in scenario.brokers.values())
        subscribing = scenario.options.get(
            "subscribeTime", OPTIONS["subscribeTime"].default_under(scenario.options)
        )
        slow = slow or subscribing != Distribution()
        judged = () if topics_change or slow else scenario.consumers.items()
        self.judged = {
            name: max(1, scenario.topics[scenario.subscriptions[spec.subscription].topic].partitions or 0)
            for name, spec in judged
            if scenario.subscriptions[spec.subscription].type != "Exclusive"
            and spec.schema is None
            and spec.role is None
        }
        self.connected: dict[int, tuple[Place, ...]] = {}
        self.waits: dict[int, _Wait] = {}
        self.served: dict[Place, int] = {}  # the time since when brokers serve it
        self.next_due_us = NEVER_US

    def copy_into(self, copy: Self) -> None:
        copy.judged, copy.next_due_us = self.judged, self.next_due_us
        copy.connected, copy.waits, copy.served = dict(self.connected), dict(self.waits), dict(self.served)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Consumers that reconnected between their tries, or not at a try."""
        if not self.judged:
            return
        for seq, kind, at_us, cluster, topic, client, reason in stretch.of(*_READ).records(
            "type", "at_us", "cluster", "topic", "client", "reason"
        ):
            yield from self._overdue(stretch, at_us)
            place = cluster, topic
            if kind == _TOPIC_LOADED:
                self.served[place] = at_us
            elif kind == _TOPIC_UNLOADED:
                self.served.pop(place, None)
            elif kind == _TOPIC_PARTITIONS_CHANGED:
                # one that connects late to a new partition is in backoff for it: judge none from now on
                self.judged, self.waits, self.next_due_us = {}, {}, NEVER_US
                return
            elif stretch.name(client) in self.judged:
                yield from (
                    (seq, why)
                    for why in self._take(
                        stretch, kind, at_us, place, client, stretch.name(reason) in _BY_BROKER
                    )
                )
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def _take(
        self, stretch: Stretch, kind: int, at_us: int, place: Place, client: int, by_broker: bool
    ) -> Iterator[str]:
        wait, connected = self.waits.get(client), self.connected.get(client, ())
        if kind == _CONSUMER_DISCONNECTED:
            whole = len(connected) == self.judged[stretch.name(client)] and all(
                one[0] == place[0] for one in connected
            )
            self.connected[client] = tuple(one for one in connected if one != place)
            if not by_broker:
                self.waits.pop(client, None)
            elif wait is not None:
                self.waits[client] = wait._replace(lost=(*wait.lost, place))
            elif whole:
                self._wait(client, _Wait((place,), at_us + FIRST_US, 0))
        elif kind == _CONSUMER_CONNECTED:
            self.connected[client] = (*connected, place)
            if wait is not None and place in wait.lost:
                yield from self._back(stretch, at_us, place, client, wait)
        else:
            self.waits.pop(client, None)

    def _back(self, stretch: Stretch, at_us: int, place: Place, client: int, wait: _Wait) -> Iterator[str]:
        if at_us != wait.next_us:
            yield (
                f"{stretch.name(client)} was back on {stretch.name(place[1])} at {at_us / 1e6:g} s, and "
                f"was to try at {wait.next_us / 1e6:g} s"
            )
            del self.waits[client]
            return
        lost = tuple(one for one in wait.lost if one != place)
        self.waits[client] = wait._replace(lost=lost)
        if not lost:
            del self.waits[client]

    def _wait(self, client: int, wait: _Wait) -> None:
        self.waits[client] = wait
        self.next_due_us = min(self.next_due_us, wait.next_us)

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        """Consumers that are still waiting after a try at which a broker served the topic."""
        if now_us <= self.next_due_us:
            return
        self.next_due_us = NEVER_US
        for client, wait in list(self.waits.items()):
            while wait.next_us < now_us:
                missed = [place for place in wait.lost if self.served.get(place, NEVER_US) < wait.next_us]
                if missed:
                    seq = stretch.first + int(
                        np.searchsorted(stretch.values("at_us"), wait.next_us, side="right")
                    )
                    yield (
                        seq,
                        (
                            f"{stretch.name(client)} was to be back on {stretch.name(missed[0][1])} at "
                            f"{wait.next_us / 1e6:g} s, and was not"
                        ),
                    )
                    del self.waits[client]
                    break
                wait = wait.after()
            else:
                self._wait(client, wait)


FIRST_US, MOST_US = 100_000, 60_000_000
_LOOKUP_RETRIES_READ = (
    "lookup.failed",
    "lookup.answered",
    "client.changed",
    "consumer.disconnected",
    "producer.disconnected",
    "consumer.connected",
    "producer.connected",
)
_FAILED, _ANSWERED, _CHANGED, *_CONNECTIONS = (CODE[name] for name in _LOOKUP_RETRIES_READ)
_LEFT, _CONNECTED = _CONNECTIONS[:2], _CONNECTIONS[2:]


class LookupRetries(Check):
    """Keeps when each refused client must retry.

    Backoff of a client after a refusal by the LookupService: 100 ms, doubled up to 60 s.

    There is no limit on tries (docs/pulsar.md). The refusal row holds the number of refusals in
    succession, and the next request reaches the service a round trip and that wait later. Not judged are a
    client that lost several brokers one after another, which sends a request for each, and a producer after
    the last message of its plan.
    """

    claim = (
        "A client that the LookupService refused retries after 100 ms, doubled with each refusal "
        "in a row up to 60 s, without end."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        self.trip_us = scenario.options.get("lookupLatency", OPTIONS["lookupLatency"].default)
        self.ending = frozenset(
            name
            for name, spec in scenario.producers.items()
            if spec.count is not None or spec.at_us or spec.stop_us is not None
        )
        self.due: dict[int, int] = {}  # client -> instant
        self.next_due_us = NEVER_US
        self.lost: dict[int, int] = {}  # client -> number of brokers lost since it was last connected

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.trip_us, copy.ending, copy.next_due_us = (
            self.watching,
            self.trip_us,
            self.ending,
            self.next_due_us,
        )
        copy.due, copy.lost = dict(self.due), dict(self.lost)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Requests at another time than the backoff allows, and missing ones."""
        if not self.watching:
            return
        for seq, kind, at_us, client, count in stretch.of(*_LOOKUP_RETRIES_READ).records(
            "type", "at_us", "client", "count"
        ):
            yield from self._overdue(stretch, at_us)
            if kind in (_FAILED, _ANSWERED):
                due_us = self.due.pop(client, at_us)
                if at_us < due_us:
                    yield (
                        seq,
                        (
                            f"{stretch.name(client)} asked {(due_us - at_us) / 1e6:.3f} s before its wait "
                            "was over"
                        ),
                    )
            if kind == _FAILED and self.lost.get(client, 0) < 2:
                self.due[client] = at_us + self.trip_us + min(FIRST_US << min(count - 1, 20), MOST_US)
                self.next_due_us = min(self.next_due_us, self.due[client])
            elif kind == _CHANGED:
                self.due.pop(client, None)
            elif kind in _LEFT:
                self.due.pop(client, None)
                self.lost[client] = self.lost.get(client, 0) + 1
            elif kind in _CONNECTED and self.lost.get(client, 0) < 2:
                self.lost[client] = 0
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        if now_us <= self.next_due_us:
            return
        for client, due_us in list(self.due.items()):
            if due_us < now_us:
                del self.due[client]
                if stretch.name(client) not in self.ending:
                    seq = stretch.first + int(np.searchsorted(stretch.values("at_us"), due_us, side="right"))
                    yield seq, f"{stretch.name(client)} was to ask again at {due_us / 1e6:.3f} s, and did not"
        self.next_due_us = min(self.due.values(), default=NEVER_US)
