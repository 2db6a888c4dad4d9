"""A share of a run's messages, judged in a task by the simulator's own counting.

Rules: a task has all rows of the control plane, and the rows of its share of the messages. Its answer is the
deliveries with their verdicts and, in a row of their own, the counts of the share. A run of several shares
is surveyed first (`simulator.protocols.pulsar.verdicts.shares`).
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import simulator.protocols.pulsar.verdicts.shares as shares
from simulator.trace.registry import NULL
from spark_reports.scans.columns import Batches, ShareRows
from spark_reports.scans.files import Scan, of_counting

WANTED = of_counting(shares.TYPES_READ, shares.COLUMNS_READ)
SURVEYED = pa.schema([("run", pa.int64()), ("survey", pa.binary())])
JUDGED = pa.schema(
    [
        ("run", pa.int64()),
        ("subscription", pa.string()),
        ("producer", pa.string()),
        ("sequence_id", pa.int64()),
        ("seq", pa.int64()),
        ("at_us", pa.int64()),
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("client", pa.string()),
        ("place", pa.int64()),
        ("key", pa.int64()),
        ("origin", pa.string()),
        ("failover_seq", pa.int64()),
        ("ack_seq", pa.int64()),
        ("ack_us", pa.int64()),
        ("ack_cluster", pa.string()),
        ("verdict", pa.string()),
        ("cause", pa.string()),
        ("evidence_seq", pa.int64()),
        ("counts", pa.binary()),
    ]
)
"""A delivery with its verdict, and the latest acknowledgement before it; or only `counts`, those of a share.

`origin` is the cluster in which the message was published, `failover_seq` null outside a window.
"""


class Inputs(NamedTuple):
    """By run, what a task needs beside the rows of its share: how many rows there are, and the scenario.

    `wholes` has the runs that were surveyed.
    """

    rows: dict[int, int]
    scenarios: dict[int, Any]
    wholes: Mapping[int, shares.Whole] = MappingProxyType({})

    def facts(self, run: int, batches: Batches, share: tuple[int, int] = (0, 1)) -> shares.Facts:
        """What counting knows of a share of the run."""
        rows = ShareRows(self.rows[run], batches, WANTED.schema, shares.CODES)
        return shares.facts_of(rows, self.scenarios[run], share, self.wholes.get(run))


def surveyed(run: int, share: tuple[int, int], batches: Batches, inputs: Inputs) -> pa.Table:
    """What a share shows of the whole run."""
    survey = shares.survey(inputs.facts(run, batches, share))
    return pa.table({"run": [run], "survey": [pickle.dumps(survey)]}, SURVEYED)


def judged(run: int, share: tuple[int, int], batches: Batches, inputs: Inputs, every: bool) -> pa.Table:
    """The share's deliveries and its counts, in the columns of JUDGED.

    Unless `every`, the deliveries are those inside windows, and the repeats outside. Nearly all deliveries of
    a long run are neither of these.
    """
    counts, rows = shares.judged(inputs.facts(run, batches, share), every)
    counted = pa.table({"run": [run], "counts": [pickle.dumps(counts)]})
    return pa.concat_tables([_table(run, rows), counted], promote_options="default")


def deliveries(run: int, share: tuple[int, int], batches: Batches, inputs: Inputs) -> pa.Table:
    """All deliveries of the share, without causes, in the columns of JUDGED."""
    return _table(run, shares.deliveries(inputs.facts(run, batches, share)))


def _table(run: int, found: shares.Deliveries) -> pa.Table:
    """The deliveries in the columns of JUDGED."""
    rows, count = found.rows, len(found.rows)
    texts = pa.array(found.names, pa.string())

    def named(numbers: np.ndarray, words: pa.Array = texts) -> pa.Array:
        return words.take(pa.array(numbers, mask=numbers < 0))

    def whole(numbers: np.ndarray) -> pa.Array:
        return pa.array(numbers, mask=numbers == NULL)

    columns = {
        "run": pa.repeat(run, count),
        **{name: named(getattr(rows, name)) for name in ("subscription", "cluster", "topic", "client")},
        "producer": named(found.producer),
        "sequence_id": found.sequence_id,
        "seq": rows.seq,
        "at_us": rows.at_us,
        "place": whole(np.where(rows.position == NULL, NULL, rows.position - 1)),
        "origin": named(found.origin),
        "ack_cluster": named(found.ack_cluster),
        **{name: whole(getattr(found, name)) for name in ("key", "failover_seq", "ack_seq", "ack_us")},
        "verdict": named(found.verdict, pa.array(shares.VERDICTS)),
        "cause": named(found.cause, pa.array(list(shares.DECIDING))),
        "evidence_seq": whole(found.evidence_seq),
        "counts": pa.nulls(count, pa.binary()),
    }
    return pa.table(columns).select(JUDGED.names).cast(JUDGED)


SURVEY = Scan(WANTED, surveyed, SURVEYED, in_shares=True)
DELIVERIES = Scan(WANTED, deliveries, JUDGED, in_shares=True)
JUDGE = Scan(WANTED, judged, JUDGED, in_shares=True)
