"""Decides which server process runs which lab, also when Redis becomes unreachable and returns.

Rules: with Redis the holder of a lab's lease runs it and the others relay it. Without Redis this process is
the only one. While Redis cannot be reached no process closes or takes a lab. A lab keeps running where it is,
its pages in other processes get a notice that it cannot be shown, and requests that cannot be carried out are
refused with a reason. `run_number` in the database decides what a process may write.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from django import db
from django.conf import settings
from redis import asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from visualizer.labs import saving
from visualizer.labs.exchange import Exchange
from visualizer.labs.relaying import Relay
from visualizer.labs.rooms import Room
from visualizer.labs.running import Runner
from visualizer.labs.saving import no_database
from visualizer.live.wire import Refused

if TYPE_CHECKING:
    from visualizer.labs.hub import Hub


# --- decides which server process runs a lab: a lease in Redis, or this process when there is no Redis
#
# Rules: a lease that is not renewed for `LEASE_MS` is free, so a lab outlives its process. Only its holder
# renews and releases it (compared in Redis, in one step). The holder takes it again when Redis restarts
# without its data, so a relaying process leaves a free lease to its holder for `HEAD_START_TICKS`. The
# value is the holder's channel, so other processes can send requests to it. An outdated holder is stopped
# from writing by the lab's `run_number` in the database, not by the lease. So no process closes its labs
# while Redis is unreachable.


LEASE_MS = 5_000
"""Longest time that the lab of a process that has died keeps its lease."""

HEAD_START_TICKS = 3
"""Consecutive checks, a second apart, that must find a lease free before a relaying process takes it."""

ANSWER_S = 2
"""How long Redis may take to answer before it counts as unreachable."""

_RENEW = """
local holder = redis.call('get', KEYS[1])
if holder == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
if not holder then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
return 0
"""
_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"


class Leases(Protocol):
    """Leases of labs; `take` returns the channel of the holder, which is this process or another.

    All methods but `reachable` raise RedisError or OSError.
    """

    async def reachable(self) -> bool: ...

    async def holder(self, lab_id: str) -> str | None: ...

    async def take(self, lab_id: str) -> str: ...

    async def renew(self, lab_id: str) -> bool: ...

    async def release(self, lab_id: str) -> None: ...

    async def close(self) -> None: ...


class OnlyProcess:
    """Leases without Redis: this process runs every lab that is requested."""

    async def reachable(self) -> bool:
        return True

    async def holder(self, lab_id: str) -> str | None:
        return ""

    async def take(self, lab_id: str) -> str:
        return ""

    async def renew(self, lab_id: str) -> bool:
        return True

    async def release(self, lab_id: str) -> None:
        return None

    async def close(self) -> None:
        return None


class RedisLeases:
    """Leases shared by every process that uses the same Redis."""

    def __init__(self, url: str, channel: str) -> None:
        self.channel = channel
        # Not retried: the callers try again a second later.
        self._redis = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._renew = self._redis.register_script(_RENEW)
        self._release = self._redis.register_script(_RELEASE)

    async def reachable(self) -> bool:
        try:
            return bool(await self._redis.ping())
        except (OSError, RedisError):
            return False

    async def holder(self, lab_id: str) -> str | None:
        return _text(await self._redis.get(_key(lab_id)))

    async def take(self, lab_id: str) -> str:
        key = _key(lab_id)
        while True:
            if await self._redis.set(key, self.channel, nx=True, px=LEASE_MS):
                return self.channel
            holder = _text(await self._redis.get(key))
            if holder is not None:  # else it expired between the two requests: try again
                return holder

    async def renew(self, lab_id: str) -> bool:
        return bool(await self._renew(keys=[_key(lab_id)], args=[self.channel, LEASE_MS]))

    async def release(self, lab_id: str) -> None:
        await self._release(keys=[_key(lab_id)], args=[self.channel])

    async def close(self) -> None:
        await self._redis.aclose()


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


def _key(lab_id: str) -> str:
    return f"failover-lab:lease:{lab_id}"


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

    async def _taken(self, lab_id: str) -> saving.StoredLab:
        """Read the lab's rows, after pending writes of an earlier run of it in this process.

        Raises Refused while the database cannot be reached.
        """
        try:
            return await self.hub.saver.wait(
                lab_id, self.hub.saver.begin(lab_id, lambda _: saving.take(lab_id), undo=None)
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
