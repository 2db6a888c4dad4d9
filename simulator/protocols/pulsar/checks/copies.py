"""Claims about what one cluster asks of another: requests copied, lists agreed, replicators started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.administration import FOLLOWED, Administered, Row, words_of
from simulator.protocols.pulsar.checks.knowledge import Knowledge, planned_arguments
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NULL

_CLUSTER_CRASHED = CODE["cluster.crashed"]
_CLUSTER_LOST = CODE["cluster.lost"]
_CLUSTER_MIGRATION_MARKED = CODE["cluster.migration-marked"]
_CLUSTER_RESTARTED = CODE["cluster.restarted"]
_LINK_CUT = CODE["link.cut"]
_LINK_HEALED = CODE["link.healed"]
_LINK_SLOWED = CODE["link.slowed"]
_REPLICATOR_CREATED = CODE["replicator.created"]
_REPLICATOR_REMOVED = CODE["replicator.removed"]
_REPLICATOR_STARTED = CODE["replicator.started"]
_REPLICATOR_START_REFUSED = CODE["replicator.start-refused"]
_TOPIC_LOADED = CODE["topic.loaded"]
_TOPIC_TERMINATED = CODE["topic.terminated"]
_TOPIC_UNLOADED = CODE["topic.unloaded"]


COPIED = "copied-request"
TRIPS = 4
"""The limit, in multiples of the longest latency.

A request goes one way, which takes three times as long where a link reorders.
"""

Request = tuple[str, str, str, str]
"""Fields: (command, cluster that received it, other cluster, topic)."""


class RequestsCopied(Administered):
    """Keeps the requests in flight: their deadlines and the partitions requested.

    Requests about partitioned topics are copied to the clusters that they replicate to.

    The sources are PIP-370, PIP-433 and #25312. A creation is copied as implemented and before, unless the
    broker may not create topics remotely or the request had `createLocalTopicOnly`. More partitions are
    always copied. The result has a row in the other cluster: the topic, more partitions, or the reason for a
    refusal. Over links without a latency bound nothing is claimed. Where a link is made slower, later
    requests may take as long as it does.
    """

    claim = (
        "A request to create a partitioned topic, or to give it more partitions, reaches each cluster that "
        "the topic replicates to: it does there what it does here, or why not is logged."
    )
    reads = ("topic.creation-refused",)

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        latencies = [link.latency for link in scenario.links.values()]
        # over other links nothing is claimed
        self.bounded = all(one.kind in ("constant", "uniform") for one in latencies)
        self.trip_us = TRIPS * max((max(one.value_us, one.high_us) for one in latencies), default=0)
        self.due: dict[Request, tuple[int, int]] = {}

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.bounded, copy.trip_us, copy.due = self.bounded, self.trip_us, dict(self.due)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Requests that were copied but have no row in the other cluster."""
        if not self.bounded:
            return
        for row in self.rows(stretch):
            yield from self._overdue(stretch, row.at_us)
            self.judge(row)
            if row.kind in FOLLOWED:
                self.has.follow(row)
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def judge(self, row: Row) -> Iterable[str]:
        """Record the sending of a request and its result."""
        if row.kind == "command.applied" and row.reason == "link.slow":
            self.trip_us = max(self.trip_us, TRIPS * row.arguments()["latency_us"])
        elif row.kind == "command.applied" and row.reason in ("topic.create", "topic.update-partitions"):
            self._sent(row)
        elif row.reason == COPIED:
            for command in ("topic.create", "topic.update-partitions"):
                self.due.pop((command, row.peer, row.cluster, row.topic), None)
        return ()

    def _sent(self, row: Row) -> None:
        has, given = self.has, row.arguments()
        cluster, base, partitions = given["cluster"], given["topic"], given["partitions"]
        if base in has.lists_unknown:
            return
        if row.reason == "topic.create" and (
            not partitions
            or given["createLocalTopicOnly"]
            or has.rule == "proposal"
            or not has.creates_remotely[cluster]
        ):
            return
        copied = row.reason == "topic.create"
        for remote in has.namespace_remotes(cluster, base) if copied else has.followers(cluster, base):
            self.due[row.reason, cluster, remote, base] = (row.at_us + self.trip_us, partitions)

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        for (command, cluster, remote, base), (due_us, partitions) in list(self.due.items()):
            if due_us >= now_us:
                continue
            del self.due[command, cluster, remote, base]
            if self.has.shapes.get((remote, base)) != partitions:
                seq = stretch.first + int(np.searchsorted(stretch.values("at_us"), due_us, side="right"))
                yield (
                    seq,
                    (
                        f"{command} of {base} with {partitions} partitions in {cluster} had no effect in "
                        f"{remote}"
                    ),
                )


_CREATE, _CREATION, _STRATEGY, _UPDATES = (
    "namespace.create",
    "namespace.set-auto-topic-creation",
    "namespace.set-schema-compatibility-strategy",
    "namespace.set-is-allow-auto-update-schema",
)
_JUDGED = (_CREATE, _CREATION, _STRATEGY, _UPDATES)


class PolicyRequests(Administered):
    """Compares each request with the namespaces just before.

    Requests that change a namespace's policies: the admin service's responses are checked again.

    The rules are those of `NamespacesBase` and PIP-433, with codes 204, 400, 404, 409 and 412. A refusal's
    row holds only the reason, and the request is in the scenario's plan (`planned`).
    """

    claim = (
        "A request about a namespace's policies is done when, and only when, the namespace is there (to be "
        "created: is not), counts of partitions fit the type of topic, and replicators may register what "
        "clients may."
    )
    reads = ("command.refused",)

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.planned = planned_arguments(scenario)

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.planned = self.planned

    def judge(self, row: Row) -> Iterable[str]:
        """Requests whose response contradicts the rules."""
        if row.kind not in ("command.applied", "command.refused") or row.reason not in _JUDGED:
            return []
        accepted = row.kind == "command.applied"
        given = row.arguments() if accepted else self.planned.get((row.at_us, row.reason))
        if given is None:
            return []
        wrong = list(self._wrong(row.reason, given))
        if accepted:
            return [
                f"{row.reason} of {given['namespace']} in {given['cluster']} was done, and {why}"
                for why in wrong[:1]
            ]
        refused = not wrong and given["cluster"] not in self.has.down
        return (
            [f"{row.reason} of {given['namespace']} in {given['cluster']} was refused, which nothing forbids"]
            if refused
            else []
        )

    def _wrong(self, command: str, given: dict[str, Any]) -> Iterator[str]:
        there = (given["cluster"], given["namespace"]) in self.has.policies
        if command == _CREATE:
            yield from ("it was there",) if there else ()
            tenant = given["namespace"].partition("/")[0]
            if tenant in self.has.scenario.tenants and (given["cluster"], tenant) not in self.has.tenants:
                yield "there is no such tenant"
            return
        if not there:
            yield "there is no such namespace"
        kind, partitions = given.get("allowAutoTopicCreationType"), given.get("defaultNumPartitions")
        if command == _CREATION and given["allowAutoTopicCreation"]:
            if kind == "partitioned" and not partitions:
                yield "a partitioned topic has at least one partition"
            elif kind != "partitioned" and (partitions or 0) > 1:
                yield f"{partitions} partitions are more than a non-partitioned topic has"
        own = given.get("enableForReplicator")
        if command == _UPDATES and own is not None and self.has.rule == "before":
            yield "there was no such switch before PIP-433"
        if command == _UPDATES and given["enabled"] and own is False:
            yield "clients may then register what replicators may not"


_COMPARED = ("allowAutoTopicCreation", "allowAutoTopicCreationType", "defaultNumPartitions")
_NAMESPACE, _TOPIC = "namespace.set-clusters", "topic.set-replication-clusters"


class ListsAgreed(Administered):
    """Compares each command with the state of both clusters just before.

    A replication list is set exactly when both clusters allow it: admin responses are checked again.

    The rules are those of `NamespacesBase`, `PersistentTopicsBase` and PIP-433. `namespace.set-clusters`
    compares when the setting requires it (always in the proposal, never before PIP-433), for the clusters
    that are new in a list that contains this one. A remote whose own list does not contain it is not
    compared. `topic.set-replication-clusters` compares partitioned topics, unless PIP-370's switch is off,
    and creates missing topics and partitions in a remote before the list takes effect. The row of a refusal
    holds only the reason, and the request is in the scenario's plan. So of two such commands at one instant
    neither refusal is judged.
    """

    claim = (
        "A replication list is set when, and only when, the clusters that it names are allowed in it "
        "and, where both sides are compared, have the same topics"
        " and the same auto-creation; a partitioned topic with a list of its own is then in each of them."
    )
    reads = ("command.refused",)

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.planned = planned_arguments(scenario)
        # (cluster, topic, list) of a command until its list is in force
        self.given: tuple[str, str, tuple[str, ...]] | None = None

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.planned, copy.given = self.planned, self.given

    def judge(self, row: Row) -> Iterable[str]:
        """Commands whose response contradicts the rules."""
        if row.kind == "policy.changed" and self.given is not None and row.topic:
            (cluster, topic, listed), self.given = self.given, None
            return self._lacking(cluster, topic, listed)
        if row.kind not in ("command.applied", "command.refused") or row.reason not in (_NAMESPACE, _TOPIC):
            return []
        accepted = row.kind == "command.applied"
        given = row.arguments() if accepted else self.planned.get((row.at_us, row.reason))
        return (
            []
            if given is None or given.get("topic") in self.has.lists_unknown
            else self._answered(row.reason, given, accepted)
        )

    def _answered(self, command: str, given: dict[str, Any], accepted: bool) -> list[str]:
        listed, cluster = sorted(given["clusters"]), given["cluster"]
        if command == _NAMESPACE:
            whose = given["namespace"]
            wrong = [
                *self._namespace_list(cluster, whose, listed),
                *self._compared(cluster, whose, listed, given["compareTopicPartitions"]),
            ]
        else:
            whose = given["topic"]
            wrong = [
                *self._topic_list(cluster, whose, listed, given["global"]),
                *self._one_shape(cluster, whose, listed),
            ]
            self.given = (cluster, whose, tuple(listed)) if accepted else self.given
        if accepted:
            return [
                f"{whose} in {cluster} was given the list [{', '.join(listed)}], and {why}"
                for why in wrong[:1]
            ]
        allows = cluster not in self.has.down and not wrong
        return (
            [f"{whose} in {cluster} was refused the list [{', '.join(listed)}], which nothing forbids"]
            if allows
            else []
        )

    def _lacking(self, cluster: str, topic: str, listed: tuple[str, ...]) -> list[str]:
        has, here = self.has, self.has.shapes.get((cluster, topic))
        creates = here and has.rule != "proposal" and has.creates_remotely[cluster]
        return [
            f"{topic} was given a list with {name}, which does not have it"
            for name in listed
            if creates and (name, topic) not in has.shapes
        ]

    # --- the replication list

    def _namespace_list(self, cluster: str, namespace: str, listed: list[str]) -> Iterator[str]:
        if (cluster, namespace) not in self.has.policies:
            yield f"{cluster} has no such namespace"
            return
        yield from self._members(listed)
        allowed = self.has.policies[cluster, namespace].get("allowedClusters")
        yield from (
            f"{name} is not among the allowed clusters" for name in listed if allowed and name not in allowed
        )

    def _topic_list(self, cluster: str, topic: str, listed: list[str], everywhere: bool) -> Iterator[str]:
        if not self.has.setting(cluster, "topicLevelPoliciesEnabled"):
            yield f"{cluster} has no policies of topics"
        if (cluster, topic) not in self.has.shapes:
            yield f"{cluster} has no such topic"
        present = self.has.namespace_list(cluster, self.has.scenario.topics[topic].namespace)
        if cluster not in listed and not everywhere:
            yield f"it lacks {cluster} itself"
        if everywhere and len(present) < 2:
            yield "its namespace is not replicated, by which alone a global list is copied"
        elif everywhere:
            yield from (
                f"its namespace is not replicated to {name}" for name in listed if name not in present
            )
        yield from self._members(listed)

    def _members(self, listed: list[str]) -> Iterator[str]:
        if not listed:
            yield "it names no cluster"
        for name in listed:
            spec = self.has.scenario.clusters.get(name)
            if spec is None:
                yield f"there is no cluster {name}"
            else:
                yield from (
                    f"{name} is a peer cluster of {peer}"
                    for peer in spec.peer_clusters or ()
                    if peer in listed
                )

    # --- comparison of both clusters

    def _compared(self, cluster: str, namespace: str, listed: list[str], asked: bool) -> Iterator[str]:
        has = self.has
        compares = has.rule != "before" and (has.rule != "implemented" or asked)
        if not compares or cluster not in listed or (cluster, namespace) not in has.policies:
            return
        present = has.namespace_list(cluster, namespace)
        for name in listed:
            if name == cluster or name in present:
                continue
            if not has.answers(cluster, name):
                yield f"{name} could not be asked"
            elif (name, namespace) not in has.policies:
                yield f"{name} has no such namespace"
            elif name in has.namespace_list(name, namespace):
                yield from self._differences(cluster, name, namespace)

    def _differences(self, cluster: str, remote: str, namespace: str) -> Iterator[str]:
        has = self.has
        for base, topic in has.scenario.topics.items():
            here, there = has.shapes.get((cluster, base)), has.shapes.get((remote, base))
            if topic.namespace == namespace and None not in (here, there) and here != there:
                yield f"{base} is {words_of(here)} in {cluster} and {words_of(there)} in {remote}"
        ours, theirs = (has.policies[name, namespace]["changeEventsPartitions"] for name in (cluster, remote))
        if None not in (ours, theirs) and ours != theirs:
            yield f"__change_events is {words_of(ours)} in {cluster} and {words_of(theirs)} in {remote}"
        first = 0 if has.rule == "proposal" else 1  # as implemented, the allow switch is not compared
        for name, mine, other in list(
            zip(
                _COMPARED,
                has.auto_creation(cluster, namespace),
                has.auto_creation(remote, namespace),
                strict=True,
            )
        )[first:]:
            if mine != other:
                yield f"{name} in force is {mine} in {cluster} and {other} in {remote}"

    def _one_shape(self, cluster: str, base: str, listed: list[str]) -> Iterator[str]:
        has, here = self.has, self.has.shapes.get((cluster, base))
        if not here or (has.rule != "proposal" and not has.creates_remotely[cluster]):
            return
        for name in listed:
            if name == cluster or name not in has.scenario.clusters:
                continue
            there = has.shapes.get((name, base))
            if not has.answers(cluster, name):
                yield f"{name} could not be asked"
            elif there not in (None, here):
                yield f"{base} is {words_of(here)} in {cluster} and {words_of(there)} in {name}"
            elif (
                there is None
                and has.rule != "proposal"
                and has.creates_remotely[cluster]
                and not self._takes(name, base)
            ):
                yield f"{name} would have to create {base}, and its namespace does not take it"

    def _takes(self, cluster: str, base: str) -> bool:
        return (
            cluster,
            self.has.scenario.topics[base].namespace,
        ) in self.has.policies and not self.has.kept_out(cluster, base)


FIRST_US, MOST_US, JITTER_PERCENT = 100_000, 60_000_000, 5
LONGEST_US = MOST_US * (100 + JITTER_PERCENT) // 100
HIGHEST = (MOST_US // FIRST_US).bit_length()
"""After so many doublings the wait is the longest."""

_OWN = (
    "replicator.created",
    "replicator.removed",
    "replicator.started",
    "replicator.start-refused",
    "cluster.migration-marked",
)
_AROUND = (
    "topic.loaded",
    "topic.unloaded",
    "topic.deleted",
    "topic.terminated",
    "link.cut",
    "link.healed",
    "link.slowed",
    "cluster.crashed",
    "cluster.lost",
    "cluster.restarted",
)

_COLUMNS = ("at_us", "type", "cluster", "peer", "topic", "count", "duration_us", "reason")
NEVER_US = 1 << 62

Link = tuple[int, int, int]
"""Fields: (from, to, log)."""


@dataclass(frozen=True, slots=True)
class _Waits:
    """`failed` starts so far, of which those above `base` count for the backoff (None: unknown).

    It waits from `since_us` to `until_us` (0: it does not wait).
    """

    failed: int = 0
    base: int | None = 0
    since_us: int = 0
    until_us: int = 0
    due_us: int = 0


class StartRetries(Check):
    """Follows each replicator's failed starts, and the changes that may block the next one.

    Backoff of a replicator after a refused start: 100 ms, doubled up to 60 s, 5 % jitter, no limit.

    The rule is that of `AbstractReplicator` and PIP-433. Each refusal row holds how many starts have failed
    and how long the wait is; a row without a wait means that it does not try again. A start that fails
    because no link is up has no row but counts in the number, so between two refusals the wait has doubled as
    often as the number grew. A successful start resets the waits, and so does a load. The next start is not
    before the wait is over, and not later than two round trips after it (the second is for a request to
    create). Where clusters, links or topics changed meanwhile or blocked it, it is not later than the longest
    wait after that. Over links without a latency bound, a missing start is not judged.
    """

    claim = (
        "A replicator that the start check refused retries after 100 ms, doubled with each failed"
        " start up to 60 s with 5 % jitter, without end, unless its row has no wait."
    )

    def begin(self, scenario: Scenario) -> None:
        self.judges = not scenario.tenants  # a migration starts and ends replicators at other times
        latencies = [link.latency for link in scenario.links.values()]
        self.bounded = all(latency.kind in ("constant", "uniform") for latency in latencies)
        self.trip_us = max((max(latency.value_us, latency.high_us) for latency in latencies), default=0)
        self.waits: dict[Link, _Waits] = {}
        self.next_due_us = NEVER_US  # before it, no start is overdue
        self.disturbed_us = -1
        self.down: dict[int, None] = {}
        self.cut: dict[tuple[int, int], None] = {}
        self.away: dict[tuple[int, int], None] = {}  # logs of a cluster that no broker serves
        self.terminated: dict[tuple[int, int], None] = {}  # logs that accept no producer

    def copy_into(self, copy: Self) -> None:
        copy.judges, copy.bounded, copy.trip_us = self.judges, self.bounded, self.trip_us
        copy.next_due_us, copy.disturbed_us = self.next_due_us, self.disturbed_us
        copy.waits, copy.down, copy.cut, copy.away = (
            dict(self.waits),
            dict(self.down),
            dict(self.cut),
            dict(self.away),
        )
        copy.terminated = dict(self.terminated)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Waits of the wrong length, starts at the wrong time, and missing starts."""
        if not self.judges:
            return
        rows = stretch.of(*_OWN, *_AROUND)
        if len(rows):
            stretch.read_more("duration_us")
            for seq, *row in rows.records(*_COLUMNS):
                yield from self._overdue(stretch, row[0])
                yield from (
                    (seq, f"{_words(stretch, (row[2], row[3], row[4]))} {why}")
                    for why in self._take(stretch, *row)
                )
                if not self.judges:
                    return
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def _take(
        self,
        stretch: Stretch,
        at_us: int,
        kind: int,
        cluster: int,
        peer: int,
        topic: int,
        count: int,
        duration_us: int,
        reason: int,
    ) -> Iterator[str]:
        link = cluster, peer, topic
        if (
            kind in (_REPLICATOR_STARTED, _REPLICATOR_START_REFUSED)
            and link in self.waits
            and at_us < self.waits[link].until_us
        ):
            yield f"was tried {(self.waits[link].until_us - at_us) / 1e6:.3f} s before its wait was over"
        if kind == _REPLICATOR_START_REFUSED:
            yield from self._refused(link, at_us, count, duration_us)
        elif kind == _REPLICATOR_CREATED:
            self.waits[link] = _Waits()
        elif kind in (_REPLICATOR_STARTED, _REPLICATOR_REMOVED):
            self._restart(link)
        elif kind == _CLUSTER_MIGRATION_MARKED:
            self.judges, self.waits, self.next_due_us = False, {}, NEVER_US
        else:
            self.disturbed_us = at_us
            self._around(
                kind,
                cluster,
                peer,
                topic,
                duration_us,
                kind == _TOPIC_UNLOADED and stretch.name(reason) == "deleted",
            )

    # --- a refusal

    def _refused(self, link: Link, at_us: int, count: int, wait_us: int) -> Iterator[str]:
        before = self.waits.get(link, _Waits(base=None))
        if count <= before.failed:
            yield f"was refused for the {count}. time after {before.failed} failed starts"
        if wait_us == NULL:  # a closed producer does not try again
            self._wait(link, _Waits(count, None))
            return
        doubled = _doubled(wait_us)
        if doubled is None:
            yield f"waits {wait_us / 1e6:.3f} s, which is 100 ms doubled no number of times"
        elif before.base is None and count - 1 - doubled < before.failed and doubled < HIGHEST:
            yield f"waits {wait_us / 1e6:.3f} s after a new beginning, as after {doubled + 1} failed starts"
        elif before.base is not None and doubled != min(count - 1 - before.base, HIGHEST):
            yield f"waits {wait_us / 1e6:.3f} s after {count - before.base} failed starts"
        base = before.base if before.base is not None else count - 1 - (doubled or 0)
        self._wait(link, _Waits(count, base, at_us, at_us + wait_us, at_us + wait_us + 4 * self.trip_us))

    def _restart(self, link: Link) -> None:
        before = self.waits.get(link)
        if before is not None:
            self.waits[link] = _Waits(before.failed, None)

    # --- overdue starts

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        """Replicators whose start is missing at the first row after it was due; each is named once."""
        if not self.bounded or now_us <= self.next_due_us:
            return
        self.next_due_us = NEVER_US
        for link in self.waits:
            while 0 < (due_us := self.waits[link].due_us) < now_us:
                later_us = self._later(link, self.waits[link])
                if later_us is None:
                    seq = stretch.first + int(np.searchsorted(stretch.values("at_us"), due_us, side="right"))
                    yield (
                        seq,
                        (
                            f"{_words(stretch, link)} was to be tried again at "
                            f"{self.waits[link].until_us / 1e6:.3f} s, and was not"
                        ),
                    )
                self._wait(link, replace(self.waits[link], due_us=later_us or 0))
            self._wait(link, self.waits[link])

    def _later(self, link: Link, one: _Waits) -> int | None:
        """A later deadline for the start, after a change or outage; None without one."""
        slack_us = LONGEST_US + 4 * self.trip_us
        if self.disturbed_us >= one.since_us and one.due_us < self.disturbed_us + slack_us:
            return self.disturbed_us + slack_us
        return one.due_us + slack_us if self._in_the_way(link) else None

    def _wait(self, link: Link, one: _Waits) -> None:
        self.waits[link] = one
        if one.due_us:
            self.next_due_us = min(self.next_due_us, one.due_us)

    def _in_the_way(self, link: Link) -> bool:
        source, target, log = link
        return (
            (source, target) in self.cut
            or target in self.down
            or (target, log) in self.away
            or (target, log) in self.terminated
        )

    def _around(self, kind: int, cluster: int, peer: int, topic: int, latency_us: int, deleted: bool) -> None:
        if kind == _TOPIC_UNLOADED:
            if deleted:
                self.terminated.pop((cluster, topic), None)
            else:
                self.away[cluster, topic] = None
            for link in [link for link in self.waits if (link[0], link[2]) == (cluster, topic)]:
                self._restart(link)
        elif kind == _TOPIC_LOADED:
            self.away.pop((cluster, topic), None)
        elif kind == _TOPIC_TERMINATED:
            self.terminated[cluster, topic] = None
        elif kind == _LINK_CUT:
            self.cut[cluster, peer] = None
        elif kind == _LINK_HEALED:
            self.cut.pop((cluster, peer), None)
        elif kind == _LINK_SLOWED:
            self.trip_us = max(self.trip_us, latency_us)
        elif kind in (_CLUSTER_CRASHED, _CLUSTER_LOST):
            self.down[cluster] = None
        elif kind == _CLUSTER_RESTARTED:
            self.down.pop(cluster, None)


def _doubled(wait_us: int) -> int | None:
    """How many times 100 ms were doubled for this wait, within the jitter."""
    for times in range(HIGHEST + 1):
        wanted_us = min(FIRST_US << times, MOST_US)
        if abs(wait_us - wanted_us) * 100 <= wanted_us * JITTER_PERCENT:
            return times
    return None


def _words(stretch: Stretch, link: Link) -> str:
    return f"{stretch.name(link[2])}'s replicator {stretch.name(link[0])} -> {stretch.name(link[1])}"
