"""Pairs that differ because a snapshot was later in one run: found by the causes of duplicates."""

import pytest

from spark_reports.protocols.pulsar.fidelity.summary import explanation, later_run

AFTER = {"after_newest_snapshot": 2}


@pytest.mark.parametrize("cause", ["update_in_flight", "snapshot_incomplete", "snapshot_unused"])
def test_the_run_with_the_late_snapshot_is_found(cause):
    late = {**AFTER, cause: 10}
    assert later_run(late, AFTER) == ("real", cause)
    assert later_run(AFTER, late) == ("simulated", cause)
    assert explanation(late, AFTER).startswith("A snapshot was later in the real run: ")
    assert explanation(AFTER, late).endswith("In the real run it had been applied.")


def test_where_it_was_follows_from_the_cause_with_most_duplicates():
    late = {"update_in_flight": 9, "snapshot_incomplete": 1, "not_in_target_yet": 14}
    assert later_run(late, {"not_in_target_yet": 13, "snapshot_incomplete": 2}) == (
        "real",
        "update_in_flight",
    )


@pytest.mark.parametrize(
    ("real", "simulated"),
    [
        ({}, {}),
        (AFTER, AFTER),
        ({"update_in_flight": 1}, {}),  # a single message
        ({"after_newest_snapshot": 12}, AFTER),  # another cause
        ({"update_in_flight": 10}, {"ack_not_registered": 10}),  # the same number
        ({"not_replicated": 20, "update_in_flight": 5}, {}),  # most of it has another cause
    ],
)
def test_other_differences_are_not_explained(real, simulated):
    assert later_run(real, simulated) is None
    assert explanation(real, simulated) == ""
