"""Schemas of the small frames about Pulsar: a scenario's configuration, and keys of joins.

Rules: as `spark_reports.schemas`.
"""

from __future__ import annotations

from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from spark_reports.schemas import BINS

RUNS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("file", StringType(), False),
        StructField("until_us", LongType(), False),
    ]
)
"""The traces of the job."""

SITES = StructType(
    [
        StructField("run", LongType(), False),
        StructField("topic", StringType(), False),
        StructField("cluster", StringType(), False),
        StructField("enabled", BooleanType(), False),
    ]
)
"""A cluster of a topic's replication list, and whether the feature is enabled there.

`topic` is the name in the scenario.
"""

LINKS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("source", StringType(), False),
        StructField("target", StringType(), False),
        StructField("latency_us", LongType(), False),
    ]
)
"""A directed link's nominal latency."""

SUBSCRIPTIONS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("subscription", StringType(), False),
        StructField("topic", StringType(), False),
        StructField("synchronises", BooleanType(), False),
        StructField("tenant", StringType(), False),
    ]
)
"""A subscription, its topic and tenant by the scenario's names, and whether clusters sync its acks."""

MESSAGES = StructType(
    [
        StructField("run", LongType(), False),
        StructField("producer", StringType(), False),
        StructField("sequence_id", LongType(), False),
    ]
)
"""Single messages."""

FAILOVERS = StructType(
    [StructField("run", LongType(), False), StructField("failover_seq", LongType(), False)]
)
"""Single failovers."""

ROWS = StructType([StructField("run", LongType(), False), StructField("seq", LongType(), False)])
"""Single rows."""

STARTS = StructType(
    [StructField("run", LongType(), False)]
    + [StructField(name, StringType(), False) for name in ("cluster", "peer", "topic", "base")]
    + [StructField("created_seq", LongType(), False)]
)
"""A replicator, one per log and peer, and the row that opened its cursor."""

GRID = StructType([*BINS.fields, StructField("until_us", LongType(), False)])
"""The width of a run's bins, and the run's end."""
