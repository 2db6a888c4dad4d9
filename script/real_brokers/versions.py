"""Differences between Pulsar's versions that a scenario can depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from simulator.scenarios.settings import OPTIONS

DEFAULT_VERSION = "4.2.4"
OLDER_VERSION = "4.0.7"
"""The second tested version: its snapshot cache evicts the oldest snapshot."""


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version; raises ValueError for a text that is none, such as "latest"."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f'"{version}" is not a version of Pulsar; write three numbers, such as 4.2.4')
    return tuple(int(part) for part in version.split("."))


def evicts_oldest_first(version: str) -> bool:
    """Whether a full snapshot cache evicts its oldest snapshot: before 4.0.9, and 4.1.0 to 4.1.2."""
    found = numbers(version)
    return found < (4, 0, 9) or (4, 1, 0) <= found < (4, 1, 3)


def options_of(version: str) -> dict[str, Any]:
    """The engine's options that describe this version, where they differ from the engine's defaults."""
    # #26655 is in no release
    options: dict[str, Any] = {"initialSnapshotCoversOlder": False, "timing": "measured"}
    if evicts_oldest_first(version):
        options["snapshotCacheRule"] = "oldest-first"
    return options


def newest_with(rule: str) -> str:
    """A tested version with this cache rule."""
    return OLDER_VERSION if rule == "oldest-first" else DEFAULT_VERSION


def version_for(options: Mapping[str, Any]) -> str:
    """The tested version on which a scenario with these options is played."""
    return newest_with(options.get("snapshotCacheRule", OPTIONS["snapshotCacheRule"].default))
