"""Every number in the texts of a built-in scenario is bound to a value of its file or a figure of its run (`caption_numbers`): a wrong one fails here.

Digits count, and number words from three on; "one" and "two" are words of ordinary sentences too often.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

import pytest
from ruamel.yaml import YAML

from simulator import World, load_scenario, scenario_names
from simulator.scenarios import builtin_text
from tests.scenarios.caption_numbers import CAPTIONS, NAME

WORDS = {
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "twenty": 20,
    "thirty": 30,
    "sixty": 60,
    "hundred": 100,
    "thousand": 1000,
}
NUMBER = re.compile(
    rf"\d+:\d+|\d[\d,]*(?:\.\d+)*(?:\s?(?:ms|us|s|m)\b)?|\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE
)
UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000}


def numbers(name: str) -> set[str]:
    scenario = load_scenario(name)
    return {
        found.rstrip(",").lower()
        for found in NUMBER.findall(f"{scenario.title}\n{scenario.about}\n{scenario.watch}")
    }


def parsed(number: Any) -> Any:
    """Microseconds of a span or instant, an integer, or the text as it is."""
    text = str(number).lower()
    if text in WORDS:
        return WORDS[text]
    span = re.fullmatch(r"([\d,]+(?:\.\d+)?)\s?(us|ms|s|m)", text)
    if span:
        return round(float(span[1].replace(",", "")) * UNITS[span[2]])
    return int(text.replace(",", "")) if re.fullmatch(r"[\d,]+", text) else text


INSTANT = re.compile(
    r"\b(?:at|after|before|until|from|to|since|by|of) \d+(?:\.\d+)? ?(?:s|ms)\b", re.IGNORECASE
)
"""An instant in a text: a span has no such word before it."""
DATED = re.compile(r"(?:After|At|Before|Between|From) ")
"""Possible first words of a sentence that says when it holds: `watch` is on the page from 0.000 s on."""


def undated(text: str) -> list[str]:
    """Sentences that name an instant and do not begin with it."""
    return [
        one
        for one in re.split(r"(?<=[.?!])\s+", text.strip())
        if INSTANT.search(one) and not DATED.match(one)
    ]


class Run:
    """A built-in scenario, its file as plain values, and its run."""

    def __init__(self, name: str) -> None:
        self.file = YAML(typ="safe").load(builtin_text(name))
        self.world = World.open(name)

    @cached_property
    def summary(self) -> dict[str, Any]:
        self.world.run()
        return self.world.summary()

    def given(self, path: str) -> Any:
        return at_path(self.file, path)

    def us(self, path: str) -> int:
        return parsed(self.given(path))

    def rows(self, event: str, **where: Any) -> list[dict[str, Any]]:
        assert self.summary, "the run is over"
        trace = self.world.trace
        found = (trace.row(seq) for seq in trace.seqs(0, len(trace), types=(event,), limit=None))
        return [row for row in found if all(row.get(key) == value for key, value in where.items())]

    def positions_in(self, path: str) -> set[str]:
        return set(re.findall(r"\d+:\d+", at_path(self.summary, path)))

    def last_acknowledged(self, cluster: str) -> int:
        return max(row["sequence_id"] for row in self.rows("message.acknowledged", cluster=cluster))

    def bytes_per_s(self, producer: str) -> int:
        spec = self.given(f"producers.{producer}")
        return int(spec["size"].removesuffix("KB")) * 1000 * 1_000_000 // parsed(spec["every"])

    def bytes_per_s_of_link(self) -> int:
        limit = next(link["bandwidth"] for link in self.given("links").values() if "bandwidth" in link)
        return int(limit.removesuffix("KB/s")) * 1000

    def shadow_before(self, topic: str, at_us: int) -> tuple[int, int]:
        """The entry of the shadow's last confirmed position, and the backlog of its source's replicator."""
        self.world.run()
        self.world.seek(at_us=at_us)
        view = self.world.view()["clusters"]["eu"]["topics"][topic]
        return int(view["last_position"].split(":")[1]), view["shadow"]["replicator"]["backlog"]


def at_path(values: Any, path: str) -> Any:
    for step in re.findall(r"[^.\[\]]+", path):
        values = values[int(step)] if isinstance(values, list) else values[step]
    return values


def found_at(run: Run, source: Any) -> Any:
    if callable(source):
        return source(run)
    if source.startswith("run:"):
        return at_path(run.summary, source.removeprefix("run:"))
    return parsed(run.given(source))


@pytest.mark.parametrize("name", scenario_names())
def test_every_number_of_a_scenarios_texts_is_bound(name: str):
    assert numbers(name) == set(CAPTIONS.get(name, {})), (
        "tests/scenarios/caption_numbers.py says of each what it is"
    )


@pytest.mark.parametrize("name", sorted(CAPTIONS))
def test_every_number_of_a_scenarios_texts_is_that_of_its_run(name: str):
    run = Run(name)
    for number, source in CAPTIONS[name].items():
        if source != NAME:
            found = found_at(run, source)
            assert parsed(number) == found or (isinstance(found, set) and number in found), (
                f"{number} is {found}: {source}"
            )


@pytest.mark.parametrize("name", scenario_names())
def test_a_caption_that_names_an_instant_begins_with_it(name: str):
    scenario = load_scenario(name)
    assert not undated(scenario.watch) and not INSTANT.search(scenario.title)


def test_a_sentence_that_presupposes_an_instant_is_detected():
    assert undated("The pin stands. All is read after 3 s, by ada.") == ["All is read after 3 s, by ada."]
    assert undated("After 3 s: all is read. A snapshot takes 300 ms.") == []


def test_a_wrong_number_is_detected():
    run = Run("region-down-twice")
    assert parsed("8") != found_at(run, CAPTIONS["region-down-twice"]["7"])
    assert numbers("region-down-twice") != {*CAPTIONS["region-down-twice"], "8"}
