"""Synthetic pairs for the tests of the comparison. Nothing here was measured.

`script/real-brokers` writes such files; the shape of a line is that of `spark_reports/protocols/pulsar/fidelity/pairs.py`.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from simulator import ENGINE_VERSION, World, load_scenario
from simulator.trace.files import write_trace
from spark_reports.cli import main
from spark_reports.protocols.pulsar.fidelity.pairs import read_jobs
from spark_reports.protocols.pulsar.fidelity.summary import summary_of

MARKERS = ("snapshot-request", "snapshot-response", "snapshot", "update")


def figures(
    duplicates: list[int], random_draws: random.Random | None = None, **changed: Any
) -> dict[str, Any]:
    """The figures of one side of a pair, with a failover for each number of duplicates."""
    draws = random_draws or random.Random(0)
    clusters = ("us-east", "us-west")
    return {
        "failovers": [
            {
                "duplicates": count,
                "redeliveries": count % 3,
                "stranded": count // 5,
                "lost": 0,
                "by_cause": {"after_newest_snapshot": count, "ack_hole": 0},
            }
            for count in duplicates
        ],
        "repeated": 0,
        "snapshots": {
            cluster: {
                "completed": 9,
                "durations_us": [draws.randrange(80_000, 120_000) for _ in range(9)],
                "tick_to_update_us": [draws.randrange(1_000, 90_000) for _ in range(8)],
            }
            for cluster in clusters
        },
        "markers": {cluster: dict.fromkeys(MARKERS, 9) for cluster in clusters},
        "markers_bytes": {cluster: dict.fromkeys((*MARKERS, "update copy"), 78) for cluster in clusters},
        "published": 120,
        "receipted": 120,
        "violations": [],
        **changed,
    }


def pair(run: int, real: dict[str, Any], simulated: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """One line of a file of pairs."""
    return {
        "job": "synthetic",
        "run": run,
        "pulsar": "4.2.4",
        "date": "2026-01-02",
        "scenario_sha256": "0" * 64,
        "real": real,
        "simulated": simulated,
        "folder": f"{changed.get('job', 'synthetic')}/run-{run:03d}",
        **changed,
    }


def write_pairs(folder: Path, lines: list[dict[str, Any]]) -> Path:
    """A file of pairs in a job's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_job(folder: Path, job: str, runs: int, shift: int = 0, failovers: int = 1, **changed: Any) -> Path:
    """A job of runs that differ now and then, and whose real side has `shift` duplicates more."""
    draws = random.Random(f"{job} {shift}")
    lines = []
    for run in range(1, runs + 1):
        simulated = [draws.randrange(2, 12) for _ in range(failovers)]
        real = [max(0, count + draws.choice((0, 0, 0, 0, 0, 1, -1)) + shift) for count in simulated]
        lines.append(pair(run, figures(real, draws), figures(simulated, draws), job=job, **changed))
    return write_pairs(folder / job, lines)


def write_recorded(path: Path, day: str) -> str:
    """A trace file with the date of a recording; returns the digest of its rows. It is simulated."""
    world = World.open("two-regions")
    world.run(until_us=1_200_000)
    meta = {
        "engine_version": ENGINE_VERSION,
        "scenario": world.scenario.canonical_text,
        "seed": world.seed,
        "commands": [],
        "until_us": world.now_us,
        "recorded": {"pulsar": "4.2.4", "date": day, "measured": ["deliveries"], "inferred": ["causes"]},
    }
    write_trace(path, world.trace, meta)
    return world.digest()


def measured_content(folder: Path) -> Path:
    """A file as the site shows it, from two synthetic jobs; three runs have a scenario."""
    for job, shift in (("three-regions", 2), ("two-regions", 0)):
        write_job(folder / "in", job, 12, shift=shift)
    jobs = read_jobs(folder / "in")
    for row in summary_of(jobs)["jobs"][0]["pairs"][:3]:
        run = folder / "in" / "three-regions" / row["folder"]
        run.mkdir()
        (run / "scenario.yaml").write_text(load_scenario("three-regions").canonical_text)
        write_recorded(run / "real.jsonl", "2026-01-02")
    site = folder / "measured.json"
    arguments = ["fidelity", "--input", str(folder / "in"), "--out", str(folder / "out"), "--site", str(site)]
    assert main(arguments) == 0
    return site
