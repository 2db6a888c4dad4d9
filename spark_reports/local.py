"""Small frames held by the driver.

Rules: they enter and leave Spark as Arrow tables, which Spark plans as a local table of known size. A frame
made from a list is an opaque RDD that takes ten times as long and has no known size. A frame that keeps its
whole plan is planned again by every reader. While each query is one task (`tuning`), they have one partition.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BooleanType, DataType, LongType, StringType, StructType

from spark_reports.tuning import one_task

_ARROW: dict[DataType, pa.DataType] = {
    LongType(): pa.int64(),
    StringType(): pa.string(),
    BooleanType(): pa.bool_(),
}


def from_rows(spark: SparkSession, rows: Sequence[tuple], schema: StructType) -> DataFrame:
    """A frame of the given rows. Columns are longs, strings and booleans."""
    columns = zip(*rows, strict=True) if rows else [() for _ in schema]
    arrays = [
        pa.array(list(column), _ARROW[field.dataType]) for field, column in zip(schema, columns, strict=True)
    ]
    return in_one_part(spark, spark.createDataFrame(pa.table(arrays, names=schema.names), schema))


def made_local(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """The frame's rows without the plan that computed them."""
    # Spark Connect does not take the schema of an empty table
    return in_one_part(spark, spark.createDataFrame(frame.toArrow(), frame.schema))


def in_one_part(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """The frame in one partition while each query is one task, so that no join has to exchange its rows."""
    return frame.coalesce(1) if one_task(spark) else frame
