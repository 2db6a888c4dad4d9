"""The words of a report whose run ended while a failover still delivered messages again."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest

from simulator import World
from simulator.experiments import batches, read_experiment_text, run_batch
from simulator.headless import simulate
from simulator.runs import Runs, finished
from simulator.what_if import answer, lower_bounds, outcome, variants
from spark_reports.html.sections import what_if
from spark_reports.protocols.emqx import downloads
from spark_reports.protocols.emqx.html import groups
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
        outcomes = finished(Runs().each([replace(one, until_us=until_us) for one in found], outcome))
        return answer(scenario, outcomes, done=True)

    early, late = answered(4_400_000), answered(12_000_000)
    real = early["variants"][0]["cases"][0]
    assert real["at_least"] == ["duplicates", "redeliveries"]
    assert f"at least {real['figures']['duplicates']}" in text_of(what_if({"what_if": early}, 0))
    assert [one["cases"][0]["at_least"] for one in late["variants"]] == [[], []]
    assert "at least" not in what_if({"what_if": late}, 0)


def group_until(until_us: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A run of `groups-node-crash` and its group as a report has them, of the engine's figures."""
    world = World.open("groups-node-crash")
    world.run(until_us)
    [(name, group)] = world.summary()["groups"].items()
    group |= {"name": name, "filter": "meters/#", "messages_twice": group["duplicates"], "causes": []}
    run = {"run": 0, "title": "A", "scenario": "a", "seed": 1, "until_us": world.now_us, "groups": [group]}
    return run, group


def group_words(run: dict[str, Any], group: dict[str, Any]) -> str:
    parts = [groups.headline(run, group, True), groups.six_figures(group), groups._overview([(run, group)])]
    return text_of("".join(parts))


def test_numbers_of_a_group_whose_run_ended_too_early_are_lower_bounds() -> None:
    found = group_words(*(early := group_until(30_000_000)))
    assert "meters got no message twice, still delivering at the end" in found
    assert "10 messages still to be delivered again" in found
    assert "; 1 was still delivering at the end" in found and "at least 0" in found
    assert downloads.result_lines(early[0])[0].endswith("0 lost, still delivering at the end")
    assert downloads.csv_lines(early[0])[0]["pending_repeats"] == 10


def test_numbers_of_a_group_whose_run_is_finished_are_final() -> None:
    found = group_words(*group_until(60_000_000))
    assert "meters got 21 messages twice" in found
    assert "at least" not in found and "still" not in found


def test_the_command_line_prints_a_group_and_says_that_its_numbers_are_lower_bounds() -> None:
    def printed(until: str) -> str:
        out, err = io.StringIO(), io.StringIO()
        assert simulate("groups-node-crash", out, err, until=until) == 0, err.getvalue()
        return out.getvalue()

    early, whole = printed("30s"), printed("60s")
    assert "at least 0 duplicates, 0 lost, still delivering at the end" in early
    assert "10 messages delivered before are still to be delivered again" in early
    assert "21 duplicates" in whole and "still" not in whole


def test_an_experiments_run_of_a_group_says_that_it_still_delivered() -> None:
    def delivering(until: str) -> int:
        text = f"scenario: groups-node-crash\nuntil: {until}\nseeds: 1\nphases: 1\n"
        experiment = read_experiment_text(text)
        [row] = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
        return row["delivering"]

    assert (delivering("30s"), delivering("60s")) == (1, 0)


def test_two_runs_of_a_group_on_one_clock_say_which_figures_are_lower_bounds() -> None:
    scenario = World.open("groups-node-crash").scenario
    for until_us, names in ((30_000_000, ["duplicates", "redeliveries"]), (60_000_000, [])):
        [found] = finished(Runs().each(variants(scenario, [], until_us=until_us)[:1], outcome))
        [case] = found["cases"]
        assert lower_bounds(scenario, case) == names
