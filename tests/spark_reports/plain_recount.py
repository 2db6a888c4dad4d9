"""The headline counts once more, in plain Python, row by row: slow, and written from the definitions alone.

Shares nothing with `simulator.protocols.pulsar.verdicts` (numpy) and `spark_reports` (Spark), so that a
mistake in one of the three shows.
"""

from __future__ import annotations

from collections import defaultdict

Row = dict
Message = tuple[str, int]


def message_of(row: Row) -> Message:
    return row["producer"], row["sequence_id"]


def place_of(row: Row, ledger: str = "ledger", entry: str = "entry") -> tuple[int, int]:
    return row[ledger], row[entry]


def recount(rows: list[Row]) -> list[dict]:
    """Each failover's headline counts."""
    moves = [row for row in rows if row["type"] == "failover.started"]
    told = []
    for place, move in enumerate(moves):
        later = [
            other["seq"] for other in moves[place + 1 :] if other["subscription"] == move["subscription"]
        ]
        told.append(recount_one(rows, move, later[0] if later else len(rows)))
    return told


def recount_one(rows: list[Row], move: Row, closed: int) -> dict:
    subscription, target, opened = move["subscription"], move["peer"], move["seq"]
    acknowledged: dict[Message, int] = {}
    acknowledged_us: dict[Message, int] = {}
    delivered: set[Message] = set()
    judged: set[Message] = set()
    newest: dict[tuple, int] = {}
    keys = {message_of(row): row.get("key") for row in rows if row["type"] == "message.published"}
    counts = dict.fromkeys(("duplicates", "redeliveries", "extra_deliveries", "reordered"), 0)
    dedup_us, first_us = 0, None
    for row in rows[:closed]:
        if row.get("subscription") != subscription or row["type"] not in (
            "message.acknowledged",
            "message.delivered",
        ):
            continue
        message = message_of(row)
        if row["type"] == "message.acknowledged":
            acknowledged[message], acknowledged_us[message] = row["seq"], row["at_us"]
            continue
        if row["seq"] > opened and row["cluster"] == target:
            first_us = row["at_us"] if first_us is None else first_us
            of_key = (message[0], keys.get(message))
            counts["reordered"] += newest.get(of_key, -1) > message[1]
            newest[of_key] = max(newest.get(of_key, -1), message[1])
            if message in judged:
                counts["extra_deliveries"] += 1
            elif message in acknowledged:
                counts["duplicates"] += 1
                dedup_us = max(dedup_us, row["at_us"] - acknowledged_us[message])
            elif message in delivered:
                counts["redeliveries"] += 1
            judged.add(message)
        delivered.add(message)
    ended_us = crash_before(rows, move["cluster"], opened)
    outage = None if first_us is None else first_us - (move["at_us"] if ended_us is None else ended_us)
    return {
        **counts,
        **stranded(rows, move),
        "lost": lost(rows, move, closed),
        "first_delivery_us": first_us,
        "outage_us": outage,
        "dedup_us": dedup_us,
    }


def crash_before(rows: list[Row], cluster: str, opened: int) -> int | None:
    """When the cluster crashed, if it had not come back."""
    since = None
    for row in rows[:opened]:
        if row.get("cluster") == cluster and row["type"] in ("cluster.crashed", "cluster.lost"):
            since = row["at_us"] if since is None else since
        elif row.get("cluster") == cluster and row["type"] == "cluster.restarted":
            since = None
    return since


def topics_of(rows: list[Row], subscription: str) -> set[str]:
    return {
        row["topic"]
        for row in rows
        if row["type"] == "subscription.created" and row["subscription"] == subscription
    }


def stranded(rows: list[Row], move: Row) -> dict[str, int]:
    opened, topics = move["seq"], topics_of(rows, move["subscription"])
    receipted = {message_of(row) for row in rows[:opened] if row["type"] == "message.receipted"}
    here: set[Message] = set()
    there, later = set(), set()
    for row in rows:
        if row.get("topic") not in topics:
            continue
        if row["type"] == "message.stored" and row["cluster"] == move["cluster"] and row["seq"] < opened:
            here.add(message_of(row))
        elif row["type"] == "message.removed" and row["cluster"] == move["cluster"] and row["seq"] < opened:
            here.discard(message_of(row))
        elif row["type"] == "message.stored" and row["cluster"] == move["peer"]:
            (there if row["seq"] < opened else later).add(message_of(row))
    left = (here & receipted) - there
    acked = {
        message_of(row)
        for row in rows[:opened]
        if row["type"] == "message.acknowledged" and row["subscription"] == move["subscription"]
    }
    return {
        "stranded": len(left),
        "stranded_unprocessed": len(left - acked),
        "stranded_returned": len(left & later),
    }


def lost(rows: list[Row], move: Row, closed: int) -> int:
    """Receipted, owed, settled nowhere, and out of the target's reach when the window closes."""
    subscription, target, topics = move["subscription"], move["peer"], topics_of(rows, move["subscription"])
    mark: dict[str, tuple[int, int] | None] = {}
    opened_at: dict[tuple[str, str], tuple[int, int]] = {}
    held: dict[Message, dict[tuple[str, tuple[int, int]], None]] = defaultdict(dict)
    origin: dict[Message, tuple[str, str, tuple[int, int]]] = {}
    sends: dict[tuple[str, str], tuple[int, int] | None] = {}
    receipted, settled, passed, ever = set(), set(), set(), set()
    owed_places: dict[Message, list[tuple[str, str, tuple[int, int]]]] = defaultdict(list)
    gone_clusters = set()
    for row in rows[:closed]:
        kind, topic = row["type"], row.get("topic")
        if kind == "cluster.lost":
            gone_clusters.add(row["cluster"])
        if topic not in topics:
            continue
        mine = row.get("subscription") == subscription
        if kind == "message.receipted":
            receipted.add(message_of(row))
        elif kind in ("message.acknowledged", "message.expired", "message.skipped") and mine:
            settled.add(message_of(row))
        elif kind == "message.stored":
            owed_places[message_of(row)].append((row["cluster"], topic, place_of(row)))
            if row["cluster"] == target:
                ever.add(message_of(row))
                held[message_of(row)][(topic, place_of(row))] = None
            elif "peer" not in row:
                origin[message_of(row)] = (row["cluster"], topic, place_of(row))
        elif kind == "message.removed" and row["cluster"] == target:
            held[message_of(row)].pop((topic, place_of(row)), None)
        elif (
            kind == "message.not-replicated"
            and row["peer"] == target
            or kind == "message.deduplicated"
            and row["cluster"] == target
        ) or (
            kind == "message.removed"
            and message_of(row) in origin
            and origin[message_of(row)][::2] == (row["cluster"], place_of(row))
        ):
            passed.add(message_of(row))
        elif kind in ("replicator.created", "replicator.removed") and row["peer"] == target:
            sends[(row["cluster"], topic)] = place_of(row) if kind == "replicator.created" else None
        elif (
            kind in ("subscription.created", "cursor.recovered", "cursor.moved", "subscription.deleted")
            and mine
        ):
            if kind == "subscription.created" and row["reason"] != "update":
                where = (row["cluster"], topic)
                opened_at[where] = min(opened_at.get(where, place_of(row)), place_of(row))
            if row["cluster"] == target:
                mark[topic] = (
                    None
                    if kind == "subscription.deleted"
                    else place_of(row, "to_ledger", "to_entry")
                    if kind == "cursor.moved"
                    else place_of(row)
                )

    def reachable(message: Message) -> bool:
        if target in gone_clusters:
            return False
        if message in ever:
            return any(mark.get(topic) is None or place > mark[topic] for topic, place in held[message])
        if message not in origin:
            return True
        cluster, topic, place = origin[message]
        begins = sends.get((cluster, topic))
        return (
            begins is not None and place > begins and message not in passed and cluster not in gone_clusters
        )

    return sum(
        1
        for message in receipted - settled
        if owed(owed_places[message], opened_at) and not reachable(message)
    )


def owed(
    copies: list[tuple[str, str, tuple[int, int]]], opened_at: dict[tuple[str, str], tuple[int, int]]
) -> bool:
    """Where some cursor was opened the message was not yet there: it came later, or (replicate_to) never."""
    for (cluster, topic), mark in opened_at.items():
        here = [place for *where, place in copies if where == [cluster, topic]]
        if any(topic == of for _, of, _ in copies) and (not here or max(here) > mark):
            return True
    return False
