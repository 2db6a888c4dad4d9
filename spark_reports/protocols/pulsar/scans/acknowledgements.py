"""Acknowledgements of each subscription by blocks of the run's rows."""

from __future__ import annotations

import pyarrow as pa

from spark_reports.scans.columns import numbers
from spark_reports.scans.files import Scan, Wanted

WANTED = Wanted(("message.acknowledged",), ("seq", "sequence_id"), ("subscription",))
BLOCKS = pa.schema(
    [("run", pa.int64()), ("subscription", pa.string()), ("seq_block", pa.int64()), ("acks", pa.int64())]
)


def blocks(run: int, rows: pa.Table, block_rows: int) -> pa.Table:
    """The numbers of acknowledgements, in the columns of BLOCKS."""
    found = (
        rows.append_column("seq_block", pa.array(numbers(rows, "seq") // block_rows))
        .group_by(["subscription", "seq_block"], use_threads=False)
        .aggregate([([], "count_all")])
    )
    return pa.table([pa.repeat(run, found.num_rows), *found.columns], names=BLOCKS.names).cast(BLOCKS)


SCAN = Scan(WANTED, blocks, BLOCKS)
