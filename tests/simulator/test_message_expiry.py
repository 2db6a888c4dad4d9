"""Tests of message expiry: entries on the wire, what a broker counts, and one search for all cursors.

Sources: `PersistentMessageExpiryMonitor.findEntryComplete` and `markDeleteCallback`,
`PersistentReplicator.updateRates`, `PersistentTopic.checkMessageExpiryWithSharedPosition` (#24622), and
`ReplicatorStatsImpl.getMsgExpiredCount`, of Pulsar 4.2.4.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator import World, load_scenario_text

TEXT = """\
format: 1
name: expiry
title: Expiry of entries
family: replicated-subscriptions
until: 200s
settings: {ttlDurationDefaultInSeconds: 30, messageExpiryCheckIntervalInMinutes: 1}
clusters: {a: {}, b: {}}
links: {default: {latency: 40ms}}
topics: {t: {clusters: [a, b]}}
producers: {p: {topic: t, cluster: a, start: 100ms, every: 100ms, count: 100}}
subscriptions: {s: {topic: t, initialPosition: Earliest, replicateSubscriptionState: true}}
consumers: {c: {subscription: s, cluster: a, stop: 50ms}}
commands:
  - {at: 5s, do: link.slow, link: a -> b, latency: 70s}
"""
CUT = "  - {at: 65s, do: link.cut, link: a <-> b}\n  - {at: 70s, do: link.heal, link: a <-> b}\n"


def world_of(text: str, until_us: int | None = None) -> World:
    world = World.from_scenario(load_scenario_text(text))
    world.run() if until_us is None else world.run(until_us=until_us)
    assert world.violations == []
    return world


def rows(world: World, kind: str, **equal: Any) -> list[dict[str, Any]]:
    found = world.trace.rows(0, world.seq, types=[kind])
    return [row for row in found if all(row.get(name) == value for name, value in equal.items())]


def stats(world: World) -> dict[str, Any]:
    return json.loads(world.admin("stats", "a", "t")["text"])


def test_expiry_moves_a_replication_cursor_over_entries_on_the_wire():
    """They are 50 to 54 s old at 60 s and on the wire until 75 s: they arrive, unless the link is cut."""
    world = world_of(TEXT)
    unsent = rows(world, "message.not-replicated", reason="expired")
    assert [row["sequence_id"] for row in unsent] == list(range(50, 100))
    assert {row["at_us"] for row in unsent} == {60_000_000}
    assert len(rows(world, "message.stored", cluster="b")) == 100
    cut = world_of(TEXT + CUT)
    assert len(rows(cut, "message.not-replicated", reason="expired")) == 50
    assert len(rows(cut, "message.stored", cluster="b")) == 50, "they are not sent again"


def test_a_broker_counts_expired_entries_with_markers():
    """The rate of a replicator counts them, too; its msgExpiredCount is 0 in every broker."""
    world = world_of(TEXT, 60_000_000)
    [last] = rows(world, "cursor.moved", cluster="a", subscription="s", reason="expiry")
    assert (last["to_ledger"], last["ledger"], last["entry"]) == (last["ledger"], 192, -1)
    expired = last["to_entry"] + 1
    assert expired > 100, "a hundred messages, and markers"
    tree = stats(world)
    subscription, replicator = tree["subscriptions"]["s"], tree["replication"]["b"]
    assert subscription["totalMsgExpired"] == subscription["msgExpired"] == expired
    assert subscription["msgRateExpired"] == expired / 10
    assert subscription["lastExpireTimestamp"] == 60_000
    unsent = len(rows(world, "message.not-replicated", reason="expired"))
    assert unsent / 10 <= replicator["msgRateExpired"] < expired / 10, "markers on the wire, too"
    assert replicator["msgExpiredCount"] == 0
    later = stats(world_of(TEXT, 90_000_000))["subscriptions"]["s"]
    assert later["totalMsgExpired"] == expired and later["msgExpired"] == 0, "of the rate's window"


PATIENT = """\
format: 1
name: patient
title: A consumer holds one message
family: replicated-subscriptions
until: 48m
clusters: {a: {}}
settings: {ttlDurationDefaultInSeconds: 1200}
topics: {t: {clusters: [a]}}
producers: {p: {topic: t, cluster: a, at: [1s]}, q: {topic: t, cluster: a, start: 2s, every: 60s}}
subscriptions: {s: {topic: t, type: Shared, initialPosition: Earliest}}
consumers: {c: {subscription: s, cluster: a, hold: {messages: [p/0]}}}
"""


@pytest.mark.parametrize(("search", "at_s"), [("of-cursor", 2_100), ("of-topic", 1_500)])
def test_one_search_for_all_cursors_does_not_wait_for_consumers(search: str, at_s: int):
    """Checks are every 5 minutes: the first one past the TTL of 20 minutes, or past 1.5 times that."""
    world = world_of(PATIENT.replace("settings:", f"options: {{expirySearch: {search}}}\nsettings:"))
    assert [row["at_us"] for row in rows(world, "message.expired")] == [at_s * 1_000_000]


def test_one_search_moves_every_cursor_to_the_same_entry():
    world = world_of(TEXT.replace("clusters: {a: {}", "options: {expirySearch: of-topic}\nclusters: {a: {}"))
    assert {row["at_us"] for row in rows(world, "message.expired", cluster="a")} == {60_000_000}
    assert len(rows(world, "message.not-replicated", reason="expired")) == 50
