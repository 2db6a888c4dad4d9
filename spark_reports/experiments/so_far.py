"""The figures of an experiment's runs so far, for the page that shows them as they arrive.

Rules: they are small enough for a row that is read again and again. Quantiles are those of the report,
nearest ranks, where a run that never reached what is measured is above every number. Of equal runs the
first is the example.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from simulator.experiments import FAILED, FINISHED, Experiment
from spark_reports.experiments.report.figures import nearest_rank

P95 = 0.95
FAILED_SHOWN = 5
"""Failed runs that are listed with their reasons."""


def main_measure(experiment: Experiment) -> str:
    """The measure that is drawn: the wanted one, else the protocol's first."""
    return experiment.wanted.measure if experiment.wanted is not None else experiment.measures[0].name


def results_so_far(experiment: Experiment, table: pa.Table) -> dict[str, Any]:
    """The figures of each point that has runs, as JSON."""
    main = main_measure(experiment)
    wanted = experiment.wanted
    points = table["point"].to_numpy()
    found = [
        {
            "number": point.number,
            "values": list(point.values.values()),
            **_of_point(experiment, table.filter(pa.array(points == point.number)), main),
        }
        for point in experiment.points
    ]
    failed = table.filter(pa.compute.equal(table["status"], FAILED)).slice(0, FAILED_SHOWN)
    return {
        "runs": table.num_rows,
        "measure": main,
        "measures": [one.described() for one in experiment.measures],
        "axes": [axis.path for axis in experiment.axes],
        "at_most": None if wanted is None else wanted.at_most,
        "share": None if wanted is None else wanted.share_millionths / 1_000_000,
        "points": found,
        "failed": [
            {name: row[name] for name in ("run", "point", "seed", "reason")} for row in failed.to_pylist()
        ],
    }


def _of_point(experiment: Experiment, rows: pa.Table, main: str) -> dict[str, Any]:
    """The runs of one point: how many, the figures of each measure, and the runs to open."""
    done = rows.filter(pa.compute.equal(rows["status"], FINISHED))
    total = done.num_rows
    values = done[main].to_pylist()
    known = [value for value in values if value is not None]
    distinct, counts = np.unique(np.array(known, np.int64), return_counts=True)
    figures = {one.name: _figures(done[one.name].to_pylist()) for one in experiment.measures}
    median, largest = figures[main]["median"], figures[main]["largest"]
    runs = done["run"].to_pylist()
    wanted = experiment.wanted
    return {
        "finished": total,
        "failed": rows.num_rows - total,
        "never": total - len(known),
        "dots": [[int(value), int(count)] for value, count in zip(distinct, counts)],
        "figures": figures,
        "within": None if wanted is None else sum(value <= wanted.at_most for value in known),
        "median_run": runs[values.index(median)] if total else None,
        "worst_run": runs[values.index(largest)] if total else None,
    }


def _figures(values: list[int | None]) -> dict[str, int | None]:
    """Median, 95th percentile and largest of a measure; none of them where a run without a value is meant."""
    known = np.sort(np.array([value for value in values if value is not None], np.int64))
    if not values:
        return {"median": None, "p95": None, "largest": None}
    return {
        "median": nearest_rank(known, len(values), 0.5),
        "p95": nearest_rank(known, len(values), P95),
        "largest": int(known[-1]) if len(known) == len(values) else None,
    }
