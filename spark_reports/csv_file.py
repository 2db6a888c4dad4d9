"""Writes CSV files that spreadsheets open safely: the only writer of the site's CSV files.

Rules: a spreadsheet interprets a text that begins with = + - @, a tab or a carriage return as a formula.
Scenarios choose such texts (an MQTT topic filter may be `=1+1`), so every text cell that begins so, column
names included, gets an apostrophe before it. Numbers stay numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_csv(path: Path, names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write a file with a line of column names and one line per row. Missing values are empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([safe_cell(name) for name in names])
        writer.writerows([safe_cell(row.get(name, "")) for name in names] for row in rows)


def safe_cell(value: Any) -> Any:
    """The value, with a text changed so that no spreadsheet computes it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
