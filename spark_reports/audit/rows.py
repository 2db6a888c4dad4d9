"""Canonical rows from raw columns: instants in microseconds, kinds, and the key of each message.

Rules: nothing is dropped but kinds that the mapping ignores. A row that cannot be used has a `problem`.
Without a declared time unit each number is read by its size: seconds below 1e11, ms below 1e14, us below
1e17, else ns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_reports.audit.columns import COLUMNS, GROUP, KIND_NAMES, ROWS, TEXTS, UNITS
from spark_reports.audit.inputs import InputFile
from spark_reports.audit.mapping import AUTO, IGNORE, MESSAGE_ID, POSITION, SHARED, TEXT, Mapping, of_paths
from spark_reports.local import from_rows

UNIT_BOUNDS = {"s": 10**11, "ms": 10**14, "us": 10**17}
"""Numbers below each bound have this unit: 1e11 s is the year 5138, 1e11 ms is 1973."""
LATEST_US = 4_102_444_800_000_000
"""The latest instant that is taken for one: the beginning of 2100."""

_CLOCK = r"(\.\d+)? ?(?:UTC|GMT|Z)?([+-]\d{2}(?::?\d{2})?)?(?: [A-Z]{1,5})?$"
_LOGGED = (
    (
        rf"^(\d{{4}})[-/](\d{{2}})[-/](\d{{2}})[T _](\d{{2}}):(\d{{2}}):(\d{{2}}){_CLOCK}",
        "$1-$2-$3T$4:$5:$6$7$8",
    ),
    (rf"^(\d{{4}})(\d{{2}})(\d{{2}})T(\d{{2}})(\d{{2}})(\d{{2}}){_CLOCK}", "$1-$2-$3T$4:$5:$6$7$8"),
)
"""Texts that Spark does not read as they are, and what is read instead: log4j 2, Go, basic ISO 8601.

log4j 2 writes a comma before the milliseconds, as Pulsar's brokers and clients do.
"""

_INTEGERS = (LongType, IntegerType, ShortType, ByteType)
_TIME_PROBLEM = "ts is no instant between 1970 and 2100"


def canonical(raw: DataFrame, mapping: Mapping, files: Sequence[InputFile]) -> DataFrame:
    """The canonical rows (`columns.ROWS`) of a frame of raw columns."""
    return named(timed(completed(raw, mapping, files), mapping), mapping)


def completed(raw: DataFrame, mapping: Mapping, files: Sequence[InputFile]) -> DataFrame:
    """Every column of `columns.COLUMNS`: with the mapping's constants and paths, else null."""
    raw = _with_paths(raw, mapping, files)
    for name, value in mapping.constants.items():
        raw = raw.withColumn(name, F.lit(value))
    for name in mapping.from_path:
        raw = raw.withColumn(name, F.coalesce(_path_column(name), *_existing(raw, name)))
    return raw.select(
        *(raw[name] if name in raw.columns else F.lit(None).cast("string").alias(name) for name in COLUMNS),
        "text",
        "file",
        "corrupt",
    )


def _path_column(name: str) -> str:
    return f"path_{name}"


def _with_paths(raw: DataFrame, mapping: Mapping, files: Sequence[InputFile]) -> DataFrame:
    """The rows with what `from_path` finds in their files' paths, matched here in the driver."""
    if not mapping.from_path:
        return raw
    paths = [file.name for file in files]
    found = [of_paths(pattern, paths) for pattern in mapping.from_path.values()]
    names = ["file", *map(_path_column, mapping.from_path)]
    schema = StructType([StructField(name, StringType()) for name in names])
    known = from_rows(raw.sparkSession, list(zip(paths, *found)), schema)
    return raw.join(F.broadcast(known), "file", "left")


def timed(rows: DataFrame, mapping: Mapping) -> DataFrame:
    """The rows with `at_us` and `unit`."""
    return rows.withColumns(_time(rows.schema["ts"].dataType, mapping))


def named(timed_rows: DataFrame, mapping: Mapping) -> DataFrame:
    """The canonical rows of completed rows with an instant."""
    kinds = {**KIND_NAMES, IGNORE: IGNORE, **mapping.kinds}
    known = F.create_map(*(F.lit(text) for text in chain.from_iterable(kinds.items())))
    made = timed_rows.withColumns(
        {
            "kind_text": F.col("kind").cast("string"),
            "kind": known[F.lower(F.trim(F.col("kind").cast("string")))],
            **{name: _text(name) for name in TEXTS},
        }
    ).withColumns({"key": _key(mapping), "scope": _scope(mapping)})
    made = made.withColumn("problem", _problem())
    kept = made.filter(F.col("kind").isNull() | (F.col("kind") != IGNORE))
    return kept.select(
        "at_us",
        "kind",
        *TEXTS,
        "key",
        "scope",
        F.col("delivery_count").try_cast("bigint").alias("delivery_count"),
        "unit",
        "problem",
        F.when(F.col("problem").isNotNull(), F.col("text")).alias("text"),
        "file",
    ).select(*ROWS.fieldNames())


def _existing(raw: DataFrame, name: str) -> list[Column]:
    return [F.col(name).cast("string")] if name in raw.columns else []


def _text(name: str) -> Column:
    text = F.trim(F.col(name).cast("string"))
    return F.when(text != "", text)


def _key(mapping: Mapping) -> Column:
    message_id = _text("message_id")
    if mapping.identity == POSITION:
        return _text("position")
    return message_id if mapping.identity == MESSAGE_ID else F.coalesce(message_id, _text("position"))


def _scope(mapping: Mapping) -> Column:
    """The cluster whose positions the key belongs to; null for keys that are the same in all clusters."""
    if mapping.positions == SHARED or mapping.identity == MESSAGE_ID:
        return F.lit(None).cast("string")
    own = F.coalesce("cluster", F.lit(""))
    return own if mapping.identity == POSITION else F.when(_text("message_id").isNull(), own)


def _problem() -> Column:
    return F.coalesce(
        F.col("corrupt"),
        F.when(F.col("ts").isNull(), F.lit("ts is missing")),
        F.when(
            F.col("at_us").isNull() | (F.col("at_us") < 0) | (F.col("at_us") > LATEST_US),
            F.lit(_TIME_PROBLEM),
        ),
        F.when(F.col("kind_text").isNull(), F.lit("kind is missing")),
        F.when(F.col("kind").isNull(), F.lit("kind is none that the mapping knows")),
        F.when(
            F.col("key").isNull() & (F.col("kind") != IGNORE),
            F.lit("it has neither message_id nor position"),
        ),
    )


def _instant(text: Column, time_format: str) -> Column:
    """Microseconds of a text: ISO 8601, as loggers write it, or in the format that the mapping names."""
    if time_format:
        return F.unix_micros(F.try_to_timestamp(text, F.lit(time_format)))
    plain = text.try_cast("timestamp")
    point = F.translate(text, ",", ".")
    others = [F.regexp_replace(point, pattern, to).try_cast("timestamp") for pattern, to in _LOGGED]
    return F.unix_micros(F.coalesce(plain, *others))


def _time(kind: DataType, mapping: Mapping) -> dict[str, Column]:
    """`at_us` and `unit` from the column ts."""
    ts, unit = F.col("ts"), mapping.time_unit
    if isinstance(kind, TimestampType):
        return {"at_us": F.unix_micros(ts), "unit": F.lit(TEXT)}
    text = F.trim(ts.cast("string"))
    instant = _instant(text, mapping.time_format)
    if unit == TEXT or mapping.time_format:
        return {"at_us": instant, "unit": F.lit(TEXT)}
    number = (
        ts.cast("bigint")
        if isinstance(kind, _INTEGERS)
        else F.regexp_replace(text, r"^(\d{9,12}),(\d+)$", "$1.$2").try_cast("decimal(28,9)")
    )
    size = F.abs(number)
    guessed = F.when(size < UNIT_BOUNDS["s"], "s").when(size < UNIT_BOUNDS["ms"], "ms")
    guessed = guessed.when(size < UNIT_BOUNDS["us"], "us").when(size.isNotNull(), "ns")
    found = guessed if unit == AUTO else F.when(number.isNotNull(), F.lit(unit))
    at_us = F.lit(None).cast("bigint")
    for name, nanoseconds in UNITS.items() if unit == AUTO else ((unit, UNITS[unit]),):
        at_us = F.when(found == name, _in_us(number, nanoseconds, isinstance(kind, _INTEGERS))).otherwise(
            at_us
        )
    if isinstance(kind, _INTEGERS):
        return {"at_us": at_us, "unit": guessed}
    return {"at_us": F.coalesce(at_us, instant), "unit": F.coalesce(guessed, F.lit(TEXT))}


def _in_us(number: Column, nanoseconds: int, integers: bool) -> Column:
    if nanoseconds >= 1000:
        return F.try_multiply(number, F.lit(nanoseconds // 1000)).try_cast("bigint")
    if integers:  # a quotient of integers is a double, which does not have 19 digits
        return F.round((number - F.pmod(number, F.lit(1000))) / F.lit(1000)).cast("bigint")
    return F.floor(number / F.lit(1000)).try_cast("bigint")


def readable(rows: DataFrame) -> DataFrame:
    """The rows without a problem."""
    return rows.filter(F.col("problem").isNull())


def of_kinds(rows: DataFrame, *kinds: str) -> DataFrame:
    """The readable rows of these kinds, with "" instead of null in the columns of an identity."""
    kept = readable(rows).filter(F.col("kind").isin(list(kinds)))
    return kept.withColumns({name: F.coalesce(name, F.lit("")) for name in (*GROUP, "scope", "cluster")})
