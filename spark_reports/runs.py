"""One run of a report as plain values, before it is counted."""

from __future__ import annotations

from typing import Any

from simulator.scenarios.settings import own_rule
from spark_reports.read import TraceInput


def run_of(entry: TraceInput, scenario: Any) -> dict[str, Any]:
    """The values of one trace, with nothing counted yet."""
    meta = entry.meta
    return {
        "run": entry.run,
        "file": entry.path.name,
        "protocol": scenario.protocol,
        "scenario": scenario.name,
        "title": scenario.title,
        "seed": meta["seed"],
        "until_us": meta["until_us"],
        "engine_version": meta["engine_version"],
        "trace_sha256": meta["trace_sha256"],
        "rows": meta["rows"],
        "commands": meta["commands"],
        "scenario_text": meta["scenario"],
        **({"rule": rule} if (rule := own_rule(scenario.options)) else {}),
        "clusters": sorted(scenario.clusters),
        "failovers": [],
        "groups": [],
        "subscriptions": {},
        "snapshots": {},
        "markers": [],
        "replay_url": meta.get("replay_url"),
    }
