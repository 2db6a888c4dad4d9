"""Writes copies of a run as log files, with truth.json beside them.

Rules: everything is written into a folder beside the result's and moved at the end. About a million
rows at a time are in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from spark_reports.audit.generate.logs import EPOCH_US, Log
from spark_reports.csv_file import write_csv

COPIES_OF_A_FILE = 400
"""Copies in one file: about ten million rows of the longest run."""
ROWS_OF_A_GROUP = 1_000_000
"""About the rows of one row group in Parquet."""
OPERATIONS = {"publish": "send", "deliver": "process", "ack": "settle"}


def write_copies(log: Log, copies: int, kind: str, folder: Path) -> list[Path]:
    """Files with the copies 0 to `copies` - 1 in the format `kind`."""
    made = []
    for first in range(0, copies, COPIES_OF_A_FILE):
        chosen = range(first, min(copies, first + COPIES_OF_A_FILE))
        path = folder / f"log-{first // COPIES_OF_A_FILE:04}.{SUFFIXES[kind]}"
        WRITERS[kind](path, log, chosen)
        made.append(path)
    return made


def truth_of(log: Log, copies: int, rows: int) -> dict[str, Any]:
    """The content of truth.json."""
    group = {"subscription": "billing", "topic": "orders"}
    return {
        "format": 1,
        "rows": rows,
        "copies": copies,
        "simulator": log.truth["simulator"],
        "groups": [{**group, "partition": str(copy), **log.truth["figures"]} for copy in range(copies)],
    }


def _instants(log: Log, copy: int) -> np.ndarray:
    return np.asarray(log.columns["at_us"], np.int64) + (EPOCH_US + copy * log.length_us)


def _messages(log: Log) -> int:
    """Messages of one copy, whose ids are those of no other copy."""
    return max(log.columns["message_id"]) + 1


def _write_parquet(path: Path, log: Log, copies: range) -> None:
    texts = {
        name: pa.array(log.columns[name], pa.string()).dictionary_encode()
        for name in ("kind", "cluster", "topic", "subscription", "consumer")
    }
    ids = np.asarray(log.columns["message_id"], np.int64)
    block = max(1, ROWS_OF_A_GROUP // log.rows)
    writer = None
    for first in range(copies.start, copies.stop, block):
        own = range(first, min(copies.stop, first + block))
        columns: dict[str, Any] = {
            "ts": np.concatenate([_instants(log, copy) for copy in own]),
            "partition": np.repeat(np.asarray(own, np.int32), log.rows),
            "message_id": np.concatenate([ids + copy * _messages(log) for copy in own]),
            **{name: pa.concat_arrays([text] * len(own)) for name, text in texts.items()},
        }
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer:
        writer.close()


def _canonical(log: Log, copies: range) -> Iterator[dict[str, Any]]:
    names = [name for name in log.columns if name != "at_us"]
    for copy in copies:
        for at, *values in zip(_instants(log, copy).tolist(), *(log.columns[name] for name in names)):
            row = dict(zip(names, values))
            row["message_id"] += copy * _messages(log)
            yield {"ts": at, "partition": copy, **{name: one for name, one in row.items() if one is not None}}


def _write_json_lines(path: Path, log: Log, copies: range) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in _canonical(log, copies):
            file.write(f"{json.dumps(row, separators=(',', ':'))}\n")


def _write_csv(path: Path, log: Log, copies: range) -> None:
    names = ["ts", "partition", *(name for name in log.columns if name != "at_us")]
    write_csv(path, names, _canonical(log, copies))


def _write_spans(path: Path, log: Log, copies: range) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in _canonical(log, copies):
            file.write(f"{json.dumps(_export(row), separators=(',', ':'))}\n")


def _export(row: dict[str, Any]) -> dict[str, Any]:
    """A row as one span in an OTLP export."""
    values = {
        "messaging.operation.type": OPERATIONS[row["kind"]],
        "messaging.operation.name": row["kind"],
        "messaging.destination.name": row["topic"],
        "messaging.destination.partition.id": str(row["partition"]),
        "messaging.message.id": str(row["message_id"]),
        "messaging.destination.subscription.name": row.get("subscription"),
        "messaging.client.id": row.get("consumer"),
    }
    span = {
        "traceId": f"{row['partition']:032x}",
        "spanId": f"{row['message_id']:016x}",
        "name": f"{OPERATIONS[row['kind']]} {row['topic']}",
        "startTimeUnixNano": str(row["ts"] * 1000),
        "attributes": _attributes(values),
    }
    resource = {"attributes": _attributes({"cloud.region": row["cluster"]})}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]}


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": {"stringValue": value}} for name, value in values.items() if value is not None
    ]


WRITERS: dict[str, Callable[[Path, Log, range], None]] = {
    "parquet": _write_parquet,
    "jsonl": _write_json_lines,
    "csv": _write_csv,
    "spans": _write_spans,
}
SUFFIXES = {"parquet": "parquet", "jsonl": "jsonl", "csv": "csv", "spans": "otlp.json"}
