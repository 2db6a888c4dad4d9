"""The data of one run for a comparison of strategies: cost of the sync, and messages by failover.

Each failover has its messages with the markers and requests sent meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.verdicts.facts import Facts, History
from simulator.protocols.pulsar.verdicts.followed import Followed, follow
from simulator.protocols.pulsar.verdicts.windows import Window, windows_of
from simulator.trace.trace import Trace

if TYPE_CHECKING:
    from simulator.world import World

MESSAGES_MOST = 10_000
"""Messages that a column draws: seven instants each, for three columns about a megabyte."""
PASSAGES_MOST = 2_000
"""Markers and requests that a column draws; a snapshot a second for ten minutes is fewer."""

_FAULTS = ("cluster.crashed", "cluster.lost", "cluster.restarted", "link.cut", "link.slowed", "link.healed")
_TRAVELLING = ("snapshot_request", "snapshot_response", "subscription_update")


def costs(run: World) -> dict[str, int]:
    """The cost of the sync: markers in all logs and requests on the links.

    Markers are counted as stored entries and bytes, requests with their bytes.
    """
    trace = run.trace
    sizes = [
        trace.row(seq)["size_bytes"]
        for seq in trace.seqs(0, run.seq, types=("marker.written", "marker.stored"), limit=None)
    ]
    requests = [
        trace.row(seq)["size_bytes"]
        for seq in trace.seqs(0, run.seq, types=("acknowledgements.sent",), limit=None)
    ]
    return {
        "marker_entries": len(sizes),
        "marker_bytes": sum(sizes),
        "requests": len(requests),
        "request_bytes": sum(requests),
    }


def followed(run: World) -> list[dict[str, Any]]:
    """The messages, markers and requests of each failover of the run."""
    facts = Facts(History(run.trace), run.scenario)
    return [_followed(run.trace, facts, window) for window in windows_of(facts)]


def _followed(trace: Trace, facts: Facts, window: Window) -> dict[str, Any]:
    followed = follow(facts, window, MESSAGES_MOST)
    # None: open to the end
    closed_us = trace.at_us(window.closed_seq) if window.closed_seq < len(trace) else None
    where = {
        "subscription": facts.name(window.subscription),
        "from": facts.name(window.source),
        "to": facts.name(window.target),
        "mode": facts.name(window.mode),
        "at_us": window.opened_us,
        "closed_us": closed_us,
    }
    messages = None if followed is None else _packed(followed)
    return {
        **where,
        "messages": messages,
        "passages": _passages(trace, facts, window),
        "faults": _faults(trace),
    }


def _packed(followed: Followed) -> dict[str, Any]:
    return {name: getattr(followed, name) for name in Followed.__slots__}


def _passages(trace: Trace, facts: Facts, window: Window) -> list[dict[str, Any]]:
    """Markers and requests between the two clusters.

    Returns kind, from, left_us, arrived_us (null: not by the end) and lost of each.
    """
    clusters, topics = (
        {facts.name(window.source), facts.name(window.target)},
        {facts.name(topic) for topic in facts.topics_of(window.subscription)},
    )
    found: dict[tuple[str, int], dict[str, Any]] = {}
    types = (
        "marker.written",
        "marker.stored",
        "marker.lost",
        "marker.dropped",
        "acknowledgements.sent",
        "acknowledgements.applied",
        "acknowledgements.lost",
    )
    for seq in trace.seqs(0, len(trace), types=types, limit=None):
        row = trace.row(seq)
        if row["topic"] not in topics or row["cluster"] not in clusters or len(found) >= PASSAGES_MOST:
            continue
        if row["type"] in ("marker.written", "acknowledgements.sent"):
            _leaves(found, row, seq, clusters, facts.name(window.subscription))
        else:
            _ends(found, row)
    return list(found.values())


def _leaves(found: dict, row: dict[str, Any], seq: int, clusters: set[str], subscription: str) -> None:
    marker = row["type"] == "marker.written"
    kind = row["reason"] if marker else "request"
    to = next(iter(sorted(clusters - {row["cluster"]}))) if row.get("peer") is None else row["peer"]
    if (
        to not in clusters
        or (marker and kind not in _TRAVELLING)
        or row.get("subscription", subscription) not in (None, subscription)
    ):
        return
    found[("marker", row["marker"]) if marker else ("request", seq)] = {
        "kind": kind,
        "from": row["cluster"],
        "left_us": row["at_us"],
        "arrived_us": None,
        "lost": False,
    }


def _ends(found: dict, row: dict[str, Any]) -> None:
    passage = found.get(
        ("marker", row["marker"]) if row["type"].startswith("marker.") else ("request", row["evidence_seq"])
    )
    if passage is None or passage["arrived_us"] is not None:
        return
    if row["type"] == "marker.stored" and row["cluster"] == passage["from"]:
        return
    passage["arrived_us"], passage["lost"] = (
        row["at_us"],
        row["type"] not in ("marker.stored", "acknowledgements.applied"),
    )


def _faults(trace: Trace) -> list[dict[str, Any]]:
    rows = (trace.row(seq) for seq in trace.seqs(0, len(trace), types=_FAULTS, limit=None))
    return [
        {"type": row["type"], "cluster": row["cluster"], "peer": row.get("peer"), "at_us": row["at_us"]}
        for row in rows
    ]
