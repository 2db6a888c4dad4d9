"""The figures of one run, from its trace and scenario.

Rules: the same function for a real and a simulated run. Failovers are counted by the protocol's own count,
violations by its own checks. Checks of exact delays that only the engine keeps are not judged: a real
client's backoff has jitter.
"""

from __future__ import annotations

from typing import Any

from simulator.checks.checks import Checks
from simulator.protocols.pulsar.recorded.playing import EXACT_DELAYS
from simulator.protocols.table import protocol_of
from simulator.scenarios.model import Scenario
from simulator.trace.trace import Trace

NOT_JUDGED = tuple(check.claim for check in EXACT_DELAYS)
"""Claims about exact delays between retries."""

_COUNTED = ("duplicates", "redeliveries", "stranded", "lost")


def figures(trace: Trace, scenario: Scenario) -> dict[str, Any]:
    """FIGURES of a run: failovers, repeats, snapshots, markers, messages and violated claims."""
    counted = protocol_of(scenario).count(trace, scenario, None)
    written = trace.rows(types=("marker.written", "marker.stored"))
    checks = Checks(scenario)
    checks.read(trace)
    return {
        "failovers": [
            {**{name: getattr(one, name) for name in _COUNTED}, "by_cause": dict(one.by_cause)}
            for one in counted.failovers
        ],
        "repeated": sum(one.repeated for one in counted.subscriptions.values()),
        "snapshots": _snapshots(trace, scenario),
        "markers": _markers(written, scenario),
        "markers_bytes": _markers_bytes(written, scenario),
        "published": len(trace.seqs(types=("message.published",))),
        "receipted": len(trace.seqs(types=("message.receipted",))),
        "violations": sorted({one.claim for one in checks.violations if one.claim not in NOT_JUDGED}),
    }


def _snapshots(trace: Trace, scenario: Scenario) -> dict[str, dict[str, Any]]:
    """By cluster: completed snapshots, their durations, and the delay from tick to the first Update."""
    found: dict[str, dict[str, Any]] = {
        name: {"completed": 0, "durations_us": [], "tick_to_update_us": []}
        for name in sorted(scenario.clusters)
    }
    requested: dict[int, int] = {}
    updated: dict[tuple[str, int], None] = {}
    types = ("snapshot.requested", "snapshot.completed", "update.written")
    for row in trace.rows(types=types):
        snapshot, of = row.get("snapshot"), found[row["cluster"]]
        if row["type"] == "snapshot.requested":
            requested.setdefault(snapshot, row["at_us"])
        elif row["type"] == "snapshot.completed":
            of["completed"] += 1
            of["durations_us"].append(row["duration_us"])
        elif snapshot in requested and (row["subscription"], snapshot) not in updated:
            updated[row["subscription"], snapshot] = None
            of["tick_to_update_us"].append(row["at_us"] - requested[snapshot])
    return found


def _markers(rows: list[dict[str, Any]], scenario: Scenario) -> dict[str, dict[str, int]]:
    """By cluster and type the markers in its log, written there or replicated to it."""
    found: dict[str, dict[str, int]] = {name: {} for name in sorted(scenario.clusters)}
    for row in rows:
        of = found[row["cluster"]]
        of[row["reason"]] = of.get(row["reason"], 0) + 1
    return found


def _markers_bytes(rows: list[dict[str, Any]], scenario: Scenario) -> dict[str, dict[str, int]]:
    """By cluster and type the bytes of the first such marker in its log; `type copy` where replicated."""
    found: dict[str, dict[str, int]] = {name: {} for name in sorted(scenario.clusters)}
    for row in rows:
        kind = row["reason"] if row["type"] == "marker.written" else f"{row['reason']} copy"
        found[row["cluster"]].setdefault(kind, row["size_bytes"])
    return found
