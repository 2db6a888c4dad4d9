"""Runs of the engine written as if they had been recorded on real brokers, for tests only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simulator import World
from simulator.headless import trace_meta
from simulator.trace.files import write_trace

RECORDED = {
    "pulsar": "4.2.4",
    "date": "2026-11-23",
    "measured": ["stored entries", "deliveries"],
    "inferred": ["causes"],
}


def run_of(scenario: str, **settings: Any) -> World:
    """A simulated run to its end."""
    world = World.open(scenario, settings=settings)
    world.run()
    return world


def write_as_recorded(world: World, path: Path, **changed: Any) -> Path:
    """Write a run as a recording; `changed` are parts of `recorded` in its metadata."""
    write_trace(path, world.trace, {**trace_meta(world), "recorded": {**RECORDED, **changed}})
    return path


def record(scenario: str, path: Path) -> Path:
    """Write the run of a scenario as a recording."""
    return write_as_recorded(run_of(scenario), path)
