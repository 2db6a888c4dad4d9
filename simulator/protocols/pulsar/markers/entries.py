"""Marker entries: the entries that replicated subscriptions write (`Markers`, PulsarMarkers.proto).

Rules: a marker is one value, the same in every cluster it reaches. Its number is its identity in the run.
Payloads are Pulsar's protobuf messages, encoded once when written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError, Message

from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.pulsar.markers import pulsar_markers_pb2 as protobuf

# --- markers to bytes and back: Pulsar's protobuf payloads, their metadata, and the entry size
#
# Rules: positions are (ledger, entry) with entry -1 before the first. Pulsar writes the bits of a signed
# long into an unsigned field, so -1 is encoded as 2**64 - 1 and decoded as -1. Cluster lists are in
# alphabetical order. A marker type is given as the word of the trace (`snapshot_request`) or as Pulsar's
# number (10). All functions are pure.


MARKER_PRODUCER = "pulsar.marker"
"""Producer name in every marker's metadata; the sequence id is always 0."""

SOURCE_POSITION = "__MSG_PROP_REPL_SOURCE_POSITION"
"""Key of the property with which a replicator names the original's position (#23697)."""

MAGIC_BYTES, CHECKSUM_BYTES, METADATA_LENGTH_BYTES = 2, 4, 4
"""The frame around metadata and payload in an entry: 0x0e01, CRC32C, length of the metadata."""

UNSIGNED_MASK = (1 << 64) - 1
"""A Java long in a uint64 field: two's complement."""

SIGN_BIT = 1 << 63

MESSAGES: dict[int, type[Message]] = {
    10: protobuf.ReplicatedSubscriptionsSnapshotRequest,
    11: protobuf.ReplicatedSubscriptionsSnapshotResponse,
    12: protobuf.ReplicatedSubscriptionsSnapshot,
    13: protobuf.ReplicatedSubscriptionsUpdate,
}

TITLED = (10, 11)
"""Types that PIP-33 prints under their message's name; it prints the other two without a name."""


class MarkerError(ValueError):
    """Bytes or a type that no marker has; the text names the fault and the permitted values."""


def encode_request(snapshot_id: str, source_cluster: str) -> bytes:
    """Payload of a snapshot request (10), written by the requesting cluster."""
    message = protobuf.ReplicatedSubscriptionsSnapshotRequest(
        snapshot_id=snapshot_id, source_cluster=source_cluster
    )
    return message.SerializeToString(deterministic=True)


def encode_response(snapshot_id: str, cluster: str, ledger: int, entry: int) -> bytes:
    """Payload of a snapshot response (11): the responding `cluster` is at ledger:entry."""
    message = protobuf.ReplicatedSubscriptionsSnapshotResponse(snapshot_id=snapshot_id)
    _set_cluster(message.cluster, cluster, ledger, entry)
    return message.SerializeToString(deterministic=True)


def encode_snapshot(
    snapshot_id: str, local: tuple[int, int], clusters: Iterable[tuple[str, int, int]]
) -> bytes:
    """Payload of a finished snapshot (12): local position and each remote's (name, ledger, entry)."""
    message = protobuf.ReplicatedSubscriptionsSnapshot(snapshot_id=snapshot_id)
    _set_position(message.local_message_id, *local)
    for name, ledger, entry in sorted(clusters):
        _set_cluster(message.clusters.add(), name, ledger, entry)
    return message.SerializeToString(deterministic=True)


def encode_update(subscription: str, clusters: Iterable[tuple[str, int, int]]) -> bytes:
    """Payload of a subscription update (13): the new mark-delete of each remote (name, ledger, entry)."""
    message = protobuf.ReplicatedSubscriptionsUpdate(subscription_name=subscription)
    for name, ledger, entry in sorted(clusters):
        _set_cluster(message.clusters.add(), name, ledger, entry)
    return message.SerializeToString(deterministic=True)


def encode_carried(numbers: Iterable[int]) -> bytes:
    """The numbers that a rule of one's own adds to a payload: a packed repeated field with number 15."""
    packed = b"".join(map(_varint, numbers))
    return b"\x7a" + _varint(len(packed)) + packed


def _varint(number: int) -> bytes:
    """A whole number as protobuf writes it: seven bits in a byte, the lowest first."""
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)


def metadata_bytes(
    marker_type: int | str,
    publish_time_ms: int,
    replicate_to: Iterable[str] | None,
    replicated_from: str | None = None,
    source_position: tuple[int, int] | None = None,
) -> bytes:
    """MessageMetadata of a marker entry.

    `replicate_to` None or empty means every cluster. `replicated_from` and the position of the original are
    set by the replicator that sent it.
    """
    metadata = protobuf.MessageMetadata(
        producer_name=MARKER_PRODUCER,
        sequence_id=0,
        publish_time=publish_time_ms,
        marker_type=type_number(marker_type),
        replicate_to=tuple(replicate_to or ()),
    )
    if replicated_from is not None:
        metadata.replicated_from = replicated_from
    if source_position is not None:
        metadata.properties.add(key=SOURCE_POSITION, value="{}:{}".format(*source_position))
    return metadata.SerializeToString(deterministic=True)


def entry_size(metadata: bytes, payload: bytes) -> int:
    """Bytes of the entry in the log: magic, checksum, metadata length, metadata, payload."""
    return MAGIC_BYTES + CHECKSUM_BYTES + METADATA_LENGTH_BYTES + len(metadata) + len(payload)


def decode(marker_type: int | str, payload: bytes) -> dict[str, Any]:
    """The payload under the proto's field names, in field order; unset optional fields are left out.

    Raises MarkerError for an unknown type or bytes that are not a whole message of it.
    """
    number = type_number(marker_type)
    try:
        message = MESSAGES[number].FromString(payload)
    except DecodeError as error:
        raise MarkerError(
            f"{len(payload)} bytes are not a whole {MESSAGES[number].DESCRIPTOR.name}: {error}"
        ) from error
    return _as_dict(message)


def pip33_json(marker_type: int | str, payload: bytes) -> str:
    """The payload as PIP-33 prints it (four spaces, ` : `), as valid JSON under the proto's field names."""
    number = type_number(marker_type)
    fields: dict[str, Any] = decode(number, payload)
    if number in TITLED:
        fields = {MESSAGES[number].DESCRIPTOR.name: fields}
    return json.dumps(fields, indent=4, separators=(",", " : "), ensure_ascii=False)


def type_number(marker_type: int | str) -> int:
    """Pulsar's number for a marker type given as word or number; raises MarkerError for any other."""
    number = MARKER_TYPES.get(marker_type) if isinstance(marker_type, str) else marker_type
    if number not in MESSAGES:
        known = ", ".join(f"{word} ({code})" for word, code in MARKER_TYPES.items())
        raise MarkerError(
            f"{marker_type!r} is not a marker type of replicated subscriptions; these are: {known}"
        )
    return number


def _set_cluster(target: Any, cluster: str, ledger: int, entry: int) -> None:
    target.cluster = cluster
    _set_position(target.message_id, ledger, entry)


def _set_position(target: Any, ledger: int, entry: int) -> None:
    target.ledger_id = ledger & UNSIGNED_MASK
    target.entry_id = entry & UNSIGNED_MASK


def _as_dict(message: Any) -> dict[str, Any]:
    return {field.name: _plain(value) for field, value in message.ListFields()}


def _plain(value: Any) -> Any:
    """A field's value as plain data: messages as dicts, lists as lists, unsigned numbers as Java's longs."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return value - (1 << 64) if value & SIGN_BIT else value
    if hasattr(value, "ListFields"):
        return _as_dict(value)
    return [_as_dict(item) for item in value]


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
            return encode_update(self.subscription, self.clusters)
        if self.type == REQUEST:
            assert self.cluster is not None, "a request names the cluster that asks"
            return encode_request(self.snapshot_id, self.cluster)
        assert self.position is not None, "a response and a snapshot have a position"
        if self.type == SNAPSHOT:
            return encode_snapshot(self.snapshot_id, self.position, self.clusters)
        assert self.cluster is not None, "a response names the cluster that answers"
        return encode_response(self.snapshot_id, self.cluster, *self.position)

    def stored_payload(self) -> bytes:
        """The protobuf message, with the numbers of a rule of one's own after it."""
        return self.payload() + (encode_carried(self.carried) if self.carried else b"")

    def metadata(self, copied_from: Position | None = None) -> bytes:
        """The MessageMetadata as stored in the origin's log, or in the copy of the entry at a position."""
        replicate_to = [self.addressee] if self.addressee else []
        return metadata_bytes(
            MARKER_TYPES[self.type],
            EPOCH_MS + self.published_us // 1000,
            replicate_to,
            None if copied_from is None else self.origin,
            copied_from,
        )

    def stored_size_bytes(self, copied_from: Position | None = None) -> int:
        """Bytes of the entry in the origin's log, or of the copy of the entry at a position."""
        return entry_size(self.metadata(copied_from), self.stored_payload())


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
