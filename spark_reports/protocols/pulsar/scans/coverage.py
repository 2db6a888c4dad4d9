"""When the messages in a target's log were stored, acknowledged, and covered by its mark-delete."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from spark_reports.protocols.pulsar.scans.by_topic import by_topic
from spark_reports.scans.columns import places
from spark_reports.scans.files import Scan, Wanted
from spark_reports.transforms import NEVER

STORED, ACKNOWLEDGED = "message.stored", "message.acknowledged"
WANTED = Wanted(
    (STORED, ACKNOWLEDGED),
    ("seq", "at_us", "sequence_id", "ledger", "entry"),
    ("producer", "topic", "cluster", "subscription"),
)
COVERAGE = pa.schema(
    [
        ("run", pa.int64()),
        ("failover_seq", pa.int64()),
        ("stored_bin", pa.int64()),
        ("risky_bin", pa.int64()),
        ("covered_bin", pa.int64()),
        ("messages", pa.int64()),
        ("oldest_us", pa.int64()),
    ]
)
"""One row per combination of bins. `risky_bin`: stored and acknowledged; null: never."""


class Step(NamedTuple):
    """The places above `low` up to `high` are first covered in that bin (the number of bins: never)."""

    low: int
    high: int
    covered_bin: int


class Target(NamedTuple):
    """One topic of a failover, the width of its run's bins, and its steps, which do not overlap."""

    run: int
    failover_seq: int
    topic: str
    subscription: str
    target: str
    bin_us: int
    steps: tuple[Step, ...]


def coverage(run: int, rows: pa.Table, targets: list[Target]) -> pa.Table:
    """The numbers of messages by bins, in the columns of COVERAGE."""
    rows = rows.append_column("place", places(rows).fill_null(NEVER))
    topics, found = by_topic(rows), [COVERAGE.empty_table()]
    for target in targets:
        if target.run != run or target.topic not in topics or not target.steps:
            continue
        messages = topics[target.topic]
        stored_us, place = (
            messages.first(name, STORED, "cluster", target.target) for name in ("at_us", "place")
        )
        acknowledged_us = messages.first("at_us", ACKNOWLEDGED, "subscription", target.subscription)
        low, high, covered_bin = (np.array(values) for values in zip(*sorted(target.steps)))
        step = np.searchsorted(low, place, "left") - 1
        held = (stored_us != NEVER) & (step >= 0) & (place <= high[step])
        stored_us, acknowledged_us = stored_us[held], acknowledged_us[held]
        never = acknowledged_us == NEVER
        each = pa.table(
            {
                "stored_bin": stored_us // target.bin_us,
                "risky_bin": pa.array(np.maximum(stored_us, acknowledged_us) // target.bin_us, mask=never),
                "covered_bin": covered_bin[step[held]],
                "stored_us": stored_us,
            }
        )
        summed = each.group_by(["stored_bin", "risky_bin", "covered_bin"], use_threads=False).aggregate(
            [([], "count_all"), ("stored_us", "min")]
        )
        same = [pa.repeat(value, summed.num_rows) for value in (run, target.failover_seq)]
        found.append(pa.table([*same, *summed.columns], names=COVERAGE.names).cast(COVERAGE))
    return pa.concat_tables(found)


SCAN = Scan(WANTED, coverage, COVERAGE)
