"""The claims about shadow topics.

Rules violated on purpose are detected, and a correct run breaks none.
"""

import pytest

from simulator import World, load_scenario_text
from simulator.protocols.pulsar.broker.dispatch import Dispatcher
from simulator.protocols.pulsar.broker.session import ReceivedMessage
from simulator.protocols.pulsar.checks.row_checks import SHADOW_CHECKS
from simulator.protocols.pulsar.checks.shadows import ShadowLastConfirmed
from simulator.protocols.pulsar.shadow import topic as shadow_topics
from simulator.protocols.pulsar.shadow.reads import ShadowLog
from simulator.protocols.pulsar.shadow.source import ShadowSource
from simulator.protocols.pulsar.shadow.topic import ShadowTopic
from simulator.trace.registry import NULL
from tests.simulator.checked import broken_claims

WRITES, DELIVERS, WITHIN, PUSH_RECORDED = (check.claim for check in SHADOW_CHECKS)

RUN = """
format: 1
name: shadows
title: Shadows
family: shadow-topics
until: 6s
settings: {managedLedgerMaxEntriesPerLedger: 10, managedLedgerMinLedgerRolloverTimeMinutes: 0}
clusters: {eu: {}, us: {}}
topics: {orders: {clusters: [eu, us]}, audit: {clusters: [eu], shadowOf: orders}}
producers:
  p: {topic: orders, cluster: eu, every: 30ms, stop: 4s, batch: 3}
  q: {topic: orders, cluster: us, every: 50ms, stop: 4s}
subscriptions:
  s: {topic: orders, replicateSubscriptionState: true, initialPosition: Earliest}
  t: {topic: audit, initialPosition: Earliest}
consumers:
  c: {subscription: s, cluster: eu}
  d: {subscription: t, cluster: eu, receiverQueueSize: 5, processing: 20ms}
commands:
  - {at: 1s, do: topic.crash, cluster: eu, topic: audit, downtime: 300ms}
  - {at: 2s, do: topic.unload, cluster: eu, topic: orders}
  - {at: 3s, do: consumer.pause, consumer: d}
  - {at: 5s, do: consumer.resume, consumer: d}
"""
FORGED = RUN.replace("producers:\n", "producers:\n  forger: {topic: audit, cluster: eu, every: 100ms}\n")
UNFED = RUN.replace("shadowOf: orders", "shadowOf: orders, shadowReplication: false")


@pytest.mark.parametrize("text", [RUN, FORGED, UNFED], ids=["run", "forged", "unfed"])
def test_a_correct_run_has_no_violations(text):
    assert broken_claims(text) == set()


def test_the_run_contains_what_the_claims_check():
    world = World.from_scenario(load_scenario_text(RUN))
    world.run()
    for event in (
        "message.lost",
        "marker.filtered",
        "shadow.confirmed",
        "shadow.added",
        "shadow.replicator-stopped",
    ):
        assert world.trace.rows(types=[event]), event
    assert any(
        row["topic"] == "audit" and "batch_index" in row
        for row in world.trace.rows(types=["message.delivered"])
    )


def test_a_shadow_that_accepts_a_producers_message_is_detected(monkeypatch):
    create = ShadowTopic.__init__

    def accepting(topic, *arguments):
        create(topic, *arguments)
        topic.refuses = None
        # its ledgers are the source's: it never rolls them over itself
        topic.rollover.limits = (1 << 60,) * 4

    monkeypatch.setattr(ShadowTopic, "__init__", accepting)
    monkeypatch.setattr(
        ShadowLog,
        "append",
        lambda log, record, size, now: log.source.append(record, size, now),
        raising=False,
    )
    monkeypatch.setattr(
        ShadowLog, "current", property(lambda log: log.source.current, lambda log, value: None)
    )
    assert WRITES in broken_claims(FORGED)


def test_a_view_that_is_one_entry_off_is_detected(monkeypatch):
    original = ShadowLog.position
    monkeypatch.setattr(ShadowLog, "position", lambda log, index: original(log, max(index - 1, 0)))
    assert DELIVERS in broken_claims(RUN)


def test_a_shadow_that_delivers_markers_is_detected(monkeypatch):
    original = Dispatcher.next_deliverable

    def leaks(dispatcher, cause):
        if dispatcher.topic.source is None or dispatcher.read_index >= dispatcher.topic.log.length:
            return original(dispatcher, cause)
        index = dispatcher.read_index
        if dispatcher.topic.log.records[index] >= 0:
            return original(dispatcher, cause)
        dispatcher.read_index = index + 1
        dispatcher.sessions[0].consumer.receive(
            ReceivedMessage(dispatcher.sessions[0], index, 0, NULL, 0, cause)
        )
        return original(dispatcher, cause)

    monkeypatch.setattr(Dispatcher, "next_deliverable", leaks)
    assert DELIVERS in broken_claims(RUN)


def test_positions_ahead_of_the_entries_are_detected(monkeypatch):
    original = ShadowTopic.add
    monkeypatch.setattr(
        ShadowTopic,
        "add",
        lambda topic, position, cause, who=None: original(topic, (position[0], position[1] + 1), cause, who),
    )
    assert WITHIN in broken_claims(RUN)


def test_a_reader_past_the_last_confirmed_entry_is_detected(monkeypatch):
    original = ShadowLog.confirm

    def confirms_all(log, ledger_id, entry):
        original(log, ledger_id, entry)
        log.length = log.source.length

    monkeypatch.setattr(ShadowLog, "confirm", confirms_all)
    assert WITHIN in broken_claims(UNFED)


def test_a_cursor_push_without_a_row_is_detected(monkeypatch):
    monkeypatch.setattr(shadow_topics, "_note_lost", lambda *_ignored: None)
    assert broken_claims(RUN) == {PUSH_RECORDED}


def test_a_cursor_push_over_existing_ledgers_is_detected(monkeypatch):
    original = shadow_topics.push_cursors
    monkeypatch.setattr(
        shadow_topics,
        "push_cursors",
        lambda topic, index, cause: original(topic, topic.source.log.length, cause),
    )
    assert PUSH_RECORDED in broken_claims(RUN)


def test_a_source_that_confirms_too_much_of_its_open_ledger_is_detected(monkeypatch):
    """No violation of these four: the entries exist. What the bookies may confirm is another claim."""
    monkeypatch.setattr(
        ShadowSource, "entries_confirmed", lambda source: source.topic.log.ledgers[-1].entries
    )
    assert broken_claims(RUN) == {ShadowLastConfirmed.claim}
