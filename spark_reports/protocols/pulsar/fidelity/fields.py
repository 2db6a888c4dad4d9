"""Reads fields of a JSON value and says which one is wrong, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

WORDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number", bool: "true or false"}

COUNT_MOST = 2**53
"""Largest count: the largest whole number up to which every one is exact as a float."""


class PairsError(Exception):
    """A file of pairs cannot be compared. The text names file, line and field."""


@dataclass(frozen=True)
class Reader:
    """A JSON value with its place in the file and its path in the line."""

    place: str
    path: str
    value: Any

    def wrong(self, what: str, right: str) -> PairsError:
        """The error about this value."""
        return PairsError(f"{self.place}: {self.path or 'the line'} {what}; {right} is right")

    def as_object(self) -> Reader:
        """This value, which has to be an object."""
        self._of(dict, "an object")
        return self

    def at(self, name: str) -> Reader:
        """A field of this object, which has to be there."""
        self.as_object()
        path = f"{self.path}.{name}" if self.path else name
        if name not in self.value:
            raise PairsError(
                f"{self.place}: {path} is missing; the fields there are "
                f"{', '.join(sorted(self.value)) or 'none'}"
            )
        return Reader(self.place, path, self.value[name])

    def members(self) -> Iterator[tuple[str, Reader]]:
        """All fields of this object, in the order of their names."""
        for name in sorted(self.as_object().value):
            yield name, self.at(name)

    def items(self) -> Iterator[Reader]:
        """The items of this list."""
        self._of(list, "a list")
        for index, item in enumerate(self.value):
            yield Reader(self.place, f"{self.path}[{index}]", item)

    def texts(self) -> tuple[str, ...]:
        """This list, all items of which are texts."""
        return tuple(item.text() for item in self.items())

    def counts(self) -> dict[str, int]:
        """This object, all fields of which are counts."""
        return {name: one.count() for name, one in self.members()}

    def count(self) -> int:
        """This value as a whole number from 0."""
        self._of(int, "a whole number from 0")
        if not 0 <= self.value <= COUNT_MOST:
            raise self.wrong(f"is {self.value}", f"a whole number from 0 to {COUNT_MOST}")
        return int(self.value)

    def number(self) -> float:
        """This value as a number from 0."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self._of(int, "a number from 0")
        if not 0 <= self.value <= COUNT_MOST:
            raise self.wrong(f"is {self.value}", f"a number from 0 to {COUNT_MOST}")
        return float(self.value)

    def text(self) -> str:
        """This value as a text that is not empty."""
        self._of(str, "a text")
        if not self.value:
            raise self.wrong("is empty", "a text")
        return str(self.value)

    def _of(self, kind: type, right: str) -> None:
        if not isinstance(self.value, kind) or (kind is int and isinstance(self.value, bool)):
            found = type(self.value)
            raise self.wrong(
                f"is {WORDS.get(found, 'null' if self.value is None else found.__name__)}", right
            )
