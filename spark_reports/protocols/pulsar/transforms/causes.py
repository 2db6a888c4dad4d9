"""The cause of each duplicate: the first condition of a list that holds, with the deciding rows.

Rules: X is the cluster of the latest acknowledgement before the delivery, p the delivered entry's position in
the target's log, "X's end" min(failover, crash of X). The order of `CAUSES` is the order of decision.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.protocols.pulsar.transforms.cursors import CURSOR
from spark_reports.protocols.pulsar.transforms.parties import PARTY
from spark_reports.transforms.places import FAILOVER, first_seq, is_type, place

CAUSES = (
    "resent_copy",
    "subscription_missing",
    "not_replicated",
    "cursor_went_back",
    "ack_not_registered",
    "not_in_target_yet",
    "sync_in_flight",
    "after_last_sync",
    "ack_hole",
    "update_in_flight",
    "snapshot_evicted",
    "snapshot_unused",
    "snapshot_incomplete",
    "after_newest_snapshot",
)
SYNC_CAUSES = ("sync_in_flight", "after_last_sync")
"""Causes of subscriptions with acknowledgement-state sync only.

They are counted in runs whose family may have such subscriptions.
"""
SYNC_FAMILY = "tenant-migration"
DUPLICATE = [*FAILOVER, "producer", "sequence_id"]


def causes_of(family: str) -> tuple[str, ...]:
    """The causes that a family's runs may have, in their order."""
    return tuple(name for name in CAUSES if family == SYNC_FAMILY or name not in SYNC_CAUSES)


def duplicates(judged: DataFrame, ends: DataFrame) -> DataFrame:
    """The duplicates with the columns that decide their causes; ended_seq is the end of X's part."""
    at_end = F.broadcast(ends.select(*FAILOVER, "topic", F.col("cluster").alias("ack_cluster"), "ended_seq"))
    return (
        judged.filter(F.col("verdict") == "duplicate")
        .join(at_end, [*FAILOVER, "topic", "ack_cluster"], "left")
        .select(
            *DUPLICATE,
            "subscription",
            "topic",
            "cluster",
            "client",
            "seq",
            "at_us",
            "place",
            "stored_seq",
            "ack_seq",
            "ack_us",
            "ack_cluster",
            "ack_place",
            "key",
            "origin",
            F.coalesce("ended_seq", "failover_seq").alias("ended_seq"),
        )
    )


def held(rows: DataFrame, duplicates: DataFrame) -> DataFrame:
    """The copies and recorded acks of each duplicate in logs and cursors, for `copies`.

    Columns: DUPLICATE, of_subscription, topic, target, delivered_seq, stored_us (of p), earlier_place and
    earlier_seq (the first entry before p), earlier_registered, registered_at_x, registered_at_b_seq.
    """
    wanted = duplicates.select(
        *DUPLICATE,
        F.col("subscription").alias("of_subscription"),
        "topic",
        "ack_cluster",
        "ended_seq",
        F.col("cluster").alias("target"),
        F.col("seq").alias("delivered_seq"),
        F.col("place").alias("p"),
    )
    found = rows.filter(is_type("message.stored", "message.registered")).select(
        "run",
        "producer",
        "sequence_id",
        "topic",
        "seq",
        "at_us",
        "type",
        "cluster",
        "subscription",
        place().alias("here"),
    )
    met = found.join(wanted, ["run", "producer", "sequence_id", "topic"], "inner")
    stored, registered = F.col("type") == "message.stored", F.col("type") == "message.registered"
    at_b = F.col("cluster") == F.col("target")
    mine = registered & (F.col("subscription") == F.col("of_subscription"))
    earlier = stored & at_b & (F.col("here") < F.col("p")) & (F.col("seq") <= F.col("delivered_seq"))
    return met.groupBy(*DUPLICATE, "of_subscription", "topic", "target", "delivered_seq").agg(
        first_seq(stored & at_b & (F.col("here") == F.col("p")), "at_us").alias("stored_us"),
        F.min(F.when(earlier, F.col("here"))).alias("earlier_place"),
        first_seq(earlier).alias("earlier_seq"),
        F.max(
            F.when(
                mine & at_b & (F.col("here") < F.col("p")) & (F.col("seq") <= F.col("delivered_seq")),
                F.col("here"),
            )
        ).alias("earlier_registered"),
        F.bool_or(
            mine & (F.col("cluster") == F.col("ack_cluster")) & (F.col("seq") <= F.col("ended_seq"))
        ).alias("registered_at_x"),
        F.max(
            F.when(
                mine & at_b & (F.col("here") == F.col("p")) & (F.col("seq") <= F.col("delivered_seq")),
                F.col("seq"),
            )
        ).alias("registered_at_b_seq"),
    )


def copies(held: DataFrame, lost_acks: DataFrame, marks: DataFrame) -> DataFrame:
    """What `held` means for each duplicate.

    Columns: DUPLICATE, stored_us (of p), earlier_copy_seq (covered at delivery), registered_at_x,
    registered_at_b_seq, forgotten_at_b.
    """
    return _resent(_forgotten(held, lost_acks), marks)


def _forgotten(held: DataFrame, lost_acks: DataFrame) -> DataFrame:
    """Add whether the target's own record of p's ack was lost before the delivery."""
    gone = lost_acks.select(*CURSOR, "forgot_seq").withColumnsRenamed(
        {"cluster": "target", "subscription": "of_subscription"}
    )
    met = held.filter(F.col("registered_at_b_seq").isNotNull()).join(
        F.broadcast(gone), ["run", "target", "topic", "of_subscription"], "inner"
    )
    after = met.filter(
        (F.col("forgot_seq") > F.col("registered_at_b_seq")) & (F.col("forgot_seq") <= F.col("delivered_seq"))
    )
    marked = after.select(*DUPLICATE).distinct().withColumn("forgotten_at_b", F.lit(True))
    return held.join(marked, DUPLICATE, "left").withColumn(
        "forgotten_at_b", F.coalesce("forgotten_at_b", F.lit(False))
    )


def _resent(held: DataFrame, marks: DataFrame) -> DataFrame:
    """Add whether an earlier entry of the same message was covered at the delivery.

    Few messages have one.
    """
    twice = held.filter(F.col("earlier_place").isNotNull())
    stood = marks.withColumnsRenamed(
        {"cluster": "target", "subscription": "of_subscription", "seq": "mark_seq"}
    )
    at = twice.join(stood, ["run", "target", "topic", "of_subscription"], "inner").filter(
        F.col("mark_seq") <= F.col("delivered_seq")
    )
    mark = at.groupBy(*DUPLICATE).agg(F.max_by("mark", "mark_seq").alias("mark_then"))
    covered = (F.col("mark_then") >= F.col("earlier_place")) | F.col("earlier_registered").isNotNull()
    return held.join(mark, DUPLICATE, "left").select(
        *DUPLICATE,
        "stored_us",
        F.when(covered, F.col("earlier_seq")).alias("earlier_copy_seq"),
        F.coalesce("registered_at_x", F.lit(False)).alias("registered_at_x"),
        "registered_at_b_seq",
        "forgotten_at_b",
    )


def went_back(duplicates: DataFrame, backward_steps: DataFrame) -> DataFrame:
    """Duplicates whose position the target's mark-delete passed and fell below before the delivery.

    Columns: DUPLICATE, back_seq.
    """
    same = ["run", "cluster", "topic", "subscription"]
    met = duplicates.select(*DUPLICATE, *same[1:], "seq", "place").join(
        F.broadcast(backward_steps), same, "inner"
    )
    fell = met.filter(
        (F.col("low") < F.col("place"))
        & (F.col("place") <= F.col("high"))
        & (F.col("back_seq") <= F.col("seq"))
    )
    return fell.groupBy(*DUPLICATE).agg(F.max("back_seq").alias("back_seq")).select(*DUPLICATE, "back_seq")


def explained(
    duplicates: DataFrame, copies: DataFrame, went_back: DataFrame, reported: DataFrame, parties: DataFrame
) -> DataFrame:
    """Each duplicate with its `cause` and `evidence_seq`.

    The evidence is the deciding row beside delivery and acknowledgement. `reported` is from
    `transforms.sync`. `parties` holds every threshold of `transforms.parties` and the columns that
    `sync.synced` adds.
    """
    known = parties.select(*PARTY, *_THRESHOLDS).withColumnRenamed("x", "ack_cluster")
    with_evidence = (
        duplicates.join(copies, DUPLICATE, "left")
        .join(went_back, DUPLICATE, "left")
        .join(reported, DUPLICATE, "left")
        .join(F.broadcast(known), [*FAILOVER, "topic", "ack_cluster"], "left")
    )
    holds = _conditions()
    cause = reduce(
        lambda chain, name: chain.when(holds[name], name), CAUSES[1:-1], F.when(holds[CAUSES[0]], CAUSES[0])
    )
    evidence = _evidence()
    chain = reduce(
        lambda chain, name: chain.when(F.col("cause") == name, evidence[name]),
        list(evidence)[1:],
        F.when(F.col("cause") == next(iter(evidence)), next(iter(evidence.values()))),
    )
    return (
        with_evidence.withColumn("cause", cause.otherwise(CAUSES[-1]))
        .withColumn("evidence_seq", chain)
        .select(*duplicates.columns, "cause", "evidence_seq", "mark_x", "mark_x_seq")
    )


_THRESHOLDS = (
    "mark_x",
    "mark_x_seq",
    "mark_b",
    "missing_at_target",
    "replicated",
    "reach_us",
    "late_update",
    "late_update_seq",
    "prompt_update",
    "evicted_snapshot",
    "evicted_seq",
    "unused_snapshot",
    "unused_seq",
    "attempt_us",
    "attempt_seq",
    "synchronises",
    "reported_mark",
    "newest_request_seq",
)


def _conditions() -> dict[str, Column]:
    own = F.col("ack_cluster") == F.col("cluster")  # X is the target itself
    p = F.col("place")
    passed_at_x = F.coalesce(F.col("mark_x") >= F.col("ack_place"), F.lit(False))
    dispatched = F.coalesce(F.col("mark_b") >= p, F.lit(False))
    synchronises = F.coalesce("synchronises", F.lit(False))
    reported = F.col("reported_seq").isNotNull() | F.coalesce(
        F.col("reported_mark") >= F.col("ack_place"), F.lit(False)
    )
    return {
        "resent_copy": F.col("earlier_copy_seq").isNotNull(),
        "subscription_missing": F.col("missing_at_target"),
        "not_replicated": ~own & ~F.col("replicated") & ~synchronises,
        "cursor_went_back": F.col("back_seq").isNotNull()
        | F.coalesce("forgotten_at_b", F.lit(False))
        | (own & F.col("registered_at_b_seq").isNotNull()),
        "ack_not_registered": ~(F.coalesce("registered_at_x", F.lit(False)) | (~own & passed_at_x)),
        "not_in_target_yet": F.col("stored_seq") > F.col("failover_seq"),
        "sync_in_flight": synchronises & reported,
        "after_last_sync": synchronises,
        "ack_hole": ~passed_at_x,
        "update_in_flight": (p <= F.col("late_update")) | (dispatched & (p <= F.col("prompt_update"))),
        "snapshot_evicted": p <= F.col("evicted_snapshot"),
        "snapshot_unused": p <= F.col("unused_snapshot"),
        "snapshot_incomplete": ~own & (F.col("stored_us") <= F.col("attempt_us") + F.col("reach_us")),
    }


def _evidence() -> dict[str, Column]:
    return {
        "resent_copy": F.col("earlier_copy_seq"),
        "subscription_missing": F.col("failover_seq"),
        "not_replicated": F.col("ended_seq"),
        "cursor_went_back": F.coalesce("back_seq", "registered_at_b_seq"),
        "ack_not_registered": F.col("ended_seq"),
        "not_in_target_yet": F.col("stored_seq"),
        "sync_in_flight": F.coalesce("reported_seq", "newest_request_seq"),
        "after_last_sync": F.coalesce("newest_request_seq", "ended_seq"),
        "ack_hole": F.col("mark_x_seq"),
        "update_in_flight": F.col("late_update_seq"),
        "snapshot_evicted": F.col("evicted_seq"),
        "snapshot_unused": F.col("unused_seq"),
        "snapshot_incomplete": F.col("attempt_seq"),
        "after_newest_snapshot": F.col("mark_x_seq"),
    }


def origin_counts(explained: DataFrame) -> DataFrame:
    """Duplicates by failover, cause and the cluster in which they were published."""
    return (
        explained.groupBy(*FAILOVER, "cause", "origin")
        .agg(F.count("*").alias("duplicates"))
        .select(*FAILOVER, "cause", "origin", "duplicates")
    )


def cause_counts(explained: DataFrame) -> DataFrame:
    """Duplicates by failover and cause, with the earliest as the example."""
    example = F.struct(
        "producer",
        "sequence_id",
        "topic",
        "client",
        "ack_cluster",
        "origin",
        "key",
        "seq",
        "at_us",
        "ack_seq",
        "ack_us",
        "evidence_seq",
        "place",
        "ack_place",
        "mark_x",
    )
    return (
        explained.groupBy(*FAILOVER, "cause")
        .agg(
            F.count("*").alias("duplicates"),
            F.min_by(example, "seq").alias("example"),
            F.max_by(example, "seq").alias("last_example"),
        )
        .select(*FAILOVER, "cause", "duplicates", "example", "last_example")
    )
