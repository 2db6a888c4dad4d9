"""Causes of duplicates in a durable shared subscription: the first of an ordered list that holds.

Let G be the leader's decision that lets the reader read from its position, A the latest acknowledgement
before the delivery, p the message's position. Of a lease only its furthest positions matter: "another leader
had recorded a position past p" means "p is below the furthest one". So a lease needs one number, however many
duplicates it has.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.protocols.emqx.transforms.leases import GROUP, READER, STREAM, of_group
from spark_reports.transforms.places import is_type

CAUSES = (
    "progress_unreported",
    "progress_unpersisted",
    "owner_declared_dead",
    "progress_rewound",
    "chunk_repeated",
    "leader_outdated",
)
LEASE = ("run", "lease_seq")
PARTY = (*LEASE, "ack_client")
"""Key of the duplicates of one lease that one session had acknowledged."""


def duplicates(judged: DataFrame, rows: DataFrame, leases: DataFrame) -> DataFrame:
    """The duplicates with the lease under which they were delivered.

    Columns: those of `judged`, lease_seq, decided_seq, leader. The last three are null where a session sent
    its own chunk again.
    """
    twice = judged.filter(F.col("verdict") == "duplicate")
    chunks = (
        rows.filter(is_type("chunk.fetched") & (F.col("reason") != "again"))
        .select(
            "run",
            F.col("seq").alias("chunk_seq"),
            F.col("subscription").alias("group"),
            F.col("topic").alias("stream"),
            "client",
            F.col("count").alias("borrower"),
        )
        .join(twice.select("run", "chunk_seq").distinct(), ["run", "chunk_seq"], "leftsemi")
    )
    under = chunks.join(
        leases.select(*READER, F.col("seq").alias("lease_seq"), "decided_seq", "leader"),
        list(READER),
        "inner",
    ).filter(F.col("lease_seq") < F.col("chunk_seq"))
    newest = under.groupBy("run", "chunk_seq").agg(
        F.max(F.struct("lease_seq", "decided_seq", "leader")).alias("lease")
    )
    return twice.join(newest, ["run", "chunk_seq"], "left").select(
        *twice.columns, "lease.lease_seq", "lease.decided_seq", "lease.leader"
    )


def deciding(duplicates: DataFrame) -> DataFrame:
    """The leases under which duplicates were delivered: STREAM, lease_seq, decided_seq, leader."""
    return (
        duplicates.filter(F.col("lease_seq").isNotNull())
        .select(*STREAM, "lease_seq", "decided_seq", "leader")
        .distinct()
    )


def known(rows: DataFrame, deciding: DataFrame) -> DataFrame:
    """Progress recorded before each decision.

    Columns: LEASE, decided_seq, leader, type, seq, client, who (the leader that recorded it), position.
    """
    steps = of_group(rows, "progress.told", "progress.saved", "progress.persisted", "stream.found")
    reported_steps = steps.select(*STREAM, "type", "seq", "client", F.col("count").alias("who"), "position")
    return reported_steps.join(F.broadcast(deciding), list(STREAM), "inner").filter(
        F.col("seq") < F.col("decided_seq")
    )


def furthest(known: DataFrame) -> DataFrame:
    """The furthest recorded positions of each lease before its decision.

    Columns: LEASE, persisted (in the store), elsewhere (recorded by another leader).
    """
    persisted, reported = F.col("type") == "progress.persisted", F.col("type") == "progress.told"
    return known.groupBy(*LEASE).agg(
        F.max(F.when(persisted, F.col("position"))).alias("persisted"),
        F.max(F.when(~persisted & ~reported & (F.col("who") != F.col("leader")), F.col("position"))).alias(
            "elsewhere"
        ),
    )


def after_acknowledgement(duplicates: DataFrame, known: DataFrame) -> DataFrame:
    """The progress recorded between A and G for each duplicate.

    Columns: run, seq of the duplicate, `reported` (the furthest position that its acknowledging session
    reported), `saved` (the furthest that a leader recorded).
    """
    asked = duplicates.filter(F.col("ack_seq") < F.col("decided_seq"))
    parties = asked.select(*PARTY).distinct()
    steps = known.filter(F.col("type") != "progress.persisted").join(
        F.broadcast(parties), list(LEASE), "inner"
    )
    reported = F.col("type") == "progress.told"
    mine = steps.filter(~reported | (F.col("client") == F.col("ack_client"))).select(
        *PARTY,
        F.col("seq").alias("place"),
        F.when(reported, F.col("position")).alias("reported"),
        F.when(~reported, F.col("position")).alias("saved"),
        F.lit(None).cast("long").alias("seq"),
    )
    nothing = F.lit(None).cast("long")
    questions = asked.select(
        *PARTY, F.col("ack_seq").alias("place"), nothing.alias("reported"), nothing.alias("saved"), "seq"
    )
    later = (
        Window.partitionBy(*PARTY).orderBy(F.col("place").desc()).rowsBetween(Window.unboundedPreceding, -1)
    )
    both = mine.unionByName(questions).withColumns(
        {"furthest_reported": F.max("reported").over(later), "furthest_saved": F.max("saved").over(later)}
    )
    return both.filter(F.col("seq").isNotNull()).select(
        "run", "seq", F.col("furthest_reported").alias("reported"), F.col("furthest_saved").alias("saved")
    )


def rewinds(known: DataFrame) -> DataFrame:
    """Steps of a leader to a position below an earlier one: LEASE, low, high.

    Messages from low to high (excluded) had been passed before the step, and are not after it.
    """
    kept = known.filter(F.col("type") != "progress.told")
    before = F.max("position").over(
        Window.partitionBy(*LEASE).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    )
    back = kept.withColumn("high", before).filter(
        (F.col("type") != "progress.persisted") & (F.col("position") < F.col("high"))
    )
    return back.groupBy(*LEASE, "high").agg(F.min("position").alias("low"))


def explained(duplicates: DataFrame, furthest: DataFrame, after: DataFrame, rewinds: DataFrame) -> DataFrame:
    """Every duplicate with its cause: the columns of `duplicates`, cause."""
    back = duplicates.join(F.broadcast(rewinds), list(LEASE), "inner").filter(
        (F.col("entry") >= F.col("low")) & (F.col("entry") < F.col("high"))
    )
    met = (
        duplicates.join(F.broadcast(furthest), list(LEASE), "left")
        .join(after, ["run", "seq"], "left")
        .join(back.select("run", "seq", F.lit(True).alias("back")).distinct(), ["run", "seq"], "left")
    )
    place = F.col("entry")
    unreported = (F.col("reported") > place) & (F.coalesce("saved", F.lit(-1)) <= place)
    unpersisted = (F.coalesce("persisted", F.lit(-1)) <= place) & (F.col("elsewhere") > place)
    repeated = F.col("lease_seq").isNull() | (F.coalesce("reported", F.lit(-1)) <= place)
    conditions = (unreported, unpersisted, F.col("ack_seq") > F.col("decided_seq"), F.col("back"), repeated)
    cause = F.lit(CAUSES[-1])
    for name, holds in reversed(list(zip(CAUSES, conditions, strict=False))):
        cause = F.when(holds, F.lit(name)).otherwise(cause)
    return met.withColumn("cause", cause).select(*duplicates.columns, "cause")


def cause_figures(explained: DataFrame) -> DataFrame:
    """The figures of each cause: GROUP, cause, duplicates, first_us, last_us, example (the first)."""
    example = F.struct(
        "producer",
        "sequence_id",
        "topic",
        "stream",
        "entry",
        "client",
        "seq",
        "at_us",
        "ack_seq",
        "ack_us",
        "ack_client",
        "decided_seq",
        "lease_seq",
        "chunk_seq",
    )
    return explained.groupBy(*GROUP, "cause").agg(
        F.count("*").alias("duplicates"),
        F.min("at_us").alias("first_us"),
        F.max("at_us").alias("last_us"),
        F.min_by(example, "seq").alias("example"),
    )


_TURNS = (
    "leader.ended",
    "leader.elected",
    "session.disconnected",
    "session.connected",
    "borrower.changed",
    "borrower.dropped",
    "group.destroyed",
)
"""Event types that may be between an acknowledgement and the same message's next delivery."""


def stories(rows: DataFrame, found: DataFrame) -> DataFrame:
    """Rows of single messages, their group and readers: `number` of `found`, and the row's columns.

    `found`: run, number, of_group, of_producer, of_sequence_id, from_seq (the acknowledgement), to_seq (the
    delivery), reader, other, decided_seq.
    """
    message = F.col("type").startswith("message.")
    met = rows.filter(message | is_type(*_TURNS, "assignment.changed")).join(
        F.broadcast(found), "run", "inner"
    )
    own = (
        message
        & (F.col("producer") == F.col("of_producer"))
        & (F.col("sequence_id") == F.col("of_sequence_id"))
        & F.coalesce(
            F.col("subscription") == F.col("of_group"),
            F.col("type").isin("message.published", "message.stored"),
        )
    )
    theirs = F.coalesce(F.col("client").isin(F.col("reader"), F.col("other")), F.lit(True)) & F.coalesce(
        F.col("subscription") == F.col("of_group"), F.lit(True)
    )
    meanwhile = (
        is_type(*_TURNS) & (F.col("seq") > F.col("from_seq")) & theirs & (F.col("reason") != "connecting")
    )
    return met.filter(
        (F.col("seq") <= F.col("to_seq")) & (own | meanwhile | (F.col("seq") == F.col("decided_seq")))
    ).select("number", *rows.columns)
