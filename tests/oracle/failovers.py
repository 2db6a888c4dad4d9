"""Counts failovers in plain Python, row by row: slow, without numpy, and worded like docs/counting.md.

It shares nothing but the trace with `simulator.protocols.pulsar.verdicts` (numpy) and `spark_reports`
(Spark): tests compare both with it. Causes of duplicates are in `test_counting_causes`; every other number of
a failover is here.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from tests.oracle.draining import PlainDraining

Message = tuple[str, int]


class PlainCursor:
    """One subscription in one cluster's topic, as its rows describe it."""

    def __init__(self) -> None:
        self.mark: tuple[int, int] | None = None
        self.opened: list[tuple[int, int]] = []  # where consumers and operators opened it
        self.opened_seqs: set[int] = set()
        self.passed: dict[int, int] = {}  # copy number -> seq since which the mark-delete is at or above it


class PlainWindow:
    """One failover in progress."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        self.first_delivered: dict[Message, dict[str, Any]] = {}
        self.numbers = {"duplicates": 0, "redeliveries": 0, "extra_deliveries": 0, "reordered": 0}
        self.newest: dict[tuple, int] = {}
        self.remembered = self.span_us = 0
        self.held: set[Message] = set()
        self.stranded: set[Message] = set()
        self.unread: set[Message] = set()
        self.unprocessed = 0
        self.closed = False
        self.result: dict[str, Any] = {}
        self.lost: set[Message] = set()


class PlainRecount:
    """Feed rows in order, then `failovers()`."""

    def __init__(self, scenario: Any) -> None:
        self.scenario = scenario
        self.copies: dict[tuple[str, str], list[dict[str, Any]]] = {}  # (cluster, topic) -> copies
        self.cursors: dict[tuple[str, str, str], PlainCursor] = {}
        self.keys: dict[Message, int | None] = {}
        self.receipted: set[Message] = set()
        # subscription -> kind -> message -> first seq
        self.seen: dict[str, dict[str, dict[Message, int]]] = {}
        self.acks: dict[str, dict[Message, None]] = {}  # subscription -> ids, least recent first
        self.ack_at_us: dict[tuple[str, Message], int] = {}
        self.replicators: dict[tuple[str, str, str], tuple[int, int]] = {}
        self.given_up: set[tuple[str, str, Message]] = set()
        # (cluster that never gets it, topic, message) where a backlog quota moved the replication cursor
        self.quota_passed: set[tuple[str, str, Message]] = set()
        # (subscription, cluster, topic, message) -> the first row by which the client dropped it, for an ack
        # in another cluster
        self.dropped: dict[tuple[str, str, str, Message], int] = {}
        self.down_since: dict[str, int] = {}
        self.lost_clusters: set[str] = set()
        self.windows: list[PlainWindow] = []
        self.at_us: list[int] = []
        self.draining = PlainDraining({name: spec.topic for name, spec in scenario.subscriptions.items()})

    def feed(self, row: dict[str, Any]) -> None:
        self.at_us.append(row["at_us"])
        self.draining.feed(row)
        handler = getattr(self, "_" + row["type"].replace(".", "_").replace("-", "_"), None)
        if handler is not None:
            handler(row)

    # --- clusters and replicators

    def _cluster_crashed(self, row):
        self.down_since.setdefault(row["cluster"], row["at_us"])

    def _cluster_lost(self, row):
        self._cluster_crashed(row)
        self.lost_clusters.add(row["cluster"])
        for (cluster, _), copies in self.copies.items():
            for copy in copies:
                if cluster == row["cluster"] and copy["removed"] is None:
                    copy["removed"], copy["with_cluster"] = row["seq"], True

    def _cluster_restarted(self, row):
        self.down_since.pop(row["cluster"], None)

    def _replicator_created(self, row):
        self.replicators[row["cluster"], row["peer"], row["topic"]] = (row["ledger"], row["entry"])

    def _replicator_removed(self, row):
        self.replicators.pop((row["cluster"], row["peer"], row["topic"]), None)

    # --- messages

    def _message_published(self, row):
        self.keys[row["producer"], row["sequence_id"]] = row.get("key")

    def _message_stored(self, row):
        copies = self.copies.setdefault((row["cluster"], row["topic"]), [])
        copies.append(
            {
                "number": len(copies),
                "message": (row["producer"], row["sequence_id"]),
                "place": (row["ledger"], row["entry"]),
                "native": "peer" not in row,
                "removed": None,
            }
        )
        for (_, cluster, topic), cursor in self.cursors.items():
            if (cluster, topic) == (row["cluster"], row["topic"]):
                self._pass(cursor, [copies[-1]], row["seq"])

    def _message_receipted(self, row):
        self.receipted.add((row["producer"], row["sequence_id"]))

    def _message_not_replicated(self, row):
        message = (row["producer"], row["sequence_id"])
        self.given_up.add((row["cluster"], row["peer"], message))
        if row["reason"] == "backlog-quota":
            self.quota_passed.add((row["peer"], row["topic"], message))

    def _message_deduplicated(self, row):
        if "peer" in row:
            self.given_up.add((row["peer"], row["cluster"], (row["producer"], row["sequence_id"])))

    def _ledger_trimmed(self, row):
        for copy in self.copies.get((row["cluster"], row["topic"]), []):
            if copy["place"][0] == row["ledger"] and copy["removed"] is None:
                copy["removed"] = row["seq"]

    # --- the application

    def _first(self, row, kind: str) -> dict[Message, int]:
        return self.seen.setdefault(row["subscription"], {}).setdefault(kind, {})

    def _note(self, row, kind: str) -> Message:
        message = (row["producer"], row["sequence_id"])
        self._first(row, kind).setdefault(message, row["seq"])
        return message

    def _message_acknowledged(self, row):
        message = self._note(row, "acknowledged")
        recent = self.acks.setdefault(row["subscription"], {})
        recent.pop(message, None)
        recent[message] = None
        self.ack_at_us[row["subscription"], message] = row["at_us"]

    def _message_expired(self, row):
        self._note(row, "expired")

    def _message_skipped(self, row):
        self._note(row, "skipped")

    def _message_evicted(self, row):
        self._note(row, "evicted")

    def _message_dropped(self, row):
        if row["peer"] != row["cluster"]:
            message = (row["producer"], row["sequence_id"])
            self.dropped.setdefault((row["subscription"], row["cluster"], row["topic"], message), row["seq"])

    def _message_delivered(self, row):
        message = (row["producer"], row["sequence_id"])
        self.dropped.pop((row["subscription"], row["cluster"], row["topic"], message), None)
        for window in self.windows:
            if window.row["subscription"] != row["subscription"]:
                continue
            if window.closed:
                window.result["lost_recovered"] += message in window.lost
                window.lost.discard(message)
            elif window.row["peer"] == row["cluster"]:
                self._delivered_in(window, row, message)
        self._note(row, "delivered")

    def _delivered_in(self, window: PlainWindow, row, message: Message) -> None:
        numbers = window.numbers
        key = self.keys.get(message)
        group = (message[0], key)
        numbers["reordered"] += window.newest.get(group, -1) > message[1]
        window.newest[group] = max(window.newest.get(group, -1), message[1])
        if message in window.first_delivered:
            numbers["extra_deliveries"] += 1
            return
        window.first_delivered[message] = row
        if message in self._first(row, "acknowledged"):
            numbers["duplicates"] += 1
            most_recent_first = reversed(self.acks[row["subscription"]])
            place = next(place for place, one in enumerate(most_recent_first, 1) if one == message)
            window.remembered = max(window.remembered, place)
            window.span_us = max(window.span_us, row["at_us"] - self.ack_at_us[row["subscription"], message])
        elif message in self._first(row, "delivered"):
            numbers["redeliveries"] += 1

    # --- cursors

    def _cursor(self, row) -> PlainCursor:
        return self.cursors.setdefault((row["subscription"], row["cluster"], row["topic"]), PlainCursor())

    def _set(self, row, mark: tuple[int, int] | None) -> None:
        cursor = self._cursor(row)
        copies = self.copies.get((row["cluster"], row["topic"]), [])
        # Copies are in the order of positions: only those between the old mark and the new one can change.
        low, high = sorted((cursor.mark or (-1, -1), mark or (-1, -1)))
        first, last = (bisect_right(copies, place, key=lambda copy: copy["place"]) for place in (low, high))
        cursor.mark = mark
        self._pass(cursor, copies[first:last], row["seq"])

    def _pass(self, cursor: PlainCursor, copies: list[dict[str, Any]], seq: int) -> None:
        for copy in copies:
            if cursor.mark is not None and copy["place"] <= cursor.mark:
                cursor.passed.setdefault(copy["number"], seq)
            else:
                cursor.passed.pop(copy["number"], None)

    def _subscription_created(self, row):
        cursor = self._cursor(row)
        cursor.opened_seqs.add(row["seq"])
        if row["reason"] not in ("update", "acknowledgement-sync", "migration"):
            cursor.opened.append((row["ledger"], row["entry"]))
        self._set(row, (row["ledger"], row["entry"]))

    def _subscription_deleted(self, row):
        self._set(row, None)

    def _cursor_moved(self, row):
        self._set(row, (row["to_ledger"], row["to_entry"]))

    def _cursor_recovered(self, row):
        self._set(row, (row["ledger"], row["entry"]))

    def _update_applied(self, row):
        self._set(row, max((row["to_ledger"], row["to_entry"]), self._cursor(row).mark or (-1, -1)))

    # --- windows

    def topics(self, subscription: str) -> list[str]:
        base = self.scenario.subscriptions[subscription].topic
        return sorted(
            {topic for _, topic in self.copies if topic == base or topic.startswith(base + "-partition-")}
        )

    def _failover_started(self, row):
        for window in self.windows:
            if window.row["subscription"] == row["subscription"] and not window.closed:
                self._close(window)
        window = PlainWindow(row)
        window.down_us = self.down_since.get(row["cluster"], row["at_us"])
        acknowledged = self._first(row, "acknowledged")
        for topic in self.topics(row["subscription"]):
            source, target = (
                self.copies.get((cluster, topic), []) for cluster in (row["cluster"], row["peer"])
            )
            there = {copy["message"] for copy in target}
            stranded = {
                copy["message"] for copy in source if copy["removed"] is None or "with_cluster" in copy
            } - there
            window.stranded |= stranded & self.receipted
            window.held |= {copy["message"] for copy in target if copy["removed"] is None}
        window.unread = window.stranded - set(acknowledged)
        window.unprocessed = len(window.unread)
        self.windows.append(window)

    def _close(self, window: PlainWindow) -> None:
        row = window.row
        subscription, target = row["subscription"], row["peer"]
        kinds = {kind: self._first(row, kind) for kind in ("acknowledged", "expired", "skipped", "delivered")}
        settled: dict[Message, int] = {}
        tally = {"expired": 0, "skipped": 0}
        by_cause = {
            "subscription_began_after": 0,
            "cursor_moved_past": 0,
            "never_replicated": 0,
            "removed": 0,
            "dropped_by_client": 0,
            "evicted_by_quota": 0,
        }
        for topic in self.topics(subscription):
            cursor = self.cursors.get((subscription, target, topic), PlainCursor())
            going = self._going(target, topic, cursor)
            for message, (seq, _) in going.items():
                dropped = self.dropped.get((subscription, target, topic, message))
                if dropped is not None and (seq is None or dropped < seq):
                    going[message] = (dropped, "dropped_by_client")
            settled |= {message: seq for message, (seq, _) in going.items() if seq is not None}
            for message in sorted(self._owed(subscription, topic) & self.receipted):
                if message in kinds["acknowledged"]:
                    continue
                seq, cause = going.get(message, (None, None))
                if message not in going:
                    cause = "never_replicated" if not self._to_send(message, topic, target) else None
                    seq = -1 if cause else None
                if seq is None:
                    continue
                if cause == "cursor_moved_past" and message in self._first(row, "evicted"):
                    cause = "evicted_by_quota"
                if cause == "never_replicated" and (target, topic, message) in self.quota_passed:
                    cause = "evicted_by_quota"
                if message in kinds["expired"]:
                    tally["expired"] += 1
                elif message in kinds["skipped"]:
                    tally["skipped"] += 1
                else:
                    window.lost.add(message)
                    by_cause[cause] += 1
        window.closed = True
        window.result = {
            **window.numbers,
            **tally,
            "lost": len(window.lost),
            "lost_recovered": 0,
            "lost_by_cause": by_cause,
            "stranded": len(window.stranded),
            "stranded_unprocessed": window.unprocessed,
            "dedup_window_messages": window.remembered,
            "dedup_window_us": window.span_us,
            "caught_up_us": self._caught_up(window, kinds, settled),
            "mode": row["reason"],
        }
        first = min(window.first_delivered.values(), key=lambda delivered: delivered["seq"], default=None)
        window.result["first_delivery_us"] = first["at_us"] if first else None
        window.result["outage_us"] = first["at_us"] - window.down_us if first else None

    def _going(
        self, target: str, topic: str, cursor: PlainCursor
    ) -> dict[Message, tuple[int | None, str | None]]:
        """Each message in the target's log: since when it cannot be delivered and why, (None, None) while
        it can.
        """
        going: dict[Message, tuple[int | None, str | None]] = {}
        for copy in self.copies.get((target, topic), []):
            passed, removed = cursor.passed.get(copy["number"]), copy["removed"]
            if passed is None and removed is None:
                gone = (None, None)
            elif passed is None or (removed is not None and removed <= passed):
                gone = (removed, "removed")
            else:
                gone = (
                    passed,
                    "subscription_began_after" if passed in cursor.opened_seqs else "cursor_moved_past",
                )
            before = going.get(copy["message"])
            if before is None or (before[0] is not None and (gone[0] is None or gone[0] > before[0])):
                going[copy["message"]] = gone
        return going

    def _owed(self, subscription: str, topic: str) -> set[Message]:
        everything = {
            copy["message"] for (_, name), copies in self.copies.items() if name == topic for copy in copies
        }
        owed: set[Message] = set()
        for (name, cluster, of), cursor in self.cursors.items():
            if name == subscription and of == topic and cursor.opened:
                copies = self.copies.get((cluster, topic), [])
                before = {copy["message"] for copy in copies if copy["place"] <= min(cursor.opened)}
                after = {copy["message"] for copy in copies if copy["place"] > min(cursor.opened)}
                owed |= everything - (before - after)
        return owed

    def _to_send(self, message: Message, topic: str, target: str) -> bool:
        """Whether a replication cursor still has a message that the target never stored."""
        for (cluster, name), copies in self.copies.items():
            began = self.replicators.get((cluster, target, topic))
            if (
                name != topic
                or began is None
                or {cluster, target} & self.lost_clusters
                or (cluster, target, message) in self.given_up
            ):
                continue
            if any(
                copy["message"] == message
                and copy["native"]
                and copy["place"] > began
                and copy["removed"] is None
                for copy in copies
            ):
                return True
        return False

    def _caught_up(self, window: PlainWindow, kinds, settled: dict[Message, int]) -> int | None:
        latest = window.row["seq"]
        for message in window.held:
            seqs = [
                kinds[kind][message]
                for kind in ("acknowledged", "expired", "skipped")
                if message in kinds[kind]
            ]
            seqs += [settled[message]] if message in settled else []
            if not seqs:
                return None
            latest = max(latest, min(seqs))
        return self.at_us[latest]

    def _pending_repeats(self, window: PlainWindow, draining: Any) -> int | None:
        """Messages that were handled before and that the target may still deliver in the window."""
        if draining.next_began:
            return None
        handled = {
            message for kind in ("delivered", "acknowledged") for message in self._first(window.row, kind)
        }
        place = (window.row["subscription"], window.row["peer"])
        return len(
            {
                message
                for topic, message in self.draining.left(draining)
                if message in handled
                and message not in window.first_delivered
                and (*place, topic, message) not in self.dropped
            }
        )

    def failovers(self) -> list[dict[str, Any]]:
        for window, draining in zip(self.windows, self.draining.windows, strict=True):
            if not window.closed:
                self._close(window)
            window.result["drained_us"] = draining.drained_us
            window.result["pending_repeats"] = self._pending_repeats(window, draining)
            target = {
                copy["message"]
                for (cluster, _), copies in self.copies.items()
                if cluster == window.row["peer"]
                for copy in copies
            }
            window.result["stranded_returned"] = len(window.stranded & target)
            window.result["stranded_missing"] = len(window.unread - target)
        return [window.result for window in self.windows]


def recount(trace: Any, scenario: Any) -> list[dict[str, Any]]:
    """Every failover's numbers except `by_cause`."""
    plain = PlainRecount(scenario)
    for row in trace.rows():
        plain.feed(row)
    return plain.failovers()
