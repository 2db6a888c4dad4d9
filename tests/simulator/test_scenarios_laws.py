"""Invariants of the loader and the commands.

Any input loads or is refused with a reason; a loaded scenario loads again unchanged.
"""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.scenarios import (
    CommandError,
    KnownNames,
    Scenario,
    ScenarioError,
    load_scenario_text,
    normalise_command,
)
from simulator.scenarios.canonical import flow
from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.tree import read_tree

EXAMPLE = (Path(__file__).resolve().parents[2] / "docs" / "scenario-example.yaml").read_text(encoding="utf-8")
NAMES = KnownNames(
    clusters=("a", "b"),
    topics=("t",),
    producers=("p",),
    subscriptions=("s",),
    consumers=("c",),
    brokers=("x",),
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.sampled_from(
        [
            "1s",
            "40ms",
            "a",
            "b",
            "t",
            "p",
            "s",
            "c",
            "a -> b",
            "1%",
            "p/1",
            "1:4",
            "crash",
            "snapshot",
            "earliest",
        ]
    )
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def loads_or_gives_a_reason(text):
    try:
        scenario = load_scenario_text(text, "fuzz.yaml")
    except ScenarioError as error:
        assert error.problems and all(problem.what for problem in error.problems)
        assert len(str(error).splitlines()) >= 1
    else:
        assert isinstance(scenario, Scenario)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text_loads_or_is_refused_with_a_reason(text):
    loads_or_gives_a_reason(text)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, len(EXAMPLE)),
    st.integers(0, 60),
    st.text(alphabet="{}[]:,- \n\"'abs019%&*!|>#", max_size=6),
)
def test_a_damaged_file_loads_or_is_refused_with_a_reason(start, length, inserted):
    loads_or_gives_a_reason(EXAMPLE[:start] + inserted + EXAMPLE[start + length :])


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted(COMMANDS)), st.data())
def test_any_command_is_normalised_or_refused_with_a_reason(name, data):
    known = [key.name for key in COMMANDS[name].arguments] + ["x"]
    command = {"do": name, **data.draw(st.dictionaries(st.sampled_from(known), values, max_size=5))}
    try:
        normal = normalise_command(command, NAMES)
    except CommandError as error:
        assert error.code and error.message
    else:
        assert normalise_command(normal, NAMES) == normal


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(max_size=8).filter(lambda key: key != "<<"), values, min_size=1, max_size=4))
def test_flow_text_reads_back_as_the_same_value(value):
    text = flow(value)
    if any(unprintable(character) for character in text):
        return
    root, problems = read_tree(text, "flow.yaml")
    assert problems == [] or any("this long" in problem.what for problem in problems)
    assert problems or root.plain() == value


def unprintable(character):
    """What the loader refuses before it is ever written."""
    number = ord(character)
    return number < 32 or 0x7F <= number < 0xA0 or 0xD800 <= number <= 0xDFFF


durations = st.integers(0, 10**9).map(lambda value: f"{value}us")
processing = (
    durations
    | st.builds(
        lambda median, sigma: f"{{distribution: lognormal, median: {median}, sigma: {sigma / 1000000}}}",
        # the longest draw stays below 48 h
        st.integers(0, 10**6).map(lambda value: f"{value}us"),
        st.integers(0, 32 * 10**5),
    )
    | st.builds(
        lambda low, more: f"{{distribution: uniform, low: {low}us, high: {low + more}us}}",
        st.integers(0, 10**6),
        st.integers(0, 10**6),
    )
)


@settings(max_examples=60, deadline=None)
@given(
    title=st.text(min_size=1, max_size=30).filter(
        lambda text: text.strip() and not any(unprintable(character) for character in text)
    ),
    processing=processing,
    share=st.integers(1, 10**6),
    every=st.integers(1, 10**7),
    first_ledger=st.integers(0, 10**6),
    latency=durations,
    types=st.sampled_from(["Exclusive", "Failover", "Shared", "Key_Shared"]),
    partitions=st.integers(0, 5),
)
def test_a_scenario_is_restored_from_its_canonical_text(
    title, processing, share, every, first_ledger, latency, types, partitions
):
    text = f"""\
format: 1
name: law
title: {flow(title)}
family: replicated-subscriptions
until: 1h
clusters: {{a: {{firstLedger: {first_ledger}}}, b: {{}}}}
links: {{a -> b: {{latency: {latency}}}}}
topics: {{t: {{clusters: [a, b], partitions: {partitions}, replication: [b -> a]}}}}
producers: {{p: {{topic: t, cluster: a, every: {every}us, delay: {{share: {share / 10000:.4f}%, for: {latency}}}, replicateTo: []}}}}
subscriptions: {{s: {{topic: t, type: {types}}}}}
consumers: {{c: {{subscription: s, cluster: b, processing: {processing}, hold: {{messages: [p/{first_ledger}]}}}}}}
commands: [{{at: {latency}, do: consumer.slow, consumer: c, processing: {processing}}}]
"""
    scenario = load_scenario_text(text)
    assert scenario.title == title.strip()
    again = load_scenario_text(scenario.canonical_text)
    assert again == scenario and again.canonical_text == scenario.canonical_text
