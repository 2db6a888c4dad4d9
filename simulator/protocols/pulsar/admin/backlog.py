"""The content of a backlog: entries after a cursor's mark-delete that are not individually deleted.

Rules: counted in the log itself, PIECE_ENTRIES at a time, so a backlog of a million entries yields sixteen
times.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyroaring import BitMap

from simulator.protocols.pulsar.storage.backlog_quota import bytes_after

if TYPE_CHECKING:
    from simulator.log.cursors import Cursor
    from simulator.protocols.pulsar.broker.topic import Topic

PIECE_ENTRIES = 65_536


class Backlog(NamedTuple):
    """Entries by content: messages published in this cluster, messages replicated in, markers.

    `deleted_markers` counts the markers among the individually deleted entries.
    """

    local: int = 0
    remote: int = 0
    markers: int = 0
    deleted_markers: int = 0

    @property
    def entries(self) -> int:
        """The value of msgBacklog."""
        return self.local + self.remote + self.markers


def made_of(topic: Topic, cursor: Cursor) -> Generator[None, None, Backlog]:
    """Count a cursor's backlog; yields between pieces, returns a Backlog."""
    deleted = cursor.acknowledged()
    found = Backlog()
    first, length = max(cursor.mark_delete + 1, topic.log.first_kept), topic.log.length
    while first < length:
        last = min(length, first + PIECE_ENTRIES)
        found = Backlog(
            *(one + more for one, more in zip(found, _piece(topic, deleted, first, last), strict=True))
        )
        first = last
        yield None
    return found


def _piece(topic: Topic, deleted: BitMap, first: int, last: int) -> Backlog:
    records = topic.log.records.view(first, last)
    waits = np.ones(last - first, dtype=bool)
    here = deleted & BitMap(range(first, last))
    waits[np.asarray(here.to_array(), dtype=np.int64) - first] = False
    marker = records < 0
    messages = records[waits & ~marker]
    local = 0
    if len(messages):
        low, high = int(messages.min()), int(messages.max())
        origins = np.frombuffer(topic.runtime.messages.origin[low : high + 1].tobytes(), dtype=np.int64)
        local = int((origins[messages - low] == topic.cluster.index).sum())
    return Backlog(local, len(messages) - local, int((waits & marker).sum()), int((~waits & marker).sum()))


def backlog_bytes(topic: Topic, cursor: Cursor, position: tuple[int, int]) -> int:
    """A subscription's backlogSize: the estimate less the individually deleted entries at average size."""
    total = bytes_after(topic, position)
    entries = topic.log.length - 1 - max(cursor.mark_delete, topic.log.first_kept - 1)
    if not total or entries <= cursor.deleted_count:
        return total
    return total - cursor.deleted_count * (total // entries)
