"""The clock and the event queue of a run.

Rules: time is integer microseconds and only moves forward. An event is data, `(at_us, rank, order, target,
method, argument)`: the method is a function of the target's class, never a closure, so a queue can be copied.
Events of one instant are ordered by the target's rank (from the scenario's sorted names), then by the order
of scheduling. A single event is never removed: a target ignores one that it no longer expects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.trace.trace import Trace

COMMAND_RANK = 1 << 40
"""Commands run after everything else at their instant."""

CONTINUES_RANK = -1
"""The rest of a long event runs before everything else at its instant.

So cutting it into portions changes no row.
"""

EVENTS_QUEUED_MAX = 5_000_000
"""The most events in the queue at once.

It is far above what a scenario needs: one per producer, consumer, timer and message on a link.
"""


Handler = Callable[[Any], int | None]
"""An event's function: a method bound to its target.

Returns how many events it did, None for one.
"""

Event = tuple[int, int, int, Any, Callable[..., int | None], Any]
"""(at_us, rank, order, target, method, argument): at `at_us`, `method(target, argument)`."""


class QueueFull(RuntimeError):
    """More than EVENTS_QUEUED_MAX events are in the queue.

    This is an internal error, or a scenario beyond the limit.
    """


class Clock:
    """The present instant and the events after it."""

    __slots__ = ("now_us", "limit_us", "_queue", "_order")

    def __init__(self) -> None:
        self.now_us = 0
        self.limit_us = 0  # how far the run under way may go
        self._queue: list[Event] = []
        self._order = 0

    def schedule(self, at_us: int, rank: int, handler: Handler, argument: Any = None) -> None:
        """Schedule `handler(argument)` at `at_us` (not before now)."""
        assert at_us >= self.now_us, f"event for {handler} at {at_us} us lies before now, {self.now_us} us"
        self._order = order = self._order + 1
        method: Any = handler  # a bound method: checkpoints keep its function as a name
        heappush(self._queue, (at_us, rank, order, method.__self__, method.__func__, argument))

    def drop(self, method: Callable[..., int | None]) -> None:
        """Remove every event that would call this method of a class."""
        self._queue = [event for event in self._queue if event[4] is not method]
        heapify(self._queue)

    @property
    def next_at_us(self) -> int | None:
        """Instant of the next event, None when there is none."""
        return self._queue[0][0] if self._queue else None

    def events(self) -> Iterable[Event]:
        """The scheduled events, in no order."""
        return self._queue

    def become(self, parts: Iterable[dict[str, Any] | None]) -> None:
        """Take over the fields of a copy; a run under way goes on with the events of the copy."""
        queue = self._queue
        for part in parts:
            for name, value in (part or {}).items():
                setattr(self, name, value)
        queue[:], self._queue = self._queue, queue

    @property
    def whole(self) -> bool:
        """Whether the present instant is finished: no more events are scheduled at it."""
        return not self._queue or self._queue[0][0] > self.now_us

    def in_portions(self, portions: Iterator[int]) -> int:
        """Do long work of this instant in portions, the first now.

        Each further portion is an event of its own before everything else. Each portion yields the number of
        queue events that it replaces. The caller's code after this call must not depend on the rest.
        """
        events = next(portions, None)
        if events is None:
            return 1
        self.schedule(self.now_us, CONTINUES_RANK, self.in_portions, portions)
        return events

    def run_instants(
        self,
        until_us: int,
        events: int,
        rows: Trace | None = None,
        rows_max: int = 0,
        pause: Callable[[], bool] | None = None,
    ) -> bool:
        """Run up to and including `until_us`, or until `events` or `rows_max` is reached.

        It stops after about `events` events, or as soon as there are more `rows` than `rows_max`. `pause` is
        called before each further instant and can stop the run there. If the run stops within an instant,
        `whole` is false. A method that did the work of many events returns how many; it may advance the
        clock, up to `limit_us` and before the next event. Returns True while events at or before `until_us`
        are left; otherwise the clock is at `until_us`.
        """
        queue = self._queue
        self.limit_us = until_us
        if len(queue) > EVENTS_QUEUED_MAX:
            raise QueueFull(f"{len(queue)} events wait; the bound is {EVENTS_QUEUED_MAX}")
        while queue and queue[0][0] <= until_us:
            if events <= 0 or (rows is not None and rows.length > rows_max):
                return True
            if pause is not None and queue[0][0] > self.now_us and pause():
                return True
            self.now_us, _rank, _order, target, method, argument = heappop(queue)
            events -= method(target, argument) or 1
        self.now_us = max(self.now_us, until_us)
        return False
