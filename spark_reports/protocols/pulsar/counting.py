"""The counting of failovers in Spark: tasks judge shares of runs, frames combine what they say.

Rules: the verdicts are the simulator's own (`simulator.protocols.pulsar.verdicts`). Frames of one row per
message stay in Spark and are kept on disk when memory is short.
"""

from __future__ import annotations

import pickle
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import simulator.protocols.pulsar.verdicts.shares as shares
from spark_reports import tuning
from spark_reports.protocols.pulsar.scans import judging, tallies
from spark_reports.protocols.pulsar.transforms import deliveries, protocol
from spark_reports.read import TraceInput
from spark_reports.scans import control
from spark_reports.scans.tasks import Scans
from spark_reports.steps import Steps
from spark_reports.transforms import FAILOVER


class Counting(Steps):
    """One counting of any number of runs, whose `scenarios` are by run.

    Call the steps in the order in which they are defined. `figures` has those of each run, under the names of
    `simulate --json`.
    """

    def __init__(
        self, spark: SparkSession, inputs: list[TraceInput], scenarios: dict[int, Any], scans: Scans
    ) -> None:
        super().__init__(spark)
        self.scans = scans
        self.inputs = judging.Inputs({entry.run: entry.meta["rows"] for entry in inputs}, scenarios)
        self.figures: dict[int, dict[str, Any]] = {}

    def find_failovers(self) -> None:
        """Find the failovers' windows, and the mark-deletes over time."""
        self.control = self.settle(self.scans.frame(control.SCAN), quick_most=tuning.QUICK_ROWS_MOST)
        self.marks = protocol.marks(self.control)
        with self.quick(self.control):
            self.failovers = self.local(protocol.failovers(self.control))
            self.failover_rows = self.failovers.collect()

    def judge_messages(self) -> None:
        """Judge every message, and add up the counts of the shares."""
        every = tuning.one_task(self.spark)
        inputs = self.inputs._replace(wholes=self._wholes())
        judged = self.keep(self.scans.frame(judging.JUDGE, inputs=inputs, every=every))
        counts: dict[int, list[Any]] = {}
        for row in judged.filter(F.col("counts").isNotNull()).select("run", "counts").collect():
            counts.setdefault(row.run, []).append(pickle.loads(row["counts"]))
        self.figures = {run: shares.figures_of(counts[run]) for run in sorted(counts)}
        failovers = {
            (run, one["failover_seq"]): one
            for run, figures in self.figures.items()
            for one in figures["failovers"]
        }
        for row in self.failover_rows:
            failovers[row.run, row.failover_seq]["end_us"] = row.end_us
        self.judged = self.settle(judged.filter(F.col("counts").isNull()).drop("counts"))
        self.every = self.judged if every else None
        with self.quick(self.judged):
            self.explained = self.settle(self.judged.filter(F.col("verdict") == "duplicate"))
            self.reordered = self.settle(deliveries.reordered(self.judged))
            for row in self.reordered.groupBy(*FAILOVER).count().collect():
                failovers[row.run, row.failover_seq]["reordered"] = row["count"]
            self.cause_figures = deliveries.cause_counts(self.explained).collect()
            self.origin_figures = deliveries.origin_counts(self.explained).collect()

    def _wholes(self) -> dict[int, shares.Whole]:
        """What no share shows of the runs that have several shares and a failover."""
        runs = {row.run for row in self.failover_rows} & {
            run for run, _, number, _ in self.scans.shares if number
        }
        if not runs:
            return {}
        surveys: dict[int, list[Any]] = {}
        for row in self.scans.of(runs).rows(judging.SURVEY, inputs=self.inputs):
            surveys.setdefault(row.run, []).append(pickle.loads(row.survey))
        wholes = {}
        for run in sorted(runs):
            rows = self.control.filter(F.col("run") == run).toArrow().select(judging.WANTED.schema.names)
            batches = rows.cast(judging.WANTED.schema).to_batches()
            wholes[run] = shares.whole_of(self.inputs.facts(run, batches), surveys[run])
        return wholes

    def deliveries(self, runs: list[int]) -> DataFrame:
        """All deliveries of some runs with their verdicts."""
        if self.every is not None:
            return self.every.filter(F.col("run").isin(runs))
        return self.scans.of(runs).frame(judging.DELIVERIES, inputs=self.inputs).drop("counts")

    def count_entries(self) -> None:
        """Count the entries of logs and markers."""
        self.tallies = self.local(self.scans.frame(tallies.SCAN))
