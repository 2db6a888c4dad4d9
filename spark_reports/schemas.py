"""Schemas, declared once: trace rows from the registry, and small frames about runs.

Rules: every integer is a long, every name a string. Units are in the names. `run` numbers the traces of one
job from 0.
"""

from __future__ import annotations

from pyspark.sql.types import LongType, StringType, StructField, StructType

from simulator.trace.registry import COLUMNS, INTEGER

_REQUIRED = ("at_us", "type")

TRACE = StructType(
    [StructField("seq", LongType(), False)]
    + [
        StructField(name, LongType() if kind == INTEGER else StringType(), name not in _REQUIRED)
        for name, (kind, _) in COLUMNS.items()
    ]
)
"""One row of a trace file."""

FILES = StructType([StructField("uri", StringType(), False), StructField("run", LongType(), False)])
"""The run number of each trace file."""

BINS = StructType([StructField("run", LongType(), False), StructField("bin_us", LongType(), False)])
"""The width of a run's bins."""
