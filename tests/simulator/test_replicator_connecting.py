"""A replicator's connection as a state machine: every input in every state, and its invariants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.creation.replicator_start import CREATE, REFUSE, START, Verdict
from simulator.protocols.pulsar.replication.connecting import (
    CONNECTION_MOVES,
    DISCONNECTED,
    REMOVED,
    STARTED,
    STARTING,
    Begin,
    Break,
    Check,
    Connect,
    Connecting,
    Order,
    Refuse,
    Retry,
)
from tests.simulator.engine_runs import MS, do, open_world
from tests.simulator.test_engine_snapshots import body

PASS, CREATES, REFUSES = Verdict(START), Verdict(CREATE, 4), Verdict(REFUSE, 0, "a-reason", "in words")
CLOSES = Verdict(REFUSE, 0, "a-reason", "in words", final=True)
INPUTS = {
    "start": lambda one, now_us: one.start(None, now_us),
    "start, no way": lambda one, now_us: one.start("no connection", now_us),
    "connected": lambda one, now_us: one.connected(one.number, None, now_us),
    "connected, no way": lambda one, now_us: one.connected(one.number, "no connection", now_us),
    "connected, stale": lambda one, now_us: one.connected(one.number - 1, None, now_us),
    "passed": lambda one, now_us: one.checked(PASS, now_us),
    "lacks the topic": lambda one, now_us: one.checked(CREATES, now_us),
    "refused": lambda one, now_us: one.checked(REFUSES, now_us),
    "refused for good": lambda one, now_us: one.checked(CLOSES, now_us),
    "lost": lambda one, now_us: one.lost("link-cut", True, now_us),
    "lost, not loaded": lambda one, now_us: one.lost("topic-unloaded", False, now_us),
    "close": lambda one, now_us: one.close(),
    "remove": lambda one, now_us: one.remove(),
}
ILLEGAL = "an internal error"
TABLE = {
    # by state: input: (next state, types of the effects); any other input changes nothing
    DISCONNECTED: {
        "start": (STARTING, [Connect]),
        "start, no way": (DISCONNECTED, [Retry]),
        "close": (DISCONNECTED, []),
        "remove": (REMOVED, []),
    },
    STARTING: {
        "connected": (STARTING, [Check]),
        "connected, no way": (DISCONNECTED, [Retry]),
        "passed": (STARTED, [Begin]),
        "lacks the topic": (STARTING, [Order]),
        "refused": (DISCONNECTED, [Retry, Refuse]),
        "refused for good": (DISCONNECTED, [Refuse]),
        "lost": (DISCONNECTED, [Retry]),
        "lost, not loaded": (DISCONNECTED, []),
        "close": (DISCONNECTED, []),
        "remove": (REMOVED, []),
    },
    STARTED: {
        "lost": (DISCONNECTED, [Break, Retry]),
        "lost, not loaded": (DISCONNECTED, [Break]),
        "close": (DISCONNECTED, [Break]),
        "remove": (REMOVED, [Break]),
    },
    REMOVED: {"close": ILLEGAL},  # it is no longer among its topic's replicators
}
CHECKED = ("passed", "lacks the topic", "refused", "refused for good")
"""Inputs that come only from a Check, which only a starting replicator requests."""


PAIRS = [
    (state, name) for state in CONNECTION_MOVES for name in INPUTS if state == STARTING or name not in CHECKED
]


@pytest.mark.parametrize(("state", "name"), PAIRS, ids=[f"{state}, {name}" for state, name in PAIRS])
def test_every_input_in_every_state(state, name):
    one = Connecting(1, state, 3)
    expected = TABLE[state].get(name, (state, []))
    if expected == ILLEGAL:
        with pytest.raises(AssertionError, match="no move of a replicator"):
            INPUTS[name](one, 7)
        assert one.state == state
        return
    effects = INPUTS[name](one, 7)
    assert (one.state, [type(effect) for effect in effects]) == expected


def test_the_table_has_all_moves_and_no_others():
    moves = {
        (before, found[0])
        for before, inputs in TABLE.items()
        for found in inputs.values()
        if found != ILLEGAL and found[0] != before
    }
    assert moves == {(before, after) for before, moves in CONNECTION_MOVES.items() for after in moves}


def test_a_refusal_has_its_reason_and_its_retry_time():
    one = Connecting(1, STARTING)
    retry, refuse = one.checked(REFUSES, 1_000)
    assert refuse == Refuse("a-reason", "in words", retry.at_us - 1_000) and retry.why == "in words"
    assert abs(refuse.wait_us - backoff.wait_us(0)) <= backoff.wait_us(0) * backoff.JITTER_PERCENT // 100


def within_jitter(retry, now_us, retries):
    """Whether it waits as long as the client's backoff does after so many retries."""
    wait_us = backoff.wait_us(retries)
    return abs(retry.at_us - now_us - wait_us) <= wait_us * backoff.JITTER_PERCENT // 100


@pytest.mark.parametrize("now_us", [(1 << 22) - 1, (1 << 40) - 1])
def test_a_wait_is_measured_from_now(now_us):
    (retry,) = Connecting(1).start("no connection", now_us)
    assert within_jitter(retry, now_us, 0)


def test_each_failed_start_waits_longer_and_a_started_producer_resets_the_backoff():
    """`AbstractReplicator` calls `backOff.reset()` once its producer is created."""
    one = Connecting(1)
    for retries in range(4):
        (retry,) = one.start("no connection", 0)
        assert within_jitter(retry, 0, retries)
    one.start(None, 0)
    assert one.checked(PASS, 0) == [Begin()]
    _break, retry = one.lost("link-cut", True, 0)
    assert within_jitter(retry, 0, 0)


def test_the_answer_of_an_earlier_connection_is_ignored():
    one = Connecting(1, number=1_000)
    one.start(None, 0)
    one.lost("link-cut", True, 0)
    one.start(None, 0)
    assert one.connected(1_000, None, 0) == [] and one.state == STARTING
    assert one.connected(int("1001"), None, 0) == [Check()]


def test_the_topic_is_requested_in_the_local_shape():
    assert Connecting(1, STARTING).checked(CREATES, 0) == [Order(4)]


@given(st.lists(st.sampled_from(sorted(INPUTS)), max_size=60))
def test_a_replicator_works_only_after_a_passed_check_and_breaks_each_connection_once(names):
    one, working, checking, retries = Connecting(1), False, False, 0
    for now_us, name in enumerate(names):
        if (name in CHECKED and not checking) or one.state == REMOVED:
            continue
        number = one.number
        effects = INPUTS[name](one, now_us)
        for effect in effects:
            if isinstance(effect, Begin):
                assert name == "passed" and checking and not working
                working, retries = True, 0
            elif isinstance(effect, Break):
                assert working and one.number == number + 1
                working = False
            elif isinstance(effect, Retry):
                assert one.state == DISCONNECTED and effect.at_us > now_us
                retries += 1
        retries = 0 if name == "close" else retries
        checking = bool(effects) and isinstance(effects[0], Check)
        assert working == (one.state == STARTED) and one.retries == retries


def test_a_single_run_takes_every_move_except_the_removal(monkeypatch):
    seen, become = [], Connecting.become

    def noted(self, state):
        seen.append((self.state, state))
        become(self, state)

    monkeypatch.setattr(Connecting, "become", noted)
    world = open_world(body(), until="5s")
    world.run(1000 * MS)
    do(world, "link.cut", link="a -> b")
    world.run(1500 * MS)
    do(world, "link.heal", link="a -> b")
    world.run(2500 * MS)
    do(world, "topic.unload", topic="t", cluster="a")
    world.run(2501 * MS)
    do(world, "link.cut", link="a -> b")  # while it connects
    world.run()
    moves = {(before, after) for before, moves in CONNECTION_MOVES.items() for after in moves}
    assert set(seen) == {(before, after) for before, after in moves if after != REMOVED}
