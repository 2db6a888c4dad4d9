"""Single messages from their publish to a duplicate delivery, row by row of the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from spark_reports.html.numbers import message_name
from spark_reports.html.templates import render


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
        "rows": [_row(row, row["seq"] == figures["seq"], clause(row)) for row in rows],
    }


def messages(says: str, chosen: list[dict[str, Any]]) -> Markup:
    """The section about single messages; "" without any message. `says` is plain text."""
    return render("html/templates/messages.html", says=says, messages=chosen) if chosen else Markup("")


def _row(row: dict[str, Any], last: bool, words: str) -> dict[str, Any]:
    kind = "harm" if last else "" if row["type"].startswith("message.") else "protocol"
    words += ", a duplicate" if last else ""
    return {"kind": kind, "at_us": row["at_us"], "seq": row["seq"], "words": words}
