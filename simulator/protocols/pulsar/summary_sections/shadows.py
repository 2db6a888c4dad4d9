"""`shadows` of the summary: visible entries, saved bytes and losses of each shadow topic.

docs/shadow-topics.md defines the terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.shadow.topic import lost_messages

if TYPE_CHECKING:
    from simulator.protocols.pulsar.shadow.reads import Reads
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic
    from simulator.world import World

_SUMS = (
    "stored_bytes",
    "saved_bytes",
    "lost_to_retention",
    "behind_entries",
    "queued_adds",
    "queued_adds_ever",
    "refused_sends",
    "confirmed_reads",
)


def shadows(run: World) -> dict[str, dict[str, Any]]:
    """By shadow topic; a partitioned one has sums, null positions, and its partitions under `partitions`."""
    shown: dict[str, dict[str, Any]] = {}
    for cluster in run.runtime.clusters.values():
        for topic in cluster.topics.values():
            if topic.source is None:
                continue
            if topic.partition < 0:
                shown[topic.name] = _one(run, topic)
            else:
                shown.setdefault(topic.base, {"partitions": {}})["partitions"][topic.name] = _one(run, topic)
    for found in shown.values():
        if "partitions" in found:
            found.update(_together(list(found["partitions"].values())))
    return dict(sorted(shown.items()))


def _one(run: World, topic: ShadowTopic) -> dict[str, Any]:
    return {
        "source": topic.source.base,
        "last_confirmed": _text(topic.log.last_confirmed),
        "source_last_confirmed": _text(topic.source.log.last_confirmed),
        "stored_bytes": _stored_bytes(run, topic),
        "saved_bytes": topic.saved_bytes,
        "lost_to_retention": sum(lost_messages(topic, name) for name in sorted(topic.lost)),
        "lost_by_subscription": {name: lost_messages(topic, name) for name in sorted(topic.lost)},
        "behind_entries": topic.behind_entries,
        "stale_us": topic.stale_us,
        "queued_adds": len(topic.queued),
        "queued_adds_ever": topic.queued_ever,
        "refused_sends": topic.refused_sends,
        "confirmed_reads": topic.confirmed_reads,
        "reads": reads_by_place(topic.reads),
        "source_reads": reads_by_place(topic.source_reads),
        "replicator": _replicator(topic),
    }


def _text(position: tuple[int, int]) -> str:
    return f"{position[0]}:{position[1]}"


def _stored_bytes(run: World, topic: ShadowTopic) -> int:
    """Bytes of entries written for the shadow itself, counted in the trace, where every write is a row."""
    trace, number, total = run.trace, topic.number, 0
    columns = trace.columns(0, run.seq, ("type", "topic", "size_bytes"))
    for name in ("message.stored", "marker.written", "marker.stored"):
        chosen = (columns["type"] == CODE[name]) & (columns["topic"] == number)
        total += int(columns["size_bytes"][chosen].sum())
    return total


def reads_by_place(reads: Reads) -> dict[str, int]:
    """Entries that a broker read for this topic, by where they were served, and the bookies' bytes."""
    return {
        "cache": reads.from_cache,
        "bookies": reads.from_bookies,
        "offload": reads.from_offload,
        "bookie_bytes": reads.bookie_bytes,
    }


def _replicator(topic: ShadowTopic) -> dict[str, Any] | None:
    """The source's replicator that feeds it; null without one."""
    found = topic.source.shadows.replicators.get(topic.name)
    if found is None:
        return None
    return {
        "state": found.state,
        "connected": found.state == "started",
        "backlog": found.backlog,
        "in_flight": found.in_flight,
        "messages_out": found.sent_messages,
        "bytes_out": found.sent_bytes,
        "skipped": found.skipped,
        "resets": found.resets,
    }


def _together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The top-level fields of a partitioned shadow."""
    by_subscription: dict[str, int] = {}
    for part in parts:
        for name, count in part["lost_by_subscription"].items():
            by_subscription[name] = by_subscription.get(name, 0) + count
    return {
        "source": parts[0]["source"],
        "last_confirmed": None,
        "source_last_confirmed": None,
        **{key: sum(part[key] for part in parts) for key in _SUMS},
        "lost_by_subscription": dict(sorted(by_subscription.items())),
        "stale_us": max(part["stale_us"] for part in parts),
        **{
            key: {place: sum(part[key][place] for part in parts) for place in parts[0][key]}
            for key in ("reads", "source_reads")
        },
        "replicator": None,
    }
