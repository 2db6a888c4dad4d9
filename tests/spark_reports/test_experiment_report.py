"""The report of an experiment: its answer in cases derived by hand, its page, its JSON, and its files.

Figures are made up (`experiment_rows.py`), except where a run of the page is run again.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from simulator import World, load_scenario_text
from simulator.experiments import Experiment, batches, read_experiment_text, run_batch
from spark_reports.experiments.report.page import document_of, write_report
from spark_reports.experiments.report.results import results_of
from spark_reports.experiments.store import columns_of
from tests.oracle import binomial_sums as oracle
from tests.simulator.test_closed_form import TEXT
from tests.spark_reports.experiment_rows import (
    CACHE,
    PERIOD,
    Value,
    experiment_of,
    failed,
    rows_of,
    table_of,
    table_of_rows,
)

WANTED = "wanted: {measure: duplicates, at_most: 50, share: 99%}\n"
PERIODS = f"grid:\n  {PERIOD}: [500, 1000, 4000]\ncheaper:\n  {PERIOD}: larger\n"
NAME = PERIOD.removeprefix("settings.")


def report_of(out: Path, text: str, duplicates: Value, **more: Value) -> dict[str, Any]:
    experiment = experiment_of(text)
    return write_report(experiment, table_of(experiment, duplicates, **more), out)


def answer(found: dict[str, Any]) -> tuple[str, str]:
    return found["answer"]["verdict"], found["answer"]["sentence"]


def page_of(out: Path) -> str:
    """The page without its scripts and styles."""
    return re.sub(r"<(script|style).*?</\1>", "", (out / "sweep.html").read_text(), flags=re.DOTALL)


def test_299_runs_within_show_99_per_cent_and_298_do_not(tmp_path):
    # 0.99 to the power of 299 is 0.0495, of 298 it is 0.05003.
    found = report_of(tmp_path, "seeds: 299\nphases: {drawn: 1}\n" + WANTED, lambda _, seed, phase: seed % 51)
    assert answer(found) == (
        "meets",
        "The scenario as it is written keeps duplicates at or below 50 in 99 % of failovers "
        "(95 % confidence, 299 runs).",
    )
    found = report_of(tmp_path, "seeds: 298\nphases: {drawn: 1}\n" + WANTED, lambda _, seed, phase: seed % 51)
    assert found["answer"]["verdict"] == "undecided"
    assert "it did in all of 298 runs and needs about 299 runs" in found["answer"]["sentence"]
    assert found["settings"][0]["bound"]["needed"] == 299


def test_one_run_outside_needs_473_runs(tmp_path):
    # With one outside: 0.99**473 + 473 * 0.01 * 0.99**472 = 0.0499, for 472 it is 0.0504.
    text = "seeds: {}\nphases: {{drawn: 1}}\n" + WANTED.replace("{", "{{").replace("}", "}}")
    for seeds, verdict in ((473, "meets"), (472, "undecided")):
        found = report_of(tmp_path, text.format(seeds), lambda _, seed, phase: 51 if seed == 7 else 50)
        assert found["settings"][0]["bound"]["within"] == seeds - 1
        assert found["answer"]["verdict"] == verdict


def test_the_cheapest_setting_that_meets_the_bound_is_the_answer(tmp_path):
    by_period = {"500": 20, "1000": 40, "4000": 100}
    text = "seeds: 300\nphases: {drawn: 1}\n" + PERIODS + WANTED
    found = report_of(tmp_path, text, lambda point, seed, phase: by_period[point[PERIOD]] + seed % 11)
    assert answer(found) == (
        "meets",
        f"{NAME} 1000 keeps duplicates at or below 50 in 99 % of failovers (95 % confidence, 300 runs).",
    )
    assert [one["values"][PERIOD] for one in found["settings"]] == ["4000", "1000", "500"]
    assert [one["bound"]["verdict"] for one in found["settings"]] == ["misses", "meets", "meets"]
    assert "the confidence also holds for the choice" in found["answer"]["more"]


def test_a_more_expensive_setting_that_misses_leaves_the_choice_without_confidence(tmp_path):
    by_period = {"500": 100, "1000": 40, "4000": 100}
    text = "seeds: 300\nphases: {drawn: 1}\n" + PERIODS + WANTED
    found = report_of(tmp_path, text, lambda point, seed, phase: by_period[point[PERIOD]] + seed % 11)
    assert f"{NAME} 1000 keeps" in found["answer"]["sentence"]
    assert "that of this setting alone, not of a choice among 3" in found["answer"]["more"]


def test_parameters_without_a_cheaper_end_are_circumstances(tmp_path):
    # Twice as many with a cache of 5: 1,000 ms meet the bound with 30 only, 500 ms with both.
    by_period = {"500": 20, "1000": 40, "4000": 100}
    grid = f"grid:\n  {CACHE}: [5, 30]\n  {PERIOD}: [500, 1000, 4000]\n"
    text = "seeds: 300\nphases: {drawn: 1}\n" + grid + WANTED

    def value(point: dict[str, str], seed: int, phase: int) -> int:
        return by_period[point[PERIOD]] * (2 if point[CACHE] == "5" else 1) + seed % 11

    found = report_of(tmp_path, text + f"cheaper:\n  {PERIOD}: larger\n", value)
    other = CACHE.removeprefix("settings.")
    assert answer(found) == (
        "meets",
        f"{NAME} 500 keeps duplicates at or below 50 in 99 % of failovers for every value of {other} "
        "(95 % confidence, 600 runs).",
    )
    assert [found["settings"][place]["values"][CACHE] for place in (4, 5)] == ["5", "30"]
    assert found["answer"]["points"] == [found["settings"][place]["point"] for place in (4, 5)]
    # Without a cheaper end of any parameter all are chosen, in the order of the file.
    found = report_of(tmp_path, text, value)
    assert f"{other} 5, {NAME} 500 keeps" in found["answer"]["sentence"]
    assert len(found["answer"]["points"]) == 1
    # With both, the cheapest is 1,000 ms with a cache of 30.
    found = report_of(tmp_path, text + f"cheaper:\n  {PERIOD}: larger\n  {CACHE}: smaller\n", value)
    assert f"{other} 30, {NAME} 1000 keeps" in found["answer"]["sentence"]


def test_one_circumstance_that_misses_is_enough_to_miss(tmp_path):
    grid = f"grid:\n  {CACHE}: [5, 30]\n  {PERIOD}: [500, 4000]\ncheaper:\n  {PERIOD}: larger\n"
    text = "seeds: 300\nphases: {drawn: 1}\n" + grid + WANTED
    found = report_of(
        tmp_path, text, lambda point, seed, phase: 51 if point[CACHE] == "30" and seed > 240 else 1
    )
    assert answer(found) == (
        "misses",
        f"No setting keeps duplicates at or below 50 in 99 % of failovers for every value of "
        f"{CACHE.removeprefix('settings.')}. The closest is {NAME} 4000, which does in 80 % of 300 runs "
        f"with {CACHE.removeprefix('settings.')} 30.",
    )


CHOICE = experiment_of(
    f"seeds: 40\nphases: {{drawn: 1}}\ngrid:\n  {CACHE}: [5, 30]\n  {PERIOD}: [500, 1000]\n"
    f"cheaper:\n  {PERIOD}: larger\nwanted: {{measure: duplicates, at_most: 50, share: 80%}}"
)


@given(
    some.lists(some.sampled_from([0, 1, 3, 4, 6, 9, 13, 14, 20]), min_size=4, max_size=4), some.integers(0, 3)
)
@settings(max_examples=25, deadline=None)
def test_the_answer_is_that_of_a_plain_recount(outside, failures):
    places = list(product(("1000", "500"), ("5", "30")))
    by_point = dict(zip(places, outside, strict=True))

    def value(point: dict[str, str], seed: int, phase: int) -> int:
        return 51 if seed <= by_point[point[PERIOD], point[CACHE]] else seed

    rows = list(rows_of(CHOICE, value))
    for row in rows:  # the last seeds of each setting, which would be within
        if row["seed"] > 40 - failures:
            row.update(failed(row, "broken", ["duplicates"]))
    answer = document_of(results_of(CHOICE, table_of_rows(CHOICE, rows), False), {})["answer"]
    counted = {place: out + failures for place, out in by_point.items()}
    verdict, period = oracle.cheapest(counted, 40, Fraction(80, 100), Fraction(95, 100))
    assert answer["verdict"] == verdict
    points = {one.number for one in CHOICE.points if one.values[PERIOD] == period}
    assert set(answer["points"]) == points


def test_a_chart_of_some_settings_has_both_ends_and_the_answer(tmp_path):
    periods = list(range(100, 1100, 20))
    text = f"seeds: 5\nphases: {{drawn: 1}}\ngrid:\n  {PERIOD}: {periods}\n"
    text += f"cheaper:\n  {PERIOD}: larger\n" + WANTED.replace("99%", "50%")
    experiment = experiment_of(text)
    table = table_of(experiment, lambda point, seed, phase: int(point[PERIOD]) // 13)
    results = results_of(experiment, table, False)
    for most in (8, 40, 50, 60):
        shown = [int(one.point.values[PERIOD]) for one in results.spread(most)]
        assert len(shown) == len(set(shown)) == min(most, 50)
        assert (shown[0], shown[-1]) == (1080, 100)
        assert 660 in shown  # 660 / 13 is 50.8
        assert shown == sorted(shown, reverse=True)


def test_no_setting_meets_the_bound_and_the_closest_is_named(tmp_path):
    text = "seeds: 300\nphases: {drawn: 1}\n" + PERIODS + WANTED
    outside = {"500": 30, "1000": 60, "4000": 300}
    found = report_of(tmp_path, text, lambda point, seed, phase: 51 if seed <= outside[point[PERIOD]] else 0)
    assert answer(found) == (
        "misses",
        "No setting keeps duplicates at or below 50 in 99 % of failovers. The closest is "
        f"{NAME} 500, which does in 90 % of 300 runs.",
    )


def test_equal_seeds_claim_no_confidence(tmp_path):
    text = "seeds: 20\nphases: 100\nlimits: {runs: 10000}\n" + WANTED
    found = report_of(tmp_path, text, lambda _, seed, phase: phase // 2)
    assert found["answer"]["verdict"] == "meets"  # 0 to 49, and at most 50 before the next phase
    assert "confidence" not in found["answer"]["sentence"]
    assert "All 20 seeds give the same runs" in found["answer"]["more"]
    assert "no confidence is claimed" in found["answer"]["more"]
    text = "seeds: 20\nphases: 20\n" + WANTED
    found = report_of(tmp_path, text, lambda _, seed, phase: 31 + phase)
    assert answer(found)[0] == "undecided"
    assert answer(found)[1].startswith("Too few phases to tell") and "100 evenly spaced" in answer(found)[1]


def test_seeds_of_equal_runs_count_once(tmp_path):
    # 400 runs, but only 20 that differ: 0.99**20 is 0.82, so 99 % cannot be shown.
    found = report_of(tmp_path, "seeds: 20\nphases: {drawn: 20}\n" + WANTED, lambda _, seed, phase: 10 + seed)
    assert found["answer"]["verdict"] == "undecided"
    assert "400 runs count as 18 independent ones" in found["answer"]["more"]


def test_failed_runs_and_runs_without_a_value_are_outside(tmp_path):
    text = "seeds: 4\nphases: {drawn: 1}\nwanted: {measure: drained_us, at_most: 5s, share: 50%}"
    experiment = experiment_of(text)
    rows = list(
        rows_of(experiment, lambda *_: 0, drained_us=lambda _, seed, phase: None if seed == 2 else 1_000_000)
    )
    rows[0] = failed(rows[0], "the run has 5,000,001 rows", [one.name for one in experiment.measures])
    found = write_report(experiment, table_of_rows(experiment, rows), tmp_path)
    setting = found["settings"][0]
    assert (setting["bound"]["runs"], setting["bound"]["within"]) == (4, 2)
    assert (setting["figures"]["drained_us"]["known"], setting["figures"]["drained_us"]["never"]) == (2, 1)
    assert [one["kind"] for one in setting["examples"]] == ["median", "worst"]
    assert setting["examples"][1]["seed"] == 2
    assert found["runs"] == {
        "planned": 4,
        "present": 4,
        "finished": 3,
        "failed": 1,
        "missing": 0,
        "delivering_at_the_end": 0,
    }
    assert found["failed"][0]["reason"] == "the run has 5,000,001 rows"
    assert "the run has 5,000,001 rows" in page_of(tmp_path)


def test_without_a_wanted_bound_the_answer_is_the_range_of_the_means(tmp_path):
    by_period = {"500": 5, "1000": 10, "4000": 40}
    text = "seeds: 5\nphases: {drawn: 1}\n" + PERIODS
    found = report_of(tmp_path, text, lambda point, seed, phase: by_period[point[PERIOD]] + seed)
    assert answer(found) == (
        "measured",
        f"The mean number of duplicates is 8 with {NAME} 500, the smallest, and 43 with {NAME} 4000, "
        "the largest of 3.",
    )
    figures = found["settings"][0]["figures"]["duplicates"]
    # 41 … 45: mean 43, standard error 0.7071, t(4) = 2.776.
    assert figures["mean_interval"] == [pytest.approx(41.037, abs=1e-3), pytest.approx(44.963, abs=1e-3)]
    assert (figures["median"], figures["p95"], figures["largest"]) == (43, 45, 45)


def test_missing_runs_are_named_with_their_number(tmp_path):
    experiment = experiment_of("seeds: 10\nphases: 4\n" + WANTED)
    rows = list(rows_of(experiment, lambda *_: 1))[:-7]
    found = write_report(experiment, table_of_rows(experiment, rows), tmp_path, partial=True)
    assert found["partial"] and found["runs"]["missing"] == 7
    assert found["answer"]["verdict"] == "undecided"  # what is missing may be outside
    text = page_of(tmp_path)
    assert "7 of 40 runs are missing" in text and "the 33 runs so far" in text


def test_no_run_at_all_is_a_page_too(tmp_path):
    experiment = experiment_of("seeds: 2\nphases: 2\n" + PERIODS + WANTED)
    found = write_report(experiment, table_of_rows(experiment, []), tmp_path, partial=True)
    assert answer(found) == ("no-runs", "No run has finished yet.")
    rows = [failed(row, "broken", ["duplicates"]) for row in rows_of(experiment, lambda *_: 1)]
    found = write_report(experiment, table_of_rows(experiment, rows), tmp_path)
    assert answer(found) == ("failed", "None of 12 runs finished. The reasons are below.")
    assert "broken" in page_of(tmp_path)


def test_another_table_is_refused(tmp_path):
    experiment = experiment_of("seeds: 2\nphases: 2\n")
    rows = list(rows_of(experiment, lambda *_: 1))
    with pytest.raises(ValueError, match="a run twice"):
        write_report(experiment, table_of_rows(experiment, [*rows, rows[0]]), tmp_path)
    with pytest.raises(ValueError, match="no column duplicates"):
        write_report(experiment, table_of(experiment, lambda *_: 1).drop(["duplicates"]), tmp_path)
    assert not list(tmp_path.iterdir())


def test_equal_runs_in_any_order_give_equal_bytes(tmp_path):
    experiment = experiment_of("seeds: 5\nphases: {drawn: 3}\n" + PERIODS + WANTED)
    rows = list(rows_of(experiment, lambda point, seed, phase: seed * phase + int(point[PERIOD]) // 100))
    first = write_report(experiment, table_of_rows(experiment, rows), tmp_path / "a")
    write_report(experiment, table_of_rows(experiment, rows[::-1]), tmp_path / "b")
    for name in ("sweep.html", "sweep.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert json.loads((tmp_path / "a" / "sweep.json").read_text()) == first
    assert sorted(one.name for one in (tmp_path / "a").iterdir()) == ["sweep.html", "sweep.json"]


def test_the_page_has_heat_map_shares_and_charts_and_makes_no_request(tmp_path):
    grid = f"grid:\n  {PERIOD}: [500, 1000]\n  {CACHE}: [5, 30]\n"
    text = 'title: "<b>Period</b> & cache"\nseeds: 3\nphases: 4\n' + grid
    report_of(tmp_path, text, lambda point, seed, phase: seed + phase + int(point[PERIOD]) // 100)
    page = page_of(tmp_path)
    whole = (tmp_path / "sweep.html").read_text()
    assert "&lt;b&gt;Period&lt;/b&gt; &amp; cache" in page
    assert page.count('class="heat"') == 1 and page.count('style="--shade:') == 4
    for name in ("ranges", "distributions", "phases"):
        assert f'data-chart="{name}"' in page
        json.loads(re.search(rf'id="{name}">(.*?)</script>', whole, re.DOTALL)[1])
    addresses = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert addresses and all(one.startswith("data:application/yaml;base64,") for one in addresses)
    # Means 8.5 and 13.5: a variance of 6.25. Phases 1.25, seeds 0.667: 6.25 / 8.167 is 76.5 %.
    assert re.search(rf"{NAME}</th><td>76.5 %", page)


def test_links_lead_to_the_site_where_there_is_one(tmp_path):
    experiment = experiment_of("seeds: 3\nphases: 4\n")
    table = table_of(experiment, lambda _, seed, phase: 10 * phase + seed)
    write_report(experiment, table, tmp_path, site_url="https://lab.example/experiments/7/")
    # The largest is phase 3 of seed 3, run 11; the crash is at 5.7 s and 0.75 s later there.
    assert 'href="https://lab.example/experiments/7/runs/11/?at_us=6450000"' in page_of(tmp_path)
    assert "data:application" not in page_of(tmp_path)


def test_a_scenario_of_the_page_is_the_run_again(tmp_path):
    experiment = experiment_of(f"phases: 4\ngrid:\n  {PERIOD}: [2000]\n")
    found = write_report(experiment, _really_run(experiment), tmp_path)
    worst = found["settings"][0]["examples"][1]
    addresses = {
        name: data
        for data, name in re.findall(r'href="data:[^,]*,([^"]*)" download="([^"]*)"', page_of(tmp_path))
    }
    scenario = load_scenario_text(b64decode(addresses[worst["file"]]).decode())
    world = World.from_scenario(scenario)
    world.run(scenario.until_us)
    assert worst["value"] == sum(one["duplicates"] for one in world.failovers()) > 0
    assert worst["at_us"] == min(one["at_us"] for one in world.failovers())


def test_the_closed_form_is_beside_the_run_where_there_is_one(tmp_path):
    block = "".join(f"  {line}\n" for line in TEXT.splitlines())
    experiment = read_experiment_text(f"format: 1\nname: regular\nphases: 3\nscenario: |\n{block}")
    found = write_report(experiment, _really_run(experiment), tmp_path)
    for one in found["settings"][0]["examples"]:
        low, high = one["expected"]
        assert 0 < low <= one["value"] <= high
    assert "in closed form</th>" in page_of(tmp_path)
    report_of(tmp_path, "phases: 2\n", lambda *_: 1)
    assert "in closed form</th>" not in page_of(tmp_path)


def _really_run(experiment: Experiment) -> Any:
    return table_of_rows(
        experiment,
        [
            {**row, **batch.point.values}
            for batch in batches(experiment)
            for row in run_batch(experiment, batch)
        ],
    )


def test_a_report_of_runs_that_were_still_delivering_says_at_least(tmp_path: Path) -> None:
    text = """\
name: cut
phases: 2
measures: [duplicates, drained_us]
scenario: |
  format: 1
  name: cut
  title: Cut
  family: replicated-subscriptions
  until: 3600ms
  clusters: {a: {}, b: {}}
  links: {default: {latency: 40ms}}
  topics: {orders: {clusters: [a, b]}}
  producers: {web: {topic: orders, cluster: a, every: 20ms}}
  subscriptions: {billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}}
  consumers: {one: {subscription: billing, cluster: a, processing: 15ms}}
  commands:
    - {at: 3s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}
"""
    experiment = read_experiment_text(text)
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    found = write_report(experiment, pa.Table.from_pylist(rows, columns_of(experiment)), tmp_path)
    assert found["runs"]["delivering_at_the_end"] == 1, "the later phase ends later"
    assert found["answer"]["sentence"].startswith("At least: ")
    assert "still delivering at the end" in found["answer"]["more"]
    assert "not by the end" in (tmp_path / "sweep.html").read_text()
