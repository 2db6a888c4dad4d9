"""Tiles of a log whose beginning was trimmed: cells keep their place."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from visualizer.questions.tiles import CELLS, TileCache, tile

LENGTH = 3000


class Log:
    """A world with one log of messages of kind 0, trimmed below `kept`.

    Answers `cells` as the engine does.
    """

    def __init__(self, kept: int) -> None:
        self.kept, self.branch = kept, 0

    def cells(self, cluster: str, topic: str, first: int, count: int) -> dict:
        first = max(first, self.kept)
        shown = max(0, min(first + count, LENGTH) - first)
        columns = {name: [0] * shown for name in ("kind", "producer", "number", "size", "snapshot")}
        return {"first": first, "length": LENGTH, "names": [], **columns}


def tile_of(kept: int, level: int, index: int) -> dict:
    work = tile(SimpleNamespace(world=Log(kept), tiles=TileCache()), "a", "orders", level, index)
    while True:
        try:
            next(work)
        except StopIteration as stop:
            return stop.value


@pytest.mark.parametrize("kept", [0, 1, 100, 512, 700, LENGTH])
@pytest.mark.parametrize("index", [0, 1, 5, 9])
def test_entries_keep_their_place_whatever_was_trimmed(kept, index):
    shown = tile_of(kept, 0, index)
    first = index * CELLS
    expected = [-1 if at < kept else 0 for at in range(first, min(first + CELLS, max(LENGTH, first)))]
    assert shown["kind"] == expected or (kept >= first + CELLS and shown["kind"] == [-1] * CELLS)
    assert shown["full"] is (kept <= first and first + CELLS <= LENGTH)


@pytest.mark.parametrize("kept", [0, 3, 512, 1500])
@pytest.mark.parametrize("level", [1, 2])
def test_counts_cover_only_entries_still_kept(kept, level):
    counts = tile_of(kept, level, 0)["counts"].get("0", [0] * CELLS)
    span = 4**level
    assert counts == [
        len([at for at in range(cell * span, cell * span + span) if kept <= at < LENGTH])
        for cell in range(CELLS)
    ]
