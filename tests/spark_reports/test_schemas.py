"""The schema that Spark reads traces with is the registry's, and the files that the simulator writes have
it.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import LongType, StringType

from simulator.trace import files
from simulator.trace.registry import COLUMNS, INTEGER
from spark_reports.schemas import TRACE


def test_columns_and_types_are_the_registrys_in_its_order() -> None:
    assert TRACE.fieldNames() == ["seq", *COLUMNS]
    for name, (kind, _) in COLUMNS.items():
        assert TRACE[name].dataType == (LongType() if kind == INTEGER else StringType()), name


def test_nullability_is_that_of_the_files() -> None:
    arrow = {LongType(): pa.int64(), StringType(): pa.string()}
    assert [(field.name, arrow[field.dataType], field.nullable) for field in TRACE] == [
        (field.name, field.type, field.nullable) for field in files.SCHEMA
    ]
