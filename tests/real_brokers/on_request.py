"""Three failovers between two real clusters: `script/test --real-brokers`, not part of the suite.

Brokers are real, so figures vary. What must hold in every run: no message is lost, each consumer receives exactly
what its cursor had not passed, and every process uses one clock.
"""

from __future__ import annotations

from collections import Counter

import pytest

from script.real_brokers.install import installed
from script.real_brokers.rig import NAMES, SUBSCRIPTION, Pair

PLACES = ("west", "east", "west", "east")
MESSAGES, EVERY_MS, MESSAGES_OF_A_CONSUMER = 120, 50, 30


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two clusters after three failovers, each after 30 messages more; everything is acknowledged at the end."""
    pair = Pair(tmp_path_factory.mktemp("pair"), installed("4.2.4", print))
    try:
        pair.start()
        for number, place in enumerate(PLACES):
            pair.consume(f"{place}-{number}", place)
            if number == 0:
                pair.publish(MESSAGES, EVERY_MS)
            enough = min(MESSAGES_OF_A_CONSUMER * (number + 1), MESSAGES)
            pair.until(lambda enough=enough: len(set(pair.delivered())) >= enough, f"{enough} messages")
            pair.clients.request("consumer.close", name=f"{place}-{number}")
        pair.until(lambda: acked_everything(pair), "the last acks in east")
        yield pair
    finally:
        pair.close()


def acked_everything(pair):
    last = {
        one["sequence"] for one in pair.seen if one["e"] == "acknowledged" and one["consumer"] == "east-3"
    }
    acks = {one["entry"] for one in pair.seen if one["e"] == "ack" and one["consumer"] == "east-3"}
    return last and len(acks) >= len(last)


def test_every_message_is_stored_in_both_clusters_and_delivered(pair):
    assert set(pair.delivered()) == set(range(MESSAGES))
    for cluster in NAMES:
        stored = [one["sequence"] for one in pair.dump(cluster) if not one["marker"]]
        assert stored == list(range(MESSAGES))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_failover_repeats_what_the_cursor_of_the_other_cluster_had_not_passed(pair, number):
    place, consumer = PLACES[number], f"{PLACES[number]}-{number}"
    received = [
        (one["ledger"], one["entry"])
        for one in pair.seen
        if one["e"] == "delivered" and one["consumer"] == consumer
    ]
    first = next(one["t"] for one in pair.seen if one["e"] == "dispatched" and one["consumer"] == consumer)
    cursor = [
        one
        for one in pair.seen
        if (one["e"], one.get("cluster"), one.get("subscription")) == ("cursor", place, SUBSCRIPTION)
        and one["t"] < first
    ][-1]
    mark_deleted = (cursor["ledger"], cursor["entry"])
    after = [
        (one["ledger"], one["entry"])
        for one in pair.dump(place)
        if not one["marker"]
        and (one["ledger"], one["entry"]) > mark_deleted
        and not any((r[0], r[1]) <= (one["ledger"], one["entry"]) <= (r[2], r[3]) for r in cursor["ranges"])
    ]
    assert received == after[: len(received)]


def test_snapshots_are_complete_in_the_logs_of_both_clusters(pair):
    for cluster in NAMES:
        markers = [one["marker"] for one in pair.dump(cluster) if one["marker"]]
        types = Counter(marker["type"].removeprefix("REPLICATED_SUBSCRIPTION_") for marker in markers)
        assert types["SNAPSHOT_REQUEST"] >= types["SNAPSHOT_RESPONSE"] >= types["SNAPSHOT"] >= 2
        requested = {one["snapshot_id"] for one in markers if one["type"].endswith("SNAPSHOT_REQUEST")}
        taken = {one["snapshot_id"] for one in markers if one["type"].endswith("SUBSCRIPTION_SNAPSHOT")}
        assert taken <= requested


def test_instants_of_all_processes_are_of_one_clock(pair):
    published = {one["sequence"]: one["t"] for one in pair.seen if one["e"] == "published"}
    receipted = {one["sequence"]: one["t"] for one in pair.seen if one["e"] == "receipted"}
    for one in pair.dump("west"):
        if not one["marker"]:
            sequence = one["sequence"]
            assert published[sequence] < one["stored_ns"] < receipted[sequence]
    copied = {one["sequence"]: one["stored_ns"] for one in pair.dump("east") if not one["marker"]}
    for delivery in pair.seen:
        if delivery["e"] == "delivered" and delivery["consumer"].startswith("east"):
            assert copied[delivery["sequence"]] < delivery["t"]
