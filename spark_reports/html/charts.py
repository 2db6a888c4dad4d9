"""The report's charts as Plotly figures: plain dictionaries, drawn by the Plotly that the page carries.

Rules: colour follows the page (crimson harm, ink, indigo protocol, a hue for each region), every hue doubled by a symbol, a
dash or its place; nothing moves. Instants are seconds of simulated time.
"""

from __future__ import annotations

from typing import Any

HARM, HARM_WASH, INK, INK_2, GREY, LINE, PROTOCOL = "#b8104a", "rgba(184,16,74,.10)", "#16181d", "#454b57", "#878c96", "#e3e4df", "#33218c"
REGIONS = ("#2b5fd0", "#bf7300", "#15956f", "#7a7f2a", "#6b5a4a")
FONT = {"family": 'Inter, "Segoe UI", "Helvetica Neue", "Liberation Sans", Arial, sans-serif', "size": 12, "color": INK_2}
KINDS = (("duplicate", "twice", HARM, 1.0), ("redelivery", "redelivered", INK, 0.9), ("again", "repeats", GREY, 0.7))


def region_colour(cluster: str, clusters: list[str]) -> str:
    """The hue of a region: by its place in the sorted names."""
    return REGIONS[clusters.index(cluster) % len(REGIONS)] if cluster in clusters else GREY


def _layout(height: int, **more: Any) -> dict[str, Any]:
    return {
        "height": height, "margin": {"l": 56, "r": 12, "t": 26, "b": 34}, "font": FONT, "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.14, "font": {"size": 11}}, "hovermode": "x unified", "bargap": 0, **more,
    }  # fmt: skip


def _axis(title: str = "", **more: Any) -> dict[str, Any]:
    return {"title": {"text": title, "font": {"size": 11}}, "gridcolor": LINE, "zeroline": False, "linecolor": GREY, "ticks": "outside", "tickcolor": LINE, **more}


def _instants(failover: dict[str, Any], top: float = 1.0) -> tuple[list[dict], list[dict]]:
    """Dotted lines at the crash and the move, with their words."""
    moved, ended = failover["at_us"] / 1e6, failover["source_ended_us"] / 1e6
    marks = [(moved, "consumers move", "left")]
    if ended < moved:
        marks.insert(0, (ended, f"{failover['from']} fails", "right"))
    shapes = [{"type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "yref": "paper", "line": {"color": HARM, "width": 1.3, "dash": "dot"}} for x, _, _ in marks]
    notes = [{"x": x, "y": top, "yref": "paper", "text": words, "showarrow": False, "xanchor": anchor, "yanchor": "bottom",
              "font": {"size": 11, "color": HARM}} for x, words, anchor in marks]  # fmt: skip
    return shapes, notes


def timeline(failover: dict[str, Any], clusters: list[str]) -> dict[str, Any]:
    """Deliveries around the failover at source and target, and below the messages that would come twice, or still will."""
    told, zoom = failover["series"]["deliveries"], failover["series"]["zoom"]
    width_s = zoom["bin_us"] / 1e6
    rows = [failover["from"], failover["to"]]
    traces = []
    for place, cluster in enumerate(rows):
        axis = "y" if place == 0 else "y2"
        first = [entry for entry in told if entry["cluster"] == cluster and entry["kind"] == "first"]
        traces.append(_bars(first, zoom, f"first time, {cluster}", region_colour(cluster, clusters), axis, width_s, 0.75))
        for kind, words, colour, opacity in KINDS:
            chosen = [entry for entry in told if entry["cluster"] == cluster and entry["kind"] == kind]
            if chosen:
                traces.append(_bars(chosen, zoom, f"{words}, {cluster}", colour, axis, width_s, opacity))
    risk = [point for point in failover["series"]["risk"] if zoom["from_us"] / 1e6 <= point[0] <= failover["at_us"] / 1e6]
    after = failover["series"]["remaining"]
    traces.append({"type": "scatter", "mode": "lines", "x": [x for x, _ in risk + after], "y": [y for _, y in risk + after], "line": {"color": HARM, "width": 1.6, "shape": "hv"},
                   "fill": "tozeroy", "fillcolor": HARM_WASH, "name": "twice, if they moved; then still to come", "yaxis": "y3"})  # fmt: skip
    shapes, notes = _instants(failover)
    span = [zoom["from_us"] / 1e6, zoom["to_us"] / 1e6]
    layout = _layout(
        330, barmode="stack", shapes=shapes, annotations=notes,
        xaxis=_axis(ticksuffix=" s", range=span, anchor="y3"), yaxis=_axis(rows[0], domain=[0.72, 0.98], nticks=3),
        yaxis2=_axis(rows[1], domain=[0.42, 0.68], nticks=3), yaxis3=_axis("would come twice", domain=[0, 0.36], nticks=4, rangemode="tozero"),
    )  # fmt: skip
    return {"data": traces, "layout": layout}


def _bars(entries: list[dict], zoom: dict, name: str, colour: str, axis: str, width_s: float, opacity: float) -> dict[str, Any]:
    return {
        "type": "bar", "x": [(zoom["from_us"] + (entry["bin"] + 0.5) * zoom["bin_us"]) / 1e6 for entry in entries],
        "y": [entry["deliveries"] for entry in entries], "width": width_s, "marker": {"color": colour, "opacity": opacity, "line": {"width": 0}},
        "name": name, "yaxis": axis, "hovertemplate": "%{y}",
    }  # fmt: skip


def positions(failover: dict[str, Any]) -> dict[str, Any]:
    """For each cluster the end of its log (grey) and its mark-delete (black) over time, on one scale."""
    told = failover["series"]["positions"]
    clusters = sorted(told, key=lambda name: (name != failover["from"], name != failover["to"], name))
    traces, layout = [], _layout(240)
    shapes, notes = [], []
    share = 1 / max(1, len(clusters))
    for number, cluster in enumerate(clusters, start=1):
        suffix = "" if number == 1 else str(number)
        for kind, words, line in (("end", "end of the log", {"color": GREY, "width": 1.2, "shape": "hv"}), ("mark", "mark-delete", {"color": INK, "width": 2.2, "shape": "hv"})):
            points = told[cluster][kind]
            traces.append({"type": "scatter", "mode": "lines", "x": [x for x, _ in points], "y": [y for _, y in points], "line": line, "name": words, "xaxis": f"x{suffix}",
                           "yaxis": f"y{suffix}", "showlegend": number == 1, "fill": "tonexty" if kind == "mark" else "none", "fillcolor": HARM_WASH, "connectgaps": False})  # fmt: skip
        layout[f"xaxis{suffix}"] = _axis(ticksuffix=" s", nticks=5, domain=[(number - 1) * share, number * share - 0.045], anchor=f"y{suffix}")
        layout[f"yaxis{suffix}"] = _axis(anchor=f"x{suffix}", nticks=4, rangemode="tozero")
        at = failover["at_us"] / 1e6
        shapes.append({"type": "line", "xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": {"color": HARM, "width": 1.3, "dash": "dot"}})
        notes.append({"xref": f"x{suffix} domain", "yref": f"y{suffix} domain", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left", "text": f"<b>{cluster}</b>", "showarrow": False,
                      "font": {"size": 12, "color": INK}})  # fmt: skip
    layout.update(shapes=shapes, annotations=notes)
    layout["margin"] = {"l": 40, "r": 8, "t": 44, "b": 34}
    layout["legend"] = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.24, "font": {"size": 11}}
    return {"data": traces, "layout": layout}


def lag(failover: dict[str, Any]) -> dict[str, Any]:
    """Age of the oldest message that the target holds and its cursor does not cover."""
    points = failover["series"]["lag"]
    shapes, notes = _instants(failover)
    trace = {"type": "scatter", "mode": "lines", "x": [x for x, _ in points], "y": [y for _, y in points], "line": {"color": PROTOCOL, "width": 1.8, "shape": "hv"}, "name": "sync lag"}
    return {"data": [trace], "layout": _layout(200, showlegend=False, shapes=shapes, annotations=notes, xaxis=_axis(ticksuffix=" s"), yaxis=_axis("seconds", rangemode="tozero"))}
