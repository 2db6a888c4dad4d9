"""When the backlog of a failover is drained, in plain Python, row by row.

A part of `tests.oracle.failovers`.

A cursor is a mark-delete and a set of places acknowledged above it. A window waits for the copies that the
target's log held when it opened.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

Place = tuple[int, int]
BEFORE_ALL: Place = (-1, -1)


class PlainCopies:
    """One topic's log in one cluster: (place, message) in the order of places."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.messages: list[tuple[str, int]] = []

    def between(self, low: Place, high: Place) -> list[int]:
        """Numbers of the copies after `low` and up to `high`."""
        return list(range(bisect_right(self.places, low), bisect_right(self.places, high)))


class PlainMarks:
    """A subscription's cursor in one cluster's topic."""

    def __init__(self) -> None:
        self.mark: Place = BEFORE_ALL
        self.single: dict[int, Place] = {}  # copies acknowledged individually
        self.markers: set[Place] = set()
        self.written: tuple[dict[int, Place], set[Place]] = ({}, set())  # both as a recovery would find them


class PlainWindow:
    """A failover: which copies of the target it waits for, by (topic, number)."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.subscription, self.target, self.opened_us = row["subscription"], row["peer"], row["at_us"]
        self.next_began = False  # the subscription's next failover
        self.held: set[tuple[str, int]] = set()
        self.waiting: set[tuple[str, int]] = set()
        self.over = False
        self.drained_us: int | None = None

    def settle(self, at_us: int) -> None:
        if not self.over and not self.waiting:
            self.drained_us, self.over = at_us, True


class PlainDraining:
    """Feed rows in order, then read `windows`."""

    def __init__(self, base_topic_of: dict[str, str]) -> None:
        self.base_topic_of = base_topic_of
        self.logs: dict[tuple[str, str], PlainCopies] = {}
        self.gone: set[tuple[str, str, int]] = set()
        self.cursors: dict[tuple[str, str, str], PlainMarks] = {}
        self.windows: list[PlainWindow] = []

    def feed(self, row: dict[str, Any]) -> None:
        handler = getattr(self, "_" + row["type"].replace(".", "_").replace("-", "_"), None)
        if handler is not None:
            handler(row)

    def _log(self, row) -> PlainCopies:
        return self.logs.setdefault((row["cluster"], row["topic"]), PlainCopies())

    def _cursor(self, row) -> PlainMarks:
        return self.cursors.setdefault((row["subscription"], row["cluster"], row["topic"]), PlainMarks())

    # --- logs

    def _message_stored(self, row):
        log = self._log(row)
        log.places.append((row["ledger"], row["entry"]))
        log.messages.append((row["producer"], row["sequence_id"]))

    def _ledger_trimmed(self, row):
        self._remove(
            row["cluster"],
            row["topic"],
            self._log(row).between((row["ledger"], -1), (row["ledger"], 1 << 60)),
        )

    def _cluster_lost(self, row):
        for cluster, topic in [key for key in self.logs if key[0] == row["cluster"]]:
            self._remove(cluster, topic, list(range(len(self.logs[cluster, topic].places))))

    def _remove(self, cluster: str, topic: str, numbers: list[int]) -> None:
        """What was covered when it was removed is not waited for; what was not covered never will be."""
        self.gone |= {(cluster, topic, number) for number in numbers}
        for window in self.windows:
            if window.target == cluster and not window.over:
                window.over = any((topic, number) in window.waiting for number in numbers)
                window.held -= {(topic, number) for number in numbers}

    # --- cursors

    def _covered(self, cursor: PlainMarks, log: PlainCopies, number: int) -> bool:
        return number in cursor.single or log.places[number] <= cursor.mark

    def _moved(self, row, mark: Place, forgets: bool = False) -> None:
        cursor, log = self._cursor(row), self._log(row)
        changed = None if forgets or mark < cursor.mark else log.between(cursor.mark, mark)
        cursor.mark = mark
        self._look(row, changed)

    def _look(self, row, numbers: list[int] | None) -> None:
        """What windows into this cluster still wait for, where the cursor changed for these copies (None:
        for any).
        """
        cursor, log, topic = self._cursor(row), self._log(row), row["topic"]
        for window in self.windows:
            if window.over or (window.subscription, window.target) != (row["subscription"], row["cluster"]):
                continue
            if numbers is None:
                window.waiting = {one for one in window.waiting if one[0] != topic}
                window.waiting |= {
                    one for one in window.held if one[0] == topic and not self._covered(cursor, log, one[1])
                }
            else:
                window.waiting -= {
                    (topic, number) for number in numbers if self._covered(cursor, log, number)
                }
            window.settle(row["at_us"])

    def _message_registered(self, row):
        log, place = self._log(row), (row["ledger"], row["entry"])
        same = range(bisect_left(log.places, place), bisect_right(log.places, place))
        numbers = [number for number in same if log.messages[number] == (row["producer"], row["sequence_id"])]
        self._cursor(row).single.update(dict.fromkeys(numbers, place))
        self._look(row, numbers)

    def _marker_filtered(self, row):
        self._cursor(row).markers.add((row["ledger"], row["entry"]))

    def _cursor_persisted(self, row):
        cursor = self._cursor(row)
        cursor.written = dict(cursor.single), set(cursor.markers)

    def _subscription_created(self, row):
        self._cursor(row).written = ({}, set())
        self._moved(row, (row["ledger"], row["entry"]))

    def _forget(self, row) -> None:
        cursor = self._cursor(row)
        cursor.single, cursor.markers = {}, set()

    def _subscription_deleted(self, row):
        self._forget(row)
        self._moved(row, BEFORE_ALL, forgets=True)

    def _cursor_moved(self, row):
        if row["reason"] == "reset":
            self._forget(row)
        self._moved(row, (row["to_ledger"], row["to_entry"]), forgets=row["reason"] == "reset")

    def _cursor_recovered(self, row):
        cursor, mark = self._cursor(row), (row["ledger"], row["entry"])
        single, markers = cursor.written
        above = sorted(place for place in {*single.values(), *markers} if place > mark)
        kept = set(above[: row["count"]])
        cursor.single = {number: place for number, place in single.items() if place in kept}
        cursor.markers = markers & kept
        self._moved(row, mark, forgets=True)

    def _update_applied(self, row):
        self._moved(row, max((row["to_ledger"], row["to_entry"]), self._cursor(row).mark))

    # --- windows

    def _failover_started(self, row):
        for window in self.windows:
            if window.subscription == row["subscription"]:
                window.over = window.next_began = True
        window = PlainWindow(row)
        base = self.base_topic_of[row["subscription"]]
        for (cluster, topic), log in self.logs.items():
            if cluster == row["peer"] and (topic == base or topic.startswith(base + "-partition-")):
                window.held |= {
                    (topic, number)
                    for number in range(len(log.places))
                    if (cluster, topic, number) not in self.gone
                }
                cursor = self.cursors.get((row["subscription"], cluster, topic), PlainMarks())
                window.waiting |= {
                    one for one in window.held if one[0] == topic and not self._covered(cursor, log, one[1])
                }
        window.settle(row["at_us"])
        self.windows.append(window)

    def left(self, window: PlainWindow) -> set[tuple[str, tuple[str, int]]]:
        """(topic, message) of the copies that the target's log has and its cursor does not cover."""
        found = set()
        base = self.base_topic_of[window.subscription]
        for (cluster, topic), log in self.logs.items():
            if cluster == window.target and (topic == base or topic.startswith(base + "-partition-")):
                cursor = self.cursors.get((window.subscription, cluster, topic), PlainMarks())
                found |= {
                    (topic, message)
                    for number, message in enumerate(log.messages)
                    if (cluster, topic, number) not in self.gone and not self._covered(cursor, log, number)
                }
        return found
