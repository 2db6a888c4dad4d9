"""MQTT topics: names, filters with wildcards, and the filters of shared subscriptions.

Rules: `+` matches one level, `#` the rest and only at the end. A filter that begins with a wildcard matches
no topic that begins with `$`. A shared filter is `$share/GROUP/FILTER` or `$queue/FILTER`. Anything else that
begins with `$share` is an error with a message.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.scenarios.tree import Wrong

QUEUE = "$queue"
"""The group of `$queue/FILTER`, as the broker names it."""


class Subscription(NamedTuple):
    """A subscription of a session; `group` None is a private subscription."""

    group: str | None
    filter: str

    @property
    def text(self) -> str:
        """The subscription as a client writes it."""
        if self.group is None:
            return self.filter
        return f"{QUEUE}/{self.filter}" if self.group == QUEUE else f"$share/{self.group}/{self.filter}"


def parse_subscription(text: str) -> Subscription:
    """The subscription of a topic filter. Raises Wrong."""
    first, slash, rest = text.partition("/")
    if first == "$shared":
        raise Wrong(
            f'"{text}" is no shared subscription',
            f'the proposal writes $shared, the broker takes $share: write "$share/{rest or "GROUP/FILTER"}"',
        )
    if first == QUEUE:
        if not rest:
            raise Wrong(f'"{text}" names no filter', "write $queue/FILTER")
        return Subscription(QUEUE, _check_shared(rest, text))
    if first == "$share":
        group, _slash, wanted = rest.partition("/")
        if not group or not wanted or any(sign in group for sign in "+#"):
            raise Wrong(
                f'"{text}" is not a shared subscription', "write $share/GROUP/FILTER, the group without / + #"
            )
        return Subscription(group, _check_shared(wanted, text))
    return Subscription(None, check_filter(text))


def _check_shared(wanted: str, text: str) -> str:
    """The filter after a group's name, which must not be a shared filter itself; raises Wrong."""
    if wanted.split("/")[0] in ("$share", QUEUE, "$shared"):
        raise Wrong(
            f'"{text}" asks for a share of a share',
            "write $share/GROUP/FILTER once, and then the filter itself",
        )
    return check_filter(wanted)


def check_filter(text: str) -> str:
    """A topic filter, unchanged if it is valid; raises Wrong."""
    levels = text.split("/")
    if not text:
        raise Wrong("an empty filter matches nothing", "name a topic, or use # for all")
    if "#" in text and (
        levels.count("#") != 1 or levels[-1] != "#" or any("#" in level and level != "#" for level in levels)
    ):
        raise Wrong(
            f'"{text}" has # elsewhere than as its last level', "write # alone at the end, such as sensors/#"
        )
    if any("+" in level and level != "+" for level in levels):
        raise Wrong(f'"{text}" has + within a level', "+ matches one whole level, such as sensors/+/heat")
    return text


def check_topic(text: str) -> str:
    """A topic to publish to, unchanged if it is valid; raises Wrong."""
    if not text or "+" in text or "#" in text:
        raise Wrong(f'"{text}" is no topic to publish to', "name one topic, without + and #")
    if text.split("/")[0] in ("$share", QUEUE, "$shared"):
        raise Wrong(f'"{text}" is a shared filter', "publish to the topic itself")
    return text


def matches(topic: str, wanted: str) -> bool:
    """Whether a topic matches a filter."""
    names, levels = topic.split("/"), wanted.split("/")
    if topic.startswith("$") and levels[0] in ("+", "#"):
        return False
    for number, level in enumerate(levels):
        if level == "#":
            return True
        if number >= len(names) or (level != "+" and level != names[number]):
            return False
    return len(names) == len(levels)
