"""Causes of a shared group's duplicates, in the order in which they are tried.

The first that holds is the cause. A duplicate is a delivery of a message that a client had acknowledged
before. G is the leader's decision that let the reader of this delivery read from its position. A is the
latest acknowledgement before the delivery. `docs/durable-shared-subscriptions.md` explains the causes.
Rules: of the reports before G only the furthest positions matter, and they are the same for all duplicates
of one lease: `Known` holds them, made once for each lease.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from simulator.counting import CountingError
from simulator.protocols.emqx.verdicts.group_history import (
    Acknowledgement,
    Delivery,
    Lease,
    Step,
    StreamHistory,
)

BEGINNING = 0
"""The position in a stream without reported progress."""


class Known:
    """The progress reported for a stream before the leader decided to grant a lease."""

    def __init__(self, stream: StreamHistory, lease: Lease) -> None:
        def before(steps: list[Step]) -> list[Step]:
            return steps[: bisect_left(steps, lease.granted_seq, key=_seq)]

        self._reported, self._saved, persisted = (
            before(stream.reports),
            before(stream.saved),
            before(stream.persisted),
        )
        self.persisted = max((step.position for step in persisted), default=BEGINNING)
        self.saved_elsewhere = max(
            (step.position for step in self._saved if step.who != lease.leader), default=BEGINNING
        )
        self._rewinds = _rewinds(self._saved, persisted)
        self._furthest: dict[int | None, tuple[list[int], list[int]]] = {None: _furthest_after(self._saved)}

    def reported_after(self, seq: int, client: int) -> int:
        """The furthest position that a session reported after a row."""
        if client not in self._furthest:
            self._furthest[client] = _furthest_after([step for step in self._reported if step.who == client])
        return _at(self._furthest[client], seq)

    def saved_after(self, seq: int) -> int:
        """The furthest position that any leader accepted after a row."""
        return _at(self._furthest[None], seq)

    def passed_and_not_passed_after(self, offset: int) -> bool:
        """Whether a leader accepted an older position after one past the message had been recorded."""
        return any(low <= offset < high for low, high in self._rewinds)


def _seq(step: Step) -> int:
    return step.seq


def _furthest_after(steps: list[Step]) -> tuple[list[int], list[int]]:
    """Rows, and the furthest position recorded in each row or later.

    There is one position more than rows: BEGINNING, for after the last row.
    """
    latest_first = accumulate((step.position for step in reversed(steps)), max, initial=BEGINNING)
    return [step.seq for step in steps], list(latest_first)[::-1]


def _at(furthest: tuple[list[int], list[int]], seq: int) -> int:
    seqs, positions = furthest
    return positions[bisect_right(seqs, seq)]


def _rewinds(saved: list[Step], persisted: list[Step]) -> list[tuple[int, int]]:
    """Messages that a recorded position had passed, and a later position that a leader accepted had not.

    Returns ranges of offsets (low, high), `high` excluded.
    """
    taken, high = {step.seq for step in saved}, BEGINNING
    found: dict[int, int] = {}
    for step in sorted([*saved, *persisted]):
        if step.seq in taken and step.position < high:
            found[high] = min(step.position, found.get(high, step.position))
        high = max(high, step.position)
    return [(low, reached) for reached, low in found.items()]


class Case(NamedTuple):
    """One duplicate under another lease than that of its acknowledgement, and the progress known then."""

    offset: int
    delivery: Delivery
    acknowledged: Acknowledgement
    lease: Lease
    known: Known


def _was_reported(case: Case) -> bool:
    """Whether the acknowledgement's chunk was wholly acknowledged before the decision."""
    return case.known.reported_after(case.acknowledged.seq, case.acknowledged.client) > case.offset


def _unreported(case: Case) -> bool:
    return _was_reported(case) and case.known.saved_after(case.acknowledged.seq) <= case.offset


def _unpersisted(case: Case) -> bool:
    return case.known.persisted <= case.offset < case.known.saved_elsewhere


def _declared_dead(case: Case) -> bool:
    return case.acknowledged.seq > case.lease.granted_seq


def _rewound(case: Case) -> bool:
    return case.known.passed_and_not_passed_after(case.offset)


def _chunk_repeated(case: Case) -> bool:
    return not _was_reported(case)


def _outdated(case: Case) -> bool:
    return case.known.saved_elsewhere > case.offset


CHUNK_REPEATED = "chunk_repeated"
"""The cause of a duplicate without a lease of its own: a session sent its own chunk again."""

GROUP_CAUSES: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    ("progress_unreported", _unreported),
    ("progress_unpersisted", _unpersisted),
    ("owner_declared_dead", _declared_dead),
    ("progress_rewound", _rewound),
    (CHUNK_REPEATED, _chunk_repeated),
    ("leader_outdated", _outdated),
)


def cause_of(case: Case) -> str:
    """The cause. Raises CountingError when none holds: an internal error."""
    for name, holds in GROUP_CAUSES:
        if holds(case):
            return name
    raise CountingError(
        "no cause of a duplicate holds",
        {
            "delivered": case.delivery.seq,
            "acknowledged": case.acknowledged.seq,
            "decided": case.lease.granted_seq,
        },
    )
