"""The story of one message as steps: each an instant, its row, and one sentence.

Rules: a pure function of rows. Facts without a row are not in the story. A case names the result for the
message and its evidence from counting (role -> row). Steps are in the order of the rows, so stepping through
them is forward in time. The sentence with the reason is at the row that made the result unavoidable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulator.counting import CountedFailover, CountedRun, LazyList
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.snapshots.controller import names_of
from simulator.protocols.pulsar.stories.words import CAUSES, EVIDENCE_BEATS, KINDS, LOSSES, WHY
from simulator.story import Row, Stories, Story, StoryCase, StoryStep, rows_where
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class Case:
    """One message of one failover.

    `kind` is duplicates, redeliveries, stranded or lost. `x` is the cluster where it was last acknowledged
    ("" without any). `cause` and `why` are as in counting ("" without any). `duplicate_seq` is the judged
    delivery (-1: none). `snapshots` are the names of snapshots by number.
    """

    kind: str
    producer: str
    sequence_id: int
    subscription: str
    source: str
    target: str
    x: str = ""
    cause: str = ""
    why: str = ""
    duplicate_seq: int = -1
    snapshots: Mapping[int, str] = field(default_factory=dict)

    def snapshot(self, row: Row) -> str:
        """The name of a row's snapshot, such as `S3`."""
        return self.snapshots[row["snapshot"]]

    def fill(self, words: str) -> str:
        """A sentence of `words` about this case."""
        return words.format(
            **{"from": self.source}, to=self.target, x=self.x or self.source, subscription=self.subscription
        )


def steps_of(case: Case, rows: Iterable[Row], evidence: Mapping[str, Row]) -> list[StoryStep]:
    """The steps of a case.

    `rows` are the message's own rows in order. `evidence` are the rows that the verdict is based on, with
    "failover" (failover.started) and, when a region had crashed, "end" (its crash).
    """
    own = [row for row in rows if row.get("subscription") in (None, case.subscription)]
    shown = [step for role, row in evidence.items() for step in _shown(case, role, row)]
    shown_seqs = {step.seq for step in shown}
    steps = shown + [step for step in _life(case, own) if step.seq not in shown_seqs]
    steps += _reason(case, own, evidence) + _move(case, evidence) + _duplicate_step(case, own)
    return sorted(steps, key=lambda step: (step.seq, _ORDER.get(step.kind, 1)))


_ORDER = {"end": 0, "why": 2, "failover": 3}
"""The order of steps at one row: the crash, its meaning, then the failover."""


def place(row: Row, ledger: str = "ledger", entry: str = "entry") -> str:
    """A position as Pulsar prints it."""
    return f"{row[ledger]}:{row[entry]}"


def _step(kind: str, row: Row, words: str) -> StoryStep:
    return StoryStep(kind, row["at_us"], row["seq"], words, row)


# --- the message itself


def _life(case: Case, own: list[Row]) -> list[StoryStep]:
    """The steps from its publish to the acknowledgement that should have been sufficient."""
    name = f"{case.producer}/{case.sequence_id}"
    steps = [
        _step("published", row, f"{case.producer} publishes {name} in {row['cluster']}.")
        for row in _first(own, "message.published")
    ]
    known: set[str] = set()
    for row in own:
        mine = row["cluster"] in (case.source, case.target, case.x) or "peer" not in row
        if row["type"] == "message.stored" and mine and row["cluster"] not in known:
            known.add(row["cluster"])
            steps += _stored(own, row)
    if case.kind in ("stranded", "lost"):
        steps += [
            _step("receipted", row, f"{row['cluster']} acknowledges it to the producer {case.producer}.")
            for row in _first(own, "message.receipted")
        ]
    return steps + _handled(case, own)


def _stored(own: list[Row], row: Row) -> list[StoryStep]:
    if "peer" not in row:
        return [_step("stored", row, f"{row['cluster']} stores it in its log at {place(row)}.")]
    left = [
        one
        for one in own
        if one["type"] == "message.replicated"
        and (one["cluster"], one["peer"]) == (row["peer"], row["cluster"])
        and one["seq"] < row["seq"]
    ]
    sent = [_step("sent", left[-1], f"{row['peer']} replicates it to {row['cluster']}.")] if left else []
    return [*sent, _step("replicated", row, f"The copy arrives: {row['cluster']} stores it at {place(row)}.")]


def _handled(case: Case, own: list[Row]) -> list[StoryStep]:
    """The delivery and acknowledgement before the judged delivery, the latest of each."""
    before = [row for row in own if case.duplicate_seq < 0 or row["seq"] < case.duplicate_seq]
    acks = [row for row in before if row["type"] == "message.acknowledged"]
    ack = acks[-1] if acks and case.kind != "lost" else None
    handed = [
        row
        for row in before
        if row["type"] == "message.delivered"
        and (ack is None or (row["cluster"] == ack["cluster"] and row["seq"] < ack["seq"]))
    ]
    steps = (
        [_step("delivered", handed[-1], f"{handed[-1]['cluster']} delivers it to {handed[-1]['client']}.")]
        if handed
        else []
    )
    steps += [
        _step("held", row, f"{row['client']} holds it without acknowledging it.")
        for row in before
        if row["type"] == "message.held" and ack is None
    ]
    if ack is None:
        return steps
    steps.append(_step("acknowledged", ack, f"{ack['client']} acknowledges it."))
    taken = [
        row
        for row in own
        if row["type"] == "message.registered"
        and row["cluster"] == ack["cluster"]
        and row["seq"] > ack["seq"]
    ]
    return steps + [
        _step("registered", row, f"The broker in {row['cluster']} registers the acknowledgement.")
        for row in taken[:1]
    ]


def _duplicate_step(case: Case, own: list[Row]) -> list[StoryStep]:
    end = {
        "duplicates": "again, although it was acknowledged: a duplicate.",
        "redeliveries": "again, a redelivery: it had not been acknowledged.",
    }
    return [
        _step("again", row, f"{row['cluster']} delivers it to {row['client']} {end[case.kind]}")
        for row in own
        if row["seq"] == case.duplicate_seq
    ]


def _first(own: list[Row], event: str) -> list[Row]:
    return next(([row] for row in own if row["type"] == event), [])


# --- evidence of the verdict


def _shown(case: Case, role: str, row: Row) -> list[StoryStep]:
    """The step of a row of evidence, when its role has a sentence for rows of its type."""
    words = EVIDENCE_BEATS.get((role, row["type"]))
    return [] if words is None else [_step(role, row, words(case, row))]


def _reason(case: Case, own: list[Row], evidence: Mapping[str, Row]) -> list[StoryStep]:
    """The reason, at the row that made the result unavoidable, else at X's crash or the failover."""
    row = next((evidence[role] for role in ("lost", "end", "failover") if role in evidence), None)
    if row is None:
        return []
    if case.kind == "redeliveries":
        return [_step("why", row, "It had not been acknowledged by then.")]
    if case.kind == "stranded":
        return [_step("why", evidence.get("failover", row), _why_stranded(case, own, evidence))]
    words = WHY.get((case.cause, case.why))
    return [] if words is None else [_step("why", row, case.fill(words))]


def _why_stranded(case: Case, own: list[Row], evidence: Mapping[str, Row]) -> str:
    moved_seq = evidence["failover"]["seq"]
    left = any(
        row["type"] == "message.replicated" and row["peer"] == case.target and row["seq"] < moved_seq
        for row in own
    )
    where = (
        f"Its copy was in flight to {case.target} and had not arrived"
        if left
        else f"No copy had been sent to {case.target}"
    )
    return (
        f"{where}."
        if "returned" in evidence
        else f"{where}, and none has arrived since: it is missing in {case.target}."
    )


def _move(case: Case, evidence: Mapping[str, Row]) -> list[StoryStep]:
    steps = []
    end, moved = evidence.get("end"), evidence.get("failover")
    if end is not None and end["type"] in ("cluster.crashed", "cluster.lost"):
        steps.append(
            _step(
                "end",
                end,
                f"{end['cluster']} goes down{' permanently' if end['type'] == 'cluster.lost' else ''}.",
            )
        )
    if moved is not None:
        steps.append(
            _step(
                "failover",
                moved,
                f"The consumers of {case.subscription} move from {case.source} to {case.target}.",
            )
        )
    return steps


# --- the messages of a counted failover by kind and cause, page by page, and the rows of each
#
# Rules: lists are columns until a page of them is requested, so a million duplicates cost nothing. Omitted
# messages are counted and shown. Reads the trace up to the counted row.


LISTS = {
    "duplicates": "duplicates_list",
    "redeliveries": "redelivered_list",
    "stranded": "stranded_list",
    "lost": "lost_list",
}
_HEADINGS = {"duplicates": CAUSES, "lost": LOSSES}
_CHUNK_ROWS = 4 * 65_536


def groups(failover: CountedFailover) -> list[dict[str, Any]]:
    """By kind, and within duplicates and losses by cause in the order of counting.

    Each is {"kind", "cause", "count", "heading", "says"}.
    """
    found = []
    for kind, (heading, says) in KINDS.items():
        listed = getattr(failover, LISTS[kind])
        causes = {"duplicates": failover.by_cause, "lost": failover.lost_by_cause}.get(
            kind, {"": len(listed)}
        )
        for cause, count in causes.items():
            if count:
                words = (
                    _HEADINGS[kind].get(cause, (cause.replace("_", " "), says))
                    if kind in _HEADINGS
                    else (heading, says)
                )
                found.append(
                    {
                        "kind": kind,
                        "cause": cause,
                        "count": count,
                        **_filled(failover, words, _x_of(listed, cause)),
                    }
                )
    return found


def _filled(failover: CountedFailover, words: tuple[str, str], x: str) -> dict[str, str]:
    case = Case("", "", 0, failover.subscription, failover.source, failover.target, x)
    return {"heading": case.fill(words[0]), "says": case.fill(words[1])}


def _x_of(listed: LazyList, cause: str) -> str:
    """Cluster that acked most of a cause's duplicates; "" for other kinds."""
    if not len(listed) or "acknowledged_in" not in listed.columns:
        return ""
    where = np.asarray(listed.columns["acknowledged_in"])[_places(listed, cause)]
    return listed.names[Counter(where.tolist()).most_common(1)[0][0]]


def _places(listed: LazyList, cause: str) -> np.ndarray:
    """Places of a list's entries with the cause ("": all)."""
    if not cause or not len(listed):
        return np.arange(len(listed))
    return np.flatnonzero(np.asarray(listed.columns["cause"], dtype=object) == cause)


def page(
    failover: CountedFailover, kind: str, cause: str = "", first: int = 0, limit: int = 50
) -> dict[str, Any]:
    """Messages of a group, from number `first` on.

    Returns {"total", "first", "messages": [{"place", "producer", "sequence_id", "at_us", …}]}. `place` is the
    message's number in the whole list of its kind, which identifies its story. Raises ValueError for an
    unknown kind.
    """
    listed = _list_of(failover, kind)
    places = _places(listed, cause)
    return {
        "total": len(places),
        "first": first,
        "messages": [_mention(place, listed[place]) for place in places[first : first + limit].tolist()],
    }


def _list_of(failover: CountedFailover, kind: str) -> LazyList:
    if kind not in LISTS:
        raise ValueError(f"there is no kind {kind!r}: there are {', '.join(LISTS)}")
    return getattr(failover, LISTS[kind])


def _mention(place: int, entry: Any) -> dict[str, Any]:
    names = (
        "producer",
        "sequence_id",
        "at_us",
        "acknowledged_at_us",
        "acknowledged_in",
        "why",
        "recovered",
        "unprocessed",
    )
    returned = {"returned": "returned" in entry.evidence} if hasattr(entry, "unprocessed") else {}
    return {
        "place": place,
        **{name: getattr(entry, name) for name in names if hasattr(entry, name)},
        **returned,
    }


def story_of(
    trace: Trace, failover: CountedFailover, kind: str, place: int, upto_seq: int | None = None
) -> tuple[Case, list[StoryStep]]:
    """The story of the `place`-th message of a kind. Raises ValueError or IndexError when there is none."""
    entry = _list_of(failover, kind)[place]
    end_seq = len(trace) if upto_seq is None else upto_seq
    case = Case(
        kind,
        entry.producer,
        entry.sequence_id,
        failover.subscription,
        failover.source,
        failover.target,
        getattr(entry, "acknowledged_in", ""),
        getattr(entry, "cause", ""),
        getattr(entry, "why", ""),
        getattr(entry, "delivered_seq", -1),
        names_of(trace.row(seq) for seq in trace.seqs(0, end_seq, types=("snapshot.requested",))),
    )
    evidence = {role: trace.row(seq) for role, seq in entry.evidence.items()}
    evidence["failover"] = trace.row(failover.opened_seq)
    if "end" not in evidence:
        evidence |= _crash_before(trace, failover, failover.opened_seq)
    if case.cause == "resent_copy":
        evidence["second_copy"] = evidence["stored"]
    evidence |= _around_the_snapshot(trace, case, evidence)
    if case.cause == "ack_hole" and "mark_delete" in evidence:
        evidence |= _hole(trace, case, evidence["mark_delete"], evidence["end"]["seq"])
    rows = [
        trace.row(seq)
        for seq in rows_where(
            trace, end_seq, producer=trace.number(case.producer), sequence_id=case.sequence_id
        )
    ]
    return case, steps_of(case, rows, evidence)


def is_harm(trace: Trace, failover: CountedFailover, kind: str, place: int, upto_seq: int) -> bool:
    """Whether the `place`-th message of a kind is a duplicate, lost, or unread and cannot arrive."""
    if kind != "stranded":
        return kind in ("duplicates", "lost")
    entry = _list_of(failover, kind)[place]
    on_the_way = "returned" in entry.evidence or not _crash_before(trace, failover, upto_seq)
    return bool(entry.unprocessed) and not on_the_way


def _crash_before(trace: Trace, failover: CountedFailover, upto_seq: int) -> dict[str, dict]:
    """The crash of the source, if it had not restarted by that row."""
    events = ("cluster.crashed", "cluster.lost", "cluster.restarted")
    rows = [row for row in trace.rows(0, upto_seq, types=events) if row["cluster"] == failover.source]
    return {"end": rows[-1]} if rows and rows[-1]["type"] != "cluster.restarted" else {}


def _around_the_snapshot(trace: Trace, case: Case, evidence: dict[str, dict]) -> dict[str, dict]:
    """When the snapshot of the verdict was requested, and the target's position in it."""
    named = next(
        (
            evidence[role]
            for role in ("snapshot", "newest_snapshot", "attempt")
            if "snapshot" in evidence.get(role, {})
        ),
        None,
    )
    if named is None:
        return {}
    where = {name: trace.number(named[name]) for name in ("cluster", "topic")} | {
        "snapshot": named["snapshot"]
    }
    until = evidence["failover"]["seq"]
    asked = rows_where(trace, until, type=CODE["snapshot.requested"], **where)
    positions = rows_where(
        trace, until, type=CODE["snapshot.position"], peer=trace.number(case.target), **where
    )
    return {role: trace.row(seqs[0]) for role, seqs in (("asked", asked), ("covers", positions)) if seqs}


def _hole(trace: Trace, case: Case, mark: dict, end_seq: int) -> dict[str, dict]:
    """The first message after X's mark-delete that was not acked in time, and its delivery or hold."""
    to = mark["type"] in ("cursor.moved", "update.applied")
    ledger, entry = (mark["to_ledger"], mark["to_entry"]) if to else (mark["ledger"], mark["entry"])
    where = {"cluster": trace.number(mark["cluster"]), "topic": trace.number(mark["topic"])}
    subscription = trace.number(case.subscription)
    stored, names = _behind(trace, end_seq, ledger, entry, type=CODE["message.stored"], **where)
    _, registered = _behind(
        trace, end_seq, ledger, entry, type=CODE["message.registered"], subscription=subscription, **where
    )
    open_ = stored[~np.isin(names, registered)]
    if not len(open_):
        return {}
    hole = trace.row(int(open_[0]))
    identity = {
        "producer": trace.number(hole["producer"]),
        "sequence_id": hole["sequence_id"],
        "subscription": subscription,
        **where,
    }
    handed = [
        seq
        for event in ("message.held", "message.delivered")
        for seq in rows_where(trace, end_seq, type=CODE[event], **identity)
    ]
    return {"hole": hole, **({"held": trace.row(handed[0])} if handed else {})}


def _behind(
    trace: Trace, end_seq: int, ledger: int, entry: int, **equal: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of messages after a position, in the order of their positions.

    Returns their seqs, and the messages as packed numbers.
    """
    seqs, messages = [], []
    for first in range(0, end_seq, _CHUNK_ROWS):
        columns = trace.columns(
            first,
            min(first + _CHUNK_ROWS, end_seq),
            names=(*equal, "producer", "sequence_id", "ledger", "entry"),
        )
        chosen = (columns["ledger"] > ledger) | ((columns["ledger"] == ledger) & (columns["entry"] > entry))
        for name, value in equal.items():
            chosen &= columns[name] == (NULL if value is None else value)
        rows = np.flatnonzero(chosen)
        seqs.append(np.stack((columns["ledger"][rows], columns["entry"][rows], first + rows)))
        messages.append((columns["producer"][rows] << 32) + columns["sequence_id"][rows])
    ledgers, entries, found = np.concatenate(seqs, axis=1)
    order = np.lexsort((found, entries, ledgers))
    return found[order], np.concatenate(messages)[order]


# --- the stories of failovers for the page


FIGURES = (
    "duplicates",
    "redeliveries",
    "stranded",
    "lost",
    "stranded_returned",
    "stranded_missing",
    "outage_us",
    "caught_up_us",
    "drained_us",
    "pending_repeats",
)


def _cases(counted: CountedRun) -> list[StoryCase]:
    return [StoryCase(None, failover) for failover in counted.failovers]


def _shown_case(case: StoryCase) -> dict[str, Any]:
    one = case.counted
    return {
        "subscription": one.subscription,
        "from": one.source,
        "to": one.target,
        "mode": one.mode,
        "at_us": one.at_us,
        "seq": one.opened_seq,
        **{name: getattr(one, name) for name in FIGURES},
        "groups": groups(one),
    }


def _lists(case: StoryCase) -> dict[str, Sequence[Any]]:
    return {kind: getattr(case.counted, name) for kind, name in LISTS.items()}


def _page(case: StoryCase, kind: str, cause: str, first: int, limit: int) -> dict[str, Any]:
    return page(case.counted, kind, cause, first, limit)


def _place_of(case: StoryCase, kind: str, producer: str, sequence_id: int) -> int | None:
    return getattr(case.counted, LISTS[kind]).place_of(producer=producer, sequence_id=sequence_id)


def _story(trace: Trace, case: StoryCase, kind: str, place: int, upto_seq: int) -> Story:
    case_, steps = story_of(trace, case.counted, kind, place, upto_seq)
    harm = is_harm(trace, case.counted, kind, place, upto_seq)
    return Story(case_.producer, case_.sequence_id, case_.cause, steps, harm)


STORIES = Stories(
    part="failovers",
    noun="failover",
    cases=_cases,
    shown=_shown_case,
    lists=_lists,
    unknown_kind="There is no kind {kind!r} of messages.",
    known_kinds=f"Kinds are {', '.join(LISTS)}.",
    page=_page,
    place_of=_place_of,
    story=_story,
    forecast_seq=lambda case: case.counted.opened_seq,
    causes={**CAUSES, **LOSSES},
)
