"""The rows of all types but those of messages.

They are the rows of the control plane, and of the data plane those of markers and cursors. The rows left out
are one per message and step.
"""

from __future__ import annotations

import pyarrow as pa

from simulator.trace.registry import COLUMNS, INTEGER
from spark_reports.scans.files import Scan, Wanted

WANTED = Wanted(
    ("message.",),
    ("seq", *(name for name, (kind, _) in COLUMNS.items() if kind == INTEGER)),
    tuple(name for name, (kind, _) in COLUMNS.items() if kind != INTEGER and name != "type"),
    but=True,
)
CONTROL = pa.schema(
    [
        ("run", pa.int64()),
        ("seq", pa.int64()),
        *((name, pa.int64() if kind == INTEGER else pa.string()) for name, (kind, _) in COLUMNS.items()),
    ]
)
"""`run` and the columns of a trace."""


def control(run: int, rows: pa.Table) -> pa.Table:
    """The rows in the columns of CONTROL."""
    return rows.append_column("run", pa.repeat(run, rows.num_rows)).select(CONTROL.names).cast(CONTROL)


SCAN = Scan(WANTED, control, CONTROL)
