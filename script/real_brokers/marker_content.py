"""The content of a marker in a dump: Pulsar's protobuf fields as plain data, whatever their spelling.

Rules: names may be the proto's (`snapshot_id`) or Java's (`snapshotId`). A position's `ledger` and `entry`
may stand beside its cluster or under `message_id`. Its numbers are unsigned in the proto, and those of Java's
negative longs are read as negative.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from script.real_brokers.recording import RecordingError
from simulator.protocols.pulsar.events import MARKER_TYPES

_WORDS: dict[int | str, str] = {
    **{number: word for word, number in MARKER_TYPES.items()},
    **{word: word for word in MARKER_TYPES},
    "REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST": "snapshot_request",
    "REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE": "snapshot_response",
    "REPLICATED_SUBSCRIPTION_SNAPSHOT": "snapshot",
    "REPLICATED_SUBSCRIPTION_UPDATE": "subscription_update",
}
"""The word of a type given as number, word, or name of Pulsar's enumeration `MarkerType`."""

_SIGN_BIT, _MODULUS = 1 << 63, 1 << 64


@dataclass(frozen=True, slots=True)
class MarkerContent:
    """One marker as its payload says.

    `cluster` is the requesting cluster of a request and the responding one of a response. `position` is the
    response's, or the snapshot's local one. `clusters` are (cluster, ledger, entry) by name.
    """

    type: str
    snapshot_id: str = ""
    cluster: str | None = None
    position: tuple[int, int] | None = None
    subscription: str | None = None
    clusters: tuple[tuple[str, int, int], ...] = ()


def marker_content(raw: dict[str, Any]) -> MarkerContent:
    """The marker of a dump's entry. Raises RecordingError for a type or a field that no marker has."""
    found = _plain(raw)
    type_ = _WORDS.get(found.get("type", ""), str(found.get("type")))
    try:
        if type_ == "snapshot_request":
            return MarkerContent(type_, found["snapshot_id"], found.get("source_cluster"))
        if type_ == "snapshot_response":
            name, *position = _cluster(found["cluster"])
            return MarkerContent(type_, found["snapshot_id"], name, tuple(position))
        clusters = tuple(sorted(_cluster(one) for one in found.get("clusters", ())))
        if type_ == "snapshot":
            local = _position(found["local_message_id"])
            return MarkerContent(type_, found["snapshot_id"], position=local, clusters=clusters)
        if type_ == "subscription_update":
            return MarkerContent(type_, subscription=found["subscription_name"], clusters=clusters)
    except (KeyError, TypeError) as error:
        raise RecordingError(f"a {type_} marker lacks {error}: {json.dumps(raw)[:300]}") from error
    raise RecordingError(
        f"{type_!r} is not a marker type of replicated subscriptions; these are: "
        f"{', '.join(f'{word} ({number})' for word, number in MARKER_TYPES.items())}"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _cluster(found: dict[str, Any]) -> tuple[str, int, int]:
    return (found["cluster"], *_position(found.get("message_id", found)))


def _position(found: dict[str, Any]) -> tuple[int, int]:
    ledger, entry = (name if name in found else f"{name}_id" for name in ("ledger", "entry"))
    return _signed(found[ledger]), _signed(found[entry])


def _signed(number: int | str) -> int:
    number = int(number)
    return number - _MODULUS if number & _SIGN_BIT else number
