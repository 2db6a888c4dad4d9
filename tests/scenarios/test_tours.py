"""The tour of every built-in scenario is played, and every number in its texts is checked.

A number is a placeholder, which the run fills in, or it is written in the scenario: in its canonical text, or
in its title, `about` and `watch`, whose numbers `test_captions.py` binds to the run. An instant of a step may
be named, too. A digit in a name, such as shop/15 or eu-1, is no number.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from simulator import Scenario, World, load_scenario, scenario_names
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.tour import PAGE_PARTS, PLACEHOLDER
from simulator.tours import ResolvedStep, resolve
from tests.scenarios.test_captions import NUMBER, WORDS, parsed
from visualizer.pages.gallery import start_here

NAMES = re.compile(r"[A-Za-z][\w-]*[-/]\d+|[A-Za-z]+\d+")
QUANTITY = re.compile(r"\d[\d,]*(?:\.\d+)?\s?(?:ms|us|s|m|h)?\b")
TOURS = scenario_names()
FULL = (
    *("periodic-snapshots", "two-regions", "unsafe-partial-snapshot", "ack-hole-delayed-message"),
    *("slow-consumer-oldest-first", "tenant-moves", "shadow-two-audiences", "groups-join"),
)
"""The scenarios whose tours teach a subject step by step; those of the others are shorter."""

PANELS = re.compile(r'{ name: "([a-z-]+)", title: ')
ROOT = Path(__file__).resolve().parents[2]


@cache
def played(name: str) -> list[ResolvedStep]:
    scenario = load_scenario(name)
    world = World.from_scenario(scenario)
    world.run()
    assert scenario.tour is not None
    return resolve(world, scenario.tour)


def written_numbers(scenario: Scenario) -> set[object]:
    """The numbers that are written in a scenario without its tour."""
    text = canonical_text(replace(scenario, tour=None, expect={}, compare={}))
    said = f"{scenario.title}\n{scenario.about}\n{scenario.watch}"
    return {parsed(found.strip()) for found in [*QUANTITY.findall(text), *NUMBER.findall(said)]}


def loose_numbers(scenario: Scenario) -> set[str]:
    """The numbers in the texts of a tour that are neither placeholders nor written in the scenario."""
    assert scenario.tour is not None
    texts = [
        part
        for step in scenario.tour.steps
        for part in (step.title, step.text, step.ask and step.ask.question, step.note and step.note.text)
    ]
    known = written_numbers(scenario) | {step.at_us for step in scenario.tour.steps}
    found = {
        number.rstrip(",").strip()
        for text in texts
        for number in NUMBER.findall(NAMES.sub("", PLACEHOLDER.sub("", text or "")))
    }
    return {number for number in found if parsed(number) not in known}


def test_every_scenario_has_a_tour_and_eight_are_full():
    tours = {name: load_scenario(name).tour for name in TOURS}
    assert [name for name, tour in tours.items() if tour is None] == []
    assert [name for name in FULL if len(tours[name].steps) < 6 or tours[name].minutes < 4] == []
    assert len({tour.title for tour in tours.values()}) == len(tours), "each has a title of its own"


def test_each_panel_of_a_tour_is_one_of_the_page():
    pages = (ROOT / "static/js").rglob("*_panel.js")
    known = {name for page in pages for name in PANELS.findall(page.read_text(encoding="utf-8"))} | {"time"}
    assert len(known) > 8
    named = {step.panel for name in TOURS for step in load_scenario(name).tour.steps if step.panel}
    assert named <= known


@pytest.mark.parametrize("name", TOURS)
def test_a_tour_plays_to_its_last_step(name: str):
    steps = played(name)
    instants = [step.at_us for step in steps]
    assert instants == sorted(instants)
    assert all(step.slow_from_us <= step.at_us for step in steps)
    assert not [step.text for step in steps if re.search(r"[{}]|None|_us\b", step.text + step.title)]


@pytest.mark.parametrize("name", TOURS)
def test_every_number_in_a_tours_texts_is_of_its_run_or_its_scenario(name: str):
    assert loose_numbers(load_scenario(name)) == set()


@pytest.mark.parametrize("name", TOURS)
def test_the_texts_of_a_tour_are_short(name: str):
    for step in played(name):
        sentences = [one for one in re.split(r"(?<=[.?!])\s+(?=[\w“])", step.text) if one]
        assert 1 <= len(sentences) <= 4, step.text
        assert step.text.endswith((".", "?")) and not step.title.endswith(".")


def first_tours() -> list[str]:
    """The scenarios of the tours for newcomers, in their order."""
    return [tour["scenario"] for tour in start_here()]


def test_the_first_tours_lead_from_one_to_the_next():
    following = {name: load_scenario(name).tour.next for name in TOURS}
    chain = first_tours()
    assert len(chain) == 6 and len(set(chain)) == 6
    assert [following[name] for name in chain] == [*chain[1:], ""]
    assert {name for name, next_name in following.items() if next_name} == set(chain[:-1])


@pytest.mark.parametrize("name", first_tours()[:3])
def test_the_first_tours_begin_with_the_logs_alone(name: str):
    steps = played(name)
    assert len(set(steps[0].show)) <= 1 and sum(len(step.show) for step in steps) > 2
    assert any(step.note for step in steps)
    shown = [part for step in steps for part in step.show]
    assert len(shown) == len(set(shown)), "each part appears once"


@pytest.mark.parametrize("name", TOURS)
def test_a_forecast_of_duplicates_appears_at_a_step_that_mentions_duplicates(name: str):
    for step in played(name):
        if "forecast" in step.show:
            assert re.search(r"duplicate|failover", f"{step.text} {step.ask}"), step.title


@pytest.mark.parametrize("name", TOURS)
def test_a_note_is_beside_an_entry_of_its_log(name: str):
    scenario = load_scenario(name)
    assert scenario.tour is not None
    for step in played(name):
        assert step.note is None or re.fullmatch(r"\d+:\d+", step.note["position"]), step.title


def test_the_page_knows_the_same_parts():
    page = (ROOT / "static/js/model/tour.js").read_text(encoding="utf-8")
    (listed,) = re.findall(r"PAGE_PARTS = \[(.*?)\]", page)
    assert re.findall(r'"(\w+)"', listed) == list(PAGE_PARTS)
    sheet = (ROOT / "static/css/tour.css").read_text(encoding="utf-8")
    assert set(re.findall(r":not\(\[data-shows~=(\w+)\]\)", sheet)) == set(PAGE_PARTS)


def test_tour_two_says_why_the_end_of_a_snapshot_is_where_the_response_arrives():
    """True of the rows: what us-east had at its answer is in us-west before the position of the response."""
    world = World.from_scenario(load_scenario("two-regions"))
    world.run()
    (step,) = [step for step in played("two-regions") if step.title == "The snapshot"]
    assert step.row is not None and "came after everything that us-east had sent before it" in step.text
    trace = world.trace
    (answer,) = [
        row
        for row in map(trace.row, trace.seqs(0, None, types=("snapshot.answered",)))
        if (row["cluster"], row["snapshot"]) == ("us-west", step.row["snapshot"])
    ]
    assert (answer["ledger"], answer["entry"]) == (step.row["ledger"], step.row["entry"])
    stored = [trace.row(seq) for seq in trace.seqs(0, None, types=("message.stored",))]
    covered = {
        row["sequence_id"]
        for row in stored
        if row["cluster"] == "us-east" and row["entry"] <= answer["to_entry"]
    }
    before = {
        row["sequence_id"] for row in stored if row["cluster"] == "us-west" and row["entry"] < answer["entry"]
    }
    assert covered and covered <= before


@pytest.mark.parametrize("name", TOURS)
def test_an_answer_is_of_its_kind(name: str):
    for step in played(name):
        if step.ask is not None:
            pattern = r"\d+:-?\d+" if step.ask["kind"] == "position" else r"\d[\d,]*"
            assert re.fullmatch(pattern, step.ask["answer"]) and step.ask["question"].endswith("?")


def test_a_number_that_is_nowhere_is_detected():
    scenario = load_scenario("periodic-snapshots")
    tour = scenario.tour
    assert tour is not None
    wrong = replace(tour.steps[0], text="After 77 ms and seven retries shop/3 arrives at {at}.")
    changed = replace(scenario, tour=replace(tour, steps=(wrong, *tour.steps[1:])))
    assert loose_numbers(changed) == {"77 ms", "seven"} and "seven" in WORDS
