"""A cursor with a million entries, every other one acknowledged: its size, its text, its cost per ack.

The alternatives are a sorted list of ranges with binary search, and the same acks on a cursor where none was
acknowledged before.
"""

from __future__ import annotations

import sys
from bisect import bisect_right

from script.benchmarks.measure import REPEATS, Figure, median, seconds_of
from simulator.log.cursors import Cursor
from simulator.log.ledgers import TopicLog

ENTRIES = 1_000_000
LEDGER_ENTRIES = 50_000  # Pulsar's managedLedgerMaxEntriesPerLedger
SIZE_LIMIT_BYTES = 256 * 1024
ACKS_TIMED = 10_000
SAME_COST = 1.25
"""Up to this ratio two costs per ack count as the same; the noise of a shared machine is about as large."""


class RangeList:
    """The alternative: acknowledged ranges as two sorted lists, merged when they touch."""

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.lasts: list[int] = []

    def acknowledge(self, index: int) -> None:
        place = bisect_right(self.firsts, index)
        joins_left = place > 0 and self.lasts[place - 1] >= index - 1
        joins_right = place < len(self.firsts) and self.firsts[place] == index + 1
        if joins_left and joins_right:
            self.lasts[place - 1] = self.lasts.pop(place)
            self.firsts.pop(place)
        elif joins_left:
            self.lasts[place - 1] = max(self.lasts[place - 1], index)
        elif joins_right:
            self.firsts[place] = index
        else:
            self.firsts.insert(place, index)
            self.lasts.insert(place, index)

    def twin(self) -> RangeList:
        twin = RangeList()
        twin.firsts, twin.lasts = list(self.firsts), list(self.lasts)
        return twin

    def size_bytes(self) -> int:
        numbers = len(self.firsts) + len(self.lasts)
        return sys.getsizeof(self.firsts) + sys.getsizeof(self.lasts) + numbers * sys.getsizeof(ENTRIES)


def measure() -> list[Figure]:
    cursor, ranges = Cursor(), RangeList()
    for index in range(1, ENTRIES, 2):
        cursor.acknowledge(index)
        ranges.acknowledge(index)
    statistics = cursor.acknowledged().get_statistics()
    size = sum(value for name, value in statistics.items() if name.startswith("n_bytes"))
    text, correct = _text(cursor)
    # fills holes between two ranges, the most expensive ack
    middle = range(ENTRIES // 2, ENTRIES // 2 + 2 * ACKS_TIMED, 2)
    rounds = [
        (
            _per_ack_us(_twin(cursor), middle),
            _per_ack_us(Cursor(), middle),
            _per_ack_us(ranges.twin(), middle),
        )
        for _ in range(REPEATS)
    ]
    per_ack = [median(list(times)) for times in zip(*rounds)]
    return [
        Figure(
            "cursor",
            "size with a million alternating holes",
            size / 1024,
            "KiB",
            "list of ranges",
            ranges.size_bytes() / 1024,
            "at most 256 KiB",
            size <= SIZE_LIMIT_BYTES,
        ),
        Figure(
            "cursor",
            "individuallyDeletedMessages printed",
            len(text),
            "characters",
            target="every range as Pulsar prints it",
            met=correct,
        ),
        Figure(
            "cursor",
            "per ack among a million holes",
            per_ack[0],
            "us",
            "the same acks, none before",
            per_ack[1],
            f"at most {SAME_COST} times",
            per_ack[0] <= SAME_COST * per_ack[1],
        ),
        Figure("cursor", "per ack among a million holes", per_ack[0], "us", "list of ranges", per_ack[2]),
    ]


def _twin(cursor: Cursor) -> Cursor:
    twin = Cursor()
    twin.restore(cursor.capture())
    return twin


def _per_ack_us(cursor: Cursor | RangeList, indices: range) -> float:
    def acknowledge_all() -> None:
        for index in indices:
            cursor.acknowledge(index)

    return seconds_of(acknowledge_all) * 1e6 / len(indices)


def _text(cursor: Cursor) -> tuple[str, bool]:
    """The printed cursor, and whether it has exactly the ranges that were acknowledged."""
    log = TopicLog()
    for index in range(ENTRIES):
        if index % LEDGER_ENTRIES == 0:
            log.open_ledger(index // LEDGER_ENTRIES + 1, 0)
        log.append(index, 100, 0)
    text = cursor.text(log)
    pairs = ((index // LEDGER_ENTRIES + 1, index % LEDGER_ENTRIES) for index in range(1, ENTRIES, 2))
    return text, text == "[" + ",".join(
        f"({ledger}:{entry - 1}..{ledger}:{entry}]" for ledger, entry in pairs
    ) + "]"
