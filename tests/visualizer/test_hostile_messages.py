"""No message of a page stops its lab or its socket.

Generated from the registry of message types and the table of commands.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from simulator import COMMANDS
from tests.visualizer.hostile import numbers, texts, values
from tests.visualizer.pages import HOST, ORIGIN, Page, Socket, application
from visualizer.live.wire import CONTROLS, INBOUND, LONGEST_NAME

FAR_US = (10_000_000, 3_600_000_000)
"""Instants between these take long to run, and are left out."""

near = numbers.filter(lambda number: not FAR_US[0] < number <= FAR_US[1])
commands = st.fixed_dictionaries({"do": st.sampled_from(sorted(COMMANDS)) | texts}) | st.builds(
    lambda do, given: {"do": do, **given},
    st.sampled_from(sorted(COMMANDS)),
    st.dictionaries(
        st.sampled_from(
            [
                "cluster",
                "link",
                "topic",
                "producer",
                "consumer",
                "subscription",
                "at",
                "latency",
                "from",
                "to",
                "mode",
            ]
        ),
        st.sampled_from(["a", "b", "a -> b", "orders", "web", "billing"]) | values,
        max_size=5,
    ),
)
fields: dict[str, st.SearchStrategy[Any]] = {
    "at_us": near,
    "seq": near,
    "until_us": near,
    "speed": st.floats() | values,
    "filter": st.sampled_from(["everything", "control"]) | values,
    "command": commands | values,
    "number": numbers,
    "epoch": numbers,
    "token": texts,
    "id": texts | numbers,
    "apart": st.booleans(),
    "by": texts,
    "shown": st.dictionaries(st.sampled_from(["panel", "choices", "lit", "item", "mark", "tour"]), values)
    | values,
}

RAW = [
    " ",
    "[" * 20_000,
    '{"type":' * 2_000,
    '{"type": "seek", "at_us": ' + "9" * 4_301 + "}",
    '{"type": "hello", "token": "\\ud800"}',
    '{"type": "command", "id": "\\ud800", "command": {"do": "\\u0000"}}',
    "\0",
    "NaN",
    "null",
    "[]",
]


def messages_of(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    known, required = INBOUND[kind]
    assert set(known) <= set(fields), f"the new field of {kind} needs values here"
    return st.fixed_dictionaries(
        {"type": st.just(kind), **{name: fields[name] for name in required}},
        optional={name: fields[name] for name in known if name not in required},
    )


@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
async def test_no_message_stops_a_lab(hub, made, data):
    page = Page(made.lab.pk, made.token)
    await page.open()
    for kind in sorted(CONTROLS):
        await page.socket.send_to(text_data=json.dumps(data.draw(messages_of(kind))))
    await page.socket.send_to(text_data=data.draw(st.sampled_from(RAW)))
    await page.send({"type": "command", "id": "the last one", "command": {"do": "no such command"}})
    assert not (await page.until("result", lambda result: result["id"] == "the last one"))["ok"]
    room = await hub.room(made.lab.pk)
    assert room.failure is None
    await page.close()


@pytest.mark.parametrize("token", ["\ud800", "\0", "x" * (LONGEST_NAME + 1), "٣"])
async def test_a_hostile_token_is_refused_with_a_reason(hub, made, token):
    page = Page(made.lab.pk, token)
    connected, _ = await page.socket.connect()
    assert connected
    await page.send({"type": "hello", "token": token})
    assert (await page.until("error"))["code"] in ("bad-json", "bad-message", "not-owner")
    await page.close()


@pytest.mark.parametrize("raw", RAW)
@pytest.mark.parametrize("path", ["/ws/labs/{lab}/"])
async def test_an_invalid_message_is_refused_with_a_reason(hub, made, path, raw):
    socket = Socket(application, path.format(lab=made.lab.pk), headers=[(b"host", HOST.encode()), ORIGIN])
    assert (await socket.connect())[0]
    await socket.send_to(text_data=raw)
    answer = json.loads(await socket.receive_from())
    assert (
        answer["type"] == "error" and answer["error"] and answer["hint"] and len(json.dumps(answer)) < 2_000
    )
    await socket.disconnect()


@pytest.mark.parametrize(
    "path",
    ["/ws/", "/ws/labs/", "/ws/labs/a/b/", "/ws/nothing/", "/", "/ws/labs/%00/", "/ws/labs/" + "x" * 5_000],
)
async def test_an_unknown_socket_address_is_refused_before_the_handshake_ends(hub, path, caplog):
    socket = Socket(application, path, headers=[(b"host", HOST.encode()), ORIGIN])
    connected, _ = await socket.connect()
    assert not connected and not caplog.records
    await socket.wait()


@pytest.mark.parametrize("origin", [b"http://[", b"http://]:80", b"=", b"\xff", b""])
async def test_a_hostile_origin_is_refused_as_another_site(hub, made, origin):
    socket = Socket(
        application, f"/ws/labs/{made.lab.pk}/", headers=[(b"host", HOST.encode()), (b"origin", origin)]
    )
    assert not (await socket.connect())[0]
    await socket.wait()
