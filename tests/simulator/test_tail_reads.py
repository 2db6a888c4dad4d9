"""Tests of `managedLedgerNewEntriesCheckDelayInMillis`: a cursor at the end of a log sees new entries later.

Sources: `ManagedCursorImpl.asyncReadEntriesWithSkipOrWait`, `checkForNewEntries`, `notifyEntriesAvailable` and
`cancelPendingReadRequest`; `ManagedLedgerImpl.addWaitingCursor` and `notifyCursors`. Unless stated otherwise
the delay is 10 ms, the links take no time, and only a takes snapshots.
"""

from itertools import pairwise
from statistics import median

import pytest

from tests.simulator.admin_runs import tree
from tests.simulator.engine_runs import MS, at_ms, do, open_world, positions, rows, run, subscription
from tests.simulator.test_pulsars_own_shadow_cases import KEEP, shadowed

FAR = 100_000
"""Snapshot period in milliseconds with which no tick follows the first one."""


def body(
    *producers: str,
    delay_ms: int = 10,
    latency: str = "0ms",
    clusters: str = "a, b",
    period_ms: int = FAR,
    type_: str = "Shared",
    consumer: str = "processing: 0s",
    options: str = "forcedControllerStart: false",
) -> str:
    """A scenario's text; a producer is `cluster at,at… more` in milliseconds, or `cluster more`."""
    names = clusters.split(", ")
    lines = []
    for number, producer in enumerate(producers):
        cluster, when = producer.split(" ", 1)
        if when[0].isdigit():
            times, _space, more = when.partition(" ")
            when = f"at: [{', '.join(f'{at}ms' for at in times.split(','))}]{more}"
        lines.append(f"  p{number}: {{topic: t, cluster: {cluster}, {when}}}")
    return "\n".join(
        (
            f"settings: {{managedLedgerNewEntriesCheckDelayInMillis: {delay_ms}, "
            f"replicatedSubscriptionsSnapshotFrequencyMillis: {period_ms}}}",
            f"options: {{{options}}}",
            f"clusters: {{{', '.join(f'{name}: {{}}' for name in names)}}}",
            f"links: {{default: {{latency: {latency}}}}}",
            f"topics: {{t: {{clusters: [{clusters}]}}}}",
            "producers:",
            *lines,
            f"subscriptions: {{s: {{topic: t, type: {type_}, replicateSubscriptionState: true, "
            "initialPosition: Earliest}}",
            f"consumers: {{c: {{subscription: s, cluster: a, {consumer}}}}}",
            "",
        )
    )


def dispatched(world) -> list[float]:
    return at_ms(rows(world, "message.delivered", cluster="a"))


def replicated(world, source="a") -> list[float]:
    return at_ms(rows(world, "message.replicated", cluster=source))


def snapshots_ms(world, cluster="a") -> list[float]:
    return [row["duration_us"] / MS for row in rows(world, "snapshot.completed", cluster=cluster)]


# --- the rule, for dispatchers and replicators alike

TIMES = [
    ("50,54", [50, 60]),  # during the delay: at its end
    ("50,61", [50, 61]),  # after it: at once
    ("50,60", [50, 60]),  # at its end: at once, and the next delay begins
    ("50,60,65", [50, 60, 70]),
    ("50,54,56,61", [50, 60, 60, 70]),  # each read at the end of the log begins a delay
    ("50,54,56,71", [50, 60, 60, 71]),
]


@pytest.mark.parametrize(("published", "wanted"), TIMES)
@pytest.mark.parametrize("type_", ["Shared", "Exclusive", "Key_Shared"])
def test_a_dispatcher_reads_at_the_end_of_the_delay(published, wanted, type_):
    assert dispatched(run(body(f"a {published}", type_=type_), until="1s")) == wanted


@pytest.mark.parametrize(("published", "wanted"), TIMES)
def test_a_replicator_reads_at_the_end_of_the_delay(published, wanted):
    assert replicated(run(body(f"a {published}"), until="1s")) == wanted


def test_with_a_delay_of_0_every_entry_is_read_at_once():
    world = run(body("a 50,54,56,61", delay_ms=0), until="1s")
    assert dispatched(world) == replicated(world) == [50, 54, 56, 61]


def test_a_look_for_new_entries_may_be_later_than_the_delay():
    options = "forcedControllerStart: false, newEntriesCheckLateness: 300us"
    world = run(body("a 50,54,56,61,71", options=options), until="1s")
    assert dispatched(world) == replicated(world) == [50, 60.3, 60.3, 70.6, 71 + 9.9]
    without = run(body("a 50,54,56,61", options=options, delay_ms=0), until="1s")
    assert dispatched(without) == replicated(without) == [50, 54, 56, 61]


def test_late_looks_read_two_messages_at_once_now_and_then():
    """With one message a delay each look is later than the one before, until two messages wait for it."""
    options = "forcedControllerStart: false, newEntriesCheckLateness: 300us"
    found = dispatched(run(body("a start: 50ms, every: 10ms, count: 100", options=options), until="2s"))
    together = sum(1 for earlier, later in pairwise(found) if earlier == later)
    assert (len(found), together) == (100, 2)  # a tenth of 300 us of each message is the share of a delay


def test_the_first_delay_begins_when_the_consumer_and_the_replicator_start():
    world = run(body("a 3"), until="1s")
    assert dispatched(world) == replicated(world) == [10]


def test_without_permits_no_read_waits():
    # One permit. The first message is taken at 50, and the read that then waits returns the second at 60.
    # Without a permit no read begins until the first is processed, at 65: the third is there already.
    text = body("a 50,54,62", consumer="processing: 15ms, receiverQueueSize: 1")
    world = open_world(text, until="1s")
    read = {}
    for at_ms_ in (59, 60, 64, 65):
        world.run(until_us=at_ms_ * MS)
        read[at_ms_] = subscription(world, "a")["read_index"]
    assert read == {59: 1, 60: 2, 64: 2, 65: 3}


def test_a_reset_cancels_the_read_that_waits():
    world = open_world(body("a 50,54", consumer="processing: 0s, acknowledge: never"), until="1s")
    world.run(until_us=55 * MS)
    do(world, "subscription.reset", subscription="s", cluster="a", position="earliest")
    world.run()
    assert dispatched(world) == [50, 155, 155]  # the consumer is back after 100 ms


def test_a_restarted_replicator_reads_at_once():
    world = open_world(body("a 50,54"), until="1s")
    world.run(until_us=55 * MS)
    do(world, "topic.unload", topic="t", cluster="a")
    world.run()
    assert at_ms(rows(world, "replicator.started", cluster="a")) == [0, 55]
    assert replicated(world) == [50, 55]


# --- messages of other clusters, which a replicator skips


@pytest.mark.parametrize(
    ("there", "here", "wanted"), [("50", "54", 60), ("50", "60", 60), ("50", "61", 61), ("50,60", "65", 70)]
)
def test_a_replicator_waits_after_it_has_skipped_a_message_of_its_peer(there, here, wanted):
    world = run(body(f"a {there}", f"b {here}"), until="1s")
    assert replicated(world, source="b") == [wanted]


@pytest.mark.parametrize(
    ("here", "wanted"),
    [
        ("57", 60),  # all are read at 60
        ("60", 60),
        ("61", 70),  # the second one was skipped at 60, and the next check is at 70
        ("65", 70),
        ("70", 70),
        ("71", 71),
    ],
)
def test_a_message_that_is_skipped_at_the_check_begins_another_delay(here, wanted):
    # b stores a message of a at 50 and one of c at 54.
    only_b = ", replicateTo: [b]"
    text = body(f"a 50 {only_b}", f"c 54 {only_b}", f"b {here}", clusters="a, b, c")
    world = run(text, until="1s")
    assert at_ms(rows(world, "message.stored", cluster="b"))[:2] == [50, 54]
    assert replicated(world, source="b") == [wanted] * 2, "to a and c"


def test_moving_the_cursor_past_skipped_messages_at_a_rollover_is_no_read():
    # Each entry fills a ledger, so at 50 the replication cursor in b moves to the next ledger.
    small = "managedLedgerMaxEntriesPerLedger: 1, managedLedgerMinLedgerRolloverTimeMinutes: 0, "
    text = body("a 50", "b 65").replace("settings: {", "settings: {" + small)
    assert replicated(run(text, until="1s"), source="b") == [65]


def test_stats_internal_show_the_read_that_waits():
    world = open_world(body("a 50,54"), until="1s")
    world.run(until_us=57 * MS)
    cursors = tree(world, "stats-internal")["cursors"]
    assert {name: cursor["waitingReadOp"] for name, cursor in cursors.items()} == {
        "s": True,
        "pulsar.repl.b": True,
    }
    assert len({cursor["readPosition"] for cursor in cursors.values()}) == 1
    second = positions(rows(world, "message.stored", cluster="a"))[1]
    assert cursors["s"]["readPosition"] == second


def test_a_shadow_replicator_and_the_readers_of_the_shadow_wait_too():
    # 1 ms to the shadow. Its dispatcher read at 51, so the entry of 61 is at the end of its delay.
    settings = f"{KEEP}, managedLedgerNewEntriesCheckDelayInMillis: 10"
    world = shadowed(
        settings, producers="p: {topic: source, cluster: eu, at: [50ms, 54ms, 65ms]}", until="1s"
    )
    world.run()
    assert at_ms(rows(world, "shadow.added")) == [51, 61, 71]
    assert at_ms(rows(world, "message.delivered")) == [51, 61, 71]


# --- snapshots


def test_a_snapshot_takes_one_delay_when_no_entry_precedes_its_markers():
    # The tick at 1000 writes the request, which both sides' waiting cursors read at once. The response is
    # written because of that read in b, so it is read at 1010. In a, the delay that began when the request was
    # read is over then, too.
    world = run(body("a 500", period_ms=1000), until="1900ms")
    assert snapshots_ms(world) == [10]


def test_a_snapshot_takes_longer_when_its_request_follows_a_message():
    # The message of 997 is read in a, and skipped in b, at 997. So the request of 1000 is read at 1007, in a
    # and, with no time on the link, in b. The response is read at 1017. In a, the delay that began with the
    # request at 1007 is over.
    world = run(body("a 997", period_ms=1000), until="1900ms")
    assert snapshots_ms(world) == [17]


def test_a_response_that_follows_a_message_of_its_reader_waits_too():
    # As in the first case, but with 3 ms on the links: the request is in b at 1003, the response is read there
    # at 1013 and arrives in a at 1016, where a message was read at 1012. So it is read at 1022.
    world = run(body("a 500,1012", period_ms=1000, latency="3ms"), until="1900ms")
    assert snapshots_ms(world) == [22]


def test_a_snapshot_with_latency_takes_a_round_trip_and_the_delay_of_the_response():
    world = run(body("a 500", period_ms=1000, latency="40ms"), until="1900ms")
    assert snapshots_ms(world) == [90]


def test_a_snapshot_of_three_clusters():
    # Round 1: requests in b and c at 40, responses sent at 50, both in a at 90. That of b is read at 90, that
    # of c at 100. Round 2: its request is written because of that read, so it is sent at 110. The
    # responses are sent at 160 and in a at 200, where they are read at 200 and 210.
    world = run(body("a 500", period_ms=1000, latency="40ms", clusters="a, b, c"), until="1900ms")
    assert snapshots_ms(world) == [210]


def test_the_dispatcher_caches_a_snapshot_one_delay_after_its_last_response():
    # The dispatcher reads the response at 1010, at the instant at which the snapshot is written because of it.
    world = run(body("a 500", period_ms=1000), until="1900ms")
    filtered = rows(world, "marker.filtered", cluster="a", subscription="s")
    assert [(row["reason"], row["at_us"] / MS) for row in filtered[:3]] == [
        ("snapshot_request", 1000),
        ("snapshot_response", 1010),
        ("snapshot", 1020),
    ]


def test_the_median_snapshot_times_are_near_those_of_real_brokers():
    """Real ones took 16 ms at 10/s and 29 ms at 100/s without delay between the clusters.

    About 5 ms of that is time spent in brokers and clients, which the lab does not model (docs/fidelity.md).
    """

    def median_ms(rate: int, delay_ms: int = 10) -> float:
        producer = f"a rate: {rate}/s, arrivals: poisson"
        text = body(producer, delay_ms=delay_ms, period_ms=1000, options="")
        return median(snapshots_ms(run(text, until="60s")))

    assert median_ms(10) == 10
    assert 16 < median_ms(100) < 25
    assert median_ms(10, delay_ms=0) == median_ms(100, delay_ms=0) == 0
