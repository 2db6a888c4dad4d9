"""Rows of a recorded run before they are numbered: causes as references, instants in nanoseconds.

Rules: a row is never before its cause, its evidence, or a row that it comes `after`. A polled row was seen
late, so its instant goes back to that of the first row that needs it. Any other row that is before one it
needs goes forward to that one's instant (two processes stamped them), and `moved` counts these. The order is
by instant. At one instant a row comes after those that it needs, and others keep the order in which they were
added. Rows that would need each other are inferred wrongly: the cause of a polled one is dropped, and `cut`
counts that. Instants before the run's instant 0 become 0, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from simulator.protocols.registry import vocabulary
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

US_NS = 1_000


@dataclass(slots=True, eq=False)
class Row:
    """One row to be: `cause`, `evidence` and `after` are other rows."""

    type: str
    t: int
    cause: Row | None
    fields: dict[str, Any]
    polled: bool = False
    evidence: Row | None = None
    after: Row | None = None
    number: int = 0
    seq: int = NULL

    @property
    def needs(self) -> list[Row]:
        """The rows that come before this one."""
        return [row for row in (self.cause, self.evidence, self.after) if row is not None]


@dataclass(slots=True)
class Draft:
    """The rows of a run in the order in which they were found."""

    zero_ns: int
    rows: list[Row] = field(default_factory=list)
    moved: int = 0
    moved_most_ns: int = 0
    cut: int = 0

    def add(
        self,
        type_: str,
        t: int,
        cause: Row | None = None,
        *,
        polled: bool = False,
        evidence: Row | None = None,
        after: Row | None = None,
        **fields: Any,
    ) -> Row:
        """Add a row; returns it, to be named as a cause."""
        row = Row(type_, t, cause, fields, polled, evidence, after, len(self.rows))
        self.rows.append(row)
        return row

    def trace(self) -> Trace:
        """The trace with these rows, numbered in order."""
        order = self._needed_first()
        effects = self._effects()
        for row in reversed(order):
            if row.polled and effects[row.number]:
                row.t = min(row.t, min(effect.t for effect in effects[row.number]))
        for row in order:
            for before in row.needs:
                if before.t > row.t:
                    self.moved += 1
                    self.moved_most_ns = max(self.moved_most_ns, before.t - row.t)
                    row.t = before.t
        trace = Trace(vocabulary())
        for row in self._in_order(effects):
            row.seq = trace.append(self._values(trace, row))
        return trace

    def _effects(self) -> list[list[Row]]:
        effects: list[list[Row]] = [[] for _ in self.rows]
        for row in self.rows:
            for before in row.needs:
                effects[before.number].append(row)
        return effects

    def _needed_first(self) -> list[Row]:
        """The rows so that each comes after those that it needs; dropped causes let it end."""
        while True:
            waits, effects = [len(row.needs) for row in self.rows], self._effects()
            ready = [row for row in self.rows if not waits[row.number]]
            for row in ready:
                for effect in effects[row.number]:
                    waits[effect.number] -= 1
                    if not waits[effect.number]:
                        ready.append(effect)
            if len(ready) == len(self.rows):
                return ready
            circle = self._circle([row for row in self.rows if waits[row.number]], waits)
            chosen = next((row for row in circle if row.polled and row.cause is not None), circle[0])
            chosen.cause = chosen.after = None
            self.cut += 1

    def _circle(self, stuck: list[Row], waits: list[int]) -> list[Row]:
        """Rows that need each other, one after another."""
        seen: dict[int, int] = {}
        path: list[Row] = []
        row = stuck[0]
        while row.number not in seen:
            seen[row.number] = len(path)
            path.append(row)
            row = next(before for before in row.needs if waits[before.number])
        return path[seen[row.number] :]

    def _in_order(self, effects: list[list[Row]]) -> list[Row]:
        waits = [len(row.needs) for row in self.rows]
        heap = [(row.t, row.number) for row in self.rows if not waits[row.number]]
        heap.sort()
        order = []
        while heap:
            row = self.rows[heappop(heap)[1]]
            order.append(row)
            for effect in effects[row.number]:
                waits[effect.number] -= 1
                if not waits[effect.number]:
                    heappush(heap, (effect.t, effect.number))
        return order

    def _values(self, trace: Trace, row: Row) -> tuple[int, ...]:
        event = trace.vocabulary.by_name[row.type]
        unknown = [name for name in row.fields if name not in event.fields]
        if unknown:
            raise AssertionError(f"{row.type} has no column {', '.join(unknown)}")
        given = dict(row.fields)
        if row.evidence is not None and "evidence_seq" in event.fields:
            given["evidence_seq"] = row.evidence.seq
        values = [given.get(name) for name in event.fields]
        return (
            event.code,
            max(0, (row.t - self.zero_ns) // US_NS),
            NULL if row.cause is None else row.cause.seq,
            *(
                NULL if value is None else trace.intern(value) if isinstance(value, str) else int(value)
                for value in values
            ),
        )
