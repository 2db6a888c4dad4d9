"""Counts durable shared subscriptions in plain Python, row by row, from docs/counting.md alone.

It shares nothing but the trace with `simulator.protocols.emqx.verdicts` and `spark_reports`. Time advances
from one event to the next; a cause is searched in all rows of its stream.
"""

from __future__ import annotations

from collections import defaultdict
from math import ceil

Row = dict
FOR_EVER = 10**15
LEASE_ENDS = ("gone", "unsubscribing")


def recount(rows: list[Row], scenario) -> dict[str, dict]:
    """`groups` of the summary."""
    told = {}
    for row in rows:
        if row["type"] == "group.declared" and row["subscription"] not in told:
            told[row["subscription"]] = recount_one(rows, row, scenario)
    return told


def recount_one(rows: list[Row], declared: Row, scenario) -> dict:
    group, asked = declared["subscription"], declared["detail"]
    wanted = asked.removeprefix("$queue/") if asked.startswith("$queue/") else asked.split("/", 2)[2]
    mine = [row for row in rows if row.get("subscription") == group]
    streams = [
        row["topic"]
        for row in rows
        if row["type"] == "stream.opened" and is_of(row["topic"].split("/", 2)[2], wanted)
    ]
    sums = dict.fromkeys(
        (
            "published",
            "delivered",
            "acknowledged",
            "duplicates",
            "redeliveries",
            "lost",
            "lost_qos0",
            "waiting",
            "pending_repeats",
            "handovers",
            "unowned_us",
            "two_readers",
            "two_readers_us",
            "messages_twice",
        ),
        0,
    )
    sums["by_cause"] = dict.fromkeys(
        (
            "progress_unreported",
            "progress_unpersisted",
            "owner_declared_dead",
            "progress_rewound",
            "chunk_repeated",
            "leader_outdated",
        ),
        0,
    )
    gaps: list[int] = []
    by_stream, everywhere = by_topic(mine), [row for row in mine if "topic" not in row]
    lives = lives_of(mine)
    stored = by_topic(row for row in rows if row["type"] == "message.stored")
    for stream in streams:
        count_messages(by_stream[stream], stored[stream], lives, scenario, sums)
        in_order = sorted(by_stream[stream] + everywhere, key=lambda row: row["seq"])
        count_readers(in_order, rows[-1]["at_us"], sums, gaps)
        sums["pending_repeats"] += len(still_to_come(in_order))
    gaps.sort()
    return {
        **sums,
        "streams": len(streams),
        "sessions": len({row["client"] for row in mine if row["type"] == "session.subscribed"}),
        "leader_changes": max(0, sum(row["type"] == "leader.elected" for row in mine) - 1),
        "reordered": reordered(rows, mine),
        "handover_us": {
            name: gaps[max(1, ceil(len(gaps) * share)) - 1] if gaps else None
            for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1))
        },
    }


def by_topic(rows) -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        if "topic" in row:
            found[row["topic"]].append(row)
    return found


def is_of(topic: str, wanted: str) -> bool:
    """Whether a topic matches a filter.

    A wildcard in the first level does not match topics that begin with $.
    """
    return not (topic[0] == "$" and wanted[0] in "+#") and falls_under(topic.split("/"), wanted.split("/"))


def falls_under(names: list[str], levels: list[str]) -> bool:
    """MQTT's wildcards, level by level."""
    if not levels or not names:
        return levels in ([], ["#"]) and not names
    return levels[0] == "#" or (levels[0] in ("+", names[0]) and falls_under(names[1:], levels[1:]))


# --- messages


def lives_of(mine: list[Row]) -> list[list[int]]:
    """For each declaration of the group: the instant from which it reads, and the row that destroyed it."""
    lives: list[list[int]] = []
    for row in mine:
        if row["type"] == "group.declared":
            lives.append([row["duration_us"], FOR_EVER])
        elif row["type"] == "group.destroyed":
            lives[-1][1] = row["seq"]
    return lives


def count_messages(rows: list[Row], stored: list[Row], lives: list[list[int]], scenario, sums: dict) -> None:
    passed = position_at_end(rows)
    for message in stored:
        seen = [
            row
            for row in rows
            if row["type"] in ("message.delivered", "message.acknowledged")
            and row["entry"] == message["entry"]
        ]
        deliveries = [row for row in seen if row["type"] == "message.delivered"]
        *_earlier, is_of_the_last = is_of_each = [
            start_us <= message["at_us"] and message["seq"] < until for start_us, until in lives
        ]
        if not seen and not any(is_of_each):
            continue
        sums["published"] += 1
        sums["delivered"] += len(deliveries)
        sums["acknowledged"] += len(seen) - len(deliveries)
        if not seen:
            took = [
                row["client"]
                for row in rows
                if row["type"] == "chunk.fetched" and row["entry"] <= message["entry"] < row["to_entry"]
            ]
            quality = min(
                [
                    scenario.publishers[message["producer"]].qos,
                    *(scenario.sessions[name].qos for name in took),
                ]
            )
            sums[
                "waiting"
                if passed <= message["entry"] or not is_of_the_last
                else "lost"
                if quality
                else "lost_qos0"
            ] += 1
        twice = False
        for again in deliveries[1:]:
            acknowledged = [
                row for row in seen if row["type"] == "message.acknowledged" and row["seq"] < again["seq"]
            ]
            if acknowledged:
                sums["by_cause"][cause(rows, again, acknowledged[-1])] += 1
            sums["duplicates" if acknowledged else "redeliveries"] += 1
            twice = twice or bool(acknowledged)
        sums["messages_twice"] += twice


def position_at_end(rows: list[Row]) -> int:
    """The position up to which the latest leader recorded the stream as read.

    It is 0 when the group never had a leader.
    """
    told = [row for row in rows if row["type"] in ("stream.found", "progress.loaded", "progress.saved")]
    return position_in(told[-1]) if any(row["type"] == "stream.found" for row in told) else 0


def position_in(row: Row) -> int:
    return row.get("to_entry" if row["type"] == "progress.saved" else "entry", FOR_EVER)


def cause(rows: list[Row], again: Row, acknowledged: Row) -> str:
    chunk = next(row for row in rows if row["seq"] == again["cause_seq"])
    if chunk["reason"] == "again":
        return "chunk_repeated"
    reader = (chunk["client"], chunk["count"])
    lease = [
        row
        for row in rows
        if row["type"] == "lease.changed"
        and row["reason"] == "granted"
        and (row["client"], row["count"]) == reader
        and row["seq"] < chunk["seq"]
    ][-1]
    offers = [
        row["seq"]
        for row in rows
        if row["type"] == "assignment.changed"
        and row["reason"] == "granting"
        and (row["client"], row["count"]) == reader
        and row["seq"] < lease["seq"]
    ]
    decided = offers[-1] if offers else lease["seq"]
    before = [row for row in rows if row["seq"] < decided]
    beyond = [row for row in before if position_in(row) > again["entry"]]
    taken = [row for row in beyond if row["type"] in ("progress.saved", "stream.found")]
    done = any(
        row["type"] == "progress.told"
        and row["client"] == acknowledged["client"]
        and row["seq"] > acknowledged["seq"]
        for row in beyond
    )
    if done and not any(row["seq"] > acknowledged["seq"] for row in taken):
        return "progress_unreported"
    if any(row["count"] != lease["ledger"] for row in taken) and not any(
        row["type"] == "progress.persisted" for row in beyond
    ):
        return "progress_unpersisted"
    if acknowledged["seq"] > decided:
        return "owner_declared_dead"
    first_known = min(
        (
            row["seq"]
            for row in beyond
            if row["type"] in ("progress.saved", "stream.found", "progress.persisted")
        ),
        default=FOR_EVER,
    )
    if any(
        row["type"] in ("progress.saved", "stream.found")
        and row["seq"] > first_known
        and position_in(row) <= again["entry"]
        for row in before
    ):
        return "progress_rewound"
    if not done:
        return "chunk_repeated"
    assert any(row["count"] != lease["ledger"] for row in taken), "no cause holds"
    return "leader_outdated"


def reordered(rows: list[Row], mine: list[Row]) -> int:
    client_of = {
        (row["producer"], row["sequence_id"]): row["key"]
        for row in rows
        if row["type"] == "message.published"
    }
    newest: dict[tuple, int] = {}
    older = 0
    for row in mine:
        if row["type"] == "message.delivered":
            order = (
                row["producer"],
                client_of[row["producer"], row["sequence_id"]],
                row["topic"].split("/", 2)[2],
            )
            older += row["sequence_id"] < newest.get(order, -1)
            newest[order] = max(newest.get(order, -1), row["sequence_id"])
    return older


def still_to_come(rows: list[Row]) -> set[int]:
    """The messages of a stream that were delivered and may be delivered again after the last row."""
    shared, position = False, 0
    had: set[int] = set()
    reading: dict[tuple, tuple[int, set[int]]] = {}  # by reader, from where and what its client got since
    for row in rows:
        kind, who = row["type"], (row.get("client"), row.get("count"))
        if kind in ("stream.found", "progress.loaded", "progress.saved"):
            position = position_in(row)
        if kind == "stream.found":
            shared = True
        elif kind == "group.destroyed" or (kind == "progress.saved" and position == FOR_EVER):
            shared = False
        elif kind == "lease.changed" and row["reason"] == "granted":
            reading[who] = (position_in(row), set())
        elif kind == "lease.changed" or (kind == "borrower.changed" and row["reason"] in LEASE_ENDS):
            reading.pop(who, None)
        elif kind == "message.delivered":
            had.add(row["entry"])
            for (client, _borrower), (_position, got) in reading.items():
                if client == row["client"]:
                    got.add(row["entry"])
    if not shared:
        return set()
    if not reading:
        return {one for one in had if one >= position}
    return {one for first, got in reading.values() for one in had - got if one >= first}


# --- readers


def count_readers(rows: list[Row], last_us: int, sums: dict, gaps: list[int]) -> None:
    """The readers of each stream, from instant to instant."""
    if not any(row["type"] == "stream.found" for row in rows):
        return
    readings: list[list] = []  # [from, until, client, borrower], in order of granting
    begun_us, over_us = None, None
    for row in rows:
        kind, who = row["type"], (row.get("client"), row.get("count"))
        if kind == "stream.found":
            begun_us, over_us = row["at_us"] if begun_us is None else begun_us, None
        elif (
            kind == "progress.saved"
            and "to_entry" not in row
            or kind == "group.destroyed"
            and over_us is None
        ):
            over_us = row["at_us"]
        elif kind == "lease.changed" and row["reason"] == "granted":
            readings.append([row["at_us"], None, *who])
        elif kind == "lease.changed" or (kind == "borrower.changed" and row["reason"] in LEASE_ENDS):
            newest = next((one for one in reversed(readings) if tuple(one[2:]) == who), None)
            if newest is not None and newest[1] is None:
                newest[1] = row["at_us"]
    over_us = last_us if over_us is None else over_us
    for one, other in zip(readings, readings[1:]):
        if one[2] != other[2]:
            gaps.append(max(0, other[0] - (other[0] if one[1] is None else one[1])))
            sums["handovers"] += 1
    whole = [
        (since, min(over_us, over_us if until is None else until), client)
        for since, until, client, _borrower in readings
        if since < over_us
    ]
    sums["two_readers"] += sum(
        max(one[0], other[0]) < min(one[1], other[1]) and one[2] != other[2]
        for place, one in enumerate(whole)
        for other in whole[place + 1 :]
    )
    instants = sorted({begun_us, over_us, *(at for since, until, _client in whole for at in (since, until))})
    for since, until in zip(instants, instants[1:]):
        reading = {client for first, last, client in whole if first <= since and until <= last}
        if since >= begun_us and until <= over_us:
            sums["unowned_us"] += 0 if reading else until - since
        sums["two_readers_us"] += until - since if len(reading) > 1 else 0
