"""A slow page: what it gets, what it misses, how it is told."""

from __future__ import annotations

import asyncio
import json

from visualizer.frames import Frame
from visualizer.viewers import FRAMES_AHEAD, TEXTS_WAITING, Viewer


def frame(number: int, snapshot: bool = False, epoch: int = 1) -> Frame:
    return Frame(epoch, number, snapshot, json.dumps({"type": "frame", "epoch": epoch, "number": number, "snapshot": snapshot}))


async def sent(viewer: Viewer) -> list[dict]:
    """Everything that waits, as the socket would take it."""
    texts = []
    while True:
        try:
            async with asyncio.timeout(0.01):
                text = await viewer.next_text()
        except TimeoutError:
            return texts
        if text is None:
            return texts
        texts.append(json.loads(text))


async def test_a_new_viewer_starts_from_a_snapshot():
    viewer = Viewer(1)
    assert viewer.wants_snapshot
    viewer.offer(frame(4))
    viewer.offer(frame(5, snapshot=True))
    viewer.offer(frame(6))
    assert [message["number"] for message in await sent(viewer)] == [5, 6]
    assert not viewer.wants_snapshot


async def test_who_keeps_up_misses_nothing():
    viewer = Viewer(1)
    viewer.offer(frame(1, snapshot=True))
    numbers = []
    for number in range(2, 500):
        viewer.offer(frame(number))
        numbers.append(json.loads(await viewer.next_text() or "")["number"])
        viewer.saw(1, number - 1)
    assert numbers == list(range(1, 499))
    assert viewer.missed_total == viewer.lagged_count == 0


async def test_a_laggard_is_told_what_it_missed_and_starts_over():
    viewer = Viewer(1)
    viewer.offer(frame(1, snapshot=True))
    for number in range(2, FRAMES_AHEAD + 11):
        viewer.offer(frame(number))
    assert len(await sent(viewer)) == FRAMES_AHEAD, "no more than that is on its way"
    viewer.saw(1, FRAMES_AHEAD - 1)
    assert not viewer.wants_snapshot, "it has not seen everything yet"
    viewer.offer(frame(FRAMES_AHEAD + 11))
    viewer.saw(1, FRAMES_AHEAD)
    assert viewer.wants_snapshot
    viewer.offer(frame(FRAMES_AHEAD + 12, snapshot=True))
    assert await sent(viewer) == [
        {"type": "lagged", "missed": 11},
        {"type": "frame", "epoch": 1, "number": FRAMES_AHEAD + 12, "snapshot": True},
    ]
    assert viewer.missed_total == 11 and viewer.lagged_count == 1


async def test_seen_of_the_newest_counts_for_all_before_and_foreign_ones_for_nothing():
    viewer = Viewer(1)
    viewer.offer(frame(1, snapshot=True))
    for number in range(2, FRAMES_AHEAD + 1):
        viewer.offer(frame(number))
    viewer.saw(7, 3)
    viewer.saw(1, 10_000)
    viewer.saw(1, 30)
    for number in range(FRAMES_AHEAD + 1, FRAMES_AHEAD + 31):
        viewer.offer(frame(number))
    assert viewer.lagged_count == 0


async def test_a_page_that_takes_nothing_is_closed_and_its_buffer_let_go():
    viewer = Viewer(1)
    for number in range(TEXTS_WAITING + 10):
        viewer.say({"type": "viewers", "count": number})
    assert await viewer.next_text() == '{"type":"bye","reason":"This page has stopped reading."}'
    assert await viewer.next_text() is None
