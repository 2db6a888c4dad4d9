"""What would have helped: the same seed and the same failure, run again with one thing changed at a time.

Rules: through the simulator's front door, in the driver, in slices between which a cancel is heard; only runs up to
`ROWS_MOST` rows, since every variant is a whole run. The first variant is the run as it was: it must give the trace's
very digest, which is what makes the others comparable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from simulator import World, load_scenario

ROWS_MOST = 1_000_000
"""Rows of a trace that is run again: about ten seconds a variant."""

SLICE_EVENTS = 20_000
PERIOD, PERIOD_DEFAULT_MS = "replicatedSubscriptionsSnapshotFrequencyMillis", 1000
SMALL_QUEUE = 10


@dataclass(frozen=True, slots=True)
class Variant:
    """One changed run: `name` in words, its scenario and command log."""

    name: str
    scenario: Any
    commands: list[dict[str, Any]]


def variants(scenario: Any, commands: list[dict[str, Any]]) -> list[Variant]:
    """The run as it was, then every change that applies to it."""
    found = [Variant("as it was", scenario, commands)]
    period_ms = int(scenario.settings.get(PERIOD, PERIOD_DEFAULT_MS))
    if period_ms > 1:
        halved = replace(scenario, settings={**scenario.settings, PERIOD: period_ms // 2})
        found.append(Variant(f"a snapshot every {period_ms // 2} ms instead of {period_ms} ms", halved, commands))
    if any(spec.hold is not None for spec in scenario.consumers.values()):
        prompt = {name: replace(spec, hold=None) for name, spec in scenario.consumers.items()}
        found.append(Variant("held messages acknowledged like the others", replace(scenario, consumers=prompt), commands))
    rule = scenario.options.get("snapshotCacheRule", "spread")
    other = "oldest-first" if rule == "spread" else "spread"
    found.append(Variant(f"snapshot cache rule {other} instead of {rule}", replace(scenario, options={**scenario.options, "snapshotCacheRule": other}), commands))
    if any(spec.receiver_queue_size > SMALL_QUEUE for spec in scenario.consumers.values()):
        small = {name: replace(spec, receiver_queue_size=min(SMALL_QUEUE, spec.receiver_queue_size)) for name, spec in scenario.consumers.items()}
        found.append(Variant(f"receiver queues of {SMALL_QUEUE}", replace(scenario, consumers=small), commands))
    return found + _planned(scenario, commands)


def _planned(scenario: Any, commands: list[dict[str, Any]]) -> list[Variant]:
    """Every move made as planned, and the region that failed kept up until then."""
    in_scenario = [spec for spec in scenario.commands if spec.do == "subscription.fail-over" and spec.arguments.get("mode", "crash") != "planned"]
    by_hand = [entry for entry in commands if entry["do"] == "subscription.fail-over" and entry.get("mode", "crash") != "planned"]
    if not in_scenario and not by_hand:
        return []
    moved = {(spec.arguments.get("from"), spec.at_us) for spec in in_scenario} | {(entry.get("from"), entry["at_us"]) for entry in by_hand}

    def before_a_move(cluster: str, at_us: int) -> bool:
        return any(source == cluster and at_us <= moved_us for source, moved_us in moved)

    kept = []
    for spec in scenario.commands:
        if spec.do == "cluster.crash" and before_a_move(spec.arguments.get("cluster"), spec.at_us):
            continue
        kept.append(replace(spec, arguments={**spec.arguments, "mode": "planned"}) if spec in in_scenario else spec)
    log = [{**entry, "mode": "planned"} if entry in by_hand else entry for entry in commands
           if not (entry["do"] == "cluster.crash" and before_a_move(entry.get("cluster"), entry["at_us"]))]  # fmt: skip
    return [Variant("moved as planned, before the region failed", replace(scenario, commands=tuple(kept)), log)]


def rerun(variant: Variant, seed: int, until_us: int, go_on: Callable[[], None]) -> dict[str, Any]:
    """The variant's summary and digest. `go_on` is called between slices and raises to stop."""
    world = World(variant.scenario, seed, None)
    for entry in variant.commands:
        world.schedule_logged(entry)
    while world.advance(until_us, SLICE_EVENTS):
        go_on()
    return {**world.summary(), "digest": world.digest()}


def compare(meta: dict[str, Any], go_on: Callable[[], None]) -> dict[str, Any]:
    """All variants of a run: {"same_bytes", "note", "variants": [{name, failovers, markers}]}; a note in words where none is made."""
    if meta["rows"] > ROWS_MOST:
        return {"same_bytes": None, "variants": [], "note": f"The run has {meta['rows']:,} rows; runs of more than {ROWS_MOST:,} are not run again for this table."}
    scenario = load_scenario(meta["scenario"])
    told, same = [], None
    for variant in variants(scenario, meta["commands"]):
        summary = rerun(variant, meta["seed"], meta["until_us"], go_on)
        if same is None:
            same = summary["digest"] == meta["trace_sha256"]
            if not same:
                note = f"Engine {summary['engine_version']} gives other rows for this run than engine {meta['engine_version']} that made the trace, so nothing can be compared."
                return {"same_bytes": False, "variants": [], "note": note}
        told.append({"name": variant.name, "failovers": summary["failovers"], "markers": _markers(summary)})
    return {"same_bytes": same, "variants": told, "note": ""}


def _markers(summary: dict[str, Any]) -> dict[str, int]:
    """Marker entries in each cluster's logs."""
    return {
        cluster: sum(sum(topic["markers"].values()) for topic in told["topics"].values()) for cluster, told in summary["clusters"].items()
    }
