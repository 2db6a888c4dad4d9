"""The socket of one question: it receives a scenario's text and sends the answer run by run.

Closing it cancels the question. Rules: as for a lab's socket, handlers return at once, sending is supervised,
and there is no slow work here.
"""

from __future__ import annotations

from collections.abc import Callable

from visualizer.labs.definitions import YAML_LIMIT
from visualizer.labs.hub import current_hub
from visualizer.live.json_reader import read_json
from visualizer.live.sockets import PageConsumer
from visualizer.live.viewers import Viewer
from visualizer.live.wire import Refused


class AnswerConsumer(PageConsumer):
    """The socket `/ws/answers/`.

    It receives one message, {"type": "ask", "yaml": text}, and sends asked, run (twenty times) and done.
    """

    async def connect(self) -> None:
        self.cancel: Callable[[], None] | None = None
        await self.open_for(Viewer(0))

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            text = _text_of(text_data)
            if self.cancel is not None:
                raise Refused("asked-already", "This socket has its question.", "Open another one.")
            self.first_message_received()
            hub = current_hub()
            await hub.start()
            self.cancel = hub.studies.ask(text, self.viewer.say)
        except Refused as refused:
            self.viewer.say(refused.answer())

    async def disconnect(self, code: int) -> None:
        if self.cancel is not None:
            self.cancel()
        self.stop_sending()


def _text_of(message: str | None) -> str:
    """The scenario's text in a message. Raises Refused."""
    example = 'Send {"type": "ask", "yaml": "format: 1…"}.'
    if message is None or len(message) > 2 * YAML_LIMIT:
        raise Refused(
            "too-long", "The message is binary or too long.", f"The text may have {YAML_LIMIT:,} characters."
        )
    try:
        asked = read_json(message)
    except ValueError as error:
        raise Refused("bad-json", f"The message is not JSON: {error}.", example) from error
    text = asked.get("yaml") if isinstance(asked, dict) and asked.get("type") == "ask" else None
    if not isinstance(text, str) or len(text) > YAML_LIMIT:
        raise Refused("bad-message", "The message asks nothing that can be answered.", example)
    return text
