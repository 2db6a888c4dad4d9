"""When the target's cursor covered all that its log held at the failover, and what it left over.

Rules: a window is cut into stretches at each row with which the target's cursor loses acknowledgements or
moves back. Within a stretch coverage only grows. A message that is removed while it is not covered will never
be covered. The result is the first instant at which all partitions are covered together.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.protocols.pulsar.scans.logs import Part
from spark_reports.protocols.pulsar.transforms.cursors import ABSENT, CURSOR, mark_at
from spark_reports.transforms.places import FAILOVER, NEVER, is_type, place

STRETCH = [*FAILOVER, "topic", "start_seq"]
COPY = [*FAILOVER, "topic", "producer", "sequence_id", "place"]


def stretches(
    scopes: DataFrame, marks: DataFrame, lost_acks: DataFrame, backward_steps: DataFrame
) -> DataFrame:
    """The stretches of each failover's window, per topic.

    Columns: STRETCH, subscription, cluster (the target), start (seq, at_us), end_seq, mark (the mark-delete
    at the start, ABSENT before there is a cursor).
    """
    of = scopes.select(
        *FAILOVER,
        "topic",
        "subscription",
        F.col("target").alias("cluster"),
        "failover_us",
        F.col("end_seq").alias("closed_seq"),
    )
    turns = (
        lost_acks.select(*CURSOR, F.col("forgot_seq").alias("seq"))
        .unionByName(backward_steps.select(*CURSOR, F.col("back_seq").alias("seq")))
        .distinct()
    )
    at = marks.select(*CURSOR, "seq", "at_us").distinct()  # every cut is a row that sets a mark-delete
    cuts = (
        turns.join(at, [*CURSOR, "seq"], "inner")
        .join(of, list(CURSOR), "inner")
        .filter((F.col("seq") > F.col("failover_seq")) & (F.col("seq") < F.col("closed_seq")))
    )
    same = [*FAILOVER, "topic", "subscription", "cluster", "closed_seq"]
    begins = of.select(
        *same, F.col("failover_seq").alias("start_seq"), F.col("failover_us").alias("start_us")
    ).unionByName(cuts.select(*same, F.col("seq").alias("start_seq"), F.col("at_us").alias("start_us")))
    end = F.coalesce(
        F.lead("start_seq").over(Window.partitionBy(*FAILOVER, "topic").orderBy("start_seq")),
        F.col("closed_seq"),
    )
    cut = begins.withColumn("end_seq", end)
    return mark_at(marks, cut, STRETCH, "start_seq", "mark").select(
        *STRETCH,
        "subscription",
        "cluster",
        "start_us",
        "end_seq",
        F.coalesce("mark", F.lit(ABSENT)).alias("mark"),
    )


def parts(stretches: list[Any]) -> list[Part]:
    """The part of each target's log above its lowest mark-delete. `stretches` are collected."""
    lowest: dict[tuple[int, str, str], int] = {}
    for row in stretches:
        log = (row.run, row.cluster, row.topic)
        lowest[log] = min(row.mark, lowest.get(log, row.mark))
    return [Part(*log, place) for log, place in sorted(lowest.items())]


def held(copies: DataFrame, stretches: DataFrame, lost_clusters: DataFrame) -> DataFrame:
    """The messages in the target's log at the failover: COPY, gone_seq (NEVER: still in the log).

    Only those above the lowest mark-delete since then are included, since those below stay covered. `copies`
    has the rows of the messages there.
    """
    lowest = stretches.groupBy(*FAILOVER, "topic", "cluster").agg(F.min("mark").alias("lowest"))
    lost = lost_clusters.select("run", "cluster", "lost_seq")
    known = lowest.join(F.broadcast(lost), ["run", "cluster"], "left")
    met = copies.join(F.broadcast(known), ["run", "cluster", "topic"], "inner").filter(
        F.col("place") > F.col("lowest")
    )
    stored, removed = (
        F.min(F.when(F.col("type") == f"message.{word}", F.col("seq"))) for word in ("stored", "removed")
    )
    gone = F.least(F.coalesce(removed, F.lit(NEVER)), F.coalesce(F.max("lost_seq"), F.lit(NEVER)))
    # a copy that is stored later is not held, whatever the rest of its rows
    met = met.filter((F.col("type") == "message.removed") | (F.col("seq") <= F.col("failover_seq")))
    copies = met.groupBy(*COPY).agg(stored.alias("stored_seq"), gone.alias("gone_seq"))
    return copies.filter(
        (F.col("stored_seq") <= F.col("failover_seq")) & (F.col("gone_seq") > F.col("failover_seq"))
    ).select(*COPY, "gone_seq")


def taken(
    rows: DataFrame, held: DataFrame, stretches: DataFrame, lost_acks: DataFrame, limits: DataFrame
) -> DataFrame:
    """Individual acknowledgements of held messages at the target.

    Columns: COPY, taken (seq, at_us), until_seq (the row that lost it, or NEVER).
    """
    cursors = stretches.select(*FAILOVER, "topic", "subscription", "cluster").distinct()
    found = rows.filter(is_type("message.registered")).select(
        *CURSOR,
        "producer",
        "sequence_id",
        place().alias("place"),
        F.col("seq").alias("taken_seq"),
        F.col("at_us").alias("taken_us"),
    )
    met = found.join(F.broadcast(cursors), list(CURSOR), "inner").join(held.select(*COPY), COPY, "inner")
    gone = lost_acks.join(limits, [*CURSOR, "forgot_seq"], "left").select(
        *CURSOR, "forgot_seq", "kept_seq", "kept_place"
    )
    after = met.join(F.broadcast(gone), list(CURSOR), "left")
    survived = (F.col("taken_seq") <= F.col("kept_seq")) & (
        F.col("place") <= F.coalesce("kept_place", F.lit(NEVER))
    )
    forgotten = (F.col("forgot_seq") > F.col("taken_seq")) & ~survived
    until = F.coalesce(F.min(F.when(forgotten, F.col("forgot_seq"))), F.lit(NEVER))
    return after.groupBy(*COPY, "taken_seq", "taken_us").agg(until.alias("until_seq"))


def covered_stretches(held: DataFrame, taken: DataFrame, stretches: DataFrame, marks: DataFrame) -> DataFrame:
    """When all is covered within each stretch.

    Columns: STRETCH, from (seq and instant since which all is covered within it; null: not before its end),
    end_seq, broken (an entry was removed while not covered).
    """
    each = held.join(F.broadcast(stretches.drop("mark")), [*FAILOVER, "topic"], "inner").filter(
        F.col("gone_seq") > F.col("start_seq")
    )
    by_ack = _by_acknowledgement(taken, stretches)
    by_mark = _by_mark(each, stretches, marks)
    since = F.least("by_ack", "by_mark")
    found = (
        each.join(by_ack, [*COPY, "start_seq"], "left")
        .join(by_mark, [*COPY, "start_seq"], "left")
        .withColumn("since", since)
    )
    broken = F.col("gone_seq") < F.least(F.coalesce(F.col("since.seq"), F.lit(NEVER)), F.col("end_seq"))
    summed = found.groupBy(*STRETCH).agg(
        F.bool_or(F.col("since").isNull()).alias("waits"),
        F.max("since").alias("latest"),
        F.bool_or(broken).alias("broken"),
    )
    start = F.struct(F.col("start_seq").alias("seq"), F.col("start_us").alias("at_us"))
    return stretches.join(summed, STRETCH, "left").select(
        *STRETCH,
        "end_seq",
        F.when(~F.coalesce("waits", F.lit(False)), F.coalesce("latest", start)).alias("from"),
        F.coalesce("broken", F.lit(False)).alias("broken"),
    )


def _by_acknowledgement(taken: DataFrame, stretches: DataFrame) -> DataFrame:
    """When each copy was individually acknowledged within the stretch: COPY, start_seq, by_ack."""
    met = taken.join(
        F.broadcast(stretches.select(*STRETCH, "start_us", "end_seq")), [*FAILOVER, "topic"], "inner"
    )
    before = (F.col("taken_seq") <= F.col("start_seq")) & (F.col("until_seq") > F.col("start_seq"))
    within = (F.col("taken_seq") > F.col("start_seq")) & (F.col("taken_seq") < F.col("end_seq"))
    at = F.when(before, _row("start_seq", "start_us")).when(within, _row("taken_seq", "taken_us"))
    return met.groupBy(*COPY, "start_seq").agg(F.min(at).alias("by_ack"))


def _by_mark(each: DataFrame, stretches: DataFrame, marks: DataFrame) -> DataFrame:
    """When the mark-delete reached each copy: COPY, start_seq, by_mark (the first such row).

    Rows and copies are merged by position in one sort.
    """
    spans = stretches.select(
        *STRETCH, "subscription", "cluster", "start_us", "end_seq", F.col("mark").alias("mark_then")
    )
    moved = marks.join(F.broadcast(spans), list(CURSOR), "inner").filter(
        (F.col("seq") > F.col("start_seq")) & (F.col("seq") < F.col("end_seq"))
    )
    steps = moved.select(
        *STRETCH, F.col("mark").alias("place"), _row("seq", "at_us").alias("step")
    ).unionByName(
        spans.select(*STRETCH, F.col("mark_then").alias("place"), _row("start_seq", "start_us").alias("step"))
    )
    lines = steps.select(
        *STRETCH,
        F.lit(None).cast("string").alias("producer"),
        F.lit(None).cast("long").alias("sequence_id"),
        "place",
        "step",
    )
    copies = each.select(
        *STRETCH,
        "producer",
        "sequence_id",
        "place",
        F.lit(None).cast(lines.schema["step"].dataType).alias("step"),
    )
    downward = Window.partitionBy(*STRETCH).orderBy(F.col("place").desc(), F.col("step").isNull())
    merged = lines.unionByName(copies).withColumn(
        "by_mark", F.min("step").over(downward.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    )
    return merged.filter(F.col("producer").isNotNull()).select(*COPY, "start_seq", "by_mark")


def _row(seq: str, at_us: str) -> Column:
    return F.struct(F.col(seq).alias("seq"), F.col(at_us).alias("at_us"))


def ends(scopes: DataFrame, marks: DataFrame) -> DataFrame:
    """The target's cursor at the run's end, of each failover whose window is open then, per topic.

    Columns: FAILOVER, topic, subscription, cluster (the target), mark (ABSENT without a cursor).
    """
    open_ = scopes.filter(F.col("end_seq") == NEVER).withColumn("cluster", F.col("target"))
    return mark_at(marks, open_, [*FAILOVER, "topic"], "end_seq", "mark").select(
        *FAILOVER, "topic", "subscription", "cluster", F.coalesce("mark", F.lit(ABSENT)).alias("mark")
    )


def left(copies: DataFrame, ends: DataFrame, lost_clusters: DataFrame) -> DataFrame:
    """The copies above the mark-delete in the target's log at the run's end: COPY.

    `copies` has the rows of the messages there.
    """
    lost = lost_clusters.select("run", "cluster")
    kept = ends.join(F.broadcast(lost), ["run", "cluster"], "left_anti").select(
        *FAILOVER, "topic", "cluster", "mark"
    )
    met = copies.join(F.broadcast(kept), ["run", "cluster", "topic"], "inner").filter(
        F.col("place") > F.col("mark")
    )
    removed = F.bool_or(F.col("type") == "message.removed")
    return met.groupBy(*COPY).agg(removed.alias("removed")).filter(~F.col("removed")).select(*COPY)


def pending_repeats(rows: DataFrame, left: DataFrame, taken: DataFrame, ends: DataFrame) -> DataFrame:
    """How many of these messages may be delivered again: FAILOVER, pending_repeats.

    Each was delivered or acknowledged in some cluster, not delivered in the window, not dropped by its client
    because of an ack in another cluster, and is not acknowledged individually at the target.
    """
    acked = taken.filter(F.col("until_seq") == NEVER).select(*COPY)
    waiting = left.join(acked, COPY, "left_anti").drop("place").distinct()
    of = ends.select(*FAILOVER, "topic", "subscription", F.col("cluster").alias("target"))
    waiting = waiting.join(F.broadcast(of), [*FAILOVER, "topic"], "inner")
    events = rows.filter(is_type("message.delivered", "message.acknowledged", "message.dropped")).select(
        "run", "topic", "subscription", "producer", "sequence_id", "type", "cluster", "peer", "seq"
    )
    met = waiting.join(events, ["run", "topic", "subscription", "producer", "sequence_id"], "inner")
    at_target = F.col("cluster") == F.col("target")
    delivered = (F.col("type") == "message.delivered") & at_target
    dropped = (F.col("type") == "message.dropped") & at_target & (F.col("peer") != F.col("target"))
    each = met.groupBy(*FAILOVER, "topic", "producer", "sequence_id").agg(
        F.bool_or(F.col("type") != "message.dropped").alias("handled"),
        F.coalesce(F.max(F.when(delivered, F.col("seq"))), F.lit(-1)).alias("delivered_seq"),
        F.coalesce(F.max(F.when(dropped, F.col("seq"))), F.lit(-1)).alias("dropped_seq"),
    )
    waits = F.col("handled") & (F.col("delivered_seq") < F.col("failover_seq"))
    waits &= F.col("delivered_seq") >= F.col("dropped_seq")
    return each.groupBy(*FAILOVER).agg(F.count_if(waits).alias("pending_repeats"))


def drained(rows: list[Any]) -> dict[tuple[int, int], int]:
    """The first instant, by failover, at which all its topics are covered together.

    `rows` are the collected `covered_stretches`.
    """
    topics: dict[tuple[int, int], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda row: row.start_seq):
        topics[row.run, row.failover_seq][row.topic].append(row)
    found = {}
    for failover, of_topic in topics.items():
        together: list[tuple[tuple[int, int], int]] = [((-1, -1), NEVER)]
        for stretches_of_topic in of_topic.values():
            mine = _whole(stretches_of_topic)
            met = ((max(a[0], b[0]), min(a[1], b[1])) for a in together for b in mine)
            together = sorted(one for one in met if one[0][0] < one[1])
        if together:
            found[failover] = together[0][0][1]
    return found


def _whole(stretches_of_topic: list[Any]) -> list[tuple[tuple[int, int], int]]:
    """The stretches in which all is covered, up to the first broken one.

    Returns ((seq, at_us), end_seq) of each.
    """
    found = []
    for row in stretches_of_topic:
        if row.broken:
            break
        if row["from"] is not None:
            found.append(((row["from"].seq, row["from"].at_us), row.end_seq))
    return found
