"""Claims about topics, policies, permissions and schemas of each cluster.

They are created, copied, changed and deleted as the rules allow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from simulator.checks.check import Check, all_broken, first_broken
from simulator.checks.stretch import PAST_EVERY_LEDGER, Rows, Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge, planned_arguments
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.model import POLICIES, NamespaceSpec
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.trace.registry import NULL

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
