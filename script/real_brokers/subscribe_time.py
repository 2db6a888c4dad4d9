"""How long the moved consumers of a run took from leaving one cluster to being connected in the other.

Rules: a consumer has left when its failover began, or with its last ack if it finished messages after that.
It is connected when the broker has its consumer. The median of all moves is the run's `subscribeTime` on the
engine: without it, a snapshot's update that arrives meanwhile would count for one side only.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median_low

from script.real_brokers.plan import FAIL_OVER
from script.real_brokers.process import Event


def subscribe_time_us(events: Iterable[Event]) -> int | None:
    """The median time in microseconds, None when no consumer moved.

    `events` are in the order of their instants.
    """
    found: list[int] = []
    failover_ns: int | None = None
    acked_ns: dict[str, int] = {}  # by consumer, its last ack
    cluster: dict[tuple[str, str], str] = {}  # by consumer and topic
    for event in events:
        kind = event["e"]
        if kind == "command" and event["do"] == FAIL_OVER:
            failover_ns = event["t"]
        elif kind == "acknowledged":
            acked_ns[event["consumer"]] = event["t"]
        elif kind == "consumer" and event["state"] == "connected":
            key = (event["consumer"], event["topic"])
            moved = cluster.get(key, event["cluster"]) != event["cluster"]
            cluster[key] = event["cluster"]
            if moved and failover_ns is not None:
                begun_ns = max(failover_ns, acked_ns.get(event["consumer"], failover_ns))
                found.append(max(0, event["t"] - begun_ns) // 1000)
    return median_low(found) if found else None
