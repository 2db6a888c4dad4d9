"""Thresholds about cluster X at X's end, which decide the causes of duplicates.

Rules: a party is one failover, one topic (partition) and one cluster X in which a duplicate was last
acknowledged. Positions in a log only grow, so "some Update, snapshot or attempt covers p" means "p is at or
below the furthest one". Each cause needs one number per party, whatever the number of duplicates. All frames
here are small.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.protocols.pulsar.scans.logs import Part
from spark_reports.protocols.pulsar.transforms.cursors import ABSENT, mark_at
from spark_reports.transforms.places import FAILOVER, NEVER, base_topic, is_type, place

PARTY = [*FAILOVER, "topic", "x"]
FEATURE = "enableReplicatedSubscriptions"
REFUSED_REASONS = ("pending", "replicator-disconnected")
LOST_UNUSED = ("unloaded", "cursor-reset", "switched-off")


def parties(duplicates: DataFrame, failovers: DataFrame, ends: DataFrame) -> DataFrame:
    """The parties, one row per party.

    Columns: PARTY, subscription, target, failover_us, ended_seq, ended_us, crashed.
    """
    met = duplicates.select(*FAILOVER, "topic", F.col("ack_cluster").alias("x")).distinct()
    ended = ends.withColumnRenamed("cluster", "x")
    known = failovers.select(*FAILOVER, "failover_us", "subscription", "target")
    return (
        met.join(known, list(FAILOVER), "inner")
        .join(ended, [*FAILOVER, "topic", "x"], "left")
        .select(
            *PARTY,
            "subscription",
            "target",
            "failover_us",
            F.coalesce("ended_seq", "failover_seq").alias("ended_seq"),
            F.coalesce("ended_us", "failover_us").alias("ended_us"),
            F.coalesce("crashed", F.lit(False)).alias("crashed"),
        )
    )


def with_marks(parties: DataFrame, marks: DataFrame) -> DataFrame:
    """`parties` with the mark-deletes of X at its end (mark_x) and of the target at the failover (mark_b)."""
    at_x = parties.withColumn("cluster", F.col("x"))
    at_x = mark_at(marks, at_x, PARTY, "ended_seq", "mark_x").drop("cluster")
    at_b = mark_at(marks, at_x.withColumn("cluster", F.col("target")), PARTY, "failover_seq", "mark_b").drop(
        "cluster"
    )
    missing = F.coalesce(F.col("mark_b"), F.lit(ABSENT)) == ABSENT
    return at_b.withColumn("missing_at_target", missing).select(
        *parties.columns, "mark_x", "mark_x_seq", "mark_b", "missing_at_target"
    )


def _of_x(
    rows: DataFrame, parties: DataFrame, columns: list[str], *types: str, of_subscription: bool = False
) -> DataFrame:
    """Rows of X's topic by X's end, with the party's columns."""
    keys = ["run", "x", "topic", *(["subscription"] if of_subscription else [])]
    kept = [name for name in parties.columns if of_subscription or name != "subscription"]
    identity = ["subscription"] if of_subscription else []
    found = rows.filter(is_type(*types)).select(
        "run", F.col("cluster").alias("x"), "topic", "seq", "type", *identity, *columns
    )
    return found.join(F.broadcast(parties.select(*kept)), keys, "inner").filter(
        F.col("seq") <= F.col("ended_seq")
    )


def remotes(rows: DataFrame, parties: DataFrame, sites: DataFrame) -> DataFrame:
    """The other clusters on the topic's replication list at X's end: PARTY, remote."""
    listed = (
        parties.withColumn("base", base_topic())
        .join(
            F.broadcast(sites.select("run", F.col("topic").alias("base"), F.col("cluster").alias("remote"))),
            ["run", "base"],
            "inner",
        )
        .select(*PARTY, "remote", F.lit(-1).alias("seq"), F.lit("replicator.created").alias("type"))
    )
    changed = _of_x(rows, parties, ["peer"], "replicator.created", "replicator.removed").select(
        *PARTY, F.col("peer").alias("remote"), F.col("seq").cast("int").alias("seq"), "type"
    )
    latest = listed.unionByName(changed).groupBy(*PARTY, "remote").agg(F.max_by("type", "seq").alias("state"))
    return latest.filter((F.col("state") == "replicator.created") & (F.col("remote") != F.col("x"))).select(
        *PARTY, "remote"
    )


def replication(
    rows: DataFrame, parties: DataFrame, sites: DataFrame, remotes: DataFrame, links: DataFrame
) -> DataFrame:
    """Whether X could update the target: PARTY, replicated, reach_us (X to target), nominal_us (snapshot)."""
    flags = (
        _of_x(
            rows,
            parties,
            ["count"],
            "subscription.created",
            "subscription.replication-switched",
            "subscription.deleted",
            of_subscription=True,
        )
        .groupBy(*PARTY)
        .agg((F.coalesce(F.max_by("count", "seq"), F.lit(0)) == 1).alias("flagged"))
    )
    enabled = _feature(rows, parties, sites)
    there = links.select(
        "run",
        F.col("source").alias("x"),
        F.col("target").alias("remote"),
        F.col("latency_us").alias("out_us"),
    )
    back = links.select(
        "run",
        F.col("source").alias("remote"),
        F.col("target").alias("x"),
        F.col("latency_us").alias("back_us"),
    )
    rounds = (
        remotes.join(F.broadcast(there), ["run", "x", "remote"], "left")
        .join(F.broadcast(back), ["run", "x", "remote"], "left")
        .groupBy(*PARTY)
        .agg(
            F.count("remote").alias("remote_count"),
            F.max(F.coalesce("out_us", F.lit(0)) + F.coalesce("back_us", F.lit(0))).alias("round_us"),
        )
    )
    reach = there.withColumnRenamed("remote", "target").withColumnRenamed("out_us", "reach_us")
    nominal = F.when(F.col("remote_count") > 1, 2 * F.col("round_us")).otherwise(
        F.coalesce("round_us", F.lit(0))
    )
    can = (
        F.coalesce("flagged", F.lit(False))
        & F.coalesce("enabled", F.lit(True))
        & (F.coalesce("remote_count", F.lit(0)) >= 1)
    )
    return (
        parties.join(flags, PARTY, "left")
        .join(enabled, PARTY, "left")
        .join(rounds, PARTY, "left")
        .join(F.broadcast(reach), ["run", "x", "target"], "left")
        .select(
            *PARTY,
            can.alias("replicated"),
            F.coalesce("reach_us", F.lit(0)).alias("reach_us"),
            nominal.alias("nominal_us"),
        )
    )


def _feature(rows: DataFrame, parties: DataFrame, sites: DataFrame) -> DataFrame:
    """Whether the feature is enabled in X and in the target at X's end: PARTY, enabled."""
    both = parties.withColumn("cluster", F.explode(F.array("x", "target"))).withColumn("base", base_topic())
    configured = both.join(
        F.broadcast(sites.select("run", F.col("topic").alias("base"), "cluster", "enabled")),
        ["run", "base", "cluster"],
        "inner",
    ).select(*PARTY, "cluster", F.lit(-1).cast("long").alias("seq"), "enabled")
    changes = rows.filter(is_type("setting.changed") & (F.col("reason") == FEATURE)).select(
        "run", "cluster", "seq", "detail"
    )
    changed = (
        changes.join(F.broadcast(both), ["run", "cluster"], "inner")
        .filter(F.col("seq") <= F.col("ended_seq"))
        .select(*PARTY, "cluster", "seq", (F.lower(F.trim("detail")) != "false").alias("enabled"))
    )
    each = (
        configured.unionByName(changed)
        .groupBy(*PARTY, "cluster")
        .agg(F.max_by("enabled", "seq").alias("enabled"))
    )
    return each.groupBy(*PARTY).agg(F.bool_and("enabled").alias("enabled")).select(*PARTY, "enabled")


def updates(rows: DataFrame, parties: DataFrame) -> DataFrame:
    """The furthest positions that X's Updates have for the target.

    Columns: PARTY, late_update (not applied by the failover), prompt_update, their rows.
    """
    named = _of_x(
        rows, parties, ["peer", "marker", "to_ledger", "to_entry"], "update.position", of_subscription=True
    )
    named = named.filter(F.col("peer") == F.col("target")).withColumn("names", place("to_ledger", "to_entry"))
    applied = rows.filter(is_type("update.applied")).select(
        "run",
        F.col("cluster").alias("target"),
        F.col("peer").alias("x"),
        "topic",
        "subscription",
        "marker",
        F.col("seq").alias("applied_seq"),
    )
    found = named.join(applied, ["run", "target", "x", "topic", "subscription", "marker"], "left")
    prompt = F.coalesce(F.col("applied_seq") <= F.col("failover_seq"), F.lit(False))
    return (
        found.groupBy(*PARTY)
        .agg(
            F.max(F.when(~prompt, F.col("names"))).alias("late_update"),
            F.max_by(F.when(~prompt, F.col("seq")), F.when(~prompt, F.col("names"))).alias("late_update_seq"),
            F.max(F.when(prompt, F.col("names"))).alias("prompt_update"),
        )
        .select(*PARTY, "late_update", "late_update_seq", "prompt_update")
    )


def snapshots(rows: DataFrame, parties: DataFrame) -> DataFrame:
    """The furthest positions of usable completed snapshots that were not used.

    Columns: PARTY, evicted_snapshot, unused_snapshot, their rows. Usable: local position at or below mark_x.
    Snapshots that left the cache as `passed` do not count, since a newer one was used instead.
    """
    completed = _of_x(rows, parties, ["snapshot", "ledger", "entry"], "snapshot.completed").filter(
        place() <= F.col("mark_x")
    )
    completed = completed.join(parties.select(*PARTY, "subscription"), PARTY, "inner").select(
        *PARTY, "target", "snapshot", F.col("seq").alias("completed_seq")
    )
    positions = _of_x(rows, parties, ["peer", "snapshot", "to_ledger", "to_entry"], "snapshot.position")
    positions = positions.filter(F.col("peer") == F.col("target")).select(
        *PARTY, "snapshot", place("to_ledger", "to_entry").alias("there")
    )
    left = _of_x(
        rows, parties, ["snapshot", "reason"], "snapshot.evicted", "snapshot.used", of_subscription=True
    )
    fate = left.groupBy(*PARTY, "snapshot").agg(
        F.bool_or(F.col("type") == "snapshot.used").alias("used"),
        F.max_by("reason", F.when(F.col("type") == "snapshot.evicted", F.col("seq"))).alias("left"),
    )
    found = completed.join(positions, [*PARTY, "snapshot"], "inner").join(fate, [*PARTY, "snapshot"], "left")
    free = ~F.coalesce("used", F.lit(False))
    evicted = free & (F.col("left") == "cache-rule")
    unused = free & (F.col("left").isNull() | F.col("left").isin(*LOST_UNUSED))
    return (
        found.groupBy(*PARTY)
        .agg(
            F.max(F.when(evicted, F.col("there"))).alias("evicted_snapshot"),
            F.max_by(F.when(evicted, F.col("completed_seq")), F.when(evicted, F.col("there"))).alias(
                "evicted_seq"
            ),
            F.max(F.when(unused, F.col("there"))).alias("unused_snapshot"),
            F.max_by(F.when(unused, F.col("completed_seq")), F.when(unused, F.col("there"))).alias(
                "unused_seq"
            ),
        )
        .select(*PARTY, "evicted_snapshot", "evicted_seq", "unused_snapshot", "unused_seq")
    )


def parts(parties: list[Any]) -> list[Part]:
    """The part of X's log past X's mark-delete, up to X's end. `parties` are collected, with marks."""
    return sorted(
        {
            Part(row.run, row.x, row.topic, row.mark_x, row.ended_seq)
            for row in parties
            if row.mark_x is not None
        }
    )


def past(parties: DataFrame, begun: DataFrame) -> DataFrame:
    """When X's log first had an entry past X's mark-delete: PARTY, past_us. `begun`: `scans.logs.PAST`."""
    of_log = begun.withColumnsRenamed({"cluster": "x", "place": "mark_x", "until_seq": "ended_seq"})
    return parties.join(F.broadcast(of_log), ["run", "x", "topic", "mark_x", "ended_seq"], "inner").select(
        *PARTY, "past_us"
    )


def attempts(control: DataFrame, parties: DataFrame, replication: DataFrame, past: DataFrame) -> DataFrame:
    """The latest snapshot attempt of X that would have been usable in its nominal time.

    Columns: PARTY, attempt_us, attempt_seq. An attempt is a requested first round that did not finish in
    nominal time, or a tick refused by rule 2 or 4. Usable: nominally complete by X's end, before anything was
    appended to X's log past X's mark-delete.
    """
    tries = _of_x(
        control,
        parties,
        ["at_us", "snapshot", "count", "reason"],
        "snapshot.requested",
        "snapshot.refused",
        "snapshot.completed",
    )
    completed = tries.filter(F.col("type") == "snapshot.completed").select(
        *PARTY, "snapshot", F.col("at_us").alias("completed_us")
    )
    asked = (F.col("type") == "snapshot.requested") & (F.col("count") == 1)
    refused = (F.col("type") == "snapshot.refused") & F.col("reason").isin(*REFUSED_REASONS)
    usable = (
        tries.filter(asked | refused)
        .select(*PARTY, "seq", "at_us", "snapshot", "ended_us", "mark_x")
        .join(completed, [*PARTY, "snapshot"], "left")
        .join(replication.select(*PARTY, "nominal_us"), PARTY, "inner")
        .join(past, PARTY, "left")
        .filter(F.col("mark_x").isNotNull())
        .filter(
            F.col("completed_us").isNull() | (F.col("completed_us") - F.col("at_us") > F.col("nominal_us"))
        )
        .filter(F.col("at_us") + F.col("nominal_us") < F.coalesce("past_us", F.lit(NEVER)))
        .filter(F.col("at_us") + F.col("nominal_us") <= F.col("ended_us"))
    )
    return (
        usable.groupBy(*PARTY)
        .agg(F.max("at_us").alias("attempt_us"), F.max_by("seq", "at_us").alias("attempt_seq"))
        .select(*PARTY, "attempt_us", "attempt_seq")
    )
