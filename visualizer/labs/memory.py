"""Limits the memory of this process's labs, and closes labs when it is exceeded.

Rules: memory is estimated once a second. Unwatched labs are closed first, the least recently used first, then
watched ones that are paused. A closed lab is run again from its inputs when it is opened. When that is not
enough, nothing runs forward, and no lab and no run beside one starts until memory is free again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings

from visualizer.labs.running import Runner
from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.labs.hub import Hub
    from visualizer.labs.rooms import Room

logger = logging.getLogger(__name__)

FREED_TO_PERCENT = 80
"""Percent of the limit down to which labs are closed, and below which labs are opened.

Above it each new lab would cause another one to be closed.
"""

HINT = "Try again in a minute, or ask the server's operator for a larger LAB_MEMORY_MB."
EVICTED = (
    "The server needed the memory of this lab, which was paused. Open it again to continue at"
    " the same instant."
)


class Memory:
    """The memory of this process's labs; `full` says why nothing may run forward, else it is None."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.limit_bytes = settings.LAB_MEMORY_MB * 2**20
        self.full: str | None = None

    def used_bytes(self) -> int:
        """Estimated memory of all worlds of this process: labs, and runs beside them."""
        return sum(world.memory_bytes for world in self._worlds())

    def _worlds(self) -> Iterable[Any]:
        hub = self._hub
        runners = [room.part for room in hub.rooms.values() if isinstance(room.part, Runner)]
        worlds = [runner.session.world for runner in runners if runner.session.world is not None]
        return [*worlds, *hub.background.worlds()]

    def admit(self) -> None:
        """Check that a new run may start. Raises Refused when there is no memory for it."""
        if self.full or self.used_bytes() * 100 > self.limit_bytes * FREED_TO_PERCENT:
            raise Refused(
                "memory",
                (
                    f"The labs of this server process use the memory that they may, "
                    f"{self.limit_bytes // 2**20:,} MB."
                ),
                HINT,
            )

    async def make_room(self) -> None:
        """Check that a lab may be opened, closing unwatched labs if necessary.

        Raises Refused when there is no memory for it.
        """
        await self._free(watched=False)
        self.admit()

    async def look_each_second(self) -> None:
        """Check the memory; the hub calls this once a second."""
        await self.look()

    async def look(self) -> None:
        """Close labs while too much memory is used, and pause the others when that is not enough."""
        if self.used_bytes() > self.limit_bytes:
            await self._free(watched=True)
        over = self.used_bytes() > self.limit_bytes
        self.full = (
            (
                f"The labs of this server process use all the memory that they may, "
                f"{self.limit_bytes // 2**20:,} MB, so none runs on."
            )
            if over
            else None
        )
        for room in self._hub.rooms.values():
            if isinstance(room.part, Runner):
                room.part.session.out_of_memory = self.full

    async def _free(self, watched: bool) -> None:
        """Close labs, also watched ones with `watched`, until another lab may be opened."""
        for room, runner in self._in_order():
            if self.used_bytes() * 100 <= self.limit_bytes * FREED_TO_PERCENT:
                return
            if watched or not runner.watched():
                logger.warning(
                    "Lab %s is closed: the labs use more than %d MB", room.lab.pk, self.limit_bytes // 2**20
                )
                await self._hub.put_away(room, EVICTED)

    def _in_order(self) -> list[tuple[Room, Runner]]:
        """Labs that may be closed: unwatched ones first, each kind the least recently used first."""
        rooms = [(room, room.part) for room in self._hub.rooms.values() if isinstance(room.part, Runner)]
        return sorted(
            ((room, runner) for room, runner in rooms if runner.evictable),
            key=lambda pair: (pair[1].watched(), -pair[0].idle_ticks, pair[0].used_tick),
        )
