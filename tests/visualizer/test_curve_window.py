"""The risk curve between two instants: bounded, with its peaks, the same however the lab got there."""

from __future__ import annotations

from typing import Any

from tests.visualizer.reading import unpacked
from tests.visualizer.test_same_for_everybody import Lab
from visualizer.questions.curve import POINTS_SENT, curve, thinned


def test_thinning_a_curve_keeps_every_peak_and_trough():
    def point(at_us: int, duplicates: int) -> Any:
        return at_us, {"billing": {"to": {"b": {"duplicates": duplicates}}}}

    points = [
        point(at_us, 1_000 if at_us == 4_321 else 0 if at_us == 1_234 else 5 + at_us % 3)
        for at_us in range(10_000)
    ]
    found = thinned(points, POINTS_SENT)
    assert POINTS_SENT // 2 <= len(found) <= POINTS_SENT
    assert points[4_321] in found and points[1_234] in found
    assert [at_us for at_us, _ in found] == sorted({at_us for at_us, _ in found})
    assert thinned(points[:POINTS_SENT], POINTS_SENT) == points[:POINTS_SENT]


def test_the_curve_depends_only_on_the_run_up_to_the_instant_shown():
    played, sought = Lab("region-down"), Lab("region-down")
    played.play_to(6_000_000, 10.0)
    sought.seek(7_000_000)
    sought.seek(6_000_000)
    answers = [lab.do(curve(lab.session, 2_000_000, 40_000_000)) for lab in (played, sought)]
    assert answers[0] == answers[1]
    instants = unpacked(answers[0]["points"]["at_us"])
    assert (
        len(instants) == answers[0]["count"] > 30 and instants[0] >= 2_000_000 and instants[-1] <= 6_000_000
    )
    names = [(subscription, peer) for subscription, peer, _ in answers[0]["points"]["curves"]]
    assert names == [("billing", "eu-central"), ("billing", "us-east")]
