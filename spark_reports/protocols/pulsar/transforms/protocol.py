"""The failovers, and the protocol's work and cost: cursors, snapshots, markers' entries and bytes.

Rules: a window begins at the row `failover.started` and lasts to the subscription's next one, else to the end
of the trace. A deleted subscription is at `ABSENT`, below every position. Before its first row a cursor does
not exist.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms import FAILOVER, NEVER, first_seq, is_type, place

ABSENT = -(1 << 62)
CURSOR = ("run", "cluster", "topic", "subscription")


def failovers(rows: DataFrame) -> DataFrame:
    """The failovers, one row per failover.

    Columns: run, failover_seq, failover_us, subscription, source, target, mode, end_seq, end_us (null: open).
    """
    following = Window.partitionBy("run", "subscription").orderBy("seq")
    return rows.filter(is_type("failover.started")).select(
        "run",
        F.col("seq").alias("failover_seq"),
        F.col("at_us").alias("failover_us"),
        "subscription",
        F.col("cluster").alias("source"),
        F.col("peer").alias("target"),
        F.col("reason").alias("mode"),
        F.coalesce(F.lead("seq").over(following), F.lit(NEVER)).alias("end_seq"),
        F.lead("at_us").over(following).alias("end_us"),
    )


def marks(rows: DataFrame) -> DataFrame:
    """Rows that set a mark-delete: run, cluster, topic, subscription, seq, at_us, type, reason, mark."""
    wanted = rows.filter(
        is_type("subscription.created", "subscription.deleted", "cursor.moved", "cursor.recovered")
    )
    mark = (
        F.when(F.col("type") == "subscription.deleted", F.lit(ABSENT))
        .when(F.col("type") == "cursor.moved", place("to_ledger", "to_entry"))
        .otherwise(place())
    )
    return wanted.select(*CURSOR, "seq", "at_us", "type", "reason", mark.alias("mark"))


def snapshots(rows: DataFrame) -> DataFrame:
    """The snapshots, one row per snapshot.

    Columns: run, cluster, topic, snapshot, asked_us, completed_us, taken_us, ledger, entry, ended (how it
    ended, if not complete).
    """
    wanted = rows.filter(
        is_type("snapshot.requested", "snapshot.completed", "snapshot.timed-out", "snapshot.abandoned")
    )
    completed = F.col("type") == "snapshot.completed"
    return (
        wanted.groupBy("run", "cluster", "topic", "snapshot")
        .agg(
            first_seq(F.col("type") == "snapshot.requested", "at_us").alias("asked_us"),
            first_seq(completed, "at_us").alias("completed_us"),
            first_seq(completed, "duration_us").alias("taken_us"),
            first_seq(completed, "ledger").alias("ledger"),
            first_seq(completed, "entry").alias("entry"),
            F.max(
                F.when(F.col("type") == "snapshot.timed-out", "timed out").when(
                    F.col("type") == "snapshot.abandoned", "abandoned"
                )
            ).alias("ended"),
        )
        .select(
            "run",
            "cluster",
            "topic",
            "snapshot",
            "asked_us",
            "completed_us",
            "taken_us",
            "ledger",
            "entry",
            "ended",
        )
    )


def snapshot_totals(snapshots: DataFrame, rows: DataFrame) -> DataFrame:
    """The numbers of snapshots by cluster.

    Columns: run, cluster, asked, completed, timed_out, abandoned, taken_us (mean), evicted (by the cache
    rule), used.
    """
    totals = snapshots.groupBy("run", "cluster").agg(
        F.count("asked_us").alias("asked"),
        F.count("completed_us").alias("completed"),
        F.count_if(F.col("ended") == "timed out").alias("timed_out"),
        F.count_if(F.col("ended") == "abandoned").alias("abandoned"),
        F.avg("taken_us").cast("long").alias("taken_us"),
    )
    caches = (
        rows.filter(is_type("snapshot.evicted", "snapshot.used"))
        .groupBy("run", "cluster")
        .agg(
            F.count_if((F.col("type") == "snapshot.evicted") & (F.col("reason") == "cache-rule")).alias(
                "evicted"
            ),
            F.count_if(F.col("type") == "snapshot.used").alias("used"),
        )
    )
    return totals.join(caches, ["run", "cluster"], "left").select(
        "run",
        "cluster",
        "asked",
        "completed",
        "timed_out",
        "abandoned",
        "taken_us",
        F.coalesce("evicted", F.lit(0)).alias("evicted"),
        F.coalesce("used", F.lit(0)).alias("used"),
    )


def snapshots_before(snapshots: DataFrame, rows: DataFrame, failovers: DataFrame, most: int) -> DataFrame:
    """The last `most` snapshots requested by the source before each failover, and their later use.

    `of_region` is a snapshot's number among those of its region, as pages name it: 3 for S3.
    """
    of_region = F.row_number().over(Window.partitionBy("run", "cluster").orderBy("snapshot"))
    snapshots = snapshots.withColumn("of_region", of_region)
    windows = failovers.select(
        *FAILOVER, "failover_us", "subscription", F.col("source").alias("cluster"), "target"
    )
    met = snapshots.join(F.broadcast(windows), ["run", "cluster"], "inner").filter(
        F.col("asked_us") <= F.col("failover_us")
    )
    rank = F.row_number().over(
        Window.partitionBy(*FAILOVER, "topic").orderBy(F.col("asked_us").desc(), F.col("snapshot").desc())
    )
    last = met.withColumn("rank", rank).filter(F.col("rank") <= most)
    used, evicted, reached = _uses(rows)
    key = ["run", "subscription", "topic", "snapshot"]
    return (
        last.join(used, key, "left")
        .join(evicted, key, "left")
        .join(reached, [*key, "target"], "left")
        .select(
            *FAILOVER,
            "topic",
            "snapshot",
            "of_region",
            "asked_us",
            "completed_us",
            "taken_us",
            "ledger",
            "entry",
            "ended",
            "used_us",
            "evicted_us",
            "applied_us",
        )
    )


def _uses(rows: DataFrame) -> tuple[DataFrame, DataFrame, DataFrame]:
    """When snapshots were used, evicted by the cache rule, and applied at a target by an Update.

    Each has run, subscription, topic, snapshot and its instant; the last one also has the target.
    """
    steps = rows.filter(
        is_type("snapshot.used", "snapshot.evicted", "update.position", "update.applied")
    ).select(
        "run",
        "type",
        "at_us",
        "topic",
        "subscription",
        "snapshot",
        "marker",
        "reason",
        F.col("cluster").alias("here"),
        "peer",
    )
    used = (
        steps.filter(F.col("type") == "snapshot.used")
        .groupBy("run", "subscription", "topic", "snapshot")
        .agg(F.min("at_us").alias("used_us"))
    )
    evicted = (
        steps.filter((F.col("type") == "snapshot.evicted") & (F.col("reason") == "cache-rule"))
        .groupBy("run", "subscription", "topic", "snapshot")
        .agg(F.min("at_us").alias("evicted_us"))
    )
    named = steps.filter(F.col("type") == "update.position").select(
        "run", "subscription", "topic", "snapshot", "marker", F.col("peer").alias("target")
    )
    applied = (
        steps.filter(F.col("type") == "update.applied")
        .groupBy("run", "subscription", "topic", "marker", F.col("here").alias("target"))
        .agg(F.min("at_us").alias("applied_us"))
    )
    reached = (
        named.join(applied, ["run", "subscription", "topic", "marker", "target"], "inner")
        .groupBy("run", "subscription", "topic", "snapshot", "target")
        .agg(F.min("applied_us").alias("applied_us"))
    )
    return used, evicted, reached


def marker_costs(tallies: DataFrame) -> DataFrame:
    """Entries and bytes by kind in each log.

    Columns: run, cluster, kind (marker type, or message), entries, size_bytes.
    """
    wanted = tallies.filter(is_type("marker.written", "marker.stored", "message.stored"))
    kind = F.when(F.col("type") == "message.stored", "message").otherwise(F.col("reason"))
    return (
        wanted.groupBy("run", "cluster", kind.alias("kind"))
        .agg(F.sum("entries").alias("entries"), F.sum("size_bytes").alias("size_bytes"))
        .select("run", "cluster", "kind", "entries", "size_bytes")
    )


def request_costs(rows: DataFrame) -> DataFrame:
    """Requests of acknowledgement-state sync and their bytes on the links: run, entries, size_bytes."""
    return (
        rows.filter(is_type("acknowledgements.sent"))
        .groupBy("run")
        .agg(F.count("*").alias("entries"), F.sum("size_bytes").alias("size_bytes"))
        .select("run", "entries", "size_bytes")
    )


def stories(
    rows: DataFrame, messages: DataFrame, seqs: DataFrame, near_messages: Column, near_seqs: Column
) -> DataFrame:
    """Every row of a few chosen messages (run, producer, sequence_id) and a few chosen rows (run, seq).

    Examples are made from them. The conditions `near_…` hold for all of them and need no join, so only the
    row groups around them are read from a trace's file.
    """
    of_messages = rows.filter(near_messages).join(
        F.broadcast(messages), ["run", "producer", "sequence_id"], "leftsemi"
    )
    chosen = rows.filter(near_seqs).join(F.broadcast(seqs), ["run", "seq"], "leftsemi")
    return of_messages.unionByName(chosen).dropDuplicates(["run", "seq"]).select(*rows.columns)
