"""The command line of `script/real-brokers`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from script.real_brokers.install import DEFAULT_VERSION, OLDER_VERSION, numbers
from script.real_brokers.plan import PREDICTED, job_names

DEFAULT_RUNS = 20
RUNS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Arguments:
    """What the command was asked to do.

    Without `version` each scenario has its own, and without `at_once` as many runs share the clusters as its
    rate of messages allows. With `resume` runs that `out` has already are not played again. `calibration` is
    the file with the times of the simulated side; without it they are measured in the same run.
    """

    scenarios: tuple[str, ...]
    runs: int
    at_once: int | None
    version: str | None
    out: Path
    keep_data: bool
    check: bool
    resume: bool
    calibration: Path | None


def parse(words: Sequence[str] | None = None) -> Arguments:
    """The arguments; exits with 2 and a message if they are wrong."""
    parser = _parser()
    given = parser.parse_args(words)
    if not given.scenarios and not given.jobs:
        parser.error("name at least one SCENARIO, or use --jobs for all jobs")
    if given.jobs and given.pulsar:
        parser.error("each job has its own version; leave out --pulsar, or name the jobs instead of --jobs")
    if given.out is None and not given.check:
        parser.error("name the folder for the results with --out DIR")
    predicted = [name for name in given.scenarios if name in PREDICTED]
    if predicted and not given.check and given.calibration is None:
        parser.error(
            f"{predicted[0]} is predicted from other runs: name their calibration with --calibration FILE, "
            "which python -m script.real_brokers.calibration writes"
        )
    jobs = [
        name
        for name in (job_names() if given.jobs else ())
        if given.check or (name in PREDICTED) == (given.calibration is not None)
    ]
    return Arguments(
        tuple(dict.fromkeys([*given.scenarios, *jobs])),
        given.runs,
        given.at_once,
        given.pulsar,
        (given.out or Path()).resolve(),
        given.keep_data,
        given.check,
        given.resume,
        given.calibration,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="script/real-brokers",
        description="Plays scenarios on real Pulsar brokers and on the engine, and writes both results "
        "(docs/real-brokers.md).",
    )
    parser.add_argument(
        "scenarios", nargs="*", metavar="SCENARIO", help="a job, a built-in scenario or a file"
    )
    parser.add_argument(
        "--jobs",
        action="store_true",
        help="all jobs of the comparison, or with --calibration those that are predicted; with --check this "
        "lists all",
    )
    parser.add_argument(
        "--runs", type=_count, default=DEFAULT_RUNS, help=f"runs of each scenario (default {DEFAULT_RUNS})"
    )
    parser.add_argument(
        "--at-once",
        type=_count,
        help="runs that share the clusters at the same time (default: by the scenario's rate of messages)",
    )
    parser.add_argument(
        "--pulsar",
        metavar="VERSION",
        type=_version,
        help=f"version of the brokers (default {DEFAULT_VERSION}, and {OLDER_VERSION} for a scenario with "
        "snapshotCacheRule: oldest-first)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the results; required without --check"
    )
    parser.add_argument(
        "--calibration",
        type=Path,
        metavar="FILE",
        help="times of earlier runs (python -m script.real_brokers.calibration): the simulated runs have "
        "these, and not those that are measured in the same run",
    )
    parser.add_argument("--keep-data", action="store_true", help="keep the brokers' data after the runs")
    parser.add_argument(
        "--resume", action="store_true", help="play only the runs that DIR does not have, and keep the others"
    )
    parser.add_argument("--check", action="store_true", help="only say whether the scenarios can be played")
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= RUNS_MAX:
        raise argparse.ArgumentTypeError(f"{text} is not a number of runs; write 1 to {RUNS_MAX}")
    return int(text)


def _version(text: str) -> str:
    try:
        numbers(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text
