"""What changed from one view to the next, so that a frame need not repeat the rest.

Rules: an object with the same names in the same order, or with more of them at its end, is compared name by
name. An object whose names changed otherwise is sent whole, with its path, so that the view's order is kept.
Any other value is replaced. `static/js/model/reduce.js` applies changes to a view. Frames of an epoch are
consecutive, so the changes add up.
"""

from __future__ import annotations

from typing import Any

View = dict[str, Any]


def changes(before: View, after: View) -> tuple[View, list[list[str]]]:
    """The changes that lead from the view `before` to `after`.

    Returns (what differs, nested as in the view; paths of the objects in it that are whole).
    """
    whole: list[list[str]] = []
    return _changed(before, after, (), whole), whole


def _changed(before: View, after: View, path: tuple[str, ...], whole: list[list[str]]) -> View:
    if list(before) != list(after)[: len(before)]:
        whole.append(list(path))
        return after
    changed: View = {}
    for name, value in after.items():
        if name not in before:
            changed[name] = value
        elif before[name] != value:
            both = isinstance(value, dict) and isinstance(before[name], dict)
            changed[name] = _changed(before[name], value, (*path, name), whole) if both else value
    return changed
