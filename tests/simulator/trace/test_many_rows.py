"""Whole batches of rows in one call.

The same trace, byte for byte, as row by row, wherever batches, blocks and replays meet.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.protocols.registry import CODE, VOCABULARY
from simulator.trace import trace as trace_module
from simulator.trace.registry import NULL
from simulator.trace.trace import BLOCK_ROWS, FOLD_ROWS, RowColumns, Trace, rows_by_column

TYPES = [
    CODE[name] for name in ("message.delivered", "message.acknowledged", "topic.loaded", "message.dispatched")
]
VALUES = st.one_of(st.integers(-1, 9), st.integers(-(1 << 40), 1 << 40), st.just(NULL))


@st.composite
def batches(draw):
    """Rows in pieces: each a list of rows for one call."""
    row = st.sampled_from(TYPES).flatmap(
        lambda code: st.tuples(st.just(code), *[VALUES for _ in VOCABULARY.row_columns[code][1:]])
    )
    return draw(st.lists(st.lists(row, max_size=9), max_size=6))


def as_columns(rows, first_seq):
    """What `append_rows` takes."""
    return len(rows), rows_by_column(enumerate(rows, first_seq))


@settings(max_examples=100, deadline=None)
@given(batches(), st.data())
def test_rows_appended_at_once_equal_rows_appended_one_by_one(pieces, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_module, "BLOCK_ROWS", data.draw(st.integers(1, 8)))
        one, many = Trace(VOCABULARY), Trace(VOCABULARY)
        for rows in pieces:
            for row in rows:
                one.append(row)
            if data.draw(st.booleans()):
                known = data.draw(
                    st.integers(0, min(3, len(rows)))
                )  # a replay finds some of them already written
                for row in rows[:known]:
                    many.append(row)
                many.append_rows(*as_columns(rows, len(many) - known), first=known)
            else:
                for row in rows:
                    many.append(row)
        assert len(one) == len(many) and one.digest() == many.digest()
        assert [one.row_tuple(seq) for seq in range(len(one))] == [
            many.row_tuple(seq) for seq in range(len(many))
        ]
        first, last = sorted(data.draw(st.integers(0, len(one))) for _ in range(2))
        wanted, columns = one.columns(first, last), many.columns(first, last)
        assert {name: values.tolist() for name, values in wanted.items()} == {
            name: values.tolist() for name, values in columns.items()
        }
        assert one.prefix(last).digest() == many.prefix(last).digest()
        assert one.seqs(first, last, control_only=True) == many.seqs(first, last, control_only=True)


def test_a_batch_larger_than_blocks():
    rows = np.zeros((2 * BLOCK_ROWS + 17, len(VOCABULARY.row_columns[CODE["topic.loaded"]])), dtype=np.int64)
    rows[:, 0], rows[:, 1] = CODE["topic.loaded"], np.arange(len(rows))
    one, many = Trace(VOCABULARY), Trace(VOCABULARY)
    for row in rows.tolist():
        one.append(tuple(row))
    many.append_rows(
        len(rows), [RowColumns(CODE["topic.loaded"], np.arange(len(rows)), (rows[:, 1], 0, 0, 0))]
    )
    assert one.digest() == many.digest() and len(many) == 2 * BLOCK_ROWS + 17


@pytest.mark.parametrize(
    "seq",
    [
        0,
        1,
        FOLD_ROWS,
        FOLD_ROWS + 1,
        40_000,
        BLOCK_ROWS - 1,
        BLOCK_ROWS,
        BLOCK_ROWS + FOLD_ROWS + 1,
        2 * BLOCK_ROWS + 5,
    ],
)
def test_a_branch_from_inside_a_sealed_block_is_sealed_at_the_same_row_as_the_trace(seq):
    """Rows that a branch takes from a block must not count as its own rows.

    Otherwise it would never be sealed, and its digest would differ.
    """
    codes = [CODE["topic.loaded"], CODE["topic.unloaded"]]
    rows = [
        (
            code := codes[number % 3 == 1],
            number,
            NULL,
            *([number % 5] * (len(VOCABULARY.row_columns[code]) - 3)),
        )
        for number in range(2 * BLOCK_ROWS + 17)
    ]
    whole = Trace(VOCABULARY)
    for row in rows:
        whole.append(row)
    slowly = whole.prefix(seq)
    for row in rows[seq:]:
        slowly.append(row)
    half = (seq + len(rows)) // 2
    at_once = whole.prefix(seq)
    at_once.append_rows(*as_columns(rows[seq:half], seq))
    at_once.append_rows(*as_columns(rows[half:], half))
    assert slowly.digest() == at_once.digest() == whole.digest() and len(slowly) == len(at_once) == len(whole)
    assert [branch.row_tuple(place) for branch in (slowly, at_once) for place in (0, seq)] == [
        rows[0],
        rows[seq],
    ] * 2


def test_rows_already_written_are_not_written_again():
    trace = Trace(VOCABULARY)
    rows = [(CODE["topic.loaded"], 1, NULL, 0, 1), (CODE["topic.loaded"], 2, NULL, 0, 1)]
    for row in rows:
        trace.append(row)
    before = trace.digest()
    trace.append_rows(*as_columns(rows, 0), first=2)
    trace.append_rows(*as_columns(rows, -5), first=7)
    assert (trace.digest(), len(trace)) == (before, 2)
