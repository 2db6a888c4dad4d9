"""The expect block: equal values, ranges, and paths that do not exist."""

from __future__ import annotations

import pytest

from simulator.scenarios import broken_expectations

SUMMARY = {
    "failovers": [{"duplicates": 7, "caught_up_us": None, "by_cause": {"ack_hole": 2}}],
    "subscriptions": {"s": {"us-east": {"individually_deleted": "[(1:5..1:6]]"}}},
    "violations": [],
    "commands": [{"ok": True}],
}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("failovers[0].duplicates", 7),
        ("failovers[0].duplicates", [7, 7]),
        ("failovers[0].duplicates", [1, 40]),
        ("failovers[0].caught_up_us", None),
        ("failovers[0].by_cause.ack_hole", 2),
        ("subscriptions.s.us-east.individually_deleted", "[(1:5..1:6]]"),
        ("violations", []),
        ("commands[0].ok", True),
    ],
)
def test_met_expectations_are_not_reported(path, wanted):
    assert broken_expectations({path: wanted}, SUMMARY) == []


@pytest.mark.parametrize(
    ("path", "wanted", "words"),
    [
        ("failovers[0].duplicates", 8, "saw 7"),
        ("failovers[0].duplicates", [8, 9], "saw 7"),
        ("failovers[0].caught_up_us", [0, 1], "saw None"),
        ("failovers[1].duplicates", 7, "no [1] in failovers"),
        ("failovers[0].dupes", 7, "no dupes in failovers[0]"),
        ("violation", [], "no violation in the summary"),
        ("commands[0].ok", 1, "saw True"),
        ("failovers[0].duplicates[0]", 7, "no [0]"),
    ],
)
def test_a_broken_expectation_is_reported_with_its_path(path, wanted, words):
    broken = broken_expectations({path: wanted}, SUMMARY)
    assert len(broken) == 1 and words in broken[0] and path in broken[0]
