"""Topic creation in a report: replicators that did not start, waiting messages, topics and schemas.

It shows why replicators did not start, which messages waited, and what was created or refused.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape

from spark_reports.html.charts import GREY, HARM, PROTOCOL, axis, layout
from spark_reports.html.numbers import number, plural, seconds
from spark_reports.html.sections import NOTHING, chart, harm, section, table
from spark_reports.protocols.pulsar.creation import DOWN, NOT_CONNECTED
from spark_reports.protocols.pulsar.html.words import event_words

STILL = ("does not start", "connected, but stopped", NOT_CONNECTED)


def sentence(run: dict[str, Any]) -> Markup | None:
    """The sentence for a run without a failover that is about replicators; None otherwise."""
    figures = run.get("creation")
    if figures is None:
        return None
    ever = [one for one in figures["replicators"] if one["refused"]]
    still = [one for one in figures["replicators"] if one["end"] in STILL]
    if still:
        one = max(still, key=lambda other: other["waiting"])
        waits = (
            harm(plural(one["waiting"], "message is waiting", "messages are waiting"))
            if one["waiting"]
            else "nothing is waiting yet"
        )
        others = (
            (
                f" {plural(len(still) - 1, 'other replicator does', 'other replicators do')} not replicate "
                f"either."
            )
            if len(still) > 1
            else ""
        )
        return Markup("{} does not replicate {} to {}: {}.{}").format(
            one["from"], one["topic"], one["to"], waits, others
        )
    which = (
        "Every replicator of a region that is up"
        if any(one["end"] == DOWN for one in figures["replicators"])
        else "Every replicator"
    )
    if ever:
        refusals = plural(sum(one["refused"] for one in ever), "refusal", "refusals")
        return escape(f"{which} is running at the end, after {refusals}.")
    return escape(f"{which} started at the first attempt.")


def sections(run: dict[str, Any], name: str) -> Markup:
    """The sections of a run; "" when no replicator was refused and nothing was created.

    `name` is the id of the curves.
    """
    figures = run.get("creation")
    if figures is None:
        return NOTHING
    parts = [_replicators(figures["replicators"])]
    if drawn(run):
        # the height that `figure` needs
        height = (
            "three" if any(one["curve"] for one in figures["replicators"] if one["refused_at_us"]) else "low"
        )
        says = (
            "Top: starts refused so far. Middle: messages waiting to be replicated. Bottom: "
            "replicationDelayInSeconds, the age of the oldest pending send. A replicator that does not start has no "
            "pending send and reports 0; one that a schema stopped reports how long ago it stopped."
        )
        parts.append(chart("Refused starts and waiting messages", says, name, height, label=_words(figures)))
    return NOTHING.join([*parts, _happened(figures)])


def drawn(run: dict[str, Any]) -> bool:
    """Whether there is a curve to draw."""
    figures = run.get("creation")
    return figures is not None and any(one["refused_at_us"] for one in figures["replicators"])


def _words(figures: dict[str, Any]) -> str:
    return "; ".join(
        (
            f"{one['from']} to {one['to']}, {one['topic']}: {one['refused']} refused, {one['waiting']} waiting "
            "at the end"
        )
        for one in figures["replicators"]
        if one["refused"]
    )


def _replicators(figures: list[dict[str, Any]]) -> Markup:
    if not figures:
        return NOTHING
    rows = [
        [
            f"{one['from']} → {one['to']}",
            one["topic"],
            one["end"]
            + (
                f" ({one['logs_still']} of {one['logs']} partitions)"
                if 0 < one["logs_still"] < one["logs"]
                else ""
            ),
            one["words"] or "–",
            number(one["refused"]),
            seconds(one["first_refused_us"]),
            number(one["waiting"]),
        ]
        for one in figures
    ]
    classes = ["harm" if one["end"] in STILL[:2] else "" for one in figures]
    says = (
        "A replicator checks the remote topic before it starts and retries without limit. Waiting: stored in the "
        "source since its cursor was opened, and not in the remote cluster at the end."
    )
    return section(
        "Replicators",
        says,
        table(
            [
                "replicator",
                "topic",
                "final state",
                "latest error",
                "starts refused",
                "first at, s",
                "waiting",
            ],
            rows,
            classes,
            words=4,
            kind="starts",
        ),
    )


def _happened(figures: dict[str, Any]) -> Markup:
    if not figures["happened"]:
        return NOTHING
    rows = [[seconds(row["at_us"]), event_words(row)] for row in figures["happened"]]
    more = (
        f" The first {len(rows)} of {number(figures['happened_of'])}."
        if figures["happened_of"] > len(rows)
        else ""
    )
    return section(
        "Topics, policies and schemas created, changed or refused",
        f"In all clusters, in order of time.{more}",
        table(["at, s", "event"], rows, words=2),
    )


def figure(run: dict[str, Any]) -> dict[str, Any]:
    """The chart of refused starts: three strips over one time, with the replicators ever refused.

    They have one line each. The strips show the starts refused so far, the messages that wait, and the delay
    as dashboards show it.
    """
    shown = [one for one in run["creation"]["replicators"] if one["refused_at_us"]]
    until_s, dashes = run["until_us"] / 1e6, ("solid", "dash", "dot")
    traces: list[dict[str, Any]] = []
    for place, one in enumerate(shown):
        name = f"{one['from']} → {one['to']} {one['topic']}"
        line = {"dash": dashes[place % 3], "width": 1.8}
        climb = [us / 1e6 for us in one["refused_at_us"]]
        strips = [("y3", HARM, "hv", [0, *climb, until_s], [0, *range(1, len(climb) + 1), len(climb)])]
        if one["curve"]:
            at = [us / 1e6 for us in one["curve"]["at_us"]]
            strips += [
                ("y2", PROTOCOL, "linear", at, one["curve"]["messages"]),
                ("y", GREY, "hv", at, [us // 1_000_000 for us in one["curve"]["delay_us"]]),
            ]
        traces += [
            {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "x": x,
                "y": y,
                "line": {**line, "color": colour, "shape": shape},
                "yaxis": scale,
                "showlegend": scale == "y3",
                "legendgroup": name,
            }
            for scale, colour, shape, x, y in strips
        ]
    if not any(one["curve"] for one in shown):
        return {
            "data": traces,
            "layout": layout(200, xaxis=_instants(until_s, "y3"), yaxis3=axis("refused", rangemode="tozero")),
        }
    axes = {
        "yaxis3": axis("refused", domain=[0.72, 1], nticks=4, rangemode="tozero"),
        "yaxis2": axis("waiting", domain=[0.36, 0.64], nticks=4, rangemode="tozero"),
        "yaxis": axis(
            "delay, s",
            domain=[0, 0.28],
            **_from_nought([y for trace in traces if trace["yaxis"] == "y" for y in trace["y"]]),
        ),
    }
    return {"data": traces, "layout": layout(440, xaxis=_instants(until_s, "y"), **axes)}


def _instants(until_s: float, anchor: str) -> dict[str, Any]:
    return axis("seconds", range=[0, until_s], anchor=anchor)


def _from_nought(values: list[int]) -> dict[str, Any]:
    """The axis of these values. A line that never leaves 0 is lifted off the axis, so that it is visible."""
    return {"rangemode": "tozero", "nticks": 4} if any(values) else {"range": [-0.5, 2], "tickvals": [0]}
