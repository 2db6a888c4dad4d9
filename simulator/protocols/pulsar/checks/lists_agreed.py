"""A replication list is set exactly when both clusters allow it: admin responses are checked again.

The rules are those of `NamespacesBase`, `PersistentTopicsBase` and PIP-433. `namespace.set-clusters` compares
when the setting requires it (always in the proposal, never before PIP-433), for the clusters that are new in
a list that contains this one. A remote whose own list does not contain it is not compared.
`topic.set-replication-clusters` compares partitioned topics, unless PIP-370's switch is off, and creates
missing topics and partitions in a remote before the list takes effect. The row of a refusal holds only the
reason, and the request is in the scenario's plan. So of two such commands at one instant neither refusal is
judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from simulator.protocols.pulsar.checks.administration import Administered, Row, words_of
from simulator.protocols.pulsar.checks.planned_commands import planned_arguments
from simulator.scenarios.model import Scenario

_COMPARED = ("allowAutoTopicCreation", "allowAutoTopicCreationType", "defaultNumPartitions")
_NAMESPACE, _TOPIC = "namespace.set-clusters", "topic.set-replication-clusters"


class ListsAgreed(Administered):
    """Compares each command with the state of both clusters just before."""

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
