"""Recorded runs for the page and scripts: which there are, and each as a scenario that plays it.

A recorded run is a trace file of a run on real brokers (`simulator.trace.recorded_files`,
docs/labs.md).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from simulator.protocols.registry import vocabulary
from simulator.protocols.table import protocol_of
from simulator.scenarios.loader import load_scenario_text
from simulator.scenarios.model import Scenario
from simulator.scenarios.tree import ScenarioError
from simulator.trace.recorded_files import (
    COMPARED,
    FOLDERS,
    ROWS_MAX,
    SIZE_BYTES_MAX,
    RecordedFile,
    RecordingError,
    UnusableFile,
    damaged,
)
from simulator.trace.trace import Trace

__all__ = [
    "COMPARED",
    "ROWS_MAX",
    "SIZE_BYTES_MAX",
    "RecordedFile",
    "RecordingError",
    "UnusableFile",
    "check",
    "leave_folder",
    "listed",
    "recorded_file",
    "scenario_of",
    "simulated_twin",
    "use_folder",
]


def use_folder(path: Any) -> None:
    """List the recordings of this folder, a path, too."""
    FOLDERS.add(path)


def leave_folder(path: Any) -> None:
    """List the recordings of this folder no longer."""
    FOLDERS.remove(path)


def listed() -> list[RecordedFile | UnusableFile]:
    """Every recording, and every file of their folders that cannot be used, with the reason."""
    return FOLDERS.listed()


def recorded_file(scenario: Scenario) -> RecordedFile | None:
    """The recording that a scenario plays, None for a simulated one. Raises RecordingError."""
    return FOLDERS.find(scenario.recording) if scenario.recording else None


def scenario_of(recorded: RecordedFile) -> Scenario:
    """The scenario that was recorded, as one that plays the recording. Raises RecordingError."""
    return _read(recorded, recorded.digest)


def simulated_twin(recorded: RecordedFile) -> Scenario:
    """The scenario that was recorded, for the simulator: the same run, simulated. Raises RecordingError."""
    return _read(recorded, None)


def _read(recorded: RecordedFile, digest: str | None) -> Scenario:
    meta = recorded.meta
    try:
        return _scenario(str(meta["scenario"]), meta["seed"], meta["until_us"], digest)
    except ScenarioError as error:
        raise damaged(recorded.path, f"its scenario cannot be read: {error}") from error


@lru_cache(maxsize=256)
def _scenario(text: str, seed: int, until_us: int, digest: str | None) -> Scenario:
    played = [] if digest is None else [("recording", digest)]
    return load_scenario_text(
        text, "scenario of the recording", seed=seed, until_us=until_us, overrides=played
    )


def check(scenario: Scenario) -> None:
    """Read a recorded run completely, so that opening it cannot fail. Raises RecordingError."""
    if scenario.recording:
        protocol_of(scenario).build(scenario, scenario.seed, Trace(vocabulary()))
