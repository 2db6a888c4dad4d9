"""Clients that connect to a topic: it may be missing, and their schema may be refused.

Rules: a missing topic is created when the rules in force allow a client to do so. A refused client retries
with its own backoff, and a refusal is a row when its reason is new. A producer offers its schema with every
message, like a producer of AUTO_PRODUCE, and again when a pending entry is sent. A message whose schema is
refused has failed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import catalogue, schemas

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.client.producer import Producer


def find_topic(client: Producer | Consumer, cluster: Cluster, base: str, cause: int) -> int:
    """Create a missing topic or record the refusal; returns its partitions (0: plain, or missing)."""
    if cluster.up and cluster.shape(base) is None:
        why = catalogue.ask(cluster, base, client.number, cause)
        if why is not None and why != client.refusal:
            cluster.runtime.note(
                "topic.creation-refused",
                cause,
                cluster.number,
                None,
                base,
                client.number,
                "auto-creation",
                why,
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
    seq = runtime.note(
        "schema.used",
        cause,
        cluster.number,
        producer.spec.topic,
        producer.number,
        producer.next_sequence_id,
        schema,
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
        cluster.runtime.note(
            "schema.refused",
            cause,
            cluster.number,
            None,
            base,
            producer.number,
            refused[0],
            f"{schema or 'none'}: {refused[1]}",
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
        runtime.note(
            "schema.refused",
            cause,
            cluster.number,
            None,
            topic.base,
            consumer.number,
            "incompatible",
            f"{schema}: {why}",
        )
    return why
