"""When a client requests redelivery after negative acks (`NegativeAcksTracker` of the Java client)."""

from __future__ import annotations

import pytest

from simulator import World, load_scenario_text

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
