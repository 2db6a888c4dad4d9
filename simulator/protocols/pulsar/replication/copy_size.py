"""Bytes that a replicator adds to an entry: the metadata of the copy names where it came from.

Source: `GeoPersistentReplicator.replicateEntries` sets `replicated_from` to its cluster and adds the property
MSG_PROP_REPL_SOURCE_POSITION with "ledger:entry" of the original, to messages and markers alike, whether or
not the peer deduplicates (since #23697). Rules: sizes are those of the protobuf encoding; nothing is encoded
for each entry. A test compares them with encoded metadata.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.markers.codec import SOURCE_POSITION

_POWERS_OF_TEN = 10 ** np.arange(1, 19, dtype=np.int64)
_LONGEST = 2 * 19
"""Digits of two Java longs."""


class CopySize:
    """The bytes that the replicators of one cluster add."""

    __slots__ = ("fixed",)

    def __init__(self, cluster: str) -> None:
        value_begin = 2 + _field(len(SOURCE_POSITION))  # tag and length of the property, its key
        self.fixed = _field(len(cluster.encode())) + value_begin + 2 + len(":")

    def of(self, ledger: int, entry: int) -> int:
        """Bytes added to the copy of the entry at this position."""
        return self.fixed + len(f"{ledger}{entry}")

    @property
    def most(self) -> int:
        """The most bytes that are added to any entry."""
        return self.fixed + _LONGEST


def _field(length: int) -> int:
    """Bytes of a string field of a message: a tag of one byte, the length as a varint, the text."""
    return 1 + (1 if length < 128 else 2) + length
