"""Tests of pulsar-admin's output and queries.

Field order, Jackson's printing, Java's numbers; topics, clusters, equal bytes, refusals.
"""

import pytest

from simulator import AdminError, World
from simulator.protocols.pulsar.admin import printed, tallies
from tests.simulator.admin_runs import BILLING, FEED, READS, body, tree
from tests.simulator.engine_runs import SECOND, do, open_world, rows, run

# --- output


SUBSCRIPTION_FIELDS = (
    "msgRateOut msgThroughputOut bytesOutCounter msgOutCounter msgRateRedeliver messageAckRate "
    "chunkedMessageRate msgBacklog backlogSize "
    "earliestMsgPublishTimeInBacklog msgBacklogNoDelayed blockedSubscriptionOnUnackedMsgs msgDelayed "
    "msgInReplay unackedMessages type "
    "activeConsumerName msgRateExpired msgExpired totalMsgExpired lastExpireTimestamp "
    "lastConsumedFlowTimestamp lastConsumedTimestamp "
    "lastAckedTimestamp lastMarkDeleteAdvancedTimestamp consumers isDurable isReplicated "
    "allowOutOfOrderDelivery "
    "consumersAfterMarkDeletePosition drainingHashesCount drainingHashesClearedTotal "
    "drainingHashesUnackedMessages "
    "nonContiguousDeletedMessagesRanges nonContiguousDeletedMessagesRangesSerializedSize "
    "delayedMessageIndexSizeInBytes "
    "subscriptionProperties filterProcessedMsgCount filterAcceptedMsgCount filterRejectedMsgCount "
    "filterRescheduledMsgCount "
    "dispatchThrottledMsgEventsBySubscriptionLimit dispatchThrottledBytesEventsBySubscriptionLimit "
    "dispatchThrottledMsgEventsByTopicLimit "
    "dispatchThrottledBytesEventsByTopicLimit dispatchThrottledMsgEventsByBrokerLimit "
    "dispatchThrottledBytesEventsByBrokerLimit durable replicated"
)
TOPIC_FIELDS = (
    "msgRateIn msgThroughputIn msgRateOut msgThroughputOut bytesInCounter msgInCounter "
    "systemTopicBytesInCounter bytesOutCounter "
    "msgOutCounter bytesOutInternalCounter averageMsgSize msgChunkPublished storageSize backlogSize "
    "backlogQuotaLimitSize "
    "backlogQuotaLimitTime oldestBacklogMessageAgeSeconds publishRateLimitedTimes "
    "earliestMsgPublishTimeInBacklogs offloadedStorageSize "
    "lastOffloadLedgerId lastOffloadSuccessTimeStamp lastOffloadFailureTimeStamp ongoingTxnCount "
    "abortedTxnCount committedTxnCount "
    "publishers waitingPublishers subscriptions replication deduplicationStatus "
    "nonContiguousDeletedMessagesRanges "
    "nonContiguousDeletedMessagesRangesSerializedSize delayedMessageIndexSizeInBytes compaction "
    "topicCreationTimeStamp lastPublishTimeStamp"
)
CONSUMER_FIELDS = (
    "msgRateOut msgThroughputOut bytesOutCounter msgOutCounter msgRateRedeliver messageAckRate "
    "chunkedMessageRate consumerName "
    "availablePermits unackedMessages avgMessagesPerEntry blockedConsumerOnUnackedMsgs "
    "drainingHashesCount drainingHashesClearedTotal "
    "drainingHashesUnackedMessages connectedSince lastAckedTimestamp lastConsumedTimestamp "
    "lastConsumedFlowTimestamp metadata "
    "lastAckedTime lastConsumedTime"
)
INTERNAL_FIELDS = (
    "entriesAddedCounter numberOfEntries totalSize currentLedgerEntries currentLedgerSize "
    "lastLedgerCreatedTimestamp waitingCursorsCount "
    "pendingAddEntriesCount lastConfirmedEntry state ledgers cursors schemaLedgers compactedLedger"
)
CURSOR_FIELDS = (
    "markDeletePosition readPosition waitingReadOp pendingReadOps messagesConsumedCounter cursorLedger "
    "cursorLedgerLastEntry "
    "individuallyDeletedMessages lastLedgerSwitchTimestamp state active "
    "numberOfEntriesSinceFirstNotAckedMessage "
    "totalNonContiguousDeletedMessagesRange subscriptionHavePendingRead "
    "subscriptionHavePendingReplayRead properties"
)


def test_fields_are_in_the_order_in_which_a_4_1_broker_prints_them():
    # Transcribed from outputs of a 4.1 broker; firstMessagesSentTimestamp, address and the like are named in
    # docs/command-line.md as left out.
    world = run(body(type_="Failover"), until="1s")
    stats, internal = tree(world), tree(world, "stats-internal")
    assert list(stats) == TOPIC_FIELDS.split()
    assert list(stats["subscriptions"]["s"]) == SUBSCRIPTION_FIELDS.split()
    assert list(stats["subscriptions"]["s"]["consumers"][0]) == CONSUMER_FIELDS.split()
    assert list(internal) == INTERNAL_FIELDS.split()
    assert (
        list(internal["cursors"]["s"]) == CURSOR_FIELDS.split() == list(internal["cursors"]["pulsar.repl.b"])
    )


def test_output_is_printed_as_jackson_prints_it():
    text = run(body(), until="1s").admin("stats", "a")["text"]
    assert text.startswith('{\n  "msgRateIn" : ') and text.endswith("\n}\n")
    for line in (
        '  "publishers" : [ {\n    "accessMode" : "Shared",\n',
        '    "metadata" : { }\n  } ],\n  "waitingPublishers" : 0,',
        '      "consumers" : [ {\n',
    ):
        assert line in text
    assert '  "schemaLedgers" : [ ],\n' in run(body(), until="1s").admin("stats-internal", "a")["text"]


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0.0"),
        (1.0, "1.0"),
        (16.5, "16.5"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.25, "1.2345678925E8"),
        (1 / 3, "0.3333333333333333"),
        (1675329175.942, "1.675329175942E9"),
        (-2.5, "-2.5"),
    ],
)
def test_doubles_are_printed_as_java_prints_them(value, text):
    assert printed.double(value) == text


def test_other_numbers_and_instants_are_printed_as_java_prints_them():
    assert [printed.three_decimals(*pair) for pair in ((0, 7), (1, 3), (2, 3), (1, 200), (7, 1))] == [
        "0.0",
        "0.333",
        "0.666",
        "0.005",
        "7.0",
    ]
    # 1761383046982 ms is 2025-10-25T09:04:06.982Z in a broker's output
    assert printed.instant(1_761_383_046_982_000) == "2025-10-25T09:04:06.982Z"
    assert [printed.instant(us) for us in (0, 5_100_000, 5_050_999)] == [
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:05.1Z",
        "1970-01-01T00:00:05.05Z",
    ]


# --- queries


def test_partitions_are_queried_one_by_one():
    parts = (
        "clusters: {a: {}, b: {}}\nlinks: {default: {latency: 20ms}}\ntopics: {t: {clusters: [a, b], "
        "partitions: 2}}\n"
    )
    world = run(parts + FEED + BILLING % ("Shared", "true") + READS % "", until="2s")
    figures = [tree(world, topic=f"t-partition-{number}") for number in (0, 1)]
    stored = rows(world, "message.stored", cluster="a")
    assert [found["msgInCounter"] - found["replication"]["b"]["msgInCount"] for found in figures] == [
        10,
        10,
    ] and len(stored) == 20
    assert world.admin("stats", "a")["topic"] == "t-partition-0"
    assert world.admin("stats", "a", "t-partition-1")["command"] == (
        "pulsar-admin --admin-url http://broker.a:8080 topics stats persistent://public/default/t-partition-1"
    )


def test_fields_with_another_value_in_another_cluster_are_listed():
    world = run(body(), until="3s")
    answer = world.admin("stats", "a")
    lines = answer["text"].splitlines()
    found = {
        lines[number].split('"')[1]: values
        for number, values in answer["differs"]
        if lines[number].startswith('  "')
    }
    assert (
        found["msgInCounter"] == {"b": str(tree(world, cluster="b")["msgInCounter"])}
        and "backlogQuotaLimitSize" not in found
    )


def test_a_cluster_that_is_down_gives_no_output_and_a_reason():
    world = open_world(body(), until="3s")
    world.run(1 * SECOND)
    do(world, "cluster.crash", cluster="a")
    answer = world.admin("stats", "a")
    assert answer["text"] == "" and "a is down" in answer["unavailable"]
    assert world.admin("stats", "b")["unavailable"] is None and "a has no" not in str(
        world.admin("stats", "b")["notes"]
    )


@pytest.mark.parametrize(
    "question, words",
    [
        (("offload", "a", "t"), "stats, stats-internal, metrics"),
        (("stats", "z", "t"), "Clusters are a, b"),
        (("stats", "a", "u"), "Topics there are t"),
    ],
)
def test_a_query_that_is_impossible_is_refused_with_a_hint(question, words):
    with pytest.raises(AdminError) as refused:
        open_world(body()).admin(*question)
    assert words in refused.value.hint


def test_the_same_instant_gives_the_same_bytes_after_seek_and_branch():
    def answers(world):
        return [
            world.admin(tool, cluster, "t")
            for tool in ("stats", "stats-internal", "metrics")
            for cluster in "ab"
        ]

    fresh = open_world(body(consumer=", hold: {share: 20%, for: 1s}"), until="8s")
    fresh.run(3 * SECOND)
    sought = run(body(consumer=", hold: {share: 20%, for: 1s}"), until="8s")
    sought.seek(at_us=3 * SECOND)
    digest = sought.digest()
    assert answers(fresh) == answers(sought) and sought.digest() == digest
    do(sought, "link.cut", link="a -> b")
    branch = World.replay(sought.scenario, sought.seed, sought.command_log, 3 * SECOND)
    assert answers(branch) == answers(sought)


def test_counters_do_not_depend_on_where_blocks_end(monkeypatch):
    # Small blocks: sums over many pieces, the first and last of them cut, equal the sum over one piece.
    world = run(body(consumer=", hold: {share: 20%, for: 1s}"), until="8s")
    monkeypatch.setattr(tallies, "BLOCK_ROWS", 64)
    monkeypatch.setattr(tallies, "PIECE_ROWS", 10)
    for first, last in ((0, world.seq), (17, 900), (64, 128), (63, 65), (5, 5)):
        pieces = tallies.count(world.trace, first, last)
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                total = end.value
                break
        once = tallies.count_piece(world.trace, first, last)
        assert total.counts == once.counts and total.snapshots == once.snapshots
