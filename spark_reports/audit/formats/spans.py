"""Reads OpenTelemetry spans: OTLP/JSON files, and JSON Lines with one span each.

Rules: attributes are looked up in the span's link, the span and its resource, in this order, so that a batch
with one link per message has one row per link. Spans of other operations are left out. Integers may be text.

Pulsar's message ids are positions, which differ between clusters. The copies of a message have one trace
context, because `traceparent` is a message property and geo-replication copies properties. So a publish is
identified by its own span, and a delivery by the span that its link or parent names. Sources:
`TracingContext` and `OpenTelemetryConsumerInterceptor` of Pulsar's Java client (PIP-446, #25749), and
`PulsarSingletons` and `PulsarBatchRequestSpanLinksExtractor` of OpenTelemetry's Java agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from spark_reports.audit.columns import ACK, DELIVER, PUBLISH, PUBLISH_UNKNOWN
from spark_reports.audit.inputs import InputFile, json_rows
from spark_reports.audit.mapping import IGNORE, Mapping

# --- names of OpenTelemetry's messaging attributes, today's first, and the canonical column of each
#
# The source is the semantic conventions v1.44.0, where messaging is still in development; older names
# follow.


ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "message_id": ("messaging.message.id", "messaging.message_id"),
    "position": ("messaging.kafka.offset", "messaging.kafka.message.offset"),
    "topic": ("messaging.destination.name", "messaging.destination"),
    "partition": (
        "messaging.destination.partition.id",
        "messaging.kafka.destination.partition",
        "messaging.kafka.partition",
    ),
    "subscription": (
        "messaging.destination.subscription.name",
        "messaging.servicebus.destination.subscription_name",
        "messaging.consumer.group.name",
        "messaging.kafka.consumer.group",
        "messaging.kafka.consumer_group",
        "messaging.eventhubs.consumer.group",
    ),
    "consumer": (
        "messaging.client.id",
        "messaging.client_id",
        "messaging.consumer.id",
        "messaging.kafka.client_id",
    ),
    "cluster": ("messaging.kafka.cluster.id", "cloud.region", "k8s.cluster.name"),
    "delivery_count": (
        "messaging.servicebus.message.delivery_count",
        "messaging.gcp_pubsub.message.delivery_attempt",
    ),
}
OPERATION = ("messaging.operation.type", "messaging.operation")
OPERATION_NAME = ("messaging.operation.name",)
SYSTEM = ("messaging.system",)
ERROR = ("error.type",)
ACKNOWLEDGMENT = ("messaging.pulsar.acknowledgment.type",)
ACKNOWLEDGED = ("acknowledge", "cumulative_acknowledge")
"""Values with which a span of Pulsar's Java client ends at its acknowledgement."""

TYPES_BY_NAME = {
    **{name: name for name in ("send", "publish", "create", "receive", "deliver", "process", "settle")},
    "poll": "receive",
    "ack": "settle",
    "acknowledge": "settle",
    "nack": "settle",
}
"""Types of operations by name, for spans without a type; Pulsar's Java client writes only the name."""

PULSAR_POSITION = r"^(-?\d+:-?\d+:-?\d+(:-?\d+)?;?){1,2}$|^\((-?\d+,){3}-?\d+\)$"
"""A message id as Pulsar's clients print it: `MessageIdImpl.toString()` and its subclasses, and C++."""

DELIVERY_OPERATIONS = ("process", "deliver", "receive")
"""Operations that show a delivery; the first that the log has is counted, the others repeat it."""
PUBLISH_OPERATIONS = ("send", "publish", "create")
NEGATIVE_SETTLEMENTS = ("nack", "abandon", "reject", "release", "defer", "modify_ack_deadline")
"""Names of settle operations that are no acknowledgement."""


def _struct(**fields: object) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])  # type: ignore[arg-type]


_TEXT = StringType()
_VALUE = _struct(stringValue=_TEXT, intValue=_TEXT, doubleValue=_TEXT, boolValue=_TEXT)
_ATTRIBUTES = ArrayType(_struct(key=_TEXT, value=_VALUE))
_LINKS = ArrayType(_struct(traceId=_TEXT, spanId=_TEXT, attributes=_ATTRIBUTES))
_SPAN = _struct(
    traceId=_TEXT,
    spanId=_TEXT,
    parentSpanId=_TEXT,
    startTimeUnixNano=_TEXT,
    endTimeUnixNano=_TEXT,
    attributes=_ATTRIBUTES,
    links=_LINKS,
    status=_struct(code=_TEXT),
)
_SCOPE = _struct(spans=ArrayType(_SPAN))
_EXPORT = _struct(
    resourceSpans=ArrayType(_struct(resource=_struct(attributes=_ATTRIBUTES), scopeSpans=ArrayType(_SCOPE)))
)
_TIMES = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time", "timestamp")
_END_TIMES = ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")
_TRACE, _SPAN_ID = ("traceId", "trace_id"), ("spanId", "span_id")
_PARENT = ("parentSpanId", "parent_span_id", "parent_id")
_IDS = dict.fromkeys((*_TRACE, *_SPAN_ID), _TEXT)
_CONTEXT = _struct(**_IDS)
_FLAT_LINKS = ArrayType(_struct(**_IDS, context=_CONTEXT, attributes=MapType(_TEXT, _TEXT)))
_FLAT = _struct(
    **dict.fromkeys((*_TIMES, *_END_TIMES, *_PARENT), _TEXT),
    **_IDS,
    context=_CONTEXT,
    attributes=MapType(_TEXT, _TEXT),
    resource=MapType(_TEXT, _TEXT),
    links=_FLAT_LINKS,
)
_WHOLE = MapType(_TEXT, _TEXT)
CONTEXT = "^[0-9a-f]{1,32}:[0-9a-f]{1,16}$"
"""A trace context as text: the ids of trace and span."""
_CONSUMERS = ("cluster", "topic", "subscription")
OPERATIONS_MOST = 1_000
"""The most kinds of consumers that are looked at; others have the choice of the whole input."""
SHARED_ONE_IN = 100
"""Contexts of a topic do not identify messages if more than one in so many has several positions."""


def read_spans(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Raw rows of spans of messaging operations."""
    lines = json_rows(spark, files, expanded_mib)
    exported = F.from_json("value", _EXPORT)
    parsed = lines.withColumns({"export": exported, "flat": F.from_json("value", _FLAT)})
    parsed = parsed.withColumn("whole", F.from_json("value", _WHOLE))
    found = parsed.select("value", "file", F.explode_outer(_spans()).alias("span"))
    rows = found.select("value", "file", "span.*", F.explode_outer("span.messages").alias("message"))
    rows = rows.select("*", F.col("message.own").alias("own"), F.col("message.context").alias("creation"))
    rows = _identified(rows.drop("message", "messages").withColumn("operation", _operation()))
    events = rows.withColumn("event", F.explode(_events(_deliveries(rows))))
    return events.select(
        "event.ts",
        "event.kind",
        *("message_id", "position"),
        *(
            _first(known).alias(name)
            for name, known in ATTRIBUTES.items()
            if name not in ("message_id", "position")
        ),
        F.col("value").alias("text"),
        "file",
        F.when(F.col("own").isNull(), F.lit("it is no span")).alias("corrupt"),
    )


def _operation() -> Column:
    """The operation's type; where a span has only its name, the type that the name stands for."""
    name = F.lower(_first(OPERATION_NAME))
    known = F.create_map(*(F.lit(text) for text in chain.from_iterable(TYPES_BY_NAME.items())))
    return F.coalesce(F.lower(_first(OPERATION)), known[name])


def _deliveries(rows: DataFrame) -> Column:
    """The operation that shows the deliveries of a row's consumers.

    It is chosen for each cluster, topic and subscription, since applications are instrumented differently.
    Spans without a subscription belong to consumers of any.
    """
    place = F.concat_ws("\n", *(F.coalesce(_first(ATTRIBUTES[name]), F.lit("")) for name in _CONSUMERS))
    found = rows.select(place.alias("place"), "operation").distinct().limit(OPERATIONS_MOST).collect()
    seen: dict[str, set[str]] = {}
    for at, operation in found:
        any_subscription = at.rpartition("\n")[0] + "\n"
        for one in {at, any_subscription, ""}:
            seen.setdefault(one, set()).add(operation)
    chosen = {
        at: next(one for one in DELIVERY_OPERATIONS if one in own)
        for at, own in sorted(seen.items())
        if own & {*DELIVERY_OPERATIONS}
    }
    default = F.lit(chosen.pop("", None)).cast("string")
    pairs = [F.lit(text) for pair in chosen.items() for text in pair]
    return F.coalesce(F.create_map(*pairs)[place], default) if pairs else default


def _identified(rows: DataFrame) -> DataFrame:
    """The rows with `message_id` and `position`: of Pulsar's spans the trace context and the message id."""
    found, place = _first(ATTRIBUTES["message_id"]), _first(ATTRIBUTES["position"])
    system = F.coalesce(_first(SYSTEM), F.lit("pulsar"))
    pulsar = (system == "pulsar") & F.coalesce(found.rlike(PULSAR_POSITION), found.isNull())
    publishes = F.col("operation").isin(list(PUBLISH_OPERATIONS))
    topic = F.coalesce(_first(ATTRIBUTES["topic"]), F.lit(""))
    rows = rows.withColumns(
        {
            "pulsar": F.coalesce(pulsar, F.lit(False)) & place.isNull(),
            "topic_name": topic,
            "creation": F.when(publishes, F.col("self")).otherwise(F.col("creation")),
        }
    )
    shared = _topics_of_shared_contexts(rows.filter(F.col("pulsar") & ~publishes), found)
    known = ~F.col("topic_name").isin(shared) if shared else F.lit(True)
    return rows.withColumns(
        {
            "message_id": F.when(F.col("pulsar"), F.when(known, F.col("creation"))).otherwise(found),
            "position": F.when(F.col("pulsar"), found).otherwise(place),
        }
    )


def _topics_of_shared_contexts(rows: DataFrame, position: Column) -> list[str]:
    """Topics whose trace contexts do not identify messages: too many have several positions in a cluster.

    They are those of a span around several messages, at the producer or, where the messages have no trace
    context, at the consumer. A resent copy has the context of its message, too, and is rare.
    """
    cluster = F.coalesce(_first(ATTRIBUTES["cluster"]), F.lit(""))
    contexts = rows.filter("creation is not null").groupBy("topic_name", cluster.alias("cluster"), "creation")
    several = (F.countDistinct(position) > 1).cast("bigint")
    topics = contexts.agg(several.alias("several")).groupBy("topic_name")
    counted = topics.agg(F.count(F.lit(1)).alias("contexts"), F.sum("several").alias("several"))
    return [
        row["topic_name"]
        for row in counted.filter("several > 0").collect()
        if row["several"] * SHARED_ONE_IN > row["contexts"]
    ]


def _events(delivery: Column) -> Column:
    """What a span shows: its operation at its start and, with an acknowledgement, that one at its end."""
    acked = F.lower(_first(ACKNOWLEDGMENT)).isin(list(ACKNOWLEDGED)) & F.col("ended").isNotNull()
    own = F.struct("ts", _kind(delivery).alias("kind"))
    ack = F.struct(F.col("ended").alias("ts"), F.lit(ACK).alias("kind"))
    return F.when(acked, F.array(own, ack)).otherwise(F.array(own))


def _spans() -> Column:
    """The spans of a line: ts, end, status, context and, for each message, its attributes as a map."""
    exported = F.flatten(
        F.transform(
            "export.resourceSpans",
            lambda resource: F.flatten(
                F.transform(
                    resource["scopeSpans"],
                    lambda scope: F.transform(
                        scope["spans"], lambda span: _exported(span, resource["resource"]["attributes"])
                    ),
                )
            ),
        )
    )
    plain = F.when(F.col("flat").isNotNull() & F.coalesce(*_times()).isNotNull(), F.array(_plain()))
    return F.coalesce(exported, plain)


def _exported(span: Column, resource: Column) -> Column:
    own = _concatenated(_map(span["attributes"]), _map(resource))
    linked = F.transform(
        span["links"],
        lambda link: _message(
            _concatenated(_map(link["attributes"]), own), _context(link["traceId"], link["spanId"])
        ),
    )
    ids = (span["traceId"], span["spanId"], span["parentSpanId"])
    return _span(span["startTimeUnixNano"], span["endTimeUnixNano"], span["status"]["code"], ids, own, linked)


def _plain() -> Column:
    inside = F.coalesce(F.col("flat.attributes"), _empty())
    outside = F.transform_keys(
        "whole", lambda key, _value: F.regexp_replace(key, "^(span_?)?attributes?\\.", "")
    )
    own = _concatenated(_concatenated(inside, outside), F.col("flat.resource"))
    linked = F.transform(
        "flat.links",
        lambda link: _message(
            _concatenated(link["attributes"], own), _context(_id(link, _TRACE), _id(link, _SPAN_ID))
        ),
    )
    flat = F.col("flat")
    ids = (_id(flat, _TRACE), _id(flat, _SPAN_ID), F.coalesce(*(flat[name] for name in _PARENT)))
    end = F.coalesce(*(flat[name] for name in _END_TIMES))
    return _span(F.coalesce(*_times()), end, F.col("whole").getItem("status"), ids, own, linked)


def _id(one: Column, known: Sequence[str]) -> Column:
    """An id beside the attributes, or inside `context`."""
    return F.coalesce(*(one[name] for name in known), *(one["context"][name] for name in known))


def _times() -> list[Column]:
    return [F.col(f"flat.{name}") for name in _TIMES]


def _context(trace: Column, span: Column) -> Column:
    """A trace context as text; null for an invalid one, whose ids are absent or zero."""
    ids = [F.regexp_replace(F.lower(one), "^0x", "") for one in (trace, span)]
    valid = [one.rlike("^0*[1-9a-f]") for one in ids]
    return F.when(valid[0] & valid[1], F.concat_ws(":", *ids))


def _message(own: Column, context: Column) -> Column:
    return F.struct(own.alias("own"), context.alias("context"))


def _span(
    ts: Column, end: Column, status: Column, ids: tuple[Column, ...], own: Column, linked: Column
) -> Column:
    """A span with its messages: one per link where the span itself names no message.

    A span with one link has that link's context, because its parent may be the span of the poll.
    """
    trace, span, parent = ids
    known = (*ATTRIBUTES["message_id"], *ATTRIBUTES["position"])
    named = F.coalesce(*(own.getItem(name) for name in known))
    batch = named.isNull() & (F.size(linked) > 0)
    only = F.when(F.size(linked) == 1, F.get(linked, F.lit(0))["context"])
    alone = F.array(_message(own, F.coalesce(only, _context(trace, parent))))
    return F.struct(
        ts.alias("ts"),
        end.alias("ended"),
        status.alias("status"),
        _context(trace, span).alias("self"),
        F.when(batch, linked).otherwise(alone).alias("messages"),
    )


def _map(found: Column) -> Column:
    """Attributes of OTLP as a map; the first of a repeated key."""
    entries = F.filter(found, lambda one: one["key"].isNotNull())
    keys = F.array_distinct(F.transform(entries, lambda one: one["key"]))
    values = F.transform(
        keys,
        lambda key: F.get(F.filter(entries, lambda one: one["key"] == key), F.lit(0))["value"],
    )
    texts = F.transform(
        values,
        lambda one: F.coalesce(one["stringValue"], one["intValue"], one["doubleValue"], one["boolValue"]),
    )
    return F.coalesce(F.map_from_arrays(keys, texts), _empty())


def _concatenated(first: Column, second: Column) -> Column:
    """Both maps; the first one's value where they share a key."""
    mine, other = F.coalesce(first, _empty()), F.coalesce(second, _empty())
    return F.map_concat(mine, F.map_filter(other, lambda key, _value: ~F.map_contains_key(mine, key)))


def _empty() -> Column:
    return F.create_map().cast(_WHOLE)


def _first(known: Sequence[str]) -> Column:
    return F.coalesce(*(F.col("own").getItem(name) for name in known))


def _kind(delivery: Column) -> Column:
    operation = F.col("operation")
    name = F.lower(F.coalesce(_first(OPERATION_NAME), F.lit("")))
    failed = _first(ERROR).isNotNull() | F.col("status").isin("2", "STATUS_CODE_ERROR", "ERROR")
    published = F.when(failed, F.lit(PUBLISH_UNKNOWN)).otherwise(F.lit(PUBLISH))
    return (
        F.when(F.col("own").isNull(), F.lit(None))
        .when(operation.isin(list(PUBLISH_OPERATIONS)), published)
        .when(operation == delivery, F.lit(DELIVER))
        .when((operation == "settle") & ~name.isin(list(NEGATIVE_SETTLEMENTS)), F.lit(ACK))
        .otherwise(F.lit(IGNORE))
    )
