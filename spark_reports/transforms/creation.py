"""How replicators began and what was created: each replicator's starts and refusals, messages that waited, topics, policies, schemas.

Rules: a replicator is one log of one cluster towards one other; what it is at the end is its last row. A message waits when it was stored
in the cluster since the replicator's cursor opened and is in no log of the same name at the peer.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.flows import by_bin
from spark_reports.transforms.places import base_topic, is_type

REPLICATOR = ("run", "cluster", "peer", "topic")
HAPPENED = (
    "namespace.created", "policy.changed", "topic.created", "topic.creation-refused", "topic.partitions-changed", "topic.deleted",
    "schema.registered", "schema.refused", "schema.deleted", "command.refused",
)  # fmt: skip
"""Rows that say what came into being, changed, or was refused."""


def starts(control: DataFrame) -> DataFrame:
    """One row a replicator: run, cluster, peer, topic, base, created_seq, refused, started, first_refused_us, last (event type), words."""
    rows = control.filter(is_type("replicator.created", "replicator.started", "replicator.disconnected", "replicator.start-refused", "replicator.stopped", "replicator.removed"))
    refusal = F.col("type").isin("replicator.start-refused", "replicator.stopped")
    return (
        rows.groupBy(*REPLICATOR)
        .agg(
            F.min(F.when(F.col("type") == "replicator.created", F.col("seq"))).alias("created_seq"),
            F.count_if(refusal).alias("refused"),
            F.count_if(F.col("type") == "replicator.started").alias("started"),
            F.min(F.when(refusal, F.col("at_us"))).alias("first_refused_us"),
            F.max_by("type", "seq").alias("last"),
            F.max_by("detail", F.when(refusal, F.col("seq"))).alias("words"),
        )
        .withColumn("base", base_topic())
    )


def refusals(control: DataFrame) -> DataFrame:
    """Every refused start: run, cluster, peer, base, at_us."""
    return control.filter(is_type("replicator.start-refused", "replicator.stopped")).select("run", "cluster", "peer", base_topic().alias("base"), "at_us")


def happened(control: DataFrame) -> DataFrame:
    """Rows of HAPPENED, whole."""
    return control.filter(is_type(*HAPPENED))


def waiting(rows: DataFrame, troubled: DataFrame, bins: DataFrame) -> DataFrame:
    """Of replicators that were ever refused (`troubled`: run, cluster, peer, topic, base, created_seq): messages that came and left, by bin.

    `bins`: run, bin_us. Gives run, cluster, peer, base, bin, came, left; what waits at the end of a bin is the sum of both up to it.
    """
    stored = rows.filter(is_type("message.stored")).select("run", "seq", "at_us", "topic", F.col("cluster").alias("at"), F.col("peer").alias("origin"), "producer", "sequence_id")
    here = stored.filter(F.col("origin").isNull()).join(F.broadcast(troubled), ["run", "topic"], "inner").filter((F.col("at") == F.col("cluster")) & (F.col("seq") > F.col("created_seq")))
    there = stored.filter(F.col("origin").isNotNull()).join(F.broadcast(troubled), ["run", "topic"], "inner").filter((F.col("at") == F.col("peer")) & (F.col("origin") == F.col("cluster")))
    key = [*REPLICATOR, "base", "producer", "sequence_id"]
    published = here.groupBy(*key).agg(F.min("at_us").alias("came_us"))
    arrived = there.groupBy(*key).agg(F.min("at_us").alias("left_us"))
    return by_bin(published.join(arrived, key, "left"), ("run", "cluster", "peer", "base"), "came_us", "left_us", bins)
