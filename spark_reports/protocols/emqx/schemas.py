"""Schemas of the small frames about durable shared subscriptions.

Rules: as `spark_reports.schemas`.
"""

from __future__ import annotations

from pyspark.sql.types import LongType, StringType, StructField, StructType

GROUPS = StructType(
    [StructField("run", LongType(), False)]
    + [StructField(name, StringType(), False) for name in ("group", "filter", "pattern")]
)
"""A group of a durable shared subscription, its topic filter, and the filter as a regular expression."""

QUALITIES = StructType(
    [
        StructField("run", LongType(), False),
        StructField("producer", StringType(), False),
        StructField("qos", LongType(), False),
    ]
)
"""The quality of service with which an MQTT client publishes."""

STREAMS = StructType(
    [
        StructField("run", LongType(), False),
        StructField("group", StringType(), False),
        StructField("stream", StringType(), False),
    ]
)
"""Single streams of groups."""

STORIES = StructType(
    [StructField("run", LongType(), False), StructField("number", LongType(), False)]
    + [StructField(name, StringType(), False) for name in ("of_group", "of_producer", "reader", "other")]
    + [
        StructField(name, LongType(), True)
        for name in ("of_sequence_id", "from_seq", "to_seq", "decided_seq")
    ]
)
"""A duplicate described row by row. `reader` acknowledged the message, `other` received it afterwards."""

SESSIONS = StructType([StructField("run", LongType(), False), StructField("client", StringType(), False)])
"""Single sessions."""
