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
from simulator.scenarios.tour import PLACEHOLDER
from simulator.tours import ResolvedStep, resolve
from tests.scenarios.test_captions import NUMBER, WORDS, parsed

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
        for part in (step.title, step.text, step.ask and step.ask.question)
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
