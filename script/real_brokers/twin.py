"""The engine's run of the same scenario, with the same instants, and its trace file."""

from __future__ import annotations

from pathlib import Path

from simulator.headless import ROWS_MAX, trace_meta
from simulator.scenarios.model import Scenario
from simulator.trace.files import write_trace
from simulator.trace.trace import Trace
from simulator.world import World


def write_simulated(scenario: Scenario, path: Path) -> Trace:
    """Run a scenario to its end on the engine, and write its trace."""
    world = World.from_scenario(scenario, rows_max=ROWS_MAX)
    world.run(scenario.until_us)
    write_trace(path, world.trace, trace_meta(world))
    return world.trace
