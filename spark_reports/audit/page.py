"""The page of an audit: one HTML file that opens offline, from the values of audit.json."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from spark_reports.html.charts import DRAW, HARM, INK_2, axis, chart_json, layout, plotly_script
from spark_reports.html.numbers import number, span
from spark_reports.html.sections import chart, harm_cell, render, section, table

# --- definitions at the end of an audit's page


DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "Message",
        "One publish, identified by the id that its producer assigned, or by partition and position where "
        "the log has no "
        "such id.",
    ),
    (
        "In several clusters",
        "A message that one subscription received in more than one cluster: what a failover repeats.",
    ),
    (
        "In one cluster",
        "A message that one subscription received more than once, always in the same cluster: a negative "
        "acknowledgement, a timeout, or a consumer that disconnected.",
    ),
    (
        "Duplicate",
        "A message that was delivered again after it had been acknowledged, in any cluster. Unknown where "
        "the log has no acknowledgements.",
    ),
    ("Extra deliveries", "Deliveries of a message beyond the first."),
    ("Gap", "Time from the first to the second delivery of a message."),
    (
        "Lost",
        "Published, never received nor acknowledged, between the first and the last published message that "
        "the "
        "subscription received. Claimed only for a log that is declared complete.",
    ),
)


Report = dict[str, Any]
ROWS_MOST = 200
"""Rows of a table of the page; audit.csv has all of them."""
TIMELINE = "audit-timeline"
TEXT_CHARACTERS_MOST = 300


def page(report: Report) -> str:
    """The whole page as HTML."""
    body = [_headline(report), *(part(report) for part in _SECTIONS)]
    figures = [(TIMELINE, chart_json(_timeline_figure(report["timeline"])))] if _repeated(report) else []
    return render(
        "audit/templates/audit.html",
        title="Duplicates in consumption logs",
        style=Markup(files("spark_reports.html").joinpath("report.css").read_text(encoding="utf-8")),
        report=report,
        body=[part for part in body if part],
        definitions=DEFINITIONS,
        figures=figures,
        plotly=plotly_script() if figures else "",
        draw=Markup(DRAW),
    )


def instant(at_us: int | None) -> str:
    """An instant of the log in UTC; a dash for None."""
    if at_us is None:
        return "–"
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _sum(report: Report, name: str) -> int:
    return sum(one[name] or 0 for one in report["groups"])


def _repeated(report: Report) -> int:
    return _sum(report, "repeated_messages")


def _headline(report: Report) -> Markup:
    duplicates = [one["duplicates"] for one in report["groups"] if one["duplicates"] is not None]
    if not report["groups"]:
        return render("audit/templates/headline_of_positions.html", pairs=report["positions"])
    return render(
        "audit/templates/headline.html",
        repeated=_repeated(report),
        several=_sum(report, "in_several_clusters"),
        one=_sum(report, "in_one_cluster"),
        unknown=_sum(report, "cluster_unknown"),
        deliveries=_sum(report, "deliveries"),
        messages=_sum(report, "messages"),
        groups=len(report["groups"]),
        duplicates=sum(duplicates) if duplicates else None,
        first=instant(report["span"]["first_us"]),
        last=instant(report["span"]["last_us"]),
    )


def _findings(report: Report) -> Markup:
    rows = [(one["text"],) for one in report["findings"]]
    says = "What the rows show about the log itself, and what follows for the figures."
    return section("About the log", says, table(["finding"], rows)) if rows else Markup("")


def _groups(report: Report) -> Markup:
    if not report["groups"]:
        return Markup("")
    ordered = sorted(report["groups"], key=lambda one: -one["repeated_messages"])
    rows = [
        (
            one["subscription"] or "–",
            one["topic"] or "–",
            one["partition"] or "–",
            number(one["deliveries"]),
            number(one["messages"]),
            number(one["in_several_clusters"]),
            number(one["in_one_cluster"]),
            harm_cell(number(one["duplicates"])) if one["duplicates"] else number(one["duplicates"]),
            number(one["extra_deliveries"]),
            instant(one["first_us"]),
            span(one["last_us"] - one["first_us"]) if one["first_us"] is not None else "–",
            *(span(one[name]) if one[name] is not None else "–" for name in ("p50", "p99", "gap_most")),
        )
        for one in ordered[:ROWS_MOST]
    ]
    head = (
        "subscription",
        "topic",
        "partition",
        "deliveries",
        "messages",
        "in several clusters",
        "in one cluster",
        "duplicates (acked before)",
        "extra deliveries",
        "first repeat",
        "span",
        "gap p50",
        "gap p99",
        "gap max",
    )
    says = "Messages and deliveries of each subscription and partition, those with most repeats first."
    if len(ordered) > ROWS_MOST:
        says += f" The first {ROWS_MOST} of {len(ordered):,}; audit.csv has all."
    return section("By subscription and partition", says, table(head, rows, words=3, kind="partitions"))


def _timeline(report: Report) -> Markup:
    if not _repeated(report):
        return Markup("")
    says = (
        "Messages by the instant of their second delivery. A failover shows as a peak of deliveries in "
        "another "
        "cluster; a slow or failing consumer as redeliveries over a longer time."
    )
    return chart("When messages were delivered again", says, TIMELINE, "wide")


def _timeline_figure(timeline: dict[str, Any]) -> dict[str, Any]:
    at = [
        instant(timeline["first_us"] + number * timeline["bin_us"])
        for number in range(len(timeline["across_clusters"]))
    ]
    series = (
        ("across_clusters", "in another cluster", HARM),
        ("within_one_cluster", "within one cluster", INK_2),
    )
    data = [
        {"type": "bar", "name": words, "x": at, "y": timeline[name], "marker": {"color": colour}}
        for name, words, colour in series
    ]
    under = {"l": 56, "r": 12, "t": 44, "b": 52}  # two lines: a time of day, and the date under it
    more = {"barmode": "stack", "xaxis": axis(), "yaxis": axis("messages"), "margin": under}
    return {"data": data, "layout": layout(240, **more)}


def _losses(report: Report) -> Markup:
    rows = [
        (
            one["subscription"] or "–",
            one["topic"] or "–",
            number(one["published"]),
            number(one["received"]),
            number(one["between"]),
            number(one["before"] + one["after"]),
            "unknown" if one["lost"] is None else harm_cell(number(one["lost"])) if one["lost"] else "0",
            "; ".join(one["unknown_because"]) or "–",
        )
        for one in report["losses"][:ROWS_MOST]
    ]
    if not rows:
        return Markup("")
    head = (
        "subscription",
        "topic",
        "published",
        "received",
        "not received",
        "not received, at the edges",
        "lost",
        "unknown because",
    )
    says = (
        "Published messages without a delivery in the log. At the edges of the log a delivery may be "
        "before its "
        "first or after its last row."
    )
    return section("Not received", says, table(head, rows, words=2))


def _times(report: Report) -> Markup:
    rows = [
        (
            f"{one['from'] or '–'} → {one['to'] or '–'}, {one['subscription'] or '–'}",
            "publish to delivery",
            number(one["messages"]),
            *_spans(one),
        )
        for one in report["latencies"][:ROWS_MOST]
    ]
    rows += [
        (
            f"{one['cluster'] or '–'}, {one['subscription'] or '–'}",
            "delivery to acknowledgement",
            number(one["messages"]),
            *_spans(one),
        )
        for one in report["processing"][:ROWS_MOST]
    ]
    if not rows:
        return Markup("")
    share = report["measured_share"]
    says = "Times between rows of the same message."
    says += f" Measured on one message in {share:,}." if share > 1 else ""
    return section("Times", says, table(("where", "what", "messages", "p50", "p99", "max"), rows, words=2))


def _spans(one: dict[str, Any]) -> tuple[str, ...]:
    return tuple(span(one[name]) for name in ("p50_us", "p99_us", "most_us"))


def _worst(report: Report) -> Markup:
    rows = [
        (
            one["key"],
            one["subscription"] or "–",
            one["topic"] or "–",
            one["partition"] or "–",
            " ".join(name for name in one["clusters"] if name) or "–",
            number(one["deliveries"]),
            instant(one["first_us"]),
            span(one["gap_us"]),
        )
        for one in report["worst"]
    ]
    if not rows:
        return Markup("")
    head = ("message", "subscription", "topic", "partition", "clusters", "deliveries", "first", "gap")
    says = "The messages with the most deliveries; repeated.parquet has every repeated message."
    return section("Most often delivered", says, table(head, rows, words=5))


def _scenario(report: Report) -> Markup:
    if not report["scenario"]:
        return Markup("")
    says = (
        "scenario.yaml has regions, rates, processing times and latencies as measured here, and a crash of "
        "the region that received most. Run it with: python manage.py simulate scenario.yaml"
    )
    return section("Open as a scenario", says)


def _unreadable(report: Report) -> Markup:
    sample = report["unreadable"]["sample"]
    if not sample:
        return Markup("")
    rows = [(one["problem"], one["file"], (one["text"] or "")[:TEXT_CHARACTERS_MOST]) for one in sample]
    reasons = ", ".join(f"{count:,}: {why}" for why, count in report["unreadable"]["reasons"].items())
    says = (
        f"Rows that are not counted, by reason ({reasons}). The first are below; unreadable.jsonl has more."
    )
    return section("Unreadable rows", says, table(("reason", "file", "row"), rows, words=3))


def _positions(report: Report) -> Markup:
    rows = [
        (
            one["subscription"],
            one["topic"] or "–",
            f"{one['from']} → {one['to']}",
            number(one["source"]["backlog"]),
            number(one["source"]["individually_deleted"]),
            number(one["not_replicated"]),
            number(one["target"]["backlog"]) if one["target"] else "no subscription",
            number(one["behind"]),
            harm_cell(number(one["repeated_most"])) if one["repeated_most"] else number(one["repeated_most"]),
            number(one["ack_holes_most"]),
        )
        for one in report["positions"][:ROWS_MOST]
    ]
    if not rows:
        return Markup("")
    head = (
        "subscription",
        "topic",
        "failover",
        "backlog",
        "individually deleted",
        "not replicated",
        "backlog there",
        "mark-delete behind by",
        "repeated at most",
        "of these above ack holes, at most",
    )
    says = (
        "What a failover at the instant of stats-internal would repeat, in entries: a batch is one entry, "
        "and markers of "
        "replicated subscriptions are entries that no consumer receives, so the number of messages may be "
        "lower."
    )
    return section("Positions of the clusters", says, table(head, rows, words=3))


_SECTIONS: tuple[Callable[[Report], Markup], ...] = (
    _positions,
    _groups,
    _timeline,
    _findings,
    _losses,
    _times,
    _worst,
    _scenario,
    _unreadable,
)
