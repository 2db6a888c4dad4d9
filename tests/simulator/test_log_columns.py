"""Shared columns: worlds of one branch write to the same column, others copy a prefix."""

import numpy as np
import pytest

from simulator.log.ledgers import SharedColumn


def filled(*values):
    column = SharedColumn()
    for index, value in enumerate(values):
        column.append_at(index, value)
    return column


def test_a_replay_writes_the_same_values_again():
    column = filled(5, -6, 1 << 62)
    column.append_at(1, -6)
    assert len(column) == 3
    assert list(column.values) == [5, -6, 1 << 62]


def test_writing_a_different_value_is_an_internal_error():
    with pytest.raises(
        AssertionError, match="writes 7 at index 1 where this branch has 6; the run is not deterministic"
    ):
        filled(5, 6).append_at(1, 7)


def test_leaving_a_gap_is_an_internal_error():
    with pytest.raises(AssertionError, match="index 4 would leave a gap; write index 2 first"):
        filled(5, 6).append_at(4, 7)


def test_a_prefix_is_independent():
    column = filled(1, 2, 3)
    branch = column.prefix(2)
    branch.append_at(2, 9)
    column.append_at(3, 4)
    assert (list(column.values), list(branch.values)) == ([1, 2, 3, 4], [1, 2, 9])


def test_a_prefix_beyond_the_column_is_refused():
    with pytest.raises(AssertionError, match="prefix of 4 values was asked of a column of 3"):
        filled(1, 2, 3).prefix(4)


def test_a_view_is_read_only_and_lets_the_column_grow():
    column = filled(1, 2, 3)
    seen = column.view(1, 3)
    column.append_at(3, 4)  # an exported buffer would raise BufferError
    assert seen.dtype == np.int64 and seen.tolist() == [2, 3]
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 9
    assert column.view(3, 3).tolist() == []
