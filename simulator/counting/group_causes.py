"""Why a message of a shared group came twice: the causes in their order of decision; the first that holds is the cause.

A duplicate is a delivery of a message that somebody had acknowledged before. Let G be the leader's decision to let the reader of this
delivery read from where it read, and A the latest acknowledgement before the delivery. `docs/durable-shared-subscriptions.md` has them in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simulator.counting.group_history import Acknowledgement, Delivery, Lease, StreamHistory
from simulator.counting.results import CountingError


class Case(NamedTuple):
    """One duplicate; `lease` is None when a session sent its own chunk again."""

    stream: StreamHistory
    offset: int
    delivery: Delivery
    lease: Lease | None
    acknowledged: Acknowledgement

    @property
    def decided_seq(self) -> int:
        return self.lease.granted_seq if self.lease is not None else -1


def _told(case: Case) -> int | None:
    """The row by which the acknowledgement's chunk was wholly acknowledged, before the decision."""
    after, before = case.acknowledged.seq, case.decided_seq
    return next((step.seq for step in case.stream.told if after < step.seq < before and step.who == case.acknowledged.client and step.position > case.offset), None)


def _saves(case: Case) -> list[tuple[int, int]]:
    """(seq, leader) of what leaders took, past this message, before the decision."""
    return [(step.seq, step.who) for step in case.stream.saved if step.seq < case.decided_seq and step.position > case.offset]


def _unreported(case: Case) -> bool:
    return _told(case) is not None and not any(seq > case.acknowledged.seq for seq, _leader in _saves(case))


def _unpersisted(case: Case) -> bool:
    persisted = any(step.seq < case.decided_seq and step.position > case.offset for step in case.stream.persisted)
    return not persisted and any(leader != case.lease.leader for _seq, leader in _saves(case)) if case.lease is not None else False


def _declared_dead(case: Case) -> bool:
    return case.lease is not None and case.acknowledged.seq > case.decided_seq


def _rewound(case: Case) -> bool:
    saves = _saves(case)
    known = [*(seq for seq, _leader in saves), *(step.seq for step in case.stream.persisted if step.seq < case.decided_seq and step.position > case.offset)]
    return bool(known) and any(min(known) < step.seq < case.decided_seq and step.position <= case.offset for step in case.stream.saved)


def _chunk_repeated(case: Case) -> bool:
    return case.lease is None or _told(case) is None


GROUP_CAUSES: tuple[tuple[str, Callable[[Case], bool]], ...] = (
    ("progress_unreported", _unreported),
    ("progress_unpersisted", _unpersisted),
    ("owner_declared_dead", _declared_dead),
    ("progress_rewound", _rewound),
    ("chunk_repeated", _chunk_repeated),
)


def cause_of(case: Case) -> str:
    """The cause. Raises CountingError when none holds: our bug."""
    for name, holds in GROUP_CAUSES:
        if holds(case):
            return name
    raise CountingError("no cause of a duplicate holds", {"delivered": case.delivery.seq, "acknowledged": case.acknowledged.seq, "decided": case.decided_seq})
