"""The claim about synced acks.

Rules of acknowledgement-state sync violated on purpose are detected, and correct runs break nothing.
"""

import pytest

from simulator.protocols.pulsar import ack_sync as acknowledgement_sync
from simulator.protocols.pulsar.ack_sync import (
    AcknowledgedState,
    AcknowledgementFilter,
    AcknowledgementSender,
)
from simulator.protocols.pulsar.broker.topic import Topic
from simulator.protocols.pulsar.checks.acknowledgements import SyncedAcksKept
from tests.simulator.checked import broken_claims
from tests.simulator.test_checks_mutations import SYNC

SYNCED_ACKS_KEPT = SyncedAcksKept.claim
BATCHES = SYNC.replace("every: 5ms", "every: 5ms, batch: 3")
CRASHES = SYNC.replace("commands: [", "commands: [{at: 2500ms, do: topic.crash, cluster: b, topic: orders}, ")
RESET = SYNC.replace(
    "commands: [",
    "commands: [{at: 1500ms, do: subscription.reset, subscription: billing, cluster: a, time: 500ms}, ",
)


@pytest.mark.parametrize("text", [SYNC, BATCHES, CRASHES, RESET], ids=["sync", "batches", "crashes", "reset"])
def test_a_correct_run_has_no_violations(text):
    assert broken_claims(text) == set()


def test_a_dispatcher_that_does_not_filter_is_detected(monkeypatch):
    monkeypatch.setattr(AcknowledgementFilter, "takes", lambda *given: False)
    assert broken_claims(SYNC) == {SYNCED_ACKS_KEPT}


def test_a_crash_that_forgets_synced_acks_is_detected(monkeypatch):
    load = Topic.load

    def forgets_synced_acks(topic, *given, **more):
        for one in topic.subscriptions.values():
            one.filter.reported.clear()
        return load(topic, *given, **more)

    monkeypatch.setattr(Topic, "load", forgets_synced_acks)
    once = CRASHES.replace(
        "acknowledgementSync: periodic", "acknowledgementSync: periodic, ackSyncPeriod: 2s"
    )
    assert broken_claims(once) == {SYNCED_ACKS_KEPT}


def test_messages_of_the_target_that_are_not_mapped_are_detected(monkeypatch):
    monkeypatch.setattr(AcknowledgementSender, "_note_origins", lambda *given: None)
    assert broken_claims(SYNC) == {SYNCED_ACKS_KEPT}


def test_a_sync_request_applied_without_its_acks_is_detected(monkeypatch):
    apply = acknowledgement_sync.apply
    empty = AcknowledgedState({}, {}, 0, 0)
    monkeypatch.setattr(
        acknowledgement_sync,
        "apply",
        lambda topic, sender, state, known, cause: apply(topic, sender, empty, known, cause),
    )
    assert broken_claims(SYNC) == {SYNCED_ACKS_KEPT}
