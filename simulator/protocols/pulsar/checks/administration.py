"""The state of each cluster's admin service when a row is read.

It covers topics and their shapes, namespaces with their policies, settings, replication lists, and the state
of clusters and links. The sources are the scenario and the rows `topic.*`, `namespace.created`, `resource.*`
of migrations, `policy.changed`, `setting.changed`, and those of clusters and links. Nothing is claimed where
rows do not record the state: two commands change a topic's lists in all clusters at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.scenario.model import NamespaceSpec
from simulator.protocols.pulsar.scenario.policies import POLICIES
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.trace.registry import NULL

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
