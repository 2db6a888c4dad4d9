"""A recorded run as a trace: from raw events and log dumps to rows of the trace's vocabulary.

Rules: verdicts, checks, pages and reports read the result as they read a simulated run. What is measured and
what is inferred is listed in `recorded_types.py` and written into the file's meta. Instants are microseconds
from the run's instant 0, and what came before it is at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from script.real_brokers.converting import Run
from script.real_brokers.recorded_types import INFERRED, MEASURED, types_that_are
from script.real_brokers.recording import US_NS, Draft, Recording, logs_of
from script.real_brokers.rows_of_brokers import (
    add_brokers,
    add_copies,
    add_deliveries,
    add_messages,
    add_registrations,
)
from script.real_brokers.rows_of_consumers import add_consumers
from script.real_brokers.rows_of_cursors import add_caches, add_cursors
from script.real_brokers.rows_of_markers import add_snapshots, add_ticks, add_written
from simulator.scenarios.model import Scenario
from simulator.trace.files import write_trace
from simulator.trace.trace import Trace
from simulator.version import ENGINE_VERSION


@dataclass(frozen=True, slots=True)
class Converted:
    """The trace of a recorded run.

    `moved` rows were stamped before their cause by at most `moved_most_us`. `cut` inferred causes were
    dropped because they contradicted each other.
    """

    trace: Trace
    moved: int
    moved_most_us: int
    cut: int


def convert(recording: Recording, scenario: Scenario) -> Converted:
    """The rows of a recording of this scenario. Raises RecordingError for one that contradicts itself."""
    run = Run(recording, scenario, logs_of(recording, scenario), Draft(recording.zero_ns))
    add_brokers(run)
    add_messages(run)
    add_written(run)
    add_copies(run)
    add_snapshots(run)
    add_consumers(run)
    add_deliveries(run)
    add_registrations(run)
    histories = add_cursors(run)
    add_caches(run, histories)
    add_ticks(run)
    _keep_logs_in_order(run)
    trace = run.draft.trace()
    return Converted(trace, run.draft.moved, run.draft.moved_most_ns // US_NS, run.draft.cut)


def _keep_logs_in_order(run: Run) -> None:
    """Entries of a log are stored in the order of their positions, whatever instants they were given."""
    for log in run.logs.values():
        last = None
        for entry in log.entries:
            for row in entry.rows[:1] if entry.marker is not None else entry.rows:
                row.after = last
                last = row


def write_recorded(path: Path, converted: Converted, recording: Recording, scenario: Scenario) -> None:
    """Write the trace as a file that opens as a recorded lab."""
    write_trace(path, converted.trace, recorded_meta(converted, recording, scenario))


def recorded_meta(converted: Converted, recording: Recording, scenario: Scenario) -> dict[str, Any]:
    """The meta of the file: that of a simulated run, `recorded`, and what converting had to put right."""
    types = {row["type"]: None for row in converted.trace.rows()}
    return {
        "engine_version": ENGINE_VERSION,
        "scenario": scenario.canonical_text,
        "seed": scenario.seed,
        "commands": [],
        "until_us": (recording.until_ns - recording.zero_ns) // US_NS,
        "recorded": {
            "pulsar": recording.meta["pulsar"],
            "date": recording.meta["date"],
            "measured": [name for name in types_that_are(MEASURED) if name in types],
            "inferred": [name for name in types_that_are(INFERRED) if name in types],
        },
        "converted": {
            "moved_rows": converted.moved,
            "moved_most_us": converted.moved_most_us,
            "dropped_causes": converted.cut,
        },
    }
