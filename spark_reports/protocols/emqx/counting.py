"""The counting of durable shared subscriptions: tasks judge shares of a run, Spark combines them.

Rules: a share is some of a run's topics. A task counts it by the simulator's own code
(`simulator.protocols.emqx.verdicts`), from the rows of these topics and those of none. Its answer is the
deliveries of the share with their verdicts and, in a row of its own, the figures of the groups. Frames of one
row per delivery stay in Spark.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from simulator.protocols.emqx.verdicts.groups import (
    CODES,
    COLUMNS,
    DUPLICATE,
    TYPES,
    CountedGroup,
    GroupShare,
    count_share,
    summed,
)
from spark_reports.read import TraceInput
from spark_reports.scans.columns import NONE, ShareRows, chosen, column_of
from spark_reports.scans.files import Scan, of_counting
from spark_reports.scans.tasks import Scans
from spark_reports.steps import Steps


def by_topic(batch: pa.RecordBatch) -> np.ndarray:
    """A number for each row whose remainder is its share: that of its topic, NONE for none.

    A stream is named shard/generation/topic; only a publish has the topic itself.
    """
    column = batch.column("topic")
    names = column.dictionary.to_pylist()
    of_topic, of_stream = (
        np.array([*(crc32(topic.encode()) for topic in topics), NONE])
        for topics in (names, [name.split("/", 2)[-1] for name in names])
    )
    known = column.indices.fill_null(NONE).to_numpy()
    published = chosen(batch, "type", "message.published".__eq__)
    return np.where(published, of_topic[known], of_stream[known])


WANTED = of_counting(TYPES, COLUMNS, by_topic)
OF_DELIVERY = {
    "seq": pa.int64(),
    "at_us": pa.int64(),
    **dict.fromkeys(("subscription", "topic", "cluster", "client", "producer"), pa.string()),
    **dict.fromkeys(("sequence_id", "ledger", "entry", "cause_seq"), pa.int64()),
}
JUDGED = pa.schema(
    {
        "run": pa.int64(),
        **OF_DELIVERY,
        "verdict": pa.string(),
        "cause": pa.string(),
        "reordered": pa.bool_(),
        **dict.fromkeys(("decided_seq", "lease_seq", "ack_seq", "ack_us"), pa.int64()),
        **dict.fromkeys(("ack_cluster", "ack_client"), pa.string()),
        "counts": pa.binary(),
    }
)
"""A delivery's row with its verdict (`Judged`), or only `counts`: the groups' figures in a share.

Subscription, topic and cluster are group, stream and node; ledger and entry are generation and offset.
"""


def judged(run: int, rows: pa.Table, ends_us: dict[int, int], scenarios: dict[int, Any]) -> pa.Table:
    """The share's deliveries and its groups' figures, in the columns of JUDGED.

    `ends_us` has the instant of each run's last row.
    """
    trace: Any = ShareRows(rows.num_rows, rows.to_batches(), WANTED.schema, CODES)
    share = count_share(trace, scenarios[run], ends_us[run])
    figures = pa.table({"run": [run], "counts": [pickle.dumps(share.groups)]})
    return pa.concat_tables([_table(run, rows, share), figures], promote_options="default").cast(JUDGED)


def _table(run: int, rows: pa.Table, share: GroupShare) -> pa.Table:
    """The deliveries in the order of their rows. `rows` are those of the share."""
    deliveries = sorted(share.deliveries, key=lambda one: one.delivery.seq)
    seqs = column_of(rows, "seq").to_numpy()

    def of_rows(wanted: list[int | None], *names: str) -> list[pa.Array]:
        known = pa.array(wanted, pa.int64())
        places = np.searchsorted(seqs, known.fill_null(0).to_numpy())
        taken = pa.array(places, mask=np.asarray(known.is_null()))
        return [column_of(rows, name).take(taken) for name in names]

    acks = [one.acknowledged and one.acknowledged.seq for one in deliveries]
    leases = [one.lease for one in deliveries]
    columns = [
        pa.repeat(run, len(deliveries)),
        *of_rows([one.delivery.seq for one in deliveries], *OF_DELIVERY),
        [one.verdict for one in deliveries],
        [one.cause for one in deliveries],
        [one.delivery.seq in share.reordered for one in deliveries],
        [lease and lease.granted_seq for lease in leases],
        [lease and lease.seq for lease in leases],
        *of_rows(acks, "seq", "at_us", "cluster", "client"),
        pa.nulls(len(deliveries), pa.binary()),
    ]
    return pa.table(columns, JUDGED.names).cast(JUDGED)


SCAN = Scan(WANTED, judged, JUDGED)


class GroupCounting(Steps):
    """One counting of any number of runs, whose `scenarios` are by run.

    `groups` has those of each run by name, `judged` the deliveries.
    """

    def __init__(
        self, spark: SparkSession, inputs: list[TraceInput], scenarios: dict[int, Any], rows: DataFrame
    ) -> None:
        """`rows` are those of `inputs`."""
        super().__init__(spark)
        self.inputs, self.scenarios, self.rows = inputs, scenarios, rows
        self.ends_us: dict[int, int] = {}
        self.groups: dict[int, dict[str, CountedGroup]] = {}

    def judge_deliveries(self) -> None:
        """Judge every delivery, and add up the figures of the shares."""
        ends = self.rows.groupBy("run").agg(F.max("at_us").alias("end_us"))
        self.ends_us = {row.run: row.end_us for row in ends.collect()}
        scans = Scans(self.spark, self.inputs, {})
        found = self.keep(scans.frame(SCAN, ends_us=self.ends_us, scenarios=self.scenarios))
        shares: dict[tuple[int, str], list[CountedGroup]] = defaultdict(list)
        for row in found.filter(F.col("counts").isNotNull()).select("run", "counts").collect():
            for name, group in pickle.loads(row.counts).items():
                shares[row.run, name].append(group)
        for run, name in sorted(shares):
            self.groups.setdefault(run, {})[name] = summed(shares[run, name])
        self.judged = found.filter(F.col("counts").isNull()).drop("counts")
        self.cause_figures = cause_figures(self.judged).collect()


def cause_figures(judged: DataFrame) -> DataFrame:
    """The figures of each cause, with the first duplicate as its example.

    Columns: run, subscription, cause, duplicates, first_us, last_us, example.
    """
    example = F.struct(
        "producer",
        "sequence_id",
        F.split("topic", "/", 3)[2].alias("topic"),
        F.col("topic").alias("stream"),
        "entry",
        "client",
        "seq",
        "at_us",
        "ack_seq",
        "ack_us",
        "ack_client",
        "decided_seq",
        "lease_seq",
        F.col("cause_seq").alias("chunk_seq"),
    )
    duplicates = judged.filter(F.col("verdict") == DUPLICATE)
    return duplicates.groupBy("run", "subscription", "cause").agg(
        F.count("*").alias("duplicates"),
        F.min("at_us").alias("first_us"),
        F.max("at_us").alias("last_us"),
        F.min_by(example, "seq").alias("example"),
    )
