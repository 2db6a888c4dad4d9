"""Reads `DIR/JOB/pairs.jsonl`: one line per run, with real and simulated figures.

Rules: the input is refused as a whole, with file, line and field, rather than compared in part. A job is one
version of Pulsar. Both sides of a pair have the same failovers, since both played the same commands. Fields
that are not named here are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from simulator.trace.files import TraceFileError, read_meta

# --- reads fields of a JSON value and says which one is wrong, where, and what would be right


WORDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number", bool: "true or false"}

COUNT_MOST = 2**53
"""Largest count: the largest whole number up to which every one is exact as a float."""


class PairsError(Exception):
    """A file of pairs cannot be compared. The text names file, line and field."""


@dataclass(frozen=True)
class Reader:
    """A JSON value with its place in the file and its path in the line."""

    place: str
    path: str
    value: Any

    def wrong(self, what: str, right: str) -> PairsError:
        """The error about this value."""
        return PairsError(f"{self.place}: {self.path or 'the line'} {what}; {right} is right")

    def as_object(self) -> Reader:
        """This value, which has to be an object."""
        self._of(dict, "an object")
        return self

    def at(self, name: str) -> Reader:
        """A field of this object, which has to be there."""
        self.as_object()
        path = f"{self.path}.{name}" if self.path else name
        if name not in self.value:
            raise PairsError(
                f"{self.place}: {path} is missing; the fields there are "
                f"{', '.join(sorted(self.value)) or 'none'}"
            )
        return Reader(self.place, path, self.value[name])

    def members(self) -> Iterator[tuple[str, Reader]]:
        """All fields of this object, in the order of their names."""
        for name in sorted(self.as_object().value):
            yield name, self.at(name)

    def items(self) -> Iterator[Reader]:
        """The items of this list."""
        self._of(list, "a list")
        for index, item in enumerate(self.value):
            yield Reader(self.place, f"{self.path}[{index}]", item)

    def texts(self) -> tuple[str, ...]:
        """This list, all items of which are texts."""
        return tuple(item.text() for item in self.items())

    def counts(self) -> dict[str, int]:
        """This object, all fields of which are counts."""
        return {name: one.count() for name, one in self.members()}

    def count(self) -> int:
        """This value as a whole number from 0."""
        self._of(int, "a whole number from 0")
        if not 0 <= self.value <= COUNT_MOST:
            raise self.wrong(f"is {self.value}", f"a whole number from 0 to {COUNT_MOST}")
        return int(self.value)

    def number(self) -> float:
        """This value as a number from 0."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self._of(int, "a number from 0")
        if not 0 <= self.value <= COUNT_MOST:
            raise self.wrong(f"is {self.value}", f"a number from 0 to {COUNT_MOST}")
        return float(self.value)

    def text(self) -> str:
        """This value as a text that is not empty."""
        self._of(str, "a text")
        if not self.value:
            raise self.wrong("is empty", "a text")
        return str(self.value)

    def _of(self, kind: type, right: str) -> None:
        if not isinstance(self.value, kind) or (kind is int and isinstance(self.value, bool)):
            found = type(self.value)
            raise self.wrong(
                f"is {WORDS.get(found, 'null' if self.value is None else found.__name__)}", right
            )


RUNS_MOST = 10_000
"""Most runs of a job: the permutation test's memory grows with it."""

MESSAGES = ("duplicates", "redeliveries", "stranded", "lost")
"""The message figures of a failover."""


MEASURED_TIMES, PREDICTED_TIMES = "measured", "predicted"

ONE_OF_EACH = {
    "job": "a file is one job",
    "pulsar": "write each version to a folder of its own",
    "scenario_sha256": "the runs of a job play one scenario",
    "times": "write predicted runs to a folder of their own",
}
"""Fields that are equal in all lines of a file, and why."""


@dataclass(frozen=True)
class Failover:
    """The messages of one failover, and its duplicates by cause."""

    duplicates: int
    redeliveries: int
    stranded: int
    lost: int
    by_cause: dict[str, int]


@dataclass(frozen=True)
class Snapshots:
    """The snapshots that one cluster's controller completed, and the delays of its updates."""

    completed: int
    durations_us: tuple[int, ...]
    tick_to_update_us: tuple[int, ...]


@dataclass(frozen=True)
class Figures:
    """What was counted in one run, real or simulated."""

    failovers: tuple[Failover, ...]
    repeated: int
    snapshots: dict[str, Snapshots]
    markers: dict[str, dict[str, int]]
    markers_bytes: dict[str, dict[str, int]]
    published: int
    receipted: int
    violations: tuple[str, ...]
    """The claims of the checks that the run violated."""


@dataclass(frozen=True)
class Pair:
    """One run on real brokers and its simulated twin, with the name of their folder in the job's."""

    run: int
    folder: str
    real: Figures
    simulated: Figures
    load: float | None = None
    """The machine's load average when the run began, where the line has it."""
    cores: int | None = None


@dataclass(frozen=True)
class Job:
    """All runs of one scenario on one version of Pulsar."""

    name: str
    pulsar: str
    first_date: str
    last_date: str
    pairs: tuple[Pair, ...]
    folder: Path
    times: str = MEASURED_TIMES
    """Whence the simulated runs have their times: measured in the same run, or predicted from others."""


def read_jobs(*folders: Path) -> list[Job]:
    """All jobs of some folders, in the order of their names. Raises PairsError."""
    paths = []
    for folder in folders:
        found = sorted(folder.glob("*/pairs.jsonl"))
        if not found:
            raise PairsError(
                f"{folder}: has no JOB/pairs.jsonl; give the folder that script/real-brokers wrote with --out"
            )
        paths += found
    jobs = [read_job(path) for path in dict.fromkeys(path.resolve() for path in paths)]
    seen: dict[tuple[str, str], Job] = {}
    for job in jobs:
        other = seen.setdefault((job.name, job.pulsar), job)
        if other is not job:
            raise PairsError(
                f"{job.folder}: job {job.name!r} with Pulsar {job.pulsar} is also in {other.folder}; "
                f"keep one of the two folders"
            )
    return sorted(jobs, key=lambda job: (job.name, job.pulsar))


def read_job(path: Path) -> Job:
    """The job of one file. Raises PairsError."""
    rows = [_row(reader, path.parent) for reader in _lines(path)]
    if len(rows) < 2:
        runs = "no run" if not rows else "1 run"
        raise PairsError(f"{path}: has {runs}; at least 2 are needed, 60 or more for a useful interval")
    if len(rows) > RUNS_MOST:
        raise PairsError(f"{path}: has {len(rows):,} runs; at most {RUNS_MOST:,}")
    for name, why in ONE_OF_EACH.items():
        found = sorted({row[name] for row in rows})
        if len(found) > 1:
            raise PairsError(f"{path}: {name} is {' and '.join(map(repr, found))} in one file; {why}")
    pairs = sorted((row["pair"] for row in rows), key=lambda pair: pair.run)
    for earlier, later in zip(pairs, pairs[1:]):
        if earlier.run == later.run:
            raise PairsError(f"{path}: run {later.run} is there more than once; each run has one line")
    counts = sorted({len(pair.real.failovers) for pair in pairs})
    if len(counts) > 1:
        raise PairsError(
            f"{path}: runs have {' and '.join(map(str, counts))} failovers; the runs of a job play the same "
            f"commands"
        )
    dates = sorted(row["date"] for row in rows)
    return Job(
        rows[0]["job"],
        rows[0]["pulsar"],
        dates[0],
        dates[-1],
        tuple(pairs),
        path.parent,
        rows[0]["times"],
    )


def _lines(path: Path) -> Iterator[Reader]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PairsError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{path} line {number}"
        try:
            value = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise PairsError(f"{place}: is not JSON ({error}); each line is one object") from error
        yield Reader(place, "", value).as_object()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _row(reader: Reader, folder_of_job: Path) -> dict[str, Any]:
    real, simulated = _figures(reader.at("real")), _figures(reader.at("simulated"))
    if len(real.failovers) != len(simulated.failovers):
        raise reader.wrong(
            f"{len(real.failovers)} failovers are real and {len(simulated.failovers)} simulated",
            "both sides of a pair play the same commands",
        )
    folder = Path(reader.at("folder").text()).name
    if folder in ("", ".", ".."):
        raise reader.at("folder").wrong("names no folder", "JOB/run-017")
    load = reader.at("load_average").number() if reader.value.get("load_average") is not None else None
    cores = reader.at("cores").count() if reader.value.get("cores") is not None else None
    pair = Pair(reader.at("run").count(), folder, real, simulated, load, cores)
    return {
        "job": reader.at("job").text(),
        "pulsar": reader.at("pulsar").text(),
        "scenario_sha256": reader.at("scenario_sha256").text(),
        "times": _times(reader),
        "date": _date(reader, folder_of_job / folder / "real.jsonl"),
        "pair": pair,
    }


def _times(reader: Reader) -> str:
    """Whence the simulated run has its times; lines of earlier rigs do not say it."""
    if "times" not in reader.value:
        return MEASURED_TIMES
    found = reader.at("times")
    if found.text() not in (MEASURED_TIMES, PREDICTED_TIMES):
        raise found.wrong(f"is {found.text()!r}", f"{MEASURED_TIMES} or {PREDICTED_TIMES}")
    return found.text()


def _date(reader: Reader, trace: Path) -> str:
    """The day of a run: in its line, else in the first line of its recorded trace."""
    if "date" in reader.value:
        found = reader.at("date")
    elif trace.is_file():
        found = Reader(str(trace), "", _meta(trace)).at("recorded").at("date")
    else:
        raise reader.wrong(f"has no date, and there is no {trace}", "a field date, or the folder of the run")
    text = found.text()
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError as error:
        raise found.wrong(f"is {text!r}", "the day of the run as YYYY-MM-DD") from error


def _meta(trace: Path) -> dict[str, Any]:
    try:
        return read_meta(trace)
    except TraceFileError as error:
        raise PairsError(f"{trace}: {error}") from error


def _figures(reader: Reader) -> Figures:
    return Figures(
        failovers=tuple(_failover(one) for one in reader.at("failovers").items()),
        repeated=reader.at("repeated").count(),
        snapshots={cluster: _snapshots(one) for cluster, one in reader.at("snapshots").members()},
        markers={cluster: one.counts() for cluster, one in reader.at("markers").members()},
        markers_bytes={cluster: one.counts() for cluster, one in reader.at("markers_bytes").members()},
        published=reader.at("published").count(),
        receipted=reader.at("receipted").count(),
        violations=reader.at("violations").texts(),
    )


def _failover(reader: Reader) -> Failover:
    numbers = {name: reader.at(name).count() for name in MESSAGES}
    return Failover(**numbers, by_cause=reader.at("by_cause").counts())


def _snapshots(reader: Reader) -> Snapshots:
    return Snapshots(
        completed=reader.at("completed").count(),
        durations_us=tuple(one.count() for one in reader.at("durations_us").items()),
        tick_to_update_us=tuple(one.count() for one in reader.at("tick_to_update_us").items()),
    )
