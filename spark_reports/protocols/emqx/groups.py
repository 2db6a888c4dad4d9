"""`groups` of a report's run: every durable shared subscription with its figures.

They are causes, streams and balance, as plain values for `report.json`. Rules: names are those of `simulate
--json` where it has them. Of the groups described in full, at most `STREAMS_MOST` streams are listed with
their readers, those with the longest trouble first. A run of another protocol has no such part (None).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from simulator.protocols.emqx.verdicts.groups import CountedGroup, Readers
from simulator.scenarios.settings import SETTINGS
from spark_reports.flows import bin_widths_us, piled_up
from spark_reports.local import from_rows
from spark_reports.protocols.emqx.counting import GroupCounting
from spark_reports.transforms import is_type

LEASES = ("leader_borrower_timeout", "session_ping_leader_interval", "session_ping_leader_timeout")
STREAMS_MOST = 24
SPANS_MOST = 100
"""Most leases drawn of one stream."""
OVERLAPS_MOST = 30
GROUPS_LISTED_MAX = 8
"""Most groups described in full, as many as failovers."""
STORY_ROWS = 24
FIGURES = (
    "streams",
    "sessions",
    "leader_changes",
    "published",
    "delivered",
    "acknowledged",
    "lost",
    "lost_qos0",
    "waiting",
    "duplicates",
    "redeliveries",
    "messages_twice",
    "unowned_us",
    "handovers",
    "two_readers",
    "two_readers_us",
    "reordered",
    "pending_repeats",
    "by_cause",
    "handover_us",
)
"""The figures of a group in `report.json`."""
STORIES = StructType(
    [StructField("run", LongType(), False), StructField("number", LongType(), False)]
    + [StructField(name, StringType(), False) for name in ("of_group", "of_producer", "reader", "other")]
    + [
        StructField(name, LongType(), True)
        for name in ("of_sequence_id", "from_seq", "to_seq", "decided_seq")
    ]
)
"""A duplicate described row by row. `reader` acknowledged the message, `other` received it afterwards."""
TURNS = (
    "leader.ended",
    "leader.elected",
    "session.disconnected",
    "session.connected",
    "borrower.changed",
    "borrower.dropped",
    "group.destroyed",
)
"""Event types that may be between an acknowledgement and the same message's next delivery."""

ShownGroups = list[tuple[dict[str, Any], dict[str, Any]]]
"""(run, group) of the groups that the page describes in full."""


def add_groups(runs: list[dict[str, Any]], counting: GroupCounting) -> ShownGroups:
    """Add the groups with their figures to every run; return those to be described in full."""
    causes: dict[tuple[int, str], dict[str, Any]] = defaultdict(dict)
    for row in counting.cause_figures:
        causes[row.run, row.subscription][row.cause] = row
    for run in runs:
        run["groups"] = [
            {
                "number": number,
                "name": name,
                "filter": group.filter,
                **{figure: getattr(group, figure) for figure in FIGURES},
                "causes": [
                    _cause(causes[run["run"], name][cause])
                    for cause, count in group.by_cause.items()
                    if count
                ],
            }
            for number, (name, group) in enumerate(counting.groups.get(run["run"], {}).items())
        ]
    return [(run, group) for run in runs for group in run["groups"]][:GROUPS_LISTED_MAX]


def _cause(row: Any) -> dict[str, Any]:
    return {
        "cause": row.cause,
        "duplicates": row.duplicates,
        "first_us": row.first_us,
        "last_us": row.last_us,
        "example": row.example.asDict(),
    }


def add_readers(shown: ShownGroups, counting: GroupCounting) -> None:
    """Add the readers of each stream, the spans with two readers, and the streams per session over time."""
    widths = bin_widths_us([run for run, _group in shown])
    for run, group in shown:
        counted = counting.groups[run["run"]][group["name"]]
        streams = sorted((_stream(name, one) for name, one in counted.readers.items()), key=_trouble)
        group["streams_shown"] = streams[:STREAMS_MOST]
        overlaps: list[dict[str, Any]] = [
            {"stream": name, "one": one, "other": other, "at_us": since, "end_us": until}
            for name, readers in counted.readers.items()
            for one, other, since, until in readers.overlaps
        ]
        overlaps.sort(key=lambda row: (row["at_us"] - row["end_us"], row["stream"], row["at_us"]))
        group["overlaps"] = overlaps[:OVERLAPS_MOST]
        group["leases_us"] = leases_us(counting.scenarios[run["run"]].settings)
        group["balance"] = _balance(
            counted, counting.ends_us[run["run"]], widths[run["run"]], run["until_us"]
        )


def _stream(name: str, readers: Readers) -> dict[str, Any]:
    """A stream with its first readers, in order."""
    return {
        "stream": name,
        "found_us": readers.found_us,
        "done_us": readers.done_us,
        "unowned_us": readers.unowned_us,
        "handovers": len(readers.gaps),
        "slowest_us": max(readers.gaps, default=None),
        "two_readers": len(readers.overlaps),
        "two_readers_us": readers.two_readers_us,
        "readers": [
            {"client": client, "borrower": borrower, "at_us": since, "end_us": until}
            for client, borrower, since, until in readers.leases[:SPANS_MOST]
        ],
    }


def _trouble(stream: dict[str, Any]) -> tuple[int, int, str]:
    """The longest time without a reader or with two first, then the most handovers."""
    return -(stream["unowned_us"] + stream["two_readers_us"]), -stream["handovers"], stream["stream"]


def leases_us(settings: dict[str, Any]) -> dict[str, int]:
    """How long a leader waits for a reader's ping, and how long a reader reads on without an answer."""
    leader, interval, timeout = (settings.get(name, SETTINGS[name].default) for name in LEASES)
    return {"leader": leader, "reader": interval + timeout}


def _balance(group: CountedGroup, end_us: int, bin_us: int, until_us: int) -> dict[str, Any]:
    """The streams leased to each session, and those without a reader, at the end of each bin.

    `end_us` is the instant of the run's last row.
    """
    spans = [
        (client, since, until) for one in group.readers.values() for client, _, since, until in one.leases
    ]
    spans += [("", since, until) for one in group.readers.values() for since, until in one.idle]
    flows: dict[str, dict[int, tuple[int, int]]] = defaultdict(lambda: defaultdict(lambda: (0, 0)))
    for client, since, until in spans:
        flow = flows[client]
        came, left = flow[since // bin_us]
        flow[since // bin_us] = came + 1, left
        if until < end_us:
            came, left = flow[until // bin_us]
            flow[until // bin_us] = came, left + 1
    instants, nothing = piled_up({}, bin_us, until_us)
    curves = {name: piled_up(flow, bin_us, until_us)[1] for name, flow in flows.items()}
    return {"at_us": instants, "unread": curves.pop("", nothing), "sessions": dict(sorted(curves.items()))}


def add_stories(spark: SparkSession, shown: ShownGroups, every_row: DataFrame) -> None:
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
    for row in stories(every_row, from_rows(spark, asked, STORIES)).collect() if asked else ():
        rows[row.number].append(
            {
                name: value
                for name, value in row.asDict().items()
                if value is not None and name not in ("number", "run")
            }
        )
    for number, (_run, _group, cause) in enumerate(causes):
        cause["story"] = sorted(rows[number], key=lambda row: row["seq"])[-STORY_ROWS:]


def stories(rows: DataFrame, found: DataFrame) -> DataFrame:
    """Rows of single messages, their group and readers: `number` of `found`, and the row's columns.

    `found`: run, number, of_group, of_producer, of_sequence_id, from_seq (the acknowledgement), to_seq (the
    delivery), reader, other, decided_seq.
    """
    message = F.col("type").startswith("message.")
    met = rows.filter(message | is_type(*TURNS, "assignment.changed")).join(
        F.broadcast(found), "run", "inner"
    )
    own = (
        message
        & (F.col("producer") == F.col("of_producer"))
        & (F.col("sequence_id") == F.col("of_sequence_id"))
        & F.coalesce(
            F.col("subscription") == F.col("of_group"),
            F.col("type").isin("message.published", "message.stored"),
        )
    )
    theirs = F.coalesce(F.col("client").isin(F.col("reader"), F.col("other")), F.lit(True)) & F.coalesce(
        F.col("subscription") == F.col("of_group"), F.lit(True)
    )
    meanwhile = (
        is_type(*TURNS) & (F.col("seq") > F.col("from_seq")) & theirs & (F.col("reason") != "connecting")
    )
    return met.filter(
        (F.col("seq") <= F.col("to_seq")) & (own | meanwhile | (F.col("seq") == F.col("decided_seq")))
    ).select("number", *rows.columns)
