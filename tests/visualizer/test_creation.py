"""“Topics and policies” as the page requests it.

The same as the engine's view, and refusals with a reason.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from simulator import World
from tests.visualizer.pages import Page

AT_US = 9_000_000


@pytest.fixture
async def ask(hub: Any):
    from visualizer.labs.definitions import new_lab

    made = await sync_to_async(new_lab)({"scenario": "drifted-partitions"})
    opened = Page(made.lab.pk, made.token)
    await opened.open()
    await opened.seek(AT_US)

    async def ask(query: str = "") -> tuple[int, Any]:
        answer = await AsyncClient().get(f"/labs/{made.lab.pk}/creation.json{query}")
        return answer.status_code, json.loads(answer.content)

    yield ask
    await opened.close()


@pytest.fixture(scope="module")
def world() -> World:
    world = World.open("drifted-partitions")
    world.run(AT_US)
    return world


async def test_the_answer_is_the_engines_view(ask, world):
    assert await ask() == (200, {**world.creation(), "starts": None})
    status, body = await ask("?of=us/eu/orders")
    assert status == 200 and body["starts"] == {
        "of": "us/eu/orders",
        **world.replicator_starts("us", "eu", "orders"),
    }
    assert (
        body["replicators"][0]["last_error"].endswith("local: 4, remote: 2")
        and len(body["starts"]["refused"]["at_us"]) > 4
    )


async def test_an_unknown_replicator_is_refused(ask):
    status, body = await ask("?of=eu/us/orders")
    assert status == 404 and "us/eu/orders" in body["hint"]
