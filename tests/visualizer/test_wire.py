"""Messages that a page may send: types and bounds, and that nothing else is accepted."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from visualizer.live.wire import INBOUND, MESSAGE_LIMIT, Refused, decode, encode

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@given(st.text(max_size=200))
def test_any_text_is_accepted_or_refused_with_a_reason(text):
    _accepted_or_refused(text)


@given(
    st.sampled_from(sorted(INBOUND)),
    st.dictionaries(
        st.sampled_from(
            ["at_us", "seq", "speed", "filter", "command", "number", "epoch", "token", "id", "x"]
        ),
        json_values,
        max_size=4,
    ),
)
def test_any_fields_are_accepted_or_refused_with_a_reason(kind, fields):
    _accepted_or_refused(json.dumps({"type": kind, **fields}))


def _accepted_or_refused(text: str) -> None:
    try:
        message = decode(text)
    except Refused as refused:
        assert refused.code and refused.error and refused.hint
        return
    fields, required = INBOUND[message["type"]]
    assert set(message) - {"type"} <= set(fields) and required <= set(message)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "hello"},
        {"type": "hello", "token": "t", "epoch": 3, "number": 9},
        {"type": "seen", "epoch": 1, "number": 2},
        {"type": "play"},
        {"type": "play", "speed": 0.001},
        {"type": "play", "speed": 2, "until_us": 5_000_000},
        {"type": "seek", "seq": 0},
        {"type": "step", "filter": {"message": ["web", 5]}},
        {"type": "step-back", "filter": "everything"},
        {"type": "command", "id": 7, "command": {"do": "producer.publish", "producer": "web", "count": 5}},
        {
            "type": "command",
            "command": {
                "do": "link.slow",
                "latency": {"distribution": "uniform", "low": "1ms", "high": "2ms"},
            },
        },
        {"type": "branch", "number": 0},
    ],
)
def test_messages_of_the_protocol_are_accepted(message):
    assert decode(json.dumps(message)) == message


@pytest.mark.parametrize(
    "message",
    [
        {"type": "seek", "at_us": 1, "seq": 1},
        {"type": "seek", "at_us": True},
        {"type": "play", "speed": "fast"},
        {"type": "play", "speed": 0},
        {"type": "play", "until_us": -1},
        {"type": "play", "until_us": 1.5},
        {"type": "step", "filter": "all"},
        {"type": "step", "filter": {"message": ["web"]}},
        {"type": "command", "command": {"do": "x", "deep": [[[[1]]]]}},
        {"type": "command", "command": {"do": "x", "long": list(range(1001))}},
        {"type": "command", "command": {"do": "x", **{f"a{n}": n for n in range(20)}}},
        {"type": "command", "command": {"do": "x", "text": "y" * 201}},
        {"type": "command", "id": ["c"], "command": {"do": "x"}},
        {"type": "branch", "number": -1},
        {"type": "hello", "token": "t" * 201},
    ],
)
def test_values_out_of_bounds_are_refused(message):
    with pytest.raises(Refused) as caught:
        decode(json.dumps(message))
    assert caught.value.code == "bad-message"


def test_the_longest_message_is_accepted_and_a_longer_one_refused():
    padding = MESSAGE_LIMIT - len('{"type":"pause"}')
    assert decode('{"type":"pause"}' + " " * padding) == {"type": "pause"}
    with pytest.raises(Refused, match="characters"):
        decode('{"type":"pause"}' + " " * (padding + 1))


def test_infinities_are_never_sent():
    with pytest.raises(ValueError):
        encode({"type": "frame", "speed": float("inf")})
