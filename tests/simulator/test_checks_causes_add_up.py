"""Causes add up to duplicates, causes of loss to losses."""

import pytest

from simulator.checks.checks import CLAIMS, Checks
from tests.simulator.written_trace import scenario

FAILOVER = {
    "subscription": "billing",
    "from": "a",
    "to": "b",
    "at_us": 7,
    "duplicates": 3,
    "by_cause": {"ack_hole": 1, "after_newest_snapshot": 2, "resent_copy": 0},
    "lost": 2,
    "lost_by_cause": {"removed": 2},
    "lost_recovered": 1,
    "stranded": 4,
    "stranded_unprocessed": 3,
    "stranded_returned": 4,
    "stranded_missing": 1,
}


def violations(**changes):
    return Checks(scenario()).check_counts([FAILOVER, FAILOVER | changes])


def test_figures_that_add_up_have_no_violations():
    assert violations() == []


def test_causes_that_do_not_add_up_are_a_violation():
    (broken,) = violations(duplicates=4)
    assert (broken.claim, broken.at_us) == (CLAIMS[-1], 7)
    assert broken.reason == (
        "failover 1 (billing, a -> b) has 4 duplicates, but by_cause holds ack_hole 1, "
        "after_newest_snapshot 2"
    )


def test_duplicates_without_any_cause_are_a_violation():
    (broken,) = violations(by_cause={"ack_hole": 0})
    assert broken.reason.endswith("by_cause holds none")


@pytest.mark.parametrize(
    "figure", ["lost_recovered", "stranded_unprocessed", "stranded_returned", "stranded_missing"]
)
@pytest.mark.parametrize("value", [5, -1])
def test_a_part_larger_than_its_whole_is_a_violation(figure, value):
    assert len(violations(**{figure: value})) == 1


def test_figures_that_are_not_counted_yet_are_not_checked():
    live = {name: FAILOVER[name] for name in ("subscription", "from", "to", "at_us", "duplicates", "lost")}
    assert Checks(scenario()).check_counts([live]) == []
