"""Charts of a failover: deliveries around it, cursors and ends of logs, and the sync lag.

Rules: as `spark_reports.html.charts`.
"""

from __future__ import annotations

from typing import Any

from spark_reports.html.charts import GREY, HARM, HARM_VEIL, INK, PROTOCOL, axis, layout, region_colour

KINDS = (
    ("duplicate", "duplicates", HARM, 1.0),
    ("redelivery", "redelivered", INK, 0.9),
    ("again", "extra deliveries", GREY, 0.7),
)


def _instants(failover: dict[str, Any], top: float = 1.0) -> tuple[list[dict], list[dict]]:
    """Dotted lines at the crash and the move, with their labels."""
    moved, ended = failover["at_us"] / 1e6, failover["source_ended_us"] / 1e6
    marks = [(moved, "consumers move", "left")]
    if ended < moved:
        marks.insert(0, (ended, f"{failover['from']} fails", "right"))
    shapes = [
        {
            "type": "line",
            "x0": x,
            "x1": x,
            "y0": 0,
            "y1": top,
            "yref": "paper",
            "line": {"color": HARM, "width": 1.3, "dash": "dot"},
        }
        for x, _, _ in marks
    ]
    notes = [
        {
            "x": x,
            "y": top,
            "yref": "paper",
            "text": words,
            "showarrow": False,
            "xanchor": anchor,
            "yanchor": "bottom",
            "font": {"size": 11, "color": HARM},
        }
        for x, words, anchor in marks
    ]
    return shapes, notes


def timeline(failover: dict[str, Any], clusters: list[str]) -> dict[str, Any]:
    """Deliveries around the failover at source and target, and the duplicates of a move.

    Below, before the failover: the duplicates that a move at that instant would cause. After it: those still
    to be delivered.
    """
    figures, zoom = failover["series"]["deliveries"], failover["series"]["zoom"]
    width_s = zoom["bin_us"] / 1e6
    rows = [failover["from"], failover["to"]]
    traces = []
    for place, cluster in enumerate(rows):
        scale = "y" if place == 0 else "y2"
        first = [entry for entry in figures if entry["cluster"] == cluster and entry["kind"] == "first"]
        traces.append(
            _bars(
                first,
                zoom,
                f"first deliveries, {cluster}",
                region_colour(cluster, clusters),
                scale,
                width_s,
                0.75,
            )
        )
        for kind, words, colour, opacity in KINDS:
            chosen = [entry for entry in figures if entry["cluster"] == cluster and entry["kind"] == kind]
            if chosen:
                traces.append(_bars(chosen, zoom, f"{words}, {cluster}", colour, scale, width_s, opacity))
    risk = [
        point
        for point in failover["series"]["risk"]
        if zoom["from_us"] / 1e6 <= point[0] <= failover["at_us"] / 1e6
    ]
    after = failover["series"]["remaining"]
    traces.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": [x for x, _ in risk + after],
            "y": [y for _, y in risk + after],
            "line": {"color": HARM, "width": 1.6, "shape": "hv"},
            "fill": "tozeroy",
            "fillcolor": HARM_VEIL,
            "name": "duplicates if moved at that instant; after the move, still to be delivered",
            "yaxis": "y3",
        }
    )
    shapes, notes = _instants(failover)
    span = [zoom["from_us"] / 1e6, zoom["to_us"] / 1e6]
    drawn = layout(
        360,
        barmode="stack",
        shapes=shapes,
        annotations=notes,
        xaxis=axis(ticksuffix=" s", range=span, anchor="y3"),
        yaxis=axis(rows[0], domain=[0.72, 0.98], **_whole(figures, rows[0])),
        yaxis2=axis(rows[1], domain=[0.42, 0.68], **_whole(figures, rows[1])),
        yaxis3=axis("duplicates", domain=[0, 0.36], nticks=4, rangemode="tozero"),
    )
    return {"data": traces, "layout": drawn}


def _whole(figures: list[dict], cluster: str) -> dict[str, Any]:
    """Ticks at whole deliveries: 0, half of the highest bar rounded down, and the highest bar."""
    by_bin: dict[int, int] = {}
    for entry in figures:
        if entry["cluster"] == cluster:
            by_bin[entry["bin"]] = by_bin.get(entry["bin"], 0) + entry["deliveries"]
    highest = max(by_bin.values(), default=1)
    return {
        "tickvals": sorted({0, highest // 2, highest} if highest > 3 else {0, highest}),
        "rangemode": "tozero",
    }


def _bars(
    entries: list[dict], zoom: dict, name: str, colour: str, axis: str, width_s: float, opacity: float
) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": [(zoom["from_us"] + (entry["bin"] + 0.5) * zoom["bin_us"]) / 1e6 for entry in entries],
        "y": [entry["deliveries"] for entry in entries],
        "width": width_s,
        "marker": {"color": colour, "opacity": opacity, "line": {"width": 0}},
        "name": name,
        "yaxis": axis,
        "hovertemplate": "%{y}",
    }


def _points(points: list[list]) -> dict[str, list]:
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}


def _floor(figures: dict[str, list]) -> list[list]:
    """The lower edge of the backlog: the mark-delete, or the log's end while there is no cursor."""
    return [
        [x, end if mark is None else mark]
        for (x, end), (_, mark) in zip(figures["end"], figures["mark"], strict=True)
    ]


def positions(failover: dict[str, Any]) -> dict[str, Any]:
    """The end of the log (grey) and the mark-delete (black) over time of each cluster, on one scale."""
    figures = failover["series"]["positions"]
    clusters = sorted(figures, key=lambda name: (name != failover["from"], name != failover["to"], name))
    traces, drawn = [], layout(240)
    shapes, notes = [], []
    share = 1 / max(1, len(clusters))
    for number, cluster in enumerate(clusters, start=1):
        suffix = "" if number == 1 else str(number)
        traces += _position_traces(figures[cluster], suffix)
        drawn[f"xaxis{suffix}"] = axis(
            ticksuffix=" s",
            nticks=4,
            tickangle=0,
            domain=[(number - 1) * share, number * share - 0.045],
            anchor=f"y{suffix}",
        )
        drawn[f"yaxis{suffix}"] = axis(anchor=f"x{suffix}", nticks=4, rangemode="tozero")
        shapes.append(_instant_line(failover["at_us"] / 1e6, suffix))
        notes.append(_cluster_title(cluster, suffix))
    drawn.update(shapes=shapes, annotations=notes)
    drawn["margin"] = {"l": 40, "r": 8, "t": 60, "b": 34}
    drawn["legend"] = {
        "orientation": "h",
        "x": 1,
        "xanchor": "right",
        "y": 1.14,
        "yanchor": "bottom",
        "font": {"size": 11},
    }
    return {"data": traces, "layout": drawn}


def _position_traces(figures: dict[str, Any], suffix: str) -> list[dict[str, Any]]:
    """The two lines of a cluster and the area between them; axes have the suffix, the first ones none."""
    axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    line = {"type": "scatter", "mode": "lines"}
    end, floor, mark = (
        {**line, **_points(points), **axes} for points in (figures["end"], _floor(figures), figures["mark"])
    )
    named = {"showlegend": not suffix, "connectgaps": False}
    return [
        {**end, **named, "name": "end of the log", "line": {"color": GREY, "width": 1.2, "shape": "hv"}},
        {
            **floor,
            "line": {"width": 0, "shape": "hv"},
            "showlegend": False,
            "hoverinfo": "skip",
            "fill": "tonexty",
            "fillcolor": HARM_VEIL,
        },
        {**mark, **named, "name": "mark-delete", "line": {"color": INK, "width": 2.2, "shape": "hv"}},
    ]


def _instant_line(at_s: float, suffix: str) -> dict[str, Any]:
    """A dotted vertical line at an instant."""
    return {
        "type": "line",
        "xref": f"x{suffix}",
        "yref": f"y{suffix} domain",
        "x0": at_s,
        "x1": at_s,
        "y0": 0,
        "y1": 1,
        "line": {"color": HARM, "width": 1.3, "dash": "dot"},
    }


def _cluster_title(cluster: str, suffix: str) -> dict[str, Any]:
    """The name of a cluster above its axes."""
    return {
        "xref": f"x{suffix} domain",
        "yref": f"y{suffix} domain",
        "x": 0,
        "y": 1.02,
        "yanchor": "bottom",
        "xanchor": "left",
        "text": f"<b>{cluster}</b>",
        "showarrow": False,
        "font": {"size": 12, "color": INK},
    }


def lag(failover: dict[str, Any]) -> dict[str, Any]:
    """The age over time of the oldest message that the target holds and its cursor does not cover."""
    points = failover["series"]["lag"]
    shapes, notes = _instants(failover)
    trace = {
        "type": "scatter",
        "mode": "lines",
        "x": [x for x, _ in points],
        "y": [y for _, y in points],
        "line": {"color": PROTOCOL, "width": 1.8, "shape": "hv"},
        "name": "sync lag",
    }
    return {
        "data": [trace],
        "layout": layout(
            240,
            showlegend=False,
            shapes=shapes,
            annotations=notes,
            xaxis=axis(ticksuffix=" s"),
            yaxis=axis("seconds", rangemode="tozero"),
        ),
    }
