"""Entries whose append is not complete: the option `appendTime`.

Rules: an entry has its position from the beginning of its append, and can be read from the end of it on, when
the waiting readers are notified (`OpAddEntry.run`, `ManagedLedgerImpl.notifyCursors`). The last confirmed
entry is the last one whose append is complete. Appends complete in order, so one that takes long holds back
the ones after it. A draw is keyed by topic, cluster and index. A topic that is loaded has no append under
way. Audiences and shadows read entries at once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import stream_key
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic


class Appends:
    """The appends to one log that are under way, each of which takes a draw of `time`.

    `pending` are (instant of completion, index, row that stored the entry), oldest first.
    """

    __slots__ = ("_time", "_topic", "pending")

    def __init__(self, topic: Topic, time: Sampler) -> None:
        self._topic = topic
        self._time = time
        self.pending: deque[tuple[int, int, int]] = deque()

    @classmethod
    def of(cls, topic: Topic, place: str) -> Appends | None:
        """The appends to the log at `place` (cluster/topic), or None where they take no time."""
        runtime = topic.runtime
        time = Sampler(runtime.option("appendTime"), stream_key(runtime.seed, f"append/{place}"))
        return None if time.constant == 0 else cls(topic, time)

    def begin(self, index: int, seq: int) -> None:
        """The append of an entry began."""
        runtime = self._topic.runtime
        due_us = runtime.now_us + self._time.at(index)
        if self.pending:
            due_us = max(due_us, self.pending[-1][0])
        self.pending.append((due_us, index, seq))
        runtime.schedule(due_us, self._topic.rank, self.complete)

    def complete(self, _argument: None = None) -> None:
        """The append of the oldest entry is complete, unless the topic was unloaded meanwhile."""
        pending, now_us, seq = self.pending, self._topic.runtime.now_us, NULL
        while pending and pending[0][0] <= now_us:
            seq = pending.popleft()[2]
        if seq == NULL:
            return
        for replicator in self._topic.replicators.values():
            replicator.read()
        self._topic.wake_dispatchers(seq)

    @property
    def readable_length(self) -> int:
        """The index after the last entry that can be read."""
        return self.pending[0][1] if self.pending else self._topic.log.length

    @property
    def last_confirmed(self) -> tuple[int, int]:
        """Position of the last entry whose append is complete."""
        log = self._topic.log
        return log.position(self.pending[0][1] - 1) if self.pending else log.last_confirmed
