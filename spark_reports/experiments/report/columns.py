"""The runs of each point as columns, from the table with one row per run.

Rules: runs are in the order of their numbers. A measure is known only in a finished run that has a value of
it: a finished run without one never reached what is measured, and counts as above every number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from simulator.experiments import Experiment

FINISHED = "finished"
NEEDED = ("run", "point", "seed", "phase_us", "status", "reason", "rows")

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Values:
    """A measure of several runs: its numbers, and which are known."""

    numbers: Whole
    known: Flags


@dataclass(frozen=True)
class PointRuns:
    """The runs of a point that are in the table."""

    number: int
    runs: Whole
    seeds: Whole
    phases_us: Whole
    finished: Flags
    trace_rows: Whole
    measures: dict[str, Values]

    def ordered(self, name: str) -> tuple[Whole, int]:
        """The known numbers of a measure in ascending order, and how many finished runs have none."""
        values = self.measures[name]
        return np.sort(values.numbers[values.known]), int((self.finished & ~values.known).sum())


def runs_by_point(experiment: Experiment, table: pa.Table, names: Sequence[str]) -> list[PointRuns]:
    """The runs of every point, also of points without any. Raises ValueError for another table."""
    missing = [name for name in (*NEEDED, *names) if name not in table.column_names]
    if missing:
        raise ValueError(f"the table of runs has no column {', '.join(missing)}; write one row per run")
    table = table.select([*NEEDED, *names]).sort_by("run")
    runs = _whole(table["run"]).numbers
    if len(runs) and ((runs[1:] == runs[:-1]).any() or runs[0] < 0 or runs[-1] >= experiment.runs):
        raise ValueError(f"the table of runs has a run twice, or one outside 0 to {experiment.runs - 1}")
    points = _whole(table["point"]).numbers
    columns = {name: _whole(table[name]) for name in ("seed", "phase_us", "rows", *names)}
    finished = np.asarray(pc.equal(table["status"], FINISHED).to_numpy(), dtype=np.bool_)
    order = np.argsort(points, kind="stable")
    ends = np.searchsorted(points[order], np.arange(len(experiment.points) + 1))
    found = []
    for point in experiment.points:
        own = order[ends[point.number] : ends[point.number + 1]]
        measures = {
            name: Values(columns[name].numbers[own], columns[name].known[own] & finished[own])
            for name in names
        }
        found.append(
            PointRuns(
                point.number,
                runs[own],
                columns["seed"].numbers[own],
                columns["phase_us"].numbers[own],
                finished[own],
                columns["rows"].numbers[own],
                measures,
            )
        )
    return found


def _whole(column: pa.ChunkedArray) -> Values:
    """A column of whole numbers; 0 stands for those that are null."""
    known = np.asarray(pc.is_valid(column).to_numpy(), dtype=np.bool_)
    whole = pc.fill_null(column.cast(pa.int64()), 0)
    return Values(np.asarray(whole.to_numpy(), dtype=np.int64), known)
