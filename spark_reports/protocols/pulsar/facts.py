"""Small frames of a scenario's configuration: replication lists, latencies, topics of subscriptions.

Rules: events are always taken from the trace. Only facts that its rows do not contain are read here, through
the simulator's Python API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_reports.local import from_rows
from spark_reports.protocols.pulsar.schemas import LINKS, RUNS, SITES, SUBSCRIPTIONS
from spark_reports.protocols.pulsar.transforms.parties import FEATURE
from spark_reports.read import TraceInput


@dataclass(frozen=True, slots=True)
class Facts:
    """The frames of schemas RUNS, SITES, LINKS and SUBSCRIPTIONS, and the family by run.

    The family decides which causes the report names.
    """

    runs: DataFrame
    sites: DataFrame
    links: DataFrame
    subscriptions: DataFrame
    families: dict[int, str]
    # whether any subscription of any run has acknowledgement-state sync, or may get it when its tenant moves
    synchronised: bool


def facts_of(spark: SparkSession, inputs: Sequence[TraceInput], scenarios: Sequence[Any]) -> Facts:
    """The small frames of all runs."""
    runs, sites, links, subscriptions = [], [], [], []
    for entry, scenario in zip(inputs, scenarios, strict=True):
        runs.append((entry.run, entry.path.name, int(entry.meta["until_us"])))
        for topic in scenario.topics.values():
            sites += [
                (entry.run, topic.name, cluster, _enabled(scenario, cluster)) for cluster in topic.clusters
            ]
        links += [
            (entry.run, source, target, link.latency.nominal_us)
            for (source, target), link in scenario.links.items()
        ]
        subscriptions += [
            (
                entry.run,
                spec.name,
                spec.topic,
                spec.acknowledgement_sync != "none",
                scenario.topics[spec.topic].tenant,
            )
            for spec in scenario.subscriptions.values()
        ]
    return Facts(
        from_rows(spark, runs, RUNS),
        from_rows(spark, sites, SITES),
        from_rows(spark, links, LINKS),
        from_rows(spark, subscriptions, SUBSCRIPTIONS),
        {entry.run: scenario.family for entry, scenario in zip(inputs, scenarios, strict=True)},
        any(row[3] for row in subscriptions) or any(scenario.tenants for scenario in scenarios),
    )


def _enabled(scenario: Any, cluster: str) -> bool:
    return bool({**scenario.settings, **scenario.clusters[cluster].settings}.get(FEATURE, True))
