"""The list of a topic's shadow topics, a policy of the topic in its own cluster (PIP-180)."""

from __future__ import annotations

from typing import NamedTuple


class ShadowList(NamedTuple):
    """A topic's policy: names of its shadow topics, and until when the last change of it is being written."""

    names: tuple[str, ...] = ()
    busy_until_us: int = 0


NO_SHADOWS = ShadowList()
