"""The claims about how shadows are fed.

Rules violated on purpose are detected, and a correct run breaks none.
"""

import pytest

from simulator import World, load_scenario_text
from simulator.protocols.pulsar.checks.shadows import (
    AnnouncedToShadow,
    ShadowFed,
    ShadowLastConfirmed,
    ShadowNotifications,
    ShadowShape,
)
from simulator.protocols.pulsar.commands import shadows as commands
from simulator.protocols.pulsar.creation import catalogue
from simulator.protocols.pulsar.shadow.source import ShadowReplicator, ShadowSource
from simulator.protocols.pulsar.shadow.topic import ShadowTopic
from tests.simulator.checked import broken_claims_in_pieces as broken_claims

FED, ANNOUNCED, BOOKIES, NOTIFIED, SHAPE = (
    check.claim
    for check in (ShadowFed, AnnouncedToShadow, ShadowLastConfirmed, ShadowNotifications, ShadowShape)
)

RUN = """
format: 1
name: feeding
title: Feeding
family: shadow-topics
until: 9s
settings: {managedLedgerMaxEntriesPerLedger: 30, managedLedgerMinLedgerRolloverTimeMinutes: 0, replicationPolicyCheckDurationSeconds: 1}
clusters: {eu: {}, us: {}}
topics: {orders: {clusters: [eu, us]}, audit: {clusters: [eu], shadowOf: orders}, dark: {clusters: [eu], shadowOf: orders, shadowReplication: false}}
producers:
  p: {topic: orders, cluster: eu, every: 30ms, stop: 8s, batch: 3}
  q: {topic: orders, cluster: us, every: 50ms, stop: 8s}
subscriptions:
  s: {topic: orders, replicateSubscriptionState: true, initialPosition: Earliest}
  t: {topic: audit, initialPosition: Earliest}
consumers:
  c: {subscription: s, cluster: eu}
  d: {subscription: t, cluster: eu}
commands:
  - {at: 1s, do: topic.crash, cluster: eu, topic: audit, downtime: 300ms}
  - {at: 1500ms, do: shadow.set, cluster: eu, topic: orders, shadows: [audit, dark]}
  - {at: 2s, do: topic.unload, cluster: eu, topic: orders}
  - {at: 3s, do: shadow.set, cluster: eu, topic: orders, shadows: [dark]}
  - {at: 4s, do: topic.crash, cluster: eu, topic: dark, downtime: 700ms}
  - {at: 4010ms, do: topic.crash, cluster: eu, topic: orders, downtime: 200ms}
  - {at: 6s, do: shadow.remove, cluster: eu, topic: orders}
  - {at: 7s, do: topic.truncate, cluster: eu, topic: orders}
"""
EXPLICIT = RUN.replace("settings: {", "settings: {bookkeeperExplicitLacIntervalInMills: 700, ").replace(
    "clusters: {eu", "options: {shadowLastConfirmedRefresh: on-read, shadowRemoveLast: ends}\nclusters: {eu"
)
CARRIED = RUN.replace("clusters: {eu: {}", "options: {shadowReadsPiggybackedLac: true}\nclusters: {eu: {}")
EXPIRING = RUN.replace("settings: {", "settings: {ttlDurationDefaultInSeconds: 1, ")
PARTS = RUN.replace("orders: {clusters: [eu, us]}", "orders: {clusters: [eu, us], partitions: 2}")


SHARED = RUN.replace("topics: {", "topics: {other: {clusters: [eu]}, ").replace(
    "producers:\n", "producers:\n  o: {topic: other, cluster: eu, every: 30ms}\n"
) + (
    "  - {at: 2500ms, do: shadow.set, cluster: eu, topic: other, shadows: [audit]}\n  - {at: 5s, do: "
    "shadow.set, cluster: eu, topic: other, shadows: [other]}\n"
)
"""A shadow on the list of a topic that is not its source, which Pulsar does not forbid; and a listed topic
that is no shadow.
"""


@pytest.mark.parametrize(
    "text",
    [RUN, EXPLICIT, CARRIED, EXPIRING, PARTS, SHARED],
    ids=["run", "explicit", "carried", "expiring", "parts", "shared"],
)
def test_a_correct_run_has_no_violations(text):
    assert broken_claims(text) == set()


@pytest.mark.parametrize("text", [RUN, EXPLICIT], ids=["run", "explicit"])
def test_the_runs_contain_what_the_claims_check(text):
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    stopped = {row["reason"] for row in world.trace.rows(types=["shadow.replicator-stopped"])}
    assert stopped >= {"shadow-crash", "source-unload", "source-crash", "start-failed", "removed"}
    assert {row["reason"] for row in world.trace.rows(types=["shadow.confirmed"])} >= {"load", "metadata"} | (
        {"refresh"} if text is EXPLICIT else set()
    )


# --- the list


def test_a_source_that_feeds_a_shadow_missing_from_every_list_is_detected(monkeypatch):
    original = ShadowSource.listed
    monkeypatch.setattr(
        ShadowSource,
        "listed",
        property(
            lambda source: tuple(
                dict.fromkeys(
                    (*original.fget(source), *(("audit", "dark") if source.topic.base == "orders" else ()))
                )
            )
        ),
    )
    assert FED in broken_claims(RUN)


def test_a_shadow_fed_after_its_removal_from_the_list_is_detected(monkeypatch):
    monkeypatch.setattr(
        ShadowSource,
        "check_replication",
        lambda source, cause, first=False: [
            source.replicators.setdefault(name, ShadowReplicator(source.topic, name, cause)).start(
                cause, at_once=first
            )
            for name in map(source.partition_of, source.listed)
            if name not in source.replicators
        ],
    )
    assert broken_claims(RUN) == {FED}


def test_an_ignored_list_is_detected(monkeypatch):
    original = ShadowSource.check_replication
    monkeypatch.setattr(
        ShadowSource,
        "check_replication",
        lambda source, cause, first=False: original(source, cause, first) if first else None,
    )
    assert broken_claims(RUN) == {FED}


def no_timer(source, epoch):
    """A function of the module: a checkpoint keeps a scheduled function by its name."""


def test_a_failed_start_that_is_not_retried_is_detected(monkeypatch):
    monkeypatch.setattr(ShadowSource, "policy_timer", no_timer)
    assert broken_claims(RUN) == {FED}


def test_a_list_that_loses_a_name_is_detected(monkeypatch):
    original = commands.ShadowList
    monkeypatch.setattr(
        commands, "ShadowList", lambda names, busy_until_us: original(names[:1], busy_until_us)
    )
    assert broken_claims(RUN) == {FED}


# --- what a shadow receives


def skipping(which):
    """A replicator that skips entries for which `which(runtime, topic, record)` is true."""
    original = ShadowReplicator._send

    def send(replicator, index):
        if which(replicator.runtime, replicator.topic, replicator.topic.log.records[index]):
            replicator.cursor.acknowledge(index)
        else:
            original(replicator, index)

    return send


@pytest.mark.parametrize(
    "which",
    [
        lambda runtime, topic, record: record < 0,
        lambda runtime, topic, record: record >= 0 and runtime.messages.origin[record] != topic.cluster.index,
    ],
    ids=["markers", "replicated"],
)
def test_a_source_that_does_not_feed_every_entry_is_detected(monkeypatch, which):
    monkeypatch.setattr(ShadowReplicator, "_send", skipping(which))
    assert broken_claims(RUN) == {ANNOUNCED}


def test_a_replicator_that_continues_from_its_read_position_is_detected(monkeypatch):
    monkeypatch.setattr(ShadowReplicator, "_rewind", ShadowReplicator.read)
    assert broken_claims(
        RUN.replace("clusters: {eu: {}", "options: {shadowReplicationLatency: 100ms}\nclusters: {eu: {}")
    ) == {ANNOUNCED}


def test_a_cursor_that_opens_at_the_earliest_entry_is_detected(monkeypatch):
    original = ShadowReplicator.__init__

    def earliest(replicator, topic, shadow, cause):
        length = topic.log.length
        topic.log.length = topic.log.first_kept
        original(replicator, topic, shadow, cause)
        topic.log.length = length

    monkeypatch.setattr(ShadowReplicator, "__init__", earliest)
    assert broken_claims(RUN) == {ANNOUNCED}


def test_two_entries_out_of_order_are_detected(monkeypatch):
    original = ShadowReplicator._send

    def send(replicator, index):
        if index % 5 == 0 and index + 1 < replicator.topic.log.length:
            original(replicator, index + 1)
        original(replicator, index)

    monkeypatch.setattr(ShadowReplicator, "_send", send)
    monkeypatch.setattr(ShadowReplicator, "read", _late(ShadowReplicator.read))
    assert ANNOUNCED in broken_claims(RUN)


def _late(original):
    """Reads only when there is more than one entry to read."""

    def read(replicator):
        if replicator.topic.log.length - replicator.read_index > 3:
            original(replicator)

    return read


# --- the end of the open ledger


@pytest.mark.parametrize("text", [RUN, EXPLICIT], ids=["never", "each-700-ms"])
def test_bookies_that_have_all_of_an_open_ledger_confirmed_are_detected(monkeypatch, text):
    monkeypatch.setattr(
        ShadowSource, "entries_confirmed", lambda source: source.topic.log.ledgers[-1].entries
    )
    assert BOOKIES in broken_claims(text)


def test_a_writer_that_confirms_nothing_to_the_bookies_is_detected(monkeypatch):
    original = ShadowSource.entries_confirmed

    def closed_only(source):
        ledger = source.topic.log.ledgers[-1]
        return original(source) if ledger.closed_us is not None or source.stopped_us is not None else 0

    monkeypatch.setattr(ShadowSource, "entries_confirmed", closed_only)
    assert broken_claims(EXPLICIT) == {BOOKIES}


def test_a_crash_that_closes_the_ledger_is_detected(monkeypatch):
    original = ShadowSource.unloaded
    monkeypatch.setattr(
        ShadowSource, "unloaded", lambda source, reason, cause, clean: original(source, reason, cause, True)
    )
    late = RUN.replace("at: 4010ms", "at: 3990ms").replace(
        "topic: orders, downtime: 200ms", "topic: orders, downtime: 1s"
    )
    assert broken_claims(late) == {BOOKIES}


def test_a_shadow_that_does_not_watch_its_source_is_detected(monkeypatch):
    monkeypatch.setattr(ShadowSource, "ledgers_changed", lambda source, cause: None)
    assert broken_claims(RUN) == {NOTIFIED}


_HEAR = ShadowTopic.hear_of_ledgers


def hear_later(topic, argument):
    topic.runtime.schedule(topic.runtime.now_us + 50_000, topic.rank, topic.hear_now, argument)


def hear_now(topic, argument):
    _HEAR(topic, argument)


def test_a_shadow_notified_late_of_ledgers_is_detected(monkeypatch):
    monkeypatch.setattr(ShadowTopic, "hear_of_ledgers", hear_later)
    monkeypatch.setattr(ShadowTopic, "hear_now", hear_now, raising=False)
    assert broken_claims(RUN) == {NOTIFIED}


# --- partitions

GROWN = PARTS + "  - {at: 7500ms, do: topic.grow, topic: orders, partitions: 4}\n"
FOLLOWING = GROWN.replace(
    "clusters: {eu: {}", "options: {shadowPartitionChanges: follow-source}\nclusters: {eu: {}"
)


@pytest.mark.parametrize("text", [GROWN, FOLLOWING], ids=["copied", "following"])
def test_a_growing_source_breaks_nothing(text):
    assert broken_claims(text) == set()


def test_a_shadow_that_does_not_follow_partition_growth_is_detected(monkeypatch):
    monkeypatch.setattr(catalogue, "shadows_of", lambda cluster, base: [])
    assert broken_claims(FOLLOWING) == {SHAPE}


def test_a_shadow_with_a_different_partition_count_is_detected(monkeypatch):
    original = catalogue.create
    monkeypatch.setattr(
        commands.catalogue,
        "create",
        lambda cluster, base, partitions, *more: original(cluster, base, max(1, partitions - 1), *more),
    )
    made = PARTS.replace("shadowReplication: false", "exists: {}, shadowReplication: false").replace(
        "commands:\n",
        "commands:\n  - {at: 500ms, do: shadow.create, cluster: eu, topic: dark, source: orders}\n",
    )
    assert broken_claims(made) == {SHAPE}
