"""The claims about permissions, deletions, lookups, acknowledgement states and what a migration creates:
each rule violated on purpose is detected.
"""

import pytest

from simulator import World, load_scenario_text
from simulator.protocols.pulsar import lookup as lookup_service
from simulator.protocols.pulsar import system
from simulator.protocols.pulsar.ack_sync import AcknowledgementSender
from simulator.protocols.pulsar.broker.subscription import Subscription
from simulator.protocols.pulsar.broker.topic import Topic
from simulator.protocols.pulsar.checks.administration import DeletedUnused, Permitted, Terminated
from simulator.protocols.pulsar.checks.migrations import (
    AnsweredWhenAble,
    LeftEmpty,
    MetadataComplete,
    StateAsSent,
)
from simulator.protocols.pulsar.client import consumer, producer
from simulator.protocols.pulsar.commands import shadows as shadow_commands
from simulator.protocols.pulsar.lookup import LookupService
from simulator.protocols.pulsar.migration import blue_green as blue_green_module
from simulator.protocols.pulsar.migration import resources, steps
from simulator.protocols.pulsar.migration.blue_green import BlueGreen
from simulator.protocols.pulsar.migration.resources import delete_subscription
from simulator.protocols.pulsar.replication.replicator import Replicator
from simulator.protocols.pulsar.shadow import source
from simulator.trace.registry import NULL
from tests.simulator import test_checks_mutations
from tests.simulator.checked import broken_claims_in_pieces as broken_claims
from tests.simulator.checked import claims_broken_in
from tests.simulator.test_blue_green import AUTO, CHECKED, GREEN, MARK, blue_green
from tests.simulator.test_checks_migrations import broken_claims as migrate
from tests.simulator.test_checks_mutations import SYNC
from tests.simulator.test_migration import BACK, BASE, CLEAN_UP, PARTS, START, SWITCH

PERMITTED, UNUSED, TERMINATED, ANSWERED, AS_SENT, WHOLE, LEFT_EMPTY = (
    check.claim
    for check in (
        Permitted,
        DeletedUnused,
        Terminated,
        AnsweredWhenAble,
        StateAsSent,
        MetadataComplete,
        LeftEmpty,
    )
)

ROLES = """
format: 1
name: roles
title: Roles
family: shadow-topics
until: 4s
clusters: {eu: {}}
topics: {t: {clusters: [eu], partitions: 2}, dark: {clusters: [eu], shadowOf: t}}
roles: {reader: {consume: [dark]}, writer: {produce: [t], consume: [t]}, owner: {shadowTopicPolicy: [t]}, root: {superuser: true}}
producers:
  p: {topic: t, cluster: eu, every: 100ms, role: writer}
  admin: {topic: t, cluster: eu, every: 100ms, role: root}
  reading: {topic: t, cluster: eu, every: 100ms, role: reader}
  nobody: {topic: t, cluster: eu, every: 100ms}
  shade: {topic: dark, cluster: eu, role: writer}
subscriptions: {s: {topic: t, initialPosition: Earliest, type: Shared}, d: {topic: dark, initialPosition: Earliest, type: Shared}}
consumers:
  c: {subscription: s, cluster: eu, role: reader}
  w: {subscription: s, cluster: eu, role: writer}
  e: {subscription: d, cluster: eu, role: reader}
  x: {subscription: d, cluster: eu, role: writer}
commands:
  - {at: 1s, do: shadow.set, cluster: eu, topic: t, shadows: [dark], role: writer}
  - {at: 1100ms, do: shadow.set, cluster: eu, topic: t, shadows: [dark], role: owner}
  - {at: 1200ms, do: shadow.remove, cluster: eu, topic: persistent://public/default/t, role: reader}
  - {at: 1300ms, do: shadow.delete, cluster: eu, topic: dark, role: writer, force: true}
  - {at: 1400ms, do: producer.send, producer: nobody}
  - {at: 1500ms, do: producer.send, producer: shade, position: "9:9", partition: 0}
"""


def allow(monkeypatch, *modules, says=lambda *given: None):
    for module in modules:
        monkeypatch.setattr(module, "refusal", says)


# --- permissions


def test_enforced_permissions_break_nothing():
    assert broken_claims(ROLES) == set()


@pytest.mark.parametrize("module", [consumer, producer, shadow_commands], ids=["consume", "produce", "list"])
def test_clients_without_permission_that_are_allowed_are_detected(monkeypatch, module):
    allow(monkeypatch, module)
    assert broken_claims(ROLES) == {PERMITTED}


@pytest.mark.parametrize("module", [consumer, producer], ids=["consume", "produce"])
def test_clients_with_permission_that_are_refused_are_detected(monkeypatch, module):
    allow(monkeypatch, module, says=lambda *given: "no")
    assert broken_claims(ROLES) == {PERMITTED}


def test_a_permission_on_the_source_that_applies_to_its_shadow_is_detected(monkeypatch):
    original = source.refusal
    allow(
        monkeypatch,
        consumer,
        says=lambda scenario, role, action, topic: original(
            scenario, role, action, scenario.topics[topic].shadow_of or topic
        ),
    )
    assert broken_claims(ROLES) == {PERMITTED}


def test_a_produce_permission_that_includes_the_list_is_detected(monkeypatch):
    original = source.refusal
    allow(
        monkeypatch,
        shadow_commands,
        says=lambda scenario, role, _action, topic: original(scenario, role, source.PRODUCE, topic),
    )
    assert broken_claims(ROLES) == {PERMITTED}


# --- deletions

USED = """
format: 1
name: used
title: Used
family: shadow-topics
until: 6s
clusters: {eu: {}, us: {}}
topics: {t: {clusters: [eu]}, dark: {clusters: [eu], shadowOf: t}, far: {clusters: [eu, us]}, read: {clusters: [eu]}}
subscriptions: {s: {topic: read}, d: {topic: dark}}
consumers: {c: {subscription: s, cluster: eu, stop: 3s}, e: {subscription: d, cluster: eu, stop: 3s}}
commands:
  - {at: 1s, do: topic.delete, cluster: eu, topic: t}
  - {at: 1s, do: topic.delete, cluster: us, topic: far}
  - {at: 1s, do: topic.delete, cluster: eu, topic: read}
  - {at: 1s, do: shadow.delete, cluster: eu, topic: dark}
  - {at: 3500ms, do: topic.delete, cluster: eu, topic: read}
  - {at: 4s, do: topic.unload, cluster: eu, topic: t}
  - {at: 4s, do: shadow.remove, cluster: eu, topic: t}
  - {at: 4100ms, do: topic.unload, cluster: eu, topic: t}
  - {at: 4200ms, do: shadow.delete, cluster: eu, topic: dark}
  - {at: 4300ms, do: topic.delete, cluster: eu, topic: t}
  - {at: 5s, do: topic.delete, cluster: eu, topic: far, force: true}
"""


def commanded(text):
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    return [(one["command"], one["code"]) for one in world.summary()["commands"]]


def test_deletions_of_unused_topics_and_forced_deletions_break_nothing():
    assert [code for _command, code in commanded(USED)] == [
        "422",
        "422",
        "412",
        "412",
        "204",
        None,
        "204",
        None,
        "204",
        "204",
        "204",
    ]
    assert broken_claims(USED) == set()


@pytest.mark.parametrize("topic", ["t", "far", "read", "dark"])
def test_a_deletion_that_ignores_users_of_the_topic_is_detected(monkeypatch, topic):
    force(monkeypatch)
    others = "".join(line for line in USED.splitlines(keepends=True) if "do: " not in line)
    kind = "shadow" if topic == "dark" else "topic"
    assert UNUSED in broken_claims(
        f"{others}  - {{at: 1s, do: {kind}.delete, cluster: eu, topic: {topic}}}\n"
    )


def test_a_refused_shadow_deletion_of_a_plain_topic_breaks_nothing():
    # found by the swarm: topic-creation, seed 1023
    text = USED + "  - {at: 500ms, do: shadow.delete, cluster: eu, topic: t, force: true}\n"
    assert commanded(text)[0] == ("shadow.delete", "404")
    assert broken_claims(text) == set()


def force(monkeypatch):
    """Deletions that act as if they were forced, and are recorded as requested."""
    for command in ("topic.delete", "shadow.delete"):
        original = system._HANDLERS[command]
        monkeypatch.setitem(
            system._HANDLERS,
            command,
            lambda runtime, arguments, begin, original=original: original(
                runtime, {**arguments, "force": True}, begin
            ),
        )


ENDED = """
format: 1
name: ended
title: Ended
family: shadow-topics
until: 4s
clusters: {eu: {}}
topics: {t: {clusters: [eu]}, dark: {clusters: [eu], shadowOf: t}}
producers: {p: {topic: t, cluster: eu, every: 100ms}}
commands:
  - {at: 1s, do: topic.terminate, cluster: eu, topic: t}
  - {at: 2s, do: topic.delete, cluster: eu, topic: t, force: true}
  - {at: 2500ms, do: topic.create, cluster: eu, topic: t}
"""


def test_a_terminated_topic_that_takes_messages_is_detected(monkeypatch):
    assert broken_claims(ENDED) == set()
    original = Topic.terminate

    def leaves_it_open(topic, cause):
        current = topic.log.current
        seq = original(topic, cause)
        topic.refuses, topic.terminated = None, False
        topic.log.current = current
        topic.open_ledger(seq)
        return seq

    monkeypatch.setattr(Topic, "terminate", leaves_it_open)
    assert TERMINATED in broken_claims(ENDED)


# --- lookups

DOWN = [
    "at: 4900ms, do: lookup.stop",
    "at: 5s, do: topic.unload, cluster: blue, topic: orders",
    "at: 6s, do: lookup.start",
]


def test_lookups_and_moves_break_nothing():
    for commands, base in (
        ([*DOWN], BASE),
        ([START, SWITCH, CLEAN_UP], PARTS),
        (GREEN, CHECKED),
        ([START, SWITCH, BACK], BASE),
    ):
        assert migrate(*commands, base=base) == set()


@pytest.mark.parametrize(
    "commands", [DOWN, ["at: 4900ms, do: cluster.crash, cluster: blue"]], ids=["service", "cluster"]
)
def test_a_lookup_service_that_answers_while_it_is_down_is_detected(monkeypatch, commands):
    monkeypatch.setattr(LookupService, "refusal", lambda service, base: None)
    assert migrate(*commands) == {ANSWERED}


def test_a_client_that_skips_the_lookup_is_detected(monkeypatch):
    original = lookup_service.Resolver._send
    monkeypatch.setattr(
        lookup_service.Resolver,
        "_send",
        lambda resolver, requests, cause: original(resolver, requests[-1:], cause),
    )
    assert migrate() == {ANSWERED}


# --- acknowledgement states


def test_a_synced_state_that_differs_from_the_cursor_is_detected(monkeypatch):
    original = AcknowledgementSender.send

    def sends_what_was_persisted(sender, peer, cause):
        cursor = sender.subscription.cursor
        mark_delete, cursor.mark_delete = cursor.mark_delete, max(cursor.mark_delete - 5, -1)
        try:
            return original(sender, peer, cause)
        finally:
            cursor.mark_delete = mark_delete

    monkeypatch.setattr(AcknowledgementSender, "send", sends_what_was_persisted)
    assert AS_SENT in test_checks_mutations.broken_claims(SYNC)


def test_a_state_applied_twice_is_detected(monkeypatch):
    original = AcknowledgementSender.arrive

    def applies_twice(sender, argument):
        original(sender, argument)
        if argument[1] in [line.number for line in sender.lines.values()]:
            original(sender, argument)

    monkeypatch.setattr(AcknowledgementSender, "arrive", applies_twice)
    assert test_checks_mutations.broken_claims(SYNC) == {AS_SENT}


# --- what a migration makes


@pytest.mark.parametrize(
    "kind", [resources.ROLE, resources.NAMESPACE, resources.TOPIC, resources.SUBSCRIPTION]
)
def test_a_migration_step_that_omits_something_is_detected(monkeypatch, kind):
    original = resources.of_tenant
    monkeypatch.setattr(
        steps.resources, "of_tenant", lambda work: [one for one in original(work) if one.kind != kind]
    )
    assert WHOLE in migrate(START, "at: 3s, do: migration.roll-back, tenant: acme")


def test_a_migration_that_creates_in_reverse_order_is_detected(monkeypatch):
    original = steps.Metadata._missing
    monkeypatch.setattr(steps.Metadata, "_missing", lambda work: original(work)[::-1])
    assert WHOLE in migrate(START)


def test_a_migration_that_deletes_in_the_wrong_order_is_detected(monkeypatch):
    monkeypatch.setattr(steps, "reversed", lambda created: list(created), raising=False)
    monkeypatch.setattr(resources, "in_use", lambda *given: False)
    assert migrate(START, "at: 3s, do: migration.roll-back, tenant: acme") >= {WHOLE}


# --- blue-green

SPREAD = ["at: 1500ms, do: link.cut, link: blue -> red", MARK, "at: 5s, do: link.heal, link: blue -> red"]


def migrated(commands, clusters="[blue]"):
    world = blue_green(AUTO, clusters=clusters, commands=commands)
    world.run()
    return claims_broken_in(world)


def test_a_drained_blue_cluster_breaks_nothing():
    assert migrated([MARK]) == set() == migrated(SPREAD, "[blue, red]")
    assert (
        migrated(
            [
                MARK,
                "at: 3s, do: consumer.stop, consumer: d",
                "at: 3500ms, do: subscription.delete, subscription: slow, cluster: blue",
            ]
        )
        == set()
    )


def test_a_topic_migrated_with_a_replication_backlog_is_detected(monkeypatch):
    monkeypatch.setattr(Replicator, "settled_mark_delete", lambda replicator: replicator.topic.log.length - 1)
    assert LEFT_EMPTY in migrated(SPREAD, "[blue, red]")


def test_a_subscription_deleted_before_it_is_drained_is_detected(monkeypatch):
    monkeypatch.setattr(Subscription, "backlog", property(lambda one: 0))
    monkeypatch.setattr(blue_green_module, "drained", lambda one: False)
    assert LEFT_EMPTY in migrated([MARK, "at: 2500ms, do: client.close, client: d"])


def test_a_subscription_deleted_while_consumers_are_connected_is_detected(monkeypatch):
    monkeypatch.setattr(blue_green_module, "drained", lambda one: False)
    original = BlueGreen.check_topic

    def deletes_with_readers(checker, topic):
        original(checker, topic)
        for name in tuple(topic.subscriptions) if topic.migrated_to is not None else ():
            if not topic.subscriptions[name].backlog:
                delete_subscription(topic, name, NULL)

    monkeypatch.setattr(BlueGreen, "check_topic", deletes_with_readers)
    assert LEFT_EMPTY in migrated([MARK])
