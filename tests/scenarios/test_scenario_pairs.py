"""Pairs of built-in scenarios: the two differ in exactly the option or choice that the declaration names, and in texts."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from simulator import Scenario, ScenarioError, load_scenario, load_scenario_text, scenario_names
from simulator.scenarios.builtin import builtin_text
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.settings import OPTIONS

TEXTS = {"name", "title", "about", "watch", "expect", "compare", "tour", "pair", "canonical_text"}
"""What the two scenarios of a pair may say differently: names, texts, and the figures that follow."""

PAIRS = {name: scenario.pair for name in scenario_names() if (scenario := load_scenario(name)).pair}


def differences(one: Scenario, other: Scenario) -> set[str]:
    """What differs in the inputs of two runs: options by name, everything else by its section."""
    assert type(one) is type(other)
    found = {field.name for field in fields(one) if getattr(one, field.name) != getattr(other, field.name)}
    options = {
        f"option {name}"
        for name, option in OPTIONS.items()
        if option.value_under(one.options) != option.value_under(other.options)
    }
    if "commands" in found and (argument := differing_choice(one, other)):
        found, options = found - {"commands"}, options | {f"option {argument}"}
    return (found - TEXTS - {"options"}) | options


def differing_choice(one: Scenario, other: Scenario) -> str | None:
    """The only argument in which the commands differ, if it is a choice of one command."""
    if [(spec.at_us, spec.do) for spec in one.commands] != [(spec.at_us, spec.do) for spec in other.commands]:
        return None
    differing = [
        (spec.do, name)
        for spec, second in zip(one.commands, other.commands, strict=True)
        for name in dict.fromkeys((*spec.arguments, *second.arguments))
        if spec.arguments.get(name) != second.arguments.get(name)
    ]
    choices = {key.name for do, _ in differing for key in COMMANDS[do].arguments if key.kind == "choice"}
    return differing[0][1] if len(differing) == 1 and differing[0][1] in choices else None


def test_the_pairs_that_differ_in_one_option_are_declared():
    assert len(PAIRS) == 11
    shown = [name for pair in PAIRS.items() for name in (pair[0], pair[1]["with"])]
    assert len(set(shown)) == len(shown), "a scenario is on one card"
    scenarios = [load_scenario(name) for name in scenario_names()]
    similar = {
        frozenset((one.name, other.name))
        for number, one in enumerate(scenarios)
        for other in scenarios[number + 1 :]
        if type(one) is type(other)
        and len(found := differences(one, other)) == 1
        and found.pop().startswith("option ")
    }
    assert similar == {frozenset((name, pair["with"])) for name, pair in PAIRS.items()}


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_differs_in_exactly_the_option_that_it_names(name: str):
    pair = PAIRS[name]
    one, other = load_scenario(name), load_scenario(pair["with"])
    assert differences(one, other) == {f"option {pair['option']}"}
    assert not other.pair and one.family == other.family
    assert pair["name"] != pair["other"]


def test_another_difference_is_detected():
    one = load_scenario("groups-rounds-as-shipped")
    other = load_scenario("groups-rounds")
    assert differences(one, replace(other, seed=2)) == {"option reassignmentTimers", "seed"}
    assert differences(one, replace(other, options=one.options)) == set()


def test_a_changed_scenario_is_no_half_of_a_pair():
    changed = load_scenario("groups-rounds-as-shipped", overrides=[("until", "8s")])
    assert changed.pair == {} and "pair:" not in changed.canonical_text
    kept = load_scenario("groups-rounds-as-shipped")
    assert load_scenario_text(canonical_text(kept)).pair == kept.pair


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("{with: groups-rounds, option: reassignmentTimer, name: a, other: b}", "there is no option"),
        ("{with: groups-rounds, option: reassignmentTimers, name: a}", "is missing"),
        ("{with: groups-rounds, option: reassignmentTimers, name: a, other: " + "b" * 31 + "}", "at most 30"),
    ],
)
def test_a_wrong_declaration_is_explained(pair: str, problem: str):
    text = builtin_text("groups-rounds-as-shipped")
    line = next(one for one in text.split("\n") if one.startswith("pair:"))
    with pytest.raises(ScenarioError, match=problem):
        load_scenario_text(text.replace(line, f"pair: {pair}"))
