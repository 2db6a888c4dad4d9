"""Policies of namespaces and topics in each cluster, and the pairs of clusters that replicate.

Rules: every cluster has its own policies, so two clusters may disagree. A topic's own replication list, set
in the cluster, precedes one from a global policy, and that the namespace's list. A list of one cluster
replicates nothing. A namespace that no scenario declares exists everywhere with defaults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.scenario.model import POLICIES, NamespaceSpec, TopicSpec
from simulator.scenarios.model import Scenario

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.pulsar import Pulsar

FIELDS = tuple(key.field for key in POLICIES)
LOCAL, GLOBAL = "local", "global"
"""Scopes of a topic's own list, in order of precedence."""


class PolicyBook:
    """All policies of a run.

    `namespaces` is by (cluster, namespace), absent where it does not exist. `lists` is by (cluster, topic,
    scope).
    """

    def __init__(self, scenario: Scenario) -> None:
        self.namespaces: dict[tuple[str, str], dict[str, Any]] = {}
        self.lists: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for name in sorted(
            {topic.namespace for topic in scenario.topics.values()} | set(scenario.namespaces)
        ):
            spec = scenario.namespaces.get(name, NamespaceSpec(name))
            for cluster in sorted(scenario.clusters if spec.clusters is None else spec.clusters):
                self.namespaces[cluster, name] = {
                    **{field: getattr(spec, field) for field in FIELDS},
                    **spec.overrides.get(cluster, {}),
                }
        for base in sorted(scenario.topics):
            if not follows_namespace(scenario, base):
                self.take_pairs(scenario.topics[base], declared_pairs(scenario.topics[base]))

    def add_namespace(self, cluster: str, namespace: str) -> None:
        """Add a namespace with default policies to the cluster."""
        self.namespaces[cluster, namespace] = {
            field: getattr(NamespaceSpec(namespace), field) for field in FIELDS
        }

    def take_pairs(self, topic: TopicSpec, pairs: list[tuple[str, str]]) -> None:
        """Derive the topic's own lists from the ordered pairs that replicate."""
        for cluster in sorted({*topic.clusters, *(name for pair in pairs for name in pair)}):
            self.lists[cluster, topic.name, LOCAL] = (
                cluster,
                *sorted(target for source, target in pairs if source == cluster),
            )

    def own_list(self, cluster: str, base: str) -> tuple[str, ...] | None:
        """The topic's own list in a cluster, None when it has none there."""
        local = self.lists.get((cluster, base, LOCAL))
        return local if local is not None else self.lists.get((cluster, base, GLOBAL))


def follows_namespace(scenario: Scenario, base: str) -> bool:
    """Whether a topic begins without a list of its own: its namespace is declared, and it names no pairs."""
    topic = scenario.topics[base]
    return topic.namespace in scenario.namespaces and topic.replication is None


def declared_pairs(topic: TopicSpec) -> list[tuple[str, str]]:
    """The ordered pairs that a topic's own keys name."""
    pairs = (
        topic.replication
        if topic.replication is not None
        else [(a, b) for a in topic.clusters for b in topic.clusters if a != b]
    )
    return sorted(pairs)


# --- policies in force


def of_namespace(runtime: Pulsar, cluster: str, namespace: str) -> dict[str, Any] | None:
    """A namespace's policies in a cluster, None where it does not exist."""
    return runtime.policies.namespaces.get((cluster, namespace))


def existing(runtime: Pulsar, cluster: str, namespace: str) -> dict[str, Any]:
    """The policies of a namespace that exists in the cluster."""
    return runtime.policies.namespaces[cluster, namespace]


def of_topic(runtime: Pulsar, cluster: str, base: str) -> dict[str, Any] | None:
    """The policies of a topic's namespace in a cluster, None where that does not exist."""
    return of_namespace(runtime, cluster, runtime.scenario.topics[base].namespace)


def in_force(cluster: Cluster, policies: dict[str, Any], policy: str, setting: str) -> Any:
    """A namespace's policy, else the broker's setting."""
    value = policies[policy]
    return cluster.setting(setting) if value is None else value


def auto_creation(cluster: Cluster, namespace: str) -> tuple[bool, str, int]:
    """(allowed, type, partitions) for topics that clients create here, in a namespace that exists.

    A namespace's override counts part by part before the broker's settings.
    """
    policies = existing(cluster.runtime, cluster.name, namespace)
    return (
        in_force(cluster, policies, "allow_auto_topic_creation", "allowAutoTopicCreation"),
        in_force(cluster, policies, "allow_auto_topic_creation_type", "allowAutoTopicCreationType"),
        in_force(cluster, policies, "default_num_partitions", "defaultNumPartitions"),
    )


def namespace_list(runtime: Pulsar, cluster: str, namespace: str) -> tuple[str, ...]:
    """A namespace's replication clusters as one cluster has them.

    The cluster alone when none are set, () where the namespace does not exist.
    """
    policies = of_namespace(runtime, cluster, namespace)
    if policies is None:
        return ()
    return policies["replication_clusters"] or (cluster,)


def replication_list(runtime: Pulsar, cluster: str, base: str) -> tuple[str, ...]:
    """The replication list in force for a topic in one cluster."""
    own = runtime.policies.own_list(cluster, base)
    return (
        own if own is not None else namespace_list(runtime, cluster, runtime.scenario.topics[base].namespace)
    )


def remotes(runtime: Pulsar, cluster: str, base: str) -> list[str]:
    """Clusters to which a topic replicates from this one, sorted.

    A cluster that is only among the allowed ones also replicates. A list of one cluster replicates nothing.
    """
    listed = replication_list(runtime, cluster, base)
    return (
        sorted(other for other in listed if other != cluster)
        if len(listed) > 1 and not kept_out(runtime, cluster, base)
        else []
    )


def namespace_remotes(runtime: Pulsar, cluster: str, base: str) -> list[str]:
    """The other clusters of a namespace's list, sorted: those that count for a topic that is missing here.

    It has no policies of its own then. In a namespace that no scenario declares, topics replicate by their
    own keys.
    """
    namespace = runtime.scenario.topics[base].namespace
    if namespace not in runtime.scenario.namespaces:
        return remotes(runtime, cluster, base)
    return sorted(other for other in namespace_list(runtime, cluster, namespace) if other != cluster)


def followers(runtime: Pulsar, cluster: str, base: str) -> list[str] | None:
    """The clusters that get more partitions with this one, sorted; None where the list lacks this one.

    A global policy does not count (`PersistentTopicsBase`, getReplicationClusters).
    """
    local, namespace = (
        runtime.policies.lists.get((cluster, base, LOCAL)),
        runtime.scenario.topics[base].namespace,
    )
    if local is not None:
        listed = local
    elif namespace in runtime.scenario.namespaces:
        listed = namespace_list(runtime, cluster, namespace)
    else:
        listed = replication_list(runtime, cluster, base)
    return sorted(other for other in listed if other != cluster) if cluster in listed else None


def kept_out(runtime: Pulsar, cluster: str, base: str) -> bool:
    """Whether a topic is not allowed in a cluster (PersistentTopic).

    It is neither in the list in force nor among the allowed clusters.
    """
    listed, policies = replication_list(runtime, cluster, base), of_topic(runtime, cluster, base)
    allowed = (policies or {}).get("allowed_clusters") or ()
    return bool(listed) and cluster not in listed and cluster not in allowed


def not_here(cluster: Cluster, base: str) -> tuple[str, str] | None:
    """(status, sentence) why a topic cannot be created in a cluster, None when it can."""
    runtime, namespace = cluster.runtime, cluster.runtime.scenario.topics[base].namespace
    if of_namespace(runtime, cluster.name, namespace) is None:
        return "404", "Namespace not found"
    if kept_out(runtime, cluster.name, base):
        listed = words(replication_list(runtime, cluster.name, base))
        return "412", (
            f"Namespace missing local cluster name in clusters list: local_cluster={cluster.name} "
            f"ns={namespace} clusters={listed}"
        )
    return None


def pairs(runtime: Pulsar, base: str) -> list[tuple[str, str]]:
    """The ordered pairs of clusters that replicate a topic now."""
    return [
        (cluster, remote) for cluster in runtime.cluster_names for remote in remotes(runtime, cluster, base)
    ]


# --- changes


def change(runtime: Pulsar, cluster: str, namespace: str, cause: int, **values: Any) -> int:
    """Set policies of a namespace in one cluster; returns the seq of the last row."""
    book = runtime.policies.namespaces
    seq = cause
    for field, value in values.items():
        book[cluster, namespace] = {**book[cluster, namespace], field: value}
        seq = runtime.rows.policy_changed(
            cause,
            cluster=cluster,
            topic=None,
            reason=_pulsar_name(field),
            detail=f"{namespace}: {words(value)}",
        )
    return seq


def copy_namespace(runtime: Pulsar, source: str, target: str, namespace: str) -> None:
    """Copy the namespace of one cluster to another, except its replication list.

    That list names the first cluster's remotes.
    """
    runtime.policies.namespaces[target, namespace] = {
        **runtime.policies.namespaces[source, namespace],
        "replication_clusters": None,
    }


def change_list(
    runtime: Pulsar,
    cluster: str,
    base: str,
    scope: str,
    listed: tuple[str, ...] | None,
    cause: int,
) -> int:
    """Set or remove a topic's own list in one cluster; returns the row's seq."""
    lists = runtime.policies.lists
    if listed is None:
        lists.pop((cluster, base, scope), None)
    else:
        lists[cluster, base, scope] = tuple(sorted(listed))
    return runtime.rows.policy_changed(
        cause, cluster=cluster, topic=base, reason="replicationClusters", detail=f"{scope}: {words(listed)}"
    )


def forget_lists(runtime: Pulsar, cluster: str, base: str, cause: int) -> int:
    """Remove a deleted topic's policies in a cluster, global ones too.

    Returns the seq of the last row. The scenario's own keys for a topic that follows no namespace apply
    again, because no request set them.
    """
    seq, declared = cause, None
    if not follows_namespace(runtime.scenario, base):
        declared = tuple(
            sorted(
                [
                    cluster,
                    *(
                        target
                        for source, target in declared_pairs(runtime.scenario.topics[base])
                        if source == cluster
                    ),
                ]
            )
        )
    for scope, stands in ((LOCAL, declared), (GLOBAL, None)):
        present = runtime.policies.lists.get((cluster, base, scope))
        if (None if present is None else tuple(sorted(present))) != stands:
            seq = change_list(runtime, cluster, base, scope, stands, cause)
    return seq


def words(value: Any) -> str:
    """A policy's value in words."""
    if value is None:
        return "removed"
    if isinstance(value, dict):
        return "; ".join(f"{name} {one}" for name, one in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pulsar_name(field: str) -> str:
    return next(key.name for key in POLICIES if key.field == field)
