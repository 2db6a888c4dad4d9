"""The interfaces of a runner's process: pump, saver, other processes and services of the hub."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, Protocol

from visualizer.labs.pump import Pump
from visualizer.labs.rooms import Room
from visualizer.labs.saving import Saver
from visualizer.live.frames import Frame


class Outlet(Protocol):
    """Sends what a lab shows to the other processes that show it (`visualizer.labs.exchange.Exchange`)."""

    def send_frame(self, lab_id: str, frame: Frame, snapshot: Frame | None) -> None: ...

    def send_notice(self, lab_id: str, message: dict[str, Any], failure: bool = False) -> None: ...


class RunnerHost(Protocol):
    """The part of `visualizer.labs.hub.Hub` that runners use; the hub documents each method."""

    pump: Pump
    saver: Saver
    ticks: int

    @property
    def exchange(self) -> Outlet | None: ...

    def soon(self, work: Coroutine[Any, Any, Any] | Awaitable[Any], what: str) -> asyncio.Future[Any]: ...

    def admit_rerun(self, asker: str) -> None: ...

    def lost(self, room: Room) -> None: ...

    async def put_away(self, room: Room, reason: str, keep_position: bool = True) -> None: ...
