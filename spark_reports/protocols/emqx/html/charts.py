"""Charts of a durable shared subscription: the leases of each stream, and the streams of each session.

Rules: as `spark_reports.html.charts`. A session has a hue and, beyond the first few, a hatching. A lease is
also labelled with its session.
"""

from __future__ import annotations

from typing import Any

from spark_reports.html.charts import GREY, HARM, HARM_VEIL, INK, ORIGINS, axis, layout

HATCHES = ("", "/", "x", "-")
SESSIONS_MOST = len(HATCHES) * ORIGINS
"""Sessions with a colour and hatching of their own. The others are grey and labelled."""
LINES_MOST = 6
"""Most sessions that have a line each. Of more the chart shows the most and the fewest streams."""
LEGEND_MOST = 8
"""Most sessions in the legend of the chart of readers. Of more only the bars have names."""
ROW_PX, FRAME_PX = 26, 96
DASHES = ("solid", "dash", "dot", "dashdot")


def readers_height(group: dict[str, Any]) -> int:
    """The height of the chart of readers in px."""
    return FRAME_PX + ROW_PX * max(2, len(group["streams_shown"]))


def readers(group: dict[str, Any], until_us: int) -> dict[str, Any]:
    """The chart of leases: one row per stream, one bar per lease.

    A dotted line is time without a reader. Crimson within a bar is an overlap of two leases.
    """
    figures = group["streams_shown"]
    sessions = sorted({one["client"] for stream in figures for one in stream["readers"]})
    rows = [stream["stream"] for stream in figures]
    idle = [(stream["stream"], *gap) for stream in figures for gap in unread(stream)]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "without a reader",
            "line": {"color": HARM, "width": 2, "dash": "dot"},
            "hoverinfo": "skip",
            "x": [at for _, since, until in idle for at in (since / 1e6, until / 1e6, None)],
            "y": [row for stream, *_ in idle for row in (stream, stream, None)],
        }
    ]
    traces += [
        {**_bars(name, place, figures), "showlegend": len(sessions) <= LEGEND_MOST}
        for place, name in enumerate(sessions)
    ]
    twice = [one for one in group["overlaps"] if one["stream"] in rows]
    if twice:
        traces.append(
            _bar(
                "two readers",
                HARM,
                "",
                [(one["stream"], one["at_us"], one["end_us"], "") for one in twice],
                width=0.24,
            )
        )
    drawn = layout(
        readers_height(group),
        barmode="overlay",
        hovermode="closest",
        xaxis=axis(ticksuffix=" s", range=[0, until_us / 1e6], nticks=8),
        yaxis=axis(
            type="category",
            categoryorder="array",
            categoryarray=rows[::-1],
            automargin=True,
            showgrid=False,
            range=[-0.6, max(2, len(rows)) - 0.4],
        ),
        bargap=0.3,
    )
    drawn["legend"]["y"] = 1 + 8 / readers_height(group)
    return {"data": traces, "layout": drawn}


def unread(stream: dict[str, Any]) -> list[tuple[int, int]]:
    """The times when a stream had no reader, as (from, until), µs."""
    if stream["found_us"] is None:
        return []
    reached, gaps = stream["found_us"], []
    for one in [*stream["readers"], {"at_us": stream["done_us"], "end_us": stream["done_us"]}]:
        if one["at_us"] > reached:
            gaps.append((reached, one["at_us"]))
        reached = max(reached, one["end_us"])
    return gaps


def _bars(name: str, place: int, figures: list[dict[str, Any]]) -> dict[str, Any]:
    colour = f"var(--origin-{place % ORIGINS})" if place < SESSIONS_MOST else GREY
    stretches = [
        (stream["stream"], one["at_us"], one["end_us"], name)
        for stream in figures
        for one in stream["readers"]
        if one["client"] == name
    ]
    return _bar(name, colour, HATCHES[place // ORIGINS] if place < SESSIONS_MOST else "", stretches)


def _bar(
    name: str, colour: str, hatch: str, stretches: list[tuple[str, int, int, str]], width: float = 0.62
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "width": width,
        "y": [row for row, *_ in stretches],
        "base": [since / 1e6 for _, since, *_ in stretches],
        "x": [(until - since) / 1e6 for _, since, until, _ in stretches],
        "text": [words for *_, words in stretches],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "constraintext": "none",
        "textangle": 0,
        "textfont": {"color": "var(--bg)", "size": 11},
        "cliponaxis": True,
        "marker": {
            "color": colour,
            "pattern": {
                "shape": hatch,
                "fillmode": "overlay",
                "solidity": 0.2,
                "fgcolor": "var(--bg)",
                "size": 7,
            },
            "line": {"color": "var(--bg)", "width": 1},
        },
        "hovertemplate": "%{y}: " + name + " from %{base:.3f} s for %{x:.3f} s<extra></extra>",
    }


def balance(group: dict[str, Any], until_us: int) -> dict[str, Any]:
    """The chart of streams per session, and below those without a reader.

    Of many sessions it shows the most and the fewest streams.
    """
    figures = group["balance"]
    x = [us / 1e6 for us in figures["at_us"]]
    names = list(figures["sessions"])
    if len(names) <= LINES_MOST:
        traces = [
            _line(
                name,
                x,
                figures["sessions"][name],
                {
                    "color": f"var(--origin-{place % ORIGINS})",
                    "dash": DASHES[place % len(DASHES)],
                    "width": 2,
                },
            )
            for place, name in enumerate(names)
        ]
    else:
        having = [
            [count for count in counts if count] or [0]
            for counts in zip(*figures["sessions"].values(), strict=True)
        ]
        traces = [
            _line(
                "fewest",
                x,
                [min(counts) for counts in having],
                {"color": INK, "dash": "dot", "width": 1.4},
            ),
            _line("most", x, [max(counts) for counts in having], {"color": INK, "width": 2}),
        ]
    traces.append(
        {
            **_line("without a reader", x, figures["unread"], {"color": HARM, "width": 1.6}),
            "yaxis": "y2",
            "fill": "tozeroy",
            "fillcolor": HARM_VEIL,
        }
    )
    drawn = layout(
        300,
        xaxis=axis(ticksuffix=" s", range=[0, until_us / 1e6], anchor="y2", nticks=8),
        yaxis=axis(
            "streams per session",
            domain=[0.4, 0.98],
            **_whole([count for counts in figures["sessions"].values() for count in counts]),
        ),
        yaxis2=axis("without a reader", domain=[0, 0.3], **_whole(figures["unread"])),
    )
    return {"data": traces, "layout": drawn}


def _line(name: str, x: list[float], y: list[int], line: dict[str, Any]) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": {**line, "shape": "hv"}}


def _whole(counts: list[int]) -> dict[str, Any]:
    """Ticks at whole streams."""
    highest = max(counts, default=0) or 1
    return {
        "tickvals": sorted({0, highest // 2, highest} if highest > 3 else set(range(highest + 1))),
        "range": [0, highest * 1.12],
    }
