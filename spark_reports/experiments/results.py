"""The rows of a sweep as columns: their schema, made from what the scenario's protocol measures.

Rules: integers are 64 bits and names are strings. A part file has the columns of `columns_of`, and
`runs.parquet` the values of the run's point as well, one column for each path of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from simulator.experiments import Experiment

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
