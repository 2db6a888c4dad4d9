"""Reads JSON Lines, CSV and Parquet by a mapping.

Rules: a frame returned here has those canonical columns that the mapping names, and `text` (the row as it is
in the log), `file` and `corrupt` (why it is no row, or null). Schemas are made from the mapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, ShortType, StringType, StructField, StructType

from spark_reports.audit.errors import AuditError
from spark_reports.audit.inputs import InputFile, text_lines, within_limit
from spark_reports.audit.mapping import Mapping

CORRUPT = "_corrupt"
OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def read_json_lines(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Rows of JSON Lines. A column `a.b` is the key "a.b", or `b` inside `a`."""
    schema = _json_schema(list(mapping.columns.values()))
    parsed = text_lines(spark, files, expanded_mib).withColumn("row", F.from_json("value", schema, OPTIONS))
    corrupt = F.when(
        F.col(f"row.{CORRUPT}").isNotNull() | F.col("row").isNull(), F.lit("it is no JSON object")
    )
    return parsed.select(
        *(_json_column(name, schema).alias(known) for known, name in mapping.columns.items()),
        F.col("value").alias("text"),
        "file",
        corrupt.alias("corrupt"),
    )


def _json_schema(names: list[str]) -> StructType:
    tree: dict[str, Any] = {}
    for name in names:
        tree[name] = None
    for name in names:
        place, steps = tree, name.split(".")
        for step in steps[:-1]:
            place = place.setdefault(step, {})
            if place is None:  # a mapped column is also the parent of another; it stays text
                break
        else:
            place.setdefault(steps[-1], None)
    return StructType([*_fields(tree), StructField(CORRUPT, StringType())])


def _fields(tree: dict[str, Any]) -> list[StructField]:
    return [
        StructField(name, StringType() if inner is None else StructType(_fields(inner)))
        for name, inner in tree.items()
    ]


def _json_column(name: str, schema: StructType) -> Column:
    flat = F.col("row").getField(name)
    steps = name.split(".")
    if len(steps) == 1 or not isinstance(schema[steps[0]].dataType, StructType):
        return flat
    nested = F.col("row")
    for step in steps:
        nested = nested.getField(step)
    return F.coalesce(flat, nested)


def read_csv(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int
) -> DataFrame:
    """Rows of CSV files with one header, the same in all of them."""
    first = files[0].path
    header = spark.read.options(header=True, sep=mapping.delimiter).csv(first).columns
    columns = _present(mapping, header, first)
    schema = StructType([StructField(name, StringType()) for name in [*header, CORRUPT]])

    def rows_of(paths: list[str]) -> DataFrame:
        return (
            spark.read.schema(schema)
            .options(header=True, sep=mapping.delimiter, enforceSchema=False, maxCharsPerColumn=1_000_000)
            .options(**OPTIONS)
            .csv(paths)
            .withColumn("file", F.col("_metadata.file_path"))
        )

    read = within_limit(files, rows_of, expanded_mib)
    text = F.coalesce(F.col(CORRUPT), F.to_json(F.struct(*(_quoted(name) for name in header))))
    return read.select(
        *(_quoted(name).alias(known) for known, name in columns.items()),
        text.alias("text"),
        "file",
        F.when(F.col(CORRUPT).isNotNull(), F.lit("its number of cells differs from the header's")).alias(
            "corrupt"
        ),
    )


def read_parquet(
    spark: SparkSession, files: Sequence[InputFile], mapping: Mapping, expanded_mib: int = 0
) -> DataFrame:
    """Rows of Parquet files. A column `a.b` is `b` inside the struct `a`, unless a column has that name."""
    paths = [file.path for file in files]
    read = spark.read.parquet(*paths)
    columns = _present(mapping, _paths_of(read.schema), paths[0])
    own = [_named(name, read.schema).alias(known) for known, name in columns.items()]
    rows = read.select(*own, F.col("_metadata.file_path").alias("file"))
    text = F.to_json(F.struct(*columns)) if columns else F.lit("{}")
    return rows.select(*columns, text.alias("text"), "file", F.lit(None).cast("string").alias("corrupt"))


def key_column(raw: DataFrame, mapping: Mapping) -> str | None:
    """The canonical column that identifies a message, if it holds integers or texts; else None.

    Without a declared identity, a row without an id is identified by its position.
    """
    name = mapping.identity or ("message_id" if "message_id" in raw.columns else "position")
    if name not in raw.columns or name in {*mapping.constants, *mapping.from_path}:
        return None
    kinds = (LongType, IntegerType, ShortType, StringType)
    return name if isinstance(raw.schema[name].dataType, kinds) else None


def _present(mapping: Mapping, found: Sequence[str], path: str) -> dict[str, str]:
    """The mapped columns that the file has. Raises AuditError when a mapped one is missing."""
    missing = [f"{name} (for {known})" for known, name in mapping.columns.items() if name not in found]
    if mapping.given and missing:
        raise AuditError(
            f"{path}: there is no column {', '.join(missing)}; its columns are {', '.join(found[:60])}"
        )
    return {known: name for known, name in mapping.columns.items() if name in found}


def _paths_of(schema: StructType, before: str = "") -> list[str]:
    names = []
    for field in schema:
        names.append(f"{before}{field.name}")
        if isinstance(field.dataType, StructType):
            names += _paths_of(field.dataType, f"{before}{field.name}.")
    return names


def _named(name: str, schema: StructType) -> Column:
    return _quoted(name) if name in schema.names else F.col(".".join(f"`{step}`" for step in name.split(".")))


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
