"""`brokers` and `latency` of the summary: work of declared brokers, and age of messages at delivery.

Rules: a broker's figures count the dispatches that have left it. Latency is from publishing to the first
delivery of each message in that cluster, for subscriptions of topics on declared brokers. Percentiles are by
nearest rank, so they are latencies that occurred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.events import CODE
from simulator.trace.trace import BLOCK_ROWS

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.trace.trace import Trace
    from simulator.world import World

MILLION = 1_000_000
_ID_BITS = 40
"""A message as one integer: producer's name number and sequence id."""


def brokers(run: World) -> dict[str, Any]:
    """By broker: its cluster, topics, work so far and queue length."""
    found = [broker for name in run.runtime.cluster_names for broker in run.runtime.clusters[name].brokers]
    peaks = _busiest_seconds(run) if found else {}
    return {
        broker.name: {**broker_figures(broker), "bytes_out_per_s_max": peaks.get(broker.number, 0)}
        for broker in sorted(found, key=lambda broker: broker.name)
    }


def _busiest_seconds(run: World) -> dict[int, int]:
    """By broker the most bytes sent within one second of the clock."""
    who, when_us, _message = rows_of(
        run.trace, run.seq, "message.dispatched", ("cluster", "topic", "size_bytes")
    )
    served_by = brokers_of(run, who, when_us)
    return {
        broker: int(
            np.bincount(
                when_us[served_by == broker] // MILLION, weights=who["size_bytes"][served_by == broker]
            ).max()
        )
        for broker in np.unique(served_by).tolist()
    }


def brokers_of(run: World, who: dict[str, np.ndarray], when_us: np.ndarray) -> np.ndarray:
    """The broker (name number) of each dispatch, from the last `topic.assigned` row before it.

    Dispatches are given by `cluster`, `topic` and instant. At the very instant of a move, dispatches belong
    to the former broker, because a command takes effect at the end of its instant.
    """
    trace = run.trace
    served_by = np.full(len(when_us), -1, dtype=np.int64)
    for seq in trace.seqs(0, run.seq, types=("topic.assigned",)):
        row = trace.row(seq)
        cluster, topic, broker = (trace.number(row[name]) for name in ("cluster", "topic", "broker"))
        assert broker is not None, "the trace has the name of a broker that it assigned"
        served_by[(who["cluster"] == cluster) & (who["topic"] == topic) & (when_us > row["at_us"])] = broker
        if not row["at_us"]:
            served_by[(who["cluster"] == cluster) & (who["topic"] == topic) & (when_us == 0)] = broker
    return served_by


def broker_figures(broker: Broker) -> dict[str, Any]:
    """One broker now; `busy_millionths` is the share of the time so far that its dispatches took."""
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


def latency(run: World) -> dict[str, Any]:
    """By subscription and cluster: `distribution` of its latencies, for topics on a declared broker."""
    runtime, trace = run.runtime, run.trace
    served = {
        (subscription.number, cluster.number): (subscription.name, name)
        for name, cluster in runtime.clusters.items()
        for topic in cluster.topics.values()
        if topic.broker is not None
        for subscription in topic.subscriptions.values()
    }
    if not served:
        return {}
    published_us = published_instants(trace, run.seq)
    result: dict[str, Any] = {}
    who, when, message = rows_of(trace, run.seq, "message.delivered", ("subscription", "cluster"))
    for key, (subscription, cluster) in sorted(served.items(), key=lambda entry: entry[1]):
        chosen = (who["subscription"] == key[0]) & (who["cluster"] == key[1])
        waited_us = when[chosen] - published_us.of(message[chosen])
        first = np.unique(message[chosen], return_index=True)[1]
        result.setdefault(subscription, {})[cluster] = distribution(waited_us[first])
    return result


def distribution(values: np.ndarray) -> dict[str, int | None]:
    """Count, mean, p50, p99 and maximum of values in microseconds; null without any."""
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


def rows_of(
    trace: Trace, upto_seq: int, event: str, names: tuple[str, ...]
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """(columns `names`, instants, packed messages) of the rows of a type, read block by block."""
    wanted = ("type", "at_us", "producer", "sequence_id", *names)
    parts: dict[str, list[np.ndarray]] = {name: [np.empty(0, dtype=np.int64)] for name in wanted}
    for first in range(0, upto_seq, BLOCK_ROWS):
        columns = trace.columns(first, min(first + BLOCK_ROWS, upto_seq), names=wanted)
        chosen = columns["type"] == CODE[event]
        for name in wanted:
            parts[name].append(columns[name][chosen])
    whole = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    return (
        {name: whole[name] for name in names},
        whole["at_us"],
        (whole["producer"] << _ID_BITS) + whole["sequence_id"],
    )
