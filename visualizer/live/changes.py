"""What changed from one view to the next, so that a frame need not repeat what stands still.

Rules: an object with the same names in the same order, or with more of them at its end, is compared name by
name; one whose names changed otherwise is given whole, with its path, so that order stays the view's; all
else is replaced. `static/js/model/changes.js` puts changes into a view; frames of an epoch have no holes, so
this adds up.
"""

from __future__ import annotations

from typing import Any

View = dict[str, Any]


def changes(before: View, after: View) -> tuple[View, list[list[str]]]:
    """(what is other, nested as in the view; paths of the objects in it that are whole) leading from
    `before` to `after`.
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
