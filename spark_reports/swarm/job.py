"""The runs of a swarm in Spark tasks, in rounds whose results are written before the next one begins."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from simulator import ENGINE_VERSION
from simulator.experiments import BROKEN, swarm_run
from spark_reports.experiments.job import cores_now, explained, prepare
from spark_reports.experiments.listener import NullListener, Standing
from spark_reports.experiments.store import Pace
from spark_reports.experiments.task import check_version
from spark_reports.progress import Cancelled, Watch
from spark_reports.swarm.results import Results, rule_of_swarm

Key = tuple[str, int]
"""Family and seed."""

COLUMNS = pa.schema(
    [
        *((name, pa.string()) for name in ("family", "built_in", "status", "claim", "reason", "scenario")),
        *((name, pa.int64()) for name in ("seed", "at_us", "commands")),
    ]
)
_DECLARED = "family string, built_in string, status string, claim string, reason string, scenario string, "
_DECLARED += "seed long, at_us long, commands long"

Columns = Iterator[pa.RecordBatch]


class Swarm:
    """The seeds of some families, on a session, in a folder."""

    def __init__(
        self, spark: Any, keys: Sequence[Key], results: Results, listener: NullListener | None = None
    ) -> None:
        self._spark, self._keys, self._results = spark, keys, results
        self._listener = listener or NullListener()
        self._pace = Pace()

    def run(self) -> Standing:
        """Run the seeds that the folder does not have.

        Raises SwarmFolderError, Cancelled at the listener's request, and SweepFailed when Spark fails. Rows
        of finished rounds are kept in each case.
        """
        missing = [key for key in self._keys if key not in self._results.rows]
        if missing:
            with Watch(self._spark, self._listener, f"swarm-{uuid.uuid4()}", "swarm") as watch:
                self._rounds(missing, watch)
        return self._standing()

    def _rounds(self, missing: list[Key], watch: Watch) -> None:
        cores = _guarded(watch, lambda: prepare(self._spark))
        while missing:
            cores = cores_now(self._spark) or cores
            count = self._pace.batches(cores)
            keys, missing = missing[:count], missing[count:]
            chunks = [[keys[place] for place in one] for one in self._pace.chunks(range(len(keys)), cores)]
            began = time.monotonic()
            self._results.add(_guarded(watch, partial(self._rows, chunks)))
            self._pace.measured(len(keys), time.monotonic() - began, cores)
            self._listener.stands(self._standing(self._pace.left_s(len(missing), cores)))

    def _rows(self, chunks: Sequence[Sequence[Key]]) -> list[dict[str, Any]]:
        numbers = self._spark.range(0, len(chunks), 1, len(chunks))
        return numbers.mapInArrow(_running(chunks), _DECLARED).toArrow().to_pylist()

    def _standing(self, left_s: float | None = None) -> Standing:
        rows = [self._results.rows[key] for key in self._keys if key in self._results.rows]
        broken = sum(row["status"] == BROKEN for row in rows)
        return Standing(len(rows), len(self._keys), broken, left_s)


def _running(chunks: Sequence[Sequence[Key]]) -> Callable[[Columns], Columns]:
    """The function for `mapInArrow`: its input are numbers of chunks, its output one row for each seed."""
    version, rule = ENGINE_VERSION, rule_of_swarm()

    def run(inputs: Columns) -> Columns:
        check_version(version)
        for numbers in inputs:
            for number in numbers.column(0).to_pylist():
                rows = [swarm_run(family, seed, rule).as_row() for family, seed in chunks[number]]
                for row in rows:
                    row["scenario"] = row["scenario"] if row["status"] == BROKEN else None
                yield pa.RecordBatch.from_pylist(rows, COLUMNS)

    return run


def _guarded(watch: Watch, work: Callable[[], Any]) -> Any:
    """The result of work in Spark. Raises Cancelled, or SweepFailed for whatever else happens."""
    try:
        return watch.run_one(work)
    except Cancelled:
        raise
    except Exception as error:
        raise explained(error) from error
