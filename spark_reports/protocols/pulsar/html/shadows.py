"""Shadow topics in a report: readable entries, delay, saved bytes and losses.

It shows which entries each shadow could read and how late, what it saved, and what the source's retention
deleted before it was acked.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from spark_reports.html.charts import HARM, axis, layout
from spark_reports.html.numbers import number, plural, seconds, size, span
from spark_reports.html.sections import NOTHING, bold, chart, harm, section, table

REASONS = {"unread": "not delivered", "unacknowledged": "delivered, not acked"}


def sentence(run: dict[str, Any]) -> Markup | None:
    """The sentence about a run whose shadow topics lost or missed something; None otherwise."""
    figures = run.get("shadows")
    if figures is None:
        return None
    lost = sum(one["messages"] for one in figures["lost"])
    unseen = max(figures["topics"], key=lambda one: one["unseen"])
    if lost:
        return Markup("{} lost {} to the retention of {}.").format(
            _names(figures), harm(plural(lost, "message", "messages")), _sources(figures)
        )
    if unseen["unseen"]:
        return Markup("{} cannot read {} of {}.").format(
            unseen["topic"], harm(plural(unseen["unseen"], "entry", "entries")), unseen["source"]
        )
    return None


def saving(run: dict[str, Any]) -> Markup | None:
    """The sentence about a run whose shadow topics missed nothing; None without shadow topics."""
    figures = run.get("shadows")
    if figures is None:
        return None
    saved = sum(one["saved_bytes"] for one in figures["topics"])
    return Markup("{} read every entry of {}, and {} were not stored a second time.").format(
        _names(figures), _sources(figures), bold(size(saved))
    )


def _sources(figures: dict[str, Any]) -> str:
    return "its source" if len(figures["topics"]) == 1 else "their sources"


def _names(figures: dict[str, Any]) -> str:
    return plural(len(figures["topics"]), "shadow topic", "shadow topics")


def sections(run: dict[str, Any], name: str) -> Markup:
    """The sections of a run; "" without shadow topics. `name` is the id of the curves."""
    figures = run.get("shadows")
    if figures is None:
        return NOTHING
    says = (
        "Entries in the source's log beyond the shadow's last confirmed entry: stored, but its consumers cannot "
        "read them yet."
    )
    words = "; ".join(
        f"{one['topic']}: at most {max(one['curve']['entries'])}, {one['unseen']} at the end"
        for one in figures["topics"]
    )
    curve = chart("Entries not readable yet", says, name, "wide", label=words)
    return _topics(figures["topics"]) + curve + _lost(figures["lost"])


def _topics(figures: list[dict[str, Any]]) -> Markup:
    rows = [
        [
            one["topic"],
            one["source"],
            one["cluster"],
            number(one["entries"]),
            number(one["announced"]),
            number(one["unseen"]),
            span(one["median_us"]) if one["median_us"] is not None else "–",
            span(one["slowest_us"]) if one["slowest_us"] is not None else "–",
            size(one["saved_bytes"]),
        ]
        for one in figures
    ]
    says = (
        "A shadow reads its source's ledgers and stores nothing. Announced: entries whose position its "
        "replicator sent; the others became readable through the list of ledgers or a later entry. Saved: what "
        "a copy would store at the end."
    )
    head = [
        "shadow",
        "source",
        "cluster",
        "entries",
        "announced",
        "not readable at the end",
        "readable after, p50",
        "max",
        "saved",
    ]
    return section(
        "Shadow topics",
        says,
        table(head, rows, ["harm" if one["unseen"] else "" for one in figures], words=3),
    )


def _lost(figures: list[dict[str, Any]]) -> Markup:
    if not figures:
        return NOTHING
    rows = [
        [
            one["subscription"],
            one["topic"],
            REASONS.get(one["reason"], one["reason"]),
            number(one["messages"]),
            seconds(one["first_us"]),
            f"{one['producer']}/{one['sequence_id']}",
        ]
        for one in figures
    ]
    says = (
        "The source's retention ignores its shadows' cursors (Apache Pulsar #18731): a message deleted before "
        "they acked it is never delivered."
    )
    return section(
        "Lost to retention",
        says,
        table(
            ["subscription", "topic", "state", "messages", "first at, s", "first message"],
            rows,
            ["harm"] * len(rows),
            words=3,
        ),
    )


def figure(run: dict[str, Any]) -> dict[str, Any]:
    """The chart of entries not readable yet over time, one line per shadow."""
    dashes = ("solid", "dash", "dot", "dashdot")
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": one["topic"],
            "x": [us / 1e6 for us in one["curve"]["at_us"]],
            "y": one["curve"]["entries"],
            "line": {"dash": dashes[place % 4], "width": 1.8, "color": HARM, "shape": "hv"},
        }
        for place, one in enumerate(run["shadows"]["topics"])
    ]
    whole = (
        {"dtick": 1}
        if max(max(one["curve"]["entries"], default=0) for one in run["shadows"]["topics"]) <= 4
        else {}
    )
    return {
        "data": traces,
        "layout": layout(
            240,
            xaxis=axis("seconds", range=[0, run["until_us"] / 1e6]),
            yaxis=axis("entries", rangemode="tozero", **whole),
        ),
    }
