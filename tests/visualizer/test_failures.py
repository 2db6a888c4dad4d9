"""Tests of internal errors.

One in the run stops that lab, visibly, and nothing else; one in an answer fails that question only.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from simulator import World
from tests.visualizer.pages import SCENARIO, Page, saved
from visualizer.labs.definitions import new_lab
from visualizer.labs.hub import current_hub
from visualizer.live.frames import FrameMaker
from visualizer.models import Lab
from visualizer.questions.question import QUESTIONS


class EngineBug(Exception):
    """Represents an internal error deep in the engine."""


@pytest.fixture
def breaks_at(monkeypatch):
    """Makes the engine of seed 13 fail at an instant."""

    def arrange(at_us: int) -> None:
        advance = World.advance

        def broken(self, until_us, *given):
            if self.seed == 13 and until_us >= at_us:
                raise EngineBug("entry 7 was acknowledged before it was stored")
            return advance(self, until_us, *given)

        monkeypatch.setattr(World, "advance", broken)

    return arrange


@pytest.fixture
async def failing_lab(hub):
    return await sync_to_async(new_lab)({"yaml": SCENARIO, "seed": 13})


async def test_an_engine_bug_stops_the_lab_and_reports_seed_and_replay(failing_lab, made, breaks_at, caplog):
    breaks_at(1_000_000)
    page, other = Page(failing_lab.lab.pk, failing_lab.token), Page(made.lab.pk, made.token)
    await page.open()
    await other.open()
    await page.frame()
    await page.send({"type": "play", "speed": 10})
    error = await page.until("error")
    assert error["code"] == "engine-bug"
    assert "entry 7 was acknowledged before it was stored" in error["error"]
    assert error["seed"] == 13 and error["replay"] == f"/labs/{failing_lab.lab.pk}/replay/"
    assert "EngineBug" in caplog.text, "the operator has the traceback"
    await other.seek(2_000_000)  # the neighbour continues
    await page.send({"type": "play"})
    assert (await page.until("error"))["code"] == "engine-bug"
    for each in (page, other):
        await each.close()


async def test_a_stopped_lab_reports_its_failure_to_later_viewers(failing_lab, breaks_at):
    breaks_at(1_000_000)
    page = Page(failing_lab.lab.pk, failing_lab.token)
    await page.open()
    await page.send({"type": "seek", "at_us": 3_000_000})
    await page.until("error", lambda error: error["code"] == "engine-bug")
    await page.close()
    later = Page(failing_lab.lab.pk)
    assert (await later.open())["failed"]["code"] == "engine-bug"
    await later.close()
    answer = await AsyncClient().get(f"/labs/{failing_lab.lab.pk}/summary.json")
    assert answer.status_code == 500 and json.loads(answer.content)["code"] == "engine-bug"


async def test_the_failure_is_kept_until_the_engine_version_changes(failing_lab, breaks_at, hub, monkeypatch):
    breaks_at(1_000_000)
    page = Page(failing_lab.lab.pk, failing_lab.token)
    await page.open()
    await page.send({"type": "seek", "at_us": 3_000_000})
    await page.until("error", lambda error: error["code"] == "engine-bug")
    await page.close()
    await saved(failing_lab.lab.pk)
    lab = await Lab.objects.aget(pk=failing_lab.lab.pk)
    assert lab.state == Lab.State.FAILED and lab.failure["seed"] == 13
    hub.stop("A restart.")
    monkeypatch.undo()
    again = Page(failing_lab.lab.pk, failing_lab.token)
    assert (await again.open())["failed"] is not None
    await again.close()
    current_hub().stop("An upgrade.")
    monkeypatch.setattr("visualizer.labs.rooms.ENGINE_VERSION", "another")
    newer = Page(failing_lab.lab.pk, failing_lab.token)
    assert (await newer.open())["failed"] is None
    await newer.close()


async def test_the_replay_link_makes_a_lab_with_the_same_inputs(made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(2_000_000)
    assert (await page.command(do="cluster.crash", cluster="b"))["ok"]
    client = AsyncClient(headers={"host": "testserver"})
    assert (await client.get(f"/labs/{made.lab.pk}/replay/")).status_code == 200
    answer = await client.post(f"/labs/{made.lab.pk}/replay/")
    assert answer.status_code == 302
    location, token = answer.headers["Location"].split("#token=")
    copy = Page(location.split("/")[2], token)
    assert (await copy.open())["owner"] is True
    assert (await copy.frame())["at_us"] == 0
    frame = await copy.seek(2_500_000)
    assert frame["view"]["clusters"]["b"]["state"] == "down"
    for each in (page, copy):
        await each.close()


async def test_a_replay_link_may_contain_an_instant(made):
    client = AsyncClient(headers={"host": "testserver"})
    asked = await client.get(f"/labs/{made.lab.pk}/replay/?at_us=1500000")
    assert "It opens at 1.500 s." in asked.content.decode()
    answer = await client.post(f"/labs/{made.lab.pk}/replay/?at_us=1500000")
    location, token = answer.headers["Location"].split("#token=")
    copy = Page(location.split("/")[2], token)
    await copy.open()
    assert (await copy.frame())["at_us"] == 1_500_000
    await copy.close()
    for wrong in ("-1", "soon", "9" * 40, "٣"):
        refused = await client.post(f"/labs/{made.lab.pk}/replay/?at_us={wrong}")
        assert refused.status_code == 400 and "whole number" in refused.json()["hint"]


@pytest.mark.parametrize("name", ["summary", "row"])
async def test_an_internal_error_in_a_question_fails_that_question_only(made, monkeypatch, caplog, name):
    """In a thread (the summary is counted there) and in a slice of the lab's own."""

    def broken(*_, **__):
        raise EngineBug("the sums do not add up")

    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(1_000_000)
    with monkeypatch.context() as patched:
        patched.setattr(World, "summary", broken)
        patched.setitem(QUESTIONS, "row", replace(QUESTIONS["row"], answer=broken))
        answer = await AsyncClient().get(f"/labs/{made.lab.pk}/{'row/1' if name == 'row' else name}.json")
    assert answer.status_code == 500
    body = json.loads(answer.content)
    assert body["code"] == "internal-error" and made.lab.pk in body["error"] and "seed 5" in body["error"]
    assert "the sums do not add up" not in body["error"] and "the sums do not add up" in caplog.text, (
        "the log has the traceback"
    )
    assert (await AsyncClient().get(f"/labs/{made.lab.pk}/summary.json")).status_code == 200
    assert (await page.seek(2_000_000))["at_us"] == 2_000_000
    assert (await page.command(do="cluster.crash", cluster="b"))["ok"]
    await page.close()


@pytest.mark.parametrize("times", [1, 10**9], ids=["once", "until it is corrected"])
async def test_an_internal_error_in_a_frame_loses_that_frame_only(made, hub, monkeypatch, caplog, times):
    page = Page(made.lab.pk, made.token)
    await page.open()
    epoch = (await page.seek(1_000_000))["epoch"]
    made_frames, left = FrameMaker.next, [times]

    def broken(self, *given):
        if left[0]:
            left[0] -= 1
            raise EngineBug("a cell without a cluster")
        return made_frames(self, *given)

    monkeypatch.setattr(FrameMaker, "next", broken)
    await page.send({"type": "play", "speed": 1})
    notice = await page.until("notice")
    assert (
        notice["code"] == "frame-failed"
        and "seed 5" in notice["words"]
        and notice["replay"] == f"/labs/{made.lab.pk}/replay/"
    )
    assert "a cell without a cluster" in caplog.text and "a cell" not in notice["words"], (
        "the log has the traceback"
    )
    assert not hub.rooms[made.lab.pk].part.session.playback.playing
    assert (await page.command(do="cluster.crash", cluster="b"))["ok"], "the run goes on"
    if times > 1:
        later = Page(made.lab.pk)
        assert (await later.open())["failed"] is None
        assert (await later.until("notice"))["code"] == "frame-failed"
        await later.close()
        left[0] = 0
    frame = await page.seek(2_000_000)
    assert (
        frame["number"] == 1 and frame["epoch"] > epoch and frame["view"]["clusters"]["b"]["state"] == "down"
    )
    while any(room._lasting for room in hub.rooms.values()):
        await asyncio.sleep(0.02)
    await saved(made.lab.pk)
    lab = await Lab.objects.aget(pk=made.lab.pk)
    assert (lab.state, lab.failure, lab.position_us) == (Lab.State.READY, None, 2_000_000)
    await page.close()


async def test_an_internal_error_in_the_picture_keeps_the_position(made, monkeypatch, caplog):
    def broken(*_):
        raise EngineBug("a picture without a frame")

    monkeypatch.setattr("visualizer.labs.running.picture_at", broken)
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(3_000_000)
    while (await Lab.objects.aget(pk=made.lab.pk)).position_us != 3_000_000:
        await asyncio.sleep(0.02)
    assert "a picture without a frame" in caplog.text
    await page.close()
