"""What an executor runs: batches of an experiment in, rows of figures out.

Rules: a task gets its batches with the function, and its input row is only their number. Equal batches give
equal rows, so that Spark may run a task again on another executor. The executor's engine must be the
driver's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from simulator import ENGINE_VERSION
from simulator.experiments import Batch, Experiment, run_batch
from spark_reports.experiments.store import record_batch

Columns = Iterator[pa.RecordBatch]


class EngineDiffers(RuntimeError):
    """The executor has another version of the simulator than the driver."""


def running(
    experiment: Experiment, chunks: Sequence[Sequence[Batch]], schema: pa.Schema
) -> Callable[[Columns], Columns]:
    """The function for `mapInArrow`: its input are numbers of chunks, its output the rows of their runs."""
    version = ENGINE_VERSION

    def run(inputs: Columns) -> Columns:
        check_version(version)
        for numbers in inputs:
            for number in numbers.column(0).to_pylist():
                for batch in chunks[number]:
                    yield record_batch(list(run_batch(experiment, batch)), schema)

    return run


def check_version(of_driver: str) -> None:
    """Raise EngineDiffers unless the engine here is the driver's."""
    if of_driver != ENGINE_VERSION:
        raise EngineDiffers(
            f"the executor has version {ENGINE_VERSION} of the simulator and the driver {of_driver}"
        )
