"""Full tiles of a lab's logs, cached for later requests (`visualizer.questions.tiles`)."""

from __future__ import annotations

from collections import OrderedDict

TILES_KEPT = 4096
"""Most full tiles kept per lab, about 40 MB. The least recently used is dropped first."""

Counts = dict[int, list[int]]
"""The count per cell of each kind."""

Key = tuple[int, str, str, int, int]


class TileCache:
    """Full tiles of levels 1 and up."""

    def __init__(self) -> None:
        self._tiles: OrderedDict[Key, Counts] = OrderedDict()

    def get(self, key: Key) -> Counts | None:
        counts = self._tiles.get(key)
        if counts is not None:
            self._tiles.move_to_end(key)
        return counts

    def put(self, key: Key, counts: Counts) -> None:
        self._tiles[key] = counts
        if len(self._tiles) > TILES_KEPT:
            self._tiles.popitem(last=False)
