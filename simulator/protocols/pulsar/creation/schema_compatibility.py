"""Whether a schema may follow those of a topic: Pulsar's strategies over Avro's compatibility rules.

Rules: Avro's own library decides whether a reader can read data of a writer (`avro.compatibility`). Only
the pairs to compare are chosen here. BACKWARD: the new schema reads the newest. FORWARD: the newest reads the
new one. FULL: both. With _TRANSITIVE, all versions in place of the newest. Schemas of another type never
follow, except under ALWAYS_COMPATIBLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import Schema, parse

if TYPE_CHECKING:
    from simulator.protocols.pulsar.scenario.model import SchemaSpec

TRANSITIVE = "_TRANSITIVE"
PARSED_KEPT = 512
"""Number of parsed schemas that are cached; a scenario may declare 256."""


@lru_cache(maxsize=PARSED_KEPT)
def _parsed(definition: str) -> Schema:
    return parse(definition)


def same(one: SchemaSpec, other: SchemaSpec) -> bool:
    """Whether two declarations are one schema: a broker compares type and definition, never names."""
    return (one.type, one.definition) == (other.type, other.definition)


def unreadable(reader: SchemaSpec, writer: SchemaSpec) -> str | None:
    """Why `reader` cannot read data of `writer`, in Avro's words; None when it can."""
    if reader.type != writer.type:
        return f"exists schema type {writer.type}, new schema type {reader.type}"
    if reader.definition is None or writer.definition is None:
        return None
    found = ReaderWriterCompatibilityChecker().get_compatibility(
        _parsed(reader.definition), _parsed(writer.definition)
    )
    if found.compatibility is SchemaCompatibilityType.compatible:
        return None
    words = "; ".join(f"{kind.value.replace('_', ' ')}" for kind in found.incompatibilities)
    places, messages = ", ".join(sorted(found.locations)), ", ".join(sorted(found.messages))
    return f"{words} ({messages}) at {places}"


def why_incompatible(strategy: str, new: SchemaSpec, versions: Sequence[SchemaSpec]) -> str | None:
    """Why `new` may not become the next version after `versions` (oldest first); None when it may."""
    if not versions or strategy == "ALWAYS_COMPATIBLE":
        return None
    if strategy == "ALWAYS_INCOMPATIBLE":
        return "Incompatible schema: the strategy ALWAYS_INCOMPATIBLE takes no further schema"
    direction = strategy.removesuffix(TRANSITIVE)
    for version in reversed(versions) if strategy.endswith(TRANSITIVE) else versions[-1:]:
        why = why_not_after(direction, new, version)
        if why is not None:
            return why
    return None


def why_not_after(direction: str, new: SchemaSpec, version: SchemaSpec) -> str | None:
    """The same for one earlier version and BACKWARD, FORWARD or FULL."""
    if new.type != version.type:
        return f"Incompatible schema: exists schema type {version.type}, new schema type {new.type}"
    if direction in ("BACKWARD", "FULL") and (why := unreadable(new, version)) is not None:
        return f"Incompatible schema: {new.name} can not read what {version.name} wrote: {why}"
    if direction in ("FORWARD", "FULL") and (why := unreadable(version, new)) is not None:
        return f"Incompatible schema: {version.name} can not read what {new.name} writes: {why}"
    return None


def why_unreadable_by(strategy: str, consumer: SchemaSpec, versions: Sequence[SchemaSpec]) -> str | None:
    """Why a consumer with this schema is refused, None when it is not (checkConsumerCompatibility).

    It must read the newest version. Under BACKWARD_TRANSITIVE and FULL_TRANSITIVE it must be compatible with
    all of them in the strategy's own directions, and under ALWAYS_INCOMPATIBLE no schema is.
    """
    if not versions or strategy == "ALWAYS_COMPATIBLE":
        return None
    if strategy == "ALWAYS_INCOMPATIBLE":
        return "Schema compatibility strategy is ALWAYS_INCOMPATIBLE"
    every = strategy in ("BACKWARD_TRANSITIVE", "FULL_TRANSITIVE")
    direction = strategy.removesuffix(TRANSITIVE) if every else "BACKWARD"
    for version in reversed(versions) if every else versions[-1:]:
        why = why_not_after(direction, consumer, version)
        if why is not None:
            return why
    return None
