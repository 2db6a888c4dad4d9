"""The part of a report about durable shared subscriptions: groups, counted from their traces.

`spark_reports.protocols.manifest` defines what a part is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from spark_reports import what_if
from spark_reports.protocols.emqx import groups
from spark_reports.protocols.emqx.counting import GroupCounting
from spark_reports.read import TraceInput, scenarios_of, trace_rows
from spark_reports.runs import run_of


class GroupPart:
    """The part of one report. `job` is the report, `inputs` are its traces of this protocol."""

    def __init__(self, job: Any, inputs: list[TraceInput]) -> None:
        self.job, self.spark, self.inputs = job, job.spark, inputs
        self._counting: GroupCounting | None = None

    @property
    def counting(self) -> GroupCounting:
        """The counting, once the traces are read."""
        assert self._counting is not None, "the traces are read first"
        return self._counting

    def steps(self) -> list[tuple[str, Callable[[], None]]]:
        """The names and functions of the steps, without those that have nothing to do."""
        compare = [("running the groups with one change at a time", self._compare)]
        return [
            ("reading the traces of groups", self._read),
            ("judging every delivery of the groups", lambda: self.counting.judge_deliveries()),
            ("drawing the leases", self._draw),
            (
                "following single messages of the groups",
                lambda: groups.add_stories(self.spark, self.shown_groups, self.counting.rows),
            ),
            *(compare if self.job.changed else []),
        ]

    def release(self) -> None:
        """Free the kept frames."""
        if self._counting is not None:
            self._counting.release()

    def deliveries(self) -> tuple[DataFrame, int]:
        """The classified deliveries and their number; the evidence is the leader's decision."""
        counting = self.counting
        groups = (group for of_run in counting.groups.values() for group in of_run.values())
        table = counting.judged.withColumnRenamed("decided_seq", "evidence_seq")
        return table, sum(group.delivered for group in groups)

    def _read(self) -> None:
        self.job.cut_for(self.inputs)
        self.scenarios = scenarios_of(self.inputs)
        by_run = {entry.run: scenario for entry, scenario in zip(self.inputs, self.scenarios, strict=True)}
        rows = trace_rows(self.spark, self.inputs)
        self._counting = GroupCounting(self.spark, self.inputs, by_run, rows)

    def _draw(self) -> None:
        self.runs = [
            run_of(entry, scenario) for entry, scenario in zip(self.inputs, self.scenarios, strict=True)
        ]
        self.shown_groups = groups.add_groups(self.runs, self.counting)
        groups.add_readers(self.shown_groups, self.counting)

    def _compare(self) -> None:
        by_run = {entry.run: entry.meta for entry in self.inputs}
        for run in {run["run"]: run for run, _group in self.shown_groups}.values():
            run["what_if"], _as_it_was = what_if.compare(by_run[run["run"]], self.job.go_on)
