"""For each claim, rules of the protocol violated on purpose.

The check of that claim must detect it, and only violations count.

Each mutation replaces one rule of `simulator.protocols.pulsar` for one run; the same scenario without it
breaks nothing.
"""

import pytest

from simulator import World, load_scenario_text
from simulator.checks.checks import CLAIMS, Checks
from simulator.log.cursors import Cursor
from simulator.protocols.pulsar import ack_sync as acknowledgement_filter
from simulator.protocols.pulsar.ack_sync import AcknowledgementSender
from simulator.protocols.pulsar.broadcast.broker import Broker
from simulator.protocols.pulsar.broker.dispatch import Dispatcher
from simulator.protocols.pulsar.broker.session import ReceivedMessage, Session
from simulator.protocols.pulsar.broker.topic import Topic
from simulator.protocols.pulsar.client.producer import Producer
from simulator.protocols.pulsar.replication.replicator import Receipts, Replicator
from simulator.protocols.pulsar.snapshots import controller
from simulator.protocols.pulsar.snapshots.controller import Builder, SnapshotController
from simulator.protocols.pulsar.snapshots.rules import Applied, SnapshotCache
from simulator.protocols.pulsar.storage import retention as upkeep
from simulator.trace.registry import NULL
from tests.simulator.checked import broken_claims

(
    SAFE_UPDATE,
    MARK_DELETE,
    MARKERS,
    ORDER,
    ONE_HOP,
    NOTHING_GONE,
    FILTERED,
    BROKER_LIMITS,
    SAME_SHAPE,
    SCHEMA_FIRST,
) = CLAIMS[:10]
CAUSES = CLAIMS[-1]

HEAD = "format: 1\nname: mutation\ntitle: Mutation\nfamily: replicated-subscriptions\nuntil: 6s\n"
SUBSCRIPTION = """
subscriptions: {billing: {topic: orders, replicateSubscriptionState: true, initialPosition: Earliest}}
consumers: {billing-1: {subscription: billing, cluster: a, processing: 1ms, receiverQueueSize: 10}}
settings: {replicatedSubscriptionsSnapshotFrequencyMillis: 200}
"""
TWO = (
    HEAD
    + SUBSCRIPTION
    + """
clusters: {a: {}, b: {}}
topics: {orders: {clusters: [a, b]}}
producers:
  web: {topic: orders, cluster: a, every: 10ms, stop: 4s}
  api: {topic: orders, cluster: b, every: 10ms, stop: 4s}
links: {default: {latency: {distribution: lognormal, median: 40ms, sigma: 0.5}}}
"""
)
THREE = (
    HEAD
    + SUBSCRIPTION
    + """
clusters: {a: {}, b: {}, c: {}}
topics: {orders: {clusters: [a, b, c]}}
producers: {web: {topic: orders, cluster: c, every: 5ms, stop: 4s}}
links: {default: {latency: 5ms}, a -> b: {latency: 200ms}, c -> a: {latency: 200ms}}
"""
)
CRASH = (
    TWO + "commands: [{at: 2s, do: cluster.crash, cluster: a}, {at: 3s, do: cluster.restart, cluster: a}]\n"
)
FAIL_OVER = TWO + (
    "commands: [{at: 2s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned},"
    " {at: 1900ms, do: link.slow, link: a -> b, latency: 900ms}]\n"
)
SMALL_LEDGERS = TWO.replace(
    "settings: {",
    "settings: {managedLedgerMaxEntriesPerLedger: 20, managedLedgerMinLedgerRolloverTimeMinutes: 0, ",
)
BEHIND = SMALL_LEDGERS.replace("processing: 1ms", "processing: 50ms")
LINK_CUT = SMALL_LEDGERS + "commands: [{at: 1s, do: link.cut, link: a -> b}]\n"


@pytest.mark.parametrize(
    "text",
    [TWO, THREE, CRASH, FAIL_OVER, SMALL_LEDGERS, BEHIND, LINK_CUT],
    ids=["two", "three", "crash", "fail-over", "small-ledgers", "behind", "link-cut"],
)
def test_a_correct_run_has_no_violations(text):
    assert broken_claims(text) == set()


# --- an Update is safe


def test_an_update_with_positions_too_far_ahead_is_detected(monkeypatch):
    write = SnapshotController.write_update

    def too_far(self, subscription, snapshot, cause):
        snapshot.clusters = tuple((name, ledger, entry + 3) for name, ledger, entry in snapshot.clusters)
        write(self, subscription, snapshot, cause)

    monkeypatch.setattr(SnapshotController, "write_update", too_far)
    assert broken_claims(BEHIND) == {SAFE_UPDATE}


def test_a_builder_that_keeps_the_second_rounds_positions_is_detected(monkeypatch):
    answer = Builder.answer

    def latest(self, cluster, position):
        self.answers[cluster] = position
        return answer(self, cluster, position)

    monkeypatch.setattr(Builder, "answer", latest)
    assert broken_claims(THREE) == {SAFE_UPDATE}


def test_one_round_for_three_clusters_is_detected(monkeypatch):
    monkeypatch.setattr(Builder, "two_rounds", property(lambda self: False))
    text = THREE.replace("a -> b: {latency: 200ms}", "a -> b: {latency: 100ms}")
    # Acks are sent at once: grouped acks reach the broker so late that everything was acknowledged by then.
    text = text.replace("processing: 1ms", "processing: 1ms, acknowledgmentGroupTime: 0ms")
    assert broken_claims(text) == {SAFE_UPDATE}


def test_a_snapshot_used_before_mark_delete_has_passed_it_is_detected(monkeypatch):
    take = SnapshotCache.take_up_to
    monkeypatch.setattr(SnapshotCache, "take_up_to", lambda self, mark_delete: take(self, mark_delete + 20))
    assert SAFE_UPDATE in broken_claims(BEHIND)


# --- mark-delete


def test_a_cursor_that_accepts_a_lower_cumulative_ack_is_detected(monkeypatch):
    def any_index(self, index):
        moved = index != self.mark_delete
        self.mark_delete, self.dirty = index, True
        return moved

    monkeypatch.setattr(Cursor, "mark_delete_to", any_index)
    monkeypatch.setattr(controller, "applied_by", lambda _rule, update, _length: Applied(update.index))
    assert MARK_DELETE in broken_claims(FAIL_OVER)


def test_a_crash_that_keeps_unpersisted_acks_is_detected(monkeypatch):
    monkeypatch.setattr(Cursor, "recover", lambda self: None)
    assert MARK_DELETE in broken_claims(CRASH)


def test_a_crash_that_loses_persisted_acks_is_detected(monkeypatch):
    recover = Cursor.recover

    def too_far_back(self):
        recover(self)
        self.mark_delete = max(-1, self.mark_delete - 5)

    monkeypatch.setattr(Cursor, "recover", too_far_back)
    assert MARK_DELETE in broken_claims(CRASH)


# --- markers


def test_a_dispatcher_that_delivers_markers_is_detected(monkeypatch):
    def next_entry(self, cause):
        if self.read_index >= self.topic.log.length:
            return None
        self.read_index += 1
        return self.read_index - 1

    def push(self, index, redelivery, cause):
        record = max(
            self.topic.log.records[index], 0
        )  # a marker is delivered as if it held the first message
        self.permits -= 1
        self.queued += 1
        self.consumer.receive(ReceivedMessage(self, index, record, NULL, redelivery, cause))
        return 1

    monkeypatch.setattr(Dispatcher, "next_deliverable", next_entry)
    monkeypatch.setattr(Session, "push", push)
    assert MARKERS in broken_claims(TWO)


# --- order


def test_a_connection_that_is_not_first_in_first_out_is_detected(monkeypatch):
    send = Replicator.send

    def overtaking(self, *arguments):
        self.last_arrival_us = 0
        send(self, *arguments)

    monkeypatch.setattr(Replicator, "send", overtaking)
    assert ORDER in broken_claims(TWO)


# --- one hop


def test_a_replicator_that_forwards_messages_of_other_clusters_is_detected(monkeypatch):
    create, pass_over = Replicator.__init__, Receipts.acknowledge
    owners = {}

    def with_its_receipts(self, *arguments):
        create(self, *arguments)
        owners[self.receipts] = self

    def forward(self, index):
        replicator = owners[self]
        record = replicator.topic.log.records[index]
        if record >= 0 and self.runtime.messages.origin[record] != replicator.origin_index:
            replicator._send_message(index, record)
        else:
            pass_over(self, index)

    monkeypatch.setattr(Replicator, "__init__", with_its_receipts)
    monkeypatch.setattr(Receipts, "acknowledge", forward)
    assert ONE_HOP in broken_claims(TWO.replace("until: 6s", "until: 1s"))


def test_a_replicator_that_sends_an_entry_twice_is_detected(monkeypatch):
    send = Replicator._send_message

    def sends_twice(self, index, record):
        send(self, index, record)
        if record % 50 == 7:
            send(self, index, record)

    monkeypatch.setattr(Replicator, "_send_message", sends_twice)
    assert broken_claims(TWO) == {ONE_HOP}


# --- nothing is lost from the log


def test_a_receipt_without_an_entry_is_detected(monkeypatch):
    store = Producer._store

    def skips_storing(self, topic, first, count, cause):
        if first % 50 == 7:
            self._receipt(topic, first, count, cause)
        else:
            store(self, topic, first, count, cause)

    monkeypatch.setattr(Producer, "_store", skips_storing)
    assert broken_claims(TWO) == {NOTHING_GONE}


def test_a_crash_that_loses_stored_entries_is_detected(monkeypatch):
    load = Topic.load

    def without_the_last(self, cause, first=False):
        log = self.log
        if log.length > 3 and log.ledgers[-1].entries > 3:
            log.length -= 3
            log.ledgers[-1].entries -= 3
            del log.records.values[-3:], self.stored_seqs.values[-3:]
        load(self, cause, first)

    monkeypatch.setattr(Topic, "load", without_the_last)
    assert NOTHING_GONE in broken_claims(CRASH)


@pytest.mark.parametrize(
    "text, ignored",
    [(BEHIND, "subscriptions"), (LINK_CUT, "replicators")],
    ids=["subscriptions", "replicators"],
)
def test_trimming_that_does_not_wait_for_cursors_is_detected(monkeypatch, text, ignored):
    trim = upkeep.trim

    def trims_without_cursors(topic, cause):
        cursors = getattr(topic, ignored)
        setattr(topic, ignored, {})
        trim(topic, cause)
        setattr(topic, ignored, cursors)

    monkeypatch.setattr(upkeep, "trim", trims_without_cursors)
    assert NOTHING_GONE in broken_claims(text)


# --- filtered correctly

SYNC = TWO.replace("replicated-subscriptions", "tenant-migration").replace(
    "replicateSubscriptionState: true", "acknowledgementSync: periodic"
) + (
    "commands: [{at: 3s, do: subscription.fail-over, subscription: billing, from: a, to: b, mode: planned}]\n"
)


@pytest.mark.parametrize(
    "also",
    ["acknowledgementSync: periodic", "acknowledgementSync: periodic, replicateSubscriptionState: true"],
)
def test_a_correct_filter_has_no_violations(also):
    there_and_back = SYNC.replace(
        "mode: planned}]",
        (
            "mode: planned}, {at: 4s, do: subscription.fail-over, subscription: billing, from: b, to: a, "
            "mode: planned}]"
        ),
    )
    assert broken_claims(there_and_back.replace("acknowledgementSync: periodic", also)) == set()


def test_a_request_with_more_than_was_acknowledged_is_detected(monkeypatch):
    state = AcknowledgementSender._state

    def claims_more(self):
        said = state(self)
        # the sender's own records stay correct
        own = said.whole[self.topic.cluster.index] = said.whole[self.topic.cluster.index].copy()
        own.add_range(0, own.max() + 20 if own else 20)
        return said

    monkeypatch.setattr(AcknowledgementSender, "_state", claims_more)
    assert broken_claims(SYNC) == {FILTERED}


def test_a_filter_that_takes_local_positions_for_the_sources_is_detected(monkeypatch):
    monkeypatch.setattr(
        acknowledgement_filter,
        "origin_of",
        lambda topic, index: (topic.runtime.messages.origin[topic.log.records[index]], index),
    )
    with_holes = (
        SYNC.replace("processing: 1ms", "processing: 1ms, hold: {share: 5%, for: 60s}")
        .replace("mode: planned", "mode: crash")
        .replace("Earliest", "Earliest, type: Shared")
    )
    assert broken_claims(with_holes) == {FILTERED}


# --- causes


def test_a_duplicate_counted_without_a_cause_is_detected():
    world = World.from_scenario(load_scenario_text(FAIL_OVER))
    world.run()
    failovers = world.summary()["failovers"]
    assert failovers[0]["duplicates"] > 0
    assert Checks(world.scenario).check_counts(failovers) == []
    cause = max(failovers[0]["by_cause"], key=failovers[0]["by_cause"].get)
    failovers[0]["by_cause"][cause] -= 1
    assert [violation.claim for violation in Checks(world.scenario).check_counts(failovers)] == [CAUSES]


# --- brokers keep their limits

BROKERS = """
clusters: {a: {}}
topics: {t: {clusters: [a]}, u: {clusters: [a]}}
brokers: {x: {cluster: a, dispatchTime: 2ms, bandwidth: 400KB/s}}
producers: {p: {topic: t, cluster: a, every: 7ms, stop: 1s}, q: {topic: u, cluster: a, every: 30ms, stop: 1s, batch: 2}}
subscriptions: {s1: {topic: t}, s2: {topic: t}, s3: {topic: u}}
consumers: {c1: {subscription: s1, cluster: a}, c2: {subscription: s2, cluster: a}, c3: {subscription: s3, cluster: a}}
commands: [{at: 300ms, do: topic.unload, cluster: a, topic: t}, {at: 500ms, do: client.kill, client: c1}]
"""


def test_a_broker_within_its_limits_breaks_nothing():
    assert broken_claims(HEAD + BROKERS) == set()


def test_a_broker_that_serves_two_dispatches_at_once_is_detected(monkeypatch):
    send = Broker.send

    def too_early(self, *what):
        self.free_us -= self.spec.dispatch_us // 2
        send(self, *what)

    monkeypatch.setattr(Broker, "send", too_early)
    assert broken_claims(HEAD + BROKERS) == {BROKER_LIMITS}


def test_a_broker_that_ignores_one_of_its_limits_is_detected(monkeypatch):
    for wrong in (
        lambda self, size_bytes: self.spec.dispatch_us,
        lambda self, size_bytes: size_bytes * 10 // 4,
    ):
        monkeypatch.setattr(Broker, "service_us", wrong)
        assert broken_claims(HEAD + BROKERS.replace("dispatchTime: 2ms", "dispatchTime: 3ms")) == {
            BROKER_LIMITS
        }


def test_a_queue_that_moves_up_too_far_is_detected(monkeypatch):
    """What waits behind a cancelled dispatch is served immediately, even while the head is still being
    served.
    """
    keep = Broker._keep

    def too_far(self, wanted):
        before = self.epoch
        keep(self, wanted)
        if self.epoch != before and len(self.waiting) > 1:
            head = self.waiting.popleft()
            self.waiting = type(self.waiting)(
                [head, *(one._replace(leaves_us=one.leaves_us - one.service_us) for one in self.waiting)]
            )

    monkeypatch.setattr(Broker, "_keep", too_far)
    text = HEAD + BROKERS.replace("every: 7ms", "every: 4ms")
    assert broken_claims(text) == {BROKER_LIMITS}
