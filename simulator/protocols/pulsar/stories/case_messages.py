"""The messages of a counted failover by kind and cause, page by page, and the rows of each.

Rules: lists are columns until a page of them is requested, so a million duplicates cost nothing. Omitted
messages are counted and shown. Reads the trace up to the counted row.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from simulator.counting.results import CountedFailover, LazyList
from simulator.protocols.pulsar.events import CODE
from simulator.protocols.pulsar.snapshots.names import names_of
from simulator.protocols.pulsar.stories.steps import Case, StoryStep, steps_of
from simulator.protocols.pulsar.stories.words import CAUSES, KINDS, LOSSES
from simulator.story.rows import rows_where
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

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
