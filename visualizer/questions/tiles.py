"""Tiles: pieces of 512 cells of a topic's log, at any scale, for the parts shown in detail.

Rules: level 0 has one cell per entry. Level k has one cell for 4^k entries, with counts per kind. A log only
grows, so a full tile never changes on its branch and is cached. Higher levels are added up from the four
tiles below, one piece of the log per slice. Kinds are as in `docs/http-api.md`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualizer.labs.session import Session
    from visualizer.labs.work import Work


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


CELLS = 512
"""Cells of a tile."""

PARTS = 4
"""Cells of one level that are one cell of the next."""


COLUMNS = ("kind", "producer", "number", "size", "snapshot")
"""Columns of cells in a tile of level 0."""


def tile(session: Session, cluster: str, topic: str, level: int, index: int) -> Work:
    """One tile as the page gets it. A `full` one never changes."""
    span = CELLS * PARTS**level
    log = session.world.cells(cluster, topic, 0, 0)  # no cells, only the log's first position and length
    length, first = log["length"], index * span
    # A tile that trimming has reached is not full, since an older answer had more of it.
    full = log["first"] <= first and first + span <= length
    head = {
        "level": level,
        "index": index,
        "first": first,
        "span": PARTS**level,
        "length": length,
        "full": full,
    }
    if level == 0:
        return _cells_of(session, cluster, topic, first, head)
    counts = yield from _counts(session, cluster, topic, level, index, log)
    return {**head, "counts": {str(kind): values for kind, values in sorted(counts.items())}}


def absent_tile(level: int, index: int) -> dict[str, Any]:
    """The tile of a topic that does not exist at the instant shown.

    A page asks for what its last frame showed. The lab may have moved since then to an instant before the
    topic was created or after it was deleted.
    """
    span = PARTS**level
    head = {"level": level, "index": index, "first": index * CELLS * span, "span": span}
    return {**head, "length": 0, "full": False} | (
        {name: [] for name in COLUMNS} | {"names": {}} if level == 0 else {"counts": {}}
    )


def _cells_of(session: Session, cluster: str, topic: str, first: int, head: dict[str, Any]) -> dict[str, Any]:
    """A tile of level 0. Trimmed entries are filled with -1."""
    cells = session.world.cells(cluster, topic, first, CELLS)
    trimmed = min(CELLS, max(0, cells["first"] - first))
    columns = {name: [-1] * trimmed + cells[name][: CELLS - trimmed] for name in COLUMNS}
    return {**head, **columns, "names": cells["names"]}


def _counts(session: Session, cluster: str, topic: str, level: int, index: int, log: dict[str, Any]) -> Work:
    """Counts per kind of one tile of level 1 or higher."""
    span = CELLS * PARTS**level
    if index * span >= log["length"]:
        return {}
    key = (session.world.branch, cluster, topic, level, index)
    kept = session.tiles.get(key)
    if kept is not None:
        return kept
    counts: Counts = {}
    for part in range(PARTS):
        at = PARTS * index + part
        if level == 1:
            below = _entries(session, cluster, topic, at)
            yield None
        else:
            below = _added_up((yield from _counts(session, cluster, topic, level - 1, at, log)))
        offset = part * CELLS // PARTS
        for kind, values in below.items():
            counts.setdefault(kind, [0] * CELLS)[offset : offset + CELLS // PARTS] = values
    if log["first"] <= index * span and (index + 1) * span <= log["length"]:
        session.tiles.put(key, counts)
    return counts


def _entries(session: Session, cluster: str, topic: str, index: int) -> Counts:
    """The 512 entries of one level-0 tile, counted in groups of four."""
    first = index * CELLS
    cells = session.world.cells(cluster, topic, first, CELLS)
    counts: Counts = {}
    # the answer begins after the trimmed cells, and ends as many cells later
    trimmed = min(CELLS, max(0, cells["first"] - first))
    own = enumerate(cells["kind"][: CELLS - trimmed], trimmed)
    for (cell, kind), count in Counter((at // PARTS, kind) for at, kind in own).items():
        counts.setdefault(kind, [0] * (CELLS // PARTS))[cell] = count
    return counts


def _added_up(counts: Counts) -> Counts:
    """Add up 512 cells to 128 cells of the next level."""
    return {
        kind: [sum(values[at : at + PARTS]) for at in range(0, CELLS, PARTS)]
        for kind, values in counts.items()
    }
