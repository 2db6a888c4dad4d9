"""This process's studies: at most a few at a time, the others queued, and the latest answers.

Rules: each running study takes turns with the labs. A queued one is sent the number of studies before it. An
answer is kept by its text, since equal inputs give equal runs.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from simulator import ENGINE_VERSION
from visualizer.labs import clients
from visualizer.labs.pump import Pump
from visualizer.live.wire import Refused
from visualizer.setups.study import Progress, Study

RUNNING = 2
"""Most studies that run at once. Together they have at most the share of two labs."""

WAITING = 20
"""Most studies in the queue. A further one is refused and may be sent again later."""

KEPT = 200
"""Most answers that are kept, about 8 KB each, so that a shared link is answered at once."""


class Studies:
    def __init__(self, pump: Pump, admit: Callable[[], None] = lambda: None) -> None:
        """Use this pump; `admit` raises Refused when there is no memory for another study."""
        self._pump, self._admit = pump, admit
        self._number = 0
        self._askers: dict[str, str] = {}  # client address of each study
        self._running: list[Study] = []
        self._line: deque[tuple[Study, Progress]] = deque()
        self._kept: OrderedDict[str, list[dict[str, Any]]] = OrderedDict()

    def ask(self, text: str, report: Progress) -> Callable[[], None]:
        """Start or queue a study, and return the function that cancels it. Raises Refused."""
        key = hashlib.sha256(f"{ENGINE_VERSION}\n{text}".encode(errors="surrogatepass")).hexdigest()
        if key in self._kept:
            self._kept.move_to_end(key)
            for message in self._kept[key]:
                report(message)
            return _nothing_to_cancel
        self._admit()
        if len(self._line) >= WAITING:
            raise Refused(
                "too-many", f"{WAITING} set-ups wait for their answer already.", "Try again in a minute."
            )
        asked = [
            self._askers[study.lab_id] for study in (*self._running, *(study for study, _ in self._line))
        ]
        clients.check_at_once(asked, clients.STUDIES_PER_CLIENT, "set-ups")
        messages: list[dict[str, Any]] = []

        def report_and_keep(message: dict[str, Any]) -> None:
            messages.append(message)
            report(message)
            if message["type"] == "done":
                self._keep(key, messages)

        self._number += 1
        study = Study(f"study {self._number}", text, report_and_keep, self._ended)
        self._askers[study.lab_id] = clients.client.get()
        self._line.append((study, report))
        self._move_up()
        return study.cancel

    def worlds(self) -> list[Any]:
        """The worlds of the running studies."""
        return [study.world for study in self._running]

    def stop(self) -> None:
        """Drop the queue and cancel the running studies: the process ends or restarts."""
        self._line.clear()
        for study in list(self._running):
            study.cancel()

    def _keep(self, key: str, messages: list[dict[str, Any]]) -> None:
        self._kept[key] = messages
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _ended(self, study: Study) -> None:
        self._askers.pop(study.lab_id, None)
        if study in self._running:
            self._running.remove(study)
            self._pump.remove(study)
        else:
            self._line = deque(pair for pair in self._line if pair[0] is not study)
        self._move_up()

    def _move_up(self) -> None:
        while self._line and len(self._running) < RUNNING:
            study, _ = self._line.popleft()
            self._running.append(study)
            self._pump.add(study)
        for before, (_, report) in enumerate(self._line):
            report({"type": "waiting", "before": before + len(self._running)})


def _nothing_to_cancel() -> None:
    """Nothing to cancel: the answer was kept."""
