"""Claims about topics, policies, permissions and schemas of each cluster.

They are created, copied, changed and deleted as the rules allow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from simulator.checks.check import Check, all_broken, first_broken
from simulator.checks.stretch import PAST_EVERY_LEDGER, Rows, Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge, planned_arguments
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.model import NamespaceSpec
from simulator.protocols.pulsar.scenario.policies import POLICIES
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.scenarios.settings import OPTIONS, SETTINGS
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
_TOPIC_DELETED = CODE["topic.deleted"]
_TOPIC_LOADED = CODE["topic.loaded"]
_TOPIC_TERMINATED = CODE["topic.terminated"]
_TOPIC_UNLOADED = CODE["topic.unloaded"]


# --- the state of each cluster's admin service when a row is read
#
# It covers topics and their shapes, namespaces with their policies, settings, replication lists, and the
# state of clusters and links. The sources are the scenario and the rows `topic.*`, `namespace.created`,
# `resource.*` of migrations, `policy.changed`, `setting.changed`, and those of clusters and links. Nothing
# is claimed where rows do not record the state: two commands change a topic's lists in all clusters at
# once.


FOLLOWED = (
    "topic.created",
    "topic.partitions-changed",
    "topic.deleted",
    "topic.loaded",
    "namespace.created",
    "resource.created",
    "resource.deleted",
    "policy.changed",
    "setting.changed",
    "command.applied",
    "cluster.crashed",
    "cluster.lost",
    "cluster.restarted",
    "link.cut",
    "link.healed",
)
_NAMES = {code: name for name, code in CODE.items()}
_READ = (
    "at_us",
    "type",
    "cluster",
    "peer",
    "topic",
    "subscription",
    "client",
    "producer",
    "count",
    "sequence_id",
    "batch_index",
    "reason",
    "detail",
)
_CREATES_REMOTELY = "createTopicToRemoteClusterForReplication"
_OTHER_LISTS = ("replication.remove-cluster", "replication.add-cluster")

Place = tuple[str, str]
"""Fields: (cluster, topic)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One control row with its names, "" for an absent one."""

    seq: int
    at_us: int
    kind: str
    cluster: str
    peer: str
    topic: str
    subscription: str
    client: str
    producer: str
    count: int
    sequence_id: int
    batch_index: int
    reason: str
    detail: str

    def arguments(self) -> dict[str, Any]:
        """The arguments of an applied command."""
        return json.loads(self.detail or "{}")


class Administration:
    """The admin services of all clusters.

    A shape is a number of partitions, 0 for a plain topic, None for a topic that does not exist. Policies
    have Pulsar's names.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.rule = scenario.options.get(
            "replicationTopicCreation", OPTIONS["replicationTopicCreation"].default
        )
        self.policies = _policies(scenario)
        # (cluster, tenant) of the tenants that can migrate
        self.tenants: dict[tuple[str, str], None] = {
            (cluster, topic.tenant): None
            for topic in scenario.topics.values()
            if topic.tenant in scenario.tenants
            for cluster in topic.clusters
        }
        self.lists = _declared_lists(scenario)
        self.lists_unknown: dict[str, None] = {}
        self.settings: dict[tuple[str, str], Any] = {}
        self.down: dict[str, None] = {}
        self.cut: dict[tuple[str, str], None] = {}
        self.shapes = declared_shapes(scenario)
        # every shape that it ever had
        self.had: dict[Place, tuple[int, ...]] = {place: (count,) for place, count in self.shapes.items()}
        self.logs: dict[Place, None] = {
            (cluster, log): None
            for (cluster, base), count in self.shapes.items()
            for log in logs_of(base, count)
        }
        self.creates_remotely = {
            cluster: self.setting(cluster, _CREATES_REMOTELY) for cluster in scenario.clusters
        }
        # whether it ever did: a request may be on its way while the cluster restarts
        self.created_remotely = dict(self.creates_remotely)

    def copy(self) -> Administration:
        """An independent copy at the same row."""
        copy = object.__new__(Administration)
        copy.scenario, copy.rule = self.scenario, self.rule
        for name in (
            "policies",
            "tenants",
            "lists",
            "lists_unknown",
            "settings",
            "down",
            "cut",
            "shapes",
            "had",
            "logs",
            "creates_remotely",
            "created_remotely",
        ):
            setattr(copy, name, dict(getattr(self, name)))
        return copy

    # --- queries

    def base(self, name: str) -> str:
        """The topic of a log: `orders` for `orders-partition-2`."""
        return base_of(self.scenario.topics, name)

    def setting(self, cluster: str, name: str) -> Any:
        """A broker's setting in force."""
        declared = {**self.scenario.settings, **self.scenario.clusters[cluster].settings}
        otherwise = SETTINGS[name].default_under(self.scenario.options)
        return self.settings.get((cluster, name), declared.get(name, otherwise))

    def policy(self, cluster: str, namespace: str, name: str, setting: str) -> Any:
        """A namespace's policy, or the broker's setting where the namespace is missing or has no value."""
        value = self.policies.get((cluster, namespace), {}).get(name)
        return self.setting(cluster, setting) if value is None else value

    def auto_creation(self, cluster: str, namespace: str) -> tuple[bool, str, int]:
        """(allowed, type, partitions) in force for topics that clients create."""
        names = ("allowAutoTopicCreation", "allowAutoTopicCreationType", "defaultNumPartitions")
        return tuple(self.policy(cluster, namespace, name, name) for name in names)

    def namespace_list(self, cluster: str, namespace: str) -> tuple[str, ...]:
        """A namespace's replication clusters as a cluster has them, () where it does not exist."""
        policies = self.policies.get((cluster, namespace))
        return () if policies is None else policies["replicationClusters"] or (cluster,)

    def list_in_force(self, cluster: str, base: str) -> tuple[str, ...]:
        """A topic's replication list in force in a cluster.

        It is its own list, else its global policy, else its namespace's list.
        """
        for scope in ("local", "global"):
            if (cluster, base, scope) in self.lists:
                return self.lists[cluster, base, scope]
        return self.namespace_list(cluster, self.scenario.topics[base].namespace)

    def kept_out(self, cluster: str, base: str) -> bool:
        """Whether the topic may not exist in a cluster.

        It may not when the cluster is neither on the list in force nor among the allowed clusters.
        """
        listed = self.list_in_force(cluster, base)
        allowed = (
            self.policies.get((cluster, self.scenario.topics[base].namespace), {}).get("allowedClusters")
            or ()
        )
        return (
            base not in self.lists_unknown
            and bool(listed)
            and cluster not in listed
            and cluster not in allowed
        )

    def remotes(self, cluster: str, base: str) -> list[str]:
        """Clusters to which it replicates from this one, sorted; a list of one replicates nothing."""
        listed = self.list_in_force(cluster, base)
        return (
            sorted(name for name in listed if name != cluster)
            if len(listed) > 1 and not self.kept_out(cluster, base)
            else []
        )

    def namespace_remotes(self, cluster: str, base: str) -> list[str]:
        """The other clusters of its namespace's list; its own keys count in an undeclared namespace."""
        namespace = self.scenario.topics[base].namespace
        if namespace not in self.scenario.namespaces:
            return self.remotes(cluster, base)
        return sorted(name for name in self.namespace_list(cluster, namespace) if name != cluster)

    def followers(self, cluster: str, base: str) -> list[str]:
        """Clusters that get more partitions with this one: a global list does not count."""
        namespace = self.scenario.topics[base].namespace
        if (cluster, base, "local") in self.lists:
            listed = self.lists[cluster, base, "local"]
        elif namespace in self.scenario.namespaces:
            listed = self.namespace_list(cluster, namespace)
        else:
            listed = self.list_in_force(cluster, base)
        return sorted(name for name in listed if name != cluster) if cluster in listed else []

    def answers(self, cluster: str, remote: str) -> bool:
        """Whether a cluster gets a response from another."""
        return remote not in self.down and (cluster, remote) not in self.cut

    # --- from rows

    def follow(self, row: Row) -> None:
        """Apply one of the FOLLOWED rows."""
        cluster, kind = row.cluster, row.kind
        if kind.startswith("topic."):
            self._follow_topic(row)
        elif kind == "namespace.created":
            self.policies[cluster, row.detail] = _pulsar_names(NamespaceSpec(row.detail), {})
        elif kind in ("resource.created", "resource.deleted"):
            self._follow_migration(row)
        elif kind == "policy.changed":
            self._follow_policy(row)
        elif kind == "setting.changed":
            self.settings[cluster, row.reason] = _value(
                row.detail.lower() if row.detail in ("True", "False") else row.detail
            )
        elif kind == "command.applied" and row.reason in _OTHER_LISTS:
            self.lists_unknown[row.arguments()["topic"]] = None
        elif kind in ("cluster.crashed", "cluster.lost"):
            self.down[cluster] = None
        elif kind == "cluster.restarted":
            self.down.pop(cluster, None)
            self.creates_remotely[cluster] = self.setting(cluster, _CREATES_REMOTELY)
            self.created_remotely[cluster] |= self.creates_remotely[cluster]
        elif kind == "link.cut":
            self.cut[cluster, row.peer] = None
        elif kind == "link.healed":
            self.cut.pop((cluster, row.peer), None)

    def _follow_topic(self, row: Row) -> None:
        place = row.cluster, row.topic
        if row.kind == "topic.loaded":
            self.logs[place] = None
        elif row.kind == "topic.deleted":
            self.shapes.pop(place, None)
            for log in [log for at, log in self.logs if at == row.cluster and self.base(log) == row.topic]:
                del self.logs[row.cluster, log]
        # a log with only a partition's name gives its topic no shape
        elif self.base(row.topic) == row.topic:
            self.shapes[place] = row.count
            if row.count not in self.had.get(place, ()):
                self.had[place] = (*self.had.get(place, ()), row.count)

    def _follow_migration(self, row: Row) -> None:
        # as in the peer, except the replication list, which names other clusters
        if row.reason == "namespace" and row.kind == "resource.created":
            self.policies[row.cluster, row.detail] = {
                **self.policies[row.peer, row.detail],
                "replicationClusters": None,
            }
        elif row.reason == "namespace":
            self.policies.pop((row.cluster, row.detail), None)
        elif row.reason == "tenant" and row.kind == "resource.created":
            self.tenants[row.cluster, row.detail] = None
        elif row.reason == "tenant":
            self.tenants.pop((row.cluster, row.detail), None)

    def _follow_policy(self, row: Row) -> None:
        whose, _, value = row.detail.partition(": ")
        if not row.topic:
            self.policies[row.cluster, whose] = {
                **self.policies.get((row.cluster, whose), {}),
                row.reason: _value(value),
            }
        elif _value(value) is None:
            self.lists.pop((row.cluster, row.topic, whose), None)
        else:
            self.lists[row.cluster, row.topic, whose] = _value(value)


class Administered(Check):
    """A check that judges control rows by the state of the admin services just before.

    Subclasses define `reads`, the further rows that they read, and `judge`.
    """

    reads: tuple[str, ...] = ()

    def begin(self, scenario: Scenario) -> None:
        self.has = Administration(scenario)

    def copy_into(self, copy: Self) -> None:
        copy.has = self.has.copy()

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        for row in self.rows(stretch):
            for why in self.judge(row):
                yield row.seq, why
            if row.kind in FOLLOWED:
                self.has.follow(row)

    def rows(self, stretch: Stretch) -> Iterator[Row]:
        """The rows that it reads, in order."""
        found = stretch.of(*FOLLOWED, *self.reads)
        for seq, at_us, kind, *names, count, sequence_id, batch_index, reason, detail in (
            found.records(*_READ) if len(found) else ()
        ):
            cluster, peer, topic, subscription, client, producer, why, more = (
                "" if number == NULL else stretch.name(number) for number in (*names, reason, detail)
            )
            who = cluster, peer, topic, subscription, client, producer
            yield Row(seq, at_us, _NAMES[kind], *who, count, sequence_id, batch_index, why, more)

    def judge(self, row: Row) -> Iterable[str]:
        """The faults of the row, in words; called before the row is applied."""
        raise TypeError(f"{type(self).__name__} does not describe how it judges a row")


def logs_of(base: str, count: int) -> list[str]:
    """A topic's logs by its shape."""
    return [f"{base}-partition-{number}" for number in range(count)] or [base]


def words_of(count: int | None) -> str:
    """A shape in words."""
    return "no topic" if count is None else f"{count} partitions" if count else "a plain topic"


def declared_shapes(scenario: Scenario) -> dict[Place, int]:
    """Topics that exist at the start of the run; a shadow topic has its source's partitions."""
    found: dict[Place, int] = {}
    for base, topic in scenario.topics.items():
        source = scenario.topics.get(topic.shadow_of or base, topic)
        found |= {
            (cluster, base): source.shapes.get(cluster, count) for cluster, count in topic.shapes.items()
        }
    return found


def _policies(scenario: Scenario) -> dict[tuple[str, str], dict[str, Any]]:
    """The scenario's policies by (cluster, namespace).

    A namespace that the scenario does not declare exists everywhere. A mapped tenant's exists where it has
    topics.
    """
    homes = {(cluster, topic.namespace) for topic in scenario.topics.values() for cluster in topic.clusters}
    found = {}
    for name in sorted({topic.namespace for topic in scenario.topics.values()} | set(scenario.namespaces)):
        spec = scenario.namespaces.get(name, NamespaceSpec(name))
        mapped = name.partition("/")[0] in scenario.tenants and name not in scenario.namespaces
        for cluster in scenario.clusters if spec.clusters is None else spec.clusters:
            if mapped and (cluster, name) not in homes:
                continue
            found[cluster, name] = _pulsar_names(spec, spec.overrides.get(cluster, {}))
    return found


def _pulsar_names(spec: NamespaceSpec, overrides: dict[str, Any]) -> dict[str, Any]:
    return {key.name: overrides.get(key.field, getattr(spec, key.field)) for key in POLICIES}


def _declared_lists(scenario: Scenario) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Own lists of topics with pairs in the scenario, or whose namespace it does not declare."""
    found = {}
    for base, topic in scenario.topics.items():
        if topic.namespace in scenario.namespaces and topic.replication is None:
            continue
        pairs = (
            [(one, other) for one in topic.clusters for other in topic.clusters if one != other]
            if topic.replication is None
            else topic.replication
        )
        for cluster in dict.fromkeys([*topic.clusters, *(name for pair in pairs for name in pair)]):
            found[cluster, base, "local"] = (
                cluster,
                *sorted(target for source, target in pairs if source == cluster),
            )
    return found


def _value(text: str) -> Any:
    """A value as rows write it: removed, true, 3, [a, b], a word."""
    if text.startswith("["):
        return tuple(text[1:-1].split(", ")) if text != "[]" else ()
    if text.isdigit():
        return int(text)
    return {"removed": None, "true": True, "false": False}.get(text, text)


PRODUCE, CONSUME, LIST = "produce", "consume", "shadow_topic_policy"
_SOURCE_IN = {
    "shadow.set": "topic",
    "shadow.remove": "topic",
    "shadow.list": "topic",
    "shadow.create": "source",
    "shadow.delete": "topic",
}
"""Commands about a list of shadow topics, and the argument that names the source."""


class Permitted(Check):
    """Keeps only the scenario's roles.

    A role that produces, consumes or sets shadow topics has the permission on that topic (PIP-180).

    Only a scenario with roles has authorisation. A client acts as its role, and a command as the role that it
    names or as a superuser. Permissions on a source give none on its shadows, nor the reverse. Audiences have
    no roles. The claim reads only the scenario's section `roles`.
    """

    claim = (
        "Where a scenario has roles, producing, consuming and changing a list of shadow topics "
        "needs the permission on that topic, and no client that has it is refused."
    )

    def begin(self, scenario: Scenario) -> None:
        self.scenario = scenario

    def copy_into(self, copy: Self) -> None:
        copy.scenario = self.scenario

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Actions without permission, and refusals despite permission."""
        if not self.scenario.roles:
            return []
        return [
            *self._stored(stretch),
            *self._consuming(stretch),
            *self._failed(stretch),
            *self._commanded(stretch),
        ]

    def _may(self, role: str | None, action: str, topic: str) -> bool:
        spec = self.scenario.roles.get(role) if role is not None else None
        return spec is not None and (spec.superuser or topic in getattr(spec, action))

    def _client(self, clients: dict[str, Any], name: str, action: str, topic: str) -> tuple[bool, str]:
        """Whether a client may perform the action on a topic, and its name with its role's."""
        role = clients[name].role
        return self._may(
            role, action, base_of(self.scenario.topics, topic)
        ), f"{name}, {f'whose role is {role}' if role is not None else 'which has no role'},"

    def _stored(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        stored, producers = stretch.of("message.stored"), self.scenario.producers
        for (topic, producer), rows in stored.take(stored["peer"] == NULL).groups("topic", "producer"):
            if stretch.name(producer) in producers:
                allowed, who = self._client(producers, stretch.name(producer), PRODUCE, stretch.name(topic))
                if not allowed:
                    words = f"{who} produced to {stretch.name(topic)} without the permission"
                    yield from all_broken(rows.seqs, words)

    def _failed(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        failed = stretch.of("message.send-failed")
        for (topic, producer), rows in failed.take(
            failed["reason"] == stretch.number("not-authorised")
        ).groups("topic", "producer"):
            allowed, who = self._client(
                self.scenario.producers, stretch.name(producer), PRODUCE, stretch.name(topic)
            )
            if allowed:
                words = f"{who} may produce to {stretch.name(topic)} and was refused"
                yield from all_broken(rows.seqs, words)

    def _consuming(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        consumers, subscriptions = self.scenario.consumers, self.scenario.subscriptions
        for seq, topic, client in stretch.of("consumer.connected").records("topic", "client"):
            allowed, who = self._client(consumers, stretch.name(client), CONSUME, stretch.name(topic))
            if not allowed:
                yield seq, f"{who} consumes from {stretch.name(topic)} without the permission"
        changed = stretch.of("client.changed")
        for seq, client in changed.take(
            changed["reason"] == stretch.number("refused-not-authorised")
        ).records("client"):
            name = stretch.name(client)
            topic = subscriptions[consumers[name].subscription].topic
            allowed, who = self._client(consumers, name, CONSUME, topic)
            if allowed:
                yield seq, f"{who} may consume from {topic} and was refused"

    def _commanded(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        for seq, reason, detail in stretch.of("command.applied").records("reason", "detail"):
            command = stretch.name(reason)
            if command == "producer.send":
                name = json.loads(stretch.name(detail))["producer"]
                topic = self.scenario.producers[name].topic
                allowed, who = self._client(self.scenario.producers, name, PRODUCE, topic)
                if not allowed:
                    yield seq, f"{who} sent to {topic} without the permission"
            elif command in _SOURCE_IN:
                arguments = json.loads(stretch.name(detail))
                source = arguments[_SOURCE_IN[command]].rpartition("/")[2]
                if command == "shadow.delete":
                    source = self.scenario.topics[source].shadow_of
                role = arguments.get("role")
                if role is not None and not self._may(role, LIST, source):
                    yield (
                        seq,
                        (
                            f"role {role} had {command} done to {source} without WRITE on its policy "
                            f"SHADOW_TOPIC"
                        ),
                    )


# --- which requests may create topics, in which clusters and shapes (PIP-370, PIP-433, #25312)
#
# Topics that a migration creates are judged by its own claims (`migrations`).


_COPIES = ("copied-request", "set-replication-clusters")
_ORDERED = (*_COPIES, "replicator")


class CreatedWhereItMay(Administered):
    """Judges each topic that is created or gets partitions, for any kind of request."""

    claim = (
        "A topic is created only where its namespace takes it and its name is free, gets more partitions "
        "and never fewer, and is created for another cluster only where that may order it, in a shape that "
        "it has there."
    )

    def judge(self, row: Row) -> Iterable[str]:
        """Topics that must not exist, or not in this shape."""
        if row.kind == "topic.created" and row.reason != "migration":
            return [f"{row.topic} was created in {row.cluster}, {why}" for why in self._created(row)]
        if row.kind == "topic.partitions-changed" and row.reason in ("command", "copied-request"):
            return self._grown(row, row.cluster, row.topic, row.count, 1)
        if row.kind == "command.applied" and row.reason == "topic.update-partitions":
            given = row.arguments()
            return self._grown(row, given["cluster"], given["topic"], given["partitions"], 0)
        return []

    def _created(self, row: Row) -> Iterator[str]:
        has, base, spec = (
            self.has,
            self.has.base(row.topic),
            self.has.scenario.topics[self.has.base(row.topic)],
        )
        if (row.cluster, row.topic) in (has.shapes if base == row.topic else has.logs):
            yield "where it was already"
        elif row.reason in ("command", "copied-request") and row.count:
            numbers = [
                int(log.rpartition("-")[2])
                for at, log in has.logs
                if at == row.cluster and log != base and has.base(log) == base
            ]
            yield from (
                f"with {row.count} partitions, where a log is named like partition {number}"
                for number in numbers
                if number >= row.count
            )
        if (row.cluster, spec.namespace) not in has.policies:
            yield f"which has no namespace {spec.namespace}"
        elif spec.shadow_of is None and has.kept_out(row.cluster, base):
            yield f"which is not on its list [{', '.join(has.list_in_force(row.cluster, base))}]"
        if row.reason in _ORDERED and not has.created_remotely[row.peer]:
            yield f"by order of {row.peer}, which is set to order none"
        if row.reason in _COPIES and has.rule == "proposal":
            yield f"by a request copied from {row.peer}, which the proposal has no more"
        elif row.reason in _COPIES and row.count not in has.had.get((row.peer, base), (row.count,)):
            yield f"as {words_of(row.count)} by order of {row.peer}, which never had it so"

    def _grown(self, row: Row, cluster: str, topic: str, count: int, more: int) -> list[str]:
        before = self.has.shapes.get((cluster, topic))
        return (
            []
            if before and count >= before + more
            else [f"{topic} in {cluster} was given {count} partitions, and had {words_of(before)}"]
        )


class AutoCreated(Administered):
    """Judges topics that clients created by connecting, and refusals of that."""

    claim = (
        "A client that connects creates a missing topic only where the policies in force let it, in the "
        "shape that they give or, since #25312, in that of the first remote that has it, and is refused "
        "only where they do not let it."
    )
    reads = ("topic.creation-refused",)

    def judge(self, row: Row) -> Iterable[str]:
        """Topics and refusals that contradict the policies."""
        if row.topic in self.has.lists_unknown:
            return []
        if row.kind == "topic.created" and row.reason == "client":
            return self._created(row)
        if (
            row.kind == "topic.created"
            and row.reason == "reconnection"
            and not self._lets(row.cluster, self.has.base(row.topic))
        ):
            return [f"the replicator from {row.peer} created {row.topic} in {row.cluster}, where it may not"]
        if (
            row.kind == "topic.creation-refused"
            and row.reason == "auto-creation"
            and self._lets(row.cluster, row.topic)
        ):
            return [f"{row.client} was refused {row.topic} in {row.cluster}, where clients may create it"]
        return []

    def _lets(self, cluster: str, base: str) -> bool:
        has, spec = self.has, self.has.scenario.topics[base]
        there = (
            (cluster, spec.namespace) in has.policies
            and spec.shadow_of is None
            and not has.kept_out(cluster, base)
        )
        return there and has.auto_creation(cluster, spec.namespace)[0]

    def _created(self, row: Row) -> list[str]:
        has, base = self.has, row.topic
        made = f"{row.client} created {base} in {row.cluster}"
        if not self._lets(row.cluster, base):
            return [f"{made}, where clients may not"]
        _allowed, kind, partitions = has.auto_creation(row.cluster, has.scenario.topics[base].namespace)
        count, whose = partitions if kind == "partitioned" else 0, ""
        asks = has.rule == "implemented" and has.creates_remotely[row.cluster]
        for remote in has.namespace_remotes(row.cluster, base) if asks else ():
            if has.answers(row.cluster, remote) and (remote, base) in has.shapes:
                count, whose = has.shapes[remote, base], remote
                break
        if (row.count, row.peer) == (count, whose):
            return []
        return [
            (
                f"{made} as {words_of(row.count)}; {f'{whose} has' if whose else 'the policies give'} "
                f"{words_of(count)}"
            )
        ]


class SameShape(Administered):
    """Compares both clusters' shapes at each start.

    A replicator starts only where the remote cluster has the topic as the rule in force requires.

    Since PIP-433 (options `implemented` and `proposal`) both clusters must have the topic in one shape. A
    replicator creates it only in its local shape, or in one that it had when the request was sent. Before
    PIP-433, and whenever a producer reconnects that was created since the local topic was loaded, the remote
    must have a log of the same name.
    """

    claim = (
        "A replicator starts only where the other cluster has the topic in the same shape, and creates it "
        "in no other."
    )
    reads = ("replicator.created", "replicator.started")

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.created: dict[tuple[str, str, str], None] = {}  # producers, as (cluster, peer, log)

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.created = dict(self.created)

    def judge(self, row: Row) -> Iterable[str]:
        """Replicators that started, and topics that they created, with a wrong shape."""
        link = row.cluster, row.peer, row.topic
        if row.kind == "topic.loaded":
            for one in [one for one in self.created if (one[0], one[2]) == (row.cluster, row.topic)]:
                del self.created[one]
        elif row.kind == "replicator.created":
            self.created.pop(link, None)
        if row.kind == "replicator.started":
            reconnects = link in self.created
            self.created[link] = None
            return self._out_of_shape(*link, reconnects)
        if row.kind == "topic.created" and row.reason == "replicator":
            return self._created_otherwise(row.cluster, row.peer, self.has.base(row.topic), row.count)
        return []

    def _out_of_shape(self, here: str, there: str, name: str, reconnects: bool) -> list[str]:
        has, base = self.has, self.has.base(name)
        if has.rule == "before" or reconnects:
            return (
                []
                if (there, name) in has.logs
                else [f"the replicator {here} -> {there} of {name} started where there is no {name}"]
            )
        local, remote = has.shapes.get((here, base)), has.shapes.get((there, base))
        if local is None:  # a log without metadata is a plain topic
            local, remote = 0, 0 if (there, name) in has.logs else None
        if local == remote:
            return []
        return [
            (
                f"the replicator {here} -> {there} of {name} started between {words_of(local)} and "
                f"{words_of(remote)}"
            )
        ]

    def _created_otherwise(self, here: str, there: str, base: str, count: int) -> list[str]:
        has, local = self.has, self.has.shapes.get((there, base))
        if has.rule == "before" or local is None or count in has.had[there, base]:
            return []
        return [
            (
                f"the replicator from {there} created {base} in {here} as {words_of(count)}, and has "
                f"{words_of(local)} at home"
            )
        ]


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


# --- A topic deleted without force is not in use, and a terminated topic takes no more messages
#
# The rule is `PersistentTopic.delete` and PIP-180. The response is 422 for a topic that feeds shadows or
# replicates, 412 for one that is fed, replicated to or consumed from. A forced deletion always succeeds.
# Rows do not record producers' connections: a producer counts as connected between its start and its stop
# while no command stopped it. One whose plan ends, or that a failover moved, is not judged. Audiences are
# left out. A refusal is judged where the plan holds the request, no request uses a role, and no such
# producer or audience could be the reason.


_USING = (
    "command.applied",
    "consumer.connected",
    "consumer.disconnected",
    "replicator.created",
    "replicator.removed",
    "replicator.started",
    "replicator.disconnected",
    "shadow.replicator-created",
    "shadow.replicator-started",
    "shadow.replicator-stopped",
    "client.changed",
    "failover.started",
    "command.refused",
    "topic.created",
    "topic.deleted",
    "cluster.crashed",
    "cluster.lost",
    "cluster.restarted",
)
(
    _COMMANDED,
    _CONNECTED,
    _DISCONNECTED,
    _CREATED,
    _REMOVED,
    _STARTED,
    _BROKEN,
    _FEEDER,
    _FEEDING,
    _STOPPED,
    _CHANGED,
    _FAILED_OVER,
    *_REST,
) = (CODE[name] for name in _USING)
_REFUSED, *_LASTING = _REST
_MADE, _UNMADE, _CRASHED, _LOST, _RESTARTED = _LASTING
_DELETIONS = ("topic.delete", "shadow.delete")
_STATES = {"running": True, "paused": True, "stopped": False, "killed": False, "down": False}

PlaceNumbers = tuple[int, int]
"""Fields: (cluster, topic)."""

Use = tuple[str, ...]
"""(kind of use, cluster, topic's base, and the fields that distinguish it from others)."""


class DeletedUnused(Check):
    """Keeps the uses of each topic.

    These are consumers, producers, outgoing and incoming replicators, the shadows that it feeds and the
    source that feeds it.
    """

    claim = (
        "A topic with shadow topics, replicators, consumers or producers is deleted by an "
        "administrator only by force, and no other deletion is refused."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.shadows = frozenset(name for name, spec in scenario.topics.items() if spec.shadow_of is not None)
        self.uses: dict[Use, None] = {}
        self.producers = {
            name: spec
            for name, spec in scenario.producers.items()
            if spec.cluster and spec.count is None and spec.at_us is None
        }
        self.open = dict.fromkeys(self.producers, True)
        self.planned = planned_arguments(scenario)
        self.doubtful = frozenset(
            spec.topic
            for name, spec in (*scenario.producers.items(), *scenario.audiences.items())
            if name not in self.producers
        )
        self.present = dict.fromkeys(declared_shapes(scenario))
        self.down: dict[str, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.shadows, copy.producers, copy.planned, copy.doubtful = (
            self.topics,
            self.shadows,
            self.producers,
            self.planned,
            self.doubtful,
        )
        copy.uses, copy.open, copy.present, copy.down = (
            dict(self.uses),
            dict(self.open),
            dict(self.present),
            dict(self.down),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Deletions of topics that are in use."""
        broken: list[tuple[int, str]] = []
        for seq, kind, *row, detail in stretch.of(*_USING).records(
            "type", "cluster", "peer", "topic", "subscription", "client", "reason", "detail"
        ):
            cluster, peer, topic, subscription, client, reason = (stretch.name(number) for number in row)
            if kind in _LASTING:
                self._stand(kind, cluster, base_of(self.topics, topic))
            elif kind == _REFUSED:
                broken += [(seq, why) for why in self._refused(reason, stretch.at_us(seq))]
            elif kind != _COMMANDED:
                self._follow(kind, cluster, peer, topic, (subscription, client), reason)
            elif reason in _DELETIONS:
                arguments = json.loads(stretch.name(detail))
                named = arguments["topic"].rpartition("/")[2]
                using = (
                    []
                    if arguments["force"]
                    else list(self._using(arguments["cluster"], named, stretch.at_us(seq)))
                )
                if using:
                    broken.append(
                        (
                            seq,
                            f"{named} was deleted in {arguments['cluster']} without force, and it {using[0]}",
                        )
                    )
        return broken

    def _stand(self, kind: int, cluster: str, base: str) -> None:
        """Record which topics exist, and which clusters are up."""
        if kind == _MADE:
            self.present[cluster, base] = None
        elif kind == _UNMADE:
            self.present.pop((cluster, base), None)
        elif kind == _RESTARTED:
            self.down.pop(cluster, None)
        else:
            self.down[cluster] = None

    def _refused(self, command: str, at_us: int) -> Iterator[str]:
        arguments = self.planned.get((at_us, command)) if command in _DELETIONS else None
        if arguments is None or arguments.get("role") is not None:
            return
        cluster, named = arguments["cluster"], arguments["topic"].rpartition("/")[2]
        sure = self.open and named not in self.doubtful if self.producers else named not in self.doubtful
        there = (cluster, named) in self.present and cluster not in self.down
        if command == "shadow.delete" and named not in self.shadows:
            return  # 404: it deletes shadow topics only
        if there and (arguments["force"] or (sure and not any(self._using(cluster, named, at_us)))):
            yield (
                f"{command} of {named} in {cluster} was refused, "
                f"{'by force though it was' if arguments['force'] else 'although no client used it'}"
            )

    def _using(self, cluster: str, topic: str, at_us: int) -> Iterator[str]:
        yield from (use[0] for use in self.uses if use[1:3] == (cluster, topic))
        for name, spec in self.producers.items():
            if (
                (spec.cluster, spec.topic) == (cluster, topic)
                and self.open.get(name)
                and spec.start_us <= at_us
                and (spec.stop_us is None or at_us < spec.stop_us)
            ):
                yield f"has the producer {name}"

    def _follow(
        self, kind: int, cluster: str, peer: str, topic: str, client: tuple[str, str], reason: str
    ) -> None:
        base = base_of(self.topics, topic)
        if kind in (_CONNECTED, _DISCONNECTED):
            self._note(kind == _CONNECTED, ("has consumers", cluster, base, topic, *client))
        elif kind == _CHANGED:
            if client[1] in self.open and reason in _STATES:
                self.open[client[1]] = _STATES[reason]
        elif kind == _FAILED_OVER:
            self.open.clear()
        elif kind in (_CREATED, _REMOVED):
            self._note(kind == _CREATED, ("replicates", cluster, base, topic, peer))
        elif kind in (_STARTED, _BROKEN):
            self._note(kind == _STARTED, ("is replicated to", peer, base, topic, cluster))
        elif kind == _FEEDER:
            self._note(True, ("feeds shadows", cluster, base_of(self.topics, reason), topic))
        elif kind == _FEEDING:
            self._note(True, ("is fed", cluster, base, topic))
        else:
            self._note(False, ("is fed", cluster, base, topic))
            if not reason.startswith("shadow-"):  # otherwise its replicator is started again
                self.uses = {
                    use: None
                    for use in self.uses
                    if not (use[0] == "feeds shadows" and use[1] == cluster and use[3] == topic)
                }

    def _note(self, begins: bool, use: Use) -> None:
        if begins:
            self.uses[use] = None
        else:
            self.uses.pop(use, None)


class Terminated(Check):
    """Keeps the terminated topics."""

    claim = "A topic that was terminated stores nothing more."

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.ended: dict[PlaceNumbers, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.ended = self.topics, dict(self.ended)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Messages in a terminated log."""
        turns = stretch.of("topic.terminated", "topic.deleted")
        if not self.ended and not len(turns):
            return []
        since, spans = dict.fromkeys(self.ended, -1), []
        for seq, kind, cluster, topic in turns.records("type", "cluster", "topic"):
            if kind == CODE["topic.terminated"]:
                since.setdefault((cluster, topic), seq)
                continue
            for place in [
                one
                for one in since
                if one[0] == cluster and base_of(self.topics, stretch.name(one[1])) == stretch.name(topic)
            ]:
                spans.append((place, since.pop(place), seq))
        self.ended = dict.fromkeys(since)
        written = dict(
            stretch.of("message.stored", "marker.written", "marker.stored").groups("cluster", "topic")
        )
        return [
            found
            for span in (*spans, *((place, seq, PAST_EVERY_LEDGER) for place, seq in since.items()))
            for found in self._written(stretch, written, *span)
        ]

    @staticmethod
    def _written(
        stretch: Stretch, written: dict[PlaceNumbers, Rows], place: PlaceNumbers, after: int, before: int
    ) -> Iterator[tuple[int, str]]:
        if place in written:
            seqs = written[place].seqs
            name = stretch.name(place[1])
            yield from first_broken(
                seqs[(seqs > after) & (seqs < before)],
                lambda _n: f"{name} stored more after it was terminated",
            )


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
