"""An Update must never move the peer past a message that was not acked, expired or skipped by its writer."""

import pytest

from simulator.checks.checks import CLAIMS, Checks
from simulator.protocols.pulsar.scenario.model import ProducerSpec, TopicSpec
from tests.simulator.written_trace import WrittenTrace, scenario

CLAIM = CLAIMS[0]


@pytest.fixture
def written():
    """web/0 to web/3 in both logs, the subscription at a from before them."""
    written = WrittenTrace()
    written.replicators("a", "b")
    written.created("a", 1, -1)
    for number in range(4):
        written.stored("a", number, number)
        written.stored("b", number, number, peer="a")
    return written


def violations(written, **changes):
    return Checks(scenario(**changes)).read(written.trace)


def test_an_update_up_to_the_last_acked_message_has_no_violation(written):
    for number in range(3):
        written.about("message.acknowledged", "a", number, number, reason="individual")
    written.update("a", "b", 2)
    assert violations(written) == []


def test_an_update_one_position_too_far_is_reported_with_the_skipped_message(written):
    for number in range(3):
        written.about("message.acknowledged", "a", number, number, reason="individual")
    seq = written.update("a", "b", 3)
    (broken,) = violations(written)
    assert (broken.claim, broken.seq, broken.at_us) == (CLAIM, seq, seq)
    assert broken.reason == (
        "a's Update of billing names 1:3 at b, which holds web/3 at or below it: not acknowledged, "
        "expired or skipped at a"
    )


def test_an_ack_after_the_update_does_not_count(written):
    seq = written.update("a", "b", 1)
    for number in range(4):
        written.about("message.acknowledged", "a", number, number, reason="individual")
    (broken,) = violations(written)
    assert broken.seq == seq
    assert "web/0 and 1 more" in broken.reason


def test_an_ack_in_another_cluster_does_not_count(written):
    written.about("message.acknowledged", "b", 0, 0, reason="individual")
    written.update("a", "b", 0)
    assert len(violations(written)) == 1


@pytest.mark.parametrize("event, more", [("message.expired", {}), ("message.skipped", {"reason": "skip"})])
def test_expired_and_skipped_messages_are_acked_expired_or_skipped(written, event, more):
    written.write(
        event, cluster="a", subscription="billing", producer="web", sequence_id=0, ledger=1, entry=0, **more
    )
    written.update("a", "b", 0)
    assert violations(written) == []


def test_the_history_counts_and_not_the_cursor_recovered_after_a_crash(written):
    written.about("message.acknowledged", "a", 0, 0, reason="individual")
    written.moved("a", -1, 0)
    written.write("cursor.recovered", cluster="a", subscription="billing", ledger=1, entry=-1, count=0)
    written.update("a", "b", 0)
    assert violations(written) == []


def test_messages_from_before_the_subscription_began_are_exempt():
    written = WrittenTrace()
    written.replicators("a", "b")
    written.stored("a", 0, 0)
    written.stored("b", 0, 0, peer="a")
    written.created("a", 1, 0)  # Latest
    written.update("a", "b", 0)
    assert violations(written) == []


def test_messages_that_reached_the_writer_after_its_subscription_began_are_checked():
    written = WrittenTrace()
    written.replicators("a", "b")
    written.stored("b", 0, 0)
    written.created("a", 1, -1)
    written.stored("a", 0, 0, peer="b")
    written.update("a", "b", 0)
    assert len(violations(written)) == 1


def test_an_update_past_a_message_that_never_reached_the_writer_is_a_violation():
    """PIP-33's M1-b: in c, not yet in a."""
    written = WrittenTrace()
    written.replicators("a", "b", "c")
    written.created("a", 1, -1)
    written.stored("b", 1, 0)
    written.stored("c", 1, 0, peer="b")
    written.update("a", "c", 0)
    (broken,) = violations(written, clusters=("a", "b", "c"))
    assert "which holds web/1" in broken.reason


def test_an_applied_update_counts_as_acks_of_what_it_covers(written):
    written.created("b", 1, -1)
    written.about("message.acknowledged", "a", 0, 0, reason="individual")
    written.update("a", "b", 0)
    written.write(
        "update.applied", cluster="b", peer="a", subscription="billing", marker=1, to_ledger=1, to_entry=0
    )
    written.update("b", "a", 0)  # the echo
    assert violations(written) == []
    written.update("b", "a", 1)
    assert len(violations(written)) == 1


def test_a_subscription_created_by_an_update_covers_nothing(written):
    written.created("b", 1, 3, reason="update")
    written.update("b", "a", 0)
    assert len(violations(written)) == 1


def test_messages_deleted_before_an_update_created_the_subscription_are_exempt(written):
    written.write("ledger.trimmed", cluster="b", ledger=1, count=4)
    written.stored("b", 4, 0, ledger=2, peer="a")
    written.stored("a", 4, 4)
    written.created("b", 1, 3, reason="update")
    written.update("b", "a", 3)
    assert violations(written) == []
    written.update("b", "a", 4)
    assert len(violations(written)) == 1


def test_a_message_that_expired_between_the_clusters_counts_as_settled():
    written = WrittenTrace()
    written.replicators("a", "b")
    written.created("a", 1, -1)
    written.stored("b", 0, 0)
    written.write(
        "message.not-replicated", cluster="b", peer="a", producer="web", sequence_id=0, reason="expired"
    )
    written.update("a", "b", 0)
    assert violations(written) == []


def test_a_third_clusters_message_that_expired_before_it_reached_the_writer_counts_as_settled():
    written = WrittenTrace()
    written.replicators("a", "b", "c")
    written.created("a", 1, -1)
    written.stored("b", 0, 0, peer="c")
    written.write(
        "message.not-replicated", cluster="c", peer="a", producer="web", sequence_id=0, reason="expired"
    )
    written.update("a", "b", 0)
    assert violations(written, clusters=("a", "b", "c")) == []


def test_the_position_before_the_first_entry_covers_nothing(written):
    written.update("a", "b", -1)
    assert violations(written) == []


def test_markers_in_the_peers_log_need_no_ack(written):
    for number in range(4):
        written.about("message.acknowledged", "a", number, number, reason="individual")
    written.marker("b", 4)
    written.update("a", "b", 4)
    assert violations(written) == []


UNSAFE = {
    "partial snapshots": {"options": {"unsafePartialSnapshotAfter": 1_000_000}},
    "creation at latest": {"options": {"missingSubscriptionCreation": "latest"}},
    "one way": {"topics": {"orders": TopicSpec("orders", ("a", "b"), replication=(("a", "b"),))}},
    "replicate_to subset": {"producers": {"web": ProducerSpec("web", "orders", "a", replicate_to=())}},
}


@pytest.mark.parametrize("changes", UNSAFE.values(), ids=UNSAFE)
def test_an_unsafe_configuration_is_exempt(written, changes):
    written.update("a", "b", 3)
    assert violations(written, **changes) == []


def test_replication_that_began_late_is_exempt():
    written = WrittenTrace()
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    written.stored("a", 0, 0)
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=0)
    written.write("replicator.created", cluster="b", peer="a", ledger=1, entry=-1)
    written.stored("b", 0, 0)
    written.update("a", "b", 0)
    assert violations(written) == []


def test_a_cluster_pair_removed_from_the_list_ends_the_claim(written):
    written.write("replicator.removed", cluster="a", peer="b")
    written.write("replicator.created", cluster="a", peer="b", ledger=1, entry=-1)
    written.update("a", "b", 3)
    assert violations(written) == []


def test_a_snapshot_finished_by_command_is_exempt_but_the_next_one_is_not(written):
    written.write(
        "snapshot.completed", cluster="a", snapshot=1, ledger=1, entry=0, duration_us=1, reason="partial"
    )
    written.update("a", "b", 2, snapshot=1)
    written.update("a", "b", 2, snapshot=2)
    assert violations(written) == []
    written.update("a", "b", 3, snapshot=2)
    assert len(violations(written)) == 1


def test_partitions_are_checked_by_their_topics_configuration():
    written = WrittenTrace()
    topic = {"topic": "orders-partition-0"}
    for source, target in (("a", "b"), ("b", "a")):
        written.write("replicator.created", cluster=source, peer=target, ledger=1, entry=-1, **topic)
    written.write(
        "message.stored", cluster="b", producer="web", sequence_id=0, ledger=1, entry=0, size_bytes=1, **topic
    )
    written.write(
        "update.position",
        cluster="a",
        peer="b",
        subscription="billing",
        snapshot=1,
        marker=1,
        to_ledger=1,
        to_entry=0,
        **topic,
    )
    assert len(violations(written, topics={"orders": TopicSpec("orders", ("a", "b"), partitions=1)})) == 1
