"""A tenant's resources in a cluster, as a list of items that can be created and deleted.

Rules: the order of creation is tenant, roles, namespaces with their policies, topics, subscriptions. Deletion
is in reverse order. A subscription is created before the first entry that is kept, in every partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.pulsar.creation import catalogue, policies
from simulator.protocols.pulsar.storage import retention

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.readiness import Work
    from simulator.protocols.pulsar.pulsar import Pulsar

TENANT, ROLE, NAMESPACE, TOPIC, SUBSCRIPTION = "tenant", "role", "namespace", "topic", "subscription"


class Resource(NamedTuple):
    """One resource, with `topic` and `subscription` where they apply."""

    kind: str
    name: str
    topic: str | None = None
    subscription: str | None = None


def directory_of(runtime: Pulsar) -> dict[str, dict[tuple[str, str], None]]:
    """By cluster the tenants and roles that exist at the start of the run, as (kind, name).

    Namespaces of a tenant in the LookupService's map exist where it has topics or where the scenario declares
    them.
    """
    scenario = runtime.scenario
    found: dict[str, dict[tuple[str, str], None]] = {name: {} for name in sorted(scenario.clusters)}
    homes = {(cluster, topic.namespace) for topic in scenario.topics.values() for cluster in topic.clusters}
    for _name, topic in sorted(scenario.topics.items()):
        for cluster in topic.clusters:
            found[cluster][TENANT, topic.tenant] = None
            for role in scenario.tenants[topic.tenant].roles if topic.tenant in scenario.tenants else ():
                found[cluster][ROLE, role] = None
    for cluster, namespace in tuple(runtime.policies.namespaces):
        mapped = namespace.partition("/")[0] in scenario.tenants and namespace not in scenario.namespaces
        if mapped and (cluster, namespace) not in homes:
            del runtime.policies.namespaces[cluster, namespace]
    return found


def of_tenant(work: Work) -> list[Resource]:
    """All resources of the tenant in the source now."""
    runtime, tenant, source = work.runtime, work.run.tenant, work.source
    bases = [base for base in work.migration.bases if source.shape(base) is not None]
    namespaces = sorted({runtime.scenario.topics[base].namespace: None for base in work.migration.bases})
    found = [
        Resource(TENANT, tenant),
        *(Resource(ROLE, role) for role in runtime.scenario.tenants[tenant].roles),
    ]
    found += [Resource(NAMESPACE, name) for name in namespaces] + [
        Resource(TOPIC, base, base) for base in bases
    ]
    for base in bases:
        names = sorted({name: None for part in source.logs_of(base) for name in part.subscriptions})
        found += [Resource(SUBSCRIPTION, name, base, name) for name in names]
    return found


def present(cluster: Cluster, resource: Resource) -> bool:
    """Whether the cluster has the resource, of a subscription at least one partition."""
    kind, name, topic, subscription = resource
    if kind == NAMESPACE:
        return (cluster.name, name) in cluster.runtime.policies.namespaces
    if topic is None:
        return (kind, name) in cluster.runtime.directory[cluster.name]
    if subscription is None:
        return cluster.shape(topic) is not None
    return any(subscription in part.subscriptions for part in cluster.logs_of(topic))


def copied(work: Work, resource: Resource) -> bool:
    """Whether the target has it as the source does."""
    if resource.subscription is None:
        return present(work.target, resource)
    return all(resource.subscription in there.subscriptions for _here, there in _parts(work, resource))


def _parts(work: Work, resource: Resource) -> list[tuple[Topic, Topic]]:
    """The partitions in the source that have the subscription, each with its copy in the target.

    Partitions without a copy are left out.
    """
    assert resource.topic is not None, "a subscription is one of a topic"
    here = [
        part for part in work.source.logs_of(resource.topic) if resource.subscription in part.subscriptions
    ]
    return [(part, work.target.topics[part.name]) for part in here if part.name in work.target.topics]


def create(work: Work, resource: Resource, cause: int) -> int:
    """Create it in the target as it is in the source; returns the row's seq."""
    runtime, source, target = work.runtime, work.source, work.target
    kind, name, topic, subscription = resource
    seq = runtime.rows.resource_created(
        cause,
        tenant=work.run.tenant,
        cluster=target.name,
        peer=source.name,
        topic=topic,
        subscription=subscription,
        reason=kind,
        detail=name,
    )
    if kind == NAMESPACE:
        policies.copy_namespace(runtime, source.name, target.name, name)
    elif topic is None:
        runtime.directory[target.name][kind, name] = None
    elif subscription is None:
        catalogue.create(target, topic, source.shape(topic) or 0, "migration", seq, source.name)
    else:
        for here, there in _parts(work, resource):
            if subscription not in there.subscriptions:
                there.add_subscription(
                    subscription,
                    here.subscriptions[subscription].type,
                    there.log.first_kept - 1,
                    False,
                    "migration",
                    seq,
                )
    return seq


def in_use(work: Work, cluster: Cluster, resource: Resource) -> bool:
    """Whether it contains something: Pulsar refuses to delete such a tenant or namespace (409)."""
    runtime = work.runtime
    if resource.kind == NAMESPACE:
        topics = runtime.scenario.topics
        return any(
            topics[base].namespace == resource.name and cluster.shape(base) is not None for base in topics
        )
    return resource.kind == TENANT and any(
        at == cluster.name and name.startswith(f"{resource.name}/")
        for at, name in runtime.policies.namespaces
    )


def delete(work: Work, cluster: Cluster, resource: Resource, cause: int) -> int:
    """Delete it, and a topic with all its content. Returns the row's seq."""
    runtime = work.runtime
    kind, name, topic, subscription = resource
    seq = runtime.rows.resource_deleted(
        cause,
        tenant=work.run.tenant,
        cluster=cluster.name,
        topic=topic,
        subscription=subscription,
        reason=kind,
        detail=name,
    )
    if kind == NAMESPACE:
        del runtime.policies.namespaces[cluster.name, name]
    elif topic is None:
        del runtime.directory[cluster.name][kind, name]
    elif subscription is None:
        catalogue.delete(cluster, topic, "migration", seq)
    else:
        for part in cluster.logs_of(topic):
            if subscription in part.subscriptions:
                delete_subscription(part, subscription, seq)
    return seq


def delete_subscription(topic: Topic, name: str, cause: int) -> None:
    """Delete a subscription with its cursor, in one partition."""
    seq = topic.delete_subscription(name, cause)
    retention.cursor_deleted(topic, seq)
    topic.evaluate_controller(seq)
