"""Answers about rows: around an instant, between two instants, causes, effects, messages of a group."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from simulator.protocols.registry import CODE
from simulator.system.live_rows import Messages, StateRow
from simulator.trace.registry import NULL
from visualizer.live.wire import LATEST_US, Refused
from visualizer.questions.question import CLIENTS, Argument, Text, Whole, question, require_window

if TYPE_CHECKING:
    from simulator.system.live_rows import Passages
    from visualizer.labs.session import Session
    from visualizer.labs.work import Work


# --- reads rows of a lab's trace in slices, for every question about rows
#
# Rules: a row of a sealed block takes about ten microseconds, so at most `READ_ROWS` are read in one slice.


SEARCHED_ROWS = 65_536
"""Rows searched by their type or a column in one slice, which takes a millisecond or two."""

READ_ROWS = 100
"""Rows read with all columns in one slice, which takes about a millisecond."""


def rows_at(trace: Any, seqs: Sequence[int]) -> Work:
    """The rows with these seqs, in order."""
    found: list[dict[str, Any]] = []
    for first in range(0, len(seqs), READ_ROWS):
        found.extend(trace.row(seq) for seq in seqs[first : first + READ_ROWS])
        yield None
    return found


def causes_of(trace: Any, row: dict[str, Any], most: int) -> Work:
    """The causes of `row`, nearest first, back to the root or at most `most` of them."""
    causes: list[dict[str, Any]] = []
    while "cause_seq" in row and len(causes) < most:
        row = trace.row(row["cause_seq"])
        causes.append(row)
        if len(causes) % READ_ROWS == 0:
            yield None
    return causes


EVENTS_BEFORE, EVENTS_AFTER = 600, 150
"""Most control rows before and after the instant: more than the list shows after folding repetitions."""

LOOKED_AT_ROWS = 1_000_000
"""Rows searched on each side. Rarely is one row in a thousand a control row."""


@question("events.json")
def events(session: Session) -> Work:
    """The control rows around the instant shown.

    Returns `{branch, seq, rows_from, rows, ahead}`: `rows` are all control rows with rows_from <= row < seq,
    `ahead` those from seq on.

    They are the newest control rows before it, and the first after it that the branch has run. Rules: the
    answer depends on branch, instant and how far the branch has been run, never on what a page has watched.
    It is computed once for all pages while the lab is paused.
    """
    world = session.world
    here = (world.branch, world.seq, len(world.trace))
    if session.events_kept[0] != here:
        answer = yield from _around(world)
        session.events_kept = (here, answer)
    return session.events_kept[1]


def _around(world: Any) -> Work:
    trace, seq = world.trace, world.seq
    before: list[int] = []
    first, oldest = seq, max(0, seq - LOOKED_AT_ROWS)
    while first > oldest and len(before) < EVENTS_BEFORE:
        first, last = max(oldest, first - SEARCHED_ROWS), first
        before = trace.seqs(first, last, control_only=True) + before
        yield None
    rows_from = before[-EVENTS_BEFORE] if len(before) > EVENTS_BEFORE else first
    after: list[int] = []
    last = seq
    while last < min(len(trace), seq + LOOKED_AT_ROWS) and len(after) < EVENTS_AFTER:
        first, last = last, min(len(trace), last + SEARCHED_ROWS)
        after += trace.seqs(first, last, control_only=True, limit=EVENTS_AFTER - len(after))
        yield None
    rows = yield from rows_at(trace, before[-EVENTS_BEFORE:])
    ahead = yield from rows_at(trace, after)
    return {"branch": world.branch, "seq": seq, "rows_from": rows_from, "rows": rows, "ahead": ahead}


BACK_ROWS = 200
"""Most links of the chain of causes."""
FORWARD_ROWS = 400
"""Most rows that the row caused: the nearest in the run's order."""
EFFECT_ROWS = 400_000
"""Rows searched after the row, about 2 ms per 65,536. A cause is rarely older."""
PIECE_ROWS = 16_384
"""Rows read in one slice of a job."""


@question("cone.json")
def cone(
    session: Session,
    seq: Whole | None = None,
    producer: Text | None = None,
    number: Whole | None = None,
    marker: Whole | None = None,
) -> Work:
    """Find the causes and effects of a row, a message or a marker.

    Returns `{row, back, forward, more}`: the row itself, `back` with the nearest cause first, `forward`
    ascending, and `more` when either was cut.

    Rules: it goes backwards along `cause_seq` to the root, and forwards over the rows whose chain of causes
    contains the row. Both are limited, and the answer shows when they were cut. A message or a marker is
    represented by its rows: its cone begins at the first of them.
    """
    if sum((seq is not None, marker is not None, producer is not None and number is not None)) != 1:
        raise Refused(
            "bad-argument",
            "A cone is asked for without a row, message or marker, or with several.",
            "Give seq, or producer and number, or marker.",
        )
    trace = session.world.trace
    if marker is not None:
        seq = yield from _first(session, {"marker": marker}, f"No marker {marker} has been written so far.")
    elif producer is not None:
        wanted = {"producer": trace.number(producer), "sequence_id": number}
        seq = yield from _first(session, wanted, f"No message {producer}/{number} has been published so far.")
    if seq is None or seq >= session.world.seq:
        raise Refused(
            "not-found", f"Row {seq} has not happened.", f"Rows so far are 0 to {session.world.seq - 1}."
        )
    asked = trace.row(seq)
    back = yield from causes_of(trace, asked, BACK_ROWS)
    seqs, cut = yield from _forward(session, seq)
    forward = yield from rows_at(trace, seqs)
    return {
        "row": asked,
        "back": back,
        "forward": forward,
        "more": cut or "cause_seq" in (back[-1] if back else asked),
    }


def _first(session: Session, wanted: dict[str, int | None], error: str) -> Generator[None, Any, int]:
    """The seq of the first row with these values. Raises Refused when there is none."""
    world = session.world
    for first in range(0, world.seq, PIECE_ROWS) if None not in wanted.values() else ():
        columns = world.trace.columns(first, min(world.seq, first + PIECE_ROWS), names=tuple(wanted))
        found = np.flatnonzero(
            np.logical_and.reduce([columns[name] == value for name, value in wanted.items()])
        )
        if found.size:
            return first + int(found[0])
        yield None
    raise Refused("not-found", error, "Go on in the run until it is there.")


def _forward(session: Session, seq: int) -> Generator[None, Any, tuple[list[int], bool]]:
    """The seqs of rows caused by `seq`, directly or through others, and whether they were cut.

    A cause always precedes its effects, so one pass finds them.
    """
    world = session.world
    end = min(world.seq, seq + 1 + EFFECT_ROWS)
    known = {seq}
    found: list[int] = []
    for first in range(seq + 1, end, PIECE_ROWS):
        causes = world.trace.columns(first, min(end, first + PIECE_ROWS), names=("cause_seq",))["cause_seq"]
        # most rows are caused by something older than `seq`: numpy filters them out before the loop
        for place in np.flatnonzero(causes >= seq).tolist():
            if int(causes[place]) in known:
                known.add(first + place)
                found.append(first + place)
                if len(found) == FORWARD_ROWS:
                    return found, True
        yield None
    return found, end < world.seq


# --- the window of the space-time diagram: rows of markers and snapshots between two instants, or counts
#
# Rules: a window is requested by its instants, never by seq. A window with more than `LISTED_ROWS` rows is
# answered in bins, so the page's work is bounded however long the run is.


LISTED_ROWS = 2_400
"""Most rows that a diagram shows one by one: about 400 markers in three regions, a few pixels each."""
BINS = 160
"""Parts of a window whose rows are counted: a few pixels each."""
SCANNED_ROWS = 65_536
"""Rows read in one slice of a job."""

LANDMARKS_LISTED = 1_000
"""Most faults and failovers that a scrub bar marks; of more, the newest. `stops` get twice as many."""


@question("passages.json")
def passages(session: Session, from_us: Whole = 0, to_us: Whole = LATEST_US) -> Work:
    """The rows of the window, or bins when there are too many.

    Returns `{from_us, to_us, branch, count, rows}` or `{…, bins: {width_us, counts: {"a -> b": {marker type:
    [number per bin]}}, lost: {"a -> b": […]}}}`.
    """
    require_window(from_us, to_us)
    world = session.world
    rows = world.protocol.live.passages
    first = world.trace.first_after(from_us - 1)
    last = min(world.seq, world.trace.first_after(to_us))
    seqs: list[int] = []
    for begin in range(first, last, SCANNED_ROWS):
        seqs.extend(world.trace.seqs(begin, min(last, begin + SCANNED_ROWS), types=rows.listed))
        yield None
    answer: dict[str, Any] = {"from_us": from_us, "to_us": to_us, "branch": world.branch, "count": len(seqs)}
    if len(seqs) <= LISTED_ROWS:
        return {**answer, "rows": (yield from rows_at(world.trace, seqs))}
    counts: dict[str, dict[str, list[int]]] = {}
    lost: dict[str, list[int]] = {}
    width_us = max(1, -(-(to_us - from_us) // BINS))
    for begin in range(first, last, SCANNED_ROWS):
        _count(world.trace, rows, begin, min(last, begin + SCANNED_ROWS), from_us, width_us, counts, lost)
        yield None
    return {**answer, "bins": {"width_us": width_us, "counts": counts, "lost": lost}}


@question("landmarks.json")
def landmarks(session: Session) -> Work:
    """The faults and stops of the whole branch, as far as it has run.

    Returns `{branch, seq, rows}`. The protocol declares these types, such as failovers and ended snapshots.
    """
    trace, live = session.world.trace, session.world.protocol.live
    faults = live.all_faults()
    marks: list[int] = []
    stops: list[int] = []
    for begin in range(0, len(trace), SCANNED_ROWS):
        end = min(len(trace), begin + SCANNED_ROWS)
        marks.extend(trace.seqs(begin, end, types=faults))
        stops.extend(trace.seqs(begin, end, types=live.stops))
        yield None
    seqs = sorted(marks[-LANDMARKS_LISTED:] + stops[-2 * LANDMARKS_LISTED :])
    return {"branch": session.world.branch, "seq": len(trace), "rows": (yield from rows_at(trace, seqs))}


def _count(
    trace: Any,
    rows: Passages,
    first: int,
    last: int,
    from_us: int,
    width_us: int,
    counts: dict,
    lost: dict,
) -> None:
    columns = trace.columns(first, last, names=("at_us", "cluster", "peer", "reason"))
    for name in (*rows.sent, *rows.lost):
        places = np.array(trace.seqs(first, last, types=(name,)), dtype=np.int64) - first
        bins = (columns["at_us"][places] - from_us) // width_us
        keys = [columns[column][places] for column in ("cluster", "peer", "reason")]
        for (cluster, peer, reason), numbers in tallied(trace.names, keys, bins):
            link = f"{cluster} -> {peer}"
            add_bins(
                counts.setdefault(link, {}) if name in rows.sent else lost,
                reason if name in rows.sent else link,
                numbers,
            )


def tallied(
    names: Sequence[str], keys: Sequence[np.ndarray], bins: np.ndarray
) -> Iterator[tuple[tuple[str, ...], list[tuple[int, int]]]]:
    """Count rows per bin for each combination of values in the key columns.

    The columns hold indices into `names`. Yields (key, [(bin, rows)]).
    """
    if not bins.size:
        return
    stacked = np.stack(keys)
    for key in np.unique(stacked, axis=1).T.tolist():
        chosen = bins[np.all(stacked == np.array(key)[:, None], axis=0)]
        places, numbers = np.unique(chosen, return_counts=True)
        yield (
            tuple(names[number] for number in key),
            list(zip(places.tolist(), numbers.tolist(), strict=True)),
        )


def add_bins(into: dict[str, list[int]], name: str, numbers: Sequence[tuple[int, int]]) -> None:
    """Add counts to the bins under a name. Rows at the very end of the window are in the last bin."""
    bins = into.setdefault(name, [0] * BINS)
    for place, number in numbers:
        bins[min(BINS - 1, place)] += number


_COLUMNS = ("type", "at_us", "subscription", "client", "count", "topic", "reason")


Clients = Annotated[list[str], Argument(str, many=CLIENTS)]


@question("node-messages.json")
def node_messages(
    session: Session, group: Text, client: Clients, from_us: Whole = 0, to_us: Whole = LATEST_US
) -> Work:
    """Messages between a group's nodes in the window, or bins when there are too many.

    Returns `{group, from_us, to_us, branch, count, rows, again, before}`. Of too many rows it has `bins:
    {width_us, counts: {S: {kind: [number per bin]}}, lost: {S: […]}}` instead of rows. `again` are the seqs
    of resent messages. Without `client` all sessions are included.

    Counts are sent when there are too many messages. Rules: a request has the window's instants and its
    sessions, so the page's work is bounded however long the run and however many sessions there are. The
    answer includes the state at the window's beginning: the latest row before it for each leader, borrower
    and lease.
    """
    require_window(from_us, to_us)
    world = session.world
    trace = world.trace
    if trace.number(group) is None:
        raise Refused(
            "not-found", f"There is no group {group[:80]!r}.", "Groups are in the lab's welcome, under names."
        )
    messages = world.protocol.live.messages
    listed = np.array([CODE[name] for name in messages.listed])
    wanted = _Wanted(trace, group, client)
    first, last = trace.first_after(from_us - 1), min(world.seq, trace.first_after(to_us))
    seqs: list[int] = []
    for begin in range(first, last, SCANNED_ROWS):
        seqs += wanted.places(begin, min(last, begin + SCANNED_ROWS), listed)[0]
        yield None
    answer: dict[str, Any] = {
        "group": group,
        "from_us": from_us,
        "to_us": to_us,
        "branch": world.branch,
        "count": len(seqs),
    }
    if len(seqs) <= LISTED_ROWS:
        rows = yield from rows_at(trace, seqs)
        again: list[int] = []
        for begin in range(0, len(rows), READ_ROWS):
            again += [row["seq"] for row in rows[begin : begin + READ_ROWS] if _again(trace, messages, row)]
            yield None
        before = yield from _before(trace, messages, wanted, min(first, last))
        return {**answer, "rows": rows, "again": again, "before": (yield from rows_at(trace, before))}
    counts: dict[str, dict[str, list[int]]] = {}
    lost: dict[str, list[int]] = {}
    width_us = max(1, -(-(to_us - from_us) // BINS))
    for begin in range(first, last, SCANNED_ROWS):
        for event in (*messages.sent, *messages.lost):
            _seqs, columns = wanted.places(begin, min(last, begin + SCANNED_ROWS), np.array([CODE[event]]))
            bins = (columns["at_us"] - from_us) // width_us
            for (name, kind), numbers in tallied(trace.names, [columns["client"], columns["reason"]], bins):
                add_bins(
                    counts.setdefault(name, {}) if event in messages.sent else lost,
                    kind if event in messages.sent else name,
                    numbers,
                )
            yield None
    return {**answer, "bins": {"width_us": width_us, "counts": counts, "lost": lost}}


class _Wanted:
    """Selects the rows of one group that concern the requested sessions."""

    def __init__(self, trace: Any, group: str, clients: Sequence[str]) -> None:
        self.trace, self.group = trace, trace.number(group)
        numbers = [trace.number(client) for client in clients]
        self.clients = (
            np.array([NULL, *(number for number in numbers if number is not None)]) if clients else None
        )

    def places(self, first: int, last: int, codes: np.ndarray) -> tuple[list[int], dict[str, np.ndarray]]:
        """Find the rows of these types.

        Returns (their seqs, their columns).
        """
        columns = self.trace.columns(first, last, names=_COLUMNS)
        mask = np.isin(columns["type"], codes) & (columns["subscription"] == self.group)
        if self.clients is not None:
            mask &= np.isin(columns["client"], self.clients)
        places = np.flatnonzero(mask)
        return (places + first).tolist(), {name: column[places] for name, column in columns.items()}


def _again(trace: Any, messages: Messages, row: dict[str, Any]) -> bool:
    """Whether a message was resent by a timer of an older state, not because of a new state."""
    return (
        row["type"] in messages.sent
        and row["reason"] in messages.resent
        and trace.at_us(row["cause_seq"]) < row["at_us"]
    )


def _before(trace: Any, messages: Messages, wanted: _Wanted, end: int) -> Work:
    """The seqs of the latest row about each subject that still exists before row `end`."""
    names = {CODE[name]: name for name in messages.states}
    codes = np.array(list(names))
    latest: dict[tuple, int] = {}
    for begin in range(0, end, SCANNED_ROWS):
        seqs, columns = wanted.places(begin, min(end, begin + SCANNED_ROWS), codes)
        values = [columns[name].tolist() for name in ("type", "reason", "client", "count", "topic")]
        for seq, code, reason, client, count, topic in zip(seqs, *values, strict=True):
            reason_name = "" if reason == NULL else trace.names[reason]
            messages.fold(latest, StateRow(seq, names[code], reason_name, client, count, topic))
        yield None
    return sorted(latest.values())


LATEST_ROWS = 4
"""Rows kept of each type and reason, so the last four transitions of a machine are among them."""

UNSAID = NULL - 1
"""A number that no row has, for a name that is not in the trace."""

_LATEST_COLUMNS = ("type", "subscription", "client", "topic", "reason")


@question("latest.json")
def latest(
    session: Session, group: Text = "", client: Text = "", stream: Text = "", after: Whole = 0
) -> Work:
    """Find the latest rows about a group, a client or a stream, from row `after` on.

    Returns `{group, client, stream, branch, seq, rows}`, with `rows` ascending. `seq` is where to continue. A
    client's leases and reports about streams are separated into this stream's and any other's.

    They are the transitions of each state machine, and the messages between the layers. Rules: a page that
    asks again sends the first row to search from, so that a long run is searched once.
    """
    world = session.world
    numbers = [
        UNSAID if number is None else number
        for number in (world.trace.number(name) for name in (group, client, stream))
    ]
    found: dict[tuple[int, int, bool], list[int]] = {}
    for begin in range(after, world.seq, SCANNED_ROWS):
        columns = world.trace.columns(begin, min(world.seq, begin + SCANNED_ROWS), names=_LATEST_COLUMNS)
        here = columns["topic"] == numbers[2]
        places = np.flatnonzero(_is_about(world.protocol.live.messages, columns, numbers, here))
        for place, code, reason, of_it in zip(
            places.tolist(),
            columns["type"][places].tolist(),
            columns["reason"][places].tolist(),
            here[places].tolist(),
            strict=True,
        ):
            kept = found.setdefault((code, reason, of_it), [])
            kept.append(begin + place)
            del kept[:-LATEST_ROWS]
        yield None
    rows = yield from rows_at(world.trace, sorted(seq for kept in found.values() for seq in kept))
    return {
        "group": group,
        "client": client,
        "stream": stream,
        "branch": world.branch,
        "seq": world.seq,
        "rows": rows,
    }


def _is_about(
    messages: Messages, columns: dict[str, np.ndarray], numbers: list[int], here: np.ndarray
) -> np.ndarray:
    """Which rows are about the group and client with these numbers, the stream `here`, or the leader."""

    def of(types: tuple[str, ...]) -> np.ndarray:
        return np.isin(columns["type"], [CODE[name] for name in types])

    shared = columns["subscription"] == numbers[0]
    of_client = columns["client"] == numbers[1]
    return (
        (shared & of_client & of(messages.of_client))
        | (of_client & of(messages.of_connection))
        | (shared & here & of(messages.of_stream))
        | (shared & of(messages.of_leader))
    )
