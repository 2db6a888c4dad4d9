"""The counting of durable shared subscriptions in Spark, by the definitions of docs/counting.md.

Frames are computed in order, figures are plain values. Rules: this code is independent of
`simulator.protocols.emqx.verdicts`, and a test compares every figure of both. Frames of the control plane
(one row per stream, lease or handover) are made local once, so that later plans are short. Frames of one row
per message stay in Spark.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_reports.local import from_rows
from spark_reports.protocols.emqx.schemas import GROUPS, QUALITIES, SESSIONS
from spark_reports.protocols.emqx.transforms import causes, deliveries, leases
from spark_reports.read import control_rows
from spark_reports.steps import Steps

OF_CLIENTS = ("sessions", "leader_changes")
OF_STREAMS = ("unowned_us", "handovers", "two_readers", "two_readers_us")
OF_MESSAGES = ("published", "delivered", "acknowledged", "lost", "lost_qos0", "waiting")
OF_VERDICTS = ("duplicates", "redeliveries", "messages_twice")

PENDING = "pending_repeats"


class GroupCounting(Steps):
    """One counting over the rows of any number of runs; `scenarios` by run.

    Call the steps in the order in which they are defined.
    """

    def __init__(self, spark: SparkSession, rows: DataFrame, scenarios: dict[int, Any]) -> None:
        super().__init__(spark)
        self.rows, self.scenarios = rows, scenarios

    # --- steps

    def find_streams(self) -> None:
        """Find groups, their streams, and the readers of each stream over time."""
        self.control = self.keep(control_rows(self.rows))
        declared = self.local(leases.declared(self.control))
        self.filters = {(row.run, row.group): filter_of(row.asked) for row in declared.collect()}
        self.groups = from_rows(
            self.spark,
            [(*key, wanted, leases.topic_pattern(wanted)) for key, wanted in self.filters.items()],
            GROUPS,
        )
        self.streams = self.local(leases.streams(self.control, self.groups, declared))
        run_ends = self.rows.groupBy("run").agg(F.max("at_us").alias("run_end_us"))
        self.shared = self.local(leases.shared(self.control, self.streams, run_ends))
        self.leases = self.local(leases.leases(self.control))
        self.spans = self.local(leases.spans(self.leases, self.shared))
        self.idle = self.local(leases.idle(self.shared, self.spans))
        self.handovers = self.local(leases.handovers(self.leases, self.shared))
        self.overlaps = self.local(leases.overlaps(self.spans))
        self.stream_figures = leases.stream_figures(
            self.shared, self.idle, self.handovers, self.overlaps
        ).collect()
        self.percentiles = leases.percentiles(self.handovers).collect()
        self.clients_of_groups = leases.clients_of_groups(self.control).collect()

    def judge_deliveries(self) -> None:
        """Classify every delivery, and count what happened to every message."""
        histories = self.keep(deliveries.histories(self.rows, self.streams))
        qualities = [
            (run, name, spec.qos)
            for run, scenario in self.scenarios.items()
            for name, spec in scenario.publishers.items()
        ]
        self.judged = self.keep(deliveries.judged(histories))
        light = [
            (run, name)
            for run, scenario in self.scenarios.items()
            for name, spec in scenario.sessions.items()
            if spec.qos == 0
        ]
        lightly = self.local(deliveries.taken_lightly(self.control, from_rows(self.spark, light, SESSIONS)))
        self.message_figures = deliveries.message_figures(
            histories, self.shared, from_rows(self.spark, qualities, QUALITIES), lightly
        ).collect()
        self.verdict_figures = deliveries.verdict_figures(self.judged).collect()
        reading = self.local(leases.reading(self.leases))
        self.pending_figures = deliveries.pending_repeats(self.judged, self.shared, reading).collect()
        self.reordered = self.keep(deliveries.reordered(self.judged, self.rows))
        self.reordered_figures = (
            self.reordered.groupBy(*leases.GROUP).agg(F.count("*").alias("reordered")).collect()
        )

    def find_causes(self) -> None:
        """Assign a cause to every duplicate."""
        duplicates = self.keep(causes.duplicates(self.judged, self.control, self.leases))
        known = self.keep(causes.known(self.control, self.local(causes.deciding(duplicates))))
        furthest, rewinds = self.local(causes.furthest(known)), self.local(causes.rewinds(known))
        self.explained = self.keep(
            causes.explained(duplicates, furthest, causes.after_acknowledgement(duplicates, known), rewinds)
        )
        self.cause_figures = causes.cause_figures(self.explained).collect()

    # --- figures

    def figures(self) -> dict[int, dict[str, dict[str, Any]]]:
        """The figures by run and group, under the names of `simulate --json`, and `messages_twice`."""
        shown: dict[tuple[int, str], dict[str, Any]] = {
            key: {
                "streams": 0,
                **dict.fromkeys(
                    (*OF_CLIENTS, *OF_MESSAGES, *OF_VERDICTS, *OF_STREAMS, "reordered", PENDING), 0
                ),
                "by_cause": dict.fromkeys(causes.CAUSES, 0),
                "handover_us": dict.fromkeys(("p50", "p95", "max")),
            }
            for key in sorted(self.filters)
        }
        for rows, names in (
            (self.clients_of_groups, OF_CLIENTS),
            (self.message_figures, OF_MESSAGES),
            (self.verdict_figures, OF_VERDICTS),
            (self.reordered_figures, ("reordered",)),
            (self.pending_figures, (PENDING,)),
        ):
            for row in rows:
                if (row.run, row.group) in shown:
                    shown[row.run, row.group].update({name: row[name] for name in names})
        for row in self.stream_figures:
            one = shown[row.run, row.group]
            one["streams"] += 1
            for name in OF_STREAMS:
                one[name] += row[name]
        for row in self.percentiles:
            shown[row.run, row.group]["handover_us"] = {name: row[name] for name in ("p50", "p95", "max")}
        for row in self.cause_figures:
            shown[row.run, row.group]["by_cause"][row.cause] = row.duplicates
        found: dict[int, dict[str, dict[str, Any]]] = {}
        for (run, name), figures in shown.items():
            found.setdefault(run, {})[name] = figures
        return found


def filter_of(asked: str) -> str:
    """The topic filter in the name that a client subscribes to, `$share/GROUP/FILTER` or `$queue/FILTER`."""
    return asked.split("/", 1)[1] if asked.startswith("$queue/") else asked.split("/", 2)[2]
