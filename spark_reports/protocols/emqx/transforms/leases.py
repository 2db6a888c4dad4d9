"""Durable shared subscriptions: groups, their streams, leases, time without a reader and overlaps.

Rules: `control` holds all rows but those of messages. A lease lasts from its grant until its stream was
revoked or its borrower was gone. A stream is shared from its first `stream.found` on, until it is read to its
end or its group is gone, else to the run's last row.
"""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from spark_reports.transforms.places import first_seq, is_type

GROUP = ("run", "group")
STREAM = ("run", "group", "stream")
READER = (*STREAM, "client", "borrower")
END = 1 << 40
"""The position after the last message of a closed stream."""

_GRANTING, _GRANTED, _RELEASED = 0, 1, 2


def topic_pattern(wanted: str) -> str:
    """A topic filter of MQTT as a regular expression for the whole topic."""
    levels = wanted.split("/")
    plain = [level for level in levels if level != "#"]
    body = "/".join("[^/]*" if level == "+" else re.escape(level) for level in plain)
    rest = ("(/.*)?" if plain else ".*") if levels[-1] == "#" else ""
    return f"^{'(?![$])' if levels[0] in ('+', '#') else ''}{body}{rest}$"


def declared(control: DataFrame) -> DataFrame:
    """The declared groups, one row per group.

    Columns: run, group, asked (as a client writes it), lives. `lives` is an array of until_seq, start_us, in
    order, each from a declaration until the group was destroyed.
    """
    found = control.filter(is_type("group.declared", "group.destroyed")).withColumnRenamed(
        "subscription", "group"
    )
    ended = F.coalesce(F.lead("seq").over(Window.partitionBy(*GROUP).orderBy("seq")), F.lit(END))
    begun = found.withColumn(
        "life", F.struct(ended.alias("until_seq"), F.col("duration_us").alias("start_us"))
    ).filter(is_type("group.declared"))
    return begun.groupBy(*GROUP).agg(
        F.min_by("detail", "seq").alias("asked"), F.sort_array(F.collect_list("life")).alias("lives")
    )


def streams(control: DataFrame, groups: DataFrame, declared: DataFrame) -> DataFrame:
    """The streams in storage of each group: STREAM, topic, lives.

    `groups`: run, group, pattern.
    """
    opened = control.filter(is_type("stream.opened")).select(
        "run", F.col("topic").alias("stream"), F.split("topic", "/", 3)[2].alias("topic")
    )
    wanted = opened.join(F.broadcast(groups), "run", "inner").filter(F.regexp_like("topic", F.col("pattern")))
    return wanted.join(F.broadcast(declared), list(GROUP), "inner").select(*STREAM, "topic", "lives")


def of_group(control: DataFrame, *types: str) -> DataFrame:
    """Rows of these types under the column names of groups.

    Columns: STREAM, client, seq, at_us, type, count, position (END where the row has no entry), reason,
    ledger.
    """
    at = F.when(F.col("type") == "progress.saved", F.col("to_entry")).otherwise(F.col("entry"))
    return control.filter(is_type(*types)).select(
        "run",
        F.col("subscription").alias("group"),
        F.col("topic").alias("stream"),
        "client",
        "seq",
        "at_us",
        "type",
        "count",
        F.coalesce(at, F.lit(END)).alias("position"),
        "reason",
        "ledger",
    )


def leases(control: DataFrame) -> DataFrame:
    """The leases, one row per lease.

    Columns: READER, seq, at_us, position, leader, decided_seq (of its leader), end_us (null: to the end).
    """
    changed = of_group(control, "lease.changed", "assignment.changed").withColumn("borrower", F.col("count"))
    granting = (F.col("type") == "assignment.changed") & (F.col("reason") == "granting")
    granted = (F.col("type") == "lease.changed") & (F.col("reason") == "granted")
    kind = (
        F.when(granting, _GRANTING).when(granted, _GRANTED).when(F.col("type") == "lease.changed", _RELEASED)
    )
    of_reader = Window.partitionBy(*READER).orderBy("seq")
    before, after = (
        of_reader.rowsBetween(Window.unboundedPreceding, -1),
        of_reader.rowsBetween(1, Window.unboundedFollowing),
    )
    found = (
        changed.withColumn("kind", kind)
        .filter(F.col("kind").isNotNull())
        .withColumns(
            {
                "decided": F.last(F.when(F.col("kind") == _GRANTING, F.col("seq")), ignorenulls=True).over(
                    before
                ),
                "next": F.first(
                    F.when(F.col("kind") != _GRANTING, F.struct("kind", "seq", "at_us")), ignorenulls=True
                ).over(after),
                "again_seq": F.first(F.when(F.col("kind") == _GRANTED, F.col("seq")), ignorenulls=True).over(
                    after
                ),
            }
        )
        .filter(F.col("kind") == _GRANTED)
    )
    gone = (
        control.filter(is_type("borrower.changed") & F.col("reason").isin("gone", "unsubscribing"))
        .groupBy("run", F.col("subscription").alias("group"), "client", F.col("count").alias("borrower"))
        .agg(F.min("seq").alias("gone_seq"), F.min("at_us").alias("gone_us"))
    )
    released = F.when(F.col("next.kind") == _RELEASED, F.struct(F.col("next.seq"), F.col("next.at_us")))
    left = F.when(
        F.col("gone_seq").between(F.col("seq"), F.coalesce("again_seq", "gone_seq")),
        F.struct(F.col("gone_seq").alias("seq"), F.col("gone_us").alias("at_us")),
    )
    return found.join(gone, ["run", "group", "client", "borrower"], "left").select(
        *READER,
        "seq",
        "at_us",
        "position",
        F.col("ledger").alias("leader"),
        F.coalesce("decided", "seq").alias("decided_seq"),
        F.least(released, left)["at_us"].alias("end_us"),
    )


def shared(control: DataFrame, known: DataFrame, run_ends: DataFrame) -> DataFrame:
    """Each stream of a group: STREAM, found_us (null: never), done_us, position, shared, run_end_us.

    `position` is the one in the latest leader's memory, `shared` whether the stream is still read at the end.
    `known`: STREAM of `streams`. `run_ends`: run, run_end_us.
    """
    rows = of_group(control, "stream.found", "progress.loaded", "progress.saved")
    found = F.col("type") == "stream.found"
    kept = rows.groupBy(*STREAM).agg(
        first_seq(found, "at_us").alias("found_us"),
        F.max(F.when(found, F.col("seq"))).alias("found_seq"),
        F.max_by("position", "seq").alias("position"),
    )
    ended = rows.filter((F.col("type") == "progress.saved") & (F.col("position") == END)).select(
        *STREAM, "seq", "at_us"
    )
    gone = control.filter(is_type("group.destroyed")).select(
        "run",
        F.col("subscription").alias("group"),
        F.col("seq").alias("gone_seq"),
        F.col("at_us").alias("gone_us"),
    )
    done = (
        kept.join(ended, list(STREAM), "left")
        .join(F.broadcast(gone), list(GROUP), "left")
        .groupBy(*STREAM)
        .agg(
            F.max(F.when(F.col("seq") > F.col("found_seq"), F.col("at_us"))).alias("read_us"),
            F.min(F.when(F.col("gone_seq") > F.col("found_seq"), F.col("gone_us"))).alias("gone_us"),
        )
    )
    return (
        known.select(*STREAM)
        .join(kept, list(STREAM), "left")
        .join(done, list(STREAM), "left")
        .join(F.broadcast(run_ends), "run", "inner")
        .select(
            *STREAM,
            "found_us",
            F.coalesce("read_us", "gone_us", "run_end_us").alias("done_us"),
            F.coalesce("position", F.lit(0)).alias("position"),
            (F.col("found_us").isNotNull() & F.coalesce("read_us", "gone_us").isNull()).alias("shared"),
            "run_end_us",
        )
    )


def spans(leases: DataFrame, shared: DataFrame) -> DataFrame:
    """The parts of leases during which their stream was shared.

    Columns: READER, seq, at_us, end_us, found_us, done_us, run_end_us.
    """
    met = leases.join(shared.filter(F.col("found_us").isNotNull()), list(STREAM), "inner").filter(
        F.col("at_us") < F.col("done_us")
    )
    return met.select(
        *READER,
        "seq",
        "at_us",
        F.least("done_us", F.coalesce("end_us", "done_us")).alias("end_us"),
        "found_us",
        "done_us",
        "run_end_us",
    )


def reading(leases: DataFrame) -> DataFrame:
    """The readers of the run's end: STREAM, client, seq, position of the lease."""
    newest = leases.groupBy(*READER).agg(F.max_by(F.struct("seq", "position", "end_us"), "seq").alias("last"))
    return newest.filter(F.col("last.end_us").isNull()).select(*STREAM, "client", "last.seq", "last.position")


def handovers(leases: DataFrame, shared: DataFrame) -> DataFrame:
    """The handovers of streams from one session to another.

    Columns: STREAM, seq, at_us, source, target, gap_us (time without either of them).
    """
    of_stream = Window.partitionBy(*STREAM).orderBy("seq")
    before = F.lag(F.struct("client", "end_us")).over(of_stream)
    found = leases.join(
        shared.filter(F.col("found_us").isNotNull()).select(*STREAM), list(STREAM), "leftsemi"
    ).withColumn("before", before)
    gap = F.greatest(F.lit(0), F.col("at_us") - F.coalesce("before.end_us", "at_us"))
    return found.filter(F.col("before.client") != F.col("client")).select(
        *STREAM,
        "seq",
        "at_us",
        F.col("before.client").alias("source"),
        F.col("client").alias("target"),
        gap.alias("gap_us"),
    )


def overlaps(spans: DataFrame) -> DataFrame:
    """The times when two sessions read one stream at once: STREAM, one, other, at_us, end_us."""
    one = spans.select(
        *STREAM,
        F.col("seq").alias("one_seq"),
        F.col("client").alias("one"),
        F.col("at_us").alias("one_us"),
        F.col("end_us").alias("one_end_us"),
    )
    both = one.join(
        spans.select(*STREAM, "seq", F.col("client").alias("other"), F.col("at_us"), F.col("end_us")),
        list(STREAM),
        "inner",
    )
    met = both.filter((F.col("one_seq") < F.col("seq")) & (F.col("one") != F.col("other")))
    return met.select(
        *STREAM,
        "one",
        "other",
        F.greatest("one_us", "at_us").alias("at_us"),
        F.least("one_end_us", "end_us").alias("end_us"),
    ).filter(F.col("at_us") < F.col("end_us"))


def idle(shared: DataFrame, spans: DataFrame) -> DataFrame:
    """The times when a shared stream had no reader: STREAM, at_us, end_us, run_end_us."""
    known = shared.filter(F.col("found_us").isNotNull())
    over = known.select(
        *STREAM, F.col("done_us").alias("at_us"), F.col("done_us").alias("end_us"), "found_us", "run_end_us"
    )
    both = spans.select(*STREAM, "at_us", "end_us", "found_us", "run_end_us").unionByName(over)
    since = F.coalesce(F.max("end_us").over(_by_instant()), F.col("found_us"))
    return (
        both.withColumn("since_us", since)
        .filter(F.col("at_us") > F.col("since_us"))
        .select(*STREAM, F.col("since_us").alias("at_us"), F.col("at_us").alias("end_us"), "run_end_us")
    )


def _by_instant() -> WindowSpec:
    return Window.partitionBy(*STREAM).orderBy("at_us", "end_us").rowsBetween(Window.unboundedPreceding, -1)


def covered_us(spans: DataFrame) -> DataFrame:
    """The time covered by at least one of a stream's spans: STREAM, covered_us."""
    fresh = F.greatest(
        F.lit(0),
        F.col("end_us") - F.greatest("at_us", F.coalesce(F.max("end_us").over(_by_instant()), F.lit(-1))),
    )
    return spans.withColumn("fresh_us", fresh).groupBy(*STREAM).agg(F.sum("fresh_us").alias("covered_us"))


def stream_figures(
    shared: DataFrame, idle: DataFrame, handovers: DataFrame, overlaps: DataFrame
) -> DataFrame:
    """The figures of streams, one row per stream.

    Columns: STREAM, found_us, done_us, unowned_us, handovers, slowest_us (null: none), two_readers,
    two_readers_us.
    """
    parts = (
        idle.groupBy(*STREAM).agg(F.sum(F.col("end_us") - F.col("at_us")).alias("unowned_us")),
        handovers.groupBy(*STREAM).agg(F.count("*").alias("handovers"), F.max("gap_us").alias("slowest_us")),
        overlaps.groupBy(*STREAM).agg(F.count("*").alias("two_readers")),
        covered_us(overlaps).withColumnRenamed("covered_us", "two_readers_us"),
    )
    found = shared
    for part in parts:
        found = found.join(part, list(STREAM), "left")
    return found.select(
        *STREAM,
        "found_us",
        "done_us",
        *(_or_none(name) for name in ("unowned_us", "handovers", "two_readers", "two_readers_us")),
        "slowest_us",
    )


def _or_none(name: str) -> Column:
    return F.coalesce(name, F.lit(0)).alias(name)


def percentiles(handovers: DataFrame) -> DataFrame:
    """Percentiles of the handovers' times by nearest rank: GROUP, p50, p95, max."""
    rank = F.row_number().over(Window.partitionBy(*GROUP).orderBy("gap_us"))
    many = F.count("*").over(Window.partitionBy(*GROUP))
    found = handovers.withColumns({"rank": rank, "many": many})

    def at(percent: int) -> Column:
        return F.max(
            F.when(
                F.col("rank") == F.greatest(F.lit(1), F.ceil(F.col("many") * percent / 100)), F.col("gap_us")
            )
        )

    return found.groupBy(*GROUP).agg(at(50).alias("p50"), at(95).alias("p95"), at(100).alias("max"))


def clients_of_groups(control: DataFrame) -> DataFrame:
    """The sessions that ever subscribed and the leader changes: GROUP, sessions, leader_changes."""
    rows = control.filter(is_type("session.subscribed", "leader.elected") & F.col("subscription").isNotNull())
    leaders = F.count_if(F.col("type") == "leader.elected")
    return rows.groupBy("run", F.col("subscription").alias("group")).agg(
        F.count_distinct(F.when(F.col("type") == "session.subscribed", F.col("client"))).alias("sessions"),
        F.greatest(F.lit(0), leaders - 1).alias("leader_changes"),
    )


def readers(spans: DataFrame, idle: DataFrame) -> DataFrame:
    """Leases and times without a reader as intervals for counting.

    Columns: GROUP, client ("" for none), came_us, left_us (null: never).
    """
    left = F.when(F.col("end_us") < F.col("run_end_us"), F.col("end_us")).alias("left_us")
    return spans.select(*GROUP, "client", F.col("at_us").alias("came_us"), left).unionByName(
        idle.select(*GROUP, F.lit("").alias("client"), F.col("at_us").alias("came_us"), left)
    )


def first_spans(spans: DataFrame, streams: DataFrame, most: int) -> DataFrame:
    """The first `most` spans of each of these streams: STREAM, client, borrower, at_us, end_us."""
    rank = F.row_number().over(Window.partitionBy(*STREAM).orderBy("seq"))
    return (
        spans.join(F.broadcast(streams), list(STREAM), "leftsemi")
        .withColumn("rank", rank)
        .filter(F.col("rank") <= most)
        .select(*STREAM, "client", "borrower", "at_us", "end_us")
    )
