"""Shadow topics in a report: what each could read and how late, what it saved, what the source's retention
deleted before it was acked.
"""

from __future__ import annotations

from html import escape
from typing import Any

from spark_reports.html.charts import HARM, axis, layout
from spark_reports.html.numbers import number, plural, seconds, size, span
from spark_reports.html.parts import section, table

REASONS = {"unread": "not delivered", "unacknowledged": "delivered, not acked"}


def sentence(run: dict[str, Any]) -> str | None:
    """The sentence about a run whose shadow topics lost or missed something; None otherwise."""
    told = run.get("shadows")
    if told is None:
        return None
    lost = sum(one["messages"] for one in told["lost"])
    unseen = max(told["topics"], key=lambda one: one["unseen"])
    if lost:
        return (
            f'{_names(told)} lost <span class="harm">{plural(lost, "message", "messages")}</span> to the '
            f"retention of {'its source' if len(told['topics']) == 1 else 'their sources'}."
        )
    if unseen["unseen"]:
        return (
            f"{escape(unseen['topic'])} cannot read <span "
            f'class="harm">{plural(unseen["unseen"], "entry", "entries")}</span> of '
            f"{escape(unseen['source'])}."
        )
    return None


def saving(run: dict[str, Any]) -> str | None:
    """The sentence about a run whose shadow topics missed nothing; None without shadow topics."""
    told = run.get("shadows")
    if told is None:
        return None
    saved = sum(one["saved_bytes"] for one in told["topics"])
    return (
        f"{_names(told)} read every entry of {'its source' if len(told['topics']) == 1 else 'their sources'}, "
        f"and <b>{size(saved)}</b> were not stored a second time."
    )


def _names(told: dict[str, Any]) -> str:
    return plural(len(told["topics"]), "shadow topic", "shadow topics")


def sections(run: dict[str, Any], chart: str) -> str:
    """Its sections; "" without shadow topics. `chart` names the place of the curves."""
    told = run.get("shadows")
    if told is None:
        return ""
    says = (
        "Entries in the source's log beyond the shadow's last confirmed entry: stored, but its consumers cannot "
        "read them yet."
    )
    words = "; ".join(
        f"{one['topic']}: at most {max(one['curve']['entries'])}, {one['unseen']} at the end"
        for one in told["topics"]
    )
    curve = (
        f'<section><h2>Entries not readable yet</h2><p>{says}</p><figure><div class="chart wide" '
        f'data-chart="{chart}" role="img" aria-label="{escape(words)}"></div></figure></section>'
    )
    return _topics(told["topics"]) + curve + _lost(told["lost"])


def _topics(told: list[dict[str, Any]]) -> str:
    rows = [
        [
            escape(one["topic"]),
            escape(one["source"]),
            escape(one["cluster"]),
            number(one["entries"]),
            number(one["told"]),
            number(one["unseen"]),
            span(one["median_us"]) if one["median_us"] is not None else "–",
            span(one["slowest_us"]) if one["slowest_us"] is not None else "–",
            size(one["saved_bytes"]),
        ]
        for one in told
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
        "Shadow topics", says, table(head, rows, ["harm" if one["unseen"] else "" for one in told], words=3)
    )


def _lost(told: list[dict[str, Any]]) -> str:
    if not told:
        return ""
    rows = [
        [
            escape(one["subscription"]),
            escape(one["topic"]),
            escape(REASONS.get(one["reason"], one["reason"])),
            number(one["messages"]),
            seconds(one["first_us"]),
            escape(f"{one['producer']}/{one['sequence_id']}"),
        ]
        for one in told
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
    """Entries not readable yet over time, one line a shadow."""
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
