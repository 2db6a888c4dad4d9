"""Reads the files of every format into one frame of canonical rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from spark_reports.audit import detect
from spark_reports.audit.formats import spans, tables, verifiable
from spark_reports.audit.inputs import InputFile
from spark_reports.audit.mapping import Mapping as ColumnMapping
from spark_reports.audit.rows import canonical

READERS: dict[str, Callable[[SparkSession, Sequence[InputFile], ColumnMapping, int], DataFrame]] = {
    detect.JSON_LINES: tables.read_json_lines,
    detect.CSV: tables.read_csv,
    detect.PARQUET: tables.read_parquet,
    detect.TEXT: tables.read_text,
    detect.SPANS: spans.read_spans,
    detect.VERIFIABLE: verifiable.read_verifiable,
}


def read(
    spark: SparkSession,
    found: Mapping[str, Sequence[InputFile]],
    mapping: ColumnMapping,
    expanded_mib: int,
) -> DataFrame:
    """The canonical rows of all files, by format."""
    frames = [
        canonical(READERS[name](spark, files, mapping, expanded_mib), mapping, files)
        for name, files in found.items()
    ]
    return reduce(DataFrame.unionByName, frames)
