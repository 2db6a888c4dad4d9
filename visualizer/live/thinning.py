"""Thins a frame that would be too long, in steps: less detail on everything instead of none on most.

Rules: level 0 keeps everything. With each further level the changes of clusters, and of the streams and
sessions of groups, are sent half as often, in turns. New ones are sent in part now and the rest later, in
order. From level 2 on a quarter of every list is kept. Totals are kept, so a page can show how much is left
out, and `sampled` marks the frame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

DEEPEST = 5
"""The highest level.

Lists are nearly empty, and one of sixteen clusters is sent at a time, so the rest fits.
"""

LONGEST_LIST = 2560
"""Items of a list at level 0, above every bound of the view's lists. At level 1 the bound is 640."""


def most_at(level: int) -> int:
    """How many items of a list a level keeps."""
    return LONGEST_LIST >> (2 * level)


def in_turns(view: dict[str, Any], before: dict[str, Any], level: int, number: int) -> dict[str, Any]:
    """The view with only each 2^level-th cluster and its forecasts updated.

    The others stay as shown before; their changes are sent later. The same holds for streams and sessions of
    groups.
    """
    every = 1 << level

    def turns(after: dict[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
        fresh, found = most_at(level), {}
        for place, (name, one) in enumerate(after.items()):
            if name in shown:
                found[name] = shown[name] if (place + number) % every else one
            elif fresh:
                found[name] = one
                fresh -= 1
            else:
                break
        return found

    thinned = {
        **view,
        "clusters": turns(view["clusters"], before["clusters"]),
        "forecast": before["forecast"] if number % every else view["forecast"],
    }
    if "groups" not in view:
        return thinned
    groups = {
        name: _group(group, before["groups"].get(name), turns) for name, group in view["groups"].items()
    }
    return {
        **thinned,
        "groups": groups,
        "streams": turns(view["streams"], before["streams"]),
        "sessions": turns(view["sessions"], before["sessions"]),
    }


def _group(
    group: dict[str, Any], before: dict[str, Any] | None, turns: Callable[[dict, dict], dict]
) -> dict[str, Any]:
    if before is None:
        return group
    leaders = {
        number: {**leader, "streams": turns(leader["streams"], before["leaders"][number]["streams"])}
        if number in before["leaders"]
        else leader
        for number, leader in group["leaders"].items()
    }
    return {**group, "streams": turns(group["streams"], before["streams"]), "leaders": leaders}


def evenly(items: list[Any], most: int) -> list[Any]:
    """At most `most` of the items (one at least), evenly spaced."""
    most = max(1, most)
    return items if len(items) <= most else [items[place * len(items) // most] for place in range(most)]


def newest(items: list[Any], most: int) -> list[Any]:
    return items[-most:] if most else []


def newest_cells(block: dict[str, Any], most: int) -> dict[str, Any]:
    """The block of `World.cells` without its older cells."""
    dropped = max(0, len(block["kind"]) - most)
    if not dropped:
        return block
    columns = {name: block[name][dropped:] for name in ("kind", "producer", "number", "size", "snapshot")}
    return {**block, **columns, "first": block["first"] + dropped}


def thin_view(view: dict[str, Any], level: int) -> dict[str, Any]:
    """The view with shorter lists.

    They are ranges, messages delivered but not acked, ledgers, cached snapshots, violations and failovers.
    """
    most = most_at(level)
    clusters = {
        name: {**cluster, "topics": {key: _topic(topic, most) for key, topic in cluster["topics"].items()}}
        for name, cluster in view["clusters"].items()
    }
    return {
        **view,
        "clusters": clusters,
        "violations": view["violations"][:most],
        "failovers": newest(view["failovers"], most),
    }


def _topic(topic: dict[str, Any], most: int) -> dict[str, Any]:
    subscriptions = {
        name: _subscription(subscription, most) for name, subscription in topic["subscriptions"].items()
    }
    return {**topic, "ledgers": newest(topic["ledgers"], most), "subscriptions": subscriptions}


def _subscription(subscription: dict[str, Any], most: int) -> dict[str, Any]:
    consumers = {
        name: {**consumer, "unacked": consumer["unacked"][:most]}
        for name, consumer in subscription["consumers"].items()
    }
    return {
        **subscription,
        "ranges": subscription["ranges"][:most],
        "cache": newest(subscription["cache"], most),
        "consumers": consumers,
    }
