"""The database cannot be reached or written.

Labs continue, every page gets a notice, nothing acknowledged is lost, nothing internal is shown.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import DataError, OperationalError
from django.test import AsyncClient

from simulator import World, load_scenario_text
from tests.visualizer.faults import KINDS, SECRET, SqliteLock, database_file, injected_faults, sqlite_waits
from tests.visualizer.pages import SCENARIO, Page, saved
from visualizer.labs import saving
from visualizer.labs.hub import current_hub
from visualizer.models import Lab, LabCommand

AWAY = "The database cannot be reached; try again in a few seconds."


@pytest.fixture
def faults():
    with injected_faults() as faults:
        yield faults


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Waits that take seconds on a site."""
    monkeypatch.setattr(saving, "PATIENCE_S", 0.5)
    monkeypatch.setattr(saving, "LONGEST_PAUSE_S", 0.3)
    monkeypatch.setattr(saving, "SLOW_S", 0.2)


async def notice(page: Page, over: bool = False) -> str | None:
    return (
        await page.until(
            "notice", lambda notice: notice["code"] == "not-saved" and (notice["words"] is None) == over
        )
    )["words"]


async def rows(made: Any) -> list[tuple[str, bool | None]]:
    return [
        (row.command["do"], row.ok)
        async for row in LabCommand.objects.filter(lab_id=made.lab.pk).order_by("number")
    ]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_lab_continues_with_a_notice_until_it_can_be_saved(made, faults, kind):
    page, viewer = Page(made.lab.pk, made.token), Page(made.lab.pk)
    await page.open()
    await viewer.open()
    assert (await page.command(do="link.cut", link="a -> b"))["ok"]
    await saved(made.lab.pk)  # otherwise the notice could arrive before the awaited frame
    faults.begin(kind)
    await page.seek(2_000_000)
    assert (await notice(page)).startswith("Cannot save, retrying")
    assert (await notice(viewer)).startswith("Cannot save, retrying")
    refused = await page.command(do="cluster.crash", cluster="b")
    assert (refused["ok"], refused["code"]) == (False, "not-saved") and "not carried out" in refused["error"]
    frame = await page.seek(3_000_000)
    assert frame["view"]["clusters"]["b"]["state"] == "up", "the lab goes on, without the command"
    late = Page(made.lab.pk)
    await late.open()
    assert (await notice(late)).startswith("Cannot save, retrying")
    faults.end()
    for each in (page, viewer, late):
        assert await notice(each, over=True) is None
    assert (await page.command(do="cluster.crash", cluster="b"))["ok"]
    await saved(made.lab.pk)
    assert await rows(made) == [("link.cut", True), ("cluster.crash", True)]
    lab = await Lab.objects.aget(pk=made.lab.pk)
    assert (lab.state, lab.position_us) == (Lab.State.READY, 3_000_000)
    for each in (page, viewer, late):
        await each.close()


@pytest.mark.parametrize(
    ("kind", "at_commit"),
    [("locked", False), ("shut down", True)],
    ids=["locked", "the answer to a commit is lost"],
)
async def test_a_command_waits_for_a_short_outage_and_is_executed_once(
    made, faults, monkeypatch, kind, at_commit
):
    monkeypatch.setattr(saving, "PATIENCE_S", 60)
    page = Page(made.lab.pk, made.token)
    await page.open()
    faults.begin(kind, at_commit=at_commit)
    await page.send({"type": "command", "id": 1, "command": {"do": "link.cut", "link": "a -> b"}})
    await notice(page)
    faults.end()
    assert (await page.until("result"))["ok"]
    await saved(made.lab.pk)
    assert await rows(made) == [("link.cut", True)]
    await page.close()


async def undecided(page: Page, over: bool = False) -> str | None:
    return (
        await page.until(
            "notice", lambda notice: notice["code"] == "undecided" and (notice["words"] is None) == over
        )
    )["words"]


async def test_a_command_whose_commit_may_have_happened_is_refused_only_after_it_is_removed(made, faults):
    page = Page(made.lab.pk, made.token)
    await page.open()
    faults.begin("shut down", at_commit=True)
    await page.send({"type": "command", "id": 1, "command": {"do": "link.cut", "link": "a -> b"}})
    assert "may have saved" in await undecided(page)
    assert await rows(made) == [("link.cut", None)], "so nobody may be told yet that it was refused"
    assert (await page.seek(2_000_000))["view"]["clusters"]["b"]["state"] == "up", (
        "the lab goes on without it"
    )
    faults.end()
    assert await undecided(page, over=True) is None
    result = await page.until("result")
    assert (result["id"], result["ok"], result["code"]) == (1, False, "not-saved")
    assert await rows(made) == []
    await page.close()


async def test_a_process_that_ends_during_an_outage_has_refused_no_command_that_is_stored(made, faults):
    """The store commits, its answer is lost, and the process ends before the database is back."""
    page = Page(made.lab.pk, made.token)
    await page.open()
    faults.begin("shut down", at_commit=True)
    await page.send({"type": "command", "id": 1, "command": {"do": "link.cut", "link": "a -> b"}})
    await undecided(page)
    current_hub().stop("As if it were killed.")
    while (message := await page.receive())["type"] != "bye":
        assert message["type"] != "result"
    faults.end()
    await page.close()
    again = Page(made.lab.pk, made.token)
    await again.open()
    inputs = json.loads(await current_hub().ask(made.lab.pk, "inputs"))
    assert [entry["do"] for entry in inputs["commands"]] == ["link.cut"]
    await again.close()


async def test_on_a_full_disk_a_command_is_refused_once_it_is_known_not_to_be_stored(made, faults):
    """The commit itself fails, and reading still works: nothing has to be written to find out."""
    page = Page(made.lab.pk, made.token)
    await page.open()
    await saved(made.lab.pk)
    faults.begin("full", instead_of_commit=True)
    assert (await page.command(do="link.cut", link="a -> b"))["code"] == "not-saved"
    assert await rows(made) == []
    faults.end()
    await saved(made.lab.pk)
    assert (await page.command(do="link.cut", link="a -> b"))["ok"]
    await page.close()


async def test_a_command_is_refused_while_another_writer_holds_a_real_lock(made):
    with sqlite_waits(0.05):
        page = Page(made.lab.pk, made.token)
        await page.open()
        lock = SqliteLock(database_file())
        await sync_to_async(lock.take)()
        frame = await page.seek(2_000_000)
        await notice(page)
        assert (await page.command(do="link.cut", link="a -> b"))["code"] == "not-saved"
        await page.send({"type": "play", "speed": 1})
        await page.frame(lambda later: later["at_us"] > frame["at_us"] + 200_000)
        lock.close()
        await notice(page, over=True)
        assert (await page.command(do="link.cut", link="a -> b"))["ok"]
        await page.close()


async def test_a_lab_rebuilt_from_the_database_has_the_digest_of_the_live_one(made, faults):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(1_000_000)
    assert (await page.command(do="link.cut", link="a -> b"))["ok"]
    await saved(made.lab.pk)
    faults.begin("full")
    await page.seek(4_000_000)
    await notice(page)
    faults.end()
    await notice(page, over=True)
    await saved(made.lab.pk)
    inputs = json.loads(await current_hub().ask(made.lab.pk, "inputs"))
    await page.close()
    current_hub().stop("A restart.")
    again = json.loads(await current_hub().ask(made.lab.pk, "inputs"))
    assert again == inputs and again["until_us"] == 4_000_000
    scenario = load_scenario_text(SCENARIO)
    assert (
        World.replay(scenario, scenario.seed, inputs["commands"], inputs["until_us"]).digest()
        == inputs["digest"]
    )
    lab = await Lab.objects.aget(pk=made.lab.pk)
    assert lab.command_log == inputs["commands"]


async def test_a_process_that_lost_its_lab_during_an_outage_writes_nothing_more(made, faults):
    """The lease went to another process in between: its command stays, and no page gets a refusal of the
    other.
    """
    page = Page(made.lab.pk, made.token)
    await page.open()
    faults.begin("closed", at_commit=True)
    await page.send({"type": "command", "id": 1, "command": {"do": "link.cut", "link": "a -> b"}})
    await undecided(page)
    await sync_to_async(_taken_by_another)(made.lab.pk, faults)
    faults.end()
    assert (await page.until("result"))["code"] == "no-answer", (
        "it may be among the commands that the other process has"
    )
    await page.until("bye")
    await saved(made.lab.pk)
    assert [(row.number, row.command["do"]) async for row in LabCommand.objects.filter(lab_id=made.lab.pk)][
        -1
    ] == (2, "cluster.crash")
    lab = await Lab.objects.aget(pk=made.lab.pk)
    assert lab.position_us == 3_000_000
    await page.close()


def _taken_by_another(lab_id: str, faults: Any) -> None:
    """Like another process that can reach its database."""
    kind, faults.kind = faults.kind, None
    stored = saving.take(lab_id)
    number = 1 + max((given["number"] for given in stored.commands), default=0)
    saving.keep_command(
        stored,
        number,
        lambda: True,
        command={"do": "cluster.crash", "cluster": "b"},
        branch=0,
        at_us=3_000_000,
        furthest_us=3_000_000,
    )
    faults.kind = kind


async def test_opening_a_lab_during_an_outage_gives_an_error_and_works_afterwards(made, faults):
    faults.begin("shut down")
    page = Page(made.lab.pk, made.token)
    await page.socket.connect()
    await page.send({"type": "hello", "token": made.token})
    error = await page.until("error")
    assert (error["code"], error["error"]) == ("no-database", AWAY)
    assert (await page.until("bye"))["reason"] == AWAY
    faults.end()
    again = Page(made.lab.pk, made.token)
    assert (await again.open())["owner"]
    for each in (page, again):
        await each.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_pages_and_answers_are_503_with_a_reason_and_the_log_has_the_details(
    made, faults, kind, caplog
):
    client = AsyncClient(headers={"host": "testserver", "accept": "text/html"})
    script = AsyncClient(headers={"host": "testserver"})
    lab, owner = f"/labs/{made.lab.pk}/", {"token": made.token}
    posts = {
        "/labs/": {"scenario": "two-regions"},
        "/labs/mine/": {"labs": [{"id": made.lab.pk, **owner}]},
        f"{lab}rename/": {**owner, "title": "Another"},
    }
    posts |= {f"{lab}delete/": owner, f"{lab}copy/": {}, f"{lab}reports/": owner}
    faults.begin(kind)
    answers = [
        await client.get(f"/labs/{made.lab.pk}/"),
        await client.get("/reports/abc/"),
        await client.get(f"/labs/{made.lab.pk}/replay/"),
    ]
    answers += [
        await script.get(f"/labs/{made.lab.pk}/summary.json"),
        await script.get("/reports/abc/status.json"),
    ]
    for path, body in posts.items():
        answers.append(await script.post(path, json.dumps(body), content_type="application/json"))
    for answer in answers:
        text = answer.content.decode()
        assert answer.status_code == 503 and AWAY in text, (answer.request["path"], text[:300])
        assert SECRET not in text and "Error" not in text and "sqlite" not in text.lower()
    assert SECRET in caplog.text


async def test_a_value_that_cannot_be_stored_is_refused_without_a_failure_notice(made, monkeypatch):
    """As PostgreSQL answers a NUL in a text: a permanent DataError."""

    def unstorable(*_: Any, **__: Any) -> None:
        raise DataError(f"PostgreSQL text fields cannot contain NUL (0x00) bytes: {SECRET}")

    page = Page(made.lab.pk, made.token)
    await page.open()
    with monkeypatch.context() as patch:
        patch.setattr(saving, "keep_command", unstorable)
        refused = await page.command(do="link.cut", link="a -> b")
        assert (refused["ok"], refused["code"]) == (False, "bad-value") and SECRET not in json.dumps(refused)
    assert not current_hub().saver.in_trouble(made.lab.pk)
    assert (await page.command(do="link.cut", link="a -> b"))["ok"]
    assert (await Lab.objects.aget(pk=made.lab.pk)).state == Lab.State.READY
    await page.close()


async def test_the_housekeeping_task_survives_an_error_in_one_lab(made, hub, monkeypatch, caplog):
    page = Page(made.lab.pk, made.token)
    await page.open()
    room, before = hub.rooms[made.lab.pk], []

    async def broken() -> None:
        before.append(1)
        raise RuntimeError("a tick that breaks")

    with monkeypatch.context() as patch:
        patch.setattr(room.part, "tick", broken)
        while len(before) < 2:  # a second each: the task still runs after the first error
            await asyncio.sleep(0.05)
    assert "a tick that breaks" in caplog.text
    assert (await page.command(do="link.cut", link="a -> b"))["ok"]
    await page.close()


async def test_one_write_that_always_fails_does_not_delay_other_labs(hub):
    saver = hub.saver
    await hub.start()

    def poison() -> None:
        raise OperationalError("for ever")

    stuck = saver.put("one", poison)
    for number in range(5):
        assert await saver.put("another", lambda: number) == number
    assert not stuck.done() and saver.in_trouble("one") and not saver.in_trouble("another")


async def test_only_the_newest_position_is_queued(hub, faults):
    await hub.start()
    saver, done = hub.saver, []
    faults.begin("locked")
    first = saver.put("lab", lambda: Lab.objects.count() or done.append("first"))
    positions = [
        saver.put("lab", lambda number=number: done.append(number), replaceable=True) for number in range(50)
    ]
    while not saver.in_trouble("lab"):
        await asyncio.sleep(0.01)
    faults.end()
    await asyncio.gather(first, *positions)
    assert done == ["first", 49]
