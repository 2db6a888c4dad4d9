"""Schemas of the small frames about Pulsar: a scenario's configuration, and keys of joins.

Rules: as `spark_reports.schemas`.
"""

from __future__ import annotations

from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_reports.schemas import BINS

TENANTS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("topic", StringType(), False),
        StructField("tenant", StringType(), False),
    ]
)
"""The tenant of a topic that has a subscription, by the scenario's names."""

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

ZOOMS = StructType(
    [
        *FAILOVERS.fields,
        StructField("subscription", StringType(), False),
        *(StructField(name, LongType(), False) for name in ("from_us", "to_us", "bin_us")),
    ]
)
"""The span in which a failover's deliveries are shown, and the width of its bins."""
