"""Failovers of a recorded run up to an instant.

Rules: the counts of the whole recording say which deliveries are duplicates (docs/counting.md). An
instant shows those that have happened by then. `lost` counts messages from the row on at which the target
could not deliver them any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyroaring import BitMap

from simulator.log.ranges import runs
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.counting.results import CountedFailover
    from simulator.protocols.pulsar.recorded.state import RecordedState

MARKED_RANGES_MAX = 200
"""Newest ranges of duplicates that one frame has of a failover."""


class RecordedWindow:
    """What a failover has caused so far."""

    forecast: dict[str, int] = {}

    def __init__(self, state: RecordedState, counted: CountedFailover) -> None:
        self._state, self._counted = state, counted

    def _before(self, listed: Any, role: str) -> int:
        """How many entries of a list have this row of evidence by now."""
        seqs = np.asarray(listed.evidence.get(role, ())) if len(listed) else np.empty(0, dtype=np.int64)
        return int(((seqs != NULL) & (seqs < self._state.seq)).sum())

    def _delivered(self, listed: Any) -> np.ndarray:
        """The rows of a list's deliveries so far."""
        seqs = np.asarray(listed.columns["delivered_seq"]) if len(listed) else np.empty(0, dtype=np.int64)
        return seqs[seqs < self._state.seq]

    def figures(self) -> dict[str, Any]:
        """The figures for a page."""
        counted, now_us = self._counted, self._state.now_us

        def by_now(at_us: int | None) -> int | None:
            return at_us if at_us is not None and at_us <= now_us else None

        first_us = by_now(counted.first_delivery_us)
        return {
            "duplicates": len(self._delivered(counted.duplicates_list)),
            "redeliveries": len(self._delivered(counted.redelivered_list)),
            "extra_deliveries": self._extra_deliveries(),
            "stranded": counted.stranded,
            "stranded_unprocessed": counted.stranded_unprocessed,
            "stranded_returned": self._before(counted.stranded_list, "returned"),
            "stranded_missing": self._missing(),
            "lost": self._before(counted.lost_list, "lost"),
            "first_delivery_us": first_us,
            "outage_us": None if first_us is None else counted.outage_us,
            "caught_up_us": by_now(counted.caught_up_us),
            "drained_us": by_now(counted.drained_us),
            "pending_repeats": counted.pending_repeats if self._state.seq >= counted.closed_seq else None,
            "forecast": {},
        }

    def _missing(self) -> int:
        """The unread messages that were not replicated and have not reached the target by now."""
        listed: Any = self._counted.stranded_list
        if not len(listed):
            return 0
        returned = np.asarray(listed.evidence["returned"])
        arrived = (returned != NULL) & (returned < self._state.seq)
        return int((np.asarray(listed.columns["unprocessed"]) & ~arrived).sum())

    def _extra_deliveries(self) -> int:
        """Deliveries in the window of messages that it had delivered already."""
        counted, trace = self._counted, self._state.recording.trace
        last = min(self._state.seq, counted.closed_seq)
        if not counted.extra_deliveries or last <= counted.opened_seq:
            return 0
        wanted = {name: trace.number(value) for name, value in self._place().items()}
        columns = trace.columns(
            counted.opened_seq, last, ("type", "cluster", "subscription", "producer", "sequence_id")
        )
        chosen = columns["type"] == trace.vocabulary.code["message.delivered"]
        for name, number in wanted.items():
            chosen &= columns[name] == number
        messages = np.stack((columns["producer"][chosen], columns["sequence_id"][chosen]))
        return int(chosen.sum()) - np.unique(messages, axis=1).shape[1]

    def _place(self) -> dict[str, str]:
        return {"cluster": self._counted.target, "subscription": self._counted.subscription}

    def entries(self) -> dict[str, dict[str, Any]]:
        """By topic of the target the cursor at the failover, and the entries with duplicates so far."""
        state, counted = self._state, self._counted
        marked: dict[str, BitMap] = {}
        for seq in self._delivered(counted.duplicates_list).tolist():
            row = state.recording.row(seq)
            log = state.clusters[counted.target].topics[row["topic"]].log
            marked.setdefault(row["topic"], BitMap()).add(log.index_of(row["ledger"], row["entry"]))
        cursors = state.cursors_at_failovers.get(counted.opened_seq, {})
        nothing = {"mark_delete_index": -1, "ranges": []}
        return {
            name: {
                **cursors.get(name, nothing),
                "duplicates": [list(pair) for pair in runs(marked.get(name, BitMap()))[-MARKED_RANGES_MAX:]],
            }
            for name in sorted({**cursors, **marked})
        }


class RecordedFailover:
    """A failover that has begun; the names are those of the engine's failovers."""

    def __init__(self, state: RecordedState, counted: CountedFailover) -> None:
        self.subscription, self.source, self.target = counted.subscription, counted.source, counted.target
        self.mode, self.at_us, self.seq = counted.mode, counted.at_us, counted.opened_seq
        self.window = RecordedWindow(state, counted)


def failovers_of(state: RecordedState) -> list[RecordedFailover]:
    """The failovers that have begun by now, in order."""
    return [
        RecordedFailover(state, counted)
        for counted in state.recording.failovers
        if counted.opened_seq < state.seq
    ]
