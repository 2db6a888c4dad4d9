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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simulator import ENGINE_VERSION
from simulator.experiments import Experiment
from spark_reports.experiments.listener import Standing
from spark_reports.experiments.results import schema_with_axes, with_axes

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
