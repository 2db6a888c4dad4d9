"""The files of a played run: scenario, raw recording, traces, figures, and the list of pairs.

Rules: a file is written aside and renamed when it is complete. `pairs.jsonl` has one line for each run whose
folder is complete, and is written again after each batch, so an interrupted job leaves usable results.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from script.real_brokers.play import Played
from script.real_brokers.recording import Recording, read_recording
from script.real_brokers.rows import convert, write_recorded
from simulator.checks.checks import Checks
from simulator.headless import ROWS_MAX, trace_meta
from simulator.protocols.pulsar.recorded.playing import EXACT_DELAYS
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.protocols.table import protocol_of
from simulator.scenarios.loader import load_scenario_text
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


NOT_JUDGED = tuple(check.claim for check in EXACT_DELAYS)
"""Claims about exact delays between retries."""

_COUNTED = ("duplicates", "redeliveries", "stranded", "lost")


def figures(trace: Trace, scenario: Scenario) -> dict[str, Any]:
    """FIGURES of a run: failovers, repeats, snapshots, markers, messages and violated claims.

    Rules: the same function for a real and a simulated run. Failovers are counted by the protocol's own
    count, violations by its own checks. Checks of exact delays that only the engine keeps are not judged: a
    real client's backoff has jitter.
    """
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


CALIBRATION = "calibration.json"
"""A copy of the calibration with which the simulated runs of a job were predicted."""
RAW = "raw.jsonl.gz"
"""What brokers and clients reported in a run."""
PAIRS = "pairs.jsonl"


class PairsError(Exception):
    """The runs of a job cannot be continued; the text says why and what would be right."""


def run_folder(job: Path, label: str) -> Path:
    """The folder of one run: run-017."""
    return job / f"run-{label.removeprefix('r')}"


def write_run(job: Path, played: Played, version: str, job_scenario: Scenario) -> dict[str, Any]:
    """Write all files of a run; returns its line of `pairs.jsonl`."""
    folder = run_folder(job, played.plan.label)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "scenario.yaml", played.plan.scenario.canonical_text)
    write_raw(folder / RAW, meta_of(played, version), played)
    return write_results(folder, played.plan.scenario, read_recording(folder / RAW), job_scenario)


def read_scenario(folder: Path) -> PulsarScenario:
    """The scenario of a job or run that was played."""
    path = folder / "scenario.yaml"
    return cast(PulsarScenario, load_scenario_text(path.read_text(encoding="utf-8"), str(path)))


def write_results(
    folder: Path, scenario: PulsarScenario, recording: Recording, job_scenario: Scenario
) -> dict[str, Any]:
    """Write traces and figures of a recorded run; returns its line of `pairs.jsonl`."""
    converted = convert(recording, scenario)
    write_recorded(folder / "real.jsonl", converted, recording, scenario)
    real = figures(converted.trace, scenario)
    simulated = figures(write_simulated(scenario, folder / "simulated.jsonl"), scenario)
    write_json(folder / "real.json", real)
    write_json(folder / "simulated.json", simulated)
    return {
        "job": folder.parent.name,
        "run": int(recording.meta["run"].removeprefix("r")),
        "pulsar": recording.meta["pulsar"],
        "scenario_sha256": _sha256(job_scenario),
        "times": "predicted" if (folder.parent / CALIBRATION).exists() else "measured",
        "load_average": recording.meta.get("load_average"),
        "cores": recording.meta.get("cores"),
        "real": real,
        "simulated": simulated,
        "folder": str(folder.relative_to(folder.parent.parent)),
    }


def meta_of(played: Played, version: str) -> dict[str, Any]:
    """The first line of the raw recording."""
    plan = played.plan
    return {
        "e": "meta",
        "job": plan.job,
        "run": plan.label,
        "pulsar": version,
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "zero_ns": played.zero_ns,
        "until_ns": played.until_ns,
        "offset_us": plan.offset_us,
        "prefix": plan.prefix,
        "topics": {plan.local_topic(topic): topic for topic in plan.scenario.topics},
        "clusters": list(plan.scenario.clusters),
        "load_average": played.load,
        "cores": os.cpu_count(),
    }


def write_raw(path: Path, meta: dict[str, Any], played: Played) -> None:
    """Write the raw recording: meta, events in the order of their instants, dumps of the logs."""
    lines = _lines([meta, *played.events, *played.dumps])
    partial = path.with_name(path.name + ".partial")
    # without a time stamp in the header, so that equal recordings are equal files
    with partial.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="") as packed:
        for line in lines:
            packed.write(line.encode() + b"\n")
    os.replace(partial, path)


def read_pairs(
    job: Path, scenario: Scenario, version: str, calibration: str | None = None
) -> list[dict[str, Any]]:
    """The pairs that a job has already.

    Raises PairsError unless they are of this scenario and version, and predicted with the calibration that
    has this text, if any.
    """
    path = job / PAIRS
    if not path.exists():
        return []
    earlier = job / CALIBRATION
    if (earlier.read_text(encoding="utf-8") if earlier.exists() else None) != calibration:
        raise PairsError(
            f"{path} has runs whose simulated side has other times: "
            f"{'those of another calibration' if earlier.exists() else 'those measured in the same runs'}. "
            "Name another folder with --out, or leave out --resume to replace them."
        )
    pairs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if {(pair["scenario_sha256"], pair["pulsar"]) for pair in pairs} - {(_sha256(scenario), version)}:
        raise PairsError(
            f"{path} has runs of another scenario or another version than {scenario.name} on Pulsar "
            f"{version}. Name another folder with --out, or leave out --resume to replace them."
        )
    return pairs


def write_pairs(job: Path, pairs: Iterable[dict[str, Any]]) -> None:
    """Write the list of pairs of a job."""
    in_order = sorted(pairs, key=lambda pair: pair["run"])
    write_text(job / PAIRS, "".join(f"{line}\n" for line in _lines(in_order)))


def write_json(path: Path, value: Any) -> None:
    """Write one JSON object, indented for readers."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file, which appears only when it is complete."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def _sha256(scenario: Scenario) -> str:
    return hashlib.sha256(scenario.canonical_text.encode()).hexdigest()


def _lines(values: Iterable[dict[str, Any]]) -> Iterator[str]:
    return (json.dumps(value, separators=(",", ":"), ensure_ascii=False) for value in values)
