"""The stories of a shared group: every duplicate delivery by cause, and the events that led to it.

Rules: the shapes are those of `cast` for failovers. A story has the message's own rows, the leader's decision
on which the cause rests, and the events between acknowledgement and delivery of the two sessions, the
leaders, the group and their nodes. Of lost reports only the first is included.
"""

from __future__ import annotations

from typing import Any

from simulator.protocols.emqx.stories.group_words import GROUP_CAUSES, GROUP_EVENTS, Row
from simulator.protocols.emqx.verdicts.groups import CountedGroup, GroupDuplicate
from simulator.story.rows import rows_where
from simulator.story.step import StoryStep
from simulator.trace.trace import Trace

KIND = "duplicates"
"""The only kind of listed messages."""

UPDATE_PROGRESS = "update-progress"

_OF_CLIENTS = ("session.disconnected", "session.connected", "borrower.dropped", "borrower.changed")
_OF_ALL = (
    "leader.ended",
    "leader.elected",
    "group.destroyed",
    "group.declared",
    "node.crashed",
    "link.cut",
    "link.healed",
    "store.failed",
    "node.stopped",
    "store.unreachable",
    "leader.blocked",
)


def shared_groups(counted: CountedGroup) -> list[dict[str, Any]]:
    """The duplicates by cause, in the order of decision.

    Returns {"kind", "cause", "count", "heading", "says"} for each cause.
    """
    return [
        {
            "kind": KIND,
            "cause": cause,
            "count": count,
            "heading": GROUP_CAUSES[cause][0],
            "says": GROUP_CAUSES[cause][1],
        }
        for cause, count in counted.by_cause.items()
        if count
    ]


def shared_page(counted: CountedGroup, cause: str = "", first: int = 0, limit: int = 50) -> dict[str, Any]:
    """A page of the duplicate deliveries of a cause ("": of all), from number `first` on.

    Returns {"total", "first", "messages": [{"place", "producer", "sequence_id", "at_us"}]}.
    """
    places = [place for place, one in enumerate(counted.duplicates_list) if cause in ("", one.cause)]
    listed = [(place, counted.duplicates_list[place]) for place in places[first : first + limit]]
    return {
        "total": len(places),
        "first": first,
        "messages": [
            {"place": place, "producer": one.producer, "sequence_id": one.sequence_id, "at_us": one.at_us}
            for place, one in listed
        ],
    }


def shared_place_of(counted: CountedGroup, producer: str, sequence_id: int) -> int | None:
    """The place of a message's first duplicate; None when it has none."""
    return next(
        (
            place
            for place, one in enumerate(counted.duplicates_list)
            if (one.producer, one.sequence_id) == (producer, sequence_id)
        ),
        None,
    )


def shared_story(trace: Trace, group: str, duplicate: GroupDuplicate) -> list[StoryStep]:
    """The steps that led to a duplicate delivery, in the order of the rows."""
    duplicate_seq = duplicate.evidence["delivered"]
    own = [
        trace.row(seq)
        for seq in rows_where(
            trace,
            duplicate_seq + 1,
            producer=trace.number(duplicate.producer),
            sequence_id=duplicate.sequence_id,
        )
    ]
    own = [
        row
        for row in own
        if row["type"] in GROUP_EVENTS
        and (row["type"] in ("message.published", "message.stored") or row.get("subscription") == group)
    ]
    rested = [
        trace.row(duplicate.evidence[role]) for role in ("decided", "leased") if role in duplicate.evidence
    ]
    rested = [row for row in rested if row["type"] in GROUP_EVENTS]
    acknowledged, again = trace.row(duplicate.evidence["acknowledged"]), trace.row(duplicate_seq)
    clients = {acknowledged["client"], again["client"]}
    between: list[Row] = [
        row
        for row in trace.rows(acknowledged["seq"], duplicate_seq, types=(*_OF_CLIENTS, *_OF_ALL))
        if _concerns(row, group, clients)
    ]
    between += _first_lost(trace, acknowledged, duplicate_seq)
    steps = {
        row["seq"]: StoryStep(
            _kind_of(row, duplicate_seq), row["at_us"], row["seq"], GROUP_EVENTS[row["type"]](row), row
        )
        for row in (*own, *rested, *between)
    }
    steps[duplicate_seq] = StoryStep(
        "again",
        again["at_us"],
        duplicate_seq,
        (
            f"It is delivered to {again['client']} "
            f"{'once more' if again['client'] == acknowledged['client'] else 'too'}, "
            f"although it was acknowledged: a duplicate."
        ),
        again,
    )
    settled = max((row for row in (acknowledged, *rested)), key=lambda row: row["seq"])
    why = StoryStep("why", settled["at_us"], settled["seq"], GROUP_CAUSES[duplicate.cause][1], settled)
    return sorted([*steps.values(), why], key=lambda step: (step.seq, step.kind == "why"))


def _first_lost(trace: Trace, acknowledged: Row, duplicate_seq: int) -> list[Row]:
    """The first report of the stream that did not reach a leader, after the acknowledgement."""
    lost: list[Row] = [*trace.rows(acknowledged["seq"], duplicate_seq, types=("protocol.lost",))]
    same = ("subscription", "client", "topic")
    return [
        row
        for row in lost
        if row["reason"] == UPDATE_PROGRESS and all(row.get(name) == acknowledged[name] for name in same)
    ][:1]


def _kind_of(row: Row, duplicate_seq: int) -> str:
    return (
        "again"
        if row["seq"] == duplicate_seq
        else row["type"].split(".")[1]
        if row["type"].startswith("message.")
        else row["type"].split(".")[0]
    )


def _concerns(row: Row, group: str, clients: set[str]) -> bool:
    if row.get("subscription") not in (None, group):
        return False
    if row["type"] == "borrower.changed" and row["reason"] != "gone":
        return False
    return row["type"] in _OF_ALL or row["client"] in clients
