"""Tests of a user's labs.

Listed for holders of their tokens, renamed, copied at an instant, deleted while others view them.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from tests.visualizer.pages import PATIENCE_S, SCENARIO, Page
from visualizer.labs import hub as hubs
from visualizer.labs.definitions import new_lab
from visualizer.labs.running import Runner
from visualizer.models import Lab, LabCommand
from visualizer.pages.my_labs import LABS_REQUESTED_MAX

pytestmark = pytest.mark.django_db(transaction=True)


def post(path: str, body: Any, **headers: str) -> Any:
    return Client().post(path, json.dumps(body), content_type="application/json", headers=headers)


async def apost(path: str, body: Any) -> Any:
    return await AsyncClient().post(path, json.dumps(body), content_type="application/json")


def two_labs() -> list[Any]:
    return [new_lab({"yaml": SCENARIO}), new_lab({"scenario": "two-regions"})]


def test_only_labs_with_the_right_token_are_listed():
    one, other = two_labs()
    answer = post(
        "/labs/mine/",
        {
            "labs": [
                {"id": one.lab.pk, "token": one.token},
                {"id": other.lab.pk, "token": one.token},
                {"id": "nosuchlab", "token": "x"},
                {"id": other.lab.pk + "x"},
            ]
        },
    ).json()
    assert [lab["id"] for lab in answer["labs"]] == [one.lab.pk]
    assert answer["gone"] == sorted([other.lab.pk, "nosuchlab", other.lab.pk + "x"]), (
        "a wrong token and no lab look the same"
    )
    assert "token" not in json.dumps(answer["labs"])


def test_a_long_list_shows_the_labs_used_last(monkeypatch):
    monkeypatch.setattr("visualizer.pages.my_labs.LABS_LISTED", 2)
    made = [new_lab({"yaml": SCENARIO}) for _ in range(3)]
    Lab.objects.filter(pk=made[0].lab.pk).update(used_at=made[2].lab.used_at.replace(year=2099))
    answer = post("/labs/mine/", {"labs": [{"id": one.lab.pk, "token": one.token} for one in made]}).json()
    assert (
        [lab["id"] for lab in answer["labs"]] == [made[0].lab.pk, made[2].lab.pk]
        and answer["more"] == 1
        and answer["gone"] == []
    )


def test_the_page_itself_lists_no_labs():
    made = two_labs()
    page = Client().get("/labs/").content.decode()
    assert not any(one.lab.pk in page for one in made)


@pytest.mark.parametrize(
    "body", [{}, {"labs": "all"}, {"labs": ["x"]}, {"labs": [{"id": "x"}] * (LABS_REQUESTED_MAX + 1)}, []]
)
def test_an_invalid_list_is_refused(body):
    answer = post("/labs/mine/", body)
    assert answer.status_code == 400 and answer.json()["hint"]


def test_a_page_of_another_site_may_do_nothing():
    made = two_labs()[0]
    for path, body in (
        ("/labs/mine/", {"labs": []}),
        (f"/labs/{made.lab.pk}/delete/", {"token": made.token}),
        (f"/labs/{made.lab.pk}/copy/", {}),
    ):
        assert post(path, body, origin="http://elsewhere.example").status_code == 403
    assert Client().get(f"/labs/{made.lab.pk}/delete/").status_code == 405


async def test_renaming_needs_the_token_and_a_title(made: Any, hub: Any):
    path = f"/labs/{made.lab.pk}/rename/"
    page = Page(made.lab.pk, made.token)
    await page.open()
    assert (await apost(path, {"token": "wrong", "title": "Mine"})).json()["code"] == "not-owner"
    for title in ("", "  ", "x" * 201, 7):
        assert (await apost(path, {"token": made.token, "title": title})).status_code == 400
    assert (await apost(path, {"token": made.token, "title": "  What we\n run "})).json() == {
        "title": "What we run"
    }
    other = Page(made.lab.pk)
    assert (await other.open())["title"] == "What we run", "who opens it now is told"
    for one in (page, other):
        await one.close()


async def test_a_copy_is_at_the_same_instant_of_the_same_branch(made: Any, hub: Any):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(4_000_000)
    await page.seek(2_000_000)
    assert (await page.command(do="cluster.crash", cluster="a"))["ok"]
    there = await page.seek(2_500_000)
    answer = await apost(f"/labs/{made.lab.pk}/copy/", {"at_us": 2_500_000})
    copy = answer.json()
    assert answer.status_code == 201 and copy["id"] != made.lab.pk
    mine = Page(copy["id"], copy["token"])
    assert (await mine.open())["owner"] is True
    here = await mine.frame(lambda frame: frame["snapshot"] and frame["at_us"] == 2_500_000)
    for name in ("seq", "branch"):
        assert here[name] == there[name]
    assert (
        here["view"]["clusters"] == there["view"]["clusters"]
        and here["view"]["clusters"]["a"]["state"] == "down"
    )
    assert (await mine.command(do="cluster.restart", cluster="a"))["ok"]
    assert await LabCommand.objects.filter(lab_id=made.lab.pk).acount() == 1, (
        "nothing done there is done here"
    )
    for one in (page, mine):
        await one.close()


async def test_without_a_given_instant_a_copy_is_taken_at_the_stored_position(made: Any, hub: Any):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(3_000_000)
    await stored(made, position_us=3_000_000)
    copy = (await apost(f"/labs/{made.lab.pk}/copy/", {})).json()
    assert (await Lab.objects.aget(pk=copy["id"])).position_us == 3_000_000
    for at_us in (-1, "now", 10**15):
        assert (await apost(f"/labs/{made.lab.pk}/copy/", {"at_us": at_us})).status_code == 400
    assert (await apost("/labs/nosuchlab/copy/", {})).status_code == 404
    await page.close()


async def test_list_and_copy_use_the_position_of_a_lab_left_a_moment_ago(
    made: Any, hub: Any, monkeypatch: pytest.MonkeyPatch
):
    """Positions are written beside the loop, or at the next second: a user who goes from the lab to the
    list at once does not see the instant before.
    """
    monkeypatch.setattr(Runner, "position_changed", lambda runner: setattr(runner, "_position_due", True))
    monkeypatch.setattr(hubs, "TICK_S", 3600)
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(4_000_000)
    await page.seek(2_000_000)
    assert (await page.command(do="cluster.crash", cluster="a"))["ok"]
    await page.send({"type": "branch", "number": 0})
    await page.frame(lambda frame: frame["branch"] == 0 and not frame["busy"])
    await page.seek(3_000_000)
    (told,) = (await apost("/labs/mine/", {"labs": [{"id": made.lab.pk, "token": made.token}]})).json()[
        "labs"
    ]
    assert (told["at_us"], told["branch"], told["picture"]["at_us"]) == (3_000_000, 0, 3_000_000)
    await page.send({"type": "branch", "number": 1})
    await page.frame(lambda frame: frame["branch"] == 1 and not frame["busy"])
    copy = (await apost(f"/labs/{made.lab.pk}/copy/", {})).json()
    assert (await Lab.objects.aget(pk=copy["id"])).branch == 1
    await page.close()


async def stored(made: Any, **fields: Any) -> Lab:
    """The lab's row, once it has these values."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            lab = await Lab.objects.aget(pk=made.lab.pk)
            if all(getattr(lab, name) == value for name, value in fields.items()):
                return lab
            await asyncio.sleep(0.05)


async def ended(hub: Any) -> None:
    """Waits for background work of the hub that will end by itself."""
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(
            *(task for task in hub._tasks if "keep_position" in repr(task)), return_exceptions=True
        )


async def test_a_lab_at_rest_has_a_current_picture(made: Any, hub: Any):
    page = Page(made.lab.pk, made.token)
    await page.open()
    frame = await page.seek(3_000_000)
    lab = await stored(made, position_us=3_000_000)
    assert lab.picture["at_us"] == 3_000_000
    lane = lab.picture["lanes"][0]
    topic = frame["view"]["clusters"]["a"]["topics"]["orders"]
    assert (
        lane["length"] == topic["length"]
        and lane["subscriptions"]["billing"]["mark_delete_index"]
        == topic["subscriptions"]["billing"]["mark_delete_index"]
    )
    assert lab.used_at > lab.created_at
    await page.close()


async def test_deleting_needs_the_token_and_removes_everything(
    made: Any, hub: Any, caplog: pytest.LogCaptureFixture
):
    page, viewer = Page(made.lab.pk, made.token), Page(made.lab.pk)
    await page.open()
    await viewer.open()
    assert (await page.command(do="cluster.crash", cluster="a"))["ok"]
    assert (await apost(f"/labs/{made.lab.pk}/delete/", {"token": "wrong"})).json()["code"] == "not-owner"
    assert (await apost(f"/labs/{made.lab.pk}/delete/", {"token": made.token})).status_code == 200
    assert "deleted by its owner" in (await viewer.until("bye"))["reason"]
    assert not await Lab.objects.filter(pk=made.lab.pk).aexists() and not await LabCommand.objects.aexists()
    assert hub.rooms == {} and hub.pump._sessions == {}
    late = Page(made.lab.pk, made.token)
    await late.socket.connect()
    await late.send({"type": "hello"})
    assert (await late.until("error"))["code"] == "not-found"
    await ended(hub)
    assert "Failed while" not in caplog.text, (
        "what was being written when it went says nothing and breaks nothing"
    )


async def test_a_lab_deleted_by_another_process_is_reported_here(made: Any, hub: Any):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await sync_to_async(Lab.objects.filter(pk=made.lab.pk).delete)()
    await page.send({"type": "seek", "at_us": 1_000_000})
    assert "deleted by its owner" in (await page.until("bye"))["reason"]
    assert hub.rooms == {}


def test_report_files_are_deleted_with_their_lab(settings, tmp_path):
    from visualizer.tasks.models import Report

    settings.DATA_DIR = tmp_path
    made = two_labs()[0]
    report = Report.objects.create(lab=made.lab, title="t", scenario_text="", seed=1, until_us=1)
    report.folder.mkdir(parents=True)
    made.lab.delete()
    assert not report.folder.exists()


def test_a_full_site_takes_no_copies(monkeypatch):
    made = two_labs()[0]
    monkeypatch.setattr("visualizer.labs.definitions.LABS_KEPT", 2)
    assert post(f"/labs/{made.lab.pk}/copy/", {}).json()["code"] == "full"
