"""The stories of a shared group's messages: what happened to one message, step by step, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.counting import CountedRun
from simulator.protocols.emqx.verdicts.groups import CountedGroup, GroupDuplicate
from simulator.story import Stories, Story, StoryCase, StoryStep, rows_where
from simulator.trace.trace import Trace

# --- texts about duplicates of a shared group: a heading and sentence per cause, a sentence per row


Row = Mapping[str, Any]

GROUP_CAUSES: dict[str, tuple[str, str]] = {
    "progress_unreported": (
        "Acknowledged, not reported to a leader",
        "A session had acknowledged the chunk, and no leader had its progress at the reassignment.",
    ),
    "progress_unpersisted": (
        "Reported to a leader, not yet committed",
        (
            "Another leader had received its progress and not committed it to the store; the "
            "leader of this delivery started from the store."
        ),
    ),
    "owner_declared_dead": (
        "Two readers at once",
        (
            "The leader had granted the stream to another session while the previous one "
            "still read and acknowledged."
        ),
    ),
    "progress_rewound": (
        "Position moved back",
        "Their progress had been received, and an older position was applied afterwards.",
    ),
    "chunk_repeated": (
        "Whole chunk redelivered",
        (
            "Not all of their chunk was acknowledged. Progress is reported by chunk, so its "
            "acknowledged messages are delivered again too."
        ),
    ),
    "leader_outdated": (
        "Assigned by an outdated leader",
        (
            "Another leader had received and committed their progress. The leader that "
            "granted the stream had read the store before, and started at an older position."
        ),
    ),
}
"""A heading and a sentence for each cause, in the order of decision."""

LOST = {
    "loss": "lost on the link",
    "link-cut": "the link is cut",
    "node-down": "the node is down",
    "no-such-process": "its receiver has ended",
    "own-node": "sent to the borrower's own node instead of its leader's",
    "command": "lost by a command",
}
"""Why a protocol message was not received, by the detail of its row."""

GROUP_EVENTS: dict[str, Callable[[Row], str]] = {
    "message.published": lambda row: (
        f"{row['producer']} publishes {row['producer']}/{row['sequence_id']} to {row['topic']}."
    ),
    "message.stored": lambda row: (
        f"Storage appends it to the stream {row['topic']}, at offset {row['entry']}."
    ),
    "message.delivered": lambda row: f"It is delivered to {row['client']}.",
    "message.acknowledged": lambda row: f"{row['client']} acknowledges it.",
    "assignment.changed": lambda row: f"The leader grants {row['topic']} to {row['client']}, {_from(row)}.",
    "lease.changed": lambda row: f"{row['client']} reads {row['topic']} {_from(row)}.",
    "session.disconnected": lambda row: f"{row['client']}'s session ends ({row['reason']}).",
    "session.connected": lambda row: f"{row['client']} connects ({row['reason']}).",
    "borrower.dropped": lambda row: f"The leader drops {row['client']} ({row['reason']}).",
    "borrower.changed": lambda row: f"{row['client']}'s borrower ended: {row['detail']}.",
    "leader.ended": lambda row: f"Leader {row['count']} ended ({row['reason']}).",
    "leader.elected": lambda row: f"Leader {row['count']} is elected.",
    "protocol.lost": lambda row: f"The progress of {row['client']} reaches no leader: {LOST[row['detail']]}.",
    "link.cut": lambda row: f"The link from {row['cluster']} to {row['peer']} is cut.",
    "link.healed": lambda row: f"The link from {row['cluster']} to {row['peer']} is healed.",
    "node.crashed": lambda row: f"{row['cluster']} crashes, with all its processes.",
    "node.stopped": lambda row: f"{row['cluster']} is stopped; its leaders commit, its connections close.",
    "store.unreachable": lambda row: f"{row['cluster']} cannot reach the leaders' store.",
    "leader.blocked": lambda row: f"Leader {row['count']} is blocked, waiting for the store.",
    "store.failed": lambda row: "The leaders' store is unavailable for a while.",
    "group.destroyed": lambda row: (
        f"{row['subscription']} is destroyed, with its progress; readers are not notified."
    ),
    "group.declared": lambda row: f"{row['subscription']} is declared.",
}
"""The sentence of a row, by its type."""


def _from(row: Row) -> str:
    return f"from offset {row['entry']} on" if "entry" in row else "at its end"


# --- the stories of shared groups, as the page requests them


FIGURES = ("duplicates", "redeliveries", "lost")


def _cases(counted: CountedRun) -> list[StoryCase]:
    return [StoryCase(name, group) for name, group in sorted(counted.groups.items())]


def _shown(case: StoryCase) -> dict[str, Any]:
    return {
        "group": case.name,
        "at_us": 0,
        **{name: getattr(case.counted, name) for name in FIGURES},
        "groups": shared_groups(case.counted),
    }


def _lists(case: StoryCase) -> dict[str, Sequence[Any]]:
    return {KIND: case.counted.duplicates_list}


def _page(case: StoryCase, kind: str, cause: str, first: int, limit: int) -> dict[str, Any]:
    return shared_page(case.counted, cause, first, limit)


def _place_of(case: StoryCase, kind: str, producer: str, sequence_id: int) -> int | None:
    return shared_place_of(case.counted, producer, sequence_id)


def _story(trace: Trace, case: StoryCase, kind: str, place: int, upto_seq: int) -> Story:
    duplicate = case.counted.duplicates_list[place]
    steps = shared_story(trace, case.name or "", duplicate)
    return Story(duplicate.producer, duplicate.sequence_id, duplicate.cause, steps)


STORIES = Stories(
    part="shared",
    noun="group",
    cases=_cases,
    shown=_shown,
    lists=_lists,
    unknown_kind="There is no kind {kind!r} of a group's messages.",
    known_kinds="There are stories of duplicates.",
    page=_page,
    place_of=_place_of,
    story=_story,
    causes=GROUP_CAUSES,
)


# --- the stories of a shared group: every duplicate delivery by cause, and the events that led to it
#
# Rules: the shapes are those of `cast` for failovers. A story has the message's own rows, the leader's
# decision on which the cause rests, and the events between acknowledgement and delivery of the two
# sessions, the leaders, the group and their nodes. Of lost reports only the first is included.


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
