"""The site in a separate process, and a page that connects to it over a real socket."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from script.support.serve import site_command
from script.support.system import free_port
from tests.visualizer.pages import PATIENCE_S
from tests.visualizer.reading import FrameReader

ROOT = Path(__file__).resolve().parents[2]


class Site:
    """A server process with its own port; `data` may be shared with others, as may Redis."""

    def __init__(
        self,
        data: Path,
        redis_url: str = "",
        migrate: bool = True,
        application: str = "labsite.asgi:application",
        database_url: str = "",
    ) -> None:
        self.data = data
        self.environment = {
            **os.environ,
            "FAILOVER_LAB_DATA": str(data),
            "REDIS_URL": redis_url,
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "labsite.settings",
        }
        self.port = free_port()
        self.log = (data / f"site-{self.port}.log").open("wb")
        if migrate:
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
                cwd=ROOT,
                env=self.environment,
                check=True,
            )
        command = site_command("127.0.0.1", self.port, sys.executable, application)
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log
        )

    def wait(self) -> Site:
        end_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < end_s:
            assert self.process.poll() is None, Path(self.log.name).read_text()
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the site does not answer")

    def stored_us(self, lab: dict[str, str]) -> int:
        """The instant of a lab in the database: where it resumes after a crash."""
        with closing(
            sqlite3.connect(f"file:{self.data / 'lab.sqlite3'}?mode=ro", uri=True, timeout=PATIENCE_S)
        ) as database:
            return database.execute(
                "SELECT position_us FROM visualizer_lab WHERE id = ?", (lab["id"],)
            ).fetchone()[0]

    def kill(self) -> None:
        """Like a power failure of the machine."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=20)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill()
        self.log.close()

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE_S) as response:
            return json.loads(response.read())

    def open_lab(self, **body: Any) -> dict[str, str]:
        return self.post("/labs/", **body)

    def post(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return json.loads(response.read())

    def page(self, lab: dict[str, str], owner: bool = True) -> SitePage:
        return SitePage(self.port, lab["id"], lab["token"] if owner else None)


class SitePage:
    """A browser's side of the socket, blocking; answers `seen` to every frame."""

    def __init__(self, port: int, lab_id: str, token: str | None) -> None:
        self.viewers = 0
        self.reader = FrameReader()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /ws/labs/{lab_id}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: "
            f"http://127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.file = self.socket.makefile("rb")
        head = self.file.readline()
        while self.file.readline().strip():
            pass
        assert b" 101 " in head, head
        self.send({"type": "hello", **({"token": token} if token else {})})

    def send(self, message: dict[str, Any]) -> None:
        payload = json.dumps(message).encode()
        mask = os.urandom(4)
        self.socket.sendall(
            _head(len(payload)) + mask + bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
        )

    def send_head_of(self, size_bytes: int) -> None:
        """The beginning of a message of this size."""
        self.socket.sendall(_head(size_bytes))

    def receive(self) -> dict[str, Any]:
        while True:
            first, second = self.file.read(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", self.file.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.file.read(8))
            payload = self.file.read(length)
            if first & 0x0F == 8:
                self.close_code, self.close_words = int.from_bytes(payload[:2], "big"), payload[2:].decode()
                raise AssertionError(f"closed: {self.close_code} {self.close_words}")
            if first & 0x0F == 1:
                break
        message = json.loads(payload)
        if message["type"] == "viewers":
            self.viewers = message["count"]
        if message["type"] == "frame":
            message = self.reader.read(message)
            # the server may have closed in between: what it sent before that is still to be read
            with suppress(ConnectionError):
                self.send({"type": "seen", "epoch": message["epoch"], "number": message["number"]})
        return message

    def until(self, kind: str, test: Any = lambda message: True, messages: int = 2000) -> dict[str, Any]:
        for _ in range(messages):
            message = self.receive()
            if message["type"] == kind and test(message):
                return message
        raise AssertionError(f"no such {kind}")

    def frame(self, test: Any = lambda frame: True) -> dict[str, Any]:
        return self.until("frame", test)

    def close(self) -> None:
        self.file.close()
        self.socket.close()


def _head(size_bytes: int) -> bytes:
    """The header of a masked text message of this size (RFC 6455, 5.2)."""
    if size_bytes < 126:
        return bytes([0x81, 0x80 | size_bytes])
    if size_bytes < 65_536:
        return bytes([0x81, 0x80 | 126]) + struct.pack(">H", size_bytes)
    return bytes([0x81, 0x80 | 127]) + struct.pack(">Q", size_bytes)
