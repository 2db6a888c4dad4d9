"""A sweep: rounds of batches, each one Spark job, until every run of the experiment is finished.

Rules: the driver writes the rows of a round before the next one starts, so executors need no access to the
folder. What is finished is read from the folder, and only the rest runs. Classic Spark and Spark Connect run
the same code.
"""

from __future__ import annotations

import atexit
import hashlib
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator.experiments import Batch, Experiment
from spark_reports.experiments.estimate import left_s
from spark_reports.experiments.listener import NullListener, Standing
from spark_reports.experiments.store import (
    Kept,
    Pace,
    Plan,
    Store,
    StoreError,
    batches_of,
    columns_of,
    declared,
)
from spark_reports.experiments.task import running
from spark_reports.packaging import ROOT, make_package
from spark_reports.progress import Cancelled, Watch

# --- what a failed Spark job means for a sweep, in words


EXECUTORS_NEED = ("numpy", "pyroaring", "protobuf", "ruamel.yaml", "avro", "pyarrow")
"""Packages that the Python of the executors must have; docs/experiments.md lists them; a test compares."""
LONGEST = 600


class SweepFailed(Exception):
    """A round failed. `environment` says whether cluster or set-up is the cause, not this program."""

    def __init__(self, message: str, environment: bool) -> None:
        super().__init__(message)
        self.environment = environment


def explained(error: Exception) -> SweepFailed:
    """The failure of a round, from what Spark raised."""
    text = str(error)
    missing = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if missing:
        return SweepFailed(
            f"the Python of the executors has no module {missing[1]}; install there: "
            f"{', '.join(EXECUTORS_NEED)} (PYSPARK_PYTHON names the Python)",
            True,
        )
    version = re.search(r"\[PYTHON_VERSION_MISMATCH\].*", text)
    differs = re.search(r"EngineDiffers: (.*)", text)
    if version or differs:
        return SweepFailed((version[0] if version else differs[1])[:LONGEST], True)  # type: ignore[index]
    if "Python worker exited unexpectedly" in text:
        return SweepFailed(
            "a Python process of an executor ended, most likely out of memory: give the executors more "
            "memory, or fewer cores",
            True,
        )
    if isinstance(error, (ConnectionError, EOFError)) or re.search("Py4JNetworkError|UNAVAILABLE", text):
        return SweepFailed(f"the connection to Spark was lost ({type(error).__name__})", True)
    lost = re.search(
        r"(ExecutorLostFailure|Job aborted due to stage failure|SparkContext was shut down)[^\n]*", text
    )
    if lost:
        return SweepFailed(f"Spark gave up: {lost[0]}"[:LONGEST], "stage failure" not in lost[1])
    return SweepFailed(f"{type(error).__name__}: {text}"[:LONGEST], False)


# --- what a sweep needs of a session: the package on its executors, and the number of its cores
#
# Rules: nothing of the lab has to be installed on executors. The archive's name has the digest of its
# content, so that a session gets it once and a changed source gets another name. Code that runs from an
# archive itself was sent by spark-submit.


def prepare(spark: Any) -> int:
    """Send the package to the session's executors, and return the number of their cores."""
    if ROOT.is_dir():
        spark.addArtifacts(str(packed()), pyfile=True)
    return cores_now(spark) or _parallelism(spark)


def cores_now(spark: Any) -> int | None:
    """The cores of the executors that have registered so far, None where the session does not say."""
    context = getattr(spark, "_sc", None)  # absent on Connect
    return None if context is None else max(1, context.defaultParallelism)


def _parallelism(spark: Any) -> int:
    """The number of tasks into which the session cuts a job that does not say."""
    from pyspark.sql import functions as F

    return spark.range(0, 1 << 16).select(F.spark_partition_id().alias("task")).distinct().count()


@cache
def packed() -> Path:
    """The archive, made once for this process and removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="failover-lab-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = make_package(folder / "package.zip")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return path.rename(folder / f"failover_lab_{digest}.zip")


def store_of(experiment: Experiment, out: Path) -> Store:
    """The folder of an experiment's results. Raises ColumnTaken."""
    return Store(out, experiment, columns_of(experiment))


@dataclass(frozen=True, slots=True)
class _Round:
    """A round that runs: when it began, on how many cores, and what it and the later ones should take.

    The first round is slow, since executors start and import, which says nothing about later ones.
    """

    began_s: float
    cores: int
    expected_s: float | None
    later_s: float | None
    is_typical: bool

    def left_s(self, now_s: float, done: int, of: int) -> float | None:
        """Seconds until all rounds are finished, with so many tasks done; None before any measurement."""
        if not self.expected_s or self.later_s is None or not of:
            return None
        spent_s = now_s - self.began_s
        of_round_s = left_s(self.expected_s / of, spent_s, done, of, self.cores)
        slower = (of_round_s + spent_s) / self.expected_s if self.is_typical else 1.0
        return of_round_s + self.later_s * slower


class Sweep:
    """The runs of an experiment, on a session, in a folder.

    With `limit_runs`, about so many runs are made in this call. With `core_s`, seconds of one core for all of
    them, the time left is known from the start.
    """

    def __init__(
        self,
        spark: Any,
        experiment: Experiment,
        out: Path,
        listener: NullListener | None = None,
        *,
        limit_runs: int | None = None,
        core_s: float | None = None,
    ) -> None:
        self.experiment = experiment
        self.store = store_of(experiment, out)
        self._spark = spark
        self._listener = listener or NullListener()
        self._limit_runs = limit_runs
        self._plan = Plan(experiment)
        self._pace = Pace(None if core_s is None else core_s / len(self._plan.batches))
        self._round: _Round | None = None

    def run(self) -> Standing:
        """Run what is missing, and write runs.parquet when nothing is.

        Raises StoreError for the folder, Cancelled at the listener's request, and SweepFailed when Spark
        fails. Finished runs are kept in each case.
        """
        with self.store.opened():
            kept = self.store.kept()
            for name in kept.damaged:
                self._listener.notice(f"{name} could not be read and was set aside; its runs are made again")
            missing = self._plan.missing(kept.finished)
            if self._limit_runs is not None:
                missing = self._plan.limited(missing, self._limit_runs)
            if missing:
                self._run(missing, kept)
            standing = kept.standing()
            if standing.complete:
                self.store.finish()
            return standing

    def _run(self, missing: list[int], kept: Kept) -> None:
        """Run the missing batches, and add their runs to those that are kept."""
        group = f"sweep-{uuid.uuid4()}"
        try:
            with Watch(self._spark, self, group, f"sweep {self.experiment.name}") as watch:
                self._rounds(missing, kept, watch)
        except (Cancelled, StoreError):
            raise
        except Exception as error:  # a session that has ended fails once more when the watch ends
            raise explained(error) from error

    def _rounds(self, missing: list[int], kept: Kept, watch: Watch) -> None:
        cores = watch.run_one(lambda: prepare(self._spark))
        self._listener.stands(kept.standing(self._pace.left_s(len(missing), cores)))
        while missing:
            cores = cores_now(self._spark) or cores
            count = self._pace.batches(cores)
            numbers, missing = missing[:count], missing[count:]
            chunks = self._pace.chunks(numbers, cores)
            began = time.monotonic()
            self._round = _Round(began, cores, *self._expected_s(len(numbers), len(missing), cores))
            rows = watch.run_one(partial(self._rows, batches_of(self._plan, chunks, cores)))
            self._round = None
            self._pace.measured(len(numbers), time.monotonic() - began, cores)
            self.store.add(rows)
            kept.add(rows)
            self._listener.stands(kept.standing(self._pace.left_s(len(missing), cores)))

    def _expected_s(self, batches: int, later: int, cores: int) -> tuple[float | None, float | None, bool]:
        """The seconds of a round and of all later ones, and whether later ones will be as slow."""
        pace = self._pace
        return pace.left_s(batches, cores), pace.left_s(later, cores), pace.has_measured

    def tasks(self, done: int, of: int) -> None:
        """Pass the tasks of the running round on, and the time left; called in the thread of the watch."""
        self._listener.tasks(done, of)
        now_s, current = time.monotonic(), self._round
        corrected_s = None if current is None else current.left_s(now_s, done, of)
        if corrected_s is not None:
            self._listener.left(corrected_s)

    def cancel_wanted(self) -> bool:
        """Whether the listener wants the sweep to stop."""
        return self._listener.cancel_wanted()

    def _rows(self, chunks: Sequence[Sequence[Batch]]) -> pa.Table:
        """The rows of some batches: one Spark job with a task for each chunk."""
        columns = self.store.columns
        # A copy, since the points that an experiment keeps would be sent along.
        task = running(replace(self.experiment), chunks, columns)
        numbers = self._spark.range(0, len(chunks), 1, len(chunks))
        return numbers.mapInArrow(task, declared(columns)).toArrow()
