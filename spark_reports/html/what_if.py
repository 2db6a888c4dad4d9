"""“What would have helped”: the run and its changed reruns as a table, in the order in which the lab's page shows them.

Rules: what happened comes first, then what helped most, then what made no difference; figures come ready.
"""

from __future__ import annotations

from html import escape
from typing import Any

from simulator.what_if import difference
from spark_reports.html.parts import scrolling
from spark_reports.html.words import number, plural, span

HARM = ("lost", "duplicates", "stranded", "redeliveries")
"""Worst first: by these, in this order, one outcome is better than another."""
SAME = "no difference"
HEAD = ("", "seen twice", "redelivered", "stranded", "lost", "without deliveries", "markers in {source}’s logs", "difference")


def what_if(run: dict[str, Any], failover: dict[str, Any]) -> str:
    """The section, empty where nothing was run again."""
    told = run.get("what_if") or {}
    if told.get("note"):
        return f"<section><h2>What would have helped</h2><p>{escape(told['note'])}</p></section>"
    if not told.get("variants"):
        return ""
    real, changed, same = _in_order(told["variants"], failover["number"])
    most = max([line["figures"]["duplicates"] for line in (real, *changed, *same) if line["figures"]], default=0) or 1
    rows = [_row(real, real, most, failover["from"], "real"), *(_row(line, real, most, failover["from"], "") for line in changed)]
    rows += [_row(line, real, most, failover["from"], "same") for line in same]
    head = "".join(f'<th{_words_class(title)}>{escape(title.format(source=failover["from"]))}</th>' for title in HEAD)
    table = scrolling(f'<table class="what-if"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>')
    return f"<section><h2>What would have helped</h2><p>{_headline(real, changed)}</p>{table}</section>"


def _words_class(title: str) -> str:
    return ' class="left"' if title == "difference" else ""


def _in_order(variants: list[dict[str, Any]], place: int) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    lines = []
    for entry in variants:
        figures = entry["failovers"][place] if place < len(entry["failovers"]) else None
        lines.append({"name": entry["name"], "figures": figures, "markers": entry["markers"]})
    real, others = lines[0], lines[1:]
    for line in others:
        line["difference"] = difference(real["figures"], line["figures"])
    changed = sorted((line for line in others if line["difference"] != SAME), key=_harm)
    return real, changed, [line for line in others if line["difference"] == SAME]


def _harm(line: dict[str, Any]) -> tuple[int, ...]:
    """Small is good; a failover that did not come about, or whose consumers never moved, helped nobody."""
    figures = line["figures"]
    if figures is None or not figures["moved"]:
        return (1,)
    return (0, *(figures[name] for name in HARM), figures["outage_us"] or 0)


def _headline(real: dict[str, Any], changed: list[dict[str, Any]]) -> str:
    says = "The same seed and the same failure, with one thing changed at a time"
    best = changed[0] if changed and _harm(changed[0])[0] == 0 else None
    helps = best is not None and _harm(best) < _harm(real) and any(best["figures"][name] < real["figures"][name] for name in HARM)
    if helps:
        return f"{says}. What helps most: <b>{escape(best['name'])}</b>. {escape(best['difference'][0].upper() + best['difference'][1:])}."
    twice = plural(real["figures"]["duplicates"], "message came", "messages came")
    return f"{says}: nothing helps. As it was, {twice} twice."


def _row(line: dict[str, Any], real: dict[str, Any], most: int, source: str, kind: str) -> str:
    figures = line["figures"]
    if figures is None:
        cells = "<td>–</td>" * 5
    else:
        bar = f'<span class="track" aria-hidden="true"><span class="bar" style="width:{100 * figures["duplicates"] / most:.0f}%"></span></span>'
        cells = "".join(f"<td>{number(figures[name])}{bar if name == 'duplicates' else ''}</td>" for name in ("duplicates", "redeliveries", "stranded", "lost"))
        cells += f"<td>{'–' if figures['outage_us'] is None else span(figures['outage_us']) if figures['outage_us'] else 'no time'}</td>"
    words = "what happened" if kind == "real" else line["difference"]
    mark = f' class="{kind}"' if kind else ""
    return f'<tr{mark}><th scope="row">{escape(line["name"]).replace(" ms", "&nbsp;ms")}</th>{cells}<td>{number(line["markers"].get(source))}</td><td class="left words">{escape(words)}</td></tr>'
