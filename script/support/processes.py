"""Child processes that are always stopped: what `script/server` and `script/test` start, they also end.

Rules: every child leads its own process group, so a child's children (a worker's Java) are stopped with it; a
signal only sets a flag that every wait looks at, so none can arrive "in between"; stopping asks first and
kills after `GRACE_SECONDS`. On Linux a child is also asked to stop when this process is killed outright.
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
"""Between asking a child to stop and killing it; with what follows well under the promised 10 s."""

_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)

POLL_SECONDS = 0.05
"""How often a wait looks at the stop flag and at the children."""


class Stopped(KeyboardInterrupt):
    """A person or the system asked for the end (Ctrl-C, SIGTERM, a closed terminal).

    Passes through event loops, as Ctrl-C does.
    """


class Supervisor:
    """Starts children and ends them; use as a context manager, in the main thread.

    `interrupting`: the signal raises `Stopped` at once, for bodies that wait elsewhere than in this class (a
    test, a browser, an event loop); by default only the waits here look at it.
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
            self.interrupting = False  # once: what follows is the stopping itself
            raise Stopped

    def check(self) -> None:
        """Raises `Stopped` once a signal has come."""
        if self.stop_signal is not None:
            raise Stopped

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        output: BinaryIO | None = None,
        folder: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts `command` in `folder` (default: the present one); what it prints goes to `output`, to this
        process's own without.
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
        """Starts `command`, waits for its end and returns its exit code."""
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
        """`child` has ended by itself; whatever it left in its group is ended too."""
        _signal_group(child, signal.SIGKILL)
        self._children.remove(child)

    def stop(self, *children: subprocess.Popen[bytes]) -> None:
        """Asks the children's groups to end, waits `GRACE_SECONDS` for all of them together, kills the
        rest.
        """
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
        return  # the whole group has ended, which is what was wanted


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
