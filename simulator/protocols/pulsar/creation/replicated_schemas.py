"""Schema registration by a replicator (`GeoPersistentReplicator.replicateEntries`, PIP-433).

Rules: before the first message of a schema on a connection, its registration is requested from the peer:
reading pauses for a round trip. If it is refused, the message stays at the head: the partition stops, in
order, and nothing on this connection retries. Only a new connection does, so a changed policy alone does not
help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import schema_registry

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator


class ReplicatedSchemas:
    """Schema state of one connection: those that the peer accepted, and a pending registration.

    It includes since when that is pending. The waiting message is at the head of the producer's pending
    sends, accepted or refused: the delay in the stats is its age.
    """

    __slots__ = ("known", "waiting", "since_us")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """A new connection starts with no schemas sent."""
        self.known: dict[str, None] = {}
        self.waiting = False
        self.since_us = 0


def holds_back(replicator: Replicator, index: int, record: int) -> bool:
    """Whether the message must wait for its schema; if so, the registration is requested."""
    runtime = replicator.runtime
    schema = schema_registry.book_of(runtime).of_message(
        runtime.messages.producer[record], runtime.messages.sequence_id[record]
    )
    if schema is None or schema in replicator.schemas.known:
        return False
    replicator.schemas.waiting, replicator.schemas.since_us = True, runtime.now_us
    arrive_us = runtime.now_us + replicator.link.latency_us(replicator.draw_base + index)
    runtime.schedule(
        arrive_us, replicator.rank, replicator.register_schema, (replicator.connection, index, schema)
    )
    return True


def register(replicator: Replicator, connection: int, index: int, schema: str) -> None:
    """At the peer: accept the schema or refuse it."""
    if connection != replicator.connection:
        return
    runtime, topic = replicator.runtime, replicator.topic
    remote = runtime.clusters[replicator.peer]
    why = schema_registry.offer(
        remote, topic.base, schema, "replicator", topic.stored_seqs[index], peer=topic.cluster.name
    )
    answer_us = runtime.now_us + replicator.back.latency_us(replicator.draw_base + index)
    runtime.schedule(answer_us, replicator.rank, replicator.schema_answered, (connection, index, schema, why))


def answered(replicator: Replicator, connection: int, index: int, schema: str, why: str | None) -> None:
    """At the source: continue to read, or stop."""
    if connection != replicator.connection:
        return
    if why is not None:
        topic = replicator.topic
        replicator.last_error = why
        replicator.runtime.note(
            "replicator.stopped",
            topic.stored_seqs[index],
            topic.cluster.number,
            replicator.peer_number,
            topic.number,
            *topic.log.position(index),
            replicator.runtime.now_us - replicator.schemas.since_us,
            "schema",
            why,
        )
        return
    replicator.schemas.known[schema] = None
    replicator.schemas.waiting = False
    replicator.read()
