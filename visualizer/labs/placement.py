"""Decides which server process runs which lab, also when Redis becomes unreachable and returns.

Rules: with Redis the holder of a lab's lease runs it and the others relay it. Without Redis this process is
the only one. While Redis cannot be reached no process closes or takes a lab. A lab keeps running where it is,
its pages in other processes get a notice that it cannot be shown, and requests that cannot be carried out are
refused with a reason. `run_number` in the database decides what a process may write.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from django import db
from django.conf import settings
from redis.exceptions import RedisError

from visualizer.labs import store
from visualizer.labs.exchange import Exchange
from visualizer.labs.lease import HEAD_START_TICKS, Leases, OnlyProcess, RedisLeases
from visualizer.labs.relaying import Relay
from visualizer.labs.rooms import Room
from visualizer.labs.running import Runner
from visualizer.labs.trouble import no_database
from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.labs.hub import Hub

logger = logging.getLogger(__name__)

AWAY = "processes-apart"
CONTINUES_HERE = (
    "The server's processes cannot reach one another (Redis does not answer). This lab continues here; pages "
    "at another process cannot see it until Redis is back."
)
ELSEWHERE = (
    "The server's processes cannot reach one another (Redis does not answer). This lab runs in another one "
    "and cannot be shown just now; it is shown again as soon as Redis is back."
)
NOT_NOW = Refused(
    "no-redis",
    (
        "The server's processes cannot reach one another (Redis does not answer), so it is unknown which "
        "of them runs this lab."
    ),
    "Nothing is lost. This page tries again by itself.",
)


class Casting:
    """Gives each room its part, `Runner` or `Relay`. `exchange` is None when this is the only process."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.exchange: Exchange | None = None
        self.leases: Leases = OnlyProcess()

    async def start(self) -> list[tuple[Coroutine[Any, Any, Any], str]]:
        """Connect to Redis and return the tasks that run until the process ends, with names for the log."""
        if not settings.REDIS_URL:
            return []
        try:
            self.exchange = await Exchange.opened(self.hub)
        except (OSError, RedisError) as error:
            logger.warning("Redis cannot be reached at the start: %s", error)
            raise NOT_NOW from error
        self.leases = RedisLeases(settings.REDIS_URL, self.exchange.channel)
        return [
            (self.exchange.receive(), "receiving from other processes"),
            (self.exchange.send(), "sending to other processes"),
        ]

    # --- one room

    async def cast(self, room: Room) -> None:
        """Run the lab when its lease is free, else relay it. Raises Refused while Redis is unreachable."""
        try:
            if self.exchange is not None:
                await self.exchange.join(room.lab.pk)
            holder = await self.leases.take(room.lab.pk)
        except (OSError, RedisError) as error:
            logger.warning("Redis cannot be reached to take a lease: %s", error)
            raise NOT_NOW from error
        if self.exchange is not None and holder != self.exchange.channel:
            room.part = Relay(self.exchange, room, holder)
        else:
            room.part = Runner(self.hub, room, await self._taken(room.lab.pk))

    async def _taken(self, lab_id: str) -> store.StoredLab:
        """Read the lab's rows, after pending writes of an earlier run of it in this process.

        Raises Refused while the database cannot be reached.
        """
        try:
            return await self.hub.saver.wait(
                lab_id, self.hub.saver.begin(lab_id, lambda _: store.take(lab_id), undo=None)
            )
        except db.Error as error:
            logger.warning("Lab %s cannot be read: %s: %s", lab_id, type(error).__name__, error)
            raise no_database() from error

    async def dismiss(self, room: Room) -> None:
        """Release the lease of a room closed here. It expires if Redis cannot be reached."""
        try:
            if self.exchange is not None:
                await self.exchange.leave(room.lab.pk)
            if isinstance(room.part, Runner):
                await self.leases.release(room.lab.pk)
        except (OSError, RedisError) as error:
            logger.warning("Redis cannot be reached to release a lease: %s", error)

    # --- once a second

    async def tick(self, rooms: Iterable[Room]) -> None:
        """Renew this process's leases, check those of other processes, detect whether Redis is reachable."""
        if self.exchange is None:
            return
        away = not await self.leases.reachable()
        if away != self.exchange.away:
            self.exchange.away = away
            logger.warning(
                "Redis does not answer: labs go on where they run" if away else "Redis answers again"
            )
        for room in list(rooms):
            self._tell(room, away)
            if not away:
                await self._keep(room)

    def _tell(self, room: Room, away: bool) -> None:
        running = isinstance(room.part, Runner)
        room.tell(AWAY, (CONTINUES_HERE if running else ELSEWHERE) if away else None)
        if away and isinstance(room.part, Relay):
            room.part.cut_off()

    async def _keep(self, room: Room) -> None:
        try:
            if isinstance(room.part, Runner):
                if not await self.leases.renew(room.lab.pk):
                    self.hub.lost(room)
            elif isinstance(room.part, Relay) and await self._gone_elsewhere(room.part, room.lab.pk):
                await self.hub.recast(room)
        except (OSError, RedisError) as error:  # the next tick detects whether it is unreachable
            logger.warning("Redis cannot be reached to renew a lease: %s", error)

    async def _gone_elsewhere(self, relay: Relay, lab_id: str) -> bool:
        """Whether another process holds the lease, or the former holder did not take it back in time."""
        holder = await self.leases.holder(lab_id)
        if holder is not None:
            relay.free_ticks = 0
            return holder != relay.runner
        relay.free_ticks += 1
        return relay.free_ticks >= HEAD_START_TICKS
