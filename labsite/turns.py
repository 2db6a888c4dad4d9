"""Uvicorn's protocols, with bounds on what one connection, and one address, takes of the event loop.

Rules: one read of a connection can hold a hundred thousand frames, chunks or requests, and uvicorn's parsers
handle what they are given in one go. So bytes are handed to them in pieces. While pieces wait, addresses take
turns, and so do the connections of an address; a turn of all of them takes TURN_S and one piece at most. A
connection whose pieces wait is not read. `script/server` names these classes in uvicorn's --http and --ws.
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from visualizer.labs.clients import Bound, is_trusted_proxy

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
    from websockets.frames import Frame

LEAST_PIECE_BYTES, MOST_PIECE_BYTES = 512, 16_384
"""How many bytes a parser is given at once: the least hold 85 empty frames or chunks, 2 ms of a slow core.

A connection's pieces double while they take little time, so that an upload costs no more than without turns.
"""

TURN_S = 0.002
"""After this time of handling pieces, everything else has as long: the event loop, and waiting threads."""

HEAD_S = 10.0
"""How long a client may take to send a request's first line and headers."""

CONNECTIONS_PER_ADDRESS = 1_000
"""Open connections of one address, except of a trusted proxy. A further one is closed at once."""

CONTROL_FRAMES, CONTROL_FRAMES_PER_S = 100, 2
"""Pings and pongs that a socket may send at once, and then per second; the server asks for one every 20 s."""

MESSAGES, MESSAGES_PER_S = 1_000, 200
"""Messages that a socket may send at once, and then per second; a page that plays answers 60 frames a second.

Beyond it, or the bound of control frames, the socket is closed with code 1008.
"""

CLOSED_FLOOD = 1008


class Turns:
    """The connections with waiting pieces, by address. There is one for the process's event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[_InPieces]] = {}

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    def add(self, connection: _InPieces) -> None:
        """Let a connection that is not in the queue wait for its turn."""
        if not self._waiting:
            connection.loop.call_soon(self._run, connection.loop)
        self._waiting.setdefault(connection.address, deque()).append(connection)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        end_s = time.monotonic() + TURN_S  # uvloop's own time stands still within an iteration
        while self._waiting:
            # the address keeps its place meanwhile: a piece may open a socket, which is added
            address, connections = next(iter(self._waiting.items()))
            connection = connections.popleft()
            if connection.handle_piece():
                connections.append(connection)
            del self._waiting[address]
            if connections:
                self._waiting[address] = connections  # behind the other addresses
            if self._waiting and time.monotonic() >= end_s:
                loop.call_later(TURN_S, self._run, loop)
                return


TURNS = Turns()
_connections: Counter[str] = Counter()


class _InPieces(asyncio.Protocol):
    """What both protocols share: received bytes are handed on in pieces, in turns among addresses."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    address: str

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        self.address = peer[0] if isinstance(peer, tuple) else ""
        self._received = bytearray()
        self._queued = False
        self._piece_bytes = LEAST_PIECE_BYTES
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._received.clear()
        _connections[self.address] -= 1
        if _connections[self.address] <= 0:
            del _connections[self.address]
        super().connection_lost(error)

    @property
    @abstractmethod
    def held(self) -> bool:
        """Whether uvicorn waits for the application before it reads on."""

    def data_received(self, data: bytes) -> None:
        if not self._received and len(data) <= LEAST_PIECE_BYTES and not TURNS.busy:
            super().data_received(data)
            return
        self._received += data
        self.transport.pause_reading()
        self.read_on()

    def handle_piece(self) -> bool:
        """Hand one piece on. Returns whether another can follow."""
        if self.transport.is_closing():
            self._received.clear()
            return False
        piece = bytes(self._received[: self._piece_bytes])
        del self._received[: self._piece_bytes]
        begin_s = time.monotonic()
        try:
            super().data_received(piece)
        except Exception as error:
            self.loop.call_exception_handler({"message": "Internal error in a protocol", "exception": error})
            self.transport.abort()
            return False
        took_s = time.monotonic() - begin_s
        if took_s > TURN_S / 2:
            self._piece_bytes = LEAST_PIECE_BYTES
        elif took_s < TURN_S / 8:
            self._piece_bytes = min(2 * self._piece_bytes, MOST_PIECE_BYTES)
        successor = self.transport.get_protocol()
        if isinstance(successor, _InPieces) and successor is not self:  # upgraded to a socket
            successor._received += self._received
            self._received.clear()
            successor.read_on()
            return False
        self._queued = bool(self._received) and not self.held
        if not self._queued:
            self.read_on()
        return self._queued

    def read_on(self) -> None:
        """Handle waiting bytes before the connection is read again."""
        if self._queued or self.held or self.transport.is_closing():
            return
        if self._received:
            self._queued = True
            TURNS.add(self)
        else:
            self.transport.resume_reading()


class _Flow(FlowControl):
    """Uvicorn's flow control, which lets waiting bytes go first when it reads on."""

    def __init__(self, transport: asyncio.Transport, connection: Http) -> None:
        super().__init__(transport)
        self._connection = connection

    def resume_reading(self) -> None:
        if self.read_paused:
            self.read_paused = False
            self._connection.read_on()


class Http(_InPieces, H11Protocol):
    """HTTP connections: also a bound on their number per address, and on the time for a request's head."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.flow = _Flow(self.transport, self)
        self._head_since_s = self.loop.time()
        _connections[self.address] += 1
        if _connections[self.address] > CONNECTIONS_PER_ADDRESS and not is_trusted_proxy(self.address):
            self.transport.close()
            return
        self.loop.call_later(HEAD_S, self._check_head)

    @property
    def held(self) -> bool:
        return self.flow.read_paused

    def data_received(self, data: bytes) -> None:
        if self.timeout_keep_alive_task is not None:  # the first bytes of a further request
            self._head_since_s = self.loop.time()
        super().data_received(data)

    def _check_head(self) -> None:
        """Close the connection when the head of a request is incomplete for too long."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        answering = self.cycle is not None and not self.cycle.response_complete
        idle = self.timeout_keep_alive_task is not None
        if not answering and not idle and self.loop.time() - self._head_since_s >= HEAD_S:
            self.transport.close()
            return
        self.loop.call_later(HEAD_S, self._check_head)


class Sockets(_InPieces, WebSocketsSansIOProtocol):
    """Websockets: also bounds on frames and messages, and one turn of the event loop for each message."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        now_s = self.loop.time()
        self._control = Bound(CONTROL_FRAMES, CONTROL_FRAMES_PER_S, now_s)
        self._messages = Bound(MESSAGES, MESSAGES_PER_S, now_s)

    @property
    def held(self) -> bool:
        return self.read_paused

    def handle_ping(self) -> None:
        if self._within(self._control, "pings"):
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._within(self._control, "pongs"):
            super().handle_pong(event)

    def handle_text(self, event: Frame) -> None:
        if self._within(self._messages, "messages"):
            super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        if self._within(self._messages, "messages"):
            super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        if self._within(self._messages, "parts of messages"):
            super().handle_cont(event)

    def _within(self, bound: Bound, what: str) -> bool:
        if self.close_sent or self.transport.is_closing():
            return False
        if bound.take(self.loop.time()):
            return True
        self.queue.put_nowait({"type": "websocket.disconnect", "code": CLOSED_FLOOD, "reason": ""})
        self.conn.fail(CLOSED_FLOOD, f"too many {what}")
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()
        return False

    async def receive(self) -> ASGIReceiveEvent:
        """The next event of the socket. While several wait, all else in the event loop goes first."""
        if not self.queue.empty():
            await asyncio.sleep(0)
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self.read_on()
        return message

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self._received:  # a close reads on
            self.read_on()
