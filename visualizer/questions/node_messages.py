"""Messages between borrowers and leaders of a group between two instants (docs/websocket.md).

Counts are sent when there are too many messages. Rules: a request has the window's instants and its sessions,
so the page's work is bounded however long the run and however many sessions there are. The answer includes
the state at the window's beginning: the latest row before it for each leader, borrower and lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simulator.protocols.registry import CODE
from simulator.system.live_rows import Messages, StateRow
from simulator.trace.registry import NULL
from visualizer.labs.session import Session
from visualizer.labs.work import Work
from visualizer.live.wire import Refused
from visualizer.questions.passages import BINS, LISTED_ROWS, PIECE_ROWS, add_bins, tallied
from visualizer.questions.reading import READ_ROWS, rows_at

_COLUMNS = ("type", "at_us", "subscription", "client", "count", "topic", "reason")


def node_messages(session: Session, group: str, clients: Sequence[str], from_us: int, to_us: int) -> Work:
    """Rows of the window, or bins when there are too many.

    Returns `{group, from_us, to_us, branch, count, rows, again, before}`. Of too many rows it has `bins:
    {width_us, counts: {S: {kind: [number per bin]}}, lost: {S: […]}}` instead of rows. `again` are the seqs
    of resent messages. Without `clients` all sessions are included.
    """
    world = session.world
    trace = world.trace
    if trace.number(group) is None:
        raise Refused(
            "not-found", f"There is no group {group[:80]!r}.", "Groups are in the lab's welcome, under names."
        )
    messages = world.protocol.live.messages
    listed = np.array([CODE[name] for name in messages.listed])
    wanted = _Wanted(trace, group, clients)
    first, last = trace.first_after(from_us - 1), min(world.seq, trace.first_after(to_us))
    seqs: list[int] = []
    for begin in range(first, last, PIECE_ROWS):
        seqs += wanted.places(begin, min(last, begin + PIECE_ROWS), listed)[0]
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
    for begin in range(first, last, PIECE_ROWS):
        for event in (*messages.sent, *messages.lost):
            _seqs, columns = wanted.places(begin, min(last, begin + PIECE_ROWS), np.array([CODE[event]]))
            bins = (columns["at_us"] - from_us) // width_us
            for (client, kind), numbers in tallied(trace.names, [columns["client"], columns["reason"]], bins):
                add_bins(
                    counts.setdefault(client, {}) if event in messages.sent else lost,
                    kind if event in messages.sent else client,
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
    for begin in range(0, end, PIECE_ROWS):
        seqs, columns = wanted.places(begin, min(end, begin + PIECE_ROWS), codes)
        values = [columns[name].tolist() for name in ("type", "reason", "client", "count", "topic")]
        for seq, code, reason, client, count, topic in zip(seqs, *values, strict=True):
            reason_name = "" if reason == NULL else trace.names[reason]
            messages.fold(latest, StateRow(seq, names[code], reason_name, client, count, topic))
        yield None
    return sorted(latest.values())
