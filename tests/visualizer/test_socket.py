"""The socket's conversation: welcome, frames, controls, refusals."""

from __future__ import annotations

from tests.visualizer.pages import Page


async def test_a_page_is_welcomed_and_starts_from_a_snapshot_frame(made):
    page = Page(made.lab.pk)
    welcome = await page.open()
    assert welcome["scenario"] == "two-towns"
    assert welcome["owner"] is False
    assert welcome["names"]["clusters"] == ["a", "b"]
    frame = await page.frame()
    assert frame["snapshot"] and frame["number"] == 1 and frame["at_us"] == 0 and frame["playing"] is False
    await page.close()


async def test_playing_brings_numbered_frames_that_move_on(made):
    page = Page(made.lab.pk, made.token)
    assert (await page.open())["owner"] is True
    await page.frame()
    await page.send({"type": "play", "speed": 5})
    await page.frame(lambda frame: frame["at_us"] > 2_000_000)
    numbers = [frame["number"] for frame in page.frames]
    assert numbers == list(range(1, len(numbers) + 1))
    instants = [frame["at_us"] for frame in page.frames]
    assert instants == sorted(instants)
    await page.close()
