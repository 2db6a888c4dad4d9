"""Marker entries: the entries that replicated subscriptions write (`Markers`, PulsarMarkers.proto).

Rules: a marker is one value, the same in every cluster it reaches. Its number is its identity in the run.
Payloads are Pulsar's protobuf messages, encoded once when written.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.pulsar.markers import codec

REQUEST, RESPONSE, SNAPSHOT, UPDATE = (
    "snapshot_request",
    "snapshot_response",
    "snapshot",
    "subscription_update",
)

Position = tuple[int, int]

EPOCH_MS = 1_767_225_600_000
"""The run's first instant as a publish time: 2026-01-01, so that it takes the bytes of a real one."""


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker.

    `origin` wrote it. `addressee` is the only cluster it is sent to (None: every one, origin itself: none).
    """

    number: int
    type: str
    origin: str
    addressee: str | None
    published_us: int
    snapshot: int | None = None
    snapshot_id: str = ""
    subscription: str | None = None
    cluster: str | None = None  # request: the requesting cluster; response: the responding one
    position: Position | None = None  # response: the position; snapshot: local_message_id
    clusters: tuple[tuple[str, int, int], ...] = ()  # snapshot, update: (cluster, ledger, entry), by name
    size_bytes: int = 0
    carried: tuple[int, ...] = ()  # numbers that a rule of one's own put into it

    def payload(self) -> bytes:
        """The protobuf message."""
        if self.type == UPDATE:
            assert self.subscription is not None, "an update names its subscription"
            return codec.encode_update(self.subscription, self.clusters)
        if self.type == REQUEST:
            assert self.cluster is not None, "a request names the cluster that asks"
            return codec.encode_request(self.snapshot_id, self.cluster)
        assert self.position is not None, "a response and a snapshot have a position"
        if self.type == SNAPSHOT:
            return codec.encode_snapshot(self.snapshot_id, self.position, self.clusters)
        assert self.cluster is not None, "a response names the cluster that answers"
        return codec.encode_response(self.snapshot_id, self.cluster, *self.position)

    def stored_payload(self) -> bytes:
        """The protobuf message, with the numbers of a rule of one's own after it."""
        return self.payload() + (codec.encode_carried(self.carried) if self.carried else b"")

    def metadata(self, copied_from: Position | None = None) -> bytes:
        """The MessageMetadata as stored in the origin's log, or in the copy of the entry at a position."""
        replicate_to = [self.addressee] if self.addressee else []
        return codec.metadata_bytes(
            MARKER_TYPES[self.type],
            EPOCH_MS + self.published_us // 1000,
            replicate_to,
            None if copied_from is None else self.origin,
            copied_from,
        )

    def stored_size_bytes(self, copied_from: Position | None = None) -> int:
        """Bytes of the entry in the origin's log, or of the copy of the entry at a position."""
        return codec.entry_size(self.metadata(copied_from), self.stored_payload())


class MarkerTable:
    """Every marker of a branch, by number from 1; its worlds share it like the message table."""

    __slots__ = ("_markers", "_update_seqs")

    def __init__(self) -> None:
        self._markers: list[Marker] = []
        self._update_seqs: dict[int, int] = {}

    def __getitem__(self, index: int) -> Marker:
        """Marker number `index` + 1."""
        return self._markers[index]

    def put(self, marker: Marker) -> None:
        """Add a marker; a replay adds the same one again."""
        if marker.number == len(self._markers) + 1:
            self._markers.append(marker)

    def set_update_seq(self, number: int, seq: int) -> None:
        """Record the seq of an Update's `update.written` row."""
        self._update_seqs[number] = seq

    def update_seq(self, number: int) -> int:
        """The seq of an Update's `update.written` row."""
        return self._update_seqs[number]

    def prefix(self, count: int) -> MarkerTable:
        """An independent table of the first `count` markers, for a new branch."""
        copy = MarkerTable()
        copy._markers = self._markers[:count]
        copy._update_seqs = {number: seq for number, seq in self._update_seqs.items() if number <= count}
        return copy

    def cut(self, count: int) -> None:
        """Remove the markers after the first `count`."""
        del self._markers[count:]
        for number in [number for number in self._update_seqs if number > count]:
            del self._update_seqs[number]
