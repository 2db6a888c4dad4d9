"""How texts reach sockets.

One turn for many pages, no task for a send that completes immediately, order kept, and the end of a socket.
"""

from __future__ import annotations

import asyncio

from visualizer.live.viewers import PAGES_PER_TURN, Delivery, Viewer


class Line:
    """A server's side of a socket: takes what is sent, or waits while it is `full`."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.writable = asyncio.Event()
        self.writable.set()
        self.error: Exception | None = None
        self.ends: list[object] = []
        self.viewer = Viewer(1)
        self.delivery = Delivery(self.viewer, self.send, lambda: self.ends.append("sent"), self.ends.append)

    async def send(self, message: dict[str, str]) -> None:
        await self.writable.wait()
        await self.writable.wait()  # and a second time: a send may wait several times
        if self.error is not None:
            raise self.error
        self.texts.append(message["text"])


async def turns(number: int = 5) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_many_pages_are_served_without_a_task_for_each():
    lines = [Line() for _ in range(4 * PAGES_PER_TURN)]
    await turns()
    before = len(asyncio.all_tasks())
    for line in lines:
        line.viewer.send_text("a")
        line.viewer.send_text("b")
    assert len(asyncio.all_tasks()) == before
    assert [len(line.texts) for line in lines] == [0] * len(lines), (
        "saying something does not wait for the sending"
    )
    await turns(1)
    assert 0 < sum(bool(line.texts) for line in lines) < len(lines), "others have a turn between the pages"
    await turns(5)
    assert all(line.texts == ["a", "b"] for line in lines)


async def test_a_full_socket_delays_only_itself_and_keeps_the_order():
    full, other = Line(), Line()
    await turns()
    full.writable.clear()
    for text in "abc":
        full.viewer.send_text(text)
        other.viewer.send_text(text)
    await turns()
    assert (full.texts, other.texts) == ([], ["a", "b", "c"])
    full.writable.set()
    await turns(10)
    assert full.texts == ["a", "b", "c"] and full.ends == []


async def test_the_last_text_is_sent_before_the_end_is_reported():
    line = Line()
    line.viewer.send_text("a")
    line.viewer.close("enough")
    line.viewer.send_text("too late")
    await turns()
    assert line.texts == ["a", '{"type":"bye","reason":"enough"}']
    assert line.ends == ["sent"]


async def test_an_error_in_sending_is_passed_on_and_a_closed_page_is_no_error():
    broken, gone = Line(), Line()
    await turns()
    broken.error, gone.error = RuntimeError("no"), ConnectionResetError()
    for line in (broken, gone):
        line.viewer.send_text("a")
        line.viewer.send_text("b")
    await turns()
    assert broken.ends == [broken.error] and gone.ends == []
    gone.viewer.send_text("c")
    await turns()
    assert broken.texts == gone.texts == []


async def a_line_that_waits() -> Line:
    """A line with a text that its full socket does not take yet."""
    line = Line()
    await turns()
    line.writable.clear()
    line.viewer.send_text("a")
    await turns()
    return line


async def test_an_error_after_waiting_is_passed_on_too():
    line = await a_line_that_waits()
    line.error = RuntimeError("no")
    line.writable.set()
    await turns()
    assert line.ends == [line.error]


async def test_stopping_cancels_a_waiting_send():
    line = await a_line_that_waits()
    line.delivery.stop()
    line.writable.set()
    await turns()
    assert line.texts == [] and line.ends == []
