"""Curves from bins: ordinals of positions, positions over time, the risk and the lag."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from spark_reports.protocols.pulsar import curves
from spark_reports.protocols.pulsar.transforms.protocol import ABSENT
from spark_reports.transforms import LEDGER_STEP


def appended(bin_: int, ledger: int, last_entry: int, cluster: str = "a") -> SimpleNamespace:
    return SimpleNamespace(cluster=cluster, topic="orders", bin=bin_, ledger=ledger, last_entry=last_entry)


def marked(bin_: int, ledger: int, entry: int, cluster: str = "a") -> SimpleNamespace:
    return SimpleNamespace(
        cluster=cluster, topic="orders", subscription="billing", bin=bin_, mark=ledger * LEDGER_STEP + entry
    )


def test_ordinals_continue_over_ledgers() -> None:
    starts = curves.ledger_starts([appended(0, 5, 9), appended(1, 8, 4)])[("a", "orders")]
    assert starts == {5: 0, 8: 10}
    ordinals = [
        curves.ordinal(ledger * LEDGER_STEP + entry, starts)
        for ledger, entry in ((5, -1), (5, 0), (5, 9), (6, -1), (8, -1), (8, 4))
    ]
    assert ordinals == [0, 1, 10, 10, 10, 15]


def test_positions_hold_their_value_until_the_next_and_never_pass_the_end() -> None:
    told = curves.positions(
        [appended(0, 5, 9), appended(2, 5, 19)],
        [marked(0, 5, -1), marked(1, 5, 7), marked(2, 9, -1)],
        1_000_000,
        4,
        {"orders"},
        "billing",
    )
    assert [value for _, value in told["a"]["end"]] == [10, 10, 20, 20]
    assert [value for _, value in told["a"]["mark"]] == [0, 8, 20, 20]
    assert told["a"]["end"][0][0] == 1.0


def test_a_deleted_cursor_has_no_position() -> None:
    gone = SimpleNamespace(cluster="a", topic="orders", subscription="billing", bin=1, mark=ABSENT)
    told = curves.positions([appended(0, 5, 9)], [marked(0, 5, 3), gone], 1, 3, {"orders"}, "billing")
    assert [value for _, value in told["a"]["mark"]] == [4, None, None]


def covered(stored: int, risky: int | None, until: int, messages: int, oldest_us: int) -> SimpleNamespace:
    return SimpleNamespace(
        stored_bin=stored, risky_bin=risky, covered_bin=until, messages=messages, oldest_us=oldest_us
    )


def test_risk_rises_with_acknowledgements_and_falls_when_the_cursor_passes() -> None:
    told = curves.risk_and_lag(
        [covered(0, 1, 3, 5, 100_000), covered(1, 2, 4, 2, 1_200_000), covered(1, None, 4, 9, 1_900_000)],
        1_000_000,
        4,
    )
    assert [value for _, value in told["risk"]] == [0, 5, 7, 2]
    assert [value for _, value in told["lag"]] == [0.9, 1.9, 2.9, 2.8]


@given(
    st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 8), st.integers(1, 99)), max_size=12
    )
)
def test_the_curve_is_the_sum_of_its_messages(cells: list[tuple[int, int, int, int]]) -> None:
    rows = [
        covered(stored, max(stored, acked), until, messages, stored)
        for stored, acked, until, messages in cells
    ]
    told = curves.risk_and_lag(rows, 1, 8)["risk"]
    for number in range(8):
        assert told[number][1] == sum(
            row.messages for row in rows if row.risky_bin <= number < row.covered_bin
        )
