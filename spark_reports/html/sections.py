"""Sections of every report: how to run it again, single messages, and what would have helped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from simulator import glossary
from spark_reports.html.charts import region_colour, region_number
from spark_reports.html.numbers import message_name, number, plural, seconds, size, span

# --- parts of the report's sections: a section, a table, a chart's place, and marked figures
#
# Rules: `Markup` is HTML. Everything else is plain text, which is escaped.


ENVIRONMENT = Environment(
    loader=PackageLoader("spark_reports", "."),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.filters.update(number=number, plural=plural, seconds=seconds, size=size, span=span)


def render(template: str, /, **values: Any) -> Markup:
    """The HTML of a template, named by its path inside `spark_reports`.

    `Markup` values are HTML, others plain text.

    Rules: autoescape is on everywhere, an undefined name is an error, and only `Markup` passes unescaped.
    Templates are read through the package's own loader, so that they are also found in the zip archive that
    spark-submit ships.
    """
    return Markup(ENVIRONMENT.get_template(template).render(**values))


def from_glossary(*names: str) -> tuple[tuple[str, str], ...]:
    """The name and the definition of each of these terms, from the glossary.

    Raises KeyError for an unknown term.

    A report is a file that is passed on, so it contains them and does not link to them.
    """
    terms = glossary.catalogue().by_label
    return tuple((terms[name.lower()].name, terms[name.lower()].plain) for name in names)


NOTHING = Markup("")


def section(title: str, says: str, body: Markup = NOTHING) -> Markup:
    """A heading, a sentence and the content below."""
    return render("html/templates/section.html", title=title, says=says, body=body)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    classes: Sequence[str] | None = None,
    words: int = 1,
    kind: str = "",
) -> Markup:
    """A table in its own frame, which scrolls if the table is wide.

    `classes` mark rows. The first `words` columns are text and left-aligned. `kind` is a class of the table.
    """
    marked = list(zip(classes or [""] * len(rows), rows, strict=True))
    return render("html/templates/table.html", head=head, rows=marked, words=words, kind=kind)


def chart(
    title: str, says: str, name: str, kind: str = "", label: str = "", height_px: int | None = None
) -> Markup:
    """A section in which Plotly draws the figure `name`.

    `kind` is a class with a height, unless `height_px` sets one. `label` describes what the chart shows
    (default: its title).
    """
    values = {"title": title, "says": says, "name": name, "kind": kind, "height_px": height_px}
    return render("html/templates/chart.html", label=label or title, **values)


def bold(text: object) -> Markup:
    """The main figure of a sentence, in bold."""
    return Markup("<b>{}</b>").format(text)


def harm(text: object) -> Markup:
    """A figure in a sentence that is a loss or a duplicate."""
    return Markup('<span class="harm">{}</span>').format(text)


def harm_cell(text: object) -> Markup:
    """A table cell that is a loss, a duplicate or a failure."""
    return Markup('<span class="harm-text">{}</span>').format(text)


def article(parts: Sequence[Markup], alone: bool) -> Markup:
    """One subject of the page; `alone` if it is the only one."""
    return render("html/templates/article.html", parts=[part for part in parts if part], alone=alone)


class _Gaps(dict):
    def __missing__(self, name: str) -> str:
        return "?"


def clause(wordings: Mapping[str, str], row: dict[str, Any]) -> str:
    """The wording of the row's event type with the row's values; "?" for a missing value."""
    wording = wordings.get(row["type"], row["type"].replace(".", " "))
    return wording.format_map(_Gaps({name: value for name, value in row.items() if value is not None}))


# --- draws messages as squares, one each, in the hue and shape of their region


SQUARES_MOST = 400
"""Most squares drawn for one cause. Beyond it one square is several messages, as the text explains."""

CELLS = (
    "M{x} {y}h17v20h-17z",
    "M{x} {y}h17v8.5h-17zm0 11.5h17v8.5h-17z",
    "M{x} {y}h17v20h-17zm8.5 6.5a3.5 3.5 0 1 0 .01 0z",
    "M{x} {y}h17v5h-17zm0 7.5h17v5h-17zm0 7.5h17v5h-17z",
)
"""A message's shape by its region's number: whole, split, pierced, barred."""


COLUMNS, STEP_X, STEP_Y = 44, 19, 23
"""Squares in a row, and the distance between two in px."""


def per_square(count: int) -> int:
    """How many messages one square stands for, when this many are drawn."""
    return max(1, -(-count // SQUARES_MOST))


def squares_say(counts: Iterable[int], noun: str) -> str:
    """What one square of a section is, when its rows draw these numbers of messages."""
    if all(per_square(count) == 1 for count in counts):
        return f"One square is one {noun}."
    return f"One square is one {noun}, or several where its row says so."


def squares(by_origin: dict[str, int], clusters: list[str]) -> Markup:
    """Messages by the region that wrote them, in the hue and shape of the lab's page."""
    each = per_square(sum(by_origin.values()))
    place, origins = 0, []
    for origin in sorted(by_origin):
        drawn = -(-by_origin[origin] // each)
        shape = CELLS[region_number(origin, clusters) or 0]
        cells = "".join(
            shape.format(x=at % COLUMNS * STEP_X, y=at // COLUMNS * STEP_Y)
            for at in range(place, place + drawn)
        )
        colour = region_colour(origin, clusters)
        origins.append({"name": origin, "count": by_origin[origin], "cells": cells, "colour": colour})
        place += drawn
    return render(
        "html/templates/squares.html",
        width=min(place, COLUMNS) * STEP_X,
        height=-(-place // COLUMNS) * STEP_Y,
        origins=origins,
        each=each,
    )


# --- the section that shows how to run a report's run again, with a link and a command line
#
# A report is passed on, and its reader may not reach the site that made it. So the link names the site's
# host, and the command line needs no site.


def replay_command(run: dict[str, Any]) -> str:
    """The command line for a shell in the lab's folder.

    Commands given live are not in the scenario. With such commands the line reads report.json.
    """
    rules = f"{run['rule'].partition('@')[0]}.py" if "rule" in run else None
    if not run["commands"]:
        given = f" --rules {rules}" if rules else ""
        return (
            f"python manage.py simulate scenario.yaml --seed {run['seed']} --until {run['until_us']}us{given}"
        )
    loads = f"import simulator; simulator.load_rules('{rules}'); " if rules else ""
    code = (
        f"{loads}import json; from simulator import World, load_scenario_text as load; run = next(one for one "
        f"in json.load(open('report.json'))['runs'] if one['run'] == {run['run']}); "
        "print(World.replay(load(run['scenario_text'], seed=run['seed']), run['seed'], "
        "run['commands'], run['until_us']).digest())"
    )
    return f'python -c "{code}"'


def replay(run: dict[str, Any]) -> Markup:
    """The section: link or command line, and the inputs that identify the run."""
    return render(
        "html/templates/replay.html",
        run=run,
        command=replay_command(run),
        server=urlsplit(run.get("replay_url") or "").netloc,
        commands=[(entry["at_us"], _command_words(entry)) for entry in run["commands"]],
    )


def _command_words(entry: dict[str, Any]) -> str:
    settings = [f"{name}={value}" for name, value in entry.items() if name not in ("at_us", "number", "do")]
    return " ".join([entry["do"], *settings])


# --- single messages from their publish to a duplicate delivery, row by row of the trace


def message(
    figures: dict[str, Any], cause: str, rows: list[dict[str, Any]], clause: Callable[[dict[str, Any]], str]
) -> dict[str, Any]:
    """One message for `messages`.

    `figures` describes the message: producer, sequence_id, seq (of the duplicate), optional key. `clause`
    returns the text of a row.
    """
    key = figures.get("key")
    return {
        "name": message_name(figures["producer"], figures["sequence_id"]),
        "key": "" if key is None else f" (key {key})",
        "cause": cause,
        "rows": [_trace_row(row, row["seq"] == figures["seq"], clause(row)) for row in rows],
    }


def messages(says: str, chosen: list[dict[str, Any]]) -> Markup:
    """The section about single messages; "" without any message. `says` is plain text."""
    return render("html/templates/messages.html", says=says, messages=chosen) if chosen else Markup("")


def _trace_row(row: dict[str, Any], last: bool, words: str) -> dict[str, Any]:
    kind = "harm" if last else "" if row["type"].startswith("message.") else "protocol"
    words += ", a duplicate" if last else ""
    return {"kind": kind, "at_us": row["at_us"], "seq": row["seq"], "words": words}


def what_if(run: dict[str, Any], place: int) -> Markup:
    """The section about the run's case with index `place`, empty where nothing was run again.

    Rules: figures, texts, order and the recommended setting are those of `simulator.what_if.answer`.
    """
    figures = run.get("what_if") or {}
    if figures.get("note"):
        return render("html/templates/what_if.html", note=figures["note"])
    if not figures.get("variants"):
        return Markup("")
    columns, order = figures["columns"], figures["order"][place]
    variants = {variant["key"]: variant for variant in figures["variants"]}
    cases = [variants[row["key"]]["cases"][place] for row in order["rows"]]
    first = columns[0]["name"]
    most = max((case["figures"][first] for case in cases if case["figures"]), default=0) or 1
    return render(
        "html/templates/what_if.html",
        note=None,
        columns=columns,
        best=_best(variants.get(order["best"]), place),
        rows=[
            _variant_row(variants[row["key"]], case, columns, most, row["group"])
            for row, case in zip(order["rows"], cases, strict=True)
        ],
    )


def _best(variant: dict[str, Any] | None, place: int) -> dict[str, Any] | None:
    """The setting to recommend; None when none helps."""
    if variant is None:
        return None
    case = variant["cases"][place]
    return {
        "name": variant["name"],
        "difference": case["difference"][0].upper() + case["difference"][1:],
        "settings": variant["settings"],
        "price": case["price_words"],
    }


def _variant_row(
    variant: dict[str, Any], case: dict[str, Any], columns: list[dict[str, str]], most: int, kind: str
) -> dict[str, Any]:
    figures = case["figures"]
    values = [None if figures is None else figures[column["name"]] for column in columns]
    return {
        "kind": "" if kind == "changed" else kind,
        # a number stays on one line with its unit
        "name": variant["name"].replace(" ms", "\u00a0ms"),
        "assumes": case["assumes"],
        "settings": variant["settings"],
        "figures": [
            _figure(value, column["unit"], column["name"] in case["at_least"])
            for value, column in zip(values, columns, strict=True)
        ],
        "share": f"{100 * values[0] / most:.0f}" if values[0] is not None else None,
        "words": "as it ran" if kind == "real" else case["difference"],
        "price": case["price_words"],
    }


def _figure(value: int | None, unit: str, at_least: bool) -> str:
    if value is None:
        return "–"
    return (
        f"{'at least ' if at_least else ''}{number(value)}"
        if unit == "count"
        else span(value)
        if value
        else "0 ms"
    )
