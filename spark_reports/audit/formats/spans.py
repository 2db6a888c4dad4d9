"""Reads OpenTelemetry spans: OTLP/JSON files, and JSON Lines with one span each.

Rules: attributes are looked up in the span's link, the span and its resource, in this order, so that a batch
with one link per message has one row per link. Spans of other operations are left out. Integers may be text.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

from spark_reports.audit.columns import ACK, DELIVER, PUBLISH, PUBLISH_UNKNOWN
from spark_reports.audit.formats import attributes as names
from spark_reports.audit.inputs import InputFile, json_rows
from spark_reports.audit.mapping import IGNORE, Mapping


def _struct(**fields: object) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])  # type: ignore[arg-type]


_TEXT = StringType()
_VALUE = _struct(stringValue=_TEXT, intValue=_TEXT, doubleValue=_TEXT, boolValue=_TEXT)
_ATTRIBUTES = ArrayType(_struct(key=_TEXT, value=_VALUE))
_LINKS = ArrayType(_struct(attributes=_ATTRIBUTES))
_SPAN = _struct(
    startTimeUnixNano=_TEXT,
    attributes=_ATTRIBUTES,
    links=_LINKS,
    status=_struct(code=_TEXT),
)
_SCOPE = _struct(spans=ArrayType(_SPAN))
_EXPORT = _struct(
    resourceSpans=ArrayType(_struct(resource=_struct(attributes=_ATTRIBUTES), scopeSpans=ArrayType(_SCOPE)))
)
_TIMES = ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time", "timestamp")
_FLAT_LINKS = ArrayType(_struct(attributes=MapType(_TEXT, _TEXT)))
_FLAT = _struct(
    **dict.fromkeys(_TIMES, _TEXT),
    attributes=MapType(_TEXT, _TEXT),
    resource=MapType(_TEXT, _TEXT),
    links=_FLAT_LINKS,
)
_WHOLE = MapType(_TEXT, _TEXT)


def read_spans(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Raw rows of spans of messaging operations."""
    lines = json_rows(spark, files, expanded_mib)
    exported = F.from_json("value", _EXPORT)
    parsed = lines.withColumns({"export": exported, "flat": F.from_json("value", _FLAT)})
    parsed = parsed.withColumn("whole", F.from_json("value", _WHOLE))
    found = parsed.select("value", "file", F.explode_outer(_spans()).alias("span"))
    rows = found.select("value", "file", "span.ts", "span.status", F.explode_outer("span.maps").alias("own"))
    operations = {row[0] for row in rows.select(_first(names.OPERATION)).distinct().limit(100).collect()}
    delivery = next((one for one in names.DELIVERY_OPERATIONS if one in operations), None)
    return rows.select(
        "ts",
        _kind(delivery).alias("kind"),
        *(_first(known).alias(name) for name, known in names.ATTRIBUTES.items()),
        F.col("value").alias("text"),
        "file",
        F.when(F.col("own").isNull(), F.lit("it is no span")).alias("corrupt"),
    )


def _spans() -> Column:
    """The spans of a line: ts, status and, for each message, its attributes as a map."""
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
    linked = F.transform(span["links"], lambda link: _concatenated(_map(link["attributes"]), own))
    return _span(span["startTimeUnixNano"], span["status"]["code"], own, linked)


def _plain() -> Column:
    inside = F.coalesce(F.col("flat.attributes"), _empty())
    outside = F.transform_keys(
        "whole", lambda key, _value: F.regexp_replace(key, "^(span_?)?attributes?\\.", "")
    )
    own = _concatenated(_concatenated(inside, outside), F.col("flat.resource"))
    linked = F.transform("flat.links", lambda link: _concatenated(link["attributes"], own))
    return _span(F.coalesce(*_times()), F.col("whole").getItem("status"), own, linked)


def _times() -> list[Column]:
    return [F.col(f"flat.{name}") for name in _TIMES]


def _span(ts: Column, status: Column, own: Column, linked: Column) -> Column:
    """A span with one map of attributes per message: per link where the span itself names no message."""
    known = (*names.ATTRIBUTES["message_id"], *names.ATTRIBUTES["position"])
    named = F.coalesce(*(own.getItem(name) for name in known))
    batch = named.isNull() & (F.size(linked) > 0)
    maps = F.when(batch, linked).otherwise(F.array(own))
    return F.struct(ts.alias("ts"), status.alias("status"), maps.alias("maps"))


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


def _kind(delivery: str | None) -> Column:
    operation = F.lower(_first(names.OPERATION))
    name = F.lower(F.coalesce(_first(names.OPERATION_NAME), F.lit("")))
    failed = _first(names.ERROR).isNotNull() | F.col("status").isin("2", "STATUS_CODE_ERROR", "ERROR")
    published = F.when(failed, F.lit(PUBLISH_UNKNOWN)).otherwise(F.lit(PUBLISH))
    return (
        F.when(F.col("own").isNull(), F.lit(None))
        .when(operation.isin(list(names.PUBLISH_OPERATIONS)), published)
        .when(operation == F.lit(delivery), F.lit(DELIVER))
        .when((operation == "settle") & ~name.isin(list(names.NEGATIVE_SETTLEMENTS)), F.lit(ACK))
        .otherwise(F.lit(IGNORE))
    )
