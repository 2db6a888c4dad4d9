"""When a client requests redelivery after negative acks (`NegativeAcksTracker` of the Java client)."""

from __future__ import annotations

import pytest

from simulator import ScenarioError, World, load_scenario_text
from simulator.protocols.pulsar.scenario.model import RedeliveryBackoff
from simulator.scenarios.canonical import canonical_text

TEXT = """\
format: 1
name: negative
title: Negative acks
family: replicated-subscriptions
until: 20s
options: {{negativeAckTracker: {tracker}}}
clusters: {{a: {{}}}}
topics: {{t: {{clusters: [a]}}}}
producers: {{p: {{topic: t, cluster: a, start: 50ms, every: 100ms, count: 10, keys: 3}}}}
subscriptions: {{s: {{topic: t, type: {type}, initialPosition: Earliest}}}}
consumers:
  c:
    subscription: s
    cluster: a
    negativeAckRedeliveryDelay: 3s
    negativeAckPrecisionBitCnt: {bits}
    negativeAcknowledge: {{messages: [p/0, p/5, p/9]}}
"""


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared"])
@pytest.mark.parametrize(
    ("tracker", "bits", "again_ms"),
    [
        # acked negatively at 50, 550 and 950 ms; the timer of the first runs out at 3,050 ms
        ("bitmap", 8, [3_050, 3_328, 3_840]),  # 3,550 and 3,950 cut down to multiples of 256
        ("bitmap", 0, [3_050, 3_550, 3_950]),
        ("bitmap", 12, [3_050, 3_050, 3_050]),  # cut down to 0: due when the timer runs out
        ("rounds", 8, [3_050, 4_050, 4_050]),  # a round each second from 50 ms on
    ],
)
def test_single_messages_are_requested_when_the_client_s_timer_runs_out(
    type_: str, tracker: str, bits: int, again_ms: list[int]
) -> None:
    world = World.from_scenario(load_scenario_text(TEXT.format(type=type_, tracker=tracker, bits=bits)))
    world.run()
    delivered = world.trace.rows(0, world.seq, types=["message.delivered"])
    again = {row["sequence_id"]: row["at_us"] // 1000 for row in delivered if row["count"] == 1}
    assert again == dict(zip((0, 5, 9), again_ms, strict=True)) and len(delivered) == 13
    assert world.violations == []


def test_a_timer_starts_anew_when_no_negative_ack_is_pending() -> None:
    """The next one is a delay later, whatever its low bits: 5,050 + 3,000 ms."""
    text = TEXT.format(type="Shared", tracker="bitmap", bits=8).replace("[p/0, p/5, p/9]", "[p/0, p/5]")
    world = World.from_scenario(load_scenario_text(text.replace("every: 100ms", "every: 1s")))
    world.run()
    delivered = world.trace.rows(0, world.seq, types=["message.delivered"])
    assert [row["at_us"] // 1000 for row in delivered if row["count"] == 1] == [3_050, 8_050]


def _deliveries(world: World, number: int) -> list[tuple[int, int]]:
    """(instant in ms, redelivery count) of each delivery of a message."""
    world.run()
    assert world.violations == []
    rows = world.trace.rows(0, world.seq, types=["message.delivered"])
    return [(row["at_us"] // 1000, row["count"]) for row in rows if row["sequence_id"] == number]


def _backoff(type_: str, tracker: str, messages: str, times: int, multiplier: str = "1.5") -> World:
    text = TEXT.format(type=type_, tracker=tracker, bits=0).replace("count: 10", "count: 30")
    text = text.replace("[p/0, p/5, p/9]", f"[{messages}], times: {times}")
    backoff = f"{{minDelayMs: 1000, maxDelayMs: 3000, multiplier: {multiplier}}}"
    return World.from_scenario(load_scenario_text(f"{text}    negativeAckRedeliveryBackoff: {backoff}\n"))


@pytest.mark.parametrize("type_", ["Shared", "Key_Shared"])
@pytest.mark.parametrize(
    ("tracker", "again_ms"),
    [
        ("bitmap", [1_050, 2_550, 4_800, 7_800]),  # after 1,000, 1,500, 2,250 and, at most, 3,000 ms
        # a round each third of 1 s from 50 ms on, and the first one at which the message is due
        ("rounds", [1_050, 2_716, 5_050, 8_050]),
    ],
)
def test_the_delays_of_a_backoff_grow_with_the_redelivery_count(
    type_: str, tracker: str, again_ms: list[int]
) -> None:
    expected = list(zip([50, *again_ms], range(5), strict=True))
    assert _deliveries(_backoff(type_, tracker, "p/0", 4), 0) == expected


@pytest.mark.parametrize("tracker", ["bitmap", "rounds"])
@pytest.mark.parametrize("type_", ["Exclusive", "Failover"])
def test_a_backoff_does_not_grow_where_the_broker_counts_no_redeliveries(type_: str, tracker: str) -> None:
    """RedeliveryTrackerDisabled (PersistentDispatcherSingleActiveConsumer): the count is always 0."""
    begun_ms = {"Exclusive": 50, "Failover": 1_000}[type_]
    expected = [(begun_ms + delay_ms, 0) for delay_ms in (0, 1_000, 2_000, 3_000)]
    assert _deliveries(_backoff(type_, tracker, "p/0", 3), 0) == expected


def test_a_shorter_delay_does_not_set_the_client_s_timer_forward() -> None:
    """p/15 is due at 2,550 ms. The timer, set by p/0 at 1,050 ms, runs out at 3,050 ms."""
    assert _deliveries(_backoff("Shared", "bitmap", "p/0, p/15", 2, "2"), 15)[:2] == [(1_550, 0), (3_050, 1)]
    assert _deliveries(_backoff("Shared", "rounds", "p/0, p/15", 2, "2"), 15)[:2] == [(1_550, 0), (2_716, 1)]


def test_rounds_go_on_until_one_finds_nothing_pending() -> None:
    """p/0 is requested at 3,050 ms. p/31, acked at 3,150 ms, is due in the rounds of 50 ms, not of its own."""
    text = TEXT.format(type="Shared", tracker="rounds", bits=0).replace("count: 10", "count: 40")
    world = World.from_scenario(load_scenario_text(text.replace("[p/0, p/5, p/9]", "[p/0, p/31]")))
    assert _deliveries(world, 31) == [(3_150, 0), (7_050, 1)]


@pytest.mark.parametrize(
    ("keys", "delays_ms"),
    [
        ({}, [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000]),
        ({"min_delay_ms": 0}, [0, 0, 0]),
        ({"min_delay_ms": 7, "max_delay_ms": 12, "multiplier_millionths": 1_300_000}, [7, 9, 11, 12]),
        ({"min_delay_ms": 5, "max_delay_ms": 5}, [5, 5]),
    ],
)
def test_delays_are_those_of_multiplier_redelivery_backoff(
    keys: dict[str, int], delays_ms: list[int]
) -> None:
    backoff = RedeliveryBackoff(**keys)
    assert [backoff.next_us(count) // 1000 for count in range(len(delays_ms))] == delays_ms
    assert backoff.next_us(10**9) == (delays_ms[-1] if keys else 600_000) * 1000


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{minDelayMs: 2000, maxDelayMs: 1000}", "maxDelayMs, 1000, is below minDelayMs, 2000"),
        ("{minDelayMs: 600001}", "maxDelayMs, 600000, is below minDelayMs, 600001"),
        ("{multiplier: 1}", "1 is too small; at least 1.000001"),
        ("{minDelayMs: 1s}", '"1s" is not a whole number'),
        ("{minDelay: 1}", "unknown key"),
    ],
)
def test_a_backoff_that_pulsar_s_builder_refuses_is_refused(given: str, message: str) -> None:
    text = TEXT.format(type="Shared", tracker="bitmap", bits=8)
    with pytest.raises(ScenarioError) as refused:
        load_scenario_text(f"{text}    negativeAckRedeliveryBackoff: {given}\n")
    assert message in str(refused.value)


def test_a_backoff_and_times_are_saved_with_the_scenario() -> None:
    text = canonical_text(_backoff("Shared", "bitmap", "p/0", 4).scenario)
    assert "negativeAckRedeliveryBackoff: {minDelayMs: 1000, maxDelayMs: 3000, multiplier: 1.5}" in text
    assert "times: 4" in text and canonical_text(load_scenario_text(text)) == text
