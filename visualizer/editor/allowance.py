"""The checks, or outcomes, that one address may request in a minute, larger texts counting more.

Rules: the allowance refills evenly. The clock is passed in, so tests use their own. Addresses whose allowance
is full again are forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from visualizer.labs.clients import Bound, client
from visualizer.live.wire import Refused

CHECKS_PER_MINUTE = 1_200
"""Checks of one address in a minute: a class of 60 in one building, each every three seconds."""

CHARACTERS_PER_CHECK = 4_096
"""Each further 4,096 characters of a text count as another check. Most scenarios have fewer."""

ADDRESSES_KEPT = 10_000
"""Addresses whose allowance is kept in one process, about 100 bytes each."""


class Allowance:
    """A bucket of checks for each address; the least recently used one is dropped when they are too many."""

    def __init__(
        self,
        most: int = CHECKS_PER_MINUTE,
        clock_s: Callable[[], float] = time.monotonic,
        kept: int = ADDRESSES_KEPT,
        what: str = "checks",
    ) -> None:
        self._most, self._clock_s, self._kept, self._what = most, clock_s, kept, what
        self._bounds: dict[str, Bound] = {}

    def take(self, characters: int) -> None:
        """Count one check of a text for the current address. Raises Refused when none is left."""
        name = client.get()
        if not name:
            return
        now_s = self._clock_s()
        bound = self._bounds.pop(name, None) or Bound(self._most, self._most / 60, now_s)
        self._bounds[name] = bound  # behind those used before
        if len(self._bounds) > self._kept:
            del self._bounds[next(iter(self._bounds))]
        if not bound.take(now_s, 1 + characters // CHARACTERS_PER_CHECK):
            raise Refused(
                "too-many",
                f"{self._most:,} {self._what} of scenarios were requested from your address within a minute.",
                "Wait a few seconds; the text is not lost.",
            )

    def __len__(self) -> int:
        return len(self._bounds)
