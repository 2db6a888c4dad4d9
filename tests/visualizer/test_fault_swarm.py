"""Randomly drawn faults of database, disk and Redis while a lab is used.

Acknowledged commands are kept, and the run is the same.

Rules: a schedule is drawn from its seed alone; two run with every suite, more with `FAULT_SEEDS=200`.
Whatever a schedule did, at its end all faults are over. Then every acknowledged command is stored and no
refused one (one whose answer had not arrived when the process ended may be), the run rebuilt from the
database has the digest of the live one, no lab is marked as failed, and each page that got a notice of a
failure got one of its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from simulator import World, load_scenario_text
from tests.visualizer.faults import KINDS, SqliteLock, database_file, injected_faults, sqlite_waits
from tests.visualizer.pages import SCENARIO, Page
from visualizer.labs import placement as casting
from visualizer.labs import saving
from visualizer.labs.hub import current_hub
from visualizer.live.wire import Refused
from visualizer.models import Lab, LabCommand

SEEDS = range(int(os.environ.get("FAULT_SEEDS", "2")))
STEPS = 14

COMMANDS = (
    {"do": "link.cut", "link": "a -> b"},
    {"do": "link.heal", "link": "a -> b"},
    {"do": "cluster.crash", "cluster": "b"},
    {"do": "cluster.restart", "cluster": "b"},
    {"do": "link.cut", "link": "b -> a"},
    {"do": "no.such-command"},
)


class Schedule:
    """One lab under drawn faults: `acknowledged` are the commands whose result the owner received."""

    def __init__(self, seed: int, made: Any, faults: Any, redis: Any) -> None:
        self.random = random.Random(seed)
        self.made, self.faults, self.redis = made, faults, redis
        self.lock = SqliteLock(database_file())
        self.page = Page(made.lab.pk, made.token)
        # (command, its status: asked, refused or acknowledged), by number
        self.given: list[tuple[str, str]] = []
        self.words: dict[str, str | None] = {}  # of each lasting state, as the page has it now

    async def message(self, *kinds: str) -> dict[str, Any]:
        while True:
            message = await self.page.receive()
            if message["type"] == "notice":
                self.words[message["code"]] = message["words"]
            if message["type"] == "result":
                became = (
                    "refused"
                    if message["code"] in (saving.NOT_SAVED, "bad-value", "moved")
                    else "acknowledged"
                )
                self.given[message["id"]] = (self.given[message["id"]][0], became)
            if message["type"] in kinds:
                return message

    async def give(self, command: dict[str, Any]) -> str:
        """Status of a command: also `asked`, when the page is notified that this is not decided yet."""
        number = len(self.given)
        self.given.append((command["do"], "asked"))
        await self.page.send({"type": "command", "id": number, "command": command})
        while self.given[number][1] == "asked":
            message = await self.message("result", "notice")
            if message.get("code") == saving.UNDECIDED and message["words"]:
                break
        return self.given[number][1]

    async def step(self) -> None:
        await getattr(
            self,
            self.random.choice(
                (
                    "command",
                    "command",
                    "seek",
                    "fault",
                    "fault",
                    "commit",
                    "filled",
                    "other_writer",
                    "no_redis",
                    "ended",
                    "over",
                    "over",
                )
            ),
        )()

    async def command(self) -> None:
        await self.give(self.random.choice(COMMANDS))

    async def seek(self) -> None:
        await self.page.send({"type": "seek", "at_us": self.random.randrange(1_000_000, 8_000_000)})
        await self.message("frame")

    async def fault(self) -> None:
        self.faults.begin(self.random.choice(sorted(KINDS)))

    async def commit(self) -> None:
        self.faults.begin(self.random.choice(sorted(KINDS)), at_commit=True)

    async def filled(self) -> None:
        self.faults.end()
        self.faults.filled = True

    async def ended(self) -> None:
        """The process ends with unsaved changes, and another one takes the lab over as soon as the
        database is back.
        """
        current_hub().stop("As if it were killed.")
        await self.page.close()
        await self.over()
        await inputs_elsewhere(self.made.lab.pk)
        self.page, self.words = Page(self.made.lab.pk, self.made.token), {}
        await self.page.open()

    async def other_writer(self) -> None:
        self.faults.end()
        self.lock.release()
        await sync_to_async(self.lock.take, thread_sensitive=False)()

    async def no_redis(self) -> None:
        if self.redis.process.poll() is None:
            self.redis.kill()

    async def over(self) -> None:
        self.faults.end()
        self.lock.release()
        if self.redis.process.poll() is not None:
            await sync_to_async(self.redis.start, thread_sensitive=False)()


@pytest.fixture
async def schedule(request, settings, monkeypatch, mortal_redis, transactional_db):
    """A lab in a process that shares a real Redis, with waits that take seconds on a site."""
    from visualizer.labs.definitions import new_lab

    monkeypatch.setattr(saving, "PATIENCE_S", 0.3)
    monkeypatch.setattr(saving, "LONGEST_PAUSE_S", 0.2)
    monkeypatch.setattr(saving, "SLOW_S", 0.2)
    monkeypatch.setattr("visualizer.labs.hub.TICK_S", 0.1)
    monkeypatch.setattr("visualizer.labs.placement.LEASE_MS", 1_000)
    settings.REDIS_URL = mortal_redis.url
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [mortal_redis.url], "prefix": "faults"},
        }
    }
    made = await sync_to_async(new_lab)({"yaml": SCENARIO})
    with sqlite_waits(0.02), injected_faults() as faults:
        drawn = Schedule(request.param, made, faults, mortal_redis)
        yield drawn
        drawn.lock.close()
        await drawn.page.close()
        current_hub().stop("The test is over.")
        await asyncio.sleep(0)


async def inputs_elsewhere(lab_id: str) -> dict[str, Any]:
    """As a new process reads them, which takes the lab over when the previous lease has expired."""
    while True:
        try:
            return json.loads(await current_hub().ask(lab_id, "inputs"))
        except Refused:
            await asyncio.sleep(0.05)


def explained(given: list[tuple[str, str]], stored: list[str]) -> bool:
    """Whether these are the acknowledged commands, in order, with any of those whose answer never arrived
    between them.
    """
    if not given:
        return not stored
    (do, became), later = given[0], given[1:]
    if became != "refused" and stored[:1] == [do] and explained(later, stored[1:]):
        return True
    return became != "acknowledged" and explained(later, stored)


@pytest.mark.swarm
@pytest.mark.parametrize("schedule", SEEDS, indirect=True)
async def test_acknowledged_commands_survive_random_faults(schedule):
    await schedule.page.open()
    for _ in range(STEPS):
        await schedule.step()
    await schedule.over()
    lab_id = schedule.made.lab.pk
    # until the database has been reached again
    while await schedule.give({"do": "cluster.crash", "cluster": "a"}) != "acknowledged":
        pass
    while any(schedule.words.get(code) for code in (saving.NOT_SAVED, saving.UNDECIDED, casting.AWAY)):
        await schedule.message("notice")
    while current_hub().saver.pending(lab_id):
        await asyncio.sleep(0.02)
    stored = [row.command["do"] async for row in LabCommand.objects.filter(lab_id=lab_id).order_by("number")]
    assert explained(schedule.given, stored), (schedule.given, stored)
    lab = await Lab.objects.aget(pk=lab_id)
    assert (lab.state, lab.failure) == (Lab.State.READY, None)
    live = json.loads(await current_hub().ask(lab_id, "inputs"))
    current_hub().stop("A restart.")
    await asyncio.sleep(0)
    again = await inputs_elsewhere(lab_id)
    assert (again["digest"], again["commands"], again["until_us"]) == (
        live["digest"],
        live["commands"],
        live["until_us"],
    )
    scenario = load_scenario_text(SCENARIO)
    assert (
        World.replay(scenario, scenario.seed, live["commands"], live["until_us"]).digest() == live["digest"]
    )
