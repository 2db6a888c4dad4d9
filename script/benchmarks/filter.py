"""The filter of acknowledgement-state sync: the cost of looking up one entry in a peer's acked state.

The state has a million entries, every other one acknowledged. The alternatives are the same look-up in a peer
that has acknowledged all up to a position, and a sorted list of ranges with binary search.
"""

from __future__ import annotations

from bisect import bisect_right

from pyroaring import BitMap

from script.benchmarks.measure import REPEATS, Figure, median, seconds_of
from simulator.protocols.pulsar.ack_sync import AcknowledgedState

ENTRIES = 1_000_000
ASKED = 100_000
STRIDE = 7_919
"""A prime, so that consecutive look-ups are far apart in the log."""

SAME_COST = 1.5
"""Up to this ratio a state full of holes counts as no more expensive than one without.

The noise of a shared machine is about as large.
"""


def measure() -> list[Figure]:
    holes = AcknowledgedState({0: BitMap(range(0, ENTRIES, 2))}, {}, history=0, seq=0)
    smooth = AcknowledgedState({0: BitMap(range(ENTRIES))}, {}, history=0, seq=0)
    firsts = list(range(0, ENTRIES, 2))
    indices = [number * STRIDE % ENTRIES for number in range(ASKED)]
    assert all(
        (holes.remaining(0, index, 1) == 0) is (index % 2 == 0) is _in_ranges(firsts, index)
        for index in indices[:1000]
    )
    rounds = [
        (_asked_us(holes, indices), _asked_us(smooth, indices), _in_ranges_us(firsts, indices))
        for _ in range(REPEATS)
    ]
    holed, whole, ranges = (median(list(times)) for times in zip(*rounds))
    return [
        Figure(
            "filter",
            "per entry, a million entries with alternating holes",
            holed,
            "us",
            "a state without holes",
            whole,
            f"at most {SAME_COST} times",
            holed <= SAME_COST * whole,
        ),
        Figure(
            "filter",
            "per entry, a million entries with alternating holes",
            holed,
            "us",
            "list of ranges",
            ranges,
        ),
    ]


def _asked_us(state: AcknowledgedState, indices: list[int]) -> float:
    def ask_all() -> None:
        for index in indices:
            state.remaining(0, index, 1)

    return seconds_of(ask_all) * 1e6 / len(indices)


def _in_ranges(firsts: list[int], index: int) -> bool:
    return firsts[bisect_right(firsts, index) - 1] == index


def _in_ranges_us(firsts: list[int], indices: list[int]) -> float:
    def ask_all() -> None:
        for index in indices:
            _in_ranges(firsts, index)

    return seconds_of(ask_all) * 1e6 / len(indices)
