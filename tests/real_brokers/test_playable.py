"""What can be played on real brokers, and how the rest is named before anything starts."""

from __future__ import annotations

import pytest

from script.real_brokers.install import evicts_oldest_first, numbers
from script.real_brokers.plan import problems
from simulator import load_scenario, scenario_names
from simulator.scenarios.builtin import builtin_text

BASE = """format: 1
name: orders
title: A failover
family: replicated-subscriptions
until: 8s
clusters: {west: {}, east: {}}
topics:
  orders: {clusters: [west, east]TOPIC}
producers:
  shop: {topic: orders, cluster: west, every: 100msPRODUCER}
subscriptions:
  billing: {topic: orders, type: SharedSUBSCRIPTION}
consumers:
  billing-1: {subscription: billing, cluster: westCONSUMER}
"""


def found(tail: str = "", version: str = "4.2.4", **parts: str) -> list[str]:
    text = BASE
    for word in ("TOPIC", "PRODUCER", "SUBSCRIPTION", "CONSUMER"):
        text = text.replace(word, parts.get(word.lower(), ""))
    text += tail
    return [str(problem) for problem in problems(load_scenario(text), text, "file.yaml", version)]


def test_a_plain_scenario_can_be_played():
    assert found() == []


def test_named_messages_can_be_held_and_negatively_acknowledged():
    assert found(consumer=", hold: {messages: [shop/3]}, negativeAcknowledge: {messages: [shop/5]}") == []


@pytest.mark.parametrize(
    "command",
    [
        "do: cluster.crash, cluster: west",
        "do: cluster.restart, cluster: west",
        "do: link.cut, link: west -> east",
        "do: cluster.crash, cluster: west, fault: process",
        "do: link.partition, link: west <-> east",
        "do: link.slow, link: west <-> east, latency: 1s",
        "do: link.heal, link: west -> east",
        "do: topic.unload, cluster: west, topic: orders",
        "do: subscription.fail-over, subscription: billing, from: west, to: east, mode: crash",
        "do: subscription.fail-over, subscription: billing, from: west, to: east, mode: planned",
        "do: subscription.fail-over, subscription: billing, from: west, to: east, mode: drained",
        "do: subscription.fail-over, subscription: billing, from: west, to: east, mode: auto",
        "do: subscription.reset, subscription: billing, cluster: west, position: earliest",
        "do: subscription.reset, subscription: billing, cluster: west, time: 1s",
        "do: subscription.replicate, subscription: billing, cluster: west, enabled: false",
    ],
)
def test_the_promised_commands_can_be_played(command):
    assert found(f"commands:\n  - {{at: 1s, {command}}}\n") == []


@pytest.mark.parametrize(
    ("parts", "place", "words"),
    [
        ({"topic": ", replication: [west -> east]"}, "file.yaml:8:", "topics.orders.replication"),
        ({"producer": ", replicateTo: []"}, "file.yaml:10:", "producers.shop.replicateTo"),
        (
            {"producer": ", delay: {share: 1%, for: 1s}"},
            "file.yaml:10:",
            "producers.shop.delay: a share cannot be played; name the messages",
        ),
        (
            {"subscription": ", acknowledgementSync: once"},
            "file.yaml:12:",
            "subscriptions.billing.acknowledgementSync",
        ),
        ({"consumer": ", ackTimeout: 5s"}, "file.yaml:14:", "consumers.billing-1.ackTimeout: an ack timeout"),
        ({"consumer": ", hold: {share: 5%}"}, "file.yaml:14:", "consumers.billing-1.hold"),
        (
            {"consumer": ", negativeAcknowledge: {share: 5%}"},
            "file.yaml:14:",
            "consumers.billing-1.negativeAcknowledge: a share cannot be played; name the messages",
        ),
        (
            {"consumer": ", negativeAcknowledge: {messages: [shop/5], times: 2}"},
            "file.yaml:14:",
            "consumers.billing-1.negativeAcknowledge.times: the rig acks a message negatively once",
        ),
        (
            {"consumer": ", negativeAckRedeliveryBackoff: {}"},
            "file.yaml:14:",
            "consumers.billing-1.negativeAckRedeliveryBackoff: a backoff of negative acks",
        ),
        (
            {"tail": "commands:\n  - {at: 1s, do: topic.terminate, cluster: west, topic: orders}\n"},
            "file.yaml:16:",
            "topic.terminate cannot be played",
        ),
        (
            {
                "tail": "commands:\n  - {at: 1s, do: subscription.reset, subscription: billing, cluster: west, position: '1:4'}\n"
            },
            "file.yaml:16:",
            "use earliest, latest or time",
        ),
        (
            {
                "tail": "commands:\n  - {at: 1s, do: subscription.fail-over, subscription: billing, from: west, to: east, mode: auto, probe: lookup}\n"
            },
            "file.yaml:16:",
            "probe",
        ),
        (
            {"tail": "settings: {ttlDurationDefaultInSeconds: 5}\n"},
            "file.yaml:15:",
            "settings.ttlDurationDefaultInSeconds",
        ),
    ],
)
def test_what_cannot_be_played_is_named_with_its_place(parts, place, words):
    (problem,) = found(**parts)
    assert problem.startswith(place)
    assert words in problem


def test_the_crash_of_a_host_is_named():
    (problem,) = found("commands:\n  - {at: 1s, do: cluster.crash, cluster: west, fault: host}\n")
    assert "commands[0].fault" in problem and "use process" in problem


def test_all_problems_are_named_at_once_in_the_order_of_the_file():
    given = found(topic=", replication: [west -> east]", consumer=", paused: true, ackTimeout: 5s")
    assert [problem.split(": ")[1] for problem in given] == [
        "topics.orders.replication",
        "consumers.billing-1.paused",
        "consumers.billing-1.ackTimeout",
    ]


def test_the_cache_rule_must_be_that_of_the_version():
    tail = "options: {snapshotCacheRule: oldest-first}\n"
    (problem,) = found(tail)
    assert "use --pulsar 4.0.7" in problem
    assert found(tail, "4.0.7") == []
    (problem,) = found("options: {snapshotCacheRule: spread}\n", "4.0.7")
    assert "use --pulsar 4.2.4" in problem


def test_an_option_that_no_broker_has_is_named():
    (problem,) = found("options: {unsafePartialSnapshotAfter: 1s}\n")
    assert "options.unsafePartialSnapshotAfter" in problem
    assert found("options: {initialSnapshotCoversOlder: false}\n") == []


def test_a_scenario_of_another_protocol_is_refused():
    text = builtin_text("groups-join")
    (problem,) = problems(load_scenario("groups-join"), text, "groups-join.yaml", "4.2.4")
    assert "no family of Pulsar" in str(problem)


def test_the_built_in_scenarios_of_replicated_subscriptions_can_mostly_be_played():
    played = [
        name
        for name in scenario_names()
        if not problems(load_scenario(name), builtin_text(name), f"{name}.yaml", "4.2.4")
    ]
    for name in ("two-regions", "three-regions", "region-down", "fail-over-and-back", "producers-everywhere"):
        assert name in played
    for name in ("one-way-replication", "strategies-backlog", "update-in-flight", "shadow-cached"):
        assert name not in played


@pytest.mark.parametrize(
    ("version", "oldest"),
    [("4.0.7", True), ("4.0.9", False), ("4.1.2", True), ("4.1.3", False), ("4.2.4", False)],
)
def test_the_cache_rule_of_a_version(version, oldest):
    assert evicts_oldest_first(version) is oldest


def test_a_version_is_three_numbers():
    with pytest.raises(ValueError, match="three numbers"):
        numbers("latest")
