"""The report as plain values, assembled from what the steps collected.

`report.json` holds this object. Rules: only small rows are collected here. Names are those of `simulate
--json` where it has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from simulator.protocols.pulsar.verdicts.shares import DECIDING
from spark_reports.protocols.pulsar.counting import Counting
from spark_reports.read import TraceInput
from spark_reports.runs import run_of
from spark_reports.transforms import LEDGER_STEP

ShownFailovers = list[tuple[dict[str, Any], dict[str, Any]]]
"""(run, failover) of the failovers that the page describes in full."""

STORIES_MOST = 3
DETAILED_MOST = 8
"""Most failovers described in full. A job over many traces lists the others in its table."""

KEYS_MOST = 8


def runs_of(
    inputs: Sequence[TraceInput], scenarios: Sequence[Any], counting: Counting
) -> list[dict[str, Any]]:
    """One object per trace, with its failovers' figures and examples without texts."""
    examples: dict[tuple[int, int], dict[str, Any]] = defaultdict(dict)
    for row in sorted(counting.cause_figures, key=_by_cause):
        examples[(row.run, row.failover_seq)][row.cause] = _example(row.example)
    by_origin: dict[tuple[int, int], dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for row in sorted(counting.origin_figures, key=lambda row: (*_by_cause(row), row.origin or "")):
        by_origin[(row.run, row.failover_seq)][row.cause][row.origin] = row.duplicates
    found = []
    for entry, scenario in zip(inputs, scenarios, strict=True):
        failovers = counting.figures[entry.run]["failovers"]
        for number, failover in enumerate(failovers):
            key = (entry.run, failover["failover_seq"])
            failover.update(number=number, examples=examples.get(key, {}), by_origin=by_origin.get(key, {}))
        found.append(
            {
                **run_of(entry, scenario),
                "failovers": failovers,
                "subscriptions": counting.figures[entry.run]["subscriptions"],
            }
        )
    return found


def _by_cause(row: Any) -> tuple[int, int, int]:
    """The order of decision, since Spark returns its rows in any order."""
    return row.run, row.failover_seq, list(DECIDING).index(row.cause)


def _example(row: Any) -> dict[str, Any]:
    return {
        "producer": row.producer,
        "sequence_id": row.sequence_id,
        "topic": row.topic,
        "client": row.client,
        "x": row.ack_cluster,
        "origin": row.origin,
        "key": row.key,
        "seq": row.seq,
        "at_us": row.at_us,
        "ack_seq": row.ack_seq,
        "ack_us": row.ack_us,
        "evidence_seq": row.evidence_seq,
    }


def add_protocol(runs: list[dict[str, Any]], totals: list[Any], before: list[Any], costs: list[Any]) -> None:
    """Add snapshots and markers to the runs and failovers."""
    by_run = {run["run"]: run for run in runs}
    for run in runs:
        run["snapshots"], run["markers"] = {}, []
    for row in sorted(totals, key=lambda row: (row.run, row.cluster)):
        by_run[row.run]["snapshots"][row.cluster] = {
            name: value for name, value in row.asDict().items() if name not in ("run", "cluster")
        }
    for row in sorted(costs, key=lambda row: (row.run, row.cluster, row.kind)):
        by_run[row.run]["markers"].append(
            {name: row[name] for name in ("cluster", "kind", "entries", "size_bytes")}
        )
    for run in runs:
        run["marker_share"] = _share(run["markers"])
        for failover in run["failovers"]:
            mine = [
                row for row in before if (row.run, row.failover_seq) == (run["run"], failover["failover_seq"])
            ]
            names = (
                "topic",
                "snapshot",
                "of_region",
                "asked_us",
                "completed_us",
                "taken_us",
                "ended",
                "used_us",
                "evicted_us",
                "applied_us",
            )
            failover["snapshots"] = [
                {
                    **{name: row[name] for name in names},
                    "place": None if row.ledger is None else row.ledger * LEDGER_STEP + row.entry,
                }
                for row in sorted(mine, key=lambda row: (row.asked_us, row.snapshot))
            ]
            failover["snapshot_totals"] = run["snapshots"].get(failover["from"])


def _share(costs: list[dict[str, Any]]) -> dict[str, float]:
    def part(name: str) -> float:
        total = sum(entry[name] for entry in costs)
        return sum(entry[name] for entry in costs if entry["kind"] != "message") / total if total else 0.0

    return {"entries": part("entries"), "bytes": part("size_bytes")}


def add_clients(shown: ShownFailovers, consumers: list[Any], keys: list[Any]) -> None:
    """Add consumers, and the keys with most duplicates, to the failovers described in full."""
    for run, failover in shown:
        key = (run["run"], failover["failover_seq"])
        failover["consumers"] = [
            {
                name: row[name]
                for name in ("client", "delivered", "acknowledged", "unacked", "slowest_us", "duplicates")
            }
            for row in sorted(
                (row for row in consumers if (row.run, row.failover_seq) == key),
                key=lambda row: row.client or "",
            )
        ]
        mine = [row for row in keys if (row.run, row.failover_seq) == key]
        failover["worst_keys"] = [
            {
                "producer": row.producer,
                "key": row.key,
                "duplicates": row.duplicates,
                "reordered": row.reordered,
                "last": row.last.asDict(),
            }
            for row in sorted(
                mine, key=lambda row: (-row.duplicates, row.producer, -1 if row.key is None else row.key)
            )
        ]


def chosen_messages(shown: ShownFailovers) -> tuple[list[tuple], list[tuple]]:
    """The messages with a story, (run, producer, sequence_id), and the rows of examples, (run, seq)."""
    messages, seqs = set(), set()
    for run, failover in shown:
        for entry in failover["worst_keys"][:STORIES_MOST]:
            messages.add((run["run"], entry["producer"], entry["last"]["sequence_id"]))
            seqs.add((run["run"], entry["last"]["evidence_seq"]))
        seqs.update((run["run"], example["evidence_seq"]) for example in failover["examples"].values())
        seqs.add((run["run"], failover["failover_seq"]))
    return sorted(messages), sorted((run, seq) for run, seq in seqs if seq is not None)


def add_stories(shown: ShownFailovers, rows: list[Any]) -> None:
    """Add the rows shown on the page: each example's evidence, and messages up to their last delivery."""
    by_seq = {
        (row.run, row.seq): {name: value for name, value in row.asDict().items() if value is not None}
        for row in rows
    }
    for run, failover in shown:
        for example in failover["examples"].values():
            example["evidence"] = by_seq.get((run["run"], example["evidence_seq"]))
        failover["stories"] = [
            _story(run["run"], failover, entry, by_seq) for entry in failover["worst_keys"][:STORIES_MOST]
        ]


def _story(
    run: int, failover: dict[str, Any], entry: dict[str, Any], by_seq: dict[tuple[int, int], dict[str, Any]]
) -> dict[str, Any]:
    last = entry["last"]
    marks = {last["evidence_seq"], failover["failover_seq"]}
    lines = []
    for (number, seq), row in sorted(by_seq.items()):
        own = (row.get("producer"), row.get("sequence_id")) == (entry["producer"], last["sequence_id"])
        other_subscription = row.get("subscription") not in (None, failover["subscription"])
        if number == run and seq <= last["seq"] and (seq in marks or own) and not other_subscription:
            lines.append(row)
    return {
        "producer": entry["producer"],
        "sequence_id": last["sequence_id"],
        "key": entry["key"],
        "cause": last["cause"],
        "seq": last["seq"],
        "rows": lines,
    }
