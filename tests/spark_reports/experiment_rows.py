"""Experiments with made-up figures: the table that a sweep would write, without running anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from simulator.experiments import Experiment, batches, read_experiment_text

PERIOD = "settings.replicatedSubscriptionsSnapshotFrequencyMillis"
CACHE = "settings.replicatedSubscriptionsSnapshotMaxCachedPerSubscription"

Value = Callable[[dict[str, str], int, int], int | None]
"""The duplicates of a run, from its setting, its seed and the number of its phase."""


def experiment_of(text: str) -> Experiment:
    """An experiment over region-down, from the keys that differ."""
    return read_experiment_text(f"format: 1\nname: try\nscenario: region-down\n{text}")


def rows_of(experiment: Experiment, duplicates: Value, **more: Value) -> Iterator[dict[str, Any]]:
    """The rows of finished runs; every measure without a value of its own is 0."""
    scenarios = [experiment.scenario_at(point) for point in experiment.points]
    for batch in batches(experiment):
        scenario = scenarios[batch.point.number]
        offsets_us = experiment.offsets_us(scenario, batch.point, batch.seed)
        for phase, offset_us in enumerate(offsets_us):
            row = {
                "run": batch.first_run + phase,
                "point": batch.point.number,
                "seed": batch.seed,
                "phase_us": offset_us,
                "status": "finished",
                "reason": None,
                "rows": 100,
            }
            measures = dict.fromkeys((one.name for one in experiment.measures), 0)
            for name, value in {"duplicates": duplicates, **more}.items():
                target = row if name == "rows" else measures
                target[name] = value(batch.point.values, batch.seed, phase)
            yield {**row, **measures, **batch.point.values}


def table_of(experiment: Experiment, duplicates: Value, **more: Value) -> pa.Table:
    """The same as a table."""
    return table_of_rows(experiment, list(rows_of(experiment, duplicates, **more)))


def table_of_rows(experiment: Experiment, rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table with the columns of a sweep."""
    whole = ["run", "point", "seed", "phase_us", "rows", *(one.name for one in experiment.measures)]
    texts = ["status", "reason", *(axis.path for axis in experiment.axes)]
    schema = pa.schema([(name, pa.int64()) for name in whole] + [(name, pa.string()) for name in texts])
    return pa.Table.from_pylist(rows, schema=schema)


def failed(row: dict[str, Any], reason: str, measures: list[str]) -> dict[str, Any]:
    """The row of a run that failed instead."""
    return {**row, "status": "failed", "reason": reason, "rows": 0, **dict.fromkeys(measures)}
