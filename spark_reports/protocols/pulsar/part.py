"""The part of a report about failovers: runs of brokers in regions, counted from their traces.

Rules: a part has named steps, in order. After them it has `runs`, the values of each run, and its classified
deliveries.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports import what_if
from spark_reports.local import from_rows
from spark_reports.progress import Lanes, Step
from spark_reports.protocols.pulsar import (
    assemble,
    comparison,
    creation,
    latency,
    migration,
    shadows,
    timelines,
)
from spark_reports.protocols.pulsar.counting import Counting
from spark_reports.protocols.pulsar.downloads import delivery_table
from spark_reports.protocols.pulsar.scans import consumers
from spark_reports.protocols.pulsar.schemas import FAILOVERS, MESSAGES, ROWS
from spark_reports.protocols.pulsar.transforms import deliveries, protocol
from spark_reports.read import TraceInput, scenarios_of, trace_rows
from spark_reports.scans.tasks import Scans
from spark_reports.transforms import FAILOVER

SNAPSHOTS_SHOWN = 12


class FailoverPart:
    """The part of one report. `job` is the report, `inputs` are its traces of this protocol."""

    def __init__(self, job: Any, inputs: list[TraceInput]) -> None:
        self.job, self.spark, self.inputs = job, job.spark, inputs
        self._counting: Counting | None = None
        self.own = [entry.run for entry in inputs]
        self.scenarios = scenarios_of(inputs)
        self.compares = comparison.wanted(inputs, self.scenarios, job.compare)

    @property
    def counting(self) -> Counting:
        """The counting, once the traces are read."""
        assert self._counting is not None, "the traces are read first"
        return self._counting

    def steps(self) -> list[Step | Lanes]:
        """The names and functions of the steps, without those that have nothing to do."""
        judge: Step = ("judging every message", lambda: self.counting.judge_messages())
        run_changed: list[Step] = [("running it with one change at a time", self._run_changed)]
        compare: list[Step] = [("comparing the runs with one change", self._compare)]
        run_strategies: list[Step] = [("running the scenario under each strategy", self._run_strategies)]
        return [
            *(run_strategies if self.compares else []),
            ("reading the traces", self._read),
            ("finding the failovers", lambda: self.counting.find_failovers()),
            [[judge], run_changed] if self.job.changed else judge,
            ("counting by subscription and consumer", self._count_clients),
            [
                [
                    ("drawing the charts", self._draw),
                    ("following single messages", self._follow_messages),
                ],
                [("counting snapshots and markers", self._look_at_protocol)],
            ],
            *(compare if self.job.changed else []),
        ]

    def release(self) -> None:
        """Free the kept frames."""
        if self._counting is not None:
            self._counting.release()

    def deliveries(self) -> tuple[DataFrame, int]:
        """The classified deliveries and their number."""
        counting = self.counting
        table = delivery_table(counting.deliveries(self.own), counting.explained, counting.reordered)
        return table, sum(
            counts["delivered"]
            for run in self.own
            for clusters in counting.figures[run]["subscriptions"].values()
            for counts in clusters.values()
        )

    def _run_strategies(self) -> None:
        """Add the traces of the run under each strategy, which are counted together with the report's own."""
        self.inputs += comparison.write_traces(
            self.inputs[0], self.job.out / comparison.FOLDER, self.job.go_on
        )
        self.scenarios = scenarios_of(self.inputs)

    def _read(self) -> None:
        self.job.cut_for(self.inputs)
        self.by_run = {
            entry.run: scenario for entry, scenario in zip(self.inputs, self.scenarios, strict=True)
        }
        self.every_row = trace_rows(self.spark, self.inputs)
        self.rows = latency.without_audiences(self.every_row, self.by_run)
        scans = Scans(self.spark, self.inputs, latency.audiences_of(self.by_run))
        self._counting = Counting(self.spark, self.inputs, self.by_run, scans)

    def _count_clients(self) -> None:
        counting = self.counting
        counting.count_entries()
        all_runs = assemble.runs_of(self.inputs, self.scenarios, counting)
        self.runs, self.strategies = (
            [run for run in all_runs if (run["run"] in self.own) == own] for own in (True, False)
        )
        self._choose_shown()
        found: dict[str, list[Any]] = {}

        def count_consumers() -> None:
            found["consumers"] = self._consumers().collect()

        def find_keys() -> None:
            with counting.quick(counting.explained, counting.reordered):
                found["keys"] = deliveries.worst_keys(
                    counting.explained.join(self.shown_failover_rows, list(FAILOVER), "leftsemi"),
                    counting.reordered,
                    assemble.KEYS_MOST,
                ).collect()

        counting.side_by_side(count_consumers, find_keys)
        assemble.add_clients(self.shown_failovers, found["consumers"], found["keys"])
        for run in all_runs:
            for failover in run["failovers"]:
                # the next steps write at the same time; the order in report.json is always this one
                failover.update(snapshots=[], snapshot_totals=None)

    def _consumers(self) -> DataFrame:
        """The consumers at the source of each failover that is described in full."""
        counting = self.counting
        sources = [
            consumers.Source(run["run"], failover["failover_seq"], failover["subscription"], failover["from"])
            for run, failover in self.shown_failovers
        ]
        scans = counting.scans.of({source.run for source in sources})
        figures = counting.local(scans.frame(consumers.SCAN, sources=sources))
        near = counting.near(self.shown_rows, counting.explained, "sequence_id")
        twice = counting.local(
            deliveries.acknowledged_twice(near, counting.explained, self.shown_failover_rows)
        )
        with counting.quick():
            return counting.local(deliveries.consumer_counts(figures, twice))

    def _choose_shown(self) -> None:
        """Choose the failovers described in full, and the rows of their runs.

        Figures that only these failovers show are counted from those rows alone.
        """
        self.shown_failovers = [(run, failover) for run in self.runs for failover in run["failovers"]][
            : assemble.DETAILED_MOST
        ]
        numbers = {run["run"] for run, _ in self.shown_failovers}
        of_shown = [entry for entry in self.inputs if entry.run in numbers]
        self.shown_rows = (
            latency.without_audiences(trace_rows(self.spark, of_shown), self.by_run)
            if 0 < len(of_shown) < len(self.inputs)
            else self.rows
        )
        keys = from_rows(
            self.spark,
            [(run["run"], failover["failover_seq"]) for run, failover in self.shown_failovers],
            FAILOVERS,
        )
        with self.counting.quick():
            self.shown_failover_rows = self.counting.local(
                self.counting.failovers.join(keys, list(FAILOVER), "leftsemi")
            )

    def _look_at_protocol(self) -> None:
        control = self.counting.control
        with self.counting.quick(control):
            snapshots = self.counting.local(protocol.snapshots(control))
            totals = protocol.snapshot_totals(snapshots, control).collect()
            before = protocol.snapshots_before(
                snapshots, control, self.shown_failover_rows, SNAPSHOTS_SHOWN
            ).collect()
        assemble.add_protocol(
            [*self.runs, *self.strategies],
            totals,
            before,
            protocol.marker_costs(self.counting.tallies).collect(),
        )
        if self.strategies:
            requests = {
                row.run: {"entries": row.entries, "bytes": row.size_bytes}
                for row in protocol.request_costs(control).collect()
            }
            self.runs[0]["comparison"] = comparison.compared(self.strategies, requests)

        control, rows = self._of_own_runs(control), self._of_own_runs(self.rows)
        creation.add_creation(self.spark, self.runs, control, rows)
        shadows.add_shadows(self.spark, self.runs, control, rows)
        migration.add_migrations(self.spark, self.runs, self.by_run, control, rows)
        latency.add_latency(self.runs, self.by_run, self._of_own_runs(self.every_row))

    def _of_own_runs(self, frame: DataFrame) -> DataFrame:
        """The frame without the runs that were counted for the comparison only."""
        return frame.filter(F.col("run").isin(self.own)) if self.strategies else frame

    def _draw(self) -> None:
        timelines.add_series(self.spark, self.counting, self.runs, self.shown_failovers)

    def _follow_messages(self) -> None:
        messages, seqs = assemble.chosen_messages(self.shown_failovers)
        near = (
            F.col("sequence_id").isin([number for _, _, number in messages]),
            F.col("seq").isin([seq for _, seq in seqs]),
        )
        rows = protocol.stories(
            self.shown_rows,
            from_rows(self.spark, messages, MESSAGES),
            from_rows(self.spark, seqs, ROWS),
            *near,
        ).collect()
        assemble.add_stories(self.shown_failovers, rows)

    def _run_changed(self) -> None:
        """Run those runs again whose failovers are described in full."""
        by_run = {entry.run: entry.meta for entry in self.inputs}
        failovers = Counter(row.run for row in self.counting.failover_rows)
        numbers = [run for run in self.own for _ in range(failovers[run])][: assemble.DETAILED_MOST]
        self.changed = {run: what_if.compare(by_run[run], self.job.go_on) for run in dict.fromkeys(numbers)}

    def _compare(self) -> None:
        for run in self.runs:
            if run["run"] in self.changed:
                run["what_if"], as_it_was = self.changed[run["run"]]
                for failover, counted in zip(run["failovers"], as_it_was, strict=False):
                    failover["forecast"] = counted["forecast"]
