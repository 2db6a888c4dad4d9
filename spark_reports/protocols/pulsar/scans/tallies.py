"""Entries and bytes of logs by kind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from spark_reports.scans.columns import column_of, is_text
from spark_reports.scans.files import Scan, Wanted

WANTED = Wanted(
    (
        "message.stored",
        "marker.written",
        "marker.stored",
    ),
    ("seq", "sequence_id", "batch_index", "size_bytes"),
    ("cluster", "reason"),
)
_BY = ("type", "cluster", "reason")
TALLIES = pa.schema(
    [
        ("run", pa.int64()),
        *((name, pa.string()) for name in _BY),
        ("entries", pa.int64()),
        ("size_bytes", pa.int64()),
    ]
)
"""The entries of a type by cluster and reason (a batch is one entry), and their bytes."""


def tally(run: int, rows: pa.Table) -> pa.Table:
    """The counts, in the columns of TALLIES."""
    batch_index = column_of(rows, "batch_index").fill_null(0).to_numpy()
    entry = ~is_text(rows, "type", "message.stored") | (batch_index == 0)
    counted = (
        rows.append_column("entry", pa.array(entry.astype(np.int64)))
        .group_by(_BY, use_threads=False)
        .aggregate([("entry", "sum"), ("size_bytes", "sum")])
    )
    size_bytes = column_of(counted, "size_bytes_sum").fill_null(0)
    return pa.table(
        [
            pa.repeat(run, counted.num_rows),
            *(counted.column(name) for name in (*_BY, "entry_sum")),
            size_bytes,
        ],
        names=TALLIES.names,
    ).cast(TALLIES)


SCAN = Scan(WANTED, tally, TALLIES)
