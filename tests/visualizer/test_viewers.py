"""Tests of a slow page.

Which frames it gets and misses, which notices it gets; and an older page, which answers each frame.
"""

from __future__ import annotations

import json

from visualizer.live.frames import Frame
from visualizer.live.viewers import FRAMES_AHEAD, SEEN_EVERY, TEXTS_WAITING, Viewer


def frame(number: int, snapshot: bool = False, epoch: int = 1) -> Frame:
    return Frame(
        epoch,
        number,
        snapshot,
        json.dumps({"type": "frame", "epoch": epoch, "number": number, "snapshot": snapshot}),
    )


def sent(viewer: Viewer) -> list[dict]:
    """Everything that waits, as the socket would take it."""
    texts = []
    while (text := viewer.take_text()) is not None:
        texts.append(json.loads(text))
    return texts


def test_a_new_viewer_starts_from_a_snapshot():
    viewer = Viewer(1)
    assert viewer.wants_snapshot
    viewer.offer(frame(4))
    viewer.offer(frame(5, snapshot=True))
    viewer.offer(frame(6))
    assert [message["number"] for message in sent(viewer)] == [5, 6]
    assert not viewer.wants_snapshot


def test_a_page_that_keeps_up_misses_nothing():
    viewer = Viewer(1)
    viewer.offer(frame(1, snapshot=True))
    numbers = []
    for number in range(2, 500):
        viewer.offer(frame(number))
        numbers.extend(message["number"] for message in sent(viewer))
        viewer.saw(1, number - 1)
    assert numbers == list(range(1, 500))
    assert viewer.missed_total == viewer.lagged_count == 0


def test_a_page_that_falls_behind_is_notified_of_what_it_missed_and_starts_over():
    viewer = Viewer(1)
    viewer.offer(frame(1, snapshot=True))
    for number in range(2, FRAMES_AHEAD + 11):
        viewer.offer(frame(number))
    assert len(sent(viewer)) == FRAMES_AHEAD, "no more than that is on its way"
    viewer.saw(1, FRAMES_AHEAD - SEEN_EVERY)
    assert not viewer.wants_snapshot, "more frames are on their way than a page keeps without an answer"
    viewer.offer(frame(FRAMES_AHEAD + 11))
    viewer.saw(1, FRAMES_AHEAD - SEEN_EVERY + 1)
    assert viewer.wants_snapshot
    viewer.offer(frame(FRAMES_AHEAD + 12, snapshot=True))
    assert sent(viewer) == [
        {"type": "lagged", "missed": 11},
        {"type": "frame", "epoch": 1, "number": FRAMES_AHEAD + 12, "snapshot": True},
    ]
    assert viewer.missed_total == 11 and viewer.lagged_count == 1


def test_seen_of_the_newest_frame_counts_for_all_before_and_unknown_ones_are_ignored():
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


def test_a_page_that_takes_nothing_is_closed_and_its_buffer_freed():
    viewer = Viewer(1)
    for number in range(TEXTS_WAITING + 10):
        viewer.say({"type": "viewers", "count": number})
    assert sent(viewer) == [{"type": "bye", "reason": "This page has stopped reading."}]
    assert viewer.closing


def test_a_page_that_answers_every_tenth_frame_misses_nothing_wherever_it_starts():
    for begin in range(1, SEEN_EVERY + 1):
        viewer = Viewer(1)
        viewer.offer(frame(1, snapshot=True))
        taken = []
        for number in range(2, 300):
            viewer.offer(frame(number))
            taken.extend(message["number"] for message in sent(viewer))
            if number % SEEN_EVERY == begin % SEEN_EVERY:
                viewer.saw(1, number)
        assert taken == list(range(1, 300)) and viewer.lagged_count == 0


def test_a_slow_page_that_answers_every_tenth_frame_recovers_wherever_it_starts():
    """Its last answer may be up to nine frames old when the server stops: no other message would tell the
    server that it is done.
    """
    for begin in range(1, SEEN_EVERY + 1):
        viewer = Viewer(1)
        viewer.offer(frame(1, snapshot=True))
        for number in range(2, FRAMES_AHEAD + 20):
            viewer.offer(frame(number))
        received = [message["number"] for message in sent(viewer)]
        assert len(received) == FRAMES_AHEAD
        for number in received[begin - 1 :: SEEN_EVERY]:
            viewer.saw(1, number)
        assert viewer.wants_snapshot
        viewer.offer(frame(FRAMES_AHEAD + 20, snapshot=True))
        assert [message["type"] for message in sent(viewer)] == ["lagged", "frame"]
        for number in range(FRAMES_AHEAD + 21, 2 * FRAMES_AHEAD + 40):
            viewer.offer(frame(number))
        assert len(sent(viewer)) < FRAMES_AHEAD, "what it had not answered still counts"


def test_an_older_page_that_answers_each_frame_is_served_as_before():
    viewer = Viewer(1)
    viewer.offer(frame(1, snapshot=True))
    for number in range(2, FRAMES_AHEAD + 5):
        viewer.offer(frame(number))
    for message in sent(viewer):
        viewer.saw(message["epoch"], message["number"])
    assert viewer.wants_snapshot and viewer.lagged_count == 1
