"""Deliveries around a failover by cluster, bin of time and kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from spark_reports.protocols.pulsar.scans.judging import (
    ACKNOWLEDGED_AGAIN,
    DUPLICATE,
    EXTRA,
    NONE,
    REDELIVERY,
    REPEATED,
    WANTED,
    FailoverWindow,
    judge,
)
from spark_reports.scans.columns import code_of, codes, numbers
from spark_reports.scans.files import Scan

DELIVERY_BINS = pa.schema(
    [
        ("run", pa.int64()),
        ("failover_seq", pa.int64()),
        ("cluster", pa.string()),
        ("bin", pa.int64()),
        ("kind", pa.string()),
        ("deliveries", pa.int64()),
    ]
)
KINDS = ("first", "duplicate", "redelivery", "again")


class Zoom(NamedTuple):
    """The span in which a failover's deliveries are shown, and the width of its bins."""

    run: int
    failover_seq: int
    subscription: str
    from_us: int
    to_us: int
    bin_us: int


def delivery_bins(run: int, rows: pa.Table, windows: list[FailoverWindow], zooms: list[Zoom]) -> pa.Table:
    """The numbers of deliveries, in the columns of DELIVERY_BINS."""
    found = [DELIVERY_BINS.empty_table()]
    mine = [zoom for zoom in zooms if zoom.run == run]
    if not mine:
        return found[0]
    judged = judge(run, rows, windows)
    kind = np.zeros(len(judged.verdict), np.int8)
    kind[judged.verdict == DUPLICATE] = KINDS.index("duplicate")
    kind[judged.verdict == REDELIVERY] = KINDS.index("redelivery")
    kind[np.isin(judged.verdict, (EXTRA, REPEATED))] = KINDS.index("again")
    delivered = (judged.verdict != NONE) & (judged.verdict != ACKNOWLEDGED_AGAIN)
    at_us, subscription = numbers(judged.rows, "at_us"), codes(judged.rows, "subscription")
    for zoom in mine:
        shown = np.flatnonzero(
            delivered
            & (subscription == code_of(judged.rows, "subscription", zoom.subscription))
            & (at_us >= zoom.from_us)
            & (at_us < zoom.to_us)
        )
        each = pa.table(
            {
                "cluster": judged.rows.column("cluster").take(pa.array(shown)),
                "bin": (at_us[shown] - zoom.from_us) // zoom.bin_us,
                "kind": pa.DictionaryArray.from_arrays(pa.array(kind[shown]), pa.array(KINDS)),
            }
        )
        counted = each.group_by(["cluster", "bin", "kind"], use_threads=False).aggregate([([], "count_all")])
        same = [pa.repeat(value, counted.num_rows) for value in (run, zoom.failover_seq)]
        found.append(pa.table([*same, *counted.columns], names=DELIVERY_BINS.names).cast(DELIVERY_BINS))
    return pa.concat_tables(found)


SCAN = Scan(WANTED, delivery_bins, DELIVERY_BINS)
