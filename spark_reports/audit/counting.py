"""Counts messages that were delivered more than once, per subscription, topic and partition.

Rules: identical rows are one delivery, written more than once. Deliveries of a message are ordered by
instant, then cluster and consumer. A message delivered in two clusters is a duplicate of a failover; one
delivered more than once in one cluster is redelivered.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType
from pyspark.sql.window import Window

from spark_reports.audit.columns import ACK, DELIVER, GROUP, IDENTITY, PUBLISH
from spark_reports.audit.rows import of_kinds
from spark_reports.local import from_rows

_SUBSCRIPTIONS = StructType([StructField("subscription", StringType()), StructField("acks", LongType())])
QUANTILES = {"p50": 50, "p99": 99}
BINS = 160
"""Bins of the timeline."""


def overview(rows: DataFrame) -> DataFrame:
    """Rows by kind, cluster, group, time unit and problem, with their first and last instant."""
    return rows.groupBy("kind", "cluster", *GROUP, "unit", "problem").agg(
        F.count(F.lit(1)).alias("rows"),
        F.min("at_us").alias("first_us"),
        F.max("at_us").alias("last_us"),
        F.sum(F.col("scope").isNotNull().cast("bigint")).alias("scoped"),
    )


def delivered_keys(rows: DataFrame) -> DataFrame:
    """Each message of each subscription with the number of rows that say it was delivered."""
    return of_kinds(rows, DELIVER).groupBy(*IDENTITY).agg(F.count(F.lit(1)).alias("lines"))


def totals(keys: DataFrame) -> DataFrame:
    """Messages with one row of a delivery, and rows of deliveries, of each group."""
    return keys.groupBy(*GROUP).agg(
        _sum(F.col("lines") == 1).alias("messages"), F.sum("lines").alias("delivery_rows")
    )


def repeated(rows: DataFrame, keys: DataFrame, acks: dict[str, int]) -> DataFrame:
    """One row for each message of the keys: those whose delivery is in the log more than once.

    `acks` has the number of acknowledgements of each subscription: without any it is unknown whether a
    message was acknowledged. A message of which only identical rows exist has one delivery.
    """
    again = keys.select(*IDENTITY)
    return described(of_kinds(rows, DELIVER, ACK).join(again, list(IDENTITY), "left_semi"), acks)


def described(chosen: DataFrame, acks: dict[str, int]) -> DataFrame:
    """One row for each message from its rows of deliveries and acknowledgements."""
    delivered = F.struct(
        "at_us", "cluster", F.coalesce("consumer", F.lit("")).alias("consumer"), "delivery_count"
    )
    gathered = chosen.groupBy(*IDENTITY).agg(
        F.sort_array(F.collect_set(F.when(F.col("kind") == DELIVER, delivered))).alias("found"),
        F.sum((F.col("kind") == DELIVER).cast("bigint")).alias("lines"),
        F.min(F.when(F.col("kind") == ACK, F.col("at_us"))).alias("first_ack_us"),
    )
    known = from_rows(chosen.sparkSession, sorted(acks.items()), _SUBSCRIPTIONS)
    delivered_ones = gathered.filter(F.col("lines") > 0)  # an acked id may have the hash of another one
    return delivered_ones.join(F.broadcast(known), "subscription", "left").select(*IDENTITY, *_of_message())


def _of_message() -> list[Column]:
    found = F.col("found")
    deliveries = F.size(found)
    clusters = F.array_sort(F.array_distinct(F.transform(found, lambda one: one["cluster"])))
    consumers = F.array_sort(F.array_distinct(F.transform(found, lambda one: one["consumer"])))
    second = F.when(deliveries > 1, F.get(found, F.lit(1))["at_us"])
    ack = F.col("first_ack_us")
    later = F.size(F.filter(F.slice(found, 2, deliveries), lambda one: one["at_us"] >= ack))
    acked = F.when(F.col("acks").isNotNull(), F.when(ack.isNull(), 0).otherwise(later))
    named = ~F.array_contains(clusters, "")
    return [
        deliveries.cast("bigint").alias("deliveries"),
        (F.col("lines") - deliveries).alias("repeated_rows"),
        clusters.alias("clusters"),
        consumers.alias("consumers"),
        F.when(named, F.size(clusters) > 1).alias("across_clusters"),
        F.get(found, F.lit(0))["at_us"].alias("first_us"),
        second.alias("second_us"),
        F.element_at(found, -1)["at_us"].alias("last_us"),
        (second - F.get(found, F.lit(0))["at_us"]).alias("gap_us"),
        ack.alias("first_ack_us"),
        acked.cast("bigint").alias("extra_after_ack"),
    ]


def rolled_up(messages: DataFrame) -> DataFrame:
    """The figures of each group from its messages of `repeated`."""
    own = Window.partitionBy(*GROUP)
    ranked = messages.withColumns(
        {
            "place": F.row_number().over(own.orderBy(F.col("gap_us").asc_nulls_last(), "scope", "key")),
            "known": F.count("gap_us").over(own),
        }
    )
    more = F.col("deliveries") > 1
    rank = {name: F.ceil(F.col("known") * percent / F.lit(100)) for name, percent in QUANTILES.items()}
    return ranked.groupBy(*GROUP).agg(
        F.count(F.lit(1)).alias("with_several_rows"),
        _sum(more).alias("repeated_messages"),
        _sum(more & F.col("across_clusters")).alias("in_several_clusters"),
        _sum(more & ~F.col("across_clusters")).alias("in_one_cluster"),
        _sum(more & F.col("across_clusters").isNull()).alias("cluster_unknown"),
        F.sum(F.col("deliveries") - 1).alias("extra_deliveries"),
        F.sum("extra_after_ack").alias("extra_after_ack"),
        _sum(more & (F.col("extra_after_ack") > 0)).alias("duplicates"),
        F.max("deliveries").alias("deliveries_most"),
        F.sum("repeated_rows").alias("repeated_rows"),
        F.min("second_us").alias("first_us"),
        F.max(F.when(more, F.col("last_us"))).alias("last_us"),
        *(F.max(F.when(F.col("place") == at, F.col("gap_us"))).alias(name) for name, at in rank.items()),
        F.max("gap_us").alias("gap_most"),
    )


def _sum(condition: Column) -> Column:
    return F.sum(F.coalesce(condition.cast("bigint"), F.lit(0)))


def timeline(messages: DataFrame, first_us: int, width_us: int) -> DataFrame:
    """Messages delivered a second time, by bin of that delivery, and whether in another cluster."""
    bin_number = F.floor((F.col("second_us") - F.lit(first_us)) / F.lit(width_us))
    return (
        messages.filter(F.col("deliveries") > 1)
        .groupBy(bin_number.alias("bin"), F.coalesce("across_clusters", F.lit(False)).alias("across"))
        .agg(F.count(F.lit(1)).alias("messages"))
    )


def worst(messages: DataFrame, most: int) -> list[dict[str, Any]]:
    """The messages with the most deliveries."""
    order = [F.col("deliveries").desc(), F.col("first_us").asc(), *map(F.col, IDENTITY)]
    chosen = messages.filter(F.col("deliveries") > 1).orderBy(*order).limit(most)
    return [row.asDict() for row in chosen.collect()]


def acks_of(found: list[dict[str, Any]]) -> dict[str, int]:
    """The number of acknowledgements of each subscription that has any, from the overview's rows."""
    acks: dict[str, int] = {}
    for one in found:
        if one["kind"] == ACK and one["problem"] is None:
            name = one["subscription"] or ""
            acks[name] = acks.get(name, 0) + one["rows"]
    return acks


# --- published messages that a subscription never received, and what that proves
#
# Rules: a message that was published before the first or after the last message that the subscription
# received may have been delivered outside the log, so it is not counted as lost. Of the others a loss is
# claimed only where the log is declared complete, is not sampled, and nothing in it contradicts that.


OF_SUBSCRIPTION = ("subscription", "topic")


def message_columns(by_position: bool) -> list[str]:
    """The columns by which a publish and a delivery are the same message.

    A producer that assigns an id often does not know the partition.
    """
    return ["topic", "partition", "scope", "key"] if by_position else ["topic", "key"]


def judged(found: dict[str, Any], complete: bool, sampled: bool, unreadable: int) -> dict[str, Any]:
    """The figures with `lost`, or None and why it is unknown."""
    reasons = []
    if sampled:
        reasons.append("the log is sampled")
    elif not complete:
        reasons.append("the log is not declared complete (`complete: true` in the mapping)")
    if unreadable:
        reasons.append(f"{unreadable:,} unreadable rows may be deliveries")
    if found["acked_only"]:
        reasons.append(f"{found['acked_only']:,} messages were acknowledged without a delivery in the log")
    return {**found, "lost": None if reasons else found["between"], "unknown_because": reasons}


# --- times between publish, delivery and acknowledgement of the same message, by cluster
#
# Rules: they are instants of different machines, so a negative time is a skew of clocks. Above
# `ROWS_MEASURED` rows a part of the messages is measured, chosen by a hash of their keys.


ROWS_MEASURED = 1_000_000
"""About the most rows whose times are measured: percentiles of 300,000 messages are known well enough."""
ACCURACY = 10_000
"""Accuracy of the approximate percentiles: their rank is right to a ten-thousandth."""


def share_of(rows: int) -> int:
    """One message in so many is measured."""
    return max(1, -(-rows // ROWS_MEASURED))


def measured(rows: DataFrame, share: int) -> DataFrame:
    """The rows of one message in `share`."""
    return rows if share == 1 else rows.filter(F.pmod(F.xxhash64("key"), F.lit(share)) == 0)


def latencies(rows: DataFrame, by_position: bool) -> DataFrame:
    """Times from publish to the subscription's first delivery, by the clusters of both and subscription."""
    own = message_columns(by_position)
    published = (
        of_kinds(rows, PUBLISH).groupBy(*own).agg(F.min(F.struct("at_us", "cluster")).alias("publish"))
    )
    delivered = (
        of_kinds(rows, DELIVER)
        .groupBy("subscription", *own)
        .agg(F.min(F.struct("at_us", "cluster")).alias("delivery"))
    )
    return _figures(
        delivered.join(published, own).select(
            "subscription",
            F.col("publish.cluster").alias("from"),
            F.col("delivery.cluster").alias("to"),
            (F.col("delivery.at_us") - F.col("publish.at_us")).alias("us"),
        ),
        "subscription",
        "from",
        "to",
    )


def processing(rows: DataFrame) -> DataFrame:
    """Times from the first delivery of a message to its first acknowledgement in the same cluster."""
    both = (
        of_kinds(rows, DELIVER, ACK)
        .groupBy("cluster", *IDENTITY)
        .agg(
            F.min(F.when(F.col("kind") == DELIVER, F.col("at_us"))).alias("delivered_us"),
            F.min(F.when(F.col("kind") == ACK, F.col("at_us"))).alias("acked_us"),
        )
    )
    measured = both.filter("delivered_us is not null and acked_us is not null")
    return _figures(
        measured.select("subscription", "cluster", (F.col("acked_us") - F.col("delivered_us")).alias("us")),
        "subscription",
        "cluster",
    )


def _figures(times: DataFrame, *by: str) -> DataFrame:
    return times.groupBy(*by).agg(
        F.count(F.lit(1)).alias("messages"),
        F.sum((F.col("us") < 0).cast("bigint")).alias("negative"),
        F.min("us").alias("least_us"),
        F.percentile_approx("us", F.lit(0.5), ACCURACY).alias("p50_us"),
        F.percentile_approx("us", F.lit(0.99), ACCURACY).alias("p99_us"),
        F.max("us").alias("most_us"),
    )
