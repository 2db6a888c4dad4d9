"""Pulsar's own tests of shadow topics, case by case, as runs of the lab.

Each must end as Pulsar asserts it.

Read in the newest versions available (mid-2026): ShadowManagedLedgerImplTest, ShadowReplicatorTest,
ShadowTopicTest, ShadowTopicRealBkTest, TopicPoliciesTest, and issue #18731. Names of their methods are in
each docstring. Pulsar's mocked bookies confirm at once how far an open ledger goes, which
`bookkeeperExplicitLacIntervalInMills: 1` does here.
"""

import pytest

from tests.simulator.engine_runs import MS, SECOND, do, open_world, positions, rows

KEEP = "defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1"
SMALL = f"managedLedgerMaxEntriesPerLedger: 2, managedLedgerMinLedgerRolloverTimeMinutes: 0, {KEEP}"


def shadowed(
    settings=KEEP,
    options="",
    shadow="",
    source="",
    producers="p: {topic: source, cluster: eu}",
    until="30s",
    audience="sub",
):
    """One cluster, a source topic, a shadow of it, a producer that publishes on command and a reader of
    the shadow, from Earliest.
    """
    return open_world(
        f"clusters: {{eu: {{firstLedger: 10}}}}\nsettings: {{{settings}}}\noptions: {{{options}}}\n"
        f"topics:\n  source: {{clusters: [eu]{source}}}\n  shadow: {{clusters: [eu], shadowOf: "
        f"source{shadow}}}\nproducers:\n  {producers}\n"
        f"subscriptions:\n  {audience}: {{topic: shadow, initialPosition: Earliest}}\nconsumers:\n  c: "
        f"{{subscription: {audience}, cluster: eu}}\n",
        until=until,
        family="shadow-topics",
    )


def publish(world, count=1, ms=20):
    """Publish one by one, each with enough time to arrive."""
    for _ in range(count):
        do(world, "producer.send", producer="p")
        world.run(world.now_us + ms * MS)


def shadow_summary(world, name="shadow"):
    return world.summary()["shadows"][name]


def confirmed(world):
    """(the source's last confirmed entry, the shadow's)"""
    return shadow_summary(world)["source_last_confirmed"], shadow_summary(world)["last_confirmed"]


def ledgers(world, name):
    return [one[0] for one in world.view()["clusters"]["eu"]["topics"][name]["ledgers"]]


def received(world):
    return [
        (row["sequence_id"], f"{row['ledger']}:{row['entry']}")
        for row in rows(world, "message.delivered")
        if row["topic"].startswith("shadow")
    ]


# --- ShadowManagedLedgerImplTest.testShadowWrites


def ledger_test():
    """Five entries in ledgers of two, then the shadow is opened; only the test feeds it."""
    world = shadowed(
        SMALL + ", bookkeeperExplicitLacIntervalInMills: 1",
        shadow=", shadowReplication: false",
        producers="p: {topic: source, cluster: eu}\n  by-hand: {topic: shadow, cluster: eu}",
    )
    publish(world, 5)
    do(world, "topic.unload", cluster="eu", topic="shadow")
    return world


def test_after_opening_the_ledgers_are_the_sources():
    world = ledger_test()
    assert len(ledgers(world, "shadow")) == 3 and ledgers(world, "shadow") == ledgers(world, "source")
    assert confirmed(world)[0] == confirmed(world)[1]


def test_a_rollover_of_the_source_is_detected_by_the_shadow():
    world = ledger_test()
    publish(world)  # the sixth: the third ledger is full
    assert len(ledgers(world, "source")) == len(ledgers(world, "shadow")) == 4
    assert confirmed(world)[0] == confirmed(world)[1]


def test_an_add_to_an_older_ledger_completes_and_moves_the_last_confirmed_entry_back():
    world = ledger_test()
    third = positions(rows(world, "message.stored"))[2]
    publish(world)
    do(world, "producer.send", producer="by-hand", position=third)
    assert shadow_summary(world)["last_confirmed"] == third != shadow_summary(world)["source_last_confirmed"]
    assert positions(rows(world, "shadow.added")) == [third]


def test_an_add_to_the_present_ledger_completes():
    world = ledger_test()
    publish(world, 2)  # the seventh is in the fourth ledger; the shadow was not notified
    source, shadow = confirmed(world)
    assert source != shadow
    do(world, "producer.send", producer="by-hand", position=source)
    assert confirmed(world) == (source, source)


def test_an_add_to_a_ledger_not_known_yet_waits_for_it():
    world = ledger_test()
    publish(world, 2)
    ledger, entry = rows(world, "message.stored")[-1]["ledger"], rows(world, "message.stored")[-1]["entry"]
    do(world, "producer.send", producer="by-hand", position=f"{ledger + 1}:{entry}")
    assert shadow_summary(world)["queued_adds"] == 1 and not rows(world, "shadow.added")
    publish(world, 2)  # the fourth ledger is full, the fifth has one entry
    assert len(ledgers(world, "shadow")) == 5 and shadow_summary(world)["queued_adds"] == 0
    assert positions(rows(world, "shadow.added")) == [f"{ledger + 1}:{entry}"]
    assert confirmed(world)[0] == confirmed(world)[1]


def test_a_shadow_cannot_be_terminated():
    """asyncTerminate: not on a shadow topic."""
    world = ledger_test()
    refused = world.apply({"do": "topic.terminate", "cluster": "eu", "topic": "shadow"})
    assert not refused.ok and "not allowed on shadow topic" in refused.error


# --- ShadowReplicatorTest


def test_shadow_replication():
    """testShadowReplication: two shadows get the same message under the same id, and no bytes travel."""
    world = open_world(
        "clusters: {eu: {}}\ntopics:\n  source: {clusters: [eu], namespace: prop1/ns-source}\n"
        "  one: {clusters: [eu], namespace: prop1/ns-shadow, shadowOf: source}\n  two: {clusters: "
        "[eu], namespace: prop1/ns-shadow, shadowOf: source}\n"
        "producers: {p: {topic: source, cluster: eu, keys: 1}}\n"
        "subscriptions: {s: {topic: source, initialPosition: Earliest}, s1: {topic: one, "
        "initialPosition: Earliest}, s2: {topic: two, initialPosition: Earliest}}\n"
        "consumers: {c: {subscription: s, cluster: eu}, c1: {subscription: s1, cluster: eu}, c2: "
        "{subscription: s2, cluster: eu}}\n",
        family="shadow-topics",
    )
    publish(world)
    assert len(rows(world, "message.delivered")) == 3
    delivered = [
        {name: row[name] for name in ("producer", "sequence_id", "ledger", "entry", "evidence_seq")}
        for row in rows(world, "message.delivered")
    ]
    assert delivered[0] == delivered[1] == delivered[2], (
        "one stored entry: data, key, properties and times are those of the source"
    )
    for name in ("one", "two"):
        replicator = world.summary()["shadows"][name]["replicator"]
        assert (
            replicator["state"],
            replicator["messages_out"],
            replicator["bytes_out"],
            replicator["in_flight"],
        ) == ("started", 1, 0, 0)


def test_counter_of_pending_messages_is_correct():
    """testCounterOfPendingMessagesCorrect: after twenty messages nothing is in flight."""
    world = shadowed()
    publish(world, 20, ms=1)
    world.run(world.now_us + SECOND)
    assert shadow_summary(world)["replicator"] == {
        **shadow_summary(world)["replicator"],
        "backlog": 0,
        "in_flight": 0,
        "messages_out": 20,
    }


# --- ShadowTopicTest


def test_a_plain_shadow_keeps_its_source_over_an_unload():
    """testNonPartitionedShadowTopicSetup"""
    world = shadowed()
    do(world, "topic.unload", cluster="eu", topic="source")
    do(world, "topic.unload", cluster="eu", topic="shadow")
    assert shadow_summary(world)["source"] == "source"


@pytest.mark.parametrize("partitions", [2, 3])
def test_a_partitioned_shadow_has_the_partitions_of_its_source(partitions):
    """testPartitionedShadowTopicSetup, testPartitionedShadowTopicProduceAndConsume"""
    world = shadowed(source=f", partitions: {partitions}")
    do(world, "topic.unload", cluster="eu", topic="shadow")
    assert sorted(shadow_summary(world)["partitions"]) == [
        f"shadow-partition-{number}" for number in range(partitions)
    ]
    do(world, "producer.publish", producer="p", count=10)
    world.run(SECOND)
    assert sorted(number for number, _position in received(world)) == list(range(10))
    stored = {row["sequence_id"]: row["topic"] for row in rows(world, "message.stored")}
    assert {
        row["sequence_id"]: row["topic"].replace("shadow", "source")
        for row in rows(world, "message.delivered")
    } == stored, "partition i feeds partition i"


def test_a_shadow_is_not_writable():
    """testShadowTopicNotWritable: the producer connects, the send is refused."""
    world = shadowed(producers="p: {topic: source, cluster: eu}\n  q: {topic: shadow, cluster: eu}")
    refused = world.apply({"do": "producer.send", "producer": "q"})
    assert (refused.ok, refused.code, refused.error) == (
        False,
        "NotAllowed",
        "Cannot send messages to a shadow topic",
    )
    do(world, "producer.publish", producer="q", count=3)
    assert [row["reason"] for row in rows(world, "message.send-failed", client=None)] == ["not-allowed"] * 3
    assert shadow_summary(world)["refused_sends"] == 3 and shadow_summary(world)["stored_bytes"] == 0


def test_only_a_shadow_accepts_a_message_with_its_position():
    world = shadowed()
    refused = world.apply({"do": "producer.send", "producer": "p", "position": "10:0"})
    assert (refused.code, refused.error) == (
        "NotAllowed",
        "Only shadow topic supports sending messages with messageId",
    )


def test_a_message_has_the_same_id_in_the_shadow():
    """testShadowTopicConsuming"""
    world = shadowed()
    publish(world)
    assert received(world) == [(0, positions(rows(world, "message.stored"))[0])]


def test_consuming_continues_with_later_messages():
    """testShadowTopicConsumingWithStringSchema: one message, then ten, in order."""
    world = shadowed()
    publish(world, 11)
    assert [number for number, _position in received(world)] == list(range(11))


def test_consuming_without_replicator_after_the_source_was_unloaded():
    """testConsumeShadowMessageWithoutCache: nothing feeds the shadow.

    The unload closes the ledger, and the list of ledgers shows its entries.
    """
    world = shadowed(shadow=", shadowReplication: false")
    publish(world, 11)
    assert received(world) == [], "an open ledger says nothing of its entries (PR #25354)"
    do(world, "topic.unload", cluster="eu", topic="source")
    world.run(world.now_us + SECOND)
    assert [number for number, _position in received(world)] == list(range(11))
    assert (
        shadow_summary(world)["reads"]["bookies"] == 11
        and shadow_summary(world)["source_reads"]["cache"] == 0
    )


# --- ShadowTopicRealBkTest


def test_read_from_storage():
    """testReadFromStorage: the reader connects after the message; it is read from the bookies."""
    world = shadowed()
    world.run(100 * MS)
    do(world, "client.close", client="c")
    publish(world)
    world.run(5 * SECOND)
    do(world, "consumer.start", consumer="c")
    assert [number for number, _position in received(world)] == [0] and shadow_summary(world)["reads"][
        "bookies"
    ] == 1


# --- the topic policy (TopicPoliciesTest.testShadowTopics, SystemTopicTxnBufferSnapshot… use the same calls)


def test_the_list_of_shadows_is_set_read_and_removed():
    world = shadowed(shadow=", shadowReplication: false")
    ask = {"do": "shadow.list", "cluster": "eu", "topic": "source"}
    for command, wait in (
        ({"do": "shadow.set", "cluster": "eu", "topic": "source", "shadows": ["shadow"]}, 1),
        ({"do": "shadow.remove", "cluster": "eu", "topic": "source"}, 2),
    ):
        assert world.apply(ask).ok and world.apply(command).ok
        world.run(wait * SECOND)
    assert world.apply(ask).ok
    assert [(one["code"], one.get("answer")) for one in world.summary()["commands"]] == [
        ("200", []),
        ("204", None),
        ("200", ["shadow"]),
        ("204", None),
        ("200", []),
    ]


# --- issue #18731


def test_issue_18731_rollover_and_retention_delete_what_the_shadow_has_not_read():
    """Ledgers of two, no subscription on the source, retention 0: each full ledger is deleted at once.

    The entry that fills a ledger never reaches the shadow's reader.
    """
    world = shadowed("managedLedgerMaxEntriesPerLedger: 2, managedLedgerMinLedgerRolloverTimeMinutes: 0")
    publish(world, 10, ms=100)
    assert [number for number, _position in received(world)] == [0, 2, 4, 6, 8]
    assert shadow_summary(world)["lost_to_retention"] == 5 and shadow_summary(world)[
        "lost_by_subscription"
    ] == {"sub": 5}
    assert [row["sequence_id"] for row in rows(world, "message.lost")] == [1, 3, 5, 7, 9]
    assert world.summary()["violations"] == []
