"""The report's part about declared brokers: what each did, and how long messages waited for it."""

from __future__ import annotations

from html import escape
from typing import Any

from spark_reports.html.numbers import number, size, span
from spark_reports.html.parts import section, table

FIT = (
    "Where a dispatch takes 145 µs and a client 30 ms to connect, both are a fit to the one point that "
    "PIP-180 measured, not a property of Pulsar."
)


def sentence(run: dict[str, Any]) -> str | None:
    """What a run without a failover says when it declares brokers and somebody read from them; None
    otherwise.
    """
    told = run.get("latency")
    if told is None or not told["readers"]:
        return None
    slowest = max(told["readers"], key=lambda one: one["mean_us"])
    others = f", the slowest of {number(len(told['readers']))} readers," if len(told["readers"]) > 1 else ""
    return (
        f"{_name(slowest)}{others} had a message <b>{span(slowest['mean_us'])}</b> after its publishing on "
        f"average, <b>{span(slowest['p99_us'])}</b> at p99."
    )


def sections(run: dict[str, Any]) -> str:
    """All that is told of a run; "" when it declares no brokers."""
    told = run.get("latency")
    if told is None:
        return ""
    return _readers(told["readers"]) + _brokers(told["brokers"])


def _readers(told: list[dict[str, Any]]) -> str:
    rows = [
        [
            _name(one),
            escape(one["topic"]),
            escape(one["cluster"]),
            number(one["delivered"]),
            *(span(one[name]) for name in ("mean_us", "p50_us", "p99_us", "max_us")),
        ]
        for one in told
    ]
    says = (
        f"From publishing until a message has left the broker, for each reader of a topic on a declared "
        f"broker; percentiles by nearest rank. {FIT}"
    )
    return section(
        "Latency",
        says,
        table(["reader", "topic", "in", "messages", "mean", "half", "p99", "greatest"], rows, words=3),
    )


def _name(reader: dict[str, Any]) -> str:
    return escape(reader["name"]) + (
        f" ({number(reader['subscriptions'])} subscriptions)" if reader["subscriptions"] > 1 else ""
    )


def _brokers(told: list[dict[str, Any]]) -> str:
    rows = [
        [
            escape(one["broker"]),
            escape(one["cluster"]),
            span(one["dispatch_us"]) if one["dispatch_us"] else "–",
            f"{size(one['bandwidth_bytes_per_s'])}/s" if one["bandwidth_bytes_per_s"] else "–",
            number(one["dispatches"]),
            f"{one['busy_millionths'] / 10_000:.1f} %",
            size(one["bytes_out"]),
            f"{size(one['bytes_out_per_s_max'])}/s",
        ]
        for one in told
    ]
    says = (
        "What left each broker. It serves one dispatch after another, each for its service time or as long "
        "as its bytes need at its bandwidth, whichever is longer; “at most” is the busiest second."
    )
    return section(
        "Brokers",
        says,
        table(
            ["broker", "in", "a dispatch", "bandwidth", "dispatches", "busy", "sent", "at most"],
            rows,
            words=2,
        ),
    )
