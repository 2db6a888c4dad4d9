"""The pending work of a broker for an audience, kept as a few numbers, not an object per dispatch.

Rules: a run is one entry for a range of members, or several entries for one member that catches up. Its
dispatches follow each other without a gap from `start_us` on. `done` of them have left. A block of clients is
connected one after another in the same way.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broker.topic import Topic

UNKNOWN = -1
"""Cause of a run that a connection began.

The true cause is the seq of the member's own `consumer.connected` row, which is assigned later.
"""


class Run:
    """Dispatches of `entries` (log indices) to members `first` to `first + members - 1`.

    It has one entry or one member.
    """

    __slots__ = (
        "audience",
        "entries",
        "first",
        "members",
        "service_us",
        "start_us",
        "done",
        "order",
        "cause",
        "_offsets_us",
    )

    def __init__(
        self,
        audience: Audience,
        entries: tuple[int, ...],
        first: int,
        members: int,
        service_us: tuple[int, ...],
        cause: int,
    ) -> None:
        assert len(entries) == 1 or members == 1, (
            "a run is one entry for many members, or many entries for one"
        )
        self.audience = audience
        self.entries = entries
        self.first = first
        self.members = members
        self.service_us = service_us  # of each entry
        self.cause = cause
        self.start_us = self.order = self.done = 0
        self._offsets_us = (
            None if len(entries) == 1 else np.array([0, *accumulate(service_us)], dtype=np.int64)
        )

    @property
    def topic(self) -> Topic:
        return self.audience.topic

    @property
    def total(self) -> int:
        """How many dispatches it is."""
        return self.members * len(self.entries)

    def offset_us(self, count: int) -> int:
        """How long its first `count` dispatches take."""
        return count * self.service_us[0] if self._offsets_us is None else int(self._offsets_us[count])

    @property
    def begins_us(self) -> int:
        """When the next dispatch begins."""
        return self.start_us + self.offset_us(self.done)

    @property
    def next_us(self) -> int:
        """When the next dispatch leaves."""
        return self.start_us + self.offset_us(self.done + 1)

    @property
    def end_us(self) -> int:
        return self.start_us + self.offset_us(self.total)

    def over_us(self, place: int) -> int:
        """When all members have the entry at this place."""
        return self.end_us if self._offsets_us is None else self.start_us + self.offset_us(place + 1)

    def leaving(self, before_us: int) -> int:
        """How many more dispatches leave before an instant."""
        left_us = before_us - 1 - self.start_us
        if left_us < 0:
            return 0
        if self._offsets_us is not None:
            return max(0, int(np.searchsorted(self._offsets_us, left_us, side="right")) - 1 - self.done)
        service_us = self.service_us[0]
        return max(0, min(self.total, left_us // service_us if service_us else self.total) - self.done)

    def leave_instants(self, count: int) -> np.ndarray:
        """When each of the next `count` dispatches leaves, us."""
        numbers = np.arange(self.done + 1, self.done + count + 1, dtype=np.int64)
        return self.start_us + (
            numbers * self.service_us[0] if self._offsets_us is None else self._offsets_us[numbers]
        )

    def begin_at(self, at_us: int) -> Run:
        """Move the next dispatch's beginning to an instant, and the later ones accordingly."""
        self.start_us = at_us - self.offset_us(self.done)
        return self


class ConnectingBlock:
    """The members of an audience, connected one after another from `start_us` on.

    Each takes `step_us`, which is more than 0.
    """

    __slots__ = ("client", "start_us", "step_us", "done")

    def __init__(self, client: Audience, start_us: int, step_us: int) -> None:
        self.client = client
        self.start_us = start_us
        self.step_us = step_us
        self.done = 0

    @property
    def topic(self) -> Topic:
        return self.client.topic

    @property
    def next_us(self) -> int:
        """When the next member is connected."""
        return self.start_us + (self.done + 1) * self.step_us

    @property
    def end_us(self) -> int:
        return self.start_us + self.client.size * self.step_us

    def leaving(self, before_us: int) -> int:
        """How many more members are connected before an instant."""
        left_us = before_us - 1 - self.start_us
        if left_us < 0:
            return 0
        return max(0, min(self.client.size, left_us // self.step_us) - self.done)

    def instants(self, count: int) -> np.ndarray:
        """When each of the next `count` members is connected, us."""
        return self.start_us + np.arange(self.done + 1, self.done + count + 1, dtype=np.int64) * self.step_us
