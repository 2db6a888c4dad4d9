"""The list of a topic's shadow topics, a policy of the topic in its own cluster (PIP-180)."""

from __future__ import annotations

from typing import NamedTuple


class ShadowList(NamedTuple):
    """The list of one topic's shadow topics.

    It has their names, and until when its last change is being written.
    """

    names: tuple[str, ...] = ()
    busy_until_us: int = 0


NO_SHADOWS = ShadowList()
