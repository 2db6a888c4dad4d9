"""One child process that speaks JSON lines: requests, answers, events, and its end.

A request is `{"id": 7, "do": "topic.create", …}` on the child's standard input. Its answer is
`{"id": 7, "ok": true, …}` or `{"id": 7, "ok": false, "error": "…"}` on its standard output, in any order.
A line without an id is an event. The child's standard error goes to a log file.
The child ends when its standard input ends, so none outlives a driver that crashes.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any

END_WAIT_S = 20
"""How long a child may take to close before it is killed."""

LOG_LINES_SHOWN = 8

Event = dict[str, Any]


class ProcessError(RuntimeError):
    """A request that failed, or a child that ended: the message contains the child's own error."""


class JsonProcess:
    """A child process with numbered requests; safe to use from several threads."""

    def __init__(self, name: str, on_event: Callable[[Event], None] | None = None) -> None:
        """`on_event` is called in the reading thread; without it, events are put into the queue `events`."""
        self.name = name
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._on_event = on_event or self.events.put
        self._child: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._log_path: Path | None = None
        self._lock = threading.Lock()
        self._last_id = 0
        self._waiting: dict[int, tuple[str, Future[Event]]] = {}

    @property
    def is_alive(self) -> bool:
        """Whether the child runs."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        """The id of the running child."""
        if self._child is None:
            raise ProcessError(f"{self.name} was never started")
        return self._child.pid

    def start(self, command: Sequence[str], log_path: Path) -> None:
        """Start the child; its standard error is appended to the file `log_path`.

        The child gets a session of its own, so that Ctrl-C reaches the driver alone, which then ends it.
        """
        if self.is_alive:
            raise ProcessError(f"{self.name} already runs; end it before it is started again")
        log_path.parent.mkdir(parents=True, exist_ok=True)
        self._log_path = log_path
        with log_path.open("ab") as log:
            self._child = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, args=(self._child,), daemon=True)
        self._reader.start()

    def begin(self, do: str, /, **fields: Any) -> Future[Event]:
        """Send a request and return at once; the future has its answer, or raises `ProcessError`."""
        future: Future[Event] = Future()
        child = self._child
        if child is None or child.stdin is None:
            raise ProcessError(f"{self.name} does not run, so it cannot do {do}")
        with self._lock:
            self._last_id += 1
            request_id = self._last_id
            self._waiting[request_id] = (do, future)
            line = json.dumps({"id": request_id, "do": do, **fields}, separators=(",", ":"))
            try:
                child.stdin.write(line.encode() + b"\n")
                child.stdin.flush()
            except (OSError, ValueError):  # ValueError: the pipe was closed by `end`
                self._waiting.pop(request_id, None)
                error = ProcessError(f"{self.name} has ended, so it cannot do {do}{self._log_tail()}")
                raise error from None
        if not self.is_alive and not future.done():
            self._fail_waiting()
        return future

    def request(self, do: str, /, timeout_s: float = 60, **fields: Any) -> Event:
        """Send a request and return its answer; raises `ProcessError` with the child's error."""
        future = self.begin(do, **fields)
        try:
            return future.result(timeout_s)
        except FutureTimeoutError:
            raise ProcessError(f"{self.name} did not answer {do} within {timeout_s} s") from None

    def end(self, wait_s: float = END_WAIT_S) -> None:
        """End the child: close its standard input, wait, and kill it if it takes longer than `wait_s`."""
        child = self._child
        if child is None:
            return
        if child.stdin is not None:
            with self._lock:
                try:
                    child.stdin.close()
                except OSError:  # the child has ended with a request unread
                    self._child = child
        try:
            child.wait(wait_s)
        except subprocess.TimeoutExpired:
            child.kill()
        self._reap(child)

    def kill(self) -> None:
        """Kill the child with SIGKILL, as a crash of the process, and wait until it is gone."""
        if self._child is None:
            return
        self._child.kill()
        self._reap(self._child)

    def _reap(self, child: subprocess.Popen[bytes]) -> None:
        child.wait()
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join()
        if child.stdin is not None and not child.stdin.closed:
            try:
                child.stdin.close()
            except OSError:  # what was buffered for a killed child has no reader
                self._fail_waiting()

    def _read(self, child: subprocess.Popen[bytes]) -> None:
        """Read answers and events until the child closes its output; runs in its own thread."""
        if child.stdout is None:
            return
        with child.stdout:
            for line in child.stdout:
                self._receive(line)
        child.wait()
        self._fail_waiting()

    def _receive(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:  # the last line of a killed child may be incomplete
            text = line.decode(errors="replace").strip()
            print(f"{self.name} wrote a line that is not JSON: {text}", file=sys.stderr)
            return
        if "id" not in message:
            self._on_event(message)
            return
        with self._lock:
            do, future = self._waiting.pop(message["id"], ("", None))
        if future is None:
            return  # its request ended with the process that was started before
        if message.get("ok"):
            future.set_result(message)
        else:
            future.set_exception(ProcessError(f"{self.name} could not do {do}: {message.get('error')}"))

    def _fail_waiting(self) -> None:
        with self._lock:
            unanswered, self._waiting = self._waiting, {}
        for do, future in unanswered.values():
            if not future.done():
                future.set_exception(ProcessError(f"{self.name} ended during {do}{self._log_tail()}"))

    def _log_tail(self) -> str:
        if self._log_path is None or not self._log_path.exists():
            return ""
        lines = self._log_path.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return f"; the end of {self._log_path}:\n" + "\n".join(lines) if lines else ""
