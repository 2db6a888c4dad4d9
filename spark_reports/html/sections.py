"""Sections of every report: how to run it again, single messages, and what would have helped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from spark_reports.html.numbers import message_name, number, span
from spark_reports.html.parts import render

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
