"""What a subscription's cursor in one cluster covered at any instant, from its rows alone.

Rules: a copy is covered when it is at or below the mark-delete, or was acknowledged individually and not lost
since. A reset clears all individual acks. A recovery falls back to what the last `cursor.persisted` row
before it held (the least positions, when the broker persisted fewer than there were). A deleted subscription
covers nothing. A row counts at its own seq.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.verdicts.logs import Log
from simulator.protocols.pulsar.verdicts.lookup import LatestBefore, first_reaching
from simulator.protocols.pulsar.verdicts.read import NEVER, History, Table
from simulator.trace.registry import NULL

ABSENT = NULL
"""The mark-delete of a cursor that does not exist: below every position."""


class Cursor:
    """One subscription, one cluster, one topic partition. `step_*` are the rows that set its mark-delete."""

    def __init__(self, history: History, log: Log, subscription: int, cluster: int, topic: int) -> None:
        where = {"cluster": cluster, "topic": topic, "subscription": subscription}
        self._rows = {
            name: history.table(name, **where)
            for name in (
                "subscription.created",
                "subscription.deleted",
                "cursor.moved",
                "cursor.recovered",
                "cursor.persisted",
                "update.applied",
            )
        }
        self.created = self._rows["subscription.created"]
        self._reset = history.number("reset")
        self._lay_steps()
        self._register(history, log, where)

    # --- the mark-delete

    def _lay_steps(self) -> None:
        rows = self._rows
        parts = [
            (self.created, self.created.position),
            (rows["cursor.moved"], rows["cursor.moved"].to_position),
            (rows["cursor.recovered"], rows["cursor.recovered"].position),
            (rows["update.applied"], rows["update.applied"].to_position),
            (
                rows["subscription.deleted"],
                np.full(len(rows["subscription.deleted"]), ABSENT, dtype=np.int64),
            ),
        ]
        seqs = np.concatenate([table.seq for table, _ in parts])
        values = np.concatenate([value for _, value in parts])
        order = np.argsort(seqs)
        self.step_seq, self.step_mark = seqs[order], values[order]
        # An Update never moves a mark-delete back. If individual acks adjoin its position, a cursor.moved row
        # follows.
        for place in np.flatnonzero(np.isin(self.step_seq, rows["update.applied"].seq)):
            if place:
                self.step_mark[place] = max(self.step_mark[place], self.step_mark[place - 1])
        self._highest = np.maximum.accumulate(self.step_mark)
        self._drops = np.flatnonzero(np.diff(self.step_mark) < 0) + 1

    def _step(self, seq: np.ndarray | int) -> np.ndarray:
        return np.searchsorted(self.step_seq, seq, side="right") - 1

    def mark_at(self, seq: np.ndarray | int) -> np.ndarray:
        """The mark-delete at each seq, ABSENT while there is no cursor."""
        if not len(self.step_seq):
            return np.full(np.shape(seq), ABSENT, dtype=np.int64)
        step = self._step(seq)
        return np.where(step >= 0, self.step_mark[step], ABSENT)

    def exists_at(self, seq: int) -> bool:
        """Whether the subscription existed."""
        return bool(self.mark_at(seq) != ABSENT)

    def step_row(self, seq: int) -> int:
        """The seq of the row that set the mark-delete in force at `seq`; NULL when none had."""
        step = int(self._step(seq))
        return int(self.step_seq[step]) if step >= 0 else NULL

    # --- individual acks

    def _register(self, history: History, log: Log, where: dict[str, int]) -> None:
        registered = history.table("message.registered", **where)
        copy = log.copy_of(registered.message, registered.position)
        known = copy >= 0
        self._registered_copy, self._registered_seq = copy[known], registered.seq[known]
        self._until = np.full(int(known.sum()), NEVER, dtype=np.int64)
        filtered = history.table("marker.filtered", **where)
        for seq, event, row in self._lost_acks():
            kept = (
                self._survivors(log, filtered, seq, row)
                if event == "cursor.recovered"
                else np.zeros(len(self._until), dtype=bool)
            )
            living = (self._registered_seq < seq) & (self._until > seq)
            self._until[living & ~kept] = seq
            self._revive(kept & ~living, seq)
        self._index = LatestBefore(self._registered_copy, self._registered_seq)
        copies, until = self._registered_copy[self._index.order], self._until[self._index.order]
        rank = np.cumsum(np.concatenate(([0], np.diff(copies) != 0)))[: len(copies)]
        # The furthest `until` of the registrations so far of the same copy: a later one may be forgotten
        # sooner.
        places = np.searchsorted(distinct := np.unique(until), until) + rank * (len(distinct) + 1)
        self._valid_until = (
            distinct[np.maximum.accumulate(places) - rank * (len(distinct) + 1)] if len(until) else until
        )

    def _lost_acks(self) -> list[tuple[int, str, dict[str, int]]]:
        """Rows after which individual acks are gone, in order."""
        moved = self._rows["cursor.moved"]
        events = [
            ("cursor.moved", moved.take(moved.reason == self._reset)),
            ("cursor.recovered", self._rows["cursor.recovered"]),
            ("subscription.deleted", self._rows["subscription.deleted"]),
        ]
        return sorted((row["seq"], event, row) for event, table in events for row in table.dicts())

    @property
    def forgetting_seqs(self) -> np.ndarray:
        """Rows after which individual acks may be gone, or the mark-delete lower, in order."""
        return np.array([seq for seq, _, _ in self._lost_acks()], dtype=np.int64)

    @property
    def backward_seqs(self) -> np.ndarray:
        """Rows with which the mark-delete went back."""
        return self.step_seq[self._drops]

    @property
    def recreated(self) -> np.ndarray:
        """Rows that opened the cursor, or with which an operator moved it."""
        moved = self._rows["cursor.moved"]
        return np.sort(np.concatenate((self.created.seq, moved.seq[moved.reason == self._reset])))

    def _revive(self, kept: np.ndarray, seq: int) -> None:
        """Acks that a reset had cleared, and that a crash before the cursor was written restored."""
        self._registered_copy = np.concatenate((self._registered_copy, self._registered_copy[kept]))
        self._registered_seq = np.concatenate((self._registered_seq, np.full(int(kept.sum()), seq)))
        self._until = np.concatenate((self._until, np.full(int(kept.sum()), NEVER)))

    def _survivors(self, log: Log, filtered: Table, recovered_seq: int, row: dict[str, int]) -> np.ndarray:
        """Mask of the registrations that a recovery restores."""
        persisted, opened = (self._rows[name].seq for name in ("cursor.persisted", "subscription.created"))
        place, opening = (int(np.searchsorted(seqs, recovered_seq)) - 1 for seqs in (persisted, opened))
        if place < 0 or (opening >= 0 and opened[opening] > persisted[place]):
            return np.zeros(len(self._until), dtype=bool)
        held_seq = int(persisted[place])
        position = log.position[self._registered_copy]
        kept = (self._registered_seq <= held_seq) & (self._until > held_seq) & (position > row["position"])
        markers = filtered.position[(filtered.seq <= held_seq) & (filtered.position > row["position"])]
        entries = np.unique(np.concatenate((position[kept], markers)))
        if len(entries) > row["count"]:
            kept &= position <= (entries[row["count"] - 1] if row["count"] > 0 else ABSENT)
        return kept

    def registered(self, copy: np.ndarray, seq: np.ndarray | int) -> np.ndarray:
        """Whether each copy's individual ack was held at each seq."""
        places = self._index.place(copy, np.asarray(seq) + 1)
        return (
            (places >= 0) & (self._valid_until[places] > seq)
            if len(self._valid_until)
            else np.zeros(len(copy), dtype=bool)
        )

    def last_registration(self, copy: np.ndarray, seq: np.ndarray | int) -> tuple[np.ndarray, np.ndarray]:
        """The latest registration of each copy at or before `seq`, and the row that cleared it.

        The row is NEVER when none did; NULL, NULL without a registration.
        """
        rows = self._index.row(copy, np.asarray(seq) + 1)
        if not len(self._until):
            nothing = np.full(len(copy), NULL, dtype=np.int64)
            return nothing, nothing
        return np.where(rows >= 0, self._registered_seq[rows], NULL), np.where(
            rows >= 0, self._until[rows], NULL
        )

    # --- both together

    def covers(self, copy: np.ndarray, position: np.ndarray, seq: np.ndarray | int) -> np.ndarray:
        """Whether the cursor covered each copy at each seq."""
        mark = self.mark_at(seq)
        return (mark != ABSENT) & ((mark >= position) | self.registered(copy, seq))

    def went_back(
        self, copy: np.ndarray, position: np.ndarray, seq: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The row that last uncovered each copy by `seq`, and the row that had covered it.

        Both are NULL for a copy that was never uncovered.
        """
        uncovered = np.full(len(copy), NULL, dtype=np.int64)
        covered = np.full(len(copy), NULL, dtype=np.int64)
        for drop in self._drops:
            fallen = (
                (self.step_seq[drop] <= seq)
                & (self.step_mark[drop] < position)
                & (position <= self.step_mark[drop - 1])
            )
            uncovered[fallen], covered[fallen] = self.step_seq[drop], self.step_seq[drop - 1]
        registered, forgotten = self.last_registration(copy, seq)
        later = (registered != NULL) & (forgotten <= seq) & (forgotten > uncovered)
        return np.where(later, forgotten, uncovered), np.where(later, registered, covered)

    def covered_since(self, position: np.ndarray, seq: int) -> np.ndarray:
        """The row since which the mark-delete was at or above each position without a break until `seq`.

        NEVER when it is not.
        """
        last = int(self._step(seq))
        if last < 0:
            return np.full(len(position), NEVER, dtype=np.int64)
        lowest = np.minimum.accumulate(self.step_mark[last::-1])[::-1]
        places = np.searchsorted(lowest, position, side="left")
        return np.where(places <= last, self.step_seq[np.minimum(places, last)], NEVER)

    def first_passed(self, position: np.ndarray, seq: np.ndarray) -> np.ndarray:
        """The first row at or after each seq with which the mark-delete was at or above each position.

        NEVER when none did.
        """
        places = first_reaching(self.step_mark, position)
        return (
            np.where(places >= 0, np.maximum(self.step_seq[np.maximum(places, 0)], seq), NEVER)
            if len(self.step_seq)
            else np.full(len(position), NEVER)
        )

    def passed_between(self, position: np.ndarray, start: int, end: int) -> np.ndarray:
        """The first row after `start` and before `end` with which the mark-delete reached each position.

        NEVER for none. The mark-delete must not go back between the two.
        """
        first, last = (
            np.searchsorted(self.step_seq, start, side="right"),
            np.searchsorted(self.step_seq, end, side="left"),
        )
        seqs = np.append(self.step_seq[first:last], NEVER)
        return seqs[np.searchsorted(self.step_mark[first:last], position, side="left")]

    def registered_between(self, copy: np.ndarray, start: int, end: int) -> np.ndarray:
        """The first row after `start` and before `end` that acknowledged each copy individually.

        NEVER for none.
        """
        between = (self._registered_seq > start) & (self._registered_seq < end)
        found = np.full(int(copy.max(initial=-1)) + 1, NEVER, dtype=np.int64)
        known = between & (self._registered_copy < len(found))
        np.minimum.at(found, self._registered_copy[known], self._registered_seq[known])
        return found[copy]
