"""Builds a lab's frames: what changed since the last one, encoded once for every viewer.

Rules: a frame holds only what does not depend on a viewer. An ordinary frame fits `FRAME_BYTES`: it is thinned in the
order of `_thin` until it does, and says `sampled`. A snapshot frame is what a page can start from. Building one looks at
the world and never changes the run. Numbers count from 1 in each epoch; the epoch is given by the lab's session.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from visualizer.wire import encode

MOVING_THINGS = 500
"""Messages and markers in flight in one frame: what a screen can show."""

FRAME_BYTES = 32 * 1024
"""An ordinary frame: 50 viewers at 20 frames a second are 33 MB/s at most."""

SNAPSHOT_CELLS, SNAPSHOT_ROWS = 400, 300
"""What a page starts from, per topic and in all; older ones it fetches as tiles and rows."""

FRAME_CELLS, FRAME_ROWS = 400, 200
"""What one ordinary frame may bring; beyond that the newest, and `sampled`."""

FORECASTS_KEPT = 3000
"""Points of the risk curve kept per branch: five minutes at one in 100 ms."""

FORECASTS_SENT = 600
"""Points in a snapshot frame."""


@dataclass(frozen=True, slots=True)
class Frame:
    epoch: int
    number: int
    snapshot: bool
    text: str


@dataclass(frozen=True, slots=True)
class Playing:
    """What the frame says of the playback itself."""

    playing: bool
    speed: float
    busy: dict[str, Any] | None = None


class FrameMaker:
    """The frames of one lab, in order. Remembers what the last one held."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.epoch = 0
        self.number = 0
        self._lengths: dict[str, int] = {}
        self._seq = 0
        self._forecasts: dict[int, deque[tuple[int, dict[str, Any]]]] = {}
        self._unsent: list[tuple[int, dict[str, Any]]] = []
        self._level = 0
        self._last: dict[str, Any] = {}

    def begin_epoch(self, epoch: int) -> None:
        """After a seek or a new branch: the next frame is number 1 and a snapshot."""
        self.epoch, self.number = epoch, 0
        self._unsent.clear()

    def note_forecast(self, forecasts: dict[str, Any]) -> None:
        """Keep the present forecasts, `{subscription: {"to": {peer: figures}}}`, as a point of the risk curve: in order of time, once per instant."""
        curve = self._forecasts.setdefault(self.world.branch, deque(maxlen=FORECASTS_KEPT))
        at_us = self.world.now_us
        if curve and at_us <= curve[-1][0]:
            return
        point = (at_us, {name: {peer: figures["duplicates"] for peer, figures in forecast["to"].items()} for name, forecast in forecasts.items() if forecast})
        curve.append(point)
        self._unsent.append(point)

    def next(self, playing: Playing, with_snapshot: bool) -> tuple[Frame, Frame | None]:
        """The next frame for everyone and, when asked for or when the epoch is new, the snapshot of the same instant."""
        self.number += 1
        view = self.world.view()
        self.note_forecast(view["forecast"])
        head = self._head(view, playing)
        flights, totals = self.world.flights(MOVING_THINGS)
        flying = {"flights": flights, "flights_total": totals}
        snapshot = None
        if with_snapshot or self.number == 1:
            snapshot = self._snapshot(head, flying)
        frame = snapshot if self.number == 1 and snapshot else self._ordinary(head, flying)
        self._seq = self.world.seq
        self._lengths = {where: topic["length"] for where, topic in _topics(view)}
        self._unsent.clear()
        self._last = head
        return frame, snapshot

    def busy(self, playing: Playing) -> Frame | None:
        """A frame that changes nothing but says what the lab is doing; it belongs to the epoch that pages see, also when
        the next one (a seek's) is begun already. None before the very first frame."""
        if not self._last:
            return None
        self._last["number"] += 1
        if self._last["epoch"] == self.epoch:
            self.number = self._last["number"]
        head = {**self._last, "playing": playing.playing, "speed": playing.speed, "busy": playing.busy}
        return Frame(head["epoch"], head["number"], False, encode({**head, "cells": {}, "flights": [], "flights_total": {}, "rows": [], "forecast": [], "sampled": True}))

    def _head(self, view: dict[str, Any], playing: Playing) -> dict[str, Any]:
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
            "busy": playing.busy,
            "view": view,
        }

    def _snapshot(self, head: dict[str, Any], flying: dict[str, Any]) -> Frame:
        cells = {}
        for where, topic in _topics(head["view"]):
            first = max(0, topic["length"] - SNAPSHOT_CELLS)
            cells[where] = self._cells(where, first, topic["length"])
        curve = list(self._forecasts.get(self.world.branch, ()))
        text = encode(
            {
                **head,
                "snapshot": True,
                "cells": cells,
                **flying,
                "rows": self._newest_control_rows(0, SNAPSHOT_ROWS),
                "forecast": curve[-FORECASTS_SENT:],
                "branches": self.world.branches,
                "sampled": len(curve) > FORECASTS_SENT,
            }
        )
        return Frame(self.epoch, self.number, True, text)

    def _ordinary(self, head: dict[str, Any], flying: dict[str, Any]) -> Frame:
        cells, sampled = {}, False
        for where, topic in _topics(head["view"]):
            first = self._lengths.get(where, 0)
            if topic["length"] > first:
                newest = max(first, topic["length"] - FRAME_CELLS)
                sampled |= newest > first
                cells[where] = self._cells(where, newest, topic["length"])
        rows = self._newest_control_rows(self._seq, FRAME_ROWS + 1)
        if len(rows) > FRAME_ROWS:
            rows, sampled = rows[1:], True
        frame = {**head, "cells": cells, **flying, "rows": rows, "forecast": list(self._unsent), "sampled": sampled}
        return Frame(self.epoch, self.number, False, self._fitted(frame))

    def _fitted(self, frame: dict[str, Any]) -> str:
        """Thinned as far as needed; starts one step below what the last frame needed, as the next is much like it."""
        level = max(0, self._level - 1)
        while True:
            text = encode(_thin(frame, level))
            if len(text.encode()) <= FRAME_BYTES or level == DEEPEST_THINNING:
                self._level = level
                return text
            level += 1

    def _cells(self, where: str, first: int, length: int) -> dict[str, Any]:
        cluster, topic = where.split("/", 1)
        return self.world.cells(cluster, topic, first, length - first)

    def _newest_control_rows(self, first: int, most: int) -> list[dict[str, Any]]:
        """The newest `most` control rows from seq `first` on, found in stretches that grow backwards."""
        end, span, found = self.world.seq, 1024, []
        start = end
        while start > first and len(found) < most:
            start, stop = max(first, start - span), start
            found = self.world.trace.rows(start, stop, control_only=True) + found
            span *= 4
        return found[-most:]


DEEPEST_THINNING = 4


def _thin(frame: dict[str, Any], level: int) -> dict[str, Any]:
    """The frame with less in it. Level 0 is all; each further one gives up more of what a page can do without or fetch."""
    if level == 0:
        return frame
    flights = frame["flights"]
    keep_flights = max(1, MOVING_THINGS >> (2 * level))
    if len(flights) > keep_flights:
        step = len(flights) / keep_flights
        flights = [flights[int(index * step)] for index in range(keep_flights)]
    most = 160 >> (2 * level)
    cells = {where: _newest_cells(block, most) for where, block in frame["cells"].items()}
    return {
        **frame,
        "view": _thin_view(frame["view"], most),
        "cells": cells,
        "flights": flights,
        "rows": frame["rows"][-most:] if most else [],
        "forecast": frame["forecast"][-1:],
        "sampled": True,
    }


def _newest_cells(block: dict[str, Any], most: int) -> dict[str, Any]:
    dropped = max(0, len(block["kind"]) - most)
    if not dropped:
        return block
    columns = {name: block[name][dropped:] for name in ("kind", "producer", "number", "size", "snapshot")}
    return {**block, **columns, "first": block["first"] + dropped}


def _thin_view(view: dict[str, Any], most: int) -> dict[str, Any]:
    """The view with shorter lists: ranges, messages in hand, ledgers, cached snapshots. Totals stay."""
    clusters = {}
    for name, cluster in view["clusters"].items():
        topics = {}
        for topic_name, topic in cluster["topics"].items():
            subscriptions = {key: _thin_subscription(value, most) for key, value in topic["subscriptions"].items()}
            topics[topic_name] = {**topic, "ledgers": topic["ledgers"][-min(most, 5) :] if most else [], "subscriptions": subscriptions}
        clusters[name] = {**cluster, "topics": topics}
    return {**view, "clusters": clusters}


def _thin_subscription(subscription: dict[str, Any], most: int) -> dict[str, Any]:
    consumers = {name: {**consumer, "in_hand": consumer["in_hand"][:most]} for name, consumer in subscription["consumers"].items()}
    cache = subscription["cache"][-most:] if most else []
    return {**subscription, "ranges": subscription["ranges"][:most], "cache": cache, "consumers": consumers}


def _topics(view: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(`cluster/topic`, its view) of every topic, in order."""
    return [(f"{cluster}/{name}", topic) for cluster, content in view["clusters"].items() for name, topic in content["topics"].items()]
