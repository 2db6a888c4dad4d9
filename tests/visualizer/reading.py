"""Reads frames as `docs/http-api.md` describes, independently of the page's code and the server's.

Tests compare both with it.
"""

from __future__ import annotations

import copy
from typing import Any

CELL_COLUMNS = ("kind", "producer", "number", "size", "snapshot")


def unpacked(packed: list[Any]) -> list[int | None]:
    values, last = [], 0
    for item in packed:
        difference, times = item if isinstance(item, list) else (item, 1)
        for _ in range(times):
            last += difference or 0
            values.append(None if difference is None else last)
    return values


def rows_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(table["count"])]
    for name, packed in table["columns"].items():
        for row, value in zip(rows, unpacked(packed)):
            if value is not None:
                row[name] = table["names"][value] if name in table["texts"] else value
    return rows


def changed(view: dict[str, Any], changes: dict[str, Any], whole: list[list[str]]) -> dict[str, Any]:
    if [] in whole:
        return changes
    view = copy.deepcopy(view)
    for path in whole:
        at = view
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = None
    _put(view, changes)
    return view


def _put(view: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(view.get(name), dict):
            _put(view[name], value)
        else:
            view[name] = value


class FrameReader:
    """Frames in order, with lists unpacked and the view always whole."""

    def __init__(self) -> None:
        self._view: dict[str, Any] = {}

    def read(self, frame: dict[str, Any]) -> dict[str, Any]:
        self._view = (
            frame["view"] if frame["snapshot"] else changed(self._view, frame["changes"], frame["whole"])
        )
        points: list[list[Any]] = [[at_us, {}] for at_us in unpacked(frame["forecast"]["at_us"])]
        for name, peer, packed in frame["forecast"]["curves"]:
            for point, value in zip(points, unpacked(packed)):
                if value is not None:
                    point[1].setdefault(name, {})[peer] = value
        return {
            **frame,
            "view": self._view,
            "cells": {
                where: {**block, **{name: unpacked(block[name]) for name in CELL_COLUMNS}}
                for where, block in frame["cells"].items()
            },
            "flights": [
                {**flight, "due_us": flight["sent_us"] + flight["travel_us"]}
                for flight in rows_of(frame["flights"])
            ],
            "flights_total": {
                f"{one['from']} -> {one['to']}": one["count"] for one in rows_of(frame["flights_total"])
            },
            "rows": rows_of(frame["rows"]),
            "kept": rows_of(frame["kept"]),
            "forecast": points,
        }
