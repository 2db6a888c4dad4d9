"""Schemas, declared once: trace rows from the registry, and the small frames that say what a scenario
configured.

Rules: every integer is a long, every name a string; units are in the names. `run` numbers the traces of one
job from 0.
"""

from __future__ import annotations

from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from simulator.trace.registry import COLUMNS, INTEGER

_REQUIRED = ("at_us", "type")

TRACE = StructType(
    [StructField("seq", LongType(), False)]
    + [
        StructField(name, LongType() if kind == INTEGER else StringType(), name not in _REQUIRED)
        for name, (kind, _) in COLUMNS.items()
    ]
)
"""One row of a trace file."""

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
"""A cluster of a topic's replication list (topic as the scenario names it), and whether the feature is on
there.
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
"""A subscription, its topic and tenant, as the scenario names them, and whether clusters tell each other
its acknowledgements.
"""

FILES = StructType([StructField("uri", StringType(), False), StructField("run", LongType(), False)])
"""Which trace file is which run."""

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

TARGETS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("of_failover", LongType(), False),
        StructField("topic", StringType(), False),
        StructField("subscription", StringType(), False),
        StructField("cluster", StringType(), False),
        StructField("bin_us", LongType(), False),
    ]
)
"""A partition of a failover's subscription, the target, and the width of the run's bins."""

STEPS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("of_failover", LongType(), False),
        StructField("topic", StringType(), False),
    ]
    + [StructField(name, LongType(), False) for name in ("low", "high", "covered_bin")]
)
"""Which places of the target's log its mark-delete first covers in which bin: those above `low` up to
`high`.
"""

STARTS = StructType(
    [StructField("run", LongType(), False)]
    + [StructField(name, StringType(), False) for name in ("cluster", "peer", "topic", "base")]
    + [StructField("created_seq", LongType(), False)]
)
"""A replicator, one for each log and peer, and the row that opened its cursor."""

BINS = StructType([StructField("run", LongType(), False), StructField("bin_us", LongType(), False)])
"""The width of a run's bins."""

GRID = StructType([*BINS.fields, StructField("until_us", LongType(), False)])
"""The width of a run's bins, and where it ends."""

GROUPS = StructType(
    [StructField("run", LongType(), False)]
    + [StructField(name, StringType(), False) for name in ("group", "filter", "pattern")]
)
"""A group of a durable shared subscription, its topic filter, and the same as a regular expression."""

QUALITIES = StructType(
    [
        StructField("run", LongType(), False),
        StructField("producer", StringType(), False),
        StructField("qos", LongType(), False),
    ]
)
"""The quality of service with which an MQTT publisher publishes."""

STREAMS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("group", StringType(), False),
        StructField("stream", StringType(), False),
    ]
)
"""Single streams of groups."""

TOLD = StructType(
    [StructField("run", LongType(), False), StructField("number", LongType(), False)]
    + [StructField(name, StringType(), False) for name in ("of_group", "of_producer", "reader", "other")]
    + [
        StructField(name, LongType(), True)
        for name in ("of_sequence_id", "from_seq", "to_seq", "decided_seq")
    ]
)
"""A message that came twice and is told as a story: `reader` had acknowledged it, `other` got it again."""

SESSIONS = StructType([StructField("run", LongType(), False), StructField("client", StringType(), False)])
"""Single sessions."""
