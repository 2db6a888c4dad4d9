"""Declared brokers in a report: what each sent, and how long messages took to leave it."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import number, size, span
from spark_reports.html.sections import NOTHING, bold, section, table

FIT = (
    "Where a dispatch takes 145 µs and a client 30 ms to connect, both are a fit to the one point that "
    "PIP-180 measured, not a property of Pulsar."
)


def sentence(run: dict[str, Any]) -> Markup | None:
    """The sentence about a run that declares brokers with subscriptions; None otherwise."""
    figures = run.get("latency")
    if figures is None or not figures["readers"]:
        return None
    slowest = max(figures["readers"], key=lambda one: one["mean_us"])
    others = (
        f", the slowest of {number(len(figures['readers']))} subscriptions,"
        if len(figures["readers"]) > 1
        else ""
    )
    return Markup("{}{} received messages {} after publishing on average, {} at p99.").format(
        _name(slowest), others, bold(span(slowest["mean_us"])), bold(span(slowest["p99_us"]))
    )


def sections(run: dict[str, Any]) -> Markup:
    """The sections of a run; "" when it declares no brokers."""
    figures = run.get("latency")
    if figures is None:
        return NOTHING
    return _readers(figures["readers"]) + _brokers(figures["brokers"])


def _readers(figures: list[dict[str, Any]]) -> Markup:
    rows = [
        [
            _name(one),
            one["topic"],
            one["cluster"],
            number(one["delivered"]),
            *(span(one[name]) for name in ("mean_us", "p50_us", "p99_us", "max_us")),
        ]
        for one in figures
    ]
    says = (
        f"From publishing until the message has left the broker, for each subscription of a topic on a declared "
        f"broker; percentiles by nearest rank. {FIT}"
    )
    return section(
        "Latency",
        says,
        table(["subscription", "topic", "cluster", "messages", "mean", "p50", "p99", "max"], rows, words=3),
    )


def _name(reader: dict[str, Any]) -> str:
    return reader["name"] + (
        f" ({number(reader['subscriptions'])} subscriptions)" if reader["subscriptions"] > 1 else ""
    )


def _brokers(figures: list[dict[str, Any]]) -> Markup:
    rows = [
        [
            one["broker"],
            one["cluster"],
            span(one["dispatch_us"]) if one["dispatch_us"] else "–",
            f"{size(one['bandwidth_bytes_per_s'])}/s" if one["bandwidth_bytes_per_s"] else "–",
            number(one["dispatches"]),
            f"{one['busy_millionths'] / 10_000:.1f} %",
            size(one["bytes_out"]),
            f"{size(one['bytes_out_per_s_max'])}/s",
        ]
        for one in figures
    ]
    says = (
        "What each broker sent. It serves one dispatch after another; each takes its service time, or the time "
        "that its bytes need at its bandwidth, whichever is longer. Peak: the busiest second."
    )
    return section(
        "Brokers",
        says,
        table(
            ["broker", "cluster", "service time", "bandwidth", "dispatches", "busy", "sent", "peak"],
            rows,
            words=2,
        ),
    )
