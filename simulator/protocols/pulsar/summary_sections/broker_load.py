"""Load of brokers and latency of their readers so far, for the page, over time and by place.

Rules: made from the rows up to now, so it is the same live, after a seek and in a report. Time is cut into
equal spans. A dispatch counts in the span in which it leaves. A span's wait is that of the oldest message
that left in it: how far the broker was behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.summary_sections.audiences import audience_figures, latency_by_place
from simulator.protocols.pulsar.summary_sections.brokers import (
    MILLION,
    broker_figures,
    brokers_of,
    distribution,
    published_instants,
    rows_of,
)

if TYPE_CHECKING:
    from simulator.world import World

SPANS = 120
"""Spans of the run so far: about one for every five pixels of a chart."""


def broker_load(run: World) -> dict[str, Any]:
    """The object of docs/python-api.md; every list is empty where no brokers are declared."""
    runtime, trace = run.runtime, run.trace
    brokers = [broker for name in runtime.cluster_names for broker in runtime.clusters[name].brokers]
    span_us = -(-max(run.now_us, SPANS) // SPANS)
    found: dict[str, Any] = {
        "at_us": run.now_us,
        "span_us": span_us,
        "brokers": {},
        "readers": [],
        "audiences": {},
    }
    if not brokers:
        return found
    who, when_us, message = rows_of(
        trace,
        run.seq,
        "message.dispatched",
        ("cluster", "topic", "subscription", "size_bytes", "duration_us"),
    )
    waited_us = when_us - published_instants(trace, run.seq).of(message)
    served_by, place = brokers_of(run, who, when_us), np.minimum(when_us // span_us, SPANS - 1)
    for broker in sorted(brokers, key=lambda one: one.name):
        chosen = served_by == broker.number
        found["brokers"][broker.name] = {
            **broker_figures(broker),
            "limits": {
                "dispatch_us": broker.spec.dispatch_us,
                "bandwidth_bytes_per_s": broker.spec.bandwidth_bytes_per_s,
                "connect_us": broker.spec.connect_us,
            },
            **_over_time(
                place[chosen],
                who["duration_us"][chosen],
                who["size_bytes"][chosen],
                waited_us[chosen],
                span_us,
            ),
        }
    names = trace.names
    reader = (((who["cluster"] << _NAME_BITS) + who["topic"]) << _NAME_BITS) + who["subscription"]
    for key in np.unique(reader).tolist():
        cluster, topic, subscription = key >> 2 * _NAME_BITS, key >> _NAME_BITS & _ONE_NAME, key & _ONE_NAME
        chosen = reader == key
        last = waited_us[chosen][when_us[chosen] > run.now_us - RECENT_US]
        who_reads = {
            "name": names[subscription],
            "cluster": names[cluster],
            "topic": names[topic],
            "broker": names[int(served_by[chosen][-1])],
        }
        found["readers"].append(
            {**who_reads, "so_far": distribution(waited_us[chosen]), "lately": distribution(last)}
        )
    for audience in runtime.fan_out.audiences:
        found["audiences"][f"{audience.name}/{audience.topic.name}"] = {
            **audience_figures([audience]),
            "latency_by_place": latency_by_place(audience),
        }
    return found


RECENT_US = 2 * MILLION
"""The span of recent figures."""
_NAME_BITS = 21
_ONE_NAME = (1 << _NAME_BITS) - 1
"""Three name numbers fit in one integer."""


def _over_time(
    place: np.ndarray, busy_us: np.ndarray, size_bytes: np.ndarray, waited_us: np.ndarray, span_us: int
) -> dict[str, list]:
    """By span: the broker's busy share in millionths, bytes per second, and the longest wait.

    The wait is that of the messages that left, null without any.
    """
    busy, sent = (np.bincount(place, weights=values, minlength=SPANS) for values in (busy_us, size_bytes))
    longest = np.full(SPANS, -1, dtype=np.int64)
    np.maximum.at(longest, place, waited_us)
    return {
        "busy": [min(MILLION, int(value) * MILLION // span_us) for value in busy],
        "bytes_per_s": [int(value) * MILLION // span_us for value in sent],
        "waited_us": [None if value < 0 else int(value) for value in longest],
    }
