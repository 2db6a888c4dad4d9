"""The protocol's part of reports: how often each server redelivered a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.html.sections import article, section, table
from spark_reports.protocols.manifest import Heading, Manifest, PageParts
from spark_reports.read import TraceInput, scenarios_of, trace_rows
from spark_reports.runs import run_of
from tests.third_protocol.declared import NAME

FIGURES = ("delivered", "duplicates")


class ServerPart:
    """`job` is the report being made, `inputs` those of its traces that are of this protocol."""

    runs: list[dict[str, Any]]

    def __init__(self, job: Any, inputs: list[TraceInput]) -> None:
        self.job, self.inputs = job, inputs

    def steps(self) -> list[tuple[str, Callable[[], None]]]:
        return [("judging the deliveries of the servers", self._judge), ("counting them", self._count)]

    def _judge(self) -> None:
        self.job.cut_for(self.inputs)
        rows = trace_rows(self.job.spark, self.inputs)
        of_message = Window.partitionBy("run", "cluster", "entry").orderBy("seq")
        verdict = F.when(F.row_number().over(of_message) == 1, "first").otherwise("duplicate")
        delivered = rows.filter(F.col("type") == "message.delivered")
        self.judged = delivered.withColumn("verdict", verdict).cache()

    def _count(self) -> None:
        counts = self.judged.groupBy("run", "cluster").agg(
            F.count("*").alias("delivered"),
            F.sum((F.col("verdict") == "duplicate").cast("long")).alias("duplicates"),
        )
        found = {(row.run, row.cluster): row for row in counts.collect()}
        self.delivered = sum(row.delivered for row in found.values())
        self.runs = []
        for entry, scenario in zip(self.inputs, scenarios_of(self.inputs), strict=True):
            counted = {name: found.get((entry.run, name)) for name in sorted(scenario.servers)}
            servers = [
                {"name": name, **{figure: row[figure] if row else 0 for figure in FIGURES}}
                for name, row in counted.items()
            ]
            self.runs.append({**run_of(entry, scenario), "servers": servers})

    def deliveries(self) -> tuple[DataFrame, int]:
        return self.judged, self.delivered

    def release(self) -> None:
        self.judged.unpersist()


def _articles(runs: list[dict[str, Any]], alone: bool) -> list[Markup]:
    rows = [
        [run["title"], one["name"], *(str(one[name]) for name in FIGURES)]
        for run in runs
        for one in run["servers"]
    ]
    counted = table(("run", "server", *FIGURES), rows, words=2)
    return [article([section("Every server", "Deliveries, and those of a message again.", counted)], alone)]


MANIFEST = Manifest(
    name=NAME,
    part=ServerPart,
    subjects=lambda run: run["servers"],
    page=PageParts(
        heading=lambda runs, alone: Heading(runs[0]["title"], "Report") if alone else None,
        overview=lambda runs, alone: [],
        articles=_articles,
        figures=lambda runs: [],
        definitions=(("duplicate", "A delivery of a message that the server had delivered before."),),
    ),
    csv_columns=("run", "name", *FIGURES),
    csv_lines=lambda run: [{"run": run["run"], **one} for one in run["servers"]],
    result_lines=lambda run: [f"{one['name']}: {one['duplicates']} duplicates" for one in run["servers"]],
)
