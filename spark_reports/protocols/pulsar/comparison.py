"""The comparison of strategies in a report: the run made again under each, counted by Spark.

Rules: the runs are made in the driver, in slices between which a request to cancel is checked, and only for
traces up to `ROWS_MOST` rows. The same Spark job counts them, from trace files like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulator import World, load_scenario
from simulator.comparison import STRATEGIES, strategy_runs
from simulator.headless import trace_meta
from simulator.runs import Runs, Variant, finished
from simulator.trace.files import write_trace
from spark_reports.read import TraceInput, find_traces
from spark_reports.what_if import ROWS_MOST, SLICE_EVENTS, is_recorded

FOLDER = "strategies"
"""Subfolder of the report for the traces, `<strategy>.parquet`. They can be read like any trace."""


def wanted(inputs: list[TraceInput], scenarios: list[Any], asked: bool) -> bool:
    """Whether the report compares: one short simulated run, on request or if its scenario compares."""
    if len(inputs) != 1 or is_recorded(inputs[0].meta, scenarios[0]):
        return False
    return inputs[0].meta["rows"] <= ROWS_MOST and (asked or bool(scenarios[0].compare))


def write_traces(entry: TraceInput, folder: Path, go_on: Callable[[], None]) -> list[TraceInput]:
    """Run the scenario under each strategy and write the traces. Their run numbers follow the report's."""
    meta = entry.meta
    folder.mkdir(parents=True, exist_ok=True)

    def written(variant: Variant, world: World) -> Path:
        path = folder / f"{variant.key}.parquet"
        write_trace(path, world.trace, trace_meta(world))
        return path

    scenario = load_scenario(meta["scenario"])
    listed = strategy_runs(scenario, meta["commands"], meta["seed"], meta["until_us"])
    made = finished(Runs(lambda: SLICE_EVENTS).each(listed, written), go_on)
    return [TraceInput(entry.run + 1 + found.run, found.path, found.meta) for found in find_traces(made)]


def compared(runs: list[dict[str, Any]], requests: dict[int, dict[str, int]]) -> list[dict[str, Any]]:
    """The section's values: one object per strategy, in their order.

    `runs` are the runs of the strategies, `requests` the sync requests by run.
    """
    found = []
    for strategy, run in zip(STRATEGIES, runs, strict=True):
        markers = [entry for entry in run["markers"] if entry["kind"] != "message"]
        found.append(
            {
                "strategy": strategy.name,
                "title": strategy.title,
                "says": strategy.says,
                "trace_sha256": run["trace_sha256"],
                "failovers": run["failovers"],
                "markers": {
                    "entries": sum(entry["entries"] for entry in markers),
                    "bytes": sum(entry["size_bytes"] for entry in markers),
                },
                "requests": requests.get(run["run"], {"entries": 0, "bytes": 0}),
            }
        )
    return found
