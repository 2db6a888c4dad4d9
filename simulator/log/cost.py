"""Measures the cost of an ack on a cursor with a million holes and on one with none.

Rules: no run uses it; `cost_of_acknowledging` is for the benchmark script. The clock is an argument, because
nothing in `simulator` reads one. Figures are nanoseconds per ack and depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulator.log.cursors import Cursor


def cursor_with_every_other(entries: int, persist_every: int | None = None) -> Cursor:
    """A cursor on a log of `entries`, every other one acknowledged, persisted after every so many acks."""
    cursor = Cursor()
    for index in range(1, entries, 2):
        cursor.acknowledge(index)
        if persist_every is not None and index % (2 * persist_every) == 1:
            cursor.persist(index)
    return cursor


def _nanoseconds_each(
    clock_ns: Callable[[], int], cursor: Cursor, indices: Iterable[int], count: int
) -> float:
    acknowledge = cursor.acknowledge
    began_ns = clock_ns()
    for index in indices:
        acknowledge(index)
    return (clock_ns() - began_ns) / count


def cost_of_acknowledging(
    clock_ns: Callable[[], int], entries: int = 1_000_000, acks: int = 100_000
) -> dict[str, float]:
    """Nanoseconds per ack, with and without every other one of `entries` acknowledged.

    Measured are acks that open new holes, acks in order, and acks that close holes.
    """
    holed = cursor_with_every_other(entries)
    closing = cursor_with_every_other(entries)
    above = Cursor()  # the holes begin above the range acknowledged in order
    for index in range(acks + 1, acks + entries, 2):
        above.acknowledge(index)
    return {
        "new_hole_with_none": _nanoseconds_each(clock_ns, Cursor(), range(1, 2 * acks, 2), acks),
        "new_hole_with_many": _nanoseconds_each(
            clock_ns, holed, range(entries + 1, entries + 2 * acks, 2), acks
        ),
        "in_order_with_none": _nanoseconds_each(clock_ns, Cursor(), range(acks), acks),
        "in_order_with_many": _nanoseconds_each(clock_ns, above, range(acks), acks),
        "closing_a_hole_of_many": _nanoseconds_each(clock_ns, closing, range(0, 2 * acks, 2), acks),
    }
