"""Commands about topics of one cluster and their schemas (rules: see `simulator.pulsar.commands`); codes are HTTP status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.pulsar.creation import catalogue, clients, enforcement, policies, remote_admin, schema_registry
from simulator.pulsar.creation.commands_namespaces import serving
from simulator.pulsar.creation.policies import GLOBAL, LOCAL
from simulator.scenarios.commands import CommandError

if TYPE_CHECKING:
    from simulator.pulsar.cluster import Cluster
    from simulator.pulsar.runtime import Runtime


def _with_topic(runtime: Runtime, arguments: dict) -> Cluster:
    """The cluster of the arguments, which has their topic."""
    cluster, base = serving(runtime, arguments["cluster"]), arguments["topic"]
    if cluster.shape(base) is None:
        raise _not_found(cluster, base)
    return cluster


def _not_found(cluster: Cluster, base: str) -> CommandError:
    return CommandError("404", f"Topic {base} not found in {cluster.name}", "create it there, or name a cluster that has it")


def _copies(cluster: Cluster, base: str) -> list[str]:
    """Clusters to which requests about a topic are copied."""
    return policies.remotes(cluster.runtime, cluster.name, base)


def create(runtime, arguments, begin) -> None:
    """topic.create: here, and (not in the proposal) a partitioned one in the background where it replicates to."""
    cluster, base, partitions = serving(runtime, arguments["cluster"]), arguments["topic"], arguments["partitions"]
    if runtime.scenario.topics[base].shadow_of is not None:
        raise CommandError("412", f"{base} is a shadow topic", "use shadow.create: it has its source's partitions")
    nowhere = policies.not_here(cluster, base)
    if nowhere is not None:
        raise CommandError(*nowhere, "create the namespace first" if nowhere[0] == "404" else f"put {cluster.name} on the replication list")
    shape = cluster.shape(base)
    if shape is not None or (partitions and cluster.parts(base)):  # logs that are only named like partitions are in nobody's way but theirs
        has = f"logs that are named like its partitions, such as {cluster.parts(base)[0].name}" if shape is None else catalogue.words_of(shape)
        raise CommandError("409", "This topic already exists", f"{cluster.name} has {has}; delete it, or update its partitions")
    copies = partitions > 0 and not arguments["createLocalTopicOnly"] and _copying(runtime, cluster)
    seq = catalogue.create(cluster, base, partitions, "command", begin())
    for peer in _copies(cluster, base) if copies else ():
        runtime.remote_admin.send("create", cluster.name, peer, base, partitions, seq)


def _copying(runtime: Runtime, cluster: Cluster) -> bool:
    """Whether requests that create are copied: the proposal takes that away, and PIP-370's switch too."""
    return runtime.option("replicationTopicCreation") != "proposal" and cluster.creates_remotely


def delete(runtime, arguments, begin) -> None:
    """topic.delete: 422 with replicators that leave from here, 412 with some that come in or with clients; forced none of them."""
    cluster, base = serving(runtime, arguments["cluster"]), arguments["topic"]
    parts = cluster.parts(base)
    if not parts:
        raise _not_found(cluster, base)
    if not arguments["force"]:
        outbound = sorted({peer for topic in parts for peer in topic.replicators})
        if outbound:
            raise CommandError("422", f"Delete forbidden: topic {base} is replicated on clusters [{', '.join(outbound)}]", "take them off its replication list first, or force")
        fed = sorted({name for topic in parts for name in topic.shadows.replicators})
        if fed:
            raise CommandError("422", f"Topic {base} has shadow replicators: {', '.join(fed)}", "take the shadow topics off its list and delete them first, or force")
        inbound = max((_inbound(runtime, topic) for topic in parts), default=0)
        if inbound:
            raise CommandError("412", f"Topic {base} has {inbound} replicators connected", "stop replication towards it where it comes from, or force")
        consumers = sum(len(subscription.dispatcher.sessions) for topic in parts for subscription in topic.subscriptions.values())
        consumers += sum(audience.connected for topic in parts for audience in topic.audiences.values())
        producers = sum(producer.is_open and producer.cluster_name == cluster.name and producer.spec.topic == base for producer in runtime.producers.values())
        if consumers or producers:
            raise CommandError("412", f"Topic {base} has active producers/subscriptions: {producers} producers, {consumers} consumers", "stop them, or force")
    seq = catalogue.delete(cluster, base, "forced" if arguments["force"] else "command", begin())
    enforcement.apply(runtime, policies.forget_lists(runtime, cluster.name, base, seq))


def _inbound(runtime: Runtime, topic) -> int:
    """Replicator producers of other clusters that are connected to a log here."""
    if topic.source is not None:
        return int(topic.fed_now)
    sources = [other.topics.get(topic.name) for other in runtime.clusters.values() if other is not topic.cluster]
    return sum(source is not None and topic.cluster.name in source.replicators and source.replicators[topic.cluster.name].connected for source in sources)


def update_partitions(runtime, arguments, begin) -> None:
    """topic.update-partitions: more here, and in the clusters that it replicates to; the present count is not more, and goes to them all the same."""
    cluster, base, wanted = _with_topic(runtime, arguments), arguments["topic"], arguments["partitions"]
    shape = cluster.shape(base)
    if not shape:
        raise CommandError("422", f"Topic {base} is not the partitioned topic: {cluster.name} has a non-partitioned one", "only a partitioned topic can get more")
    if wanted < shape:
        raise CommandError("422", f"Desired partitions {wanted} can't be less than the current partitions {shape}.", "partitions can only be added")
    source = runtime.scenario.topics[base].shadow_of
    if source is not None and wanted > (cluster.shape(source) or 0):
        raise CommandError("412", f"{source}, whose shadow {base} is, has {cluster.shape(source) or 0} partitions", "add them to the source first")
    seq = begin()
    if wanted > shape:
        seq = catalogue.grow(cluster, base, wanted, "command", seq)
        remote_admin.use_new_partitions(cluster, base, seq)
    for peer in _copies(cluster, base):
        runtime.remote_admin.send("grow", cluster.name, peer, base, wanted, seq)


def set_list(runtime, arguments, begin) -> None:
    """topic.set-replication-clusters: counts of both sides must agree; what a remote lacks is created first, not in the proposal."""
    cluster, base, listed = _with_topic(runtime, arguments), arguments["topic"], tuple(arguments["clusters"])
    _check_list(runtime, cluster, base, listed)
    shape, remotes = cluster.shape(base), [name for name in sorted(listed) if name != cluster.name]
    checks = runtime.option("replicationTopicCreation") == "proposal" or cluster.creates_remotely
    missing = _lacking(runtime, cluster, base, shape, remotes) if shape and checks else []
    cause = begin()
    for name in missing if _copying(runtime, cluster) else ():
        catalogue.create(runtime.clusters[name], base, shape, "set-replication-clusters", cause, cluster.name)
    scope = GLOBAL if arguments["global"] else LOCAL
    _change_everywhere(runtime, cluster, base, scope, listed, cause)


def _check_list(runtime: Runtime, cluster: Cluster, base: str, listed: tuple[str, ...]) -> None:
    if not listed:
        raise CommandError("412", "ClusterIds should not be null or empty", "name at least one cluster, or remove the list")
    for name in sorted(listed):
        if name not in runtime.clusters:
            raise CommandError("403", f"Invalid cluster id: {name}", f"clusters are {', '.join(runtime.clusters)}")
    if cluster.name not in listed:
        raise CommandError("412", f"The list of {base} has to contain the local cluster {cluster.name}", "name it too, or delete the topic here")
    allowed = policies.of_topic(runtime, cluster.name, base)["allowed_clusters"]
    for name in sorted(listed):
        if allowed and name not in allowed:
            raise CommandError("400", f"Cluster [{name}] is not in the list of allowed clusters list", f"allowed are {', '.join(allowed)}")


def _lacking(runtime: Runtime, cluster: Cluster, base: str, shape: int, remotes: list[str]) -> list[str]:
    """Remotes without the topic. Raises 412 where it has another count, 500 where nobody can be asked."""
    missing = []
    for name in remotes:
        remote = runtime.clusters[name]
        silent = remote_admin.why_silent(cluster, remote)
        if silent is not None:
            raise CommandError("500", silent, "heal or restart what is broken")
        far = remote.shape(base)
        if far is not None and far != shape:
            raise CommandError("412", f"The topic {base} already exists on the remote cluster {name} with different partitions: local: {shape}, remote: {far}",
                               "give both the same number of partitions first")  # fmt: skip
        nowhere = policies.not_here(remote, base)
        if far is None and nowhere is not None and _copying(runtime, cluster):
            raise CommandError(*nowhere, f"the topic would have to be created in {name}: create its namespace there, or put {name} on the list there")
        if far is None:
            missing.append(name)
    return missing


def remove_list(runtime, arguments, begin) -> None:
    """topic.remove-replication-clusters."""
    cluster, base = _with_topic(runtime, arguments), arguments["topic"]
    scope = GLOBAL if arguments["global"] else LOCAL
    if (cluster.name, base, scope) not in runtime.policies.lists:
        raise CommandError("404", f"{base} has no {scope} replication list of its own in {cluster.name}", "set one first")
    _change_everywhere(runtime, cluster, base, scope, None, begin())


def _change_everywhere(runtime: Runtime, cluster: Cluster, base: str, scope: str, listed: tuple[str, ...] | None, cause: int) -> None:
    """Here at once; a global policy travels to the namespace's other clusters with `__change_events`."""
    namespace = runtime.scenario.topics[base].namespace
    others = [name for name in policies.namespace_list(runtime, cluster.name, namespace) if name != cluster.name] if scope == GLOBAL else []
    _need_change_events(cluster, namespace, cause)
    seq = policies.change_list(runtime, cluster.name, base, scope, listed, cause)
    for name in sorted(others):
        runtime.remote_admin.send("set_global_list", cluster.name, name, base, listed, seq)
    enforcement.apply(runtime, seq)


def _need_change_events(cluster: Cluster, namespace: str, cause: int) -> None:
    """Topic policies live in `__change_events`, which is created as any topic is when it is missing: adopted from a remote since #25312."""
    runtime = cluster.runtime
    if policies.of_namespace(runtime, cluster.name, namespace)["change_events_partitions"] is not None:
        return
    _allowed, kind, partitions = policies.auto_creation(cluster, namespace)
    shape = partitions if kind == "partitioned" else 0
    if runtime.option("replicationTopicCreation") == "implemented":
        for name in sorted(set(policies.namespace_list(runtime, cluster.name, namespace)) - {cluster.name}):
            there = policies.of_namespace(runtime, name, namespace)
            if runtime.clusters[name].up and there is not None and there["change_events_partitions"] is not None:
                shape = there["change_events_partitions"]
                break
    policies.change(runtime, cluster.name, namespace, cause, change_events_partitions=shape)


def _has_schemas_of_its_own(cluster: Cluster, base: str) -> None:
    if schema_registry.owner(cluster, base) != base:
        raise CommandError("NotAllowed", f"shadow topic {base} has its source's schemas", f"name {schema_registry.owner(cluster, base)}")


def upload_schema(runtime, arguments, begin) -> None:
    """schema.upload: a person may always register; it must still be compatible."""
    cluster, base, schema = _with_topic(runtime, arguments), arguments["topic"], arguments["schema"]
    _has_schemas_of_its_own(cluster, base)
    refused = schema_registry.why_refused(cluster, base, runtime.schemas.declared[schema], schema_registry.PERSON)
    if refused is not None:
        raise CommandError("409", refused[1], "make it compatible with the versions before, or change the strategy")
    schema_registry.offer(cluster, base, schema, schema_registry.PERSON, begin())


def delete_schema(runtime, arguments, begin) -> None:
    """schema.delete."""
    cluster, base = _with_topic(runtime, arguments), arguments["topic"]
    _has_schemas_of_its_own(cluster, base)
    count = len(schema_registry.versions(cluster, base))
    if not count:
        raise CommandError("404", f"{base} has no schema in {cluster.name}", "upload one, or let a producer register its own")
    cause = begin()
    schema_registry.forget(cluster, base)
    runtime.note("schema.deleted", cause, cluster.number, base, count)


def use_schema(runtime, arguments, begin) -> None:
    """producer.use-schema."""
    producer = runtime.producers[arguments["producer"]]
    if runtime.schemas is None:
        raise CommandError("no-schemas", "the scenario declares no schemas", "declare some in its section schemas")
    if producer.state not in ("running", "paused"):
        raise CommandError("wrong-state", f"{producer.name} is {producer.state}", "start it first")
    clients.use_schema(producer, runtime.clusters[producer.cluster_name], arguments.get("schema"), begin())


HANDLERS = {
    "topic.create": create,
    "topic.delete": delete,
    "topic.update-partitions": update_partitions,
    "topic.set-replication-clusters": set_list,
    "topic.remove-replication-clusters": remove_list,
    "schema.upload": upload_schema,
    "schema.delete": delete_schema,
    "producer.use-schema": use_schema,
}
