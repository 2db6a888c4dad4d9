"""Packs what a frame repeats: columns of whole numbers as differences, and tables of such columns.

Equal differences are folded. Rules: `static/js/wire/decode.js` reads exactly this format, and a test
compares the two. Values are integers and names only. `docs/http-api.md`, "Packed columns", describes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Packed = list[int | None | list[int | None]]
"""A packed column: differences from the previous number (from 0 at first).

`[d, n]` is d n times. None is "no value" and leaves the previous number unchanged.
"""


def packed(values: Iterable[int | None]) -> Packed:
    """Pack a column: 7, 8, 9, 10 is `[7, [1, 3]]`."""
    result: Packed = []
    last, difference, times = 0, None, 0
    for value in values:
        if value is None:
            step = None
        else:
            step, last = value - last, value
        if times and step == difference:
            times += 1
            continue
        _close(result, difference, times)
        difference, times = step, 1
    _close(result, difference, times)
    return result


def _close(result: Packed, difference: int | None, times: int) -> None:
    if times > 1:
        result.append([difference, times])
    elif times:
        result.append(difference)


def table(rows: Sequence[Mapping[str, int | str | None]]) -> dict[str, Any]:
    """A table of rows that may lack columns, with packed columns.

    Returns `{count, names, texts, columns: {name: packed}}`. A text is written as its index in `names`, and
    `texts` lists the columns of texts.
    """
    columns: dict[str, list[int | None]] = {}
    texts: list[str] = []
    names: dict[str, int] = {}
    for place, row in enumerate(rows):
        for name, value in row.items():
            if value is None:
                continue
            column = columns.get(name)
            if column is None:
                column = columns[name] = []
                if isinstance(value, str):
                    texts.append(name)
            column.extend([None] * (place - len(column)))
            column.append(names.setdefault(value, len(names)) if isinstance(value, str) else value)
    # A column that ends early has no value in the rows after it.
    return {
        "count": len(rows),
        "names": list(names),
        "texts": texts,
        "columns": {name: packed(column) for name, column in columns.items()},
    }
