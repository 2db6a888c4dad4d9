"""`groups` of a report's run: every durable shared subscription with its figures.

They are causes, streams and balance, as plain values for `report.json`. Rules: names are those of `simulate
--json` where it has them. Of the groups described in full, at most `STREAMS_MOST` streams with their readers
are collected to the driver, those with the longest trouble first. Curves are binned in Spark. A run of
another protocol has no such part (None).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import SparkSession

from simulator.scenarios.settings import SETTINGS
from spark_reports.flows import bin_widths_us, piled_up
from spark_reports.local import from_rows
from spark_reports.protocols.emqx.counting import GroupCounting
from spark_reports.protocols.emqx.schemas import STORIES, STREAMS
from spark_reports.protocols.emqx.transforms import causes as group_causes
from spark_reports.protocols.emqx.transforms import leases
from spark_reports.schemas import BINS
from spark_reports.transforms import flows

LEASES = ("leader_borrower_timeout", "session_ping_leader_interval", "session_ping_leader_timeout")
STREAMS_MOST = 24
SPANS_MOST = 100
"""Most leases drawn of one stream."""
OVERLAPS_MOST = 30
GROUPS_LISTED_MAX = 8
"""Most groups described in full, as many as failovers."""
STORY_ROWS = 24

ShownGroups = list[tuple[dict[str, Any], dict[str, Any]]]
"""(run, group) of the groups that the page describes in full."""


def add_groups(runs: list[dict[str, Any]], counting: GroupCounting) -> ShownGroups:
    """Add the groups with their figures to every run; return those to be described in full."""
    figures = counting.figures()
    causes: dict[tuple[int, str], list[Any]] = defaultdict(list)
    for row in counting.cause_figures:
        causes[row.run, row.group].append(row)
    for run in runs:
        run["groups"] = [
            {
                "number": number,
                "name": name,
                "filter": counting.filters[run["run"], name],
                **one,
                "causes": [_cause(row) for row in sorted(causes[run["run"], name], key=_order)],
            }
            for number, (name, one) in enumerate(figures.get(run["run"], {}).items())
        ]
    return [(run, group) for run in runs for group in run["groups"]][:GROUPS_LISTED_MAX]


def _order(row: Any) -> int:
    return group_causes.CAUSES.index(row.cause)


def _cause(row: Any) -> dict[str, Any]:
    return {
        "cause": row.cause,
        "duplicates": row.duplicates,
        "first_us": row.first_us,
        "last_us": row.last_us,
        "example": row.example.asDict(),
    }


def add_readers(spark: SparkSession, shown: ShownGroups, counting: GroupCounting) -> None:
    """Add the readers of each stream, the spans with two readers, and the streams per session over time."""
    chosen = {
        (run["run"], group["name"]): _streams(counting, run["run"], group["name"]) for run, group in shown
    }
    names = [(run, name, row.stream) for (run, name), rows in chosen.items() for row in rows]
    spans: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for row in leases.first_spans(counting.spans, from_rows(spark, names, STREAMS), SPANS_MOST).collect():
        spans[row.run, row.group, row.stream].append(
            {name: row[name] for name in ("client", "borrower", "at_us", "end_us")}
        )
    twice: dict[tuple, list[Any]] = defaultdict(list)
    for row in counting.overlaps.collect():
        twice[row.run, row.group].append(row)
    widths = bin_widths_us([run for run, _group in shown])
    counts: dict[tuple, dict[str, dict[int, tuple[int, int]]]] = defaultdict(lambda: defaultdict(dict))
    bins = from_rows(spark, sorted(widths.items()), BINS)
    for row in flows.by_bin(
        leases.readers(counting.spans, counting.idle), ("run", "group", "client"), "came_us", "left_us", bins
    ).collect():
        counts[row.run, row.group][row.client][row.bin] = (row.came, row.left)
    for run, group in shown:
        key = (run["run"], group["name"])
        group["streams_shown"] = [
            {**_stream(row), "readers": sorted(spans[(*key, row.stream)], key=lambda one: one["at_us"])}
            for row in chosen[key]
        ]
        group["overlaps"] = [
            _overlap(row)
            for row in sorted(twice[key], key=lambda row: (row.at_us - row.end_us, row.stream, row.at_us))[
                :OVERLAPS_MOST
            ]
        ]
        group["leases_us"] = leases_us(counting.scenarios[run["run"]].settings)
        group["balance"] = _balance(counts[key], widths[run["run"]], run["until_us"])


def leases_us(settings: dict[str, Any]) -> dict[str, int]:
    """How long a leader waits for a reader's ping, and how long a reader reads on without an answer."""
    leader, interval, timeout = (settings.get(name, SETTINGS[name].default) for name in LEASES)
    return {"leader": leader, "reader": interval + timeout}


def _streams(counting: GroupCounting, run: int, name: str) -> list[Any]:
    """The streams described in full: those with the longest trouble, then those most often handed over.

    Trouble is the time without a reader or with two.
    """
    mine = [row for row in counting.stream_figures if (row.run, row.group) == (run, name)]
    return sorted(mine, key=lambda row: (-(row.unowned_us + row.two_readers_us), -row.handovers, row.stream))[
        :STREAMS_MOST
    ]


def _stream(row: Any) -> dict[str, Any]:
    return {
        name: row[name]
        for name in (
            "stream",
            "found_us",
            "done_us",
            "unowned_us",
            "handovers",
            "slowest_us",
            "two_readers",
            "two_readers_us",
        )
    }


def _overlap(row: Any) -> dict[str, Any]:
    return {name: row[name] for name in ("stream", "one", "other", "at_us", "end_us")}


def _balance(counts: dict[str, dict[int, tuple[int, int]]], bin_us: int, until_us: int) -> dict[str, Any]:
    """The streams leased to each session, and those without a reader, at the end of each bin."""
    instants, _nothing = piled_up({}, bin_us, until_us)
    curves = {name: piled_up(flow, bin_us, until_us)[1] for name, flow in counts.items()}
    return {
        "at_us": instants,
        "unread": curves.pop("", [0] * len(instants)),
        "sessions": dict(sorted(curves.items())),
    }


def add_stories(spark: SparkSession, shown: ShownGroups, counting: GroupCounting) -> None:
    """Add the story of each cause's first duplicate: its rows, and the events of its readers in between."""
    causes = [(run, group, cause) for run, group in shown for cause in group["causes"]]
    asked = [
        (
            run["run"],
            number,
            group["name"],
            example["producer"],
            example["ack_client"],
            example["client"],
            example["sequence_id"],
            example["ack_seq"],
            example["seq"],
            example["decided_seq"],
        )
        for number, (run, group, cause) in enumerate(causes)
        for example in [cause["example"]]
    ]
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in (
        group_causes.stories(counting.rows, from_rows(spark, asked, STORIES)).collect() if asked else ()
    ):
        rows[row.number].append(
            {
                name: value
                for name, value in row.asDict().items()
                if value is not None and name not in ("number", "run")
            }
        )
    for number, (_run, _group, cause) in enumerate(causes):
        cause["story"] = sorted(rows[number], key=lambda row: row["seq"])[-STORY_ROWS:]
