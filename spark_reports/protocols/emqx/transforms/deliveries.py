"""The verdict on every delivery of a durable shared subscription, and the fate of every message.

Rules: the window is the whole run, and every delivery of a message after its first gets a verdict: a
duplicate when a session had acknowledged the message before, else a redelivery. So first deliveries,
duplicates and redeliveries add up. A message stored before its group begins does not count for the group, nor
one that was stored when the group was destroyed, unless a session received it.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.protocols.emqx.transforms.leases import GROUP, STREAM
from spark_reports.transforms.places import MESSAGE, is_type

PLACE = (*STREAM, "entry")
_STORED, _DELIVERED, _ACKNOWLEDGED = "message.stored", "message.delivered", "message.acknowledged"


def histories(rows: DataFrame, streams: DataFrame) -> DataFrame:
    """Rows of each group's messages stored, delivered and acknowledged.

    Columns: PLACE, producer, sequence_id, type, seq, at_us, client, node, generation, chunk_seq. Stored rows
    also have kept (within a life of the group) and current (within the group's latest life).
    """
    found = rows.filter(is_type(_STORED, _DELIVERED, _ACKNOWLEDGED)).select(
        "run",
        F.col("subscription").alias("of"),
        F.col("topic").alias("stream"),
        "entry",
        "producer",
        "sequence_id",
        "type",
        "seq",
        "at_us",
        "client",
        F.col("cluster").alias("node"),
        F.col("ledger").alias("generation"),
        F.col("cause_seq").alias("chunk_seq"),
    )
    met = found.join(F.broadcast(streams.select(*STREAM, "topic", "lives")), ["run", "stream"], "inner")
    stored = F.col("type") == _STORED
    covered = {"kept": F.exists("lives", _covers), "current": _covers(F.element_at("lives", -1))}
    return (
        met.filter(stored | (F.col("of") == F.col("group")))
        .withColumns({name: F.when(stored, holds) for name, holds in covered.items()})
        .drop("of", "lives")
    )


def _covers(life: Column) -> Column:
    return (F.col("at_us") >= life.start_us) & (F.col("seq") < life.until_seq)


def judged(histories: DataFrame) -> DataFrame:
    """The deliveries, with verdict and the acknowledgement before each.

    Columns: PLACE, producer, sequence_id, seq, at_us, client, node, topic, generation, chunk_seq, verdict
    (first, duplicate, redelivery), ack_seq, ack_us, ack_client, ack_node.
    """
    before = Window.partitionBy(*PLACE).orderBy("seq").rowsBetween(Window.unboundedPreceding, -1)
    delivered = F.col("type") == _DELIVERED
    ack = F.last(
        F.when(F.col("type") == _ACKNOWLEDGED, F.struct("seq", "at_us", "client", "node")), ignorenulls=True
    ).over(before)
    found = histories.withColumns({"earlier": F.count_if(delivered).over(before), "ack": ack})
    verdict = (
        F.when(F.col("earlier") == 0, "first")
        .when(F.col("ack").isNotNull(), "duplicate")
        .otherwise("redelivery")
    )
    return (
        found.filter(delivered)
        .withColumn("verdict", verdict)
        .select(
            *PLACE,
            "producer",
            "sequence_id",
            "seq",
            "at_us",
            "client",
            "node",
            "topic",
            "generation",
            "chunk_seq",
            "verdict",
            F.col("ack.seq").alias("ack_seq"),
            F.col("ack.at_us").alias("ack_us"),
            F.col("ack.client").alias("ack_client"),
            F.col("ack.node").alias("ack_node"),
        )
    )


def taken_lightly(control: DataFrame, light: DataFrame) -> DataFrame:
    """Chunks fetched for clients of quality of service 0: STREAM, first, after.

    `light`: run, client.
    """
    chunks = control.filter(is_type("chunk.fetched")).select(
        "run",
        F.col("subscription").alias("group"),
        F.col("topic").alias("stream"),
        "client",
        F.col("entry").alias("first"),
        F.col("to_entry").alias("after"),
    )
    return chunks.join(F.broadcast(light), ["run", "client"], "leftsemi").drop("client")


def message_figures(
    histories: DataFrame, shared: DataFrame, qualities: DataFrame, lightly: DataFrame
) -> DataFrame:
    """The figures of messages: GROUP, published, delivered, acknowledged, lost, lost_qos0, waiting.

    `qualities`: run, producer, qos. `lightly`: STREAM, first, after.
    """
    stored = F.col("type") == _STORED
    each = histories.groupBy(*PLACE).agg(
        F.max(F.when(stored, F.col("producer"))).alias("producer"),
        F.max("kept").alias("kept"),
        F.max("current").alias("current"),
        F.count_if(F.col("type") == _DELIVERED).alias("delivered"),
        F.count_if(F.col("type") == _ACKNOWLEDGED).alias("acknowledged"),
    )
    nobody = (F.col("delivered") == 0) & (F.col("acknowledged") == 0)
    met = (
        each.filter(F.col("kept") | ~nobody)
        .join(F.broadcast(shared), list(STREAM), "left")
        .join(F.broadcast(qualities), ["run", "producer"], "left")
    )
    passed = F.col("current") & F.col("found_us").isNotNull() & (F.col("entry") < F.col("position"))
    fate = (
        F.when(~nobody, "had").when(~passed, "waiting").when(F.col("qos") == 0, "lost_qos0").otherwise("lost")
    )
    found = met.withColumn("fate", fate)
    under = lightly.withColumnsRenamed({name: f"of_{name}" for name in STREAM})
    inside = (
        (F.col("fate") == "lost") & (F.col("entry") >= F.col("first")) & (F.col("entry") < F.col("after"))
    )
    found = (
        found.join(F.broadcast(under), inside & _same_stream(), "leftsemi")
        .select(*PLACE, F.lit(True).alias("light"))
        .join(found, list(PLACE), "right")
    )
    lost = F.col("fate") == "lost"
    return found.groupBy(*GROUP).agg(
        F.count("*").alias("published"),
        F.sum("delivered").alias("delivered"),
        F.sum("acknowledged").alias("acknowledged"),
        F.count_if(lost & F.col("light").isNull()).alias("lost"),
        F.count_if((F.col("fate") == "lost_qos0") | (lost & F.col("light"))).alias("lost_qos0"),
        F.count_if(F.col("fate") == "waiting").alias("waiting"),
    )


def _same_stream() -> Column:
    return (
        (F.col("run") == F.col("of_run"))
        & (F.col("group") == F.col("of_group"))
        & (F.col("stream") == F.col("of_stream"))
    )


def reordered(judged: DataFrame, rows: DataFrame) -> DataFrame:
    """Reordered deliveries: GROUP, seq.

    Each is older than an earlier delivery to its group, in the order in which its MQTT client published to
    the topic.
    """
    published = rows.filter(is_type("message.published")).select(
        *MESSAGE, F.col("key").alias("publisher_client")
    )
    found = judged.select(*GROUP, "topic", "producer", "sequence_id", "seq").join(
        published, list(MESSAGE), "inner"
    )
    before = (
        Window.partitionBy(*GROUP, "topic", "producer", "publisher_client")
        .orderBy("seq")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        found.withColumn("newest", F.max("sequence_id").over(before))
        .filter(F.col("sequence_id") < F.col("newest"))
        .select(*GROUP, "seq")
    )


def pending_repeats(judged: DataFrame, shared: DataFrame, reading: DataFrame) -> DataFrame:
    """How many messages may still be delivered again at the run's end: GROUP, pending_repeats.

    Each was delivered, at or after the position where a reader began that did not get it since. In a stream
    without a reader it was delivered at or after the position of the latest leader. `reading`: STREAM,
    client, seq, position.
    """
    open_ = shared.filter("shared").select(*STREAM, F.col("position").alias("leader_position"))
    places = judged.select(*PLACE).distinct().join(F.broadcast(open_), list(STREAM), "inner")
    latest = judged.groupBy(*PLACE, "client").agg(F.max("seq").alias("latest_seq"))
    read = (
        places.join(F.broadcast(reading), list(STREAM), "inner")
        .filter(F.col("entry") >= F.col("position"))
        .join(latest, [*PLACE, "client"], "left")
        .filter(F.coalesce("latest_seq", F.lit(-1)) < F.col("seq"))
        .select(*PLACE)
        .distinct()
    )
    unread = places.join(F.broadcast(reading), list(STREAM), "left_anti").filter(
        F.col("entry") >= F.col("leader_position")
    )
    both = read.unionByName(unread.select(*PLACE))
    return both.groupBy(*GROUP).agg(F.count("*").alias("pending_repeats"))


def verdict_figures(judged: DataFrame) -> DataFrame:
    """The figures of verdicts: GROUP, duplicates, redeliveries, messages_twice.

    The first two count deliveries, messages_twice counts messages with a duplicate.
    """
    twice = F.col("verdict") == "duplicate"
    return (
        judged.filter(F.col("verdict") != "first")
        .groupBy(*GROUP)
        .agg(
            F.count_if(twice).alias("duplicates"),
            F.count_if(~twice).alias("redeliveries"),
            F.count_distinct(F.when(twice, F.struct("stream", "entry"))).alias("messages_twice"),
        )
    )
