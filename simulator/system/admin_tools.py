"""The common parts of the output of every protocol's admin tools (docs/command-line.md)."""

from __future__ import annotations

from typing import Any


class AdminError(Exception):
    """A request that cannot be answered; `hint` is what would be right."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def with_notes(answer: dict[str, Any]) -> str:
    """The text with each note under its line, for a terminal."""
    notes = dict(answer["notes"])
    lines = []
    for number, line in enumerate(answer["text"].splitlines()):
        lines.append(line)
        if number in notes:
            lines.append(f"{' ' * (len(line) - len(line.lstrip()))}^ {notes[number]}")
    return "".join(f"{line}\n" for line in lines)
