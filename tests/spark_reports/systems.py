"""One report over runs of every system that has a part of its own in it.

Tenants' migrations, topic creation, shadow topics, declared brokers, groups.

Rules: the job runs once for all files that test its parts, since Spark costs by the job and not by the run.
`page` renders the runs that one file tests, so that what it counts there does not depend on the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simulator import World
from spark_reports.html.page import page
from spark_reports.jobs.failover import FailoverReport
from tests.spark_reports.conftest import run_scenario, write_run

WITHOUT = "two-regions"
"""A run that has none of these parts."""

MIGRATION = ("tenant-moves", "tenant-link-fails", "tenant-rolls-back", "tenant-blue-green")
CREATION = ("clients-created-it-before", "drifted-partitions", "schema-refused", "created-apart")
SHADOWS = ("shadow-retention-loss", "shadow-two-audiences", "shadow-explicit-lac", "shadow-rollover")
LATENCY = ("starved-subscription", "broadcast", "moved")
MOVED = """
format: 1
name: moved
title: Moved
family: tenant-migration
until: 3s
clusters: {a: {}}
topics: {t: {clusters: [a]}}
brokers: {x: {cluster: a, dispatchTime: 3ms, topics: [t]}, y: {cluster: a, bandwidth: 500KB/s}}
producers: {p: {topic: t, cluster: a, start: 100ms, every: 7ms, count: 200, batch: 4}}
subscriptions: {s: {topic: t}}
consumers: {c: {subscription: s, cluster: a}}
commands: [{at: 700ms, do: topic.unload, cluster: a, topic: t, broker: y}]
"""
GROUPS = ("groups-two-readers", "groups-leader-crash-early")
TEXTS = {"moved": MOVED}


class Systems:
    """The runs and the report's figures of them, by scenario."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.worlds: dict[str, World] = {
            name: run_scenario(TEXTS.get(name, name))
            for name in (*MIGRATION, *CREATION, *SHADOWS, *LATENCY, *GROUPS, WITHOUT)
        }
        paths = [write_run(world, folder / f"{name}.parquet") for name, world in self.worlds.items()]
        self.folder = folder / "report"
        FailoverReport(spark, paths, self.folder, replay_url="/reports/x/replay/").make()
        self.report = json.loads((self.folder / "report.json").read_text())
        self.told: dict[str, dict[str, Any]] = {run["scenario"]: run for run in self.report["runs"]}

    def page(self, names: tuple[str, ...]) -> str:
        """The page about these runs, and the one without their parts."""
        return page({**self.report, "runs": [self.told[name] for name in (*names, WITHOUT)]})
