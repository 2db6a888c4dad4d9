"""The words of a report whose run ended while a failover still delivered messages again."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulator import World
from simulator.what_if import Rerun, answer, variants
from spark_reports.html.what_if import what_if
from spark_reports.protocols.pulsar.html import page, sections
from tests.scenarios.test_headless import SLOW


def run_until(until_us: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The run and its failover as a report has them, of the engine's figures."""
    world = World.open(SLOW)
    world.run(until_us)
    (failover,) = world.summary()["failovers"]
    failover |= {"source_ended_us": failover["at_us"], "number": 0}
    run = {"title": "A", "scenario": "a", "until_us": world.now_us, "failovers": [failover]}
    return run, failover


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace(" ,", ",").replace(" .", ".")


def words(run: dict[str, Any], failover: dict[str, Any]) -> str:
    parts = [
        sections.headline(run, failover, alone=True),
        sections.figures(run, failover),
        sections.forecast({**failover, "forecast": {"duplicates": 94, "lost": 0, "stranded": 4}}),
        page._overview([(run, failover)]),
    ]
    return text_of("".join(parts))


def test_numbers_of_a_run_that_ended_too_early_are_lower_bounds() -> None:
    found = words(*run_until(4_400_000))
    assert "us-east delivered at least 56 messages twice, still delivering at the end" in found
    assert "The run ends too early, at 4.400 s: 39 messages handled before are still to be delivered" in found
    assert "until: 5s in the scenario gives final ones" in found
    assert "duplicates 94 at least 56" in found, "forecast and actual"
    assert "delivered at least 56 messages twice and lost none ; it was still delivering at the end" in found
    assert "backlog of the failover not acked within 500 ms" in found
    assert "never" not in found


def test_numbers_of_a_finished_run_are_final() -> None:
    found = words(*run_until(8_000_000))
    assert "us-east delivered 94 messages twice" in found
    assert "at least" not in found and "still" not in found and "too early" not in found


@pytest.mark.parametrize(
    ("pending", "said"),
    [(None, "not acked before the next failover"), (0, "not acked within 4.10 s")],
)
def test_a_backlog_that_was_not_acked_says_by_when(pending: int | None, said: str) -> None:
    run, failover = run_until(8_000_000)
    found = sections.figures(run, {**failover, "drained_us": None, "pending_repeats": pending})
    assert f"backlog of the failover {said}" in found


def test_what_did_not_happen_to_a_snapshot_by_the_end_is_not_called_never() -> None:
    run, failover = run_until(8_000_000)
    snapshot = {"of_region": 1, "asked_us": 10, "taken_us": 80_000, "completed_us": 80_010, "place": 5}
    snapshot |= {"used_us": None, "evicted_us": None, "applied_us": None, "ended": None}
    found = text_of(sections.snapshots(run, {**failover, "snapshots": [snapshot], "snapshot_totals": {}}))
    assert found.count("not within 8.000 s") == 3 and "never" not in found


def test_what_would_have_helped_says_which_figures_of_which_runs_are_lower_bounds() -> None:
    scenario = World.open(SLOW).scenario
    found = variants(scenario, [])[:2]

    def answered(until_us: int) -> dict[str, Any]:
        outcomes = []
        for variant in found:
            rerun = Rerun(variant, scenario.seed, until_us)
            while rerun.step(1_000_000):
                pass
            outcomes.append(rerun.outcome())
        return answer(scenario, outcomes, done=True)

    early, late = answered(4_400_000), answered(12_000_000)
    real = early["variants"][0]["cases"][0]
    assert real["at_least"] == ["duplicates", "redeliveries"]
    assert f"at least {real['figures']['duplicates']}" in text_of(what_if({"what_if": early}, 0))
    assert [one["cases"][0]["at_least"] for one in late["variants"]] == [[], []]
    assert "at least" not in what_if({"what_if": late}, 0)
