"""`brokers` and `latency` of the summary: what declared brokers did, and how old messages were when they were delivered.

Rules: a broker's figures count what has left it; latency is from publishing to the first delivery of each message in that
cluster, for subscriptions of topics on declared brokers. Percentiles are by nearest rank, so they are latencies that occurred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.trace.registry import CODE
from simulator.trace.trace import BLOCK_ROWS

if TYPE_CHECKING:
    from simulator.pulsar.broadcast.broker import Broker
    from simulator.trace.trace import Trace
    from simulator.world import World

MILLION = 1_000_000
_ID_BITS = 40
"""A message as one integer: producer's name number and sequence id."""


def brokers(world: World) -> dict[str, Any]:
    """By broker: where it is, what it serves, what it has done and how long its queue is."""
    found = [broker for name in world.runtime.cluster_names for broker in world.runtime.clusters[name].brokers]
    peaks = _busiest_seconds(world) if found else {}
    return {
        broker.name: {**broker_figures(broker), "bytes_out_per_s_max": peaks.get(broker.number, 0)}
        for broker in sorted(found, key=lambda broker: broker.name)
    }


def _busiest_seconds(world: World) -> dict[int, int]:
    """By broker the most bytes that left it within one second of the clock."""
    trace = world.trace
    who, when_us, _message = rows_of(trace, world.seq, "message.dispatched", ("cluster", "topic", "size_bytes"))
    assigned = [trace.row(seq) for seq in trace.seqs(0, world.seq, types=("topic.assigned",))]
    peaks: dict[int, np.ndarray] = {}
    for row in assigned:
        place = {name: trace.number(row[name]) for name in ("cluster", "topic", "broker")}
        later = [other["at_us"] for other in assigned if other["seq"] > row["seq"] and (other["cluster"], other["topic"]) == (row["cluster"], row["topic"])]
        chosen = (who["cluster"] == place["cluster"]) & (who["topic"] == place["topic"]) & (when_us > row["at_us"])
        chosen &= when_us <= min(later, default=world.now_us)
        seconds = np.bincount(when_us[chosen] // MILLION, weights=who["size_bytes"][chosen], minlength=world.now_us // MILLION + 1)
        peaks[place["broker"]] = peaks.get(place["broker"], 0) + seconds
    return {broker: int(seconds.max()) for broker, seconds in peaks.items()}


def broker_figures(broker: Broker) -> dict[str, Any]:
    """One broker now; `busy_millionths` is the share of the time so far that it spent on what has left."""
    now_us = broker.runtime.now_us
    return {
        "cluster": broker.spec.cluster,
        "topics": sorted(broker.topics),
        "dispatches": broker.dispatches,
        "bytes_out": broker.bytes_out,
        "busy_us": broker.busy_us,
        "busy_millionths": broker.busy_us * MILLION // now_us if now_us else 0,
        "queued": broker.queued,
        "queued_us": broker.queued_us,
        "queued_us_max": broker.queued_us_max,
    }


def latency(world: World) -> dict[str, Any]:
    """By subscription and cluster: `distribution` of its latencies, where its topic is on a declared broker."""
    runtime, trace = world.runtime, world.trace
    served = {
        (subscription.number, cluster.number): (subscription.name, name)
        for name, cluster in runtime.clusters.items() for topic in cluster.topics.values() if topic.broker is not None
        for subscription in topic.subscriptions.values()
    }  # fmt: skip
    if not served:
        return {}
    published_us = published_instants(trace, world.seq)
    result: dict[str, Any] = {}
    who, when, message = rows_of(trace, world.seq, "message.delivered", ("subscription", "cluster"))
    for key, (subscription, cluster) in sorted(served.items(), key=lambda entry: entry[1]):
        chosen = (who["subscription"] == key[0]) & (who["cluster"] == key[1])
        waited_us = when[chosen] - published_us.of(message[chosen])
        first = np.unique(message[chosen], return_index=True)[1]
        result.setdefault(subscription, {})[cluster] = distribution(waited_us[first])
    return result


def distribution(values: np.ndarray) -> dict[str, int | None]:
    """How many, and mean, p50, p99 and the greatest of some microseconds; null without any."""
    names = ("mean_us", "p50_us", "p99_us", "max_us")
    if not len(values):
        return {"delivered": 0, **dict.fromkeys(names)}
    values = np.sort(values)
    ranks = [-(-len(values) * share // 100) - 1 for share in (50, 99)]
    figures = (int(values.sum()) // len(values), *(int(values[rank]) for rank in ranks), int(values[-1]))
    return {"delivered": len(values), **dict(zip(names, figures, strict=True))}


class Instants:
    """When each message was published, by its packed identity."""

    def __init__(self, message: np.ndarray, at_us: np.ndarray) -> None:
        order = np.argsort(message, kind="stable")
        self._message, self._at_us = message[order], at_us[order]

    def of(self, message: np.ndarray) -> np.ndarray:
        """The instants of these messages."""
        return self._at_us[np.searchsorted(self._message, message)]


def published_instants(trace: Trace, upto_seq: int) -> Instants:
    """The instants of every `message.published` row before `upto_seq`."""
    _who, when, message = rows_of(trace, upto_seq, "message.published", ())
    return Instants(message, when)


def rows_of(trace: Trace, upto_seq: int, event: str, names: tuple[str, ...]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """(columns `names`, instants, packed messages) of the rows of a type, read block by block."""
    wanted = ("type", "at_us", "producer", "sequence_id", *names)
    parts: dict[str, list[np.ndarray]] = {name: [np.empty(0, dtype=np.int64)] for name in wanted}
    for first in range(0, upto_seq, BLOCK_ROWS):
        columns = trace.columns(first, min(first + BLOCK_ROWS, upto_seq), names=wanted)
        chosen = columns["type"] == CODE[event]
        for name in wanted:
            parts[name].append(columns[name][chosen])
    whole = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return {name: whole[name] for name in names}, whole["at_us"], (whole["producer"] << _ID_BITS) + whole["sequence_id"]
