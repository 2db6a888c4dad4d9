"""An independent recount of backlogs, in plain Python from the rows alone.

Logs are lists of positions, acknowledgements are sets. It shares nothing with the cursors' bitmaps nor with
`simulator.protocols.pulsar.admin`, so agreement of the two means something.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Position = tuple[int, int]


class PlainSubscription:
    """A subscription in one cluster's topic, as its rows describe it.

    `kept` is what a crash would recover.
    """

    def __init__(self, mark: Position) -> None:
        self.mark = mark
        self.acked: set[Position] = set()
        self.partly: dict[Position, set[int]] = {}
        self.kept: tuple[set[Position], dict[Position, set[int]]] = (set(), {})

    def write(self) -> None:
        self.kept = (set(self.acked), {position: set(some) for position, some in self.partly.items()})

    def fall_back(self) -> None:
        self.acked, self.partly = (
            set(self.kept[0]),
            {position: set(some) for position, some in self.kept[1].items()},
        )


class BacklogRecount:
    """Feed rows in order, then query `backlog` and `markers` by (cluster, topic, subscription).

    Audiences have no cursors in the rows.
    """

    def __init__(self, audiences: Iterable[str] = ()) -> None:
        self.audiences = set(audiences)
        # messages of each entry, 0 for a marker, in log order
        self.sizes: dict[tuple[str, str], dict[Position, int]] = {}
        self.subscriptions: dict[tuple[str, str, str], PlainSubscription] = {}

    def read(self, rows: list[dict[str, Any]]) -> BacklogRecount:
        for row in rows:
            handle = getattr(self, "_" + row["type"].replace(".", "_").replace("-", "_"), None)
            if handle is not None and row.get("subscription") not in self.audiences:
                handle(row)
        return self

    def waiting(self, cluster: str, topic: str, subscription: str) -> list[Position]:
        """Positions after the mark-delete that are not individually deleted."""
        found = self.subscriptions[(cluster, topic, subscription)]
        log = self.sizes.get((cluster, topic), {})
        return [position for position in log if position > found.mark and position not in found.acked]

    def markers(self, cluster: str, topic: str, subscription: str) -> int:
        log = self.sizes.get((cluster, topic), {})
        return sum(1 for position in self.waiting(cluster, topic, subscription) if log[position] == 0)

    # --- rows

    def _log(self, row: dict[str, Any]) -> dict[Position, int]:
        return self.sizes.setdefault((row["cluster"], row["topic"]), {})

    def _message_stored(self, row: dict[str, Any]) -> None:
        position = _position(row)
        self._log(row)[position] = self._log(row).get(position, 0) + 1

    def _marker_written(self, row: dict[str, Any]) -> None:
        self._log(row)[_position(row)] = 0

    _marker_stored = _marker_written

    def _of(self, row: dict[str, Any]) -> PlainSubscription:
        return self.subscriptions[(row["cluster"], row["topic"], row["subscription"])]

    def _subscription_created(self, row: dict[str, Any]) -> None:
        self.subscriptions[(row["cluster"], row["topic"], row["subscription"])] = PlainSubscription(
            _position(row)
        )

    def _subscription_deleted(self, row: dict[str, Any]) -> None:
        self.subscriptions.pop((row["cluster"], row["topic"], row["subscription"]), None)

    def _message_registered(self, row: dict[str, Any]) -> None:
        found, position = self._of(row), _position(row)
        if position <= found.mark:
            return
        if "batch_index" in row:
            some = found.partly.setdefault(position, set())
            some.add(row["batch_index"])
            if len(some) < self._log(row)[position]:
                return
            del found.partly[position]
        found.acked.add(position)

    def _marker_filtered(self, row: dict[str, Any]) -> None:
        self._of(row).acked.add(_position(row))

    def _cursor_moved(self, row: dict[str, Any]) -> None:
        found = self._of(row)
        found.mark = (row["to_ledger"], row["to_entry"])
        if row["reason"] == "reset":
            found.acked, found.partly = set(), {}
        found.acked = {position for position in found.acked if position > found.mark}
        found.partly = {position: some for position, some in found.partly.items() if position > found.mark}

    def _cursor_persisted(self, row: dict[str, Any]) -> None:
        self._of(row).write()

    def _cursor_recovered(self, row: dict[str, Any]) -> None:
        self._of(row).mark = _position(row)
        self._of(row).fall_back()


def _position(row: dict[str, Any]) -> Position:
    return row["ledger"], row["entry"]
