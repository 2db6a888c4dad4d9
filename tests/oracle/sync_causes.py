"""Counts the causes `sync_in_flight` and `after_last_sync` in plain Python: sets, row by row.

It shares nothing but the trace with the engine, `simulator.protocols.pulsar.verdicts` and Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Copy = tuple[str, int, tuple[int, int]]  # producer, sequence id, position


class PlainCursor:
    """One subscription's cursor in one topic of one cluster, and the state last sent to each peer."""

    def __init__(self) -> None:
        self.mark = (-1, -1)
        self.taken: set[Copy] = set()
        self.markers: set[tuple[int, int]] = set()
        self.kept: set[Copy] = set()
        self.kept_markers: set[tuple[int, int]] = set()
        self.history = 0  # how often it was created or reset by an operator
        self.sent: dict[str, tuple[int, set[Copy]]] = {}

    def open(self, mark: tuple[int, int]) -> None:
        self.mark, self.taken, self.markers, self.kept, self.kept_markers = mark, set(), set(), set(), set()
        self.history += 1

    def covered(self, copies: Iterable[Copy]) -> set[Copy]:
        return {copy for copy in copies if copy[2] <= self.mark or copy in self.taken}


class PlainSync:
    """Feed rows in order; `reported` is the state that X had sent to a peer by then."""

    def __init__(self) -> None:
        self.cursors: dict[tuple[str, str, str], PlainCursor] = {}
        self.copies: dict[tuple[str, str], list[Copy]] = {}

    def feed(self, row: dict[str, Any]) -> None:
        handler = getattr(self, "_" + row["type"].replace(".", "_").replace("-", "_"), None)
        if handler is not None:
            handler(row)

    def reported(self, x: str, peer: str, topic: str, subscription: str) -> set[Copy]:
        cursor = self.cursors.get((x, topic, subscription))
        return cursor.sent.get(peer, (0, set()))[1] if cursor is not None else set()

    def _cursor(self, row: dict[str, Any]) -> PlainCursor:
        return self.cursors.setdefault((row["cluster"], row["topic"], row["subscription"]), PlainCursor())

    def _message_stored(self, row):
        self.copies.setdefault((row["cluster"], row["topic"]), []).append(
            (row["producer"], row["sequence_id"], (row["ledger"], row["entry"]))
        )

    def _subscription_created(self, row):
        self._cursor(row).open((row["ledger"], row["entry"]))

    def _subscription_deleted(self, row):
        self._cursor(row).open((-1, -1))

    def _message_registered(self, row):
        self._cursor(row).taken.add((row["producer"], row["sequence_id"], (row["ledger"], row["entry"])))

    def _cursor_moved(self, row):
        cursor, to = self._cursor(row), (row["to_ledger"], row["to_entry"])
        if row["reason"] == "reset":
            cursor.open(to)
        cursor.mark = to

    def _cursor_persisted(self, row):
        cursor = self._cursor(row)
        cursor.kept, cursor.kept_markers = set(cursor.taken), set(cursor.markers)

    def _marker_filtered(self, row):
        self._cursor(row).markers.add((row["ledger"], row["entry"]))

    def _cursor_recovered(self, row):
        cursor, mark = self._cursor(row), (row["ledger"], row["entry"])
        places = {copy[2] for copy in cursor.kept} | cursor.kept_markers
        # a broker that persists fewer keeps the lowest positions
        kept = sorted(place for place in places if place > mark)[: row["count"]]
        cursor.taken, cursor.mark = {copy for copy in cursor.kept if copy[2] <= mark or copy[2] in kept}, mark
        cursor.markers = {place for place in cursor.kept_markers if place in kept}

    def _acknowledgements_sent(self, row):
        cursor = self._cursor(row)
        history, before = cursor.sent.get(row["peer"], (cursor.history, set()))
        now = cursor.covered(self.copies.get((row["cluster"], row["topic"]), ()))
        cursor.sent[row["peer"]] = cursor.history, now | before if history == cursor.history else now


def sync_causes(trace: Any, failovers: list[Any]) -> list[dict[str, int]]:
    """By failover, of its duplicates that counting attributed to sync, the number that each of the two
    causes has by this recount.
    """
    rows = list(trace.rows())
    down: dict[str, int] = {}
    found = []
    for failover in failovers:
        counted = {"sync_in_flight": 0, "after_last_sync": 0}
        down = crashed_before(rows, failover.opened_seq)
        for one in failover.duplicates_list:
            if one.cause in counted:
                acked = rows[one.acknowledged_seq]
                recount = _recount_up_to(
                    rows, min(failover.opened_seq, down.get(one.acknowledged_in, failover.opened_seq))
                )
                copy = (one.producer, one.sequence_id, (acked["ledger"], acked["entry"]))
                was_sent = copy in recount.reported(
                    one.acknowledged_in, failover.target, acked["topic"], failover.subscription
                )
                counted["sync_in_flight" if was_sent else "after_last_sync"] += 1
        found.append(counted)
    return found


def crashed_before(rows: list[dict[str, Any]], seq: int) -> dict[str, int]:
    """Clusters that are down at a row: the seq of their last crash."""
    down: dict[str, int] = {}
    for row in rows[:seq]:
        if row["type"] in ("cluster.crashed", "cluster.lost"):
            down.setdefault(row["cluster"], row["seq"])
        elif row["type"] == "cluster.restarted":
            down.pop(row["cluster"], None)
    return down


_accounts: dict[tuple[int, int], PlainSync] = {}


def _recount_up_to(rows: list[dict[str, Any]], end_seq: int) -> PlainSync:
    """The recount of the rows up to and with `end_seq`; the last one requested is kept."""
    key = (id(rows), end_seq)
    if key not in _accounts:
        _accounts.clear()
        account = _accounts[key] = PlainSync()
        for row in rows[: end_seq + 1]:
            account.feed(row)
    return _accounts[key]
