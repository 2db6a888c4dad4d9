"""The commands: one registry, one normal form, refusals with a reason."""

from __future__ import annotations

import json
import re

import pytest

from simulator.protocols.declared import DECLARED
from simulator.protocols.pulsar.commands.declared.clusters import MARKER_WORDS
from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.scenarios import COMMANDS, CommandError, KnownNames, normalise_command
from simulator.scenarios.commands import write_arguments
from simulator.scenarios.declarations import When
from simulator.scenarios.reader import KINDS

NAMES = KnownNames(
    clusters=("a", "b"),
    topics=("t",),
    producers=("p",),
    subscriptions=("s",),
    consumers=("c",),
    brokers=("x",),
    schemas=("v",),
    roles=("r",),
    tenants=("n",),
    nodes=("d",),
    sessions=("e",),
    publishers=("f",),
)

SAMPLES = {
    "cluster": "a",
    "topic": "t",
    "topic-or-partition": "t",
    "broker": "x",
    "producer": "p",
    "subscription": "s",
    "consumer": "c",
    "client": "p",
    "link": "a<->b",
    "duration": "300ms",
    "share": "1%",
    "size": "2MB",
    "clusters": ["a", "b"],
    "messages": ["p/1", "p/2"],
    "integer": 4,
    "boolean": True,
    "position": "1:4",
    "entry-position": "1:4",
    "distribution": {"distribution": "uniform", "low": "1ms", "high": "2ms"},
    "setting-name": "replicationStartAt",
    "setting-value": "earliest",
    "address": "persistent://public/default/t",
    "addresses": ["t"],
    "role": "r",
    "tenant": "n",
    "namespace": "n/o",
    "names": ["a"],
    "schema": "v",
    "node": "d",
    "session": "e",
    "publisher": "f",
    "text": "g",
    "subscription-filter": "$share/g/t/#",
}


def sample(name):
    """A command with every argument given, of those that exclude each other the first."""
    arguments = {
        key.name: key.choices[0] if key.kind == "choice" else SAMPLES[key.kind]
        for key in COMMANDS[name].arguments
    }
    if name in ("subscription.fail-over", "cluster.migrate"):
        arguments["to"] = "b"
    for other in COMMANDS[name].one_of[1:]:
        del arguments[other]
    return {"do": name, **arguments}


@pytest.mark.parametrize("name", COMMANDS)
def test_normal_form_is_json_stable_and_normalises_to_itself(name):
    normal = normalise_command(sample(name), NAMES)
    assert json.loads(json.dumps(normal)) == normal
    assert normalise_command(normal, NAMES) == normal
    written = write_arguments(name, {key: value for key, value in normal.items() if key != "do"})
    assert normalise_command({"do": name, **written}, NAMES) == normal


@pytest.mark.parametrize("name", COMMANDS)
def test_every_required_argument_is_demanded(name):
    for key in COMMANDS[name].arguments:
        if key.required:
            command = {argument: value for argument, value in sample(name).items() if argument != key.name}
            with pytest.raises(CommandError) as caught:
                normalise_command(command, NAMES)
            assert (
                caught.value.code == "missing-argument"
                and key.name in caught.value.message
                and caught.value.hint
            )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_has_a_kind_and_a_description(name):
    assert COMMANDS[name].says
    assert all(key.kind in KINDS and key.says for key in COMMANDS[name].arguments)


def texts_of(consequence):
    """Every text of a consequence, and the (argument, value) pairs on which parts of it depend."""
    if isinstance(consequence, str):
        return [consequence], []
    parts = (
        consequence
        if isinstance(consequence, tuple)
        else (*consequence.texts.values(), consequence.otherwise)
    )
    inner = [texts_of(part) for part in parts]
    cases = (
        [(consequence.argument, value) for value in consequence.texts]
        if isinstance(consequence, When)
        else []
    )
    return sum((texts for texts, _ in inner), []), sum((more for _, more in inner), cases)


@pytest.mark.parametrize(
    "command", [one for each in DECLARED.values() for one in each.commands], ids=lambda one: one.name
)
def test_a_consequence_uses_the_arguments_of_its_command(command):
    texts, cases = texts_of(command.consequence)
    keys = {key.name: key for key in command.arguments}
    assert any(texts)
    assert set(re.findall(r"\{([^|}]*)", " ".join(texts))) <= set(keys)
    for argument, value in cases:
        key = keys[argument]
        known = ("true", "false") if key.kind == "boolean" else key.choices
        assert value == "" or value in known or (key.kind == "integer" and value.isdigit())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_form_starts_with_valid_values(name):
    begin = {key.name: key.begin for key in COMMANDS[name].arguments if key.begin is not None}
    normalise_command({**sample(name), **begin}, NAMES)


def test_defaults_are_filled_in():
    assert normalise_command({"do": "producer.publish", "producer": "p"}, NAMES) == {
        "do": "producer.publish",
        "producer": "p",
        "count": 1,
    }
    move = normalise_command(
        {"do": "subscription.fail-over", "subscription": "s", "from": "a", "to": "b", "mode": "auto"}, NAMES
    )
    assert move == {
        "do": "subscription.fail-over",
        "subscription": "s",
        "from": "a",
        "to": "b",
        "mode": "auto",
        "producers": False,
        "limit_us": 30_000_000,
        "stop-producers": False,
        "probeInterval_us": 30_000_000,
        "failoverDelay_us": 30_000_000,
        "switchBackDelay_us": 60_000_000,
        "switchBack": True,
    }


def test_units_are_read():
    assert normalise_command({"do": "link.slow", "link": " a->b", "latency": "0.3s"}, NAMES) == {
        "do": "link.slow",
        "link": "a -> b",
        "latency_us": 300_000,
    }
    hold = normalise_command({"do": "consumer.hold", "consumer": "c", "share": "1%", "for": "10s"}, NAMES)
    assert hold == {"do": "consumer.hold", "consumer": "c", "share_millionths": 10_000, "for_us": 10_000_000}


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ({}, "missing-argument", "do"),
        ({"do": "cluster.crsh"}, "unknown-command", "cluster.crsh"),
        ({"do": ["x"]}, "unknown-command", "x"),
        ({"do": "cluster.crash", "cluster": "z"}, "unknown-name", '"z"'),
        ({"do": "cluster.crash", "cluster": "a", "force": True}, "unknown-argument", "force"),
        ({"do": "client.kill", "client": "s"}, "unknown-name", "producer or consumer"),
        ({"do": "topic.unload", "cluster": "a", "topic": "u-partition-0"}, "unknown-name", "u-partition-0"),
        ({"do": "link.cut", "link": "a -> z"}, "unknown-name", '"z"'),
        ({"do": "link.cut", "link": "a to b"}, "bad-value", "not a link"),
        ({"do": "link.slow", "link": "a -> b", "latency": 300}, "bad-value", "no unit"),
        ({"do": "link.slow", "link": "a -> b", "latency_us": -5}, "unknown-argument", "latency_us"),
        ({"do": "producer.publish", "producer": "p", "count": 0}, "bad-value", "too small"),
        ({"do": "consumer.hold", "consumer": "c"}, "missing-argument", "holds nothing"),
        ({"do": "consumer.release", "consumer": "c", "messages": ["c/1"]}, "unknown-name", '"c"'),
        (
            {"do": "subscription.reset", "subscription": "s", "cluster": "a"},
            "missing-argument",
            "neither position nor time",
        ),
        (
            {
                "do": "subscription.reset",
                "subscription": "s",
                "cluster": "a",
                "position": "1:4",
                "time": "1s",
            },
            "missing-argument",
            "both",
        ),
        (
            {"do": "subscription.reset", "subscription": "s", "cluster": "a", "position": 14},
            "bad-value",
            "not a position",
        ),
        (
            {"do": "subscription.fail-over", "subscription": "s", "from": "a", "to": "a", "mode": "crash"},
            "bad-value",
            "leave",
        ),
        ({"do": "setting.change", "setting": "ttl", "value": 1}, "unknown-name", "ttl"),
        (
            {"do": "setting.change", "setting": "brokerDeduplicationEnabled", "value": 1},
            "bad-value",
            "true or false",
        ),
        ({"do": "marker.drop", "cluster": "a", "type": "snapshot_requst"}, "bad-value", "snapshot_requst"),
        (
            {"do": "consumer.slow", "consumer": "c", "processing": {"kind": "constant", "value_us": "x"}},
            "bad-value",
            "distribution",
        ),
        (
            {"do": "consumer.slow", "consumer": "c", "processing": {"kind": ["constant"]}},
            "bad-value",
            "distribution",
        ),
    ],
)
def test_refusals_have_a_code_a_reason_and_a_hint(command, code, words):
    with pytest.raises(CommandError) as caught:
        normalise_command(command, NAMES)
    assert caught.value.code == code
    assert words in caught.value.message
    assert caught.value.hint


def test_the_given_command_is_not_modified():
    command = {"do": "link.slow", "link": "a -> b", "latency": "300ms"}
    normalise_command(command, NAMES)
    assert command == {"do": "link.slow", "link": "a -> b", "latency": "300ms"}


def test_marker_types_of_commands_are_those_of_the_trace():
    assert tuple(MARKER_TYPES) == MARKER_WORDS


def test_a_message_brings_the_position_of_an_entry():
    with pytest.raises(CommandError) as caught:
        normalise_command({"do": "producer.send", "producer": "p", "position": "earliest"}, NAMES)
    assert (caught.value.code, caught.value.hint) == ("bad-value", "write ledger:entry, such as 1:4")
    for command, position in (("producer.send", "1:-1"), ("subscription.reset", "earliest")):
        given = {**sample(command), "position": position}
        assert normalise_command(given, NAMES)["position"] == position
    with pytest.raises(CommandError) as caught:
        normalise_command({**sample("subscription.reset"), "position": "first"}, NAMES)
    assert caught.value.hint == "write ledger:entry, such as 1:4, or earliest or latest"
