"""JSON as pulsar-admin prints it (Jackson's default pretty printer), as lines with the path of each.

Rules: an object has a line per field, `"name" : value`. A list of objects has one line per bracket pair,
`[ {`, `}, {`, `} ]`. A list of plain values and anything empty is printed on one line. Floats are Java
doubles.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from simulator.protocols.pulsar.admin import java_text

Path = tuple[str | int, ...]


class Line(NamedTuple):
    """One printed line.

    `path` names the field it shows, `value` its plain value as printed (None for a bracket).
    """

    text: str
    path: Path
    value: str | None


class Printer:
    """Collects lines."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._text = ""
        self._path: Path = ()
        self._value: str | None = None

    def print(self, tree: dict[str, Any]) -> list[Line]:
        """The lines of an object."""
        self._write(tree, (), 0)
        self._end_line()
        return self.lines

    def _end_line(self) -> None:
        self.lines.append(Line(self._text, self._path, self._value))
        self._text, self._path, self._value = "", (), None

    def _write(self, value: Any, path: Path, depth: int) -> None:
        if isinstance(value, dict) and value:
            self._object(value, path, depth)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            self._text += "[ "
            for place, item in enumerate(value):
                self._text += ", " if place else ""
                self._object(item, (*path, place), depth)
            self._text += " ]"
        else:
            written = self._value = scalar(value)
            self._text += written

    def _object(self, value: dict[str, Any], path: Path, depth: int) -> None:
        self._text += "{"
        for place, (name, inner) in enumerate(value.items()):
            self._text += "," if place else ""
            self._end_line()
            self._path = (*path, name)
            self._text = f"{'  ' * (depth + 1)}{json.dumps(name, ensure_ascii=False)} : "
            self._write(inner, self._path, depth + 1)
        self._end_line()
        self._text = "  " * depth + "}"


def scalar(value: Any) -> str:
    """A value that is printed on one line."""
    if isinstance(value, float):
        return java_text.double(value)
    if isinstance(value, dict):
        return "{ }"
    if isinstance(value, list):
        return f"[ {', '.join(scalar(item) for item in value)} ]" if value else "[ ]"
    return json.dumps(value, ensure_ascii=False)
