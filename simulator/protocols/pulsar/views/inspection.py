"""Details of a live state for the page: cells, entries on the wire, one marker.

Rules: reads, never writes. Positions are printed as in Pulsar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.pulsar.markers import entries
from simulator.protocols.pulsar.pulsar import Pulsar

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.markers.entries import Marker
    from simulator.protocols.pulsar.replication.replicator import Replicator
    from simulator.protocols.pulsar.snapshots.controller import SnapshotController
    from simulator.world import World


# --- why no snapshot is requested now: the controller tick's rules in the broker's order, in words
#
# Rules: those of `ReplicatedSubscriptionsController.startNewSnapshot`, and the condition for a controller
# (`PersistentTopic.checkReplicatedSubscriptionControllerState`). Reads, never writes. The first rule that
# does not hold stops the tick, and `until` is the change that would let it continue.


def by_cluster(runtime: Pulsar, topic: str) -> dict[str, dict[str, Any]]:
    """`snapshot_rules` of each cluster that has the topic."""
    return {
        name: snapshot_rules(runtime, name, topic)
        for name in runtime.cluster_names
        if topic in runtime.clusters[name].topics
    }


def snapshot_rules(runtime: Pulsar, cluster: str, topic_name: str) -> dict[str, Any]:
    """The rules of a tick now, up to the first one that does not hold.

    Returns {"stopped_by": rule or None, "until": words, "next_tick_us", "period_us", "last_completed_us",
    "rules": [{"rule", "holds", "words"}]}. `last_completed_us` is when the newest completed snapshot had been
    requested. Rules after one that fails are not evaluated.
    """
    topic = runtime.clusters[cluster].topics[topic_name]
    controller = topic.controller
    rules: list[dict[str, Any]] = []
    until = ""
    asked: tuple[tuple[str, Callable[..., Answer]], ...] = (
        ("controller", _has_controller),
        ("pending", _none_held_up),
        ("no-new-data", _something_new),
        ("replicator-disconnected", _all_reachable),
    )
    for rule, ask in asked:
        holds, words, until = ask(topic, controller)
        rules.append({"rule": rule, "holds": holds, "words": words})
        if not holds:
            break
    stopped = None if rules[-1]["holds"] else rules[-1]["rule"]
    ticking = controller is not None and controller.ticking
    return {
        "stopped_by": stopped,
        "until": until if stopped else "",
        "next_tick_us": _next_tick_us(runtime, controller) if controller and ticking else None,
        "period_us": controller.period_us if controller and ticking else None,
        "last_completed_us": controller.building.last_completed_ms * 1000 or None
        if controller and ticking
        else None,
        "rules": rules,
    }


Answer = tuple[bool, str, str]
"""Whether a rule holds, the same in words, and the change that would make it hold."""


def _next_tick_us(runtime: Pulsar, controller: SnapshotController) -> int:
    ticks = (runtime.now_us - controller.started_us) // controller.period_us + 1
    return controller.started_us + ticks * controller.period_us


def _has_controller(topic: Topic, controller: SnapshotController | None) -> Answer:
    here = topic.cluster.name
    if not topic.cluster.up:
        return (
            False,
            f"{here} is {'lost' if topic.cluster.state == 'lost' else 'down'}, so no snapshot is requested.",
            f"{here} coming back." if topic.cluster.state != "lost" else "Nothing: it is permanently lost.",
        )
    if controller is not None and controller.ticking:
        names = ", ".join(
            sorted(name for name, subscription in topic.subscriptions.items() if subscription.replicated)
        )
        about = f"because {names} is to be known elsewhere" if names else "because another region asked"
        return True, f"{here} asks every {_span(controller.period_us)}, {about}.", ""
    if not topic.cluster.setting("enableReplicatedSubscriptions", topic):
        return (
            False,
            f"Replicated subscriptions are switched off in {here}.",
            "Switching enableReplicatedSubscriptions on.",
        )
    if not topic.remote_clusters():
        return (
            False,
            f"{topic.name} is copied from {here} to no other region, so no region would use a snapshot.",
            "Another region on the topic's replication list.",
        )
    return (
        False,
        f"No subscription in {here} is replicated, so there is no position to send.",
        "Replication of a subscription being switched on, or a consumer that subscribes with it.",
    )


def _none_held_up(topic: Topic, controller: SnapshotController) -> Answer:
    if controller.building.last_completed_ms or not controller.pending:
        before = ": one has been finished before" if controller.building.last_completed_ms else ""
        return True, f"No unfinished snapshot is in the way{before}.", ""
    builder = next(iter(controller.pending.values()))
    missing = " and ".join(builder.missing)
    given_up_us = builder.started_us + controller.building.timeout_ms * 1000
    name = controller.runtime.snapshot_names.name(builder.snapshot)
    words = (
        f"Snapshot {name}, asked for at {_seconds(builder.started_us)}, still waits for "
        f"{missing}. Until one has ever been finished, no second one is asked for."
    )
    return (
        False,
        words,
        (
            f"The answer of {missing}; or, after {_seconds(given_up_us)}, that it is given up and a new one "
            f"asked for."
        ),
    )


def _something_new(topic: Topic, controller: SnapshotController) -> Answer:
    data_ms, last_ms = topic.data_timestamp_ms, controller.building.last_completed_ms
    here = topic.cluster.name
    if data_ms == 0:
        return False, f"{here} has stored no message yet.", f"The first message in {here}."
    if data_ms < last_ms:
        return (
            False,
            (
                f"{here} has stored no message since the newest finished snapshot was asked for, at "
                f"{_seconds(last_ms * 1000)}: that snapshot covers everything."
            ),
            f"The next message in {here}.",
        )
    since = (
        f" since the newest finished snapshot was asked for, at {_seconds(last_ms * 1000)}" if last_ms else ""
    )
    return True, f"{here} has stored something new{since}.", ""


def _all_reachable(topic: Topic, controller: SnapshotController) -> Answer:
    if not topic.replicators:
        return (
            False,
            f"{topic.cluster.name} copies to no other region.",
            "Another region on the topic's replication list.",
        )
    if controller.building.partial_after_us:
        return (
            True,
            (
                "A region that cannot be reached does not matter: unfinished snapshots are used too "
                "(unsafePartialSnapshotAfter)."
            ),
            "",
        )
    broken = [peer for peer, replicator in sorted(topic.replicators.items()) if not replicator.connected]
    if not broken:
        return True, f"Every other region is connected: {', '.join(sorted(topic.replicators))}.", ""
    why = "; ".join(f"{peer} {_trouble(topic, peer)}" for peer in broken)
    return (
        False,
        (
            f"Not every region can be reached: {why}. A snapshot needs an answer from each, so none is asked "
            f"for."
        ),
        f"{' and '.join(broken)} connected again, or taken off the topic's replication list.",
    )


def _trouble(topic: Topic, peer: str) -> str:
    runtime, here = topic.runtime, topic.cluster.name
    if not runtime.clusters[peer].up:
        return "is lost" if runtime.clusters[peer].state == "lost" else "is down"
    if not (runtime.links[here, peer].up and runtime.links[peer, here].up):
        return "has its link cut"
    there = runtime.clusters[peer].topics.get(topic.name)
    if there is not None and not there.loaded:
        return "has not loaded the topic"
    return "is being connected again"


def _seconds(us: int) -> str:
    return f"{us / 1_000_000:.3f} s"


def _span(us: int) -> str:
    return f"{us // 1000} ms" if us < 1_000_000 or us % 1_000_000 else f"{us // 1_000_000} s"


MARKER_KIND, ORIGIN_KIND = 100, 1000
"""Bases of a cell's kind, which for messages is the origin index.

For markers it is 100 + marker type + 1000 * (origin index + 1).
"""


def cells(runtime: Pulsar, cluster: str, topic_name: str, first: int, count: int) -> dict[str, Any]:
    """Log entries `first`… as columns of small integers (docs/http-api.md)."""
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
