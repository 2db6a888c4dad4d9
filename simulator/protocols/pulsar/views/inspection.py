"""Details of a live state for the page: cells, entries on the wire, one marker.

Rules: reads, never writes. Positions are printed as in Pulsar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.pulsar.markers import entries
from simulator.protocols.pulsar.pulsar import Pulsar

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.markers.entries import Marker
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.world import World

MARKER_KIND, ORIGIN_KIND = 100, 1000
"""Bases of a cell's kind, which for messages is the origin index.

For markers it is 100 + marker type + 1000 * (origin index + 1).
"""


def cells(runtime: Pulsar, cluster: str, topic_name: str, first: int, count: int) -> dict[str, Any]:
    """Log entries `first`… as columns of small integers (docs/python-api.md)."""
    topic = runtime.clusters[cluster].topics[topic_name]
    first = max(first, topic.log.first_kept)
    last = min(first + count, topic.log.length)
    result: dict[str, Any] = {
        "first": first,
        "length": topic.log.length,
        "kind": [],
        "producer": [],
        "number": [],
        "size": [],
        "snapshot": [],
    }
    used: dict[int, int] = {}
    messages = runtime.messages
    for record in topic.log.records.view(first, last).tolist() if last > first else ():
        if record < 0:
            marker = runtime.markers[-record - 1]
            origin = runtime.cluster_index(marker.origin)
            values = (
                MARKER_KIND + MARKER_TYPES[marker.type] + ORIGIN_KIND * (origin + 1),
                -1,
                marker.number,
                1,
                marker.snapshot or -1,
            )
        else:
            producer = used.setdefault(messages.producer[record], len(used))
            values = (
                messages.origin[record],
                producer,
                messages.sequence_id[record],
                messages.batch[record],
                -1,
            )
        for name, value in zip(("kind", "producer", "number", "size", "snapshot"), values, strict=True):
            result[name].append(value)
    result["names"] = [runtime.trace.names[number] for number in used]
    return result


def flights(runtime: Pulsar, limit: int) -> tuple[list[dict], dict[str, int]]:
    """Entries on the wire, evenly sampled down to `limit`, and how many are on each link."""
    wires: list[tuple[Replicator, tuple[int, int, int]]] = []
    totals = {f"{source} -> {target}": 0 for source, target in sorted(runtime.links)}
    for name in runtime.cluster_names:
        for topic in runtime.clusters[name].topics.values():
            for peer, replicator in topic.replicators.items():
                on_wire = (*replicator.broken.entries, *replicator.wire)
                totals[f"{name} -> {peer}"] += len(on_wire)
                wires.extend((replicator, item) for item in on_wire)
    if len(wires) > limit:
        wires = [wires[place * len(wires) // limit] for place in range(limit)]
    return [_flight(runtime, replicator, *item) for replicator, item in wires], totals


def _flight(runtime: Pulsar, replicator: Replicator, index: int, sent_us: int, due_us: int) -> dict:
    topic = replicator.topic
    record = topic.log.records[index]
    flight = {
        "from": topic.cluster.name,
        "to": replicator.peer,
        "topic": topic.name,
        "origin": topic.cluster.index,
        "sent_us": sent_us,
        "due_us": due_us,
        "index": index,
    }
    if record < 0:
        marker = runtime.markers[-record - 1]
        return {**flight, "what": marker.type, "producer": None, "number": marker.number}
    producer = runtime.trace.names[runtime.messages.producer[record]]
    return {**flight, "what": "message", "producer": producer, "number": runtime.messages.sequence_id[record]}


def marker(run: World, number: int) -> dict:
    """Type, bytes, JSON as PIP-33 prints it, and every row about its replication."""
    runtime = run.runtime
    if not 1 <= number <= runtime.marker_count:
        raise ValueError(f"there is no marker {number} yet: there are {runtime.marker_count}")
    found = runtime.markers[number - 1]
    column = run.trace.columns(0, run.seq, names=("marker",))["marker"]
    seqs = np.flatnonzero(column == number).tolist()
    return described_marker(found, number, [run.trace.row(seq) for seq in seqs])


def described_marker(found: Marker, number: int, travels: list[dict[str, Any]]) -> dict[str, Any]:
    """A marker's fields, bytes and content, with the rows about its replication."""
    payload = found.payload()
    return {
        "number": number,
        "type": found.type,
        "cluster": found.origin,
        "snapshot": found.snapshot,
        "subscription": found.subscription,
        "published_us": found.published_us,
        "size_bytes": found.size_bytes,
        "bytes_hex": found.stored_payload().hex(),
        "carried": len(found.carried),
        "metadata_hex": found.metadata().hex(),
        "json": entries.pip33_json(MARKER_TYPES[found.type], payload),
        "travels": travels,
    }


def read_position_text(topic: Topic, read_index: int) -> str:
    """The position after the last one read: the next entry, or one past the newest."""
    if read_index < topic.log.length:
        return topic.log.text(read_index)
    ledger, entry = topic.log.last_confirmed
    return f"{ledger}:{entry + 1}"
