"""Commands that create, delete and grow topics; codes are pulsar-admin's HTTP status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker import session
from simulator.protocols.pulsar.commands.named import cluster_up, full_name, not_found
from simulator.protocols.pulsar.creation import catalogue, policies, remote_admin
from simulator.protocols.pulsar.shadow.source import STARTED
from simulator.protocols.pulsar.shadow.topic import ShadowTopic
from simulator.scenarios.commands import CommandError
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar


def create(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.create: in this cluster, and partitioned ones also where their namespace replicates.

    The proposal creates it only in this cluster. With `createLocalTopicOnly` an existing partitioned topic is
    no conflict, and stays as it is (`AdminResource.internalCreatePartitionedTopic`, #24225).
    """
    cluster, base, partitions = (
        cluster_up(runtime, arguments["cluster"]),
        arguments["topic"],
        arguments["partitions"],
    )
    if runtime.scenario.topics[base].shadow_of is not None:
        raise CommandError(
            "412", f"{base} is a shadow topic", "use shadow.create: it has its source's partitions"
        )
    nowhere = policies.not_here(cluster, base)
    if nowhere is not None:
        raise CommandError(
            *nowhere,
            "create the namespace first"
            if nowhere[0] == "404"
            else f"put {cluster.name} on the replication list",
        )
    shape, local_only = cluster.shape(base), arguments["createLocalTopicOnly"]
    if shape is not None and not (shape and partitions and local_only):
        raise CommandError(
            "409",
            "This topic already exists",
            f"{cluster.name} has {catalogue.words_of(shape)}; delete it, or update its partitions",
        )
    conflict = catalogue.too_few(cluster, base, partitions)
    if conflict is not None:
        raise CommandError(
            "409",
            conflict,
            (
                f"{cluster.name} has logs that are named like its partitions: delete them, or ask for more "
                f"partitions"
            ),
        )
    copies = partitions > 0 and not local_only and copies_requests(runtime, cluster)
    seq = begin(code="204")
    if shape is not None:
        return
    seq = catalogue.create(cluster, base, partitions, "command", seq)
    for peer in policies.namespace_remotes(runtime, cluster.name, base) if copies else ():
        runtime.remote_admin.send(runtime.remote_admin.create, cluster.name, peer, base, partitions, seq)


def copies_requests(runtime: Pulsar, cluster: Cluster) -> bool:
    """Whether creation requests are copied: not in the proposal, nor with PIP-370's switch off."""
    return runtime.option("replicationTopicCreation") != "proposal" and cluster.creates_remotely


def delete(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.delete: 422 with outgoing replicators, 412 with incoming ones or clients.

    A forced one is never refused for these reasons.
    """
    cluster, base = cluster_up(runtime, arguments["cluster"]), arguments["topic"]
    parts = cluster.logs_of(base)
    if not parts:
        raise not_found(runtime, cluster, base)
    if not arguments["force"]:
        outbound = sorted({peer for topic in parts for peer in topic.replicators})
        if outbound:
            raise CommandError(
                "422",
                f"Delete forbidden topic is replicated on clusters [{', '.join(outbound)}]",
                "take them off its replication list first, or force",
            )
        feeding = next((topic for topic in parts if topic.shadows.replicators), None)
        if feeding is not None:
            fed = ", ".join(sorted(feeding.shadows.replicators))
            raise CommandError(
                "422",
                (
                    f"Delete forbidden. Topic {full_name(runtime, base, feeding.name)} is replicated to "
                    "shadow topics."
                ),
                f"take {fed} off its list of shadow topics first, or force",
            )
        refuse_in_use(runtime, cluster, base)
    seq = catalogue.delete(cluster, base, "forced" if arguments["force"] else "command", begin(code="204"))
    catalogue.apply(runtime, policies.forget_lists(runtime, cluster.name, base, seq))


def refuse_in_use(runtime: Pulsar, cluster: Cluster, base: str) -> None:
    """Raises 412 while a log of the topic has clients, as PersistentTopic.delete counts them."""
    producers = sum(
        producer.is_open and producer.cluster_name == cluster.name and producer.spec.topic == base
        for producer in runtime.producers.values()
    )
    for topic in cluster.logs_of(base):
        consumers = sum(
            len(subscription.dispatcher.sessions) for subscription in topic.subscriptions.values()
        )
        consumers += sum(audience.connected for audience in topic.audiences.values())
        replicators = _inbound(runtime, topic)
        clients = consumers + producers + replicators
        if clients:
            noun = "client" if clients == 1 else "clients"
            raise CommandError(
                "412",
                (
                    f"Topic has {clients} {noun} connected Including {consumers} consumers, {producers} "
                    f"producers, and {replicators} replicators."
                ),
                "stop its clients, and replication to it at its source, or force",
            )


def _inbound(runtime: Pulsar, topic: Topic) -> int:
    """Replicator producers of other clusters that are connected to a log in this cluster."""
    if isinstance(topic, ShadowTopic):
        return int(topic.fed_now)
    fed = sum(replicator.state == STARTED for replicator in session.shadow_replicators(topic))
    sources = [
        other.topics.get(topic.name) for other in runtime.clusters.values() if other is not topic.cluster
    ]
    return fed + sum(
        source is not None
        and topic.cluster.name in source.replicators
        and source.replicators[topic.cluster.name].connected
        for source in sources
    )


def update_partitions(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.update-partitions: more in this cluster and in the clusters that it replicates to.

    A request with the present count adds none, but is also copied to them. A topic that does not exist is no
    partitioned one.
    """
    cluster, base, wanted = (
        cluster_up(runtime, arguments["cluster"]),
        arguments["topic"],
        arguments["partitions"],
    )
    shape = cluster.shape(base)
    if not shape:
        raise CommandError(
            "409",
            f"Topic {full_name(runtime, base)} is not the partitioned topic.",
            f"{cluster.name} has {catalogue.words_of(shape)}; only a partitioned topic can get more",
        )
    if wanted < shape:
        raise CommandError(
            "422",
            f"Desired partitions {wanted} can't be less than the current partitions {shape}.",
            "partitions can only be added",
        )
    source = runtime.scenario.topics[base].shadow_of
    if source is not None and wanted > (cluster.shape(source) or 0):
        raise CommandError(
            "412",
            f"{source}, whose shadow {base} is, has {cluster.shape(source) or 0} partitions",
            "add them to the source first",
        )
    seq = begin(code="204")
    if wanted > shape:
        seq = catalogue.grow(cluster, base, wanted, "command", seq)
        remote_admin.use_new_partitions(runtime, cluster, base, seq)
    peers = policies.followers(runtime, cluster.name, base)
    if peers is None:
        why = "422 Local cluster is not part of replicate cluster list"
        runtime.rows.topic_creation_refused(
            seq,
            cluster=cluster.number,
            peer=None,
            topic=base,
            client=None,
            reason=remote_admin.COPIED,
            detail=why,
        )
    for peer in peers or ():
        runtime.remote_admin.send(runtime.remote_admin.grow, cluster.name, peer, base, wanted, seq)


def grow(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """topic.grow: new partitions in every cluster; producers and consumers use them at once."""
    base, wanted = arguments["topic"], arguments["partitions"]
    present = max((cluster.partitioned.get(base, 0) for cluster in runtime.clusters.values()), default=0)
    if not present:
        raise CommandError(
            "not-partitioned", f"{base} has no partitions", "declare partitions in the scenario"
        )
    if wanted <= present:
        raise CommandError("not-more", f"{base} has {present} partitions", "partitions can only be added")
    source = runtime.scenario.topics[base].shadow_of
    if source is not None and any(
        wanted > (cluster.shape(source) or 0)
        for cluster in runtime.clusters.values()
        if base in cluster.partitioned
    ):
        raise CommandError(
            "too-many",
            f"{source}, whose shadow {base} is, has fewer partitions",
            "add them to the source first",
        )
    cause = begin()
    clusters = [cluster for cluster in runtime.clusters.values() if base in cluster.partitioned]
    for cluster in clusters:
        cluster.partitioned[base] = wanted
        runtime.rows.topic_partitions_changed(
            cause, cluster=cluster.number, peer=None, topic=base, count=wanted, reason="command"
        )
    new = [
        (cluster, f"{base}-partition-{number}", number) for number in range(wanted) for cluster in clusters
    ]
    added = [
        cluster.add_topic(base, name, number) for cluster, name, number in new if name not in cluster.topics
    ]
    for topic in added:
        topic.loaded = topic.cluster.up
    for topic in added:
        if topic.cluster.up:
            topic.load(cause, first=True)
    for cluster in clusters:
        catalogue.copy_subscriptions(
            cluster, base, [topic for topic in added if topic.cluster is cluster and cluster.up], cause
        )
    for consumer in runtime.consumers.values():
        if consumer.sessions and runtime.subscriptions[consumer.spec.subscription].topic == base:
            consumer.connect(cause)
    if runtime.option("shadowPartitionChanges") == "follow-source":
        for cluster in clusters:
            for shadow in catalogue.shadows_of(cluster, base):
                catalogue.grow(cluster, shadow, wanted, "follows-source", cause)
            remote_admin.use_new_partitions(runtime, cluster, base, cause)


HANDLERS: dict[str, Handler] = {
    "topic.create": create,
    "topic.delete": delete,
    "topic.update-partitions": update_partitions,
    "topic.grow": grow,
}
