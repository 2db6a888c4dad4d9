"""Builds a lab's frames: what changed since the last one, encoded once for every viewer.

Rules: a frame holds only what does not depend on a viewer. An ordinary frame holds the changes and fits
`FRAME_BYTES`: it is thinned until it does, and is marked `sampled`. A page can start from a snapshot frame,
which shows the same view as the ordinary frame of the same number. Building one reads the world and never
changes the run. Numbers count from 1 in each epoch. The lab's session sets the epoch. Frames of a lab that
plays fast leave out rows, cells and points. Once it is paused every page gets a snapshot frame, so that all
pages hold the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.registry import CODE
from visualizer.live.packing import packed, table
from visualizer.live.wire import encode
from visualizer.questions.curve import Point, RiskCurves, packed_points
from visualizer.questions.rows import SEARCHED_ROWS, rows_at

if TYPE_CHECKING:
    from simulator.system.live_rows import Kept
    from visualizer.labs.work import Work


View = dict[str, Any]


def changes(before: View, after: View) -> tuple[View, list[list[str]]]:
    """The changes that lead from the view `before` to `after`.

    Returns (what differs, nested as in the view; paths of the objects in it that are whole).

    Rules: an object with the same names in the same order, or with more of them at its end, is compared name
    by name. An object whose names changed otherwise is sent whole, with its path, so that the view's order is
    kept. Any other value is replaced. `static/js/model/reduce.js` applies changes to a view. Frames of an
    epoch are consecutive, so the changes add up.
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


LOOKED_BACK_ROWS = 1_000_000
"""Rows before the instant in which the newest of a class are searched.

Reading their columns takes about 10 ms in all.
"""


class KeptRows:
    """The newest rows of each class before one row of a trace.

    They depend on branch and instant alone. Rules: a class is a set of event types and a number of rows,
    declared by the lab's protocol. `welcome` sends the page the same table, and the page cuts its lists to
    the same length. So a page that received every frame since the first holds what a snapshot frame contains
    (a test compares them).
    """

    def __init__(self, classes: Kept) -> None:
        self._classes = classes
        self._class_of = {one: name for name, (types, _most) in classes.items() for one in types}
        self._lists: dict[str, list[dict[str, Any]]] = {name: [] for name in classes}

    def all(self) -> list[dict[str, Any]]:
        """The rows of every class in the order of the trace."""
        return sorted((row for rows in self._lists.values() for row in rows), key=lambda row: row["seq"])

    def add(self, trace: Any, first: int, last: int) -> list[dict[str, Any]]:
        """Add the rows `first` <= seq < `last`, which follow those already added.

        Returns the new rows that are kept, in order.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        for seq in trace.seqs(first, last, types=self._class_of):
            row = trace.row(seq)
            found.setdefault(self._class_of[row["type"]], []).append(row)
        for name, rows in found.items():
            most = self._classes[name][1]
            self._lists[name] = (self._lists[name] + rows)[-most:]
            del rows[:-most]
        return sorted((row for rows in found.values() for row in rows), key=lambda row: row["seq"])

    def look_back(self, trace: Any, end: int) -> Work:
        """Find the newest rows of each class before row `end`, from the newest backwards, in slices."""
        found: dict[str, list[int]] = {name: [] for name in self._classes}
        codes = {
            name: np.array([CODE[one] for one in types]) for name, (types, _most) in self._classes.items()
        }
        first, oldest = end, max(0, end - LOOKED_BACK_ROWS)
        while first > oldest and any(
            len(found[name]) < most for name, (_types, most) in self._classes.items()
        ):
            first, last = max(oldest, first - SEARCHED_ROWS), first
            types_here = trace.columns(first, last, names=("type",))["type"]
            for name, (_types, most) in self._classes.items():
                if len(found[name]) < most:
                    found[name] = (
                        (first + np.flatnonzero(np.isin(types_here, codes[name]))).tolist() + found[name]
                    )[-most:]
            yield None
        for name, seqs in found.items():
            self._lists[name] = yield from rows_at(trace, seqs)


# --- thins a frame that would be too long, in steps: less detail on everything instead of none on most
#
# Rules: level 0 keeps everything. With each further level the changes of clusters, and of the streams and
# sessions of groups, are sent half as often, in turns. New ones are sent in part now and the rest later, in
# order. From level 2 on a quarter of every list is kept. Totals are kept, so a page can show how much is
# left out, and `sampled` marks the frame.


DEEPEST = 5
"""The highest level.

Lists are nearly empty, and one of sixteen clusters is sent at a time, so the rest fits.
"""

LONGEST_LIST = 2560
"""Items of a list at level 0, above every bound of the view's lists. At level 1 the bound is 640."""


def most_at(level: int) -> int:
    """How many items of a list a level keeps."""
    return LONGEST_LIST >> (2 * level)


def in_turns(view: dict[str, Any], before: dict[str, Any], level: int, number: int) -> dict[str, Any]:
    """The view with only each 2^level-th cluster and its forecasts updated.

    The others stay as shown before; their changes are sent later. The same holds for streams and sessions of
    groups.
    """
    every = 1 << level

    def turns(after: dict[str, Any], shown: dict[str, Any]) -> dict[str, Any]:
        fresh, found = most_at(level), {}
        for place, (name, one) in enumerate(after.items()):
            if name in shown:
                found[name] = shown[name] if (place + number) % every else one
            elif fresh:
                found[name] = one
                fresh -= 1
            else:
                break
        return found

    thinned = {
        **view,
        "clusters": turns(view["clusters"], before["clusters"]),
        "forecast": before["forecast"] if number % every else view["forecast"],
    }
    if "groups" not in view:
        return thinned
    groups = {
        name: _group(group, before["groups"].get(name), turns) for name, group in view["groups"].items()
    }
    return {
        **thinned,
        "groups": groups,
        "streams": turns(view["streams"], before["streams"]),
        "sessions": turns(view["sessions"], before["sessions"]),
    }


def _group(
    group: dict[str, Any], before: dict[str, Any] | None, turns: Callable[[dict, dict], dict]
) -> dict[str, Any]:
    if before is None:
        return group
    leaders = {
        number: {**leader, "streams": turns(leader["streams"], before["leaders"][number]["streams"])}
        if number in before["leaders"]
        else leader
        for number, leader in group["leaders"].items()
    }
    return {**group, "streams": turns(group["streams"], before["streams"]), "leaders": leaders}


def evenly(items: list[Any], most: int) -> list[Any]:
    """At most `most` of the items (one at least), evenly spaced."""
    most = max(1, most)
    return items if len(items) <= most else [items[place * len(items) // most] for place in range(most)]


def newest(items: list[Any], most: int) -> list[Any]:
    return items[-most:] if most else []


def newest_cells(block: dict[str, Any], most: int) -> dict[str, Any]:
    """The block of `World.cells` without its older cells."""
    dropped = max(0, len(block["kind"]) - most)
    if not dropped:
        return block
    columns = {name: block[name][dropped:] for name in ("kind", "producer", "number", "size", "snapshot")}
    return {**block, **columns, "first": block["first"] + dropped}


def thin_view(view: dict[str, Any], level: int) -> dict[str, Any]:
    """The view with shorter lists.

    They are ranges, messages delivered but not acked, ledgers, cached snapshots, violations and failovers.
    """
    most = most_at(level)
    clusters = {
        name: {**cluster, "topics": {key: _topic(topic, most) for key, topic in cluster["topics"].items()}}
        for name, cluster in view["clusters"].items()
    }
    return {
        **view,
        "clusters": clusters,
        "violations": view["violations"][:most],
        "failovers": newest(view["failovers"], most),
    }


def _topic(topic: dict[str, Any], most: int) -> dict[str, Any]:
    subscriptions = {
        name: _subscription(subscription, most) for name, subscription in topic["subscriptions"].items()
    }
    return {**topic, "ledgers": newest(topic["ledgers"], most), "subscriptions": subscriptions}


def _subscription(subscription: dict[str, Any], most: int) -> dict[str, Any]:
    consumers = {
        name: {**consumer, "unacked": consumer["unacked"][:most]}
        for name, consumer in subscription["consumers"].items()
    }
    return {
        **subscription,
        "ranges": subscription["ranges"][:most],
        "cache": newest(subscription["cache"], most),
        "consumers": consumers,
    }


MOVING_THINGS = 500
"""Messages and markers in flight in one frame, which is as many as a screen can show."""

FRAME_BYTES = 32 * 1024
"""Largest ordinary frame. 50 viewers at 20 frames a second receive 33 MB/s at most."""

SNAPSHOT_CELLS, SNAPSHOT_ROWS = 400, 300
"""Cells per topic, and rows in all, of a snapshot frame. A page fetches older ones as tiles and rows."""

FRAME_CELLS, FRAME_ROWS = 400, 200
"""Cells and rows of one ordinary frame. Beyond that it has the newest, and `sampled` is set."""

CELL_COLUMNS = ("kind", "producer", "number", "size", "snapshot")
"""Columns of `World.cells`."""

FORECASTS_SENT = 800
"""Points of the risk curve in a snapshot frame, which is as many as a page holds.

A page requests older points separately (`visualizer/questions/curve.py`).
"""


JUDGED_EVERY_US = 1_000_000
"""While a lab plays, its claims are evaluated up to the last multiple of this.

For the few rows of each frame that would cost more than the rest of the frame.
"""


@dataclass(frozen=True, slots=True)
class Frame:
    epoch: int
    number: int
    snapshot: bool
    text: str


@dataclass(frozen=True, slots=True)
class Playing:
    """The state of the playback in a frame."""

    playing: bool
    speed: float
    busy: dict[str, Any] | None = None
    reached: float | None = None  # the speed that the last second really had


class FrameMaker:
    """Builds the frames of one lab, in order, and remembers what the last one held."""

    def __init__(self, world: Any, curves: RiskCurves) -> None:
        self.world = world
        self.curves = curves
        self.epoch = 0
        self.number = 0
        self._lengths: dict[str, int] = {}
        self._seq = 0
        self._kept: KeptRows | None = None  # None: to be found at the world's instant
        self._shown_us = 0  # the instant of the last frame
        self._level = 0
        self._repeats = 0  # frames since the world moved
        self._left_out = False  # whether rows, cells or points are missing since the last snapshot to all
        self._head: dict[str, Any] = {}  # of the last frame
        self._view: dict[str, Any] = {}  # as the last frame showed it

    def begin_epoch(self, epoch: int) -> None:
        """Begin an epoch after a seek or a new branch: the next frame is number 1 and a snapshot."""
        self.epoch, self.number = epoch, 0
        self._kept = None

    def prepare(self) -> Work:
        """Find the kept rows that the next frame needs, in slices.

        There is nothing to do while frames follow one another.
        """
        if self._kept is None:
            kept = KeptRows(self.world.protocol.live.all_kept())
            yield from kept.look_back(self.world.trace, self.world.seq)
            self._kept, self._seq = kept, self.world.seq

    def next(self, playing: Playing, with_snapshot: bool) -> tuple[Frame, Frame | None]:
        """The next frame for every viewer, and a snapshot of the same instant where one is needed.

        A snapshot is built when it is requested or when the epoch is new.
        """
        for _ in self.prepare():
            pass
        self.number += 1
        view = self.world.view(
            self.world.now_us // JUDGED_EVERY_US * JUDGED_EVERY_US if playing.playing else None
        )
        head = self._heading(view, playing)
        kept = self.kept_rows.add(self.world.trace, self._seq, self.world.seq)
        flights, totals = self.world.flights(MOVING_THINGS)
        snapshot: Frame | None
        if self.number == 1 or (self._left_out and not playing.playing):
            shown, self._level, self._left_out = view, 0, False
            frame = snapshot = self._snapshot(head, shown, flights, totals)
        else:
            text, shown = self._ordinary(head, view, flights, totals, kept)
            frame = Frame(self.epoch, self.number, False, text)
            snapshot = self._snapshot(head, shown, flights, totals) if with_snapshot else None
        self._repeats = self._repeats + 1 if self._seq == self.world.seq else 0
        self._seq = self.world.seq
        self._lengths = {where: topic["length"] for where, topic in _topics(view)}
        self._shown_us = view["at_us"]
        self._head, self._view = head, shown
        return frame, snapshot

    @property
    def kept_rows(self) -> KeptRows:
        """The kept rows that every page holds, found by `prepare`."""
        assert self._kept is not None
        return self._kept

    @property
    def behind(self) -> bool:
        """Whether further frames are needed to show what the last ones left out.

        That is a snapshot frame, or one turn of the thinned view for each cluster.
        """
        return self._left_out or (self._level > 0 and self._repeats < 1 << DEEPEST)

    def busy(self, playing: Playing) -> Frame | None:
        """A frame that changes nothing but shows what the lab is doing.

        It belongs to the epoch that pages see, also when the next epoch (after a seek) has already begun.
        None before the first frame.
        """
        if not self._head:
            return None
        self._head["number"] += 1
        if self._head["epoch"] == self.epoch:
            self.number = self._head["number"]
        head = {
            **self._head,
            "playing": playing.playing,
            "speed": playing.speed,
            "reached": playing.reached,
            "busy": playing.busy,
        }
        seq = head["seq"]
        nothing = {
            "changes": {},
            "whole": [],
            "cells": {},
            **_flying([], {}),
            "rows": table([]),
            "rows_from": seq,
            "kept": table([]),
            "forecast": packed_points([]),
            "forecast_from_us": head["at_us"],
            "sampled": True,
        }
        return Frame(head["epoch"], head["number"], False, encode({**head, **nothing}))

    def _heading(self, view: dict[str, Any], playing: Playing) -> dict[str, Any]:
        return {
            "type": "frame",
            "epoch": self.epoch,
            "number": self.number,
            "snapshot": False,
            "at_us": view["at_us"],
            "seq": self.world.seq,
            "branch": self.world.branch,
            "playing": playing.playing,
            "speed": playing.speed,
            "reached": playing.reached,
            "busy": playing.busy,
        }

    def _snapshot(
        self,
        head: dict[str, Any],
        view: dict[str, Any],
        flights: list[dict[str, Any]],
        totals: dict[str, int],
    ) -> Frame:
        lengths = {where: topic["length"] for where, topic in _topics(view)}
        points, points_from_us = self.curves.newest(FORECASTS_SENT)
        rows = self._newest_control_rows(0, SNAPSHOT_ROWS)
        rows_from = rows[0]["seq"] if len(rows) == SNAPSHOT_ROWS else 0
        text = encode(
            {
                **head,
                "snapshot": True,
                "view": view,
                "cells": {
                    where: _packed_cells(self._cells(where, max(0, length - SNAPSHOT_CELLS), length))
                    for where, length in lengths.items()
                },
                **_flying(flights, totals),
                "rows": table(rows),
                "rows_from": rows_from,
                "kept": table([row for row in self.kept_rows.all() if row["seq"] < rows_from]),
                "forecast": packed_points(points),
                "forecast_from_us": points_from_us,
                "branches": self.world.branches,
                "sampled": False,
            }
        )
        return Frame(self.epoch, self.number, True, text)

    def _ordinary(
        self,
        head: dict[str, Any],
        view: dict[str, Any],
        flights: list[dict[str, Any]],
        totals: dict[str, int],
        kept: list[dict[str, Any]],
    ) -> tuple[str, dict[str, Any]]:
        """An ordinary frame, thinned as far as needed, beginning one level below the last frame's.

        Returns (the frame's text, the view as it shows it).
        """
        cells, sampled = self._new_cells(view)
        rows, rows_from = self._newest_control_rows(self._seq, FRAME_ROWS + 1), self._seq
        if len(rows) > FRAME_ROWS:
            rows, sampled = rows[1:], True
            rows_from = rows[0]["seq"]
        # includes the point of the last frame, which a command may have changed
        points = self.curves.between(self._shown_us, head["at_us"])
        level = max(0, self._level - 1)
        while True:
            most = most_at(level)
            shown = in_turns(thin_view(view, level), self._view, level, self.number) if level else view
            changed, whole = changes(self._view, shown)
            points_here, from_us = self._newest_points(points, most, head["at_us"])
            brought = newest(rows, most)
            brought_from = (
                rows_from if len(brought) == len(rows) else brought[0]["seq"] if brought else head["seq"]
            )
            content = {
                "changes": changed,
                "whole": whole,
                "cells": {where: _packed_cells(newest_cells(block, most)) for where, block in cells.items()},
                **_flying(evenly(flights, most), totals),
                "rows": table(brought),
                "rows_from": brought_from,
                "kept": table([row for row in kept if row["seq"] < brought_from]),
                "forecast": packed_points(points_here),
                "forecast_from_us": from_us,
                "sampled": sampled or level > 0,
            }
            text = encode({**head, **content})
            if level == DEEPEST or len(text.encode()) <= FRAME_BYTES:
                self._level = level
                self._left_out |= (
                    sampled
                    or len(brought) < len(rows)
                    or len(points_here) < len(points)
                    or any(len(block["kind"]) > most for block in cells.values())
                )
                return text, shown
            level += 1

    def _newest_points(self, points: list[Point], most: int, at_us: int) -> tuple[list[Point], int]:
        """At most so many points of the risk curve, and the instant after which none is missing."""
        shown = newest(points, most)
        if len(shown) == len(points):
            return shown, self._shown_us
        return shown, shown[0][0] if shown else at_us

    def _new_cells(self, view: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The cells since the last frame by log, the newest of each; and whether some were left out."""
        cells, sampled = {}, False
        for where, topic in _topics(view):
            first = self._lengths.get(where, 0)
            if topic["length"] > first:
                newest = max(first, topic["length"] - FRAME_CELLS)
                sampled |= newest > first
                cells[where] = self._cells(where, newest, topic["length"])
        return cells, sampled

    def _cells(self, where: str, first: int, length: int) -> dict[str, Any]:
        cluster, topic = where.split("/", 1)
        return self.world.cells(cluster, topic, first, length - first)

    def _newest_control_rows(self, first: int, most: int) -> list[dict[str, Any]]:
        """The newest `most` control rows from seq `first` on, found in blocks that grow backwards."""
        found: list[dict[str, Any]] = []
        end, span = self.world.seq, 1024
        start = end
        while start > first and len(found) < most:
            start, stop = max(first, start - span), start
            found = self.world.trace.rows(start, stop, control_only=True) + found
            span *= 4
        return found[-most:]


def _topics(view: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(`cluster/topic`, its view) of every topic, in order."""
    return [
        (f"{cluster}/{name}", topic)
        for cluster, content in view["clusters"].items()
        for name, topic in content["topics"].items()
    ]


def _packed_cells(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, **{name: packed(block[name]) for name in CELL_COLUMNS}}


def _flying(flights: list[dict[str, Any]], totals: dict[str, int]) -> dict[str, Any]:
    """The messages and markers in flight.

    Each has its travel time instead of its arrival, since many share the same travel time.
    """
    things = [
        {
            **{name: value for name, value in flight.items() if name != "due_us"},
            "travel_us": flight["due_us"] - flight["sent_us"],
        }
        for flight in flights
    ]
    links: list[dict[str, int | str | None]] = [
        {"from": link.split(" -> ")[0], "to": link.split(" -> ")[1], "count": count}
        for link, count in totals.items()
        if count
    ]
    return {"flights": table(things), "flights_total": table(links)}
