"""Calibrations: the times of played runs as options, to predict other runs with.

`python -m script.real_brokers.calibration DIR… --out FILE` reads what the brokers reported in all runs of the
DIRs (`raw.jsonl.gz`) and writes one set of options in the notation of scenario files. `script/real-brokers
SCENARIO --calibration FILE` plays other runs, whose simulated side has these options instead of the times
that were measured in the same run.
Rules: what happens often has a distribution, fitted to the samples of all runs. What happens a few times in a
run has one, too, with enough samples, else their median. Phases of ack groups are not in it: they are drawn
(`timing: measured`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

from script.real_brokers.output import RAW, read_scenario, write_text
from script.real_brokers.plan import DRIFT
from script.real_brokers.recording import read_recording
from script.real_brokers.times_of_run import MEASURED, Samples, drift_us, fitted, groups_us
from script.support.processes import say
from simulator.scenarios.loader import load_scenario_text
from simulator.scenarios.model import Distribution
from simulator.scenarios.reader import KINDS
from simulator.scenarios.tree import ScenarioError

FORMAT = 1
FILE_BYTES_MOST = 1_000_000

_SCENARIO = """format: 1
name: calibration
title: Options of a calibration
family: replicated-subscriptions
until: 1s
clusters: {a: {}}
topics: {t: {clusters: [a]}}
options: """
"""A scenario that only has options, so that they are read and checked as in any scenario file."""


class CalibrationError(Exception):
    """A calibration cannot be read or made; the text says why and what would be right."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The options to predict with, and the text of their file."""

    options: Mapping[str, Distribution | int]
    pulsar: str
    text: str


def read_calibration(path: Path) -> Calibration:
    """The calibration of a file. Raises CalibrationError."""
    made = "write it with python -m script.real_brokers.calibration DIR --out FILE"
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(FILE_BYTES_MOST + 1)
        given = json.loads(text) if len(text) <= FILE_BYTES_MOST else None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CalibrationError(f"{path} cannot be read as a calibration ({error}); {made}") from error
    if not isinstance(given, dict) or given.get("calibration") != FORMAT or not given.get("options"):
        raise CalibrationError(f"{path} is no calibration of format {FORMAT} with options; {made}")
    try:
        scenario = load_scenario_text(_SCENARIO + json.dumps(given["options"]) + "\n", str(path))
    except ScenarioError as error:
        raise CalibrationError(f"{path}: {error}") from error
    unknown = [name for name in scenario.options if name not in (*MEASURED, DRIFT)]
    if unknown:
        raise CalibrationError(
            f"{path} has the option {unknown[0]}; a calibration has {', '.join((*MEASURED, DRIFT))}"
        )
    return Calibration(dict(scenario.options), str(given.get("pulsar")), text)


def made_from(runs: Iterable[Path]) -> dict[str, Any]:
    """The content of a calibration's file, from the folders of runs. Raises CalibrationError."""
    samples, drifts = Samples(), list[int]()
    versions: dict[str, None] = {}
    read: dict[str, list[str]] = {}
    for run in runs:
        recording, scenario = read_recording(run / RAW), read_scenario(run)
        samples.add(recording.events, [entry for log in recording.dumps.values() for entry in log])
        periods_us = {name: spec.acknowledgment_group_time_us for name, spec in scenario.consumers.items()}
        drift = drift_us(groups_us(recording.events, recording.zero_ns, periods_us), periods_us)
        drifts += [] if drift is None else [drift]
        versions[recording.meta["pulsar"]] = None
        read.setdefault(run.parent.name, []).append(recording.meta["date"])
    if len(versions) != 1:
        found = " and ".join(versions) or "no version"
        raise CalibrationError(f"the runs are of Pulsar {found}; a calibration needs the runs of one version")
    options = options_of(samples, drifts)
    return {
        "calibration": FORMAT,
        "pulsar": next(iter(versions)),
        "runs": {
            job: {"runs": len(dates), "first": min(dates), "last": max(dates)} for job, dates in read.items()
        },
        "options": KINDS["options"].write(options),
    }


def options_of(samples: Samples, drifts: Sequence[int]) -> dict[str, Distribution | int]:
    """The options that these samples give, in the order of their names."""
    found: dict[str, Distribution | int] = dict(samples.often())
    for name, took_us in samples.once_us.items():
        if took_us:
            found[name] = fitted(us * 1000 for us in took_us) or Distribution(value_us=median_low(took_us))
    if drifts:
        found[DRIFT] = median_low(drifts)
    return dict(sorted(found.items()))


def main(words: Sequence[str] | None = None) -> int:
    """Write a calibration; 2 without runs, or with those of several versions."""
    parser = argparse.ArgumentParser(
        prog="python -m script.real_brokers.calibration",
        description="Writes the times of played runs as options, to predict other runs with.",
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="results of script/real-brokers")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="the calibration")
    given = parser.parse_args(words)
    runs = sorted({path.parent for folder in given.folders for path in folder.glob(f"**/run-*/{RAW}")})
    if not runs:
        say(
            f"There is no played run in {', '.join(map(str, given.folders))}: name the --out of real-brokers."
        )
        return 2
    try:
        content = made_from(runs)
    except CalibrationError as error:
        say(str(error))
        return 2
    write_text(given.out, json.dumps(content, indent=2) + "\n")
    for name, value in content["options"].items():
        say(f"{name}: {value}")
    say(f"{given.out}: {len(runs)} runs of {', '.join(content['runs'])} on Pulsar {content['pulsar']}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
