"""Which messages are acked, expired or skipped at each cluster.

The claims about Updates and about filtering are based on it. It holds for a message at X and a subscription
when the application acknowledged it at X, it expired or was skipped at X, X skipped it because a peer had
reported it as acknowledged, an Update listed it, or X's cursor was set above it.
"""

from __future__ import annotations

import numpy as np

from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages

DEALT_WITH = (
    "message.acknowledged",
    "message.expired",
    "message.skipped",
    "message.evicted",
    "message.filtered",
    "message.listed",
)

Cursor = tuple[int, int, int]
"""Fields: (cluster, topic, subscription)."""


class AckedExpiredOrSkipped:
    """The messages acked, expired or skipped so far.

    It grows with the trace. Queries about a stretch are allowed between its `read` and `finish`.
    """

    def __init__(self) -> None:
        self._seen = RecordedMessages()  # (cluster, subscription, producer)
        self._covered: dict[Cursor, int] = {}  # highest position that counts as acked, expired or skipped

    def copy(self) -> AckedExpiredOrSkipped:
        """An independent copy; to be taken between stretches."""
        copy = AckedExpiredOrSkipped()
        copy._seen, copy._covered = self._seen.copy(), dict(self._covered)
        return copy

    def read(self, stretch: Stretch) -> None:
        """Add the stretch's rows."""
        self._seen.read(stretch.of(*DEALT_WITH), "cluster", "subscription")

    def finish(self) -> None:
        """The stretch is over."""
        self._seen.finish()

    def cover(self, known: Knowledge, seq: int, cursor: Cursor, place: int) -> None:
        """Count all entries of the log up to `place` as acked, expired or skipped from now on."""
        cluster, topic, subscription = cursor
        log = known.logs.of(cluster, topic)
        for producer, ids in log.messages(log.between(self._covered.get(cursor, -1), place, seq)):
            self._seen.add((cluster, subscription, producer), ids)
        self._covered[cursor] = max(place, self._covered.get(cursor, -1))

    def unseen(
        self,
        cluster: int,
        subscription: int,
        producer: int,
        sequence_ids: np.ndarray,
        before_seq: int | np.ndarray,
    ) -> np.ndarray:
        """Mask of the messages not acked, expired or skipped there before the row (one, or one each)."""
        return self._seen.unseen((cluster, subscription, producer), sequence_ids, before_seq)
