"""No argument of any question stops a lab, fails internally, or gets an unbounded answer.

Generated from the registry of questions.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.visualizer.hostile import arguments_of
from tests.visualizer.pages import Page
from visualizer.labs.definitions import new_lab
from visualizer.labs.exchange import Exchange
from visualizer.labs.running import Runner
from visualizer.live.wire import Refused
from visualizer.models import Lab
from visualizer.questions.question import QUESTIONS, Argument, check_arguments

ANSWER_BYTES = 2_000_000
"""The maximum of one answer: 2,000 rows, the most that are returned at once, have about one megabyte."""

LABS = {"two-regions": 6_000_000, "groups-join": 3_000_000}
"""A lab of each protocol, and the instant at which it is queried."""

HOSTILE = settings(
    max_examples=20,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
async def asked(hub, request) -> Any:
    """A real lab of a built-in scenario, run to an instant: `(hub, its room, names that exist in it)`."""
    made = await sync_to_async(new_lab)({"scenario": request.param})
    page = Page(made.lab.pk, made.token)
    welcome = await page.open()
    await page.seek(LABS[request.param])
    await page.close()
    room = await hub.room(made.lab.pk)
    names = [
        name
        for listed in welcome["names"].values()
        if isinstance(listed, list)
        for name in listed
        if isinstance(name, str)
    ]
    return hub, room, names


@pytest.mark.parametrize("asked", LABS, indirect=True)
@HOSTILE
@given(data=st.data())
async def test_hostile_arguments_fail_at_most_their_question(asked, data):
    hub, room, names = asked
    for what in sorted(QUESTIONS):
        arguments = data.draw(arguments_of(QUESTIONS[what].arguments, names), label=what)
        # a page of this process, another process
        for asking in (
            lambda: hub.ask(room.lab.pk, what, **arguments),
            lambda: room.part.ask(what, arguments),
        ):
            await _answered_or_refused(asking)
    assert room.failure is None
    assert json.loads(await hub.ask(room.lab.pk, "rows", first=0, last=None, control=False, limit=1))["rows"]


async def _answered_or_refused(asking: Any) -> None:
    try:
        text = await asking()
    except Refused as refused:
        assert refused.code not in ("internal-error", "engine-bug"), refused
        assert len(refused.error + refused.hint) < 4_000
        (refused.error + refused.hint).encode()
    else:
        assert len(text.encode()) <= ANSWER_BYTES
        json.loads(text)


@pytest.mark.parametrize("asked", ["two-regions"], indirect=True)
async def test_a_tile_index_of_many_digits_is_refused(asked):
    """json.dumps raises on more than 4,300 digits, so this used to stop the lab."""
    hub, room, _ = asked
    for index in (10**4_299, 2**64, -1, "0", True):
        with pytest.raises(Refused, match="index is") as refused:
            await room.part.ask(
                "tile", {"branch": 0, "cluster": "us-east", "topic": "orders", "level": 0, "index": index}
            )
        assert refused.value.code == "bad-argument"
    assert room.failure is None


@pytest.mark.parametrize("asked", ["two-regions"], indirect=True)
@pytest.mark.parametrize("answer", [object(), float("inf"), 10**5_000], ids=["object", "infinity", "digits"])
async def test_an_answer_that_cannot_be_encoded_fails_its_question_only(asked, answer, monkeypatch, caplog):
    hub, room, _ = asked

    def broken(session):
        yield None
        return {"found": answer}

    monkeypatch.setitem(QUESTIONS, "summary", replace(QUESTIONS["summary"], answer=broken))
    with pytest.raises(Refused) as refused:
        await hub.ask(room.lab.pk, "summary")
    assert refused.value.code == "internal-error"
    assert room.lab.pk in refused.value.error and f"seed {room.lab.seed}" in refused.value.error
    assert "Traceback" in caplog.text and room.lab.pk in caplog.text
    assert room.failure is None and await hub.ask(room.lab.pk, "inputs")
    stored = await database_sync_to_async(Lab.objects.get)(pk=room.lab.pk)
    assert stored.state == Lab.State.READY and stored.failure is None


@pytest.mark.parametrize("asked", ["two-regions"], indirect=True)
async def test_every_question_of_another_process_is_answered(asked):
    """`lab.question` from a process of another version: unknown questions, missing and additional
    arguments.
    """
    hub, room, _ = asked
    exchange = Exchange(hub, None, "here")
    assert isinstance(room.part, Runner)
    for number, (what, arguments) in enumerate(
        [("tile", {}), ("nothing", {}), ("row", {"seq": 0, "more": 1}), ("row", {"seq": "0"})]
    ):
        await exchange._answer(
            room.part,
            {
                "type": "lab.question",
                "lab": room.lab.pk,
                "from": "there",
                "number": number,
                "what": what,
                "arguments": arguments,
            },
        )
        to_group, channel, message = exchange._outbox.get_nowait()
        assert (to_group, channel, message["type"], message["number"]) == (
            False,
            "there",
            "lab.answer",
            number,
        )
        assert message["text"] is None and message["refused"][0] == "bad-argument"
    assert room.failure is None


@given(
    st.builds(
        Argument,
        st.sampled_from([int, str, bool]),
        st.integers(0, 9),
        st.booleans(),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers() | st.text())),
)
def test_accepted_arguments_have_the_declared_type_and_range(argument, value):
    if argument.problem(value):
        assert argument.problem(value).startswith("Give ")
    elif value is not None:
        listed = value if argument.many else [value]
        assert all(type(one) is argument.kind for one in listed)
        assert argument.kind is not int or all(argument.low <= one <= argument.high for one in listed)


def test_arguments_are_checked_before_the_lab_is_looked_up():
    with pytest.raises(Refused, match="seq is"):
        check_arguments("row", {"seq": -1})
