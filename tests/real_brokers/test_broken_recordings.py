"""Recordings that are incomplete or contradict themselves: the error says how, and what would be right."""

from __future__ import annotations

import gzip
import json

import pytest

from script.real_brokers.recording import RecordingError, read_recording, recording_of
from script.real_brokers.rows import convert
from simulator import load_scenario_text

SCENARIO = """
format: 1
name: broken
title: A broken recording
family: replicated-subscriptions
until: 4s
clusters: {west: {}, east: {}}
topics: {orders: {clusters: [west, east]}}
producers:
  shop: {topic: orders, cluster: west, every: 100ms}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: west}
"""

META = {
    "e": "meta",
    "pulsar": "4.2.4",
    "date": "2026-11-24",
    "zero_ns": 1_000_000_000,
    "until_ns": 5_000_000_000,
    "topics": {"orders-r001": "orders"},
    "prefix": "r001/",
}
TOPIC = "persistent://lab/run/orders-r001"
MS_NS = 1_000_000


def at(ms: int) -> int:
    return META["zero_ns"] + ms * MS_NS


def request(do: str, name: str, cluster: str = "west", ms: int = -500) -> dict:
    more = {"subscription": "billing"} if do == "consumer" else {}
    return {"e": "request", "t": at(ms), "do": do, "cluster": cluster, "name": name, "topic": TOPIC, **more}


def sent(kind: str, sequence: int = 0, ms: int = 100, **more) -> dict:
    return {"e": kind, "t": at(ms), "producer": "r001/shop", "sequence": sequence, **more}


def received(kind: str, entry: int = 0, ms: int = 120, sequence: int = 0) -> dict:
    return {
        **sent(kind, sequence, ms),
        "consumer": "r001/billing-1",
        "ledger": 5,
        "entry": entry,
        "type": "individual",
    }


def entry(number: int = 0, ms: int = 101, sequence: int = 0, **more) -> dict:
    return {
        "ledger": 5,
        "entry": number,
        "stored_ns": at(ms),
        "size_bytes": 100,
        "producer": "r001/shop",
        "sequence": sequence,
        "batch": 1,
        "replicated_from": None,
        "marker": None,
        "properties": {},
        **more,
    }


def dump(cluster: str, *entries: dict) -> dict:
    return {"e": "dump", "cluster": cluster, "topic": TOPIC, "entries": list(entries)}


def crash(cluster: str, ms: int) -> dict:
    return {"e": "command", "t": at(ms), "do": "cluster.crash", "arguments": {"cluster": cluster}, "ok": True}


def cursor(number: int, ms: int, cluster: str = "west") -> dict:
    return {
        "e": "cursor",
        "t": at(ms),
        "cluster": cluster,
        "topic": TOPIC,
        "subscription": "billing",
        "ledger": 5,
        "entry": number,
    }


CLIENTS = [request("producer", "r001/shop"), request("consumer", "r001/billing-1")]
PUBLISHED = [*CLIENTS, sent("published")]
STORED = [dump("west", entry()), dump("east")]


def converted(*lines: dict):
    return convert(recording_of([META, *lines]), load_scenario_text(SCENARIO))


def test_a_whole_recording_of_one_message_has_its_rows():
    found = converted(
        *PUBLISHED, sent("receipted", ledger=5, entry=0, ms=102), received("delivered"), *STORED
    )
    rows = {row["type"]: row for row in found.trace.rows()}
    assert rows["message.published"]["at_us"] == 100_000
    assert rows["message.stored"]["cause_seq"] == rows["message.published"]["seq"]
    assert rows["message.delivered"]["evidence_seq"] == rows["message.stored"]["seq"]
    assert rows["message.delivered"]["at_us"] == 120_000


BROKEN = {
    "a missing dump": ([*PUBLISHED, STORED[0]], "no dump of orders in east; every cluster's log is needed"),
    "two dumps of one log": ([*PUBLISHED, *STORED, dump("east")], "two dumps of orders in east"),
    "a receipt without a publish": (
        [*CLIENTS, sent("receipted", ledger=5, entry=0), dump("west"), dump("east")],
        "the receipt of shop/0 in west has no publish before it",
    ),
    "a receipt of an entry that is not in the log": (
        [*PUBLISHED, sent("receipted", ledger=5, entry=7, ms=102), *STORED],
        "the receipt of shop/0 in west names 5:7 of orders in west, which the dump of that log does not have",
    ),
    "a receipt of another message's entry": (
        [*PUBLISHED, sent("published", 1), sent("receipted", 1, ledger=5, entry=0, ms=102), *STORED],
        "the receipt of shop/1 in west names shop/0 at 5:0",
    ),
    "an entry that nobody published": (
        [*CLIENTS, *STORED],
        "shop/0 at 5:0 of orders in west was stored, but",
    ),
    "a delivery from nowhere": (
        [*PUBLISHED, received("delivered", entry=9), *STORED],
        "delivered of shop/0 to billing-1 names 5:9 of orders in west",
    ),
    "an acknowledgement without a delivery": (
        [*PUBLISHED, received("acknowledged"), *STORED],
        "acknowledged of shop/0 to billing-1 comes before its delivery",
    ),
    "a copy without an original": (
        [*PUBLISHED, STORED[0], dump("east", entry(3, 200, 4, replicated_from="west"))],
        "shop/4 at 5:3 of orders in east was replicated from west, whose dump has no such entry",
    ),
    "a copy from a cluster without the topic": (
        [*PUBLISHED, STORED[0], dump("east", entry(3, 200, replicated_from="mars"))],
        "was replicated from mars, which has no such topic",
    ),
    "a cluster killed twice": (
        [*PUBLISHED, crash("west", 500), crash("west", 900), *STORED],
        "west was killed twice without a restart between",
    ),
    "a restart without a crash": (
        [
            *PUBLISHED,
            {
                "e": "command",
                "t": at(9),
                "do": "cluster.restart",
                "arguments": {"cluster": "west"},
                "ok": True,
            },
            *STORED,
        ],
        "west was restarted but never killed",
    ),
    "a cursor that goes back": (
        [
            *PUBLISHED,
            sent("published", 1),
            cursor(1, 400),
            cursor(0, 500),
            dump("west", entry(), entry(1, 105, 1)),
            dump("east"),
        ],
        "went back from 5:1 to 5:0, and the recording has neither a reset nor a restart",
    ),
    "a client that nobody placed": (
        [sent("published"), *STORED],
        "published of shop has no cluster, and no request",
    ),
    "an unknown producer": (
        [request("producer", "r001/web"), {**sent("published"), "producer": "r001/web"}, *STORED],
        "web published, but the scenario has no such producer; it has shop",
    ),
    "an unknown topic": (
        [{"e": "cursor", "t": at(1), "cluster": "west", "topic": "persistent://lab/run/other-r001"}],
        "names the topic persistent://lab/run/other-r001, which its meta does not",
    ),
    "an unknown marker": (
        [*CLIENTS, dump("west", entry(marker={"type": "TXN_COMMIT"})), dump("east")],
        "'TXN_COMMIT' is not a marker type of replicated subscriptions",
    ),
    "a marker without its fields": (
        [*CLIENTS, dump("west", entry(marker={"type": 13, "clusters": []})), dump("east")],
        "a subscription_update marker lacks 'subscription_name'",
    ),
    "an entry without its instant": (
        [*CLIENTS, dump("west", entry(stored_ns=None)), dump("east")],
        "an entry of the dump of orders in west has no stored_ns",
    ),
    "an event without its instant": ([{"e": "published"}], "line 2 of the recording has no e or no t"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_recording_is_refused_with_the_reason(case):
    lines, words = BROKEN[case]
    with pytest.raises(RecordingError) as error:
        converted(*lines)
    assert words in str(error.value)


def test_a_recording_without_meta_is_refused():
    with pytest.raises(RecordingError, match="missing: pulsar, date, zero_ns"):
        recording_of([{"e": "meta", "until_ns": 1, "topics": {}, "prefix": ""}])
    with pytest.raises(RecordingError, match="the first line of a recording is its meta"):
        recording_of([])


def test_two_clusters_killed_at_once_make_a_whole_run():
    found = converted(*PUBLISHED, crash("west", 500), crash("east", 600), *STORED)
    crashed = found.trace.rows(types=("cluster.crashed", "topic.unloaded"))
    assert [(row["type"], row["cluster"], row["at_us"]) for row in crashed] == [
        ("cluster.crashed", "west", 500_000),
        ("topic.unloaded", "west", 500_000),
        ("cluster.crashed", "east", 600_000),
        ("topic.unloaded", "east", 600_000),
    ]


def test_events_and_entries_after_the_end_of_the_run_are_left_out():
    late = [sent("published", 1, 9_000), dump("west", entry(), entry(1, 9_001, 1)), dump("east")]
    assert len(converted(*PUBLISHED, *late).trace.rows(types=("message.published", "message.stored"))) == 2


def test_what_came_before_instant_0_is_at_0_in_its_order():
    consumer = {"e": "consumer", "cluster": "west", "topic": TOPIC, "subscription": "billing"}
    connected = {**consumer, "t": at(-300), "consumer": "r001/billing-1", "state": "connected"}
    started = {"e": "controller", "t": at(-200), "cluster": "west", "topic": TOPIC, "state": "started"}
    rows = converted(*PUBLISHED, started, connected, *STORED).trace.rows()
    first = [row for row in rows if row["type"] in ("consumer.connected", "controller.started")]
    assert [(row["type"], row["at_us"]) for row in first] == [
        ("consumer.connected", 0),
        ("controller.started", 0),
    ]
    ticks = [row["at_us"] for row in rows if row["type"] == "snapshot.refused"]
    assert ticks[0] == 800_000  # the ticks before instant 0 have no rows


def test_a_recording_is_read_from_its_file(tmp_path):
    path = tmp_path / "raw.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in [META, *PUBLISHED, *STORED])
    recording = read_recording(path)
    assert [event["producer"] for event in recording.of("published")] == ["shop"]
    assert recording.dumps["west", "orders"][0]["producer"] == "shop"
