"""A recount of an audit in plain Python: one loop over canonical rows, and no code of the audit."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any


def recount(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The figures of each (subscription, topic, partition).

    A row has at_us, kind, cluster, topic, partition, message_id, subscription and consumer, as texts and numbers or None.
    """
    delivered: dict[tuple[str, ...], list[tuple[Any, ...]]] = defaultdict(list)
    acked: dict[tuple[str, ...], list[int]] = defaultdict(list)
    with_acks = {row["subscription"] or "" for row in rows if row["kind"] == "ack"}
    for row in rows:
        group = tuple(
            str(row[name]) if row[name] is not None else "" for name in ("subscription", "topic", "partition")
        )
        message = (*group, row["message_id"])
        if row["kind"] == "deliver":
            delivered[message].append((row["at_us"], row["cluster"] or "", row["consumer"] or ""))
        elif row["kind"] == "ack":
            acked[message].append(row["at_us"])
    groups: dict[tuple[str, str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for message, lines in delivered.items():
        groups[message[:3]].append((message, lines, sorted(set(lines))))
    return {name: _figures(own, acked, name[0] in with_acks) for name, own in sorted(groups.items())}


def _figures(
    messages: list[tuple[Any, ...]], acked: dict[tuple[str, ...], list[int]], acks: bool
) -> dict[str, Any]:
    again = [(message, found) for message, _lines, found in messages if len(found) > 1]
    after = []
    for message, found in again:
        first = min(acked.get(message, [math.inf]))
        after.append(sum(one[0] >= first for one in found[1:]))
    clusters = [{one[1] for one in found} for _message, found in again]
    gaps = sorted(found[1][0] - found[0][0] for _message, found in again)
    return {
        "messages": len(messages),
        "deliveries": sum(len(found) for _message, _lines, found in messages),
        "repeated_rows": sum(len(lines) - len(found) for _message, lines, found in messages),
        "repeated_messages": len(again),
        "in_several_clusters": sum("" not in own and len(own) > 1 for own in clusters),
        "in_one_cluster": sum("" not in own and len(own) == 1 for own in clusters),
        "cluster_unknown": sum("" in own for own in clusters),
        "extra_deliveries": sum(len(found) - 1 for _message, found in again),
        "deliveries_most": max([1, *(len(found) for _message, found in again)]),
        "duplicates": sum(count > 0 for count in after) if acks else None,
        "extra_after_ack": sum(after) if acks else None,
        "first_us": min((found[1][0] for _message, found in again), default=None),
        "last_us": max((found[-1][0] for _message, found in again), default=None),
        "p50": gaps[math.ceil(len(gaps) * 0.5) - 1] if gaps else None,
        "p99": gaps[math.ceil(len(gaps) * 99 / 100) - 1] if gaps else None,
        "gap_most": gaps[-1] if gaps else None,
    }


def lost(rows: list[dict[str, Any]], subscription: str) -> set[str]:
    """The messages between the first and last published one that it received, neither received nor acknowledged."""
    published = {row["message_id"]: row["at_us"] for row in rows if row["kind"] == "publish"}
    own = [row for row in rows if row["subscription"] == subscription]
    received = {row["message_id"] for row in own if row["kind"] == "deliver"}
    acked = {row["message_id"] for row in own if row["kind"] == "ack"}
    at = [published[one] for one in received if one in published]
    return {
        one for one, when in published.items() if one not in received | acked and min(at) < when < max(at)
    }
