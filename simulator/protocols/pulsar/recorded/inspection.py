"""Details of a recorded run for the page: cells, entries on the wire, one marker.

Rules: reads, never writes. A row has no bytes of a marker's payload, so its content is put together from
the rows about it: the requesting and the responding cluster, and the positions of the snapshot or the
Update.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.pulsar.markers.entries import REQUEST, SNAPSHOT, UPDATE, Marker
from simulator.protocols.pulsar.summary_sections import together
from simulator.protocols.pulsar.views.inspection import MARKER_KIND, ORIGIN_KIND, described_marker

if TYPE_CHECKING:
    from simulator.protocols.pulsar.recorded.recording import RecordedReplicator, RecordedState
    from simulator.trace.trace import Trace
    from simulator.world import World


# --- sections of the summary of a recorded run; those that its rows cannot fill are empty


def nothing(run: World) -> dict[str, Any]:
    """A section that a recording does not have."""
    return {}


def no_migrations(run: World) -> list[dict[str, Any]]:
    """Tenants do not move in a recorded run."""
    return []


def replicators(run: World) -> dict[str, dict[str, dict[str, Any]]]:
    """The geo-replicators by source cluster, target cluster and topic, as in a simulated run."""
    state: RecordedState = run.runtime
    return {name: _of_cluster(state, name) for name in state.cluster_names}


def _of_cluster(state: RecordedState, cluster: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for topic in state.clusters[cluster].topics.values():
        for peer, replicator in topic.replicators.items():
            of_peer = found.setdefault(peer, {})
            if topic.partition < 0:
                of_peer[topic.name] = _figures(state, replicator)
            else:
                parts = of_peer.setdefault(topic.base, {}).setdefault("partitions", {})
                parts[topic.name] = _figures(state, replicator)
    for of_peer in found.values():
        for one in of_peer.values():
            if "partitions" in one:
                one.update(together(list(one["partitions"].values())))
    return {peer: found[peer] for peer in sorted(found)}


def _figures(state: RecordedState, replicator: RecordedReplicator) -> dict[str, Any]:
    """One log's replicator; a recording has no start checks and no retries."""
    oldest = next(iter(replicator.on_the_wire.values()), None)
    pending_us = 0 if oldest is None else state.now_us - state.recording.instants[oldest]
    return {
        "state": replicator.state,
        "connected": replicator.connected,
        "replication_backlog": replicator.backlog,
        "delay_s": pending_us // 1_000_000,
        "retries": 0,
        "last_error": replicator.last_error,
        "start_check": None,
    }


def topics(run: World) -> dict[str, dict[str, Any]]:
    """The topics of each cluster with their partitions; a recording has no schemas."""
    state: RecordedState = run.runtime
    return {
        name: {
            base: {"partitions": spec.partitions, "schemas": []}
            for base, spec in sorted(state.scenario.topics.items())
            if name in spec.clusters
        }
        for name in state.cluster_names
    }


_COLUMNS = ("kind", "producer", "number", "size", "snapshot")


def cells(state: RecordedState, cluster: str, topic_name: str, first: int, count: int) -> dict[str, Any]:
    """Log entries `first`… as columns of small integers (docs/http-api.md)."""
    log = state.clusters[cluster].topics[topic_name].log
    first = max(first, log.first_kept)
    last = min(first + count, log.length)
    columns: dict[str, list[int]] = {name: [] for name in _COLUMNS}
    used: dict[str, int] = {}
    for seq in log.records.view(first, last).tolist() if last > first else ():
        row = state.recording.row(seq)
        origin = state.cluster_names.index(row.get("peer", cluster))
        if row["type"] == "message.stored":
            producer = used.setdefault(row["producer"], len(used))
            batch = state.recording.batches.get(seq, 1)
            values = (origin, producer, row["sequence_id"], batch, -1)
        else:
            if row["type"] == "marker.written":
                origin = state.cluster_names.index(cluster)
            kind = MARKER_KIND + MARKER_TYPES[row["reason"]] + ORIGIN_KIND * (origin + 1)
            values = (kind, -1, row["marker"], 1, row.get("snapshot", -1))
        for name, value in zip(_COLUMNS, values, strict=True):
            columns[name].append(value)
    return {"first": first, "length": log.length, **columns, "names": list(used)}


def flights(state: RecordedState, limit: int) -> tuple[list[dict], dict[str, int]]:
    """Entries on the wire, evenly sampled down to `limit`, and how many are on each link."""
    wires: list[tuple[RecordedReplicator, int, int]] = []
    totals = {f"{source} -> {target}": 0 for source, target in sorted(state.links)}
    for name in state.cluster_names:
        for topic in state.clusters[name].topics.values():
            for peer, replicator in topic.replicators.items():
                totals[f"{name} -> {peer}"] += len(replicator.on_the_wire)
                wires.extend((replicator, *item) for item in replicator.on_the_wire.items())
    if len(wires) > limit:
        wires = [wires[place * len(wires) // limit] for place in range(limit)]
    return [_flight(state, *wire) for wire in wires], totals


def _flight(state: RecordedState, replicator: RecordedReplicator, index: int, sent_seq: int) -> dict:
    topic, sent = replicator.topic, state.recording.row(sent_seq)
    link = state.links[topic.cluster, replicator.peer]
    is_marker = sent["type"] == "marker.sent"
    return {
        "from": topic.cluster,
        "to": replicator.peer,
        "topic": topic.name,
        "origin": state.cluster_names.index(topic.cluster),
        "sent_us": sent["at_us"],
        "due_us": state.recording.arrivals_us.get(sent_seq, sent["at_us"] + link.nominal_us),
        "index": index,
        "what": sent["reason"] if is_marker else "message",
        "producer": None if is_marker else sent["producer"],
        "number": sent["marker"] if is_marker else sent["sequence_id"],
    }


def marker(run: World, number: int) -> dict:
    """Type, content as PIP-33 prints it, and every row about its replication."""
    trace = run.trace
    seqs = np.flatnonzero(trace.columns(0, run.seq, names=("marker",))["marker"] == number).tolist()
    travels = [trace.row(seq) for seq in seqs]
    written = next((row for row in travels if row["type"] == "marker.written"), None)
    if written is None:
        raise ValueError(f"marker {number} has not been written yet")
    found = _put_together(trace, run.seq, written)
    return described_marker(found, number, travels)


def _put_together(trace: Trace, upto_seq: int, written: dict[str, Any]) -> Marker:
    """A marker with the content that the rows of its snapshot or Update have."""
    kind, here = written["reason"], written["cluster"]
    content: dict[str, Any] = {"cluster": here}
    if kind == UPDATE:
        content = {"clusters": _positions(trace, upto_seq, "update.position", "marker", written["marker"])}
    elif kind != REQUEST:
        snapshot = written.get("snapshot", 0)
        completed = _of(trace, upto_seq, "snapshot.completed", "snapshot", snapshot)
        if kind == SNAPSHOT:
            content = {
                "position": _place(completed, "ledger", "entry"),
                "clusters": _positions(trace, upto_seq, "snapshot.position", "snapshot", snapshot),
            }
        else:
            answered = _of(trace, upto_seq, "snapshot.answered", "snapshot", snapshot)
            from_here = [row for row in answered if row["peer"] == here]
            content["position"] = _place(from_here, "to_ledger", "to_entry")
    return Marker(
        number=written["marker"],
        type=kind,
        origin=here,
        addressee=written.get("peer"),
        published_us=written["at_us"],
        snapshot=written.get("snapshot"),
        snapshot_id=f"S{written['snapshot']}" if "snapshot" in written else "",
        subscription=written.get("subscription"),
        size_bytes=written.get("size_bytes", 0),
        **content,
    )


def _of(trace: Trace, upto_seq: int, event: str, column: str, number: int) -> list[dict[str, Any]]:
    """The rows of a type about one snapshot or marker."""
    return [row for row in trace.rows(0, upto_seq, types=(event,)) if row.get(column) == number]


def _positions(
    trace: Trace, upto_seq: int, event: str, column: str, number: int
) -> tuple[tuple[str, int, int], ...]:
    rows = _of(trace, upto_seq, event, column, number)
    return tuple(sorted((row["peer"], row["to_ledger"], row["to_entry"]) for row in rows))


def _place(rows: list[dict[str, Any]], ledger: str, entry: str) -> tuple[int, int]:
    """The position of the last of these rows; 0:0 while there is none."""
    return (rows[-1][ledger], rows[-1][entry]) if rows else (0, 0)
