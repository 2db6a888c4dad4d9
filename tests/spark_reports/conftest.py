"""One Spark session for the whole run of these tests, and traces of every built-in scenario, written once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator import ENGINE_VERSION, World
from simulator.trace.files import write_trace


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Two local cores, two shuffle partitions, no UI, UTC."""
    from spark_reports.session import QUICK, open_session

    session = open_session("local[2]", "tests", QUICK)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def systems(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One report over runs of every system that has a part of its own in it."""
    from tests.spark_reports.systems import Systems

    return Systems(spark, tmp_path_factory.mktemp("systems"))


def write_run(world: World, path: Path) -> Path:
    """A world's trace as `simulate --trace` writes it."""
    meta = {
        "engine_version": ENGINE_VERSION,
        "scenario": world.scenario.canonical_text,
        "seed": world.seed,
        "commands": world.command_log,
        "until_us": world.now_us,
    }
    write_trace(path, world.trace, meta)
    return path


def run_scenario(name: str) -> World:
    """A built-in scenario run to its end."""
    world = World.open(name, rows_max=None)
    world.run()
    return world
