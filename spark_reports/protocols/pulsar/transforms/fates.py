"""The fate of each message of a failover: not replicated, lost and why, expired, skipped or covered.

Rules: `stranded` (not replicated) is evaluated at the failover, lost at the end of the window. A subscription
should receive every message stored after a consumer or an operator opened its cursor in some cluster. A
cursor opened by an Update does not count. A message that the client dropped at the target, because of its
last cumulative ack in another cluster, is lost from the first drop on, unless it was delivered there after
the last. Of several copies in the target the highest decides, since it is the last to be covered or removed.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.protocols.pulsar.transforms.cursors import CURSOR
from spark_reports.transforms.places import FAILOVER, NEVER, first_seq, is_type, place

LOST_CAUSES = (
    "subscription_began_after",
    "cursor_moved_past",
    "never_replicated",
    "removed",
    "dropped_by_client",
    "evicted_by_quota",
)
FATE = [*FAILOVER, "topic", "producer", "sequence_id"]
_OF_MESSAGE = (
    "message.receipted",
    "message.stored",
    "message.removed",
    "message.acknowledged",
    "message.delivered",
    "message.expired",
    "message.skipped",
    "message.evicted",
    "message.not-replicated",
    "message.deduplicated",
    "message.dropped",
)


def scopes(failovers: DataFrame, failover_topics: DataFrame, ends: DataFrame) -> DataFrame:
    """The failovers' topics, one row per failover and topic.

    Columns: FAILOVER, topic, subscription, source, target, failover_us, end_seq, source_ended_seq.
    """
    ended = ends.select(
        *FAILOVER, F.col("cluster").alias("source"), F.col("ended_seq").alias("source_ended_seq")
    )
    return (
        failovers.join(failover_topics, list(FAILOVER), "inner")
        .join(ended, [*FAILOVER, "source"], "left")
        .select(
            *FAILOVER,
            "topic",
            "subscription",
            "source",
            "target",
            "failover_us",
            "end_seq",
            F.coalesce("source_ended_seq", "failover_seq").alias("source_ended_seq"),
        )
    )


TOLD = ("update", "acknowledgement-sync", "migration")
"""Reasons for which another cluster's state opens a cursor here. Such a cursor does not count."""


def opened(marks: DataFrame, scopes: DataFrame) -> DataFrame:
    """The subscription's cursors that consumers or operators opened by the window's end.

    Columns: FAILOVER, topic, cluster, opened_mark, opened_bit. Each such cluster has its own bit within its
    failover and topic, so that sets of clusters are integers.
    """
    created = marks.filter((F.col("type") == "subscription.created") & ~F.col("reason").isin(*TOLD))
    met = created.join(
        F.broadcast(scopes.select(*FAILOVER, "topic", "subscription", "end_seq")),
        ["run", "topic", "subscription"],
        "inner",
    )
    first = (
        met.filter(F.col("seq") < F.col("end_seq"))
        .groupBy(*FAILOVER, "topic", "cluster")
        .agg(F.min("mark").alias("opened_mark"))
    )
    place_of = F.row_number().over(Window.partitionBy(*FAILOVER, "topic").orderBy("cluster"))
    return first.withColumn("number", place_of).select(
        *FAILOVER, "topic", "cluster", "opened_mark", F.expr("shiftleft(1L, number - 1)").alias("opened_bit")
    )


def _owed(stored: Column) -> Column:
    """Whether the subscription should receive the message in some cluster where its cursor was opened.

    It should if that cluster had no copy of it, or one above the cursor's first position.
    """
    has_copy = F.coalesce(F.bit_or(F.when(stored, F.col("opened_bit"))), F.lit(0))
    has_above = F.coalesce(
        F.bit_or(F.when(stored & (F.col("place") > F.col("opened_mark")), F.col("opened_bit"))), F.lit(0)
    )
    return F.bool_or(stored) & (
        F.max("opened_bits").bitwiseAND(F.bitwise_not(has_copy).bitwiseOR(has_above)) != 0
    )


def fates(rows: DataFrame, scopes: DataFrame, opened: DataFrame, unsettled: DataFrame) -> DataFrame:
    """The first (or deciding) seq of everything that happened to each message of `unsettled`.

    It has one row per failover and message.
    """
    messages = unsettled.select("run", "topic", "producer", "sequence_id").distinct()
    found = rows.filter(is_type(*_OF_MESSAGE)).join(
        messages, ["run", "topic", "producer", "sequence_id"], "leftsemi"
    )
    found = found.select(
        "run",
        "topic",
        "producer",
        "sequence_id",
        "seq",
        "at_us",
        "type",
        "cluster",
        "peer",
        F.col("subscription").alias("of"),
        F.col("reason"),
        place().alias("place"),
    )
    bits = opened.groupBy(*FAILOVER, "topic").agg(F.bit_or("opened_bit").alias("opened_bits"))
    met = (
        found.join(F.broadcast(scopes.join(bits, [*FAILOVER, "topic"], "left")), ["run", "topic"], "inner")
        .filter(F.col("of").isNull() | (F.col("of") == F.col("subscription")))
        .join(F.broadcast(opened), [*FAILOVER, "topic", "cluster"], "left")
    )
    met = met.join(unsettled, FATE, "leftsemi")
    return met.groupBy(*FATE, "subscription", "source", "target", "end_seq", "source_ended_seq").agg(
        *_deciding_rows()
    )


def _deciding_rows() -> list[Column]:
    """The columns of `fates`, over the rows of one failover and message."""
    stored, removed = F.col("type") == "message.stored", F.col("type") == "message.removed"
    by_end = F.col("seq") < F.col("end_seq")
    at_source, at_target = F.col("cluster") == F.col("source"), F.col("cluster") == F.col("target")
    native = stored & F.col("peer").isNull() & ~at_target & by_end
    to_target = (F.col("type") == "message.not-replicated") & (F.col("peer") == F.col("target"))
    deduplicated = (F.col("type") == "message.deduplicated") & at_target
    newest = F.when(native, F.col("place"))
    dropped = (F.col("type") == "message.dropped") & at_target & by_end & (F.col("peer") != F.col("target"))
    delivered_there = (F.col("type") == "message.delivered") & at_target & by_end
    return [
        first_seq(F.col("type") == "message.receipted").alias("receipted_seq"),
        first_seq(F.col("type") == "message.acknowledged").alias("acknowledged_seq"),
        first_seq(F.col("type") == "message.acknowledged", "at_us").alias("acknowledged_us"),
        first_seq(F.col("type") == "message.delivered").alias("delivered_seq"),
        F.max(F.when(F.col("type") == "message.delivered", F.col("seq"))).alias("last_delivered_seq"),
        first_seq(F.col("type") == "message.expired").alias("expired_seq"),
        first_seq(F.col("type") == "message.expired", "at_us").alias("expired_us"),
        first_seq(F.col("type") == "message.skipped").alias("skipped_seq"),
        first_seq(F.col("type") == "message.skipped", "at_us").alias("skipped_us"),
        first_seq(F.col("type") == "message.evicted").alias("evicted_seq"),
        first_seq(to_target & by_end & (F.col("reason") == "backlog-quota")).alias("unsent_by_quota_seq"),
        first_seq(stored & at_source).alias("stored_source_seq"),
        F.max(F.when(removed & at_source, F.col("seq"))).alias("removed_source_seq"),
        first_seq(stored & at_target).alias("stored_target_seq"),
        F.max(F.when(stored & at_target, F.col("seq"))).alias("last_stored_target_seq"),
        F.max(F.when(stored & at_target & by_end, F.col("place"))).alias("target_place"),
        F.max(F.when(removed & at_target & by_end, F.struct("place", "seq", "at_us"))).alias(
            "removed_target"
        ),
        F.max(newest).alias("origin_place"),
        F.max_by("cluster", newest).alias("origin"),
        F.max(F.when(removed & ~at_target & by_end, F.struct("place", "cluster", "seq"))).alias(
            "removed_origin"
        ),
        first_seq(to_target & by_end).alias("passed_over_seq"),
        first_seq(deduplicated & by_end).alias("deduplicated_seq"),
        first_seq(dropped).alias("dropped_seq"),
        first_seq(dropped, "at_us").alias("dropped_us"),
        F.max(F.when(dropped, F.col("seq"))).alias("last_dropped_seq"),
        F.max(F.when(delivered_there, F.col("seq"))).alias("last_delivered_there_seq"),
        F.coalesce(_owed(stored), F.lit(False)).alias("owed"),
    ]


def lost_clusters(rows: DataFrame) -> DataFrame:
    """Clusters lost permanently: run, cluster, lost_seq, lost_us."""
    return (
        rows.filter(is_type("cluster.lost"))
        .groupBy("run", "cluster")
        .agg(F.min("seq").alias("lost_seq"), F.min("at_us").alias("lost_us"))
        .select("run", "cluster", "lost_seq", "lost_us")
    )


def covered(fates: DataFrame, marks: DataFrame, scopes: DataFrame) -> DataFrame:
    """The row from which on the target's mark-delete covered each open message up to the window's end.

    Columns: FATE, covered_seq, covered_us, covered_by. Open: in the target, not acknowledged before the
    failover. The rows of the cursor and the messages are merged by position in one sort, without a join.
    """
    steps = marks.join(
        F.broadcast(scopes.withColumnRenamed("target", "cluster")), list(CURSOR), "inner"
    ).filter(F.col("seq") < F.col("end_seq"))
    onward = (
        Window.partitionBy(*FAILOVER, "topic")
        .orderBy("seq")
        .rowsBetween(Window.currentRow, Window.unboundedFollowing)
    )
    step = F.struct("seq", "at_us", "type")
    empty = F.lit(None).cast("string")
    lowest = steps.select(
        *FAILOVER,
        "topic",
        empty.alias("producer"),
        F.lit(None).cast("long").alias("sequence_id"),
        F.min("mark").over(onward).alias("place"),
        step.alias("step"),
    )
    open_ = fates.filter(
        F.col("target_place").isNotNull()
        & (F.coalesce("acknowledged_seq", F.lit(NEVER)) > F.col("failover_seq"))
    )
    entries = open_.select(
        *FATE,
        F.col("target_place").alias("place"),
        F.lit(None).cast(lowest.schema["step"].dataType).alias("step"),
    )
    downward = Window.partitionBy(*FAILOVER, "topic").orderBy(F.col("place").desc(), F.col("step").isNull())
    since = F.min("step").over(downward.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    merged = lowest.unionByName(entries).withColumn("since", since)
    return merged.filter(F.col("producer").isNotNull() & F.col("since").isNotNull()).select(
        *FATE,
        F.col("since.seq").alias("covered_seq"),
        F.col("since.at_us").alias("covered_us"),
        F.col("since.type").alias("covered_by"),
    )


def replicators(rows: DataFrame, scopes: DataFrame) -> DataFrame:
    """Replication cursors to the target at the window's end.

    Columns: FAILOVER, topic, origin, sends (whether there is one), begins (its first mark-delete).
    """
    events = rows.filter(is_type("replicator.created", "replicator.removed")).select(
        "run",
        "topic",
        "seq",
        "type",
        F.col("cluster").alias("origin"),
        F.col("peer").alias("target"),
        place().alias("begin"),
    )
    met = events.join(F.broadcast(scopes), ["run", "topic", "target"], "inner").filter(
        F.col("seq") < F.col("end_seq")
    )
    latest = met.groupBy(*FAILOVER, "topic", "origin").agg(
        F.max_by(F.struct("type", "begin"), "seq").alias("latest")
    )
    return latest.select(
        *FAILOVER,
        "topic",
        "origin",
        (F.col("latest.type") == "replicator.created").alias("sends"),
        F.col("latest.begin").alias("begins"),
    )


def settled(
    fates: DataFrame, covered: DataFrame, replicators: DataFrame, lost_clusters: DataFrame
) -> DataFrame:
    """The verdicts on each message.

    They are stranded (with unprocessed, returned), `fate` (lost, expired, skipped, null), lost cause, and the
    caught-up instant.
    """
    found = fates.join(covered, FATE, "left").join(
        F.broadcast(replicators), [*FAILOVER, "topic", "origin"], "left"
    )
    for role in ("target", "origin", "source"):
        lost = lost_clusters.select(
            "run",
            F.col("cluster").alias(role),
            F.col("lost_seq").alias(f"{role}_lost_seq"),
            *([F.col("lost_us").alias("target_lost_us")] if role == "target" else []),
        )
        found = found.join(F.broadcast(lost), ["run", role], "left")
    found = _with_going(found)
    left = _by(F.col("stored_source_seq"), F.col("failover_seq")) & ~_by(
        F.col("stored_target_seq"), F.col("failover_seq")
    )
    kept = F.least(
        F.coalesce("removed_source_seq", F.lit(NEVER)), F.coalesce("source_lost_seq", F.lit(NEVER))
    ) > F.col("source_ended_seq")
    stranded = left & kept & _by(F.col("receipted_seq"), F.col("failover_seq"))
    unprocessed = stranded & ~_by(F.col("acknowledged_seq"), F.col("failover_seq"))
    returned = stranded & (F.col("last_stored_target_seq") > F.col("failover_seq"))
    closed = F.col("end_seq") - 1
    open_ = F.col("owed") & _by(F.col("receipted_seq"), closed) & ~_by(F.col("acknowledged_seq"), closed)
    gone = open_ & F.col("gone_seq").isNotNull()
    fate = F.when(
        gone,
        F.when(_by(F.col("expired_seq"), closed), "expired")
        .when(_by(F.col("skipped_seq"), closed), "skipped")
        .otherwise("lost"),
    )
    return found.select(
        *FATE,
        "subscription",
        "end_seq",
        stranded.alias("stranded"),
        unprocessed.alias("stranded_unprocessed"),
        returned.alias("stranded_returned"),
        (unprocessed & ~F.coalesce(returned, F.lit(False))).alias("stranded_missing"),
        fate.alias("fate"),
        F.when(fate == "lost", F.col("gone_cause")).alias("lost_cause"),
        (F.col("last_delivered_seq") >= F.col("end_seq")).alias("recovered"),
        (F.col("delivered_seq") < F.col("end_seq")).alias("delivered_before"),
        _held(found).alias("held_at_failover"),
        *_resolved(),
    )


def _by(seq: Column, limit: Column) -> Column:
    """Whether it happened, at or before the limit."""
    return F.coalesce(seq <= limit, F.lit(False))


def _held(found: DataFrame) -> Column:
    gone_by = F.least(
        F.coalesce("removed_target.seq", F.lit(NEVER)), F.coalesce("target_lost_seq", F.lit(NEVER))
    )
    return _by(F.col("stored_target_seq"), F.col("failover_seq")) & (gone_by > F.col("failover_seq"))


def _resolved() -> list[Column]:
    """The first row that settled the message, and its instant.

    A message is settled when it is acknowledged, expired, skipped or can no longer be delivered.
    """
    ways = (
        ("acknowledged_seq", "acknowledged_us"),
        ("expired_seq", "expired_us"),
        ("skipped_seq", "skipped_us"),
        ("gone_seq", "gone_us"),
    )
    least = F.least(
        *(
            F.when(F.col(seq).isNotNull(), F.struct(F.col(seq).alias("seq"), F.col(at).alias("at_us")))
            for seq, at in ways
        )
    )
    return [least["seq"].alias("resolved_seq"), least["at_us"].alias("resolved_us")]


def _with_going(found: DataFrame) -> DataFrame:
    """Add when and why the target can no longer deliver it: gone_seq (null: it can), gone_us, gone_cause."""
    closed = F.col("end_seq") - 1
    present = F.col("target_place").isNotNull()
    highest = F.when(
        F.col("removed_target.place") == F.col("target_place"),
        F.struct("removed_target.seq", "removed_target.at_us"),
    )
    dead = F.when(
        _by(F.col("target_lost_seq"), closed),
        F.struct(F.col("target_lost_seq").alias("seq"), F.col("target_lost_us").alias("at_us")),
    )
    removed = F.least(highest, dead)
    by_mark = F.when(
        F.col("covered_seq").isNotNull(),
        F.struct(F.col("covered_seq").alias("seq"), F.col("covered_us").alias("at_us")),
    )
    by_client = F.when(
        F.col("last_dropped_seq") > F.coalesce("last_delivered_there_seq", F.lit(-1)),
        F.struct(F.col("dropped_seq").alias("seq"), F.col("dropped_us").alias("at_us")),
    )
    going = F.least(removed, by_mark, by_client)
    was_removed = F.coalesce(removed["seq"] <= F.coalesce(by_mark["seq"], F.lit(NEVER)), F.lit(False))
    why = (
        F.when(F.coalesce(by_client["seq"] == going["seq"], F.lit(False)), "dropped_by_client")
        .when(was_removed, "removed")
        .when(F.col("covered_by") == "subscription.created", "subscription_began_after")
        .when(_by(F.col("evicted_seq"), closed), "evicted_by_quota")
        .otherwise("cursor_moved_past")
    )
    origin_removed = (F.col("removed_origin.cluster") == F.col("origin")) & (
        F.col("removed_origin.place") >= F.col("origin_place")
    )
    unsent = (
        _by(F.col("target_lost_seq"), closed)
        | _by(F.col("origin_lost_seq"), closed)
        | ~F.coalesce("sends", F.lit(False))
        | F.coalesce(F.col("origin_place") <= F.col("begins"), F.lit(False))
        | F.col("passed_over_seq").isNotNull()
        | F.col("deduplicated_seq").isNotNull()
        | F.coalesce(origin_removed, F.lit(False))
    )
    never = ~present & F.col("origin_place").isNotNull() & unsent
    return (
        found.withColumn("gone_seq", F.when(present, going["seq"]).when(never, F.lit(-1)))
        .withColumn("gone_us", F.when(present, going["at_us"]))
        .withColumn(
            "gone_cause",
            F.when(present, why)
            .when(F.col("unsent_by_quota_seq").isNotNull(), "evicted_by_quota")
            .otherwise("never_replicated"),
        )
    )


def fate_figures(settled: DataFrame, failovers: DataFrame) -> DataFrame:
    """The counts of each failover, and `caught_up_us` (null: not inside the window)."""
    resolved = F.coalesce("resolved_seq", F.lit(NEVER))
    counted = settled.groupBy(*FAILOVER).agg(
        *(
            F.count_if(F.col(name)).alias(name)
            for name in ("stranded", "stranded_unprocessed", "stranded_returned", "stranded_missing")
        ),
        *(F.count_if(F.col("fate") == name).alias(name) for name in ("lost", "expired", "skipped")),
        F.count_if((F.col("fate") == "lost") & F.col("recovered")).alias("lost_recovered"),
        *(F.count_if(F.col("lost_cause") == name).alias(f"lost_{name}") for name in LOST_CAUSES),
        F.max(F.when(F.col("held_at_failover"), resolved)).alias("last_resolved_seq"),
        F.max(F.when(F.col("held_at_failover"), F.coalesce("resolved_us", F.lit(NEVER)))).alias(
            "last_resolved_us"
        ),
    )
    upto = F.when(
        F.coalesce("last_resolved_seq", F.lit(-1)) < F.col("end_seq"),
        F.greatest("failover_us", "last_resolved_us"),
    )
    names = [name for name in counted.columns if not name.startswith("last_") and name not in FAILOVER]
    return failovers.join(counted, list(FAILOVER), "left").select(
        *FAILOVER, *(F.coalesce(name, F.lit(0)).alias(name) for name in names), upto.alias("caught_up_us")
    )
