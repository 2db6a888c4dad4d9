"""A lab of the protocol that only the tests have opens over the socket: welcome, frames, commands, seeking."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from tests.third_protocol import registered
from tests.third_protocol.declared import NAME
from tests.visualizer.pages import Page
from visualizer.labs.definitions import new_lab

TEXT = """\
format: 1
name: one-crash
title: One crash
family: single-log
until: 20s
servers:
  alpha: {every: 500ms, count: 20, persistEach: 4}
"""


@pytest.fixture
async def owner(monkeypatch: pytest.MonkeyPatch, hub: Any) -> Any:
    registered.register(monkeypatch)
    made = await sync_to_async(new_lab)({"yaml": TEXT})
    page = Page(made.lab.pk, made.token)
    page.welcome = await page.open()
    await page.frame()
    yield page
    await page.close()


async def test_a_lab_is_welcomed_crashed_and_sought(owner: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert owner.welcome["scenario"] == "one-crash"
    assert owner.welcome["protocol"] == NAME
    await owner.seek(3_200_000)
    await owner.send({"type": "command", "command": {"do": "server.crash", "server": "alpha"}})
    frame = await owner.frame(lambda frame: frame["view"]["servers"]["alpha"]["up"] is False)
    assert "server.crashed" in [row["type"] for row in frame["rows"]]
    await owner.seek(5_000_000)
    alpha = owner.frames[-1]["view"]["servers"]["alpha"]
    assert alpha["up"] is True and alpha["stored"] > alpha["persisted"]
    assert "Internal error" not in caplog.text
