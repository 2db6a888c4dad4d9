"""Decides whether tasks can read a log's files themselves, and which parts each task reads.

Rules: they can if all files are local and every column is a plain one of integers, texts or timestamps. Other
logs are read by Spark, with the same results.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ByteType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_reports.audit.columns import UNITS
from spark_reports.audit.inputs import InputFile
from spark_reports.audit.mapping import AUTO, TEXT, Mapping
from spark_reports.audit.numbered.files import Source
from spark_reports.audit.numbered.grouping import TEXTS
from spark_reports.local import from_rows

INTEGERS = (ByteType, ShortType, IntegerType, LongType)
PART_BYTES = 16 << 20
"""Bytes of a file that one task reads."""
TASKS_MOST = 2_000
_SCHEME = "file:"
_PARTS = StructType(
    [
        StructField("path", StringType()),
        StructField("part", LongType()),
        StructField("parts", LongType()),
    ]
)


def source_of(
    raw: DataFrame, key: str, mapping: Mapping, files: Sequence[InputFile], consumers: bool
) -> Source | None:
    """Where the columns of a scan are in the files, or None if Spark has to read them.

    `consumers` says whether the scan reads the columns of a consumer's delivery.
    """
    if key in mapping.parts or mapping.from_path or mapping.time_unit == TEXT or mapping.time_format:
        return None
    if not all(file.path.startswith(_SCHEME) for file in files):
        return None
    kinds = {field.name: field.dataType for field in raw.schema}
    names = {known: name for known, name in mapping.columns.items() if known in kinds}
    used = [*TEXTS, "ts", key, *(("consumer", "delivery_count") if consumers else ())]
    plain = [name for name in used if name in names and name not in mapping.constants]
    if "ts" not in plain or any("." in names[name] for name in plain):
        return None
    for name in plain:
        allowed = {"ts": (TimestampType, *INTEGERS), "delivery_count": INTEGERS}
        if not isinstance(kinds[name], allowed.get(name, (StringType, *INTEGERS))):
            return None
    if "delivery_count" in mapping.constants:
        return None
    texts = (*TEXTS, "consumer")
    unit = None if mapping.time_unit == AUTO else [*UNITS].index(mapping.time_unit)
    return Source(
        names["ts"],
        "timestamp" if isinstance(kinds["ts"], TimestampType) else unit,
        names[key],
        tuple(names[name] if name in plain else None for name in texts),
        tuple(mapping.constants.get(name) for name in texts),
        names["delivery_count"] if "delivery_count" in plain else None,
    )


def parts_of(spark: SparkSession, files: Sequence[InputFile]) -> DataFrame:
    """Path, part and number of parts of each file, spread over tasks."""
    rows = []
    for file in files:
        parts = max(1, -(-file.size_bytes // PART_BYTES))
        path = f"/{file.path.removeprefix(_SCHEME).lstrip('/')}"
        rows += [(path, part, parts) for part in range(parts)]
    return from_rows(spark, rows, _PARTS).repartition(min(len(rows), TASKS_MOST))
