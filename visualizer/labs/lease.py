"""Decides which server process runs a lab: a lease in Redis, or this process when there is no Redis.

Rules: a lease that is not renewed for `LEASE_MS` is free, so a lab outlives its process. Only its holder
renews and releases it (compared in Redis, in one step). The holder takes it again when Redis restarts without
its data, so a relaying process leaves a free lease to its holder for `HEAD_START_TICKS`. The value is the
holder's channel, so other processes can send requests to it. An outdated holder is stopped from writing by
the lab's `run_number` in the database, not by the lease. So no process closes its labs while Redis is
unreachable.
"""

from __future__ import annotations

from typing import Protocol

from redis import asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

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
