"""A shadow replicator's connection as a state machine: every input in every state, and its invariants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.shadow.source import (
    DISCONNECTED,
    SHADOW_MOVES,
    STARTED,
    STARTING,
    TERMINATED,
    Begin,
    Connect,
    Drop,
    Retry,
    ShadowConnecting,
    Stop,
    Unlist,
)

INPUTS = {
    "start": lambda one, now_us: one.start(),
    "connected": lambda one, now_us: one.connected(one.number, True, now_us),
    "not reachable": lambda one, now_us: one.connected(one.number, False, now_us),
    "connected, stale": lambda one, now_us: one.connected(one.number - 1, True, now_us),
    "backoff over": lambda one, now_us: one.backoff_over(one.number, False),
    "backoff over, as shipped": lambda one, now_us: one.backoff_over(one.number, True),
    "backoff over, stale": lambda one, now_us: one.backoff_over(one.number - 1, True),
    "lost": lambda one, now_us: one.lost(now_us),
    "interrupted": lambda one, now_us: one.interrupted(),
    "end": lambda one, now_us: one.end(),
}
TABLE = {
    # by state, before the first connection: input: (next state, types of the effects); others change nothing
    DISCONNECTED: {
        "start": (STARTING, [Connect]),
        "backoff over": (STARTING, [Connect]),
        "backoff over, as shipped": (TERMINATED, [Unlist, Stop, Drop]),
        "interrupted": (DISCONNECTED, [Drop]),
        "end": (TERMINATED, [Stop, Drop]),
    },
    STARTING: {
        "connected": (STARTED, [Begin]),
        "not reachable": (DISCONNECTED, [Retry]),
        "lost": (DISCONNECTED, [Drop, Retry]),
        "interrupted": (STARTING, [Drop]),
        "end": (TERMINATED, [Stop, Drop]),
    },
    STARTED: {
        "lost": (DISCONNECTED, [Stop, Drop, Retry]),
        "interrupted": (STARTED, [Drop]),
        "end": (TERMINATED, [Stop, Drop]),
    },
    TERMINATED: {"interrupted": (TERMINATED, [Drop]), "end": (TERMINATED, [Drop])},
}
NOW_US = 5_000_000


@pytest.mark.parametrize("given_input", INPUTS)
@pytest.mark.parametrize("state", TABLE)
def test_each_input_in_each_state(state, given_input):
    connecting = ShadowConnecting(stream=1, state=state, number=7)
    effects = INPUTS[given_input](connecting, NOW_US)
    expected, types = TABLE[state].get(given_input, (state, []))
    assert connecting.state == expected
    assert [type(effect) for effect in effects] == types
    assert connecting.number == 7 + types.count(Drop), "what an earlier connection carried is ignored"


def test_once_connected_a_failed_start_is_retried_by_default():
    connecting = ShadowConnecting(stream=1)
    connecting.start()
    connecting.connected(0, True, NOW_US)
    connecting.lost(NOW_US)
    assert connecting.backoff_over(1, True) == [Connect()]


def test_failed_starts_wait_longer_and_a_connection_resets_the_wait():
    connecting = ShadowConnecting(stream=1)
    waits_us = []
    for _start in range(12):
        connecting.start()
        (retry,) = connecting.connected(0, False, NOW_US)
        waits_us.append(retry.at_us - NOW_US)
    assert [connecting.retries, waits_us] == [12, sorted(waits_us)]
    assert all(
        0.95 * backoff.wait_us(n) <= wait <= 1.05 * backoff.wait_us(n) for n, wait in enumerate(waits_us)
    )
    connecting.start()
    connecting.connected(0, True, NOW_US)
    assert connecting.retries == 0


def test_the_thousandth_connection_is_distinguished_from_the_one_before_it():
    connecting = ShadowConnecting(stream=1, number=998)
    connecting.start()
    connecting.interrupted()
    assert connecting.connected(998, True, NOW_US) == []
    assert connecting.connected(999, True, NOW_US) == [Begin()]
    connecting.lost(NOW_US)
    assert connecting.backoff_over(999, True) == []
    assert connecting.backoff_over(1_000, True) == [Connect()]


@given(st.lists(st.tuples(st.sampled_from(sorted(INPUTS)), st.integers(0, 10**9)), max_size=30))
def test_a_replicator_reads_only_while_connected_and_ends_once(inputs):
    connecting, effects = ShadowConnecting(stream=1), []
    for name, now_us in inputs:
        before = connecting.state
        effects += INPUTS[name](connecting, now_us)
        assert connecting.state == before or connecting.state in SHADOW_MOVES[before]
    begun, stopped = (sum(isinstance(effect, kind) for effect in effects) for kind in (Begin, Stop))
    ended_before_a_start = connecting.state == TERMINATED
    assert 0 <= begun - stopped + ended_before_a_start <= 1
