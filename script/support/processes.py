"""Child processes that are always stopped: `script/server` and `script/test` end all that they start.

Rules: every child leads its own process group, so a child's children (a worker's Java) are stopped with it. A
signal only sets a flag that every wait checks, so no signal is lost between two waits. Stopping sends SIGTERM
first and kills after `GRACE_SECONDS`. On Linux a child also gets SIGTERM when this process is killed.
Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

GRACE_SECONDS = 5.0
"""The time between SIGTERM and SIGKILL; a whole stop stays well under the promised 10 s."""

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)

POLL_SECONDS = 0.05
"""The interval at which a wait checks the stop flag and the children."""


class Stopped(KeyboardInterrupt):
    """A requested stop (Ctrl-C, SIGTERM, a closed terminal).

    It passes through event loops, as Ctrl-C does.
    """


class Supervisor:
    """Starts children and ends them; use it as a context manager, in the main thread.

    With `interrupting` the signal raises `Stopped` at once, for bodies that wait elsewhere than in this class
    (a test, a browser, an event loop). By default only the waits here check for it.
    """

    def __init__(self, interrupting: bool = False) -> None:
        self.interrupting = interrupting
        self.stop_signal: int | None = None
        self._children: list[subprocess.Popen[bytes]] = []
        self._former: dict[int, object] = {}

    def __enter__(self) -> Supervisor:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._former[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop_all()
        for number, handler in self._former.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _remember(self, number: int, _frame: object) -> None:
        self.stop_signal = number
        if self.interrupting:
            self.interrupting = False  # only once: the stop itself must not be interrupted
            raise Stopped

    def check(self) -> None:
        """Raise `Stopped` if a signal was received."""
        if self.stop_signal is not None:
            raise Stopped

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        output: BinaryIO | None = None,
        folder: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start `command` in `folder` (default: the current one).

        Its output goes to `output`, by default to this process's own.
        """
        self.check()
        child = subprocess.Popen(
            command,
            env=dict(environment or os.environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        self._children.append(child)
        return child

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> int:
        """Start `command`, wait for its end and return its exit code."""
        child = self.start(command, environment, folder=folder)
        while child.poll() is None:
            self.check()
            time.sleep(POLL_SECONDS)
        self.forget(child)
        return child.returncode

    def sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.check()
            time.sleep(POLL_SECONDS)

    def forget(self, child: subprocess.Popen[bytes]) -> None:
        """Remove a child that has ended by itself, and kill the rest of its group."""
        _signal_group(child, signal.SIGKILL)
        self._children.remove(child)

    def stop(self, *children: subprocess.Popen[bytes]) -> None:
        """Stop the children's groups: SIGTERM, up to `GRACE_SECONDS` for all together, then SIGKILL."""
        for child in children:
            _signal_group(child, signal.SIGTERM)
        end = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < end and any(child.poll() is None for child in children):
            time.sleep(POLL_SECONDS)
        for child in children:
            _signal_group(child, signal.SIGKILL)
            child.wait()
            self._children.remove(child)

    def stop_all(self) -> None:
        self.stop(*self._children)


def _end_with_parent() -> None:
    """Runs in the child before its program: the child ends when its parent is killed."""
    if _LIBC is not None:
        _LIBC.prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return  # the whole group has ended already


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
