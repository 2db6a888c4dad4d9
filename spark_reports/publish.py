"""Writes a report's files: report.html, report.json, figures.csv, and the deliveries as Parquet.

Rules: the driver writes the small files whole. Spark writes `deliveries.parquet` as one row per delivery, so
it may be as large as the trace. On a cluster the executors must be able to write to the folder.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.csv_file import write_csv
from spark_reports.html.page import page
from spark_reports.protocols.table import with_runs

FILE_DELIVERIES = 5_000_000
"""Rows of one Parquet file.

No lab has more deliveries, since it has no more rows, so a lab's download is one file.
"""

HTML, JSON, CSV, PARQUET = "report.html", "report.json", "figures.csv", "deliveries.parquet"


def write_small(report: dict[str, Any], folder: Path) -> None:
    """Write the page, the figures, and the values that the page was made from."""
    (folder / JSON).write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    protocols = with_runs(report["runs"])
    rows = [line for protocol, own in protocols for run in own for line in protocol.csv_lines(run)]
    columns = [name for row in rows for name in row] or [
        name for protocol, _ in protocols for name in protocol.csv_columns
    ]
    write_csv(folder / CSV, list(dict.fromkeys(columns)), rows)
    (folder / HTML).write_text(page(report), encoding="utf-8")


DELIVERIES = {
    **dict.fromkeys(("run", "seq", "at_us"), "long"),
    **dict.fromkeys(("subscription", "topic", "cluster", "client", "producer"), "string"),
    **dict.fromkeys(("sequence_id", "key", "ledger", "entry", "failover_seq"), "long"),
    **dict.fromkeys(("verdict", "cause"), "string"),
    "reordered": "boolean",
    **dict.fromkeys(("ack_seq", "ack_us"), "long"),
    "ack_cluster": "string",
    "evidence_seq": "long",
}
"""The columns of `deliveries.parquet`, one row per delivery, with their types."""


def write_deliveries(tables: Sequence[DataFrame], folder: Path, deliveries: int) -> None:
    """Write Parquet files of up to `FILE_DELIVERIES` rows, in a folder as Spark writes it.

    Each table has those of the columns that its protocol has; the others are null. Further ones are left out.
    """
    table = reduce(DataFrame.unionByName, map(_completed, tables))
    table.coalesce(max(1, -(-deliveries // FILE_DELIVERIES))).write.mode("overwrite").parquet(
        (folder / PARQUET).absolute().as_uri()
    )


def _completed(table: DataFrame) -> DataFrame:
    return table.select(
        *(
            name if name in table.columns else F.lit(None).cast(kind).alias(name)
            for name, kind in DELIVERIES.items()
        )
    )
