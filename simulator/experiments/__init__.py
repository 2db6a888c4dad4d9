"""Experiments: one scenario run many times, over a grid of settings, seeds and phases of its faults.

docs/experiments.md describes the file format. `spark_reports.experiments` runs an experiment on Spark.
"""

from simulator.experiments.cost import (
    Cost,
    all_measures,
    assumed,
    cost_of,
    late_measures,
    load_of,
    measures_of,
    messages_of,
    period_says,
    reduced,
)
from simulator.experiments.experiment import (
    RUNS_MAX,
    Axis,
    Experiment,
    Point,
    Wanted,
    first_fault,
    first_fault_us,
    happening,
)
from simulator.experiments.file import FORMAT, read_experiment, read_experiment_text
from simulator.experiments.runs import (
    FAILED,
    FINISHED,
    Batch,
    batches,
    checked_counts,
    checked_rows,
    expected,
    has_phases,
    made_again,
    replayed,
    run_batch,
)
from simulator.experiments.swarm import BROKEN, SwarmRun, swarm_families, swarm_run
from simulator.system.measured import Load, Measure

__all__ = [
    "BROKEN",
    "FAILED",
    "FINISHED",
    "FORMAT",
    "RUNS_MAX",
    "Axis",
    "Batch",
    "Cost",
    "Experiment",
    "Load",
    "Measure",
    "Point",
    "SwarmRun",
    "Wanted",
    "all_measures",
    "assumed",
    "batches",
    "checked_counts",
    "checked_rows",
    "cost_of",
    "expected",
    "first_fault",
    "first_fault_us",
    "happening",
    "has_phases",
    "late_measures",
    "load_of",
    "made_again",
    "measures_of",
    "messages_of",
    "period_says",
    "read_experiment",
    "read_experiment_text",
    "reduced",
    "replayed",
    "run_batch",
    "swarm_families",
    "swarm_run",
]
