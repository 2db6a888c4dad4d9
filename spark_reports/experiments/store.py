"""The files of a sweep: which experiment it is, the rows of finished runs, and at the end all of them.

Rules: every file is written aside and renamed, so a file with its final name is complete. `runs/` has one
part file for each round. A part that cannot be read is set aside and its runs are made again. The bytes of
`runs.parquet` depend on experiment and engine only, not on tasks, rounds or restarts.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simulator import ENGINE_VERSION
from simulator.experiments import Batch, Experiment, batches
from spark_reports.experiments.listener import Standing

# --- the rows of a sweep as columns: their schema, made from what the scenario's protocol measures
#
# Rules: integers are 64 bits and names are strings. A part file has the columns of `columns_of`, and
# `runs.parquet` the values of the run's point as well, one column for each path of the grid.


OF_EVERY_RUN = (
    ("run", pa.int64()),
    ("point", pa.int64()),
    ("seed", pa.int64()),
    ("phase_us", pa.int64()),
    ("status", pa.string()),
    ("reason", pa.string()),
    ("rows", pa.int64()),
    ("causes", pa.string()),
    ("delivering", pa.int64()),
)
"""Columns of every sweep.

`rows` are the rows of the trace that were simulated, 0 if the run failed. `causes` are the duplicates by
cause as JSON, and `delivering` the number of failovers that still delivered their backlog at the end.
"""


class ColumnTaken(ValueError):
    """A path of the grid has the name of another column."""


def columns_of(experiment: Experiment) -> pa.Schema:
    """The schema of the rows that tasks make."""
    return pa.schema([*OF_EVERY_RUN, *((measure.name, pa.int64()) for measure in experiment.measures)])


def declared(schema: pa.Schema) -> str:
    """The same schema as Spark declares it."""
    kinds = {pa.int64(): "bigint", pa.string(): "string"}
    return ", ".join(f"`{field.name}` {kinds[field.type]}" for field in schema)


def record_batch(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows of runs as a batch of columns; a failed run has no figures."""
    return pa.RecordBatch.from_pylist(list(rows), schema)


def with_axes(table: pa.Table, experiment: Experiment) -> pa.Table:
    """The rows with the values of their points, after `point`."""
    for axis in reversed(experiment.axes):
        values = pa.array([point.values[axis.path] for point in experiment.points], pa.string())
        table = table.add_column(2, axis.path, values.take(table["point"]))
    return table


def schema_with_axes(columns: pa.Schema, experiment: Experiment) -> pa.Schema:
    """The schema of `with_axes`. Raises ColumnTaken."""
    fields = list(columns)
    for axis in experiment.axes:
        if axis.path in columns.names:
            raise ColumnTaken(f"grid.{axis.path}: every run has a column {axis.path}; it cannot be an axis")
    return pa.schema(
        [*fields[:2], *(pa.field(axis.path, pa.string()) for axis in experiment.axes), *fields[2:]]
    )


# --- which batches of a sweep are missing, and how they are cut into rounds and tasks
#
# Rules: batches of many phases are cut, and those of a round with fewer batches than cores are cut further.
# Every part simulates again what its runs share. A round is one Spark job. The first has one batch for each
# core, so that results appear at once. Later ones last longer and longer, since each round costs a fraction
# of a second and its last tasks leave cores idle. What a killed driver loses is one round at most.


ROUND_S, ROUND_S_MOST = 5.0, 60.0
"""Seconds of the first measured rounds, and of the longest."""
SHARE_OF_ELAPSED = 0.05
"""A round lasts this share of the time since the start, within these bounds."""
GROWTH = 4
"""The most by which a round has more batches than the one before."""
TASK_S = 0.5
"""Seconds of a task: starting one costs about 10 ms, and cores idle for half of one at the end of a round."""
PHASES_MOST = 100
"""The most runs of a batch: sharing their first part among more saves little, and the rows arrive later."""
TASKS_MOST = 10_000
"""The most tasks of a round."""


class Plan:
    """The batches of an experiment, by number, and the runs of each."""

    def __init__(self, experiment: Experiment) -> None:
        self.batches = [
            part
            for batch in batches(experiment)
            for part in batch.parts(-(-experiment.phases // PHASES_MOST))
        ]
        self.first_runs = np.array([batch.first_run + batch.phases[0] for batch in self.batches], np.int64)
        self.sizes = np.diff(self.first_runs, append=experiment.runs)
        self._rank = {seed: rank for rank, seed in enumerate(experiment.seeds)}

    def missing(self, finished: np.ndarray) -> list[int]:
        """The batches with a run that is not finished; each seed runs at every point before the next seed.

        So early results cover the whole grid.
        """
        complete = np.add.reduceat(finished.astype(np.int64), self.first_runs) == self.sizes
        numbers = np.flatnonzero(~complete).tolist()
        return sorted(numbers, key=lambda number: self._rank[self.batches[number].seed])

    def runs_of(self, numbers: Sequence[int]) -> int:
        """The number of runs of some batches."""
        return int(self.sizes[list(numbers)].sum())

    def limited(self, numbers: list[int], runs: int) -> list[int]:
        """The first batches that together have at least so many runs."""
        ends = np.cumsum(self.sizes[numbers])
        return numbers[: int(np.searchsorted(ends, runs)) + 1]


class Pace:
    """Decides how many batches a round has, from the time that the last one took."""

    def __init__(self, batch_s: float | None = None) -> None:
        self.batch_s = batch_s
        self._last = 0
        self._rounds = 0
        self._elapsed_s = 0.0

    @property
    def has_measured(self) -> bool:
        """Whether a round was measured."""
        return self._rounds > 0

    def measured(self, batches: int, seconds: float, cores: int) -> None:
        """Record a round; `batch_s` becomes the time of one core for one batch.

        The first round is slow, since executors start and import, so an estimate remains if it is lower.
        From the third on it is averaged with the rounds before, since settings and machine vary.
        """
        found_s = seconds * min(cores, batches) / batches
        if self.batch_s is None or self._rounds == 1:
            self.batch_s = found_s
        elif self._rounds == 0:
            self.batch_s = min(found_s, self.batch_s)
        else:
            self.batch_s = (self.batch_s + found_s) / 2
        self._rounds += 1
        self._last = batches
        self._elapsed_s += seconds

    def batches(self, cores: int) -> int:
        """The batches of the next round: a multiple of the cores."""
        if self.batch_s is None or not self._rounds:
            return cores
        lasting_s = min(max(ROUND_S, SHARE_OF_ELAPSED * self._elapsed_s), ROUND_S_MOST)
        wanted = min(int(lasting_s * cores / max(self.batch_s, 1e-6)), GROWTH * self._last)
        return max(cores, wanted // cores * cores)

    def chunks(self, numbers: Sequence[int], cores: int) -> list[list[int]]:
        """The batches of each task."""
        each = max(1, int(TASK_S / self.batch_s)) if self.batch_s else 1
        tasks = min(max(cores, -(-len(numbers) // each)), len(numbers), TASKS_MOST)
        return [list(numbers[task::tasks]) for task in range(tasks)]

    def left_s(self, batches: int, cores: int) -> float | None:
        """Seconds until so many batches have run, None before the first measurement."""
        return None if self.batch_s is None else batches * self.batch_s / min(cores, max(batches, 1))


def batches_of(plan: Plan, chunks: Sequence[Sequence[int]], cores: int) -> list[list[Batch]]:
    """The batches of each task. Where there are fewer than cores, their phases are spread over more tasks."""
    found = [[plan.batches[number] for number in chunk] for chunk in chunks]
    count = sum(map(len, found))
    if count >= cores:
        return found
    return [[part] for chunk in found for batch in chunk for part in batch.parts(-(-cores // count))]


EXPERIMENT, RUNS, PARTS, LOCK = "experiment.json", "runs.parquet", "runs", "lock"
PARTIAL, DAMAGED = ".partial", ".damaged"
DECIDE_NOTHING = ("title", "wanted", "cheaper")
"""Keys of an experiment that change no run: they may change between two calls."""
ROWS_OF_A_GROUP = 100_000
"""Rows of a row group in runs.parquet: a fixed number, since it decides the bytes."""
ROWS_OF_A_PASS = 10 * ROWS_OF_A_GROUP
"""Rows that are in memory at once while runs.parquet is written: about 200 MB."""
ROW_BYTES_MOST = 300
"""Bytes of a run in part file and runs.parquet together; the free space must be enough for all."""
SHOWN = 60
"""The most characters of a value in the message about a difference."""


class StoreError(Exception):
    """The folder cannot be used; the text says why and what to do."""


class Kept:
    """The runs that are in part files: which are finished, and which of these failed.

    `damaged` has the names of part files that were set aside.
    """

    def __init__(self, runs: int) -> None:
        self.finished = np.zeros(runs, np.bool_)
        self.failed = np.zeros(runs, np.bool_)
        self.damaged: list[str] = []

    def add(self, rows: pa.Table) -> None:
        """Add finished runs. Raises IndexError for a run that the experiment does not have."""
        runs = rows["run"].to_numpy()
        self.finished[runs] = True
        self.failed[runs] = pc.equal(rows["status"], "failed").to_numpy()

    def standing(self, left_s: float | None = None) -> Standing:
        """How far the sweep is."""
        return Standing(int(self.finished.sum()), len(self.finished), int(self.failed.sum()), left_s)


class Store:
    """The folder of one sweep."""

    def __init__(self, folder: Path, experiment: Experiment, columns: pa.Schema) -> None:
        self.folder = folder
        self.experiment = experiment
        self.columns = columns
        self._schema = schema_with_axes(columns, experiment)
        self._parts = folder / PARTS

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make or check the folder, and keep other processes from writing to it. Raises StoreError."""
        with _explained(self.folder):
            self.check()
            self._parts.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / LOCK).open("w")
        with lock:
            with _explained(self.folder):
                self._take(lock)
                for left in self.folder.rglob(f"*{PARTIAL}"):
                    left.unlink()
                self._check_space()
                self._write_description()
            yield

    def _take(self, lock: IO[str]) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"{self.folder}: another sweep is writing to it; wait for its end, or name another folder"
            ) from None

    def check(self) -> None:
        """Raise StoreError if the folder cannot be written, or has runs of another experiment or engine."""
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(f"{self.folder}: is a file; name a folder, which is made where there is none")
        above = next(path for path in (self.folder, *self.folder.absolute().parents) if path.exists())
        if not above.is_dir() or not os.access(above, os.W_OK):
            reason = "is not writable" if above.is_dir() else "is a file"
            raise StoreError(f"{self.folder}: {above} {reason}; name a folder that can be written")
        path = self.folder / EXPERIMENT
        if not path.exists():
            if self._parts.exists() and any(self._parts.iterdir()):
                raise StoreError(f"{self.folder}: has runs but no {EXPERIMENT}; name another folder")
            return
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            found = differences(kept, self._described())
        except (ValueError, AttributeError, KeyError, TypeError):
            raise StoreError(f"{path}: cannot be read; name another folder") from None
        if found:
            lines = "".join(f"\n  {line}" for line in found)
            raise StoreError(
                f"{self.folder}: has runs of another experiment, which are kept; name another folder. "
                f"It differs in:{lines}"
            )

    def _check_space(self) -> None:
        needed = self.experiment.runs * ROW_BYTES_MOST
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise StoreError(
                f"{self.folder}: has {free / 1e6:,.0f} MB free, and {self.experiment.runs:,} runs need up to "
                f"{needed / 1e6:,.0f} MB; make room, or name a folder on another disk"
            )

    def _described(self) -> dict[str, Any]:
        return {
            "engine_version": ENGINE_VERSION,
            "experiment": self.experiment.described(),
            "columns": self.columns.names,
        }

    def _write_description(self) -> None:
        text = json.dumps(self._described(), indent=1, allow_nan=False) + "\n"
        with _aside(self.folder / EXPERIMENT) as partial:
            partial.write_text(text, encoding="utf-8")

    def kept(self) -> Kept:
        """What the part files have. A part that cannot be read is set aside."""
        found = Kept(self.experiment.runs)
        for path in self._part_files():
            try:
                if not pq.read_schema(path).equals(self.columns):
                    raise pa.ArrowInvalid("other columns")
                found.add(pq.read_table(path, columns=["run", "status"]))
            except (pa.ArrowException, OSError, IndexError):
                os.replace(path, path.with_name(path.name + DAMAGED))
                found.damaged.append(path.name)
        return found

    def add(self, rows: pa.Table) -> None:
        """Write a part file. Raises StoreError when the disk is full."""
        last = max((int(path.stem) for path in self._part_files()), default=-1)
        path = self._parts / f"{last + 1:06}.parquet"
        with _explained(self.folder), _aside(path) as partial:
            pq.write_table(rows.cast(self.columns), partial, compression="zstd")

    def table(self, first: int = 0, end: int | None = None) -> pa.Table:
        """The finished runs in order, with their axes' values: all, or those from `first` to before `end`."""
        end = self.experiment.runs if end is None else end
        wanted = [("run", ">=", first), ("run", "<", end)]
        parts = [pq.read_table(path, schema=self.columns, filters=wanted) for path in self._part_files()]
        rows = pa.concat_tables([*parts, self.columns.empty_table()])
        _, places = np.unique(rows["run"].to_numpy(), return_index=True)
        return with_axes(rows.take(pa.array(places)).combine_chunks(), self.experiment)

    def failed_rows(self, most: int) -> list[dict[str, Any]]:
        """The first failed runs."""
        parts = [
            pq.read_table(path, schema=self.columns, filters=[("status", "=", "failed")])
            for path in self._part_files()
        ]
        return pa.concat_tables(parts).sort_by("run").slice(0, most).to_pylist() if parts else []

    def finish(self) -> Path:
        """Write runs.parquet, once every run is finished. Raises StoreError when the disk is full."""
        described = {key: json.dumps(value) for key, value in self._described().items()}
        path = self.folder / RUNS
        with (
            _explained(self.folder),
            _aside(path) as partial,
            pq.ParquetWriter(
                partial, self._schema.with_metadata(described), compression="zstd", compression_level=3
            ) as writer,
        ):
            for first in range(0, self.experiment.runs, ROWS_OF_A_PASS):
                rows = self.table(first, first + ROWS_OF_A_PASS)
                writer.write_table(rows.replace_schema_metadata(described), row_group_size=ROWS_OF_A_GROUP)
        return path

    def _part_files(self) -> list[Path]:
        return sorted(path for path in self._parts.glob("*.parquet") if path.stem.isdigit())


def differences(kept: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """What decides the runs and differs between two descriptions, a line each."""
    pairs = [("the engine's version", kept["engine_version"], given["engine_version"])]
    for key, value in given["experiment"].items():
        if key not in DECIDE_NOTHING:
            pairs.append((key, kept["experiment"].get(key), value))
    pairs.append(("the figures of a run", kept["columns"], given["columns"]))
    return [
        f"{name}: {_shown(before, after)} there, {_shown(after, before)} here"
        for name, before, after in pairs
        if before != after
    ]


def _shown(value: Any, other: Any) -> str:
    """The value in short; of a text with lines, the first line that differs."""
    if isinstance(value, str) and isinstance(other, str):
        lines, others = value.splitlines(), other.splitlines()
        number = next((n for n, pair in enumerate(zip(lines, others)) if pair[0] != pair[1]), None)
        number = min(len(lines), len(others)) if number is None else number
        if len(lines) > 1 or len(others) > 1:
            line = lines[number].strip() if number < len(lines) else "its end"
            return f"line {number + 1}, {line[:SHOWN]},"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


@contextmanager
def _aside(path: Path) -> Iterator[Path]:
    """A path to write to; it is renamed to `path` if nothing fails, and removed if something does."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn an error of the file system into a StoreError that says what to do."""
    try:
        yield
    except OSError as error:
        right = (
            "make room, then run the same command again: finished runs are kept"
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else "name a folder that can be written"
        )
        reason = os.strerror(error.errno) if error.errno else error
        raise StoreError(f"{folder}: {reason}; {right}") from error
