"""The risk curve between two instants, for the part of a long run that a page does not hold.

The answer is bounded however long the run is. Rules: it depends on branch, instant and window alone. Of more
points than `POINTS_SENT` the highest and the lowest of each part of the window are sent, so no peak is left
out.
"""

from __future__ import annotations

from visualizer.labs.session import Session
from visualizer.labs.work import Work
from visualizer.questions.curve import Point, packed_points

POINTS_SENT = 800
"""Most points of an answer: as many as a page holds, two for each few pixels of a wide screen."""


def curve(session: Session, from_us: int, to_us: int) -> Work:
    """The points with from_us <= instant <= to_us, up to the instant shown.

    Returns `{branch, from_us, to_us, count, points}`; `count` is their number before thinning.
    """
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
