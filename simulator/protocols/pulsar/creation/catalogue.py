"""Topics of a cluster: created by clients, replicators and administrators, changed and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import policies, schemas
from simulator.protocols.pulsar.storage import retention

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer
    from simulator.protocols.pulsar.pulsar import Pulsar


# --- the topics of each cluster: creating, growing and deleting them during the run
#
# Rules: a partitioned topic is metadata (the number of partitions) and one log for each partition. A plain
# topic is a log. The empty log of a deleted topic is kept: when the name is created again, positions
# continue from its end.


def partition_names(base: str, partitions: int) -> list[tuple[str, int]]:
    """(name, partition number) of a topic's logs; a plain topic has one, numbered -1."""
    return (
        [(f"{base}-partition-{number}", number) for number in range(partitions)]
        if partitions
        else [(base, -1)]
    )


def words_of(shape: int | None) -> str:
    """A shape in words."""
    return (
        "no topic"
        if shape is None
        else f"a partitioned topic with {shape} partitions"
        if shape
        else "a non-partitioned topic"
    )


def too_few(cluster: Cluster, base: str, partitions: int) -> str | None:
    """Why so many partitions cannot be created, None when they can (AdminResource.getMaxPartitionIndex).

    They cannot when a log named like a partition exists without metadata and has at least that number.
    """
    highest = max((topic.partition for topic in cluster.logs_of(base)), default=-1)
    return (
        None
        if not partitions or highest < partitions
        else (
            f"The topic has a max partition index of {highest}, the number of partitions must be at least "
            f"{highest + 1}"
        )
    )


def create(
    cluster: Cluster,
    base: str,
    partitions: int,
    reason: str,
    cause: int,
    peer: str | None = None,
    client: int | None = None,
) -> int:
    """Create a topic that is missing here; returns the seq of its `topic.created` row.

    `reason` is the source of the request (client, command, replicator, reconnection, copied-request,
    set-replication-clusters), `peer` the cluster that the request came from, `client` the client that
    connected.
    """
    seq = cluster.runtime.rows.topic_created(
        cause, cluster=cluster.number, peer=peer, topic=base, client=client, count=partitions, reason=reason
    )
    if partitions:
        cluster.partitioned[base] = partitions
    _open(cluster, base, partition_names(base, partitions), seq)
    return seq


def create_by_name(cluster: Cluster, base: str, name: str, reason: str, cause: int, peer: str) -> int:
    """Create one log named like a partition, without metadata.

    Before PIP-414 a producer of a single partition created such logs.
    """
    seq = cluster.runtime.rows.topic_created(
        cause, cluster=cluster.number, peer=peer, topic=name, client=None, count=0, reason=reason
    )
    _open(cluster, base, [(name, partition_number(base, name))], seq)
    return seq


def partition_number(base: str, name: str) -> int:
    """2 of `orders-partition-2`; -1 of `orders`."""
    return -1 if name == base else int(name.rpartition("-")[2])


def grow(
    cluster: Cluster,
    base: str,
    partitions: int,
    reason: str,
    cause: int,
    peer: str | None = None,
) -> int:
    """Give a partitioned topic more partitions here; returns the row's seq."""
    seq = cluster.runtime.rows.topic_partitions_changed(
        cause, cluster=cluster.number, peer=peer, topic=base, count=partitions, reason=reason
    )
    cluster.partitioned[base] = partitions
    copy_subscriptions(cluster, base, _open(cluster, base, partition_names(base, partitions), seq), seq)
    if cluster.runtime.option("shadowPartitionChanges") == "follow-source":
        for shadow in shadows_of(cluster, base):
            grow(cluster, shadow, partitions, "follows-source", seq)
    return seq


def copy_subscriptions(cluster: Cluster, base: str, new: list[Topic], cause: int) -> None:
    """New partitions get the subscriptions of partition 0 at earliest, so that they miss no messages."""
    first = cluster.topics[f"{base}-partition-0"]
    for topic in new if first.source is None else ():
        for name, subscription in first.subscriptions.items():
            topic.add_subscription(
                name, subscription.type, topic.log.first_kept - 1, subscription.replicated, "command", cause
            )
        topic.evaluate_controller(cause)


def shadows_of(cluster: Cluster, base: str) -> list[str]:
    """Shadow topics of a topic that are in the cluster, by name."""
    topics = cluster.runtime.scenario.topics
    return sorted(
        name for name in topics if topics[name].shadow_of == base and cluster.shape(name) is not None
    )


def _open(cluster: Cluster, base: str, names: list[tuple[str, int]], cause: int) -> list[Topic]:
    """Open the missing logs and return them; all exist before the first is loaded."""
    new = [
        cluster.add_topic(base, name, partition) for name, partition in names if name not in cluster.topics
    ]
    if cluster.up:
        for topic in new:
            topic.loaded = True
        for topic in new:
            topic.load(cause)
    return new


def delete(cluster: Cluster, base: str, reason: str, cause: int) -> int:
    """Delete a topic with everything in it: subscriptions, replication cursors, entries, schemas.

    Returns the row's seq.
    """
    runtime = cluster.runtime
    doomed = cluster.logs_of(base)
    for topic in doomed:
        topic.unload("deleted", cause)
    for topic in doomed:
        for one in runtime.failovers:
            if one.target == cluster.name:
                one.window.topic_deleted(topic)
        topic.empty(cause)
        topic.take_broker(None)
        del cluster.topics[topic.name]
        cluster.deleted[topic.name] = topic
    cluster.partitioned.pop(base, None)
    schemas.forget(cluster, base)
    runtime.shadow_lists.pop((cluster.name, base), None)  # a policy of the topic is deleted with it
    seq = runtime.rows.topic_deleted(cause, cluster=cluster.number, topic=base, reason=reason)
    for consumer in runtime.consumers.values():
        if (
            consumer.cluster_name == cluster.name
            and runtime.subscriptions[consumer.spec.subscription].topic == base
        ):
            consumer.last_seq = max(consumer.last_seq, seq)
    return seq


# --- auto-creation of topics: a client connects to a missing topic (`BrokerService`, #25312)


PARTITIONED = "partitioned"


def ask(cluster: Cluster, base: str, client: int, cause: int) -> str | None:
    """A client connects: create the topic if the rules allow it.

    Returns None when it exists now, else why it does not. The caller may write a row for a refusal. It is not
    always written, because clients retry often.
    """
    if cluster.shape(base) is not None:
        return None
    why = refusal(cluster, base)
    if why is not None:
        return why
    adopted, peer = _remote_shape(cluster, base)
    create(
        cluster,
        base,
        auto_partitions(cluster, base) if adopted is None else adopted,
        "client",
        cause,
        peer,
        client,
    )
    return None


def refusal(cluster: Cluster, base: str) -> str | None:
    """Why a client may not create the topic here, None when it may."""
    namespace = cluster.runtime.scenario.topics[base].namespace
    if cluster.runtime.scenario.topics[base].shadow_of is not None:
        return f"Topic {namespace}/{base} does not exist; a shadow topic is created by command only"
    nowhere = policies.not_here(cluster, base)
    if nowhere is not None:
        return nowhere[1]
    if not policies.auto_creation(cluster, namespace)[0]:
        return f"Topic {namespace}/{base} does not exist, and creating it by connecting is not allowed"
    return None


def auto_partitions(cluster: Cluster, base: str) -> int:
    """Partitions of a topic that a client creates here by the policies in force; 0 is a plain topic."""
    _allowed, kind, partitions = policies.auto_creation(
        cluster, cluster.runtime.scenario.topics[base].namespace
    )
    return partitions if kind == PARTITIONED else 0


def _remote_shape(cluster: Cluster, base: str) -> tuple[int | None, str | None]:
    """The shape that a remote cluster has, and its name; queried in sorted order since #25312.

    Only the namespace's list counts, and PIP-370's switch (`BrokerService`,
    getRemotePartitionedTopicMetadataForAutoCreation).
    """
    runtime = cluster.runtime
    if runtime.option("replicationTopicCreation") == "implemented" and cluster.creates_remotely:
        for peer in policies.namespace_remotes(runtime, cluster.name, base):
            remote = runtime.clusters[peer]
            if remote.up and runtime.links[cluster.name, peer].up and remote.shape(base) is not None:
                return remote.shape(base), peer
    return None, None


# --- applies a changed policy: deletes topics that are not allowed, and starts and stops replicators
#
# The source is `PersistentTopic.checkReplication`.


def apply(runtime: Pulsar, cause: int) -> None:
    """Apply the lists in force in all clusters, as brokers do upon a policy event."""
    for base in sorted(runtime.scenario.topics):
        for cluster in runtime.clusters.values():
            if cluster.shape(base) is not None and policies.kept_out(runtime, cluster.name, base):
                delete(cluster, base, "kept-out", cause)
        wanted = policies.pairs(runtime, base)
        if wanted == runtime.replication[base]:
            continue
        runtime.replication[base] = wanted
        for cluster in runtime.clusters.values():
            for topic in tuple(cluster.topics.values()):
                if topic.base == base:
                    follow_list(topic, cause)


def follow_list(topic: Topic, cause: int) -> None:
    """Remove one topic's replicators that are off the list, and add the missing ones.

    Cursors are removed with their replicators. New ones begin at replicationStartAt.
    """
    wanted = topic.remote_clusters()
    gone = [peer for peer in topic.replicators if peer not in wanted]
    for peer in gone:
        topic.replicators.pop(peer).remove(cause)
    if gone:
        retention.cursor_deleted(topic, cause)
    if topic.loaded:
        for peer in wanted:
            if peer not in topic.replicators:
                topic.add_replicator(peer, cause).start(cause)
    topic.evaluate_controller(cause)


# --- clients that connect to a topic: it may be missing, and their schema may be refused
#
# Rules: a missing topic is created when the rules in force allow a client to do so. A refused client
# retries with its own backoff, and a refusal is a row when its reason is new. A producer offers its schema
# with every message, like a producer of AUTO_PRODUCE, and again when a pending entry is sent. A message
# whose schema is refused has failed.


def find_topic(client: Producer | Consumer, cluster: Cluster, base: str, cause: int) -> int:
    """Create a missing topic or record the refusal; returns its partitions (0: plain, or missing)."""
    if cluster.up and cluster.shape(base) is None:
        why = ask(cluster, base, client.number, cause)
        if why is not None and why != client.refusal:
            cluster.runtime.rows.topic_creation_refused(
                cause,
                cluster=cluster.number,
                peer=None,
                topic=base,
                client=client.number,
                reason="auto-creation",
                detail=why,
            )
        client.refusal = why
    return cluster.partitioned.get(base, 0)


def use_schema(producer: Producer, cluster: Cluster, schema: str | None, cause: int) -> None:
    """Set the schema of the producer's further messages; the topic accepts or refuses it."""
    runtime = cluster.runtime
    if runtime.schemas is None:
        return
    if schema != producer.schema:
        # an entry has one schema: the client sends the open batch before it begins another
        producer.flush_batches(cause)
    producer.schema = schema
    runtime.schemas.use(producer.number, producer.next_sequence_id, schema)
    seq = runtime.rows.schema_used(
        cause,
        cluster=cluster.number,
        topic=producer.spec.topic,
        producer=producer.number,
        sequence_id=producer.next_sequence_id,
        detail=schema,
    )
    refuses_schema(producer, cluster, schema, seq)


def refuses_schema(producer: Producer, cluster: Cluster, schema: str | None, cause: int) -> str | None:
    """Why the topic does not accept the producer's messages with this schema.

    None when it does, or when the topic does not exist.
    """
    base = producer.spec.topic
    if not cluster.up or cluster.shape(base) is None:
        return None
    if schema is None:
        why = schemas.admit_without_schema(cluster, base)
        refused = None if why is None else ("none-given", why)
    else:
        declared = schemas.book_of(cluster.runtime).declared[schema]
        refused = schemas.why_refused(cluster, base, declared, schemas.PRODUCER)
    if refused is None and schema is not None:
        schemas.offer(cluster, base, schema, schemas.PRODUCER, cause, client=producer.number)
    if refused is not None and refused != producer.schema_refusal:
        cluster.runtime.rows.schema_refused(
            cause,
            cluster=cluster.number,
            peer=None,
            topic=base,
            client=producer.number,
            reason=refused[0],
            detail=f"{schema or 'none'}: {refused[1]}",
        )
    producer.schema_refusal = refused
    return None if refused is None else refused[1]


def refuses_reader(consumer: Consumer, topic: Topic, schema: str, cause: int) -> str | None:
    """Why a consumer with a schema may not subscribe, None when it may."""
    cluster, runtime = topic.cluster, topic.runtime
    active = (
        any(ledger.size_bytes for ledger in topic.log.ledgers)
        or any(one.dispatcher.sessions for one in topic.subscriptions.values())
        or any(
            one.is_open and one.cluster_name == cluster.name and one.spec.topic == topic.base
            for one in runtime.producers.values()
        )
    )
    why = schemas.admit_consumer(cluster, topic.base, schema, cause, consumer.number, active)
    if why is not None and (active or schemas.versions(cluster, topic.base)):
        runtime.rows.schema_refused(
            cause,
            cluster=cluster.number,
            peer=None,
            topic=topic.base,
            client=consumer.number,
            reason="incompatible",
            detail=f"{schema}: {why}",
        )
    return why
