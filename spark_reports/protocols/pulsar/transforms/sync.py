"""Acknowledgement-state sync: which acks X had sent to the target of each duplicate by X's end.

Rules: a request contains all acks that X's cursor covered when it was sent. So only a few requests decide,
the `sync_requests`: the newest, and the last before each time that X's cursor lost acks. Synced acks remain
valid until an operator resets or deletes X's cursor and X has sent that. Earlier requests do not count.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.protocols.pulsar.transforms.causes import DUPLICATE
from spark_reports.protocols.pulsar.transforms.cursors import CURSOR
from spark_reports.protocols.pulsar.transforms.parties import PARTY
from spark_reports.transforms.places import NEVER, is_type, place


def _requests(rows: DataFrame, parties: DataFrame, marks: DataFrame) -> DataFrame:
    """The requests that count: PARTY, subscription, sent_seq, mark (X's mark-delete then)."""
    asked = parties.select(*PARTY, "subscription", "target", "ended_seq")
    sent = rows.filter(is_type("acknowledgements.sent")).select(
        "run",
        F.col("cluster").alias("x"),
        F.col("peer").alias("target"),
        "topic",
        "subscription",
        F.col("seq").alias("sent_seq"),
        place().alias("mark"),
    )
    met = sent.join(F.broadcast(asked), ["run", "x", "target", "topic", "subscription"], "inner").filter(
        F.col("sent_seq") <= F.col("ended_seq")
    )
    newest = met.groupBy(*PARTY, "subscription").agg(F.max("sent_seq").alias("newest_seq"))
    anew = marks.filter((F.col("type") == "subscription.created") | (F.col("reason") == "reset")).select(
        "run", F.col("cluster").alias("x"), "topic", "subscription", F.col("seq").alias("anew_seq")
    )
    began = (
        newest.join(anew, ["run", "x", "topic", "subscription"], "left")
        .groupBy(*PARTY)
        .agg(F.max(F.when(F.col("anew_seq") < F.col("newest_seq"), F.col("anew_seq"))).alias("began_seq"))
    )
    return (
        met.join(began, PARTY, "left")
        .filter(F.col("sent_seq") > F.coalesce("began_seq", F.lit(-1)))
        .select(*PARTY, "subscription", "sent_seq", "mark")
    )


def synced(rows: DataFrame, parties: DataFrame, marks: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """The sync of each party.

    Columns: PARTY, synchronises, reported_mark (the furthest mark-delete that X sent), newest_request_seq.
    """
    of_tenant = (
        rows.filter(is_type("migration.started") & (F.col("reason") == "acknowledgement-sync"))
        .groupBy("run", "tenant")
        .agg(F.min("seq").alias("since_seq"))
    )
    synchronises = subscriptions.select("run", "subscription", "synchronises", "tenant").join(
        of_tenant, ["run", "tenant"], "left"
    )
    furthest = (
        _requests(rows, parties, marks)
        .groupBy(*PARTY)
        .agg(F.max("mark").alias("reported_mark"), F.max("sent_seq").alias("newest_request_seq"))
    )
    return (
        parties.join(F.broadcast(synchronises), ["run", "subscription"], "left")
        .join(furthest, PARTY, "left")
        .select(
            *PARTY,
            (
                F.coalesce("synchronises", F.lit(False))
                | F.coalesce(F.col("since_seq") < F.col("failover_seq"), F.lit(False))
            ).alias("synchronises"),
            "reported_mark",
            "newest_request_seq",
        )
    )


def nothing_synced(parties: DataFrame) -> DataFrame:
    """The result of `synced` if no subscription has acknowledgement-state sync."""
    none = F.lit(None).cast("long")
    return parties.select(
        *PARTY,
        F.lit(False).alias("synchronises"),
        none.alias("reported_mark"),
        none.alias("newest_request_seq"),
    )


def nothing_reported(duplicates: DataFrame) -> DataFrame:
    """The result of `reported_acks` if no subscription has acknowledgement-state sync."""
    return duplicates.filter(F.lit(False)).select(*DUPLICATE, F.lit(None).cast("long").alias("reported_seq"))


def lost_acks(rows: DataFrame) -> DataFrame:
    """Rows after which individual acknowledgements may be lost.

    Columns: CURSOR, forgot_seq, kept_seq, kept_count, held_count, mark. In a recovery, acks recorded up to
    kept_seq were persisted, in held_count entries. kept_count of them were recovered, those with the lowest
    positions above `mark`. After a reset or deletion nothing is kept: kept_seq is -1.
    """
    reset = (F.col("type") == "cursor.moved") & (F.col("reason") == "reset")
    gone, recovered = (
        reset | is_type("cursor.recovered", "subscription.deleted"),
        F.col("type") == "cursor.recovered",
    )
    of_cursor = rows.filter(gone | is_type("subscription.created", "cursor.persisted"))
    held = F.when(F.col("type") == "cursor.persisted", F.struct("seq", "count")).when(
        F.col("type") == "subscription.created",
        F.struct(F.lit(-1).cast("long").alias("seq"), F.lit(0).cast("long").alias("count")),
    )
    before = Window.partitionBy(*CURSOR).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    known = of_cursor.withColumn("held", F.last(held, ignorenulls=True).over(before)).filter(gone)
    return known.select(
        *CURSOR,
        F.col("seq").alias("forgot_seq"),
        F.when(recovered, F.coalesce("held.seq", F.lit(-1))).otherwise(F.lit(-1)).alias("kept_seq"),
        F.coalesce("count", F.lit(0)).alias("kept_count"),
        F.coalesce("held.count", F.lit(0)).alias("held_count"),
        place().alias("mark"),
    )


def limits(rows: DataFrame, lost_acks: DataFrame) -> DataFrame:
    """Recoveries that brought back fewer entries than were held.

    Columns: CURSOR, forgot_seq, kept_place (the last recovered position).
    """
    cut = lost_acks.filter((F.col("kept_seq") >= 0) & (F.col("kept_count") < F.col("held_count")))
    entries = rows.filter(is_type("message.registered", "marker.filtered")).select(
        *CURSOR, "seq", place().alias("here")
    )
    held = entries.join(F.broadcast(cut), list(CURSOR), "inner").filter(
        (F.col("seq") <= F.col("kept_seq")) & (F.col("here") > F.col("mark"))
    )
    ranked = (
        held.select(*CURSOR, "forgot_seq", "kept_count", "mark", "here")
        .distinct()
        .withColumn("rank", F.row_number().over(Window.partitionBy(*CURSOR, "forgot_seq").orderBy("here")))
    )
    upto = F.max(F.when(F.col("rank") <= F.col("kept_count"), F.col("here")))
    return ranked.groupBy(*CURSOR, "forgot_seq").agg(F.coalesce(upto, F.max("mark")).alias("kept_place"))


def sync_requests(rows: DataFrame, parties: DataFrame, marks: DataFrame) -> DataFrame:
    """The requests that decide about each party: PARTY, subscription, sent_seq."""
    gone = lost_acks(rows).select("run", F.col("cluster").alias("x"), "topic", "subscription", "forgot_seq")
    met = _requests(rows, parties, marks).join(
        F.broadcast(gone), ["run", "x", "topic", "subscription"], "left"
    )
    upto = met.groupBy(*PARTY, "subscription", "sent_seq").agg(
        F.min(F.when(F.col("forgot_seq") > F.col("sent_seq"), F.col("forgot_seq"))).alias("until_seq")
    )
    return (
        upto.groupBy(*PARTY, "subscription", "until_seq")
        .agg(F.max("sent_seq").alias("sent_seq"))
        .select(*PARTY, "subscription", "sent_seq")
    )


def reported_acks(
    rows: DataFrame, duplicates: DataFrame, sync_requests: DataFrame, lost_acks: DataFrame, limits: DataFrame
) -> DataFrame:
    """Duplicates with an individual ack in a request: DUPLICATE, reported_seq (the first such request)."""
    cursor = ["run", "x", "topic", "subscription"]
    wanted = duplicates.select(
        *DUPLICATE, "topic", "subscription", F.col("ack_cluster").alias("x"), "ack_place"
    ).join(
        F.broadcast(sync_requests.select(*PARTY, "subscription").distinct()),
        [*PARTY, "subscription"],
        "leftsemi",
    )
    taken = rows.filter(is_type("message.registered")).select(
        "run",
        F.col("cluster").alias("x"),
        "topic",
        "subscription",
        "producer",
        "sequence_id",
        place().alias("ack_place"),
        F.col("seq").alias("taken_seq"),
    )
    held = taken.join(wanted, [*cursor, "producer", "sequence_id", "ack_place"], "inner")
    gone = (
        lost_acks.join(limits, [*CURSOR, "forgot_seq"], "left")
        .select(*CURSOR, "forgot_seq", "kept_seq", "kept_place")
        .withColumnRenamed("cluster", "x")
    )
    after = held.join(F.broadcast(gone), cursor, "left")
    survived = (F.col("taken_seq") <= F.col("kept_seq")) & (
        F.col("ack_place") <= F.coalesce("kept_place", F.lit(NEVER))
    )
    forgotten = (F.col("forgot_seq") > F.col("taken_seq")) & ~survived
    ended = after.groupBy(*DUPLICATE, "x", "topic", "subscription", "taken_seq").agg(
        F.coalesce(F.min(F.when(forgotten, F.col("forgot_seq"))), F.lit(NEVER)).alias("until_seq")
    )
    found = ended.join(F.broadcast(sync_requests), [*PARTY, "subscription"], "inner")
    return (
        found.filter((F.col("sent_seq") > F.col("taken_seq")) & (F.col("sent_seq") < F.col("until_seq")))
        .groupBy(*DUPLICATE)
        .agg(F.min("sent_seq").alias("reported_seq"))
        .select(*DUPLICATE, "reported_seq")
    )
