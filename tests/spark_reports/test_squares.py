"""Squares of a report: what one of them is, said once and truly."""

from __future__ import annotations

from spark_reports.html.sections import SQUARES_MOST, squares, squares_say


def test_the_heading_and_each_row_agree_about_what_a_square_is():
    few, many = SQUARES_MOST, 3 * SQUARES_MOST - 1
    assert squares_say([0, few], "message") == "One square is one message."
    assert (
        squares_say([few, many], "message") == "One square is one message, or several where its row says so."
    )
    assert "One square" not in str(squares({"a": few}, ["a"])).replace("one square", "One square")
    assert "Here one square is 3 messages." in str(squares({"a": many}, ["a"]))
