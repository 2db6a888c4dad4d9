"""How far each log reached by time."""

from __future__ import annotations

import pyarrow as pa

from spark_reports.scans.columns import numbers
from spark_reports.scans.files import Scan, Wanted

APPENDS = Wanted(
    ("message.stored", "marker.written", "marker.stored"),
    ("seq", "at_us", "sequence_id", "ledger", "entry"),
    ("cluster", "topic"),
)
LOG_BINS = pa.schema(
    [
        ("run", pa.int64()),
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("ledger", pa.int64()),
        ("bin", pa.int64()),
        ("last_entry", pa.int64()),
    ]
)


def log_bins(run: int, rows: pa.Table, bins_us: dict[int, int]) -> pa.Table:
    """The appends in the columns of LOG_BINS. `bins_us` has the width of each run's bins."""
    number = pa.array(numbers(rows, "at_us") // bins_us[run], pa.int64())
    found = (
        rows.append_column("bin", number)
        .group_by(["cluster", "topic", "ledger", "bin"], use_threads=False)
        .aggregate([("entry", "max")])
    )
    return pa.table([pa.repeat(run, found.num_rows), *found.columns], names=LOG_BINS.names).cast(LOG_BINS)


BINS = Scan(APPENDS, log_bins, LOG_BINS)
