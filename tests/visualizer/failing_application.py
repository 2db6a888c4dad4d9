"""The site with two planted internal errors, for a server process.

`pause` breaks a handler, `step` breaks sending.
"""

from __future__ import annotations

from typing import Any

from labsite.asgi import application
from visualizer.labs.rooms import Room
from visualizer.live.viewers import Viewer

__all__ = ["application"]

_handle = Room.handle_message


def _broken(self: Room, viewer: Viewer, message: dict[str, Any]) -> None:
    if message["type"] == "pause":
        raise RuntimeError("put in by a test: handler")
    if message["type"] == "step":
        viewer.send_text(object())  # type: ignore[arg-type]
    _handle(self, viewer, message)


Room.handle_message = _broken  # type: ignore[method-assign]
