"""Recordings of faults and of other kinds of clients, made into rows again.

As in `test_rows_round_trip`: what the engine's run gives, its recording must give, too. Here are the cases that
need more than messages and snapshots: restarts, unloads, resets, links, partitions, batches, cumulative acks.
And a recording whose instants are late, as polled ones are, must give the same verdicts.
"""

from __future__ import annotations

import random

import pytest

from script.real_brokers.output import figures
from script.real_brokers.recording import recording_of
from script.real_brokers.rows import convert
from simulator import load_scenario_text
from tests.real_brokers.recorded_from_engine import EngineRun

HEAD = """
format: 1
name: recorded
title: A recorded run
family: replicated-subscriptions
until: {until}
clusters: {{west: {{}}, east: {{}}}}
links: {{default: {{latency: 40ms}}}}
topics: {{orders: {{clusters: [west, east]{topic}}}}}
producers:
  shop: {{topic: orders, cluster: west, start: 53ms, every: 100ms, count: 60{producer}}}
subscriptions:
  billing: {{topic: orders, type: {type}, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers:
  billing-1: {{subscription: billing, cluster: west, processing: 2ms{consumer}}}
"""

MOVE = "  - {at: 5630ms, do: subscription.fail-over, subscription: billing, from: west, to: east, mode: %s}"

CASES = {
    "planned": {"commands": [MOVE % "planned"]},
    "crash of the consumer": {"commands": [MOVE % "crash"]},
    "drained": {"commands": [MOVE % "drained"]},
    "crash and restart": {
        "commands": [
            "  - {at: 3430ms, do: cluster.crash, cluster: west}",
            "  - {at: 4430ms, do: cluster.restart, cluster: west}",
            "  - {at: 7630ms, do: subscription.fail-over, subscription: billing, from: west, to: east, mode: planned}",
        ],
        "until": "12s",
    },
    "unload": {
        "commands": ["  - {at: 3430ms, do: topic.unload, topic: orders, cluster: west}", MOVE % "planned"]
    },
    "reset to the beginning": {
        "commands": [
            "  - {at: 5030ms, do: subscription.reset, subscription: billing, cluster: east, position: earliest}",
            MOVE % "planned",
        ]
    },
    "reset to the end": {
        "commands": [
            "  - {at: 5030ms, do: subscription.reset, subscription: billing, cluster: east, position: latest}",
            MOVE % "planned",
        ]
    },
    "reset while messages are acked": {
        "commands": [
            "  - {at: 5030ms, do: subscription.reset, subscription: billing, cluster: west, position: earliest}",
            MOVE % "planned",
        ]
    },
    "cut link that heals": {
        "commands": [
            "  - {at: 2430ms, do: link.cut, link: west <-> east}",
            "  - {at: 4430ms, do: link.heal, link: west <-> east}",
            MOVE % "planned",
        ]
    },
    "slow link": {
        "commands": ["  - {at: 2430ms, do: link.slow, link: west -> east, latency: 300ms}", MOVE % "planned"]
    },
    "partitions": {"topic": ", partitions: 3", "commands": [MOVE % "planned"]},
    "keys": {"type": "Key_Shared", "producer": ", keys: 5", "commands": [MOVE % "planned"]},
    "negative acks and held messages": {
        "consumer": ", negativeAcknowledge: {share: 10%}, negativeAckRedeliveryDelay: 300ms,"
        " hold: {messages: [shop/30], for: 20s}",
        "commands": [MOVE % "planned"],
    },
    "cumulative": {
        "type": "Exclusive",
        "consumer": ", acknowledge: cumulative",
        "commands": [MOVE % "planned"],
    },
    "batches": {"producer": ", batch: 4", "commands": [MOVE % "planned"]},
    "replication off": {
        "commands": [
            "  - {at: 3430ms, do: subscription.replicate, subscription: billing, cluster: west, enabled: false}",
            MOVE % "planned",
        ]
    },
}


def scenario_of(case: str):
    """The scenario of a case."""
    given = {"until": "10s", "topic": "", "producer": "", "consumer": "", "type": "Shared", **CASES[case]}
    commands = given.pop("commands")
    return load_scenario_text(HEAD.format(**given) + "commands:\n" + "\n".join(commands) + "\n")


def recorded(case: str, monkeypatch) -> EngineRun:
    """The engine's run of a case."""
    return EngineRun(scenario_of(case), monkeypatch)


@pytest.mark.parametrize("case", CASES)
def test_a_recording_with_this_gives_the_figures_of_the_run(case, monkeypatch):
    run = recorded(case, monkeypatch)
    found = convert(recording_of(run.lines()), run.world.scenario)
    assert figures(found.trace, run.world.scenario) == figures(run.world.trace, run.world.scenario)
    for type_ in CLIENT_ROWS:
        assert _columns(found.trace.rows(), type_) == _columns(run.rows, type_), type_


def test_acks_still_move_a_cursor_between_the_request_of_a_reset_and_its_effect(monkeypatch):
    run = recorded("reset while messages are acked", monkeypatch)
    early_ns = 250_000_000  # two ack groups are sent meanwhile
    lines = [
        {**line, "t": line["t"] - early_ns} if line.get("do") == "subscription.reset" else line
        for line in run.lines()
    ]
    found = convert(recording_of(lines), run.world.scenario)

    def moves(rows) -> list[tuple]:
        return [
            (row["at_us"], row["ledger"], row["entry"], row["to_ledger"], row["to_entry"], row["reason"])
            for row in rows
            if row["type"] == "cursor.moved" and row["cluster"] == "west"
        ]

    [reset] = [move for move in moves(found.trace.rows()) if move[-1] == "reset"]
    assert [reset] == [move for move in moves(run.rows) if move[-1] == "reset"]
    assert reset[3:5] < reset[1:3], "it went back"
    between = [move for move in moves(found.trace.rows()) if 0 < reset[0] - move[0] < early_ns // 1000]
    assert len(between) >= 2 and {move[-1] for move in between} == {"acknowledgement"}


CLIENT_ROWS = (
    "message.published",
    "message.delivered",
    "message.acknowledged",
    "message.negatively-acknowledged",
    "message.registered",
    "client.changed",
    "command.applied",
    "link.cut",
    "link.healed",
    "link.slowed",
    "subscription.replication-switched",
)
"""Types of which a recording gives every row with all its columns."""


def _columns(rows: list[dict], type_: str) -> list[tuple]:
    kept = [
        {name: value for name, value in row.items() if name not in ("seq", "cause_seq", "evidence_seq")}
        for row in rows
        if row["type"] == type_
    ]
    return sorted(tuple(sorted(row.items())) for row in kept)


LATE_NS = {"controller": 1e6, "cursor": 1e6, "replicator": 1e6, "consumer": 1e6, "cache": 1e6, "ack": 3e5}
"""Most nanoseconds by which the rig's events are late: polled ones a millisecond."""


def late(lines: list[dict], seed: int) -> list[dict]:
    """The lines with polled events late, each kind of one thing still in order."""
    drawn, last, found = random.Random(seed), {}, []
    for line in lines:
        if line["e"] in LATE_NS:
            thing = tuple(line.get(name) for name in ("e", "cluster", "topic", "subscription", "peer"))
            t = max(line["t"] + drawn.randrange(int(LATE_NS[line["e"]])), last.get(thing, 0) + 1)
            last[thing] = t
            line = {**line, "t": t}
        found.append(line)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", ["planned", "crash of the consumer", "crash and restart", "partitions"])
def test_late_polls_change_no_verdict(case, seed, monkeypatch):
    run = recorded(case, monkeypatch)
    found = convert(recording_of(late(run.lines(), seed)), run.world.scenario)
    real, simulated = (figures(trace, run.world.scenario) for trace in (found.trace, run.world.trace))
    for name in ("failovers", "repeated", "snapshots", "markers", "violations"):
        assert real[name] == simulated[name], name
    assert found.cut == 0
