"""Reads the text of a scenario's or an experiment's file."""

from __future__ import annotations

from pathlib import Path

from simulator.scenarios.problems import Problem, ScenarioError


def read_text_file(path: Path) -> str:
    """The text of a file. Raises ScenarioError."""
    if path.is_dir():
        raise _unreadable(path, "is a folder", "name a built-in scenario or a .yaml file")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _unreadable(path, "is not UTF-8 text", "save it as UTF-8") from None
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}", "name a readable file") from None


def _unreadable(path: Path, what: str, right: str) -> ScenarioError:
    return ScenarioError([Problem(str(path), None, None, "", what, right)])
