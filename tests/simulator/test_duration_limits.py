"""Every duration of scenarios and commands has one bound.

Beyond it is a problem with its place, at it the run continues.
"""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import ScenarioError, World, load_scenario_text
from simulator.kernel.distributions import Sampler
from simulator.protocols.emqx.scenario.model import EMQX
from simulator.protocols.pulsar.scenario.model import PULSAR
from simulator.scenarios import COMMANDS, CommandError, shape
from simulator.scenarios.declarations import belongs
from simulator.scenarios.limits import LONGEST_US
from simulator.scenarios.reader import DISTRIBUTIONS, SELECTIONS
from simulator.scenarios.settings import OPTIONS, SETTINGS
from tests.simulator.test_scenarios_commands import sample

BEYOND_US = LONGEST_US + 1
DISTRIBUTED = {
    "constant": lambda us: f"{us}us",
    "uniform": lambda us: {"distribution": "uniform", "low": "0s", "high": f"{us}us"},
    "lognormal": lambda us: {"distribution": "lognormal", "median": f"{us}us", "sigma": 0},
    "exponential": lambda us: {
        "distribution": "exponential",
        "mean": f"{us if us > LONGEST_US else us // 10}us",
    },
}
assert DISTRIBUTED.keys() == DISTRIBUTIONS.keys()

HEAD = {"format": 1, "name": "x", "title": "x", "about": "x", "until": "20ms"}
SCENARIOS = {
    PULSAR: {
        **HEAD,
        "family": "tenant-migration",
        "clusters": {"a": {}, "b": {}},
        "links": {"default": {}},
        "brokers": {"x": {"cluster": "a"}},
        "tenants": {"n": {"cluster": "a"}},
        "topics": {"t": {"clusters": ["a", "b"], "namespace": "n/o"}},
        "namespaces": {"n/o": {}},
        "schemas": {"v": {"type": "STRING"}},
        "roles": {"r": {"superuser": True}},
        "producers": {"p": {"topic": "t", "cluster": "a", "role": "r"}},
        "subscriptions": {"s": {"topic": "t"}},
        "consumers": {"c": {"subscription": "s", "cluster": "a", "role": "r"}},
        "audiences": {"crowd": {"topic": "t", "cluster": "a", "subscriptions": 2}},
    },
    EMQX: {
        **HEAD,
        "family": "durable-shared-subscriptions",
        "nodes": {"d": {}},
        "groups": {"g": {"filter": "t/#"}},
        "links": {"default": {}},
        "publishers": {"f": {"topic": "t/1"}},
        "sessions": {"e": {"node": "d", "subscriptions": ["$share/g/t/#"]}},
    },
}


def durations(kind, most_us):
    """Texts of a kind of value with durations in it: at the bound, and beyond it."""
    if kind == "duration":
        return [(f"{most_us}us", f"{most_us + 1}us")]
    if kind == "instants":
        return [(["0s", f"{LONGEST_US}us"], ["0s", f"{BEYOND_US}us"])]
    if kind == "distribution":
        return [(write(LONGEST_US), write(BEYOND_US)) for write in DISTRIBUTED.values()]
    if kind in SELECTIONS and any(key.name == "for" for key in SELECTIONS[kind]):
        return [({"share": "1%", "for": f"{us}us"} for us in (LONGEST_US, BEYOND_US))]
    return []


def fields_of_scenarios():
    """(protocol, path, value at the bound, value beyond) of every duration of a scenario file."""
    for protocol in (PULSAR, EMQX):
        places = [((), shape.head()), (("links", "default"), shape.link_keys())]
        places += [
            ((section.name, next(iter(SCENARIOS[protocol][section.name]))), section.keys)
            for section in shape.sections()
            if section.name in SCENARIOS[protocol]
        ]
        for path, keys in places:
            for key in keys:
                if belongs(key.protocol, protocol) and key.name != "until":
                    for at_bound, beyond in durations(key.kind, key.maximum or LONGEST_US):
                        yield protocol, (*path, key.name), at_bound, beyond
        for section, table in (("settings", SETTINGS), ("options", OPTIONS)):
            for setting in table.values():
                if belongs(setting.protocol, protocol):
                    for at_bound, beyond in durations(setting.kind, LONGEST_US):
                        yield protocol, (section, setting.name), at_bound, beyond
        yield protocol, ("until",), None, f"{BEYOND_US}us"
        yield protocol, ("commands", 0, "at"), f"{LONGEST_US}us", f"{BEYOND_US}us"


def made(protocol, path, value):
    scenario = copy.deepcopy(SCENARIOS[protocol])
    if path[0] == "commands":
        scenario["commands"] = [
            {"at": value, "do": "link.heal", "link": "a -> b" if protocol == PULSAR else "d -> d"}
        ]
        return json.dumps(scenario, indent=1)
    place = scenario
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    if path[-1] == "every":
        place["arrivals"] = "poisson"
    return json.dumps(scenario, indent=1)


FIELDS = [
    pytest.param(*field, id=f"{field[0]}:{'.'.join(map(str, field[1]))}:{number}")
    for number, field in enumerate(fields_of_scenarios())
]


def test_many_fields_are_generated():
    assert len(FIELDS) > 40


@pytest.mark.parametrize(("protocol", "path", "at_bound", "beyond"), FIELDS)
def test_a_duration_beyond_the_bound_is_a_problem_with_its_place(protocol, path, at_bound, beyond):
    with pytest.raises(ScenarioError) as caught:
        load_scenario_text(made(protocol, path, beyond))
    problem = next(problem for problem in caught.value.problems if problem.path.startswith(str(path[0])))
    assert problem.line > 1 and problem.column >= 1
    assert "out of range" in problem.what or "too large" in problem.what or "longer than 48h" in problem.what
    assert problem.right


@pytest.mark.parametrize(
    ("protocol", "path", "at_bound", "beyond"), [field for field in FIELDS if field.values[2] is not None]
)
def test_a_run_with_the_longest_duration_continues(protocol, path, at_bound, beyond):
    text = made(protocol, path, at_bound)
    try:
        scenario = load_scenario_text(text)
    # another rule may forbid it, such as a minimum that depends on another key
    except ScenarioError as error:
        assert not any("range" in problem.what or "large" in problem.what for problem in error.problems), (
            error
        )
        return
    world = World.from_scenario(scenario)
    world.run()
    assert world.now_us == 20_000


@pytest.mark.parametrize("name", COMMANDS)
def test_durations_of_commands_have_the_same_bound(name):
    protocol = EMQX if COMMANDS[name].protocol == EMQX else PULSAR
    world = World.from_scenario(load_scenario_text(json.dumps(SCENARIOS[protocol])))
    for key in COMMANDS[name].arguments:
        for at_bound, beyond in durations(key.kind, key.maximum or LONGEST_US):
            given_at = {
                argument: value
                for argument, value in sample(name).items()
                if argument in ("do", key.name) or argument in _required(name)
            }
            refused = world.apply({**given_at, key.name: beyond})
            assert not refused.ok and refused.error and key.name in refused.error and refused.hint, (
                key.name,
                refused,
            )
            # accepted, or refused for another reason; never an exception
            world.apply({**given_at, key.name: at_bound})
            world.run(world.now_us + 10_000)


def _required(name):
    return [key.name for key in COMMANDS[name].arguments if key.required]


def test_durations_of_logged_commands_have_the_same_bound():
    world = World.from_scenario(load_scenario_text(json.dumps(SCENARIOS[PULSAR])))
    wide = {"kind": "lognormal", "value_us": 1, "low_us": 0, "high_us": 0, "sigma_millionths": 40_000_000_000}
    for processing in ({"kind": "constant", "value_us": BEYOND_US}, wide):
        assert not world.apply({"do": "consumer.slow", "consumer": "c", "processing": processing}).ok
    with pytest.raises(CommandError):
        world.check({"do": "producer.slow", "producer": "p", "every_us": BEYOND_US})


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["lognormal", "exponential"]), st.integers(0, LONGEST_US), st.integers(0, 10_000_000))
def test_every_duration_accepted_by_the_loader_can_be_drawn_by_the_sampler(kind, value_us, sigma_millionths):
    """The two sides of the bound: neither accepts what the other cannot represent."""
    shown = {
        "distribution": kind,
        **(
            {"mean": f"{value_us}us"}
            if kind == "exponential"
            else {"median": f"{value_us}us", "sigma": sigma_millionths / 1_000_000}
        ),
    }
    try:
        scenario = load_scenario_text(made(PULSAR, ("consumers", "c", "processing"), shown))
    except ScenarioError as error:
        assert "longest draws" in str(error)
    else:
        sampler = Sampler(scenario.consumers["c"].processing, 1)
        assert 0 <= sampler.at(0) <= LONGEST_US
