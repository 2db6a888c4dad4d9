"""What a failover would have cost at each instant that somebody watched: every figure of the forecast, and how far remotes lag.

Rules: points come in order of time, one per instant, as the frames' curve does (they carry duplicates only); the newest
are kept, per branch. Never part of the run: a point is looked at, not decided on.
"""

from __future__ import annotations

from collections import deque
from typing import Any

POINTS_KEPT = 3000
"""Per branch: five minutes at one in 100 ms."""

FIGURES = ("duplicates", "stranded", "lost")


class RiskCurves:
    """The curves of one lab, by branch."""

    def __init__(self) -> None:
        self._points: dict[int, deque[tuple[int, dict[str, Any]]]] = {}

    def note(self, branch: int, at_us: int, forecasts: dict[str, Any]) -> None:
        """Keep `{subscription: {"to": {peer: figures}, "lag_us": {peer: us}}}` as they are at an instant later than the last."""
        self._points.setdefault(branch, deque(maxlen=POINTS_KEPT)).append((at_us, forecasts))

    def columns(self, branch: int, subscription: str, after_us: int) -> dict[str, Any]:
        """Points after an instant as columns: {"at_us": […], "peers": {peer: {"duplicates", "stranded", "lost", "lag_us": […]}}}.

        Null where a peer was no remote at that instant (the consumers were there).
        """
        points = [(at_us, found[subscription]) for at_us, found in self._points.get(branch, ()) if at_us > after_us and subscription in found]
        peers = sorted({peer for _, forecast in points for peer in forecast["to"]})
        columns = {peer: {name: [forecast["to"].get(peer, {}).get(name) for _, forecast in points] for name in FIGURES} for peer in peers}
        for peer in peers:
            columns[peer]["lag_us"] = [forecast["lag_us"].get(peer) for _, forecast in points]
        return {"at_us": [at_us for at_us, _ in points], "peers": columns}
