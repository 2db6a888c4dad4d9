"""Describes a row of the trace as a clause, by a protocol's table of wordings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class _Gaps(dict):
    def __missing__(self, name: str) -> str:
        return "?"


def clause(wordings: Mapping[str, str], row: dict[str, Any]) -> str:
    """The wording of the row's event type with the row's values; "?" for a missing value."""
    wording = wordings.get(row["type"], row["type"].replace(".", " "))
    return wording.format_map(_Gaps({name: value for name, value in row.items() if value is not None}))
