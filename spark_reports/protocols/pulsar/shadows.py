"""`shadows` of a report's run, for `report.json`: delay, saved bytes and losses of each shadow topic.

Rules: one small row per shadow, bin and subscription is collected to the driver. A run without shadow topics
has no such part (None). The rows do not show where reads were served. The lab's page and `simulate --json`
do.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.flows import bin_widths_us, piled_up
from spark_reports.local import from_rows
from spark_reports.schemas import BINS
from spark_reports.transforms import base_topic, by_bin, is_type, place


def add_shadows(spark: Any, runs: list[dict[str, Any]], control: Any, rows: Any) -> None:
    """Add its part to every run."""
    for run in runs:
        run["shadows"] = None
    if not control.filter(is_type("shadow.created")).head(1):
        return
    widths = bin_widths_us(runs)
    known, moves = shadows(control), steps(control)
    sights = seen(entries(rows, known), moves).persist()
    counted = figures(sights, moves, control, known).collect()
    flows: dict[tuple, dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in unseen_flow(sights, from_rows(spark, sorted(widths.items()), BINS)).collect():
        flows[row.run, row.cluster, row.topic][row.bin] = (row.came, row.left)
    lost = losses(rows).collect()
    sights.unpersist()
    for run in runs:
        mine = sorted(
            (row for row in counted if row.run == run["run"]),
            key=lambda row: (row.source_base, row.cluster, row.base, row.topic),
        )
        if mine:
            found = [
                _shadow(row, flows[row.run, row.cluster, row.topic], widths[row.run], run["until_us"])
                for row in mine
            ]
            run["shadows"] = {
                "topics": found,
                "lost": [_lost(row) for row in sorted(lost, key=_by_name) if row.run == run["run"]],
            }


def _by_name(row: Any) -> tuple:
    return row.cluster, row.topic, row.subscription, row.reason


def _shadow(row: Any, flow: dict[int, tuple[int, int]], bin_us: int, until_us: int) -> dict[str, Any]:
    instants, unseen = piled_up(flow, bin_us, until_us)
    return {
        "cluster": row.cluster,
        "topic": row.topic,
        "source": row.source,
        "entries": row.entries or 0,
        "unseen": row.unseen or 0,
        "median_us": row.median_us,
        "slowest_us": row.slowest_us,
        "announced": row.announced or 0,
        "saved_bytes": row.saved_bytes or 0,
        "curve": {"at_us": instants, "entries": unseen},
    }


def _lost(row: Any) -> dict[str, Any]:
    return {
        name: row[name]
        for name in (
            "cluster",
            "topic",
            "subscription",
            "reason",
            "messages",
            "first_us",
            "producer",
            "sequence_id",
        )
    }


# --- shadow topics: when source entries became visible, messages lost, and bytes that a copy would store
#
# Rules: an entry is its source's. A shadow sees it from the first row on at which the shadow's last
# confirmed entry is at or beyond it. Lost is a `message.lost` whose message the subscription's application
# never acknowledged. `control` holds all rows but those of messages.


SHADOW = ("run", "cluster", "topic")
NEVER_US = 1 << 62


def shadows(control: DataFrame) -> DataFrame:
    """The shadow topics (partitions): run, cluster, topic, source (the log that it reads)."""
    return (
        control.filter(is_type("shadow.created"))
        .groupBy(*SHADOW)
        .agg(F.max_by("reason", "seq").alias("source"))
    )


def steps(control: DataFrame) -> DataFrame:
    """Every move of a last confirmed entry: run, cluster, topic, seq, at_us, place, announced.

    `announced` is 1 where a replicator announced the entry.
    """
    added = F.col("type") == "shadow.added"
    return control.filter(is_type("shadow.added", "shadow.confirmed")).select(
        *SHADOW,
        "seq",
        "at_us",
        F.when(added, place()).otherwise(place("to_ledger", "to_entry")).alias("place"),
        (added & (F.col("reason") == "replicator")).cast("long").alias("announced"),
    )


def entries(rows: DataFrame, known: DataFrame) -> DataFrame:
    """Entries of every log that has shadows, once for each shadow.

    Columns: run, cluster, topic (the shadow), ledger, place, stored_us, size_bytes.
    """
    stored = rows.filter(
        is_type("message.stored", "marker.written", "marker.stored")
        & (F.col("batch_index").isNull() | (F.col("batch_index") == 0))
    )
    stored = stored.select(
        "run",
        "cluster",
        F.col("topic").alias("source"),
        "ledger",
        place().alias("place"),
        F.col("at_us").alias("stored_us"),
        "size_bytes",
    )
    return stored.join(F.broadcast(known), ["run", "cluster", "source"], "inner").drop("source")


def seen(of_source: DataFrame, moves: DataFrame) -> DataFrame:
    """The entries with `seen_us`, the instant at which the shadow first saw each (null: never)."""
    one = of_source.select(
        *SHADOW, "ledger", "place", "stored_us", "size_bytes", F.lit(None).cast("long").alias("moved_us")
    )
    other = moves.select(
        *SHADOW,
        F.lit(None).cast("long").alias("ledger"),
        "place",
        F.lit(None).cast("long").alias("stored_us"),
        F.lit(None).cast("long").alias("size_bytes"),
        F.col("at_us").alias("moved_us"),
    )
    from_the_end = (
        Window.partitionBy(*SHADOW)
        .orderBy(F.col("place").desc(), F.col("moved_us").isNull())
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    both = one.unionByName(other).withColumn("first_us", F.min("moved_us").over(from_the_end))
    return (
        both.filter(F.col("stored_us").isNotNull())
        .select(
            *SHADOW,
            "ledger",
            "place",
            "stored_us",
            "size_bytes",
            F.greatest("first_us", "stored_us").alias("late_us"),
            F.col("first_us"),
        )
        .select(
            *SHADOW,
            "ledger",
            "place",
            "stored_us",
            "size_bytes",
            F.when(F.col("first_us").isNotNull(), F.col("late_us")).alias("seen_us"),
        )
    )


def figures(sights: DataFrame, moves: DataFrame, control: DataFrame, known: DataFrame) -> DataFrame:
    """The figures of shadow topics, one row per shadow.

    Columns: entries, unseen, median_us, slowest_us (from stored to seen), announced, saved_bytes (of entries
    seen at the end and not deleted).
    """
    last = moves.groupBy(*SHADOW).agg(
        F.max_by("place", "seq").alias("last"), F.sum("announced").alias("announced")
    )
    deleted = (
        control.filter(is_type("ledger.trimmed"))
        .select("run", "cluster", F.col("topic").alias("source"), "ledger")
        .distinct()
    )
    deleted = deleted.join(F.broadcast(known), ["run", "cluster", "source"], "inner").select(
        *SHADOW, "ledger", F.lit(True).alias("gone")
    )
    delay = F.col("seen_us") - F.col("stored_us")
    kept = F.col("gone").isNull() & (F.col("place") <= F.col("last"))
    found = (
        sights.join(F.broadcast(last), list(SHADOW), "left")
        .join(F.broadcast(deleted), [*SHADOW, "ledger"], "left")
        .groupBy(*SHADOW)
        .agg(
            F.count("*").alias("entries"),
            F.count_if(F.col("seen_us").isNull()).alias("unseen"),
            F.percentile(delay, 0.5).cast("long").alias("median_us"),
            F.max(delay).alias("slowest_us"),
            F.first("announced").alias("announced"),
            F.sum(F.when(kept, F.col("size_bytes")).otherwise(0)).alias("saved_bytes"),
        )
    )
    return (
        known.join(found, list(SHADOW), "left")
        .withColumn("base", base_topic())
        .withColumn("source_base", base_topic("source"))
    )


def unseen_flow(sights: DataFrame, bins: DataFrame) -> DataFrame:
    """Entries stored (came) and visible (left) by bin: run, cluster, topic, bin, came, left.

    `bins`: run, bin_us.
    """
    return by_bin(sights, SHADOW, "stored_us", "seen_us", bins)


def losses(rows: DataFrame) -> DataFrame:
    """Messages deleted before they were acknowledged, and not acknowledged later.

    Columns: run, cluster, topic, subscription, reason, messages, first_us, producer, sequence_id (of the
    first).
    """
    message = ["run", "subscription", "producer", "sequence_id"]
    lost = rows.filter(is_type("message.lost")).select(
        *SHADOW, "subscription", "producer", "sequence_id", "reason", "seq", "at_us"
    )
    acknowledged = rows.filter(is_type("message.acknowledged")).select(*message).distinct()
    return (
        lost.join(acknowledged, message, "left_anti")
        .groupBy(*SHADOW, "subscription", "reason")
        .agg(
            F.count_distinct("producer", "sequence_id").alias("messages"),
            F.min("at_us").alias("first_us"),
            F.min_by("producer", "seq").alias("producer"),
            F.min_by("sequence_id", "seq").alias("sequence_id"),
        )
    )
