"""The keys of a group as bitmaps or sorted numbers: which of both, and the same counts either way."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from spark_reports.audit.numbered.keys import KeySet


def added(*parts: list[int]) -> KeySet:
    """The set of keys that were added in these parts."""
    found = KeySet()
    for part in parts:
        found.add(np.array(part, np.uint64))
    return found


@pytest.mark.parametrize(
    ("keys", "distance", "sparse"),
    [
        (64, 64 * 64, False),
        (64, 64 * 64 + 1, True),
        (63, 1 << 40, False),
        (65, 1 << 40, True),
        (200, 200 * 64, False),
        (200, 200 * 64 + 1, True),
        (200, 199, False),
    ],
)
def test_a_part_is_sparse_when_its_many_keys_are_far_apart(keys: int, distance: int, sparse: bool) -> None:
    for base in (0, 7, 5_000_000):
        own = added([*range(base, base + keys - 1), base + distance])
        assert own.sparse is sparse and own.lines == keys
        different, again = own.counted()
        assert (different, again.tolist()) == (keys, [])


DENSE = [*range(100), *range(50, 60)]
SPARSE = [*range(0, 100_000, 1000), 5, 5, 5, 7000]
FEW = [3, 3, 1 << 50]


@pytest.mark.parametrize("parts", list(permutations((DENSE, SPARSE, FEW, DENSE[90:]))))
def test_counts_do_not_depend_on_the_order_of_dense_and_sparse_parts(parts: tuple[list[int], ...]) -> None:
    counted = Counter(key for part in parts for key in part)
    own = added(*parts)
    assert own.sparse and own.lines == counted.total()
    different, again = own.counted()
    repeated = sorted(key for key, count in counted.items() if count > 1)
    assert (different, again.tolist()) == (len(counted), repeated)
    assert own.numbers().tolist() == sorted([*counted, *repeated])
    own.add(np.array(FEW, np.uint64))  # after it was counted
    assert own.counted()[1].tolist() == sorted({*repeated, *FEW})


def test_parts_of_other_tasks_are_joined_with_their_lines() -> None:
    one, other = added(DENSE), added([5, 200, 200])
    one.join(other.lines, other.once, other.again)
    assert one.lines == len(DENSE) + 3 and not one.sparse
    different, again = one.counted()
    assert (different, again.tolist()) == (101, [5, *range(50, 60), 200])
    one.hold(4, added(SPARSE).numbers())
    assert one.lines == len(DENSE) + 7 and one.sparse
    assert one.counted()[0] == len({*DENSE, 200, *SPARSE})


def test_no_keys_are_a_dense_part() -> None:
    own = added([])
    assert not own.sparse and own.lines == 0 and own.counted()[0] == 0 and own.numbers().tolist() == []
