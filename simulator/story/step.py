"""One step of a story: an instant, the row that shows it, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step; `kind` is its kind, `row` the trace row that it describes and a diagram highlights."""

    kind: str
    at_us: int
    seq: int
    words: str
    row: Row
