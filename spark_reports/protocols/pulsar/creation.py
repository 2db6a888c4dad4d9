"""`creation` of a report's run, for `report.json`: replicators' starts, waiting messages, topics.

Rules: only small rows are collected to the driver: one per replicator, bin and reported refusal. A run whose
replicators all started at once and that created nothing has no such part (None).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.flows import bin_widths_us, piled_up
from spark_reports.local import from_rows
from spark_reports.protocols.pulsar.schemas import GRID, STARTS
from spark_reports.schemas import BINS
from spark_reports.transforms import base_topic, by_bin, is_type

REFUSALS_MOST = 2_000
HAPPENED_MOST = 60
ENDS = {
    "replicator.started": "replicates",
    "replicator.start-refused": "does not start",
    "replicator.stopped": "connected, but stopped",
    "replicator.removed": "taken off the list",
}
"""The state of a replicator at the end, by its last row. Otherwise it is `NOT_CONNECTED`."""
NOT_CONNECTED, DOWN = "not connected", "down with its region"


def add_creation(spark: Any, runs: list[dict[str, Any]], control: Any, rows: Any) -> None:
    """Add its part to every run."""
    for run in runs:
        run["creation"] = None
    if not control.filter(is_type("replicator.start-refused", "replicator.stopped", *HAPPENED)).head(1):
        return
    started = starts(control).collect()
    troubled = [row for row in started if row.refused and row.created_seq is not None]
    down = [(row.run, row.cluster) for row in regions_down(control).collect()]
    refused = refusals(control).orderBy("run", "at_us").limit(REFUSALS_MOST).collect()
    listed = happened(control).orderBy("run", "seq").collect()
    widths = bin_widths_us(runs)
    logs = _logs(spark, troubled)
    flows = _flows(spark, rows, logs, widths) if troubled else {}
    delays = (
        _delays(spark, rows, logs, [(run["run"], widths[run["run"]], run["until_us"]) for run in runs])
        if troubled
        else {}
    )
    for run in runs:
        mine = [row for row in started if row.run == run["run"]]
        found = [_words_apart(row) for row in listed if row.run == run["run"]]
        if found or any(row.refused for row in mine):
            run["creation"] = {
                "replicators": _replicators(
                    mine,
                    flows,
                    delays,
                    [row for row in refused if row.run == run["run"]],
                    widths[run["run"]],
                    run["until_us"],
                    down,
                ),
                "happened": found[:HAPPENED_MOST],
                "happened_of": len(found),
            }


def _words_apart(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row.asDict().items() if value is not None}


def _logs(spark: Any, troubled: list[Any]) -> Any:
    return from_rows(
        spark,
        [(row.run, row.cluster, row.peer, row.topic, row.base, row.created_seq) for row in troubled],
        STARTS,
    )


def _delays(
    spark: Any, rows: Any, logs: Any, grid: list[tuple[int, int, int]]
) -> dict[tuple, dict[int, int]]:
    """The oldest pending send's age by bin, of each topic and direction."""
    ages_us: dict[tuple, dict[int, int]] = defaultdict(dict)
    for row in delays(rows, logs, from_rows(spark, grid, GRID)).collect():
        ages_us[row.run, row.cluster, row.peer, row.base][row.bin] = row.delay_us
    return ages_us


def _flows(
    spark: Any, rows: Any, logs: Any, widths: dict[int, int]
) -> dict[tuple, dict[int, tuple[int, int]]]:
    """Messages that arrived and left by bin, of each topic and direction."""
    flows: dict[tuple, dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in waiting(rows, logs, from_rows(spark, sorted(widths.items()), BINS)).collect():
        flows[row.run, row.cluster, row.peer, row.base][row.bin] = (row.came, row.left)
    return flows


def _replicators(
    started: list[Any],
    flows: dict,
    delays: dict,
    refusals: list[Any],
    bin_us: int,
    until_us: int,
    down: list[tuple[int, str]],
) -> list[dict[str, Any]]:
    """One object per topic and direction, with its logs together.

    `down`: run and region of each region that is down at the end.
    """
    together: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for row in started:
        together[row.cluster, row.peer, row.base].append(row)
    found = []
    for (source, target, base), rows in sorted(together.items()):
        rows.sort(key=lambda row: row.topic)
        last = next(
            (row for row in rows if row.last not in ("replicator.started", "replicator.removed")), rows[0]
        )
        place = (rows[0].run, source, target, base)
        flow, delay = flows.get(place), delays.get(place, {})
        instants, waiting = piled_up(flow or {}, bin_us, until_us)
        still = [row for row in rows if row.last in ("replicator.start-refused", "replicator.stopped")]
        end = (
            DOWN
            if (rows[0].run, source) in down and last.last != "replicator.removed"
            else ENDS.get(last.last, NOT_CONNECTED)
        )
        found.append(
            {
                "from": source,
                "to": target,
                "topic": base,
                "end": end,
                "logs": len(rows),
                "logs_still": len(still),
                "refused": sum(row.refused for row in rows),
                "first_refused_us": min(
                    (row.first_refused_us for row in rows if row.first_refused_us is not None), default=None
                ),
                "words": next((row.words for row in (*still, *rows) if row.words), None),
                "waiting": waiting[-1],
                "curve": {
                    "at_us": instants,
                    "messages": waiting,
                    "delay_us": [0, *(delay.get(number, 0) for number in range(len(instants) - 1))],
                }
                if flow
                else None,
                "refused_at_us": [
                    row.at_us
                    for row in refusals
                    if (row.cluster, row.peer, row.base) == (source, target, base)
                ],
            }
        )
    return found


# --- replicators' starts and refusals, messages that waited, and created topics, policies and schemas
#
# Rules: a replicator sends one log of one cluster to one other cluster. Its state at the end is its last
# row. A message waits if it was stored in the cluster since the replicator's cursor opened and is in no log
# of the same name at the peer.


REPLICATOR = ("run", "cluster", "peer", "topic")
HAPPENED = (
    "namespace.created",
    "policy.changed",
    "topic.created",
    "topic.creation-refused",
    "topic.partitions-changed",
    "topic.deleted",
    "schema.registered",
    "schema.refused",
    "schema.deleted",
    "command.refused",
)
"""Event types about what was created, changed or refused."""


def starts(control: DataFrame) -> DataFrame:
    """The starts of replicators, one row per replicator.

    Columns: run, cluster, peer, topic, base, created_seq, refused, started, first_refused_us, last (event
    type), words.
    """
    rows = control.filter(
        is_type(
            "replicator.created",
            "replicator.started",
            "replicator.disconnected",
            "replicator.start-refused",
            "replicator.stopped",
            "replicator.removed",
        )
    )
    refusal = F.col("type").isin("replicator.start-refused", "replicator.stopped")
    return (
        rows.groupBy(*REPLICATOR)
        .agg(
            F.min(F.when(F.col("type") == "replicator.created", F.col("seq"))).alias("created_seq"),
            F.count_if(refusal).alias("refused"),
            F.count_if(F.col("type") == "replicator.started").alias("started"),
            F.min(F.when(refusal, F.col("at_us"))).alias("first_refused_us"),
            F.max_by("type", "seq").alias("last"),
            F.max_by("detail", F.when(refusal, F.col("seq"))).alias("words"),
        )
        .withColumn("base", base_topic())
    )


def refusals(control: DataFrame) -> DataFrame:
    """Every refused start: run, cluster, peer, base, at_us."""
    return control.filter(is_type("replicator.start-refused", "replicator.stopped")).select(
        "run", "cluster", "peer", base_topic().alias("base"), "at_us"
    )


def regions_down(control: DataFrame) -> DataFrame:
    """Regions that have crashed or were lost, and are not up at the end: run, cluster."""
    life = control.filter(is_type("cluster.crashed", "cluster.lost", "cluster.restarted"))
    return (
        life.groupBy("run", "cluster")
        .agg(F.max_by("type", "seq").alias("last"))
        .filter(F.col("last") != "cluster.restarted")
        .select("run", "cluster")
    )


def happened(control: DataFrame) -> DataFrame:
    """Rows of the types HAPPENED, with all columns."""
    return control.filter(is_type(*HAPPENED))


def waiting(rows: DataFrame, troubled: DataFrame, bins: DataFrame) -> DataFrame:
    """Messages that arrived and left, by bin, of replicators that were ever refused.

    `troubled`: run, cluster, peer, topic, base, created_seq. `bins`: run, bin_us. Returns run, cluster, peer,
    base, bin, came, left. The messages waiting at the end of a bin are all that came minus all that left up
    to it.
    """
    stored = rows.filter(is_type("message.stored")).select(
        "run",
        "seq",
        "at_us",
        "topic",
        F.col("cluster").alias("at"),
        F.col("peer").alias("origin"),
        "producer",
        "sequence_id",
    )
    here = (
        stored.filter(F.col("origin").isNull())
        .join(F.broadcast(troubled), ["run", "topic"], "inner")
        .filter((F.col("at") == F.col("cluster")) & (F.col("seq") > F.col("created_seq")))
    )
    there = (
        stored.filter(F.col("origin").isNotNull())
        .join(F.broadcast(troubled), ["run", "topic"], "inner")
        .filter((F.col("at") == F.col("peer")) & (F.col("origin") == F.col("cluster")))
    )
    key = [*REPLICATOR, "base", "producer", "sequence_id"]
    published = here.groupBy(*key).agg(F.min("at_us").alias("came_us"))
    arrived = there.groupBy(*key).agg(F.min("at_us").alias("left_us"))
    return by_bin(
        published.join(arrived, key, "left"), ("run", "cluster", "peer", "base"), "came_us", "left_us", bins
    )


def delays(rows: DataFrame, troubled: DataFrame, bins: DataFrame) -> DataFrame:
    """The age of each log's oldest pending send at the end of each bin; without a row it is 0.

    Columns: run, cluster, peer, base, bin, delay_us. A connection keeps the order, so the n-th message sent
    is the n-th to arrive. When it breaks, a message that has not arrived is no longer pending, nor is one
    that its schema held back until then. `bins`: run, bin_us, until_us.
    """
    pending = _pending(rows, troubled).join(F.broadcast(bins), "run", "inner")
    last = F.floor(F.col("until_us") / F.col("bin_us")) + 1
    first_end, last_end = (
        F.ceil(F.col("from_us") / F.col("bin_us")),
        F.when(F.col("to_us").isNull(), last).otherwise(
            F.least(F.ceil(F.col("to_us") / F.col("bin_us")) - 1, last - 1)
        ),
    )
    at_ends = (
        pending.withColumn("first", F.greatest(first_end, F.lit(1)))
        .withColumn("last", last_end)
        .filter(F.col("first") <= F.col("last"))
    )
    ends = at_ends.withColumn("end", F.explode(F.sequence("first", "last")))
    age = F.least(F.col("end") * F.col("bin_us"), F.col("until_us")) - F.col("from_us")
    return ends.groupBy("run", "cluster", "peer", "base", (F.col("end") - 1).alias("bin")).agg(
        F.max(age).alias("delay_us")
    )


def _pending(rows: DataFrame, troubled: DataFrame) -> DataFrame:
    """Each message in flight or held back.

    Columns: run, cluster, peer, base, from_us, to_us (null: still so at the end).
    """
    way = ["run", "cluster", "peer", "topic"]
    there = is_type("message.stored", "message.deduplicated")
    broken = is_type("replicator.disconnected", "replicator.removed")
    kinds = (
        F.when(is_type("message.replicated"), "sent")
        .when(there, "arrived")
        .when(is_type("replicator.stopped"), "held")
        .when(broken, "broken")
    )
    found = rows.withColumn("kind", kinds).filter(F.col("kind").isNotNull() & F.col("peer").isNotNull())
    turned = F.col("kind") == "arrived"  # an arrival is a row of the receiving cluster
    found = found.select(
        "run",
        "seq",
        "at_us",
        "topic",
        "kind",
        "duration_us",
        F.when(turned, F.col("peer")).otherwise(F.col("cluster")).alias("cluster"),
        F.when(turned, F.col("cluster")).otherwise(F.col("peer")).alias("peer"),
    )
    found = found.join(F.broadcast(troubled.select(*way, "base")), way, "inner")
    found = found.withColumn(
        "connection", F.count_if(F.col("kind") == "broken").over(Window.partitionBy(*way).orderBy("seq"))
    )
    once = [*way, "base", "connection"]
    ended = found.filter(F.col("kind") == "broken").select(
        *way, (F.col("connection") - 1).alias("connection"), F.col("at_us").alias("broken_us")
    )
    numbered = found.filter(F.col("kind").isin("sent", "arrived")).withColumn(
        "number", F.row_number().over(Window.partitionBy(*way, "connection", "kind").orderBy("seq"))
    )
    sent = numbered.groupBy(*once, "number").agg(
        F.max(F.when(F.col("kind") == "sent", F.col("at_us"))).alias("from_us"),
        F.max(F.when(F.col("kind") == "arrived", F.col("at_us"))).alias("came_us"),
    )
    held = found.filter(F.col("kind") == "held").select(
        *once,
        (F.col("at_us") - F.col("duration_us")).alias("from_us"),
        F.lit(None).cast("bigint").alias("came_us"),
    )
    every = (
        sent.filter(F.col("from_us").isNotNull())
        .drop("number")
        .unionByName(held)
        .join(ended, [*way, "connection"], "left")
    )
    return every.select(
        "run", "cluster", "peer", "base", "from_us", F.coalesce("came_us", "broken_us").alias("to_us")
    )
