"""A scenario from the evidence of an audit: what if this region had failed then?

Rules: regions, topics, rates, processing times and latencies are the measured ones where the log has them,
and ack holes those of stats-internal. What is assumed is written into the scenario's text. The result is a
file of `manage.py simulate`, checked before it is written; None where the evidence is too small.
"""

from __future__ import annotations

import math
import re
from typing import Any

from simulator import ScenarioError, load_scenario_text
from spark_reports.audit.columns import DELIVER, PUBLISH

DEFAULT_LATENCY_US = 40_000
MESSAGES_MOST, LENGTH_US_MOST, LENGTH_US_LEAST = 20_000, 120_000_000, 10_000_000
"""The scenario's length is cut so that it is computed in seconds."""
TOPICS_MOST, SUBSCRIPTIONS_MOST = 4, 4
Z_99 = 2.326
"""The 99th percentile of the standard normal distribution."""


def scenario_text(report: dict[str, Any], overview: list[dict[str, Any]]) -> str | None:
    """The scenario as YAML, or None."""
    clusters = _clusters(report)
    streams = _streams(overview, clusters)
    if not clusters or not streams:
        return None
    assumed: list[str] = []
    if len(clusters) == 1:
        clusters.append("second-region" if clusters[0] != "second-region" else "other-region")
        assumed.append(f"{clusters[1]} is assumed, because the log has one cluster")
    rate = sum(one["per_second"] for one in streams)
    length_us = min(LENGTH_US_MOST, max(LENGTH_US_LEAST, int(MESSAGES_MOST / rate * 1_000_000)))
    subscriptions = _subscriptions(overview, streams)
    if not subscriptions:
        return None
    lines = [
        *_links(report, clusters, assumed),
        "topics:",
        *(f"  {topic}: {{clusters: [{', '.join(clusters)}]}}" for topic in _unique(streams, "topic")),
        "producers:",
        *(line for one in streams for line in _producer(one, length_us)),
        *_consumed(report, subscriptions, clusters, assumed),
        "commands:",
        *_failover(subscriptions[0], clusters, length_us),
    ]
    text = "\n".join([*_head(clusters, length_us, assumed), *lines]) + "\n"
    try:
        load_scenario_text(text)
    except ScenarioError:
        return None
    return text


def name_of(text: str) -> str:
    """A name of the log as a name of a scenario."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "unnamed"


def _clusters(report: dict[str, Any]) -> list[str]:
    found = [*report["clusters"], *(one["from"] for one in report["positions"])]
    return list(dict.fromkeys(name_of(name) for name in found))[:6]


def _streams(overview: list[dict[str, Any]], clusters: list[str]) -> list[dict[str, Any]]:
    """The traffic into each topic at each cluster: publishes, or deliveries if there are no publishes."""
    good = [one for one in overview if one["problem"] is None]
    kind = PUBLISH if any(one["kind"] == PUBLISH for one in good) else DELIVER
    streams: dict[tuple[str, str], dict[str, Any]] = {}
    for one in good:
        if one["kind"] == kind and clusters:
            place = (name_of(one["topic"] or "topic"), name_of(one["cluster"] or clusters[0]))
            known = streams.setdefault(place, {"rows": 0, "first": one["first_us"], "last": one["last_us"]})
            known["rows"] += one["rows"]
            known["first"] = min(known["first"], one["first_us"])
            known["last"] = max(known["last"], one["last_us"])
    ordered = sorted(streams.items(), key=lambda item: (-item[1]["rows"], item[0]))[:TOPICS_MOST]
    return [
        {
            "topic": topic,
            "cluster": cluster,
            "every_us": max(100, round((one["last"] - one["first"]) / max(1, one["rows"] - 1))),
            "per_second": 1_000_000 / max(100, (one["last"] - one["first"]) / max(1, one["rows"] - 1)),
        }
        for (topic, cluster), one in ordered
        if one["rows"] > 1
    ]


def _subscriptions(overview: list[dict[str, Any]], streams: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The subscriptions with the most deliveries, and the cluster that received most of them."""
    received: dict[tuple[str, str], dict[str, int]] = {}
    topics = _unique(streams, "topic")
    for one in overview:
        topic = name_of(one["topic"] or "topic")
        if one["problem"] is None and one["kind"] == DELIVER and topic in topics and one["cluster"]:
            place = (name_of(one["subscription"] or "subscription"), topic)
            by_cluster = received.setdefault(place, {})
            cluster = name_of(one["cluster"])
            by_cluster[cluster] = by_cluster.get(cluster, 0) + one["rows"]
    ordered = sorted(received.items(), key=lambda item: (-sum(item[1].values()), item[0]))
    named: dict[str, dict[str, str]] = {}
    for (name, topic), by_cluster in ordered:
        cluster = max(sorted(by_cluster), key=lambda one: by_cluster[one])
        named.setdefault(name, {"name": name, "topic": topic, "cluster": cluster})
    return list(named.values())[:SUBSCRIPTIONS_MOST]


def _head(clusters: list[str], length_us: int, assumed: list[str]) -> list[str]:
    return [
        "format: 1",
        "name: from-an-audit",
        'title: "A failover with the measured rates and times of an audit"',
        "family: replicated-subscriptions",
        "options: {timing: measured}",
        "about: |",
        "  Made from the rows of an audit: rates, processing times and latencies are the measured ones.",
        *(f"  - {one}." for one in assumed),
        f"until: {length_us // 1000 + 10_000}ms",
        "clusters:",
        *(f"  {name}: {{}}" for name in clusters),
    ]


def _links(report: dict[str, Any], clusters: list[str], assumed: list[str]) -> list[str]:
    lines = ["links:"]
    for number, one in enumerate(clusters):
        for other in clusters[number + 1 :]:
            latency = _latency(report["latencies"], one, other)
            if latency is None:
                latency = DEFAULT_LATENCY_US
                assumed.append(f"the latency of {one} and {other} is assumed to be {latency // 1000} ms")
            lines.append(f"  {one} <-> {other}: {{latency: {max(1, latency)}us}}")
    return lines


def _latency(latencies: list[dict[str, Any]], one: str, other: str) -> int | None:
    """Median time from a publish in one to a delivery in the other, less that within the first."""
    found = []
    for source, target in ((one, other), (other, one)):
        between = [row for row in latencies if (name_of(row["from"]), name_of(row["to"])) == (source, target)]
        within = [row for row in latencies if (name_of(row["from"]), name_of(row["to"])) == (source, source)]
        if between:
            base = min((row["p50_us"] for row in within), default=0)
            found.append(between[0]["p50_us"] - base)
    good = [one for one in found if 0 < one < 10_000_000]
    return min(good) if good else None


def _producer(stream: dict[str, Any], length_us: int) -> list[str]:
    name = f"{stream['topic']}-{stream['cluster']}"[:60]
    count = max(1, length_us // stream["every_us"])
    return [
        f"  {name}: {{topic: {stream['topic']}, cluster: {stream['cluster']}, start: 50ms, "
        f"every: {stream['every_us']}us, count: {count}}}"
    ]


def _consumed(
    report: dict[str, Any], subscriptions: list[dict[str, str]], clusters: list[str], assumed: list[str]
) -> list[str]:
    lines = ["subscriptions:"]
    lines += [
        f"  {one['name']}: {{topic: {one['topic']}, type: Shared, replicateSubscriptionState: true, "
        f"initialPosition: Earliest}}"
        for one in subscriptions
    ]
    lines.append("consumers:")
    for one in subscriptions:
        processing = _processing(report["processing"], one, assumed)
        hold = _hold(report["positions"], one, assumed)
        lines.append(
            f"  {one['name']}-1: {{subscription: {one['name']}, cluster: {one['cluster']}, "
            f"processing: {processing}{hold}}}"
        )
    return lines


def _processing(measured: list[dict[str, Any]], subscription: dict[str, str], assumed: list[str]) -> str:
    """A lognormal distribution with the measured median and 99th percentile."""
    own = [one for one in measured if name_of(one["subscription"] or "subscription") == subscription["name"]]
    own = [one for one in own if one["p50_us"] > 0]
    if not own:
        assumed.append(f"{subscription['name']} is assumed to process a message in 2 ms")
        return "2ms"
    best = max(own, key=lambda one: one["messages"])
    sigma = math.log(max(1.0, best["p99_us"] / best["p50_us"])) / Z_99
    if sigma < 0.01:
        return f"{best['p50_us']}us"
    return f"{{distribution: lognormal, median: {best['p50_us']}us, sigma: {min(3.0, sigma):.2f}}}"


def _hold(positions: list[dict[str, Any]], subscription: dict[str, str], assumed: list[str]) -> str:
    """Messages held unacknowledged, as many as the ack holes of stats-internal show."""
    for one in positions:
        source = one["source"]
        if name_of(one["subscription"]) == subscription["name"] and source["ack_holes"]:
            share = source["ack_holes"] / (source["ack_holes"] + source["individually_deleted"])
            percent = min(100, max(1, round(share * 100)))
            assumed.append(
                f"{subscription['name']} holds {percent} % of its messages for 10 s, as its ack holes show"
            )
            return f", hold: {{share: {percent}%, for: 10s}}"
    return ""


def _failover(subscription: dict[str, str], clusters: list[str], length_us: int) -> list[str]:
    source = subscription["cluster"]
    target = next(name for name in clusters if name != source)
    at_ms = length_us * 2 // 3 // 1000
    return [
        f"  - {{at: {at_ms}ms, do: cluster.crash, cluster: {source}}}",
        f"  - {{at: {at_ms}ms, do: subscription.fail-over, subscription: {subscription['name']}, "
        f"from: {source}, to: {target}, mode: crash}}",
    ]


def _unique(streams: list[dict[str, Any]], name: str) -> list[str]:
    return list(dict.fromkeys(one[name] for one in streams))
