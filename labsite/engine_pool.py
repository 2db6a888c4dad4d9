"""Processes that run an experiment's batches and changed runs, without Spark or Java.

Rules: a process imports the simulator only. It gets one batch at a time and sends each row as soon as the run
is finished. Cancelling kills the processes, and the next
experiment starts fresh ones. When the worker dies its pipes close, and the processes end with the next
message. They have a lower priority than the site.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from typing import Any

from simulator import RuleError
from simulator.experiments import Batch, Experiment, read_experiment_text, replayed, run_batch
from simulator.runs import Runs, finished
from simulator.what_if import outcome, variants

NICENESS = 5
"""What the processes add to their niceness, so that labs are served first."""

LOOK_EVERY_S = 0.1
"""Pause between two questions whether the experiment was cancelled."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A finished run, by its row, that is run again with one change: `place` counts the variants of it."""

    row: dict[str, Any]
    place: int
    until_us: int
    rows_max: int


class EngineDied(RuntimeError):
    """A process ended while it ran something, most likely killed because memory was short."""


class _Engine:
    """One process, and the batch or changed run that it runs."""

    def __init__(self, context: Any) -> None:
        self.connection, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there,), daemon=True, name="engine")
        self.process.start()
        there.close()
        self.batch: Batch | Changed | None = None


class EnginePool:
    """A fixed number of processes; `rows` yields what they find."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._engines: list[_Engine] = []

    def start(self) -> None:
        """Start the processes that are not running."""
        self._engines = [one for one in self._engines if one.process.is_alive()]
        if len(self._engines) == self.processes:
            return
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
        while len(self._engines) < self.processes:
            self._engines.append(_Engine(context))

    def stop(self) -> None:
        """Kill the processes, whatever they run."""
        for one in self._engines:
            one.process.kill()
            one.connection.close()
        for one in self._engines:
            one.process.join()
        self._engines = []

    def rows(
        self,
        text: str,
        batches: Sequence[Batch | Changed],
        may_begin: Callable[[], bool],
        cancelled: Callable[[], bool],
    ) -> Iterator[dict[str, Any]]:
        """Run the batches in their order, and yield each row or outcome as soon as its run is finished.

        While `may_begin` is false no further batch begins. When `cancelled` becomes true everything ends at
        once. Raises EngineDied.
        """
        self.start()
        waiting = deque(batches)
        finished = False
        try:
            while True:
                if cancelled():
                    return
                for one in self._engines:
                    if one.batch is None and waiting and may_begin():
                        one.batch = waiting.popleft()
                        with _died_if_closed(one):
                            one.connection.send((text, one.batch))
                busy = [one for one in self._engines if one.batch is not None]
                if not busy:
                    finished = True
                    return
                yield from self._received(busy)
        finally:
            if not finished:
                self.stop()

    def _received(self, busy: Sequence[_Engine]) -> Iterator[dict[str, Any]]:
        ready = wait([one.connection for one in busy], LOOK_EVERY_S)
        for one in busy:
            if one.connection not in ready:
                continue
            with _died_if_closed(one):
                row = one.connection.recv()
            if row is None:
                one.batch = None
            else:
                yield row


@contextlib.contextmanager
def _died_if_closed(one: _Engine) -> Iterator[None]:
    """Raise EngineDied if the pipe of the process is closed, for reading or for writing."""
    try:
        yield
    except (EOFError, OSError) as error:
        one.process.join(1)
        words = f"a process ended with code {one.process.exitcode} while it ran the experiment"
        raise EngineDied(words) from error


def _serve(connection: Connection) -> None:
    """The loop of a process: a batch in, its rows out, until the worker closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C at the terminal is the worker's
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            text, batch = connection.recv()
            experiment = _experiment(text)
            if isinstance(batch, Changed):
                connection.send(_run_changed(experiment, batch))
            else:
                for row in run_batch(experiment, batch):
                    connection.send(row)
            connection.send(None)


def _run_changed(experiment: Experiment, changed: Changed) -> dict[str, Any]:
    """The outcome of a changed run as {place, outcome}, or why there is none as {place, failed}."""
    try:
        scenario = replayed(experiment, changed.row)
        variant = variants(scenario, [], until_us=changed.until_us)[changed.place]
        world = finished(Runs(rows_max=changed.rows_max).run(variant))
        if world.now_us < changed.until_us:
            return {"place": changed.place, "failed": f"it has more than {changed.rows_max:,} rows"}
        return {"place": changed.place, "outcome": outcome(variant, world)}
    except RuleError as error:
        return {"place": changed.place, "failed": str(error)[:300]}
    except Exception as error:  # whatever went wrong is a reason, and the other changes are run
        return {"place": changed.place, "failed": f"internal error, {type(error).__name__}: {error}"[:300]}


@lru_cache(maxsize=4)
def _experiment(text: str) -> Experiment:
    """The experiment of a text, read once by each process; the site has checked its limits."""
    return read_experiment_text(text)
