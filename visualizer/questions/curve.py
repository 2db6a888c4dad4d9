"""The risk curve of each branch: the cost of a failover at instants that depend on the run alone.

Rules: there is a point at every instant of a grid of simulated time, and after every instant at which a
forecast jumps (an update applied, a cursor opened, a crash, a command). Points are computed when a branch
first runs there, watched or not and however the run is cut into slices, so all viewers see the same ones,
also after a restart. The grid gets coarser with time, so their number is bounded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from simulator.protocols.registry import pattern_of
from visualizer.live.packing import packed
from visualizer.live.wire import LATEST_US
from visualizer.questions.question import Whole, question, require_window

if TYPE_CHECKING:
    from visualizer.labs.session import Session
    from visualizer.labs.work import Work


# --- the risk curve between two instants, for the part of a long run that a page does not hold
#
# The answer is bounded however long the run is. Rules: it depends on branch, instant and window alone. Of
# more points than `POINTS_SENT` the highest and the lowest of each part of the window are sent, so no peak
# is left out.


POINTS_SENT = 800
"""Most points of an answer: as many as a page holds, two for each few pixels of a wide screen."""


@question("curve.json")
def curve(session: Session, from_us: Whole = 0, to_us: Whole = LATEST_US) -> Work:
    """The points of the risk curve with from_us <= instant <= to_us, up to the instant shown.

    Returns `{branch, from_us, to_us, count, points}`; `count` is their number before thinning.
    """
    require_window(from_us, to_us)
    world = session.world
    found = session.risk_curves.between(from_us, min(to_us, world.now_us))
    yield None
    return {
        "branch": world.branch,
        "from_us": from_us,
        "to_us": to_us,
        "count": len(found),
        "points": packed_points(thinned(found, POINTS_SENT)),
    }


def thinned(points: list[Point], most: int) -> list[Point]:
    """Thin the points to at most `most`.

    Of each of `most / 2` parts those with the fewest and with the most forecast duplicates are kept.
    """
    if len(points) <= most:
        return points
    parts = most // 2
    chosen: list[Point] = []
    for part in range(parts):
        here = points[part * len(points) // parts : (part + 1) * len(points) // parts]
        low, high = min(here, key=_duplicates), max(here, key=_duplicates)
        chosen += sorted([low, high], key=lambda point: point[0]) if low is not high else [low]
    return chosen


def _duplicates(point: Point) -> int:
    return sum(figures["duplicates"] for one in point[1].values() for figures in one["to"].values())


GRID_US, FINEST_US = 100_000, 20_000
"""Simulated time between points: at most the first in runs of up to a minute, at least the second."""

FEWEST_POINTS, MOST_POINTS = 100, 600
"""Fewest and most points of the grid up to the scenario's end.

From there on the grid is twice as coarse, and again each time the run has doubled.
"""

JUMPS_PER_STEP = 8
"""Instants between two of the grid that get points of their own.

Further jumps appear at the next instant of the grid.
"""

SHARED_JUMPS = ("command.applied",)
"""Event types of every protocol after which every forecast may jump."""

FIGURES = ("duplicates", "stranded", "lost")

Point = tuple[int, dict[str, dict[str, Any]]]
"""A point: (instant, by subscription `{"to": {peer: figures}, "lag_us": {peer: us}}`)."""


class _Line:
    """The points of one branch, in order of time.

    `seen` is the first row that was not searched for jumps.
    """

    def __init__(self, points: list[Point], seen: int) -> None:
        self.points = points
        self.seen = seen
        self.jumps = 0  # since the last instant of the grid
        self.grid_us = 0  # the last instant of the grid that made points due

    def place_after(self, at_us: int) -> int:
        return bisect_right(self.points, at_us, key=lambda point: point[0])


class RiskCurves:
    """The curves of one lab. `advance` runs its world and stops where points are due."""

    def __init__(self, world: Any, scenario: Any) -> None:
        self.world = world
        self.until_us = scenario.until_us
        live = world.protocol.live
        self._jumps, self._jumps_of_all = live.jumps, (*live.jumps_of_all, *SHARED_JUMPS)
        self._pattern = pattern_of((*self._jumps, *self._jumps_of_all))
        self.grid_us = max(
            self.until_us // MOST_POINTS, min(GRID_US, max(FINEST_US, self.until_us // FEWEST_POINTS))
        )
        self.movable = world.protocol.forecasts.movable(scenario)
        # (instant, subscription) of the points to compute before the world moves; at the beginning all
        self.due = [(0, name) for name in self.movable]
        self._lines = {0: _Line([], world.seq)}

    # --- running

    def advance(self, until_us: int, events: int) -> bool:
        """Run one slice towards an instant, or compute one point that is due; True while more is left."""
        world = self.world
        if self.due:
            self.take_one()
            return bool(self.due) or world.now_us < until_us
        behind = world.now_us < world.furthest_us
        stop_us = (
            min(until_us, world.furthest_us if behind else self.after(world.now_us))
            if self.movable
            else until_us
        )
        if self.movable and world.whole:
            self.look()
            if self.due:
                return True
        line = self._line()
        watching = self.movable and not behind and line.jumps < JUMPS_PER_STEP
        more = world.advance(
            stop_us,
            events,
            (lambda: world.trace.has_any(line.seen, world.seq, self._pattern)) if watching else None,
        )
        if not world.whole:
            return True
        if self.movable:
            self.look()
        if not more and world.now_us < stop_us:  # the branch is full
            return bool(self.due)
        return more or stop_us < until_us or bool(self.due)

    def look(self) -> None:
        """Determine which points are due here, at the front of the branch.

        On an instant of the grid all are due, else only the forecasts that jumped.
        """
        line, world = self._line(), self.world
        all_due = (
            world.now_us > line.grid_us and world.now_us == world.furthest_us and self.on_grid(world.now_us)
        )
        self.due = []
        if line.jumps < JUMPS_PER_STEP and world.trace.has_any(line.seen, world.seq, self._pattern):
            line.jumps += 1
            rows = world.trace.rows(line.seen, world.seq, types=(*self._jumps, *self._jumps_of_all))
            jumped = {row.get("subscription") for row in rows if row["type"] in self._jumps}
            every = any(row["type"] in self._jumps_of_all for row in rows)
            # the clock may be later, at the end of the slice, but nothing has happened since
            at_us = rows[-1]["at_us"]
            self.due = [(at_us, name) for name in self.movable if every or name in jumped]
        if all_due:
            line.jumps, line.grid_us = 0, world.now_us
            self.due = [one for one in self.due if one[0] < world.now_us] + [
                (world.now_us, name) for name in self.movable
            ]
        line.seen = max(line.seen, world.seq)

    def settle(self) -> Iterator[None]:
        """Compute the points that a command made due here, in slices."""
        self.look()
        while self.due:
            self.take_one()
            yield None

    def take_one(self) -> None:
        """Compute one subscription's part of the point at the world's instant."""
        world, points, (at_us, name) = self.world, self._line().points, self.due.pop(0)
        if not points or points[-1][0] < at_us:
            points.append((at_us, {}))
        idle_us = world.now_us - at_us
        to = world.forecast(name)
        lag_us = {
            peer: lag_us and lag_us - idle_us for peer, lag_us in world.sync_lag(name).items() if peer in to
        }
        points[-1][1][name] = {"to": to, "lag_us": lag_us}

    # --- the grid

    def after(self, at_us: int) -> int:
        """The next instant of the grid."""
        width_us = self._width_us(at_us)
        return min((at_us // width_us + 1) * width_us, self._doubles_us(at_us))

    def on_grid(self, at_us: int) -> bool:
        return at_us == self.after(at_us - 1)

    def _width_us(self, at_us: int) -> int:
        return (
            self.grid_us if at_us < self.until_us else self.grid_us << (at_us // self.until_us).bit_length()
        )

    def _doubles_us(self, at_us: int) -> int:
        """The instant after which the grid is coarser."""
        return (
            self.until_us if at_us < self.until_us else self.until_us << (at_us // self.until_us).bit_length()
        )

    # --- reading

    def between(self, from_us: int, to_us: int) -> list[Point]:
        """The branch's points with from_us <= instant <= to_us."""
        line = self._line()
        return line.points[
            bisect_left(line.points, from_us, key=lambda point: point[0]) : line.place_after(to_us)
        ]

    def newest(self, most: int) -> tuple[list[Point], int]:
        """The newest points up to now, at most `most`.

        Returns (points, the instant from which on none is missing: 0 when all are included).
        """
        line = self._line()
        end = line.place_after(self.world.now_us)
        found = line.points[max(0, end - most) : end]
        return found, found[0][0] if end > most else 0

    def columns(self, subscription: str, after_us: int) -> dict[str, Any]:
        """Points of a subscription after an instant up to now, as columns.

        Returns {"at_us": […], "peers": {peer: {"duplicates", "stranded", "lost", "lag_us": […]}}}. A value is
        null where the peer was no remote at that instant (the consumers were there).
        """
        points = [
            (at_us, found[subscription])
            for at_us, found in self.between(after_us + 1 if after_us else 0, self.world.now_us)
            if subscription in found
        ]
        peers = sorted({peer for _, forecast in points for peer in forecast["to"]})
        columns = {
            peer: {
                name: [forecast["to"].get(peer, {}).get(name) for _, forecast in points] for name in FIGURES
            }
            for peer in peers
        }
        for peer in peers:
            columns[peer]["lag_us"] = [forecast["lag_us"].get(peer) for _, forecast in points]
        return {"at_us": [at_us for at_us, _ in points], "peers": columns}

    def _line(self) -> _Line:
        """The points of the current branch. A new one begins with its parent's points before it."""
        world = self.world
        line = self._lines.get(world.branch)
        if line is None:
            described = next(branch for branch in world.branches if branch["number"] == world.branch)
            cut_us, parent = described["at_us"], self._lines[described["parent"]]
            line = self._lines[world.branch] = _Line(
                parent.points[: bisect_left(parent.points, cut_us, key=lambda point: point[0])],
                world.trace.first_after(cut_us - 1),
            )
            line.grid_us = cut_us
        return line


def packed_points(points: list[Point]) -> dict[str, Any]:
    """Points of the risk curve as columns, for a frame.

    Returns {at_us, curves}: their instants, and the duplicates for each subscription and peer.
    """
    nothing: dict[str, Any] = {"to": {}}
    pairs = sorted(
        {(name, peer) for _, values in points for name, one in values.items() for peer in one["to"]}
    )
    columns = [
        [
            name,
            peer,
            packed(values.get(name, nothing)["to"].get(peer, {}).get("duplicates") for _, values in points),
        ]
        for name, peer in pairs
    ]
    return {"at_us": packed(at_us for at_us, _ in points), "curves": columns}
