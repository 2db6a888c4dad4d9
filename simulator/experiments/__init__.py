"""Experiments: one scenario run many times, over a grid of settings, seeds and phases of its faults.

docs/experiments.md describes the file format. `spark_reports.experiments` runs an experiment on Spark.
"""

from simulator.experiments.experiment import Axis, Experiment, Point, Wanted
from simulator.experiments.file import FORMAT, RUNS_MAX, read_experiment, read_experiment_text
from simulator.experiments.runs import Batch, batches, replayed, run_batch

__all__ = [
    "FORMAT",
    "RUNS_MAX",
    "Axis",
    "Batch",
    "Experiment",
    "Point",
    "Wanted",
    "batches",
    "read_experiment",
    "read_experiment_text",
    "replayed",
    "run_batch",
]
