"""The claims about time to live, the period of ack syncs, retries of lookups, offloaded ledgers, copied requests, policies, refused deletions and enforced schemas.

Each rule violated on purpose is detected, and correct runs break nothing.
"""

import pytest

from simulator import load_scenario_text
from simulator.protocols.pulsar import lookup, system
from simulator.protocols.pulsar.ack_sync import AcknowledgementSender
from simulator.protocols.pulsar.checks.acknowledgements import AckSyncRequests
from simulator.protocols.pulsar.checks.administration import AutoCreated, DeletedUnused
from simulator.protocols.pulsar.checks.copies import PolicyRequests, RequestsCopied
from simulator.protocols.pulsar.checks.failovers import ConsumerReconnects, LookupRetries
from simulator.protocols.pulsar.checks.messages import ExpiredMessages
from simulator.protocols.pulsar.checks.schemas import SchemasByRule
from simulator.protocols.pulsar.checks.shadows import OffloadedReads
from simulator.protocols.pulsar.client import backoff
from simulator.protocols.pulsar.client.consumer import Consumer
from simulator.protocols.pulsar.creation import catalogue, policies, schemas
from simulator.protocols.pulsar.creation.remote_admin import RemoteAdmin
from simulator.protocols.pulsar.replication.replicator import Replicator
from simulator.protocols.pulsar.shadow.reads import Storage
from simulator.protocols.pulsar.shadow.source import ShadowReplicator
from simulator.protocols.pulsar.storage import retention as upkeep
from simulator.scenarios.builtin import builtin_text
from simulator.scenarios.commands import CommandError
from simulator.world import World
from tests.simulator.checked import broken_claims_in_pieces as broken_claims
from tests.simulator.test_migration import BASE, CLEAN_UP, START, SWITCH

EXPIRED, IN_TIME, RETRIED, READ, SENSIBLE, COPIED, UNUSED, BY_RULE, AUTOMATIC, RECONNECTED = (
    check.claim
    for check in (
        ExpiredMessages,
        AckSyncRequests,
        LookupRetries,
        OffloadedReads,
        PolicyRequests,
        RequestsCopied,
        DeletedUnused,
        SchemasByRule,
        AutoCreated,
        ConsumerReconnects,
    )
)
HEAD = (
    "format: 1\nname: mutation\ntitle: Mutation\nfamily: tenant-migration\nclusters: {a: {}, b: "
    "{}}\nlinks: {default: {latency: 20ms}}\n"
)


# --- time to live

CUT = "commands: [{at: 500ms, do: link.cut, link: a -> b}, {at: 3s, do: link.heal, link: a -> b}]\n"
EXPIRING = (
    HEAD
    + (
        "until: 400s\nsettings: {ttlDurationDefaultInSeconds: 1}\ntopics: {orders: {clusters: [a, "
        "b]}}\nproducers: {web: {topic: orders, cluster: a, every: 50ms, stop: 4s}}\n"
        "subscriptions: {billing: {topic: orders, type: Shared, initialPosition: Earliest}}\nconsumers: "
        "{one: {subscription: billing, cluster: a, stop: 2s}}\n"
    )
    + CUT
)
SET_LATER = EXPIRING.replace("settings: {ttlDurationDefaultInSeconds: 1}\n", "").replace(
    "commands: [",
    "commands: [{at: 400ms, do: setting.change, setting: ttlDurationDefaultInSeconds, value: 1}, ",
)
SHADOWED = (
    "format: 1\nname: mutation\ntitle: Mutation\nfamily: shadow-topics\nuntil: 6s\nclusters: {eu: "
    "{}}\nsettings: {ttlDurationDefaultInSeconds: 1}\n"
    "topics: {orders: {clusters: [eu]}, dark: {clusters: [eu], shadowOf: orders}}\nproducers: {web: "
    "{topic: orders, cluster: eu, every: 50ms, stop: 4s}}\n"
    "commands: [{at: 1s, do: topic.crash, cluster: eu, topic: dark, downtime: 2s}]\n"
)
# Pulsar accepts any existing topic on the list. Here neither of the two is a shadow of the topic that feeds it.
LISTED = (
    SHADOWED.replace(", shadowOf: orders}", "}, late: {clusters: [eu], shadowOf: dark}")
    .split("commands:")[0]
    .replace("until: 6s", "until: 9s")
    .replace("InSeconds: 1", "InSeconds: 3")
    + "commands: [{at: 3s, do: shadow.set, cluster: eu, topic: orders, shadows: [orders, late]}]\n"
)


def expires_after(given_us):
    return lambda replicator, published_us: published_us + given_us < replicator.runtime.now_us


@pytest.mark.parametrize(
    "text",
    [EXPIRING, SET_LATER, SHADOWED, LISTED],
    ids=["from-the-start", "set-later", "shadow", "listed-topics"],
)
def test_expiry_in_time_breaks_nothing(text):
    assert broken_claims(text) == set()


@pytest.mark.parametrize(
    "text, place, name, rule",
    [
        (EXPIRING, Replicator, "_is_expired", lambda *given: False),
        (EXPIRING, Replicator, "_is_expired", expires_after(300_000)),
        (SET_LATER, Replicator, "_is_expired", expires_after(5_000_000)),
        (
            SHADOWED,
            ShadowReplicator,
            "_expired",
            lambda self, index: upkeep.published_us(self.topic, index) + 500_000 < self.runtime.now_us,
        ),
        (
            LISTED,
            ShadowReplicator,
            "_expired",
            lambda self, index: upkeep.published_us(self.topic, index) + 500_000 < self.runtime.now_us,
        ),
    ],
    ids=["sent", "too-early", "set-later", "shadow", "listed-topics"],
)
def test_expiry_out_of_time_is_detected(text, place, name, rule, monkeypatch):
    monkeypatch.setattr(place, name, rule)
    assert broken_claims(text) == {EXPIRED}


def test_cursors_that_expire_young_messages_are_detected(monkeypatch):
    """Published from 58 to 61 s, each with one minute to live; the check at 60 s expires them all."""
    text = (
        EXPIRING.replace("400s", "70s")
        .replace("stop: 4s", "start: 58s, stop: 61s")
        .replace("InSeconds: 1", "InSeconds: 60, messageExpiryCheckIntervalInMinutes: 1")
    )
    assert broken_claims(text) == set()
    original = upkeep.published_us
    monkeypatch.setattr(upkeep, "published_us", lambda topic, index: original(topic, index) - 70_000_000)
    assert broken_claims(text) == {EXPIRED}


# --- acknowledgement-state sync, period by period

SYNCED = HEAD + (
    "until: 5s\ntopics: {orders: {clusters: [a, b]}}\nproducers: {web: {topic: orders, cluster: a, "
    "every: 20ms}}\n"
    "subscriptions: {billing: {topic: orders, initialPosition: Earliest, acknowledgementSync: "
    "periodic, ackSyncPeriod: 700ms}}\n"
    "consumers: {one: {subscription: billing, cluster: a, processing: 1ms}}\n"
)
SYNC_COMMAND = "{at: 1s, do: subscription.sync-acknowledgements, subscription: billing, from: a, to: b}"
DISTURBED = SYNCED + (
    f"commands: [{SYNC_COMMAND}, {{at: 1500ms, do: topic.unload, cluster: a, topic: orders}}, {{at: 2s, do: "
    f"link.cut, link: a -> b}}, {{at: 2300ms, do: link.heal, link: a -> b}},"
    " {at: 3s, do: cluster.crash, cluster: b}, {at: 3500ms, do: cluster.restart, cluster: b}, {at: 4s, "
    "do: topic.unload, cluster: b, topic: orders}]\n"
)
ONCE = SYNCED.replace("periodic, ackSyncPeriod: 700ms", "once") + f"commands: [{SYNC_COMMAND}]\n"


@pytest.mark.parametrize("text", [SYNCED, DISTURBED, ONCE], ids=["periodic", "disturbed", "once"])
def test_syncs_in_time_break_nothing(text):
    assert broken_claims(text) == set()


def slower(self, epoch):
    if self.period_us is not None:
        self.runtime.schedule(self.runtime.now_us + 2 * self.period_us, self.topic.rank, self.tick, epoch)


def ticks_early(self, epoch):
    if self.period_us is not None:
        self.runtime.schedule(self.runtime.now_us + self.period_us // 2, self.topic.rank, self.tick, epoch)


def ticks_unrequested(self, epoch):
    self.period_us = 700_000
    self.runtime.schedule(self.runtime.now_us + self.period_us, self.topic.rank, self.tick, epoch)


@pytest.mark.parametrize(
    "text, rule",
    [
        (SYNCED, slower),
        (DISTURBED, slower),
        (SYNCED, ticks_early),
        (ONCE, ticks_unrequested),
        (SYNCED, lambda *given: None),
    ],
    ids=["slower", "disturbed", "early", "not-requested", "never"],
)
def test_syncs_out_of_time_are_detected(text, rule, monkeypatch):
    monkeypatch.setattr(AcknowledgementSender, "_tick_later", rule)
    assert broken_claims(text) == {IN_TIME}


STEADY = BASE.replace(", hold: {messages: [web/50], for: 20s}", "")  # its mark-delete moves all the time
MOVED = STEADY + f"commands: [{{{START}}}, {{{SWITCH}}}, {{{CLEAN_UP}}}]\n"
ROLLED_BACK = (
    STEADY + f"commands: [{{{START}}}, {{{SWITCH}}}, {{at: 6s, do: migration.roll-back, tenant: acme}}]\n"
)
SYNC_ONCE = MOVED.replace("billing: {topic: orders", "billing: {topic: orders, acknowledgementSync: once")


@pytest.mark.parametrize("text", [MOVED, ROLLED_BACK, SYNC_ONCE], ids=["moved", "rolled-back", "once"])
def test_syncs_of_a_migration_break_nothing(text):
    assert broken_claims(text) == set()


@pytest.mark.parametrize("rule", [slower, ticks_early, lambda *given: None], ids=["slower", "early", "never"])
def test_syncs_of_a_migration_out_of_time_are_detected(rule, monkeypatch):
    monkeypatch.setattr(AcknowledgementSender, "_tick_later", rule)
    assert broken_claims(MOVED) == {IN_TIME}


# --- clients that the LookupService refuses

REFUSED = BASE + (
    "commands: [{at: 2s, do: lookup.stop}, {at: 2100ms, do: topic.unload, cluster: blue, topic: orders}, "
    "{at: 9s, do: lookup.start}]\n"
)
AWAY = BASE + (
    f"commands: [{{{START}}}, {{{SWITCH}}}, {{at: 5050ms, do: cluster.crash, cluster: green}}, {{at: 8s, "
    f"do: cluster.restart, cluster: green}}]\n"
)


@pytest.mark.parametrize("text", [REFUSED, AWAY], ids=["service", "cluster"])
def test_repeated_lookups_break_nothing(text):
    assert broken_claims(text) == set()


@pytest.mark.parametrize(
    "place, name, rule",
    [
        (backoff, "FIRST_US", 200_000),
        (backoff, "FIRST_US", 50_000),
        (backoff, "MAX_US", 100_000),
        (lookup.Brokers, "retry", lambda self, _argument: None),
        (Consumer, "_retry_later", lambda consumer: None),
    ],
)
def test_lookups_repeated_out_of_time_are_detected(place, name, rule, monkeypatch):
    text = REFUSED.replace("every: 10ms, stop: 7s", "every: 10ms")
    if name in ("retry", "_retry_later"):  # the first wait is kept, otherwise no client would retry at all
        original, calls = getattr(place, name), {}
        monkeypatch.setattr(
            place,
            name,
            lambda one, *more: (
                original(one, *more)
                if calls.setdefault(one, []).append(1) is None and len(calls[one]) < 3
                else None
            ),
        )
    else:
        monkeypatch.setattr(place, name, rule)
    assert broken_claims(text) == {RETRIED}


# --- consumers that lost their broker

LOST = (
    "format: 1\nname: mutation\ntitle: Mutation\nfamily: replicated-subscriptions\nuntil: "
    "160s\nclusters: {a: {}}\ntopics: {t: {clusters: [a], partitions: 3}}\n"
    "producers: {p: {topic: t, cluster: a, every: 500ms}}\nsubscriptions: {s: {topic: t, type: "
    "Shared}, f: {topic: t, type: Failover}}\n"
    "consumers: {one: {subscription: s, cluster: a}, two: {subscription: f, cluster: a, "
    "acknowledgmentGroupTime: 0s}, gone: {subscription: s, cluster: a, stop: 2s}}\n"
    "commands: [{at: 1s, do: cluster.crash, cluster: a, clients: false}, {at: 11s, do: "
    "cluster.restart, cluster: a}, {at: 20s, do: topic.unload, cluster: a, topic: t},\n"
    "  {at: 25s, do: topic.crash, cluster: a, topic: t-partition-1, downtime: 120s}, {at: 26s, do: "
    "client.kill, client: two}, {at: 30s, do: consumer.start, consumer: two}]\n"
)


def test_reconnecting_consumers_break_nothing():
    assert broken_claims(LOST) == set()


def each_partition_separately(consumer):
    consumer.runtime.schedule(
        consumer.runtime.now_us + backoff.wait_us(consumer.retries),
        consumer.rank,
        consumer.reconnect,
        consumer.epoch,
    )
    consumer.retries += 1


@pytest.mark.parametrize(
    "place, name, rule",
    [
        (backoff, "FIRST_US", 200_000),
        (backoff, "MAX_US", 1_000_000),
        (Consumer, "_retry_later", lambda consumer: None),
        (Consumer, "_retry_later", each_partition_separately),
    ],
    ids=["first", "most", "never", "each-partition-separately"],
)
def test_consumers_that_reconnect_out_of_time_are_detected(place, name, rule, monkeypatch):
    monkeypatch.setattr(place, name, rule)
    assert broken_claims(LOST) == {RECONNECTED}


# --- offloaded ledgers

OFFLOADED = builtin_text("shadow-offloaded").partition("expect:")[0].replace("start: 4s", "start: 4200ms")


def always_from_bookies(self, index, reader):
    return "bookies"


def lost(self, index, reader):
    return "ledger-deleted" if self.gone_from_bookies.get(self.topic.log.position(index)[0]) else "bookies"


def from_driver_for_shadows(self, index, reader):
    return "offload-driver" if self.offloaded or not reader.source else "bookies"


def test_offloaded_ledgers_read_by_their_driver_break_nothing():
    assert broken_claims(OFFLOADED) == set()


@pytest.mark.parametrize("rule", [always_from_bookies, lost, from_driver_for_shadows])
def test_offloaded_ledgers_read_by_another_rule_are_detected(rule, monkeypatch):
    monkeypatch.setattr(Storage, "place_of", rule)
    assert broken_claims(OFFLOADED) == {READ}


# --- requests to the admin service

ADMIN = (
    "format: 1\nname: mutation\ntitle: Mutation\nfamily: topic-creation\nuntil: 6s\nclusters: {a: {}, "
    "b: {}, c: {}}\nlinks: {default: {latency: 20ms}}\n"
    "namespaces: {acme/web: {replicationClusters: [a, b, c]}, acme/far: {clusters: [b]}}\n"
    "topics: {t: {clusters: [a, b, c], namespace: acme/web, exists: {}}, free: {clusters: [a], exists: "
    "{a: 2}}, used: {clusters: [a]}}\n"
    "producers: {p: {topic: used, cluster: a, every: 100ms}}\n"
    "commands:\n"
    "  - {at: 1s, do: topic.create, cluster: a, topic: t, partitions: 2}\n  - {at: 2s, do: "
    "topic.update-partitions, cluster: a, topic: t, partitions: 3}\n"
    "  - {at: 2500ms, do: topic.update-partitions, cluster: a, topic: t, partitions: 3}\n"
    "  - {at: 3s, do: namespace.set-is-allow-auto-update-schema, cluster: a, namespace: acme/web, "
    "enabled: true, enableForReplicator: false}\n"
    "  - {at: 3100ms, do: namespace.set-is-allow-auto-update-schema, cluster: a, namespace: acme/web, "
    "enabled: false, enableForReplicator: true}\n"
    "  - {at: 3200ms, do: namespace.create, cluster: a, namespace: acme/far}\n  - {at: 3300ms, do: "
    "namespace.create, cluster: a, namespace: acme/web}\n"
    "  - {at: 3400ms, do: namespace.set-auto-topic-creation, cluster: a, namespace: acme/web, "
    "allowAutoTopicCreationType: partitioned}\n"
    "  - {at: 3500ms, do: namespace.set-auto-topic-creation, cluster: a, namespace: acme/web, "
    "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 3}\n"
    "  - {at: 4s, do: topic.delete, cluster: a, topic: free}\n  - {at: 4100ms, do: topic.delete, "
    "cluster: a, topic: used}\n"
    "  - {at: 4200ms, do: topic.delete, cluster: a, topic: t}\n  - {at: 4300ms, do: topic.delete, "
    "cluster: c, topic: t, force: true}\n"
)
LOGGED = ADMIN.replace("commands:\n", "commands:\n  - {at: 500ms, do: link.cut, link: a -> c}\n")


@pytest.mark.parametrize("text", [ADMIN, LOGGED], ids=["copied", "logged"])
def test_requests_answered_by_the_rules_break_nothing(text):
    assert broken_claims(text) == set()


def test_requests_that_are_not_copied_are_detected(monkeypatch):
    original = RemoteAdmin.send
    for kept in ((), ("create",), ("grow",)):
        monkeypatch.setattr(
            RemoteAdmin,
            "send",
            lambda self, method, *more, kept=kept: original(self, method, *more) if method in kept else None,
        )
        assert COPIED in broken_claims(ADMIN), kept
    monkeypatch.setattr(
        RemoteAdmin,
        "send",
        lambda self, method, source, target, *more: (
            original(self, method, source, target, *more) if target == "b" else None
        ),
    )
    assert COPIED in broken_claims(ADMIN)


MOVING = (
    "format: 1\nname: mutation\ntitle: Mutation\nfamily: tenant-migration\nuntil: 9s\nclusters: {blue: "
    "{}, green: {}}\nlinks: {default: {latency: 20ms}}\n"
    "tenants: {acme: {cluster: blue}}\nnamespaces: {acme/shop: {clusters: [blue], "
    "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 3}}\n"
    "topics: {orders: {clusters: [blue], namespace: acme/shop, exists: {blue: 2}}, later: {clusters: "
    "[blue, green], namespace: acme/shop, exists: {}}}\n"
    "producers: {web: {topic: orders, every: 50ms, stop: 6s}, late: {topic: later, cluster: green, "
    "start: 7s, every: 100ms, stop: 8s}}\n"
    "commands: [{at: 1s, do: migration.start, tenant: acme, to: green}, {at: 4s, do: "
    "topic.update-partitions, cluster: blue, topic: orders, partitions: 4}]\n"
)


def test_policies_copied_by_a_migration_apply_from_then_on(monkeypatch):
    """The claims about policies, lists and copied requests follow a namespace that a migration copies."""
    assert broken_claims(MOVING) == set()
    original = RemoteAdmin.send
    monkeypatch.setattr(RemoteAdmin, "send", lambda *given: None)
    assert COPIED in broken_claims(MOVING)
    monkeypatch.setattr(RemoteAdmin, "send", original)
    monkeypatch.setattr(
        policies,
        "copy_namespace",
        lambda runtime, source, target, namespace: runtime.policies.add_namespace(target, namespace),
    )
    assert AUTOMATIC in broken_claims(MOVING), "green was to make three partitions, and made a plain topic"


def refuses(runtime, arguments, begin):
    raise CommandError("400", "no", "never")


def does_nothing(runtime, arguments, begin):
    begin(code="204")


@pytest.mark.parametrize(
    "command, handler, claim",
    [
        ("namespace.set-is-allow-auto-update-schema", refuses, SENSIBLE),
        ("namespace.set-is-allow-auto-update-schema", does_nothing, SENSIBLE),
        ("namespace.create", refuses, SENSIBLE),
        ("namespace.create", does_nothing, SENSIBLE),
        ("namespace.set-auto-topic-creation", refuses, SENSIBLE),
        ("namespace.set-auto-topic-creation", does_nothing, SENSIBLE),
        ("topic.delete", refuses, UNUSED),
    ],
)
def test_requests_answered_against_the_rules_are_detected(command, handler, claim, monkeypatch):
    monkeypatch.setitem(system._HANDLERS, command, handler)
    assert broken_claims(ADMIN) == {claim}


def test_a_namespace_is_created_only_where_its_tenant_is(monkeypatch):
    create = "  - {%s, do: namespace.create, cluster: green, namespace: acme/shop}\n"
    text = BASE + f"commands:\n  - {{{START}}}\n" + create % "at: 500ms" + create % "at: 3s"
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    answers = [(given["code"], given["error"]) for given in world.summary()["commands"] if not given["ok"]]
    assert answers == [("404", "Tenant does not exist"), ("409", "Namespace already exists")]
    assert broken_claims(text) == set()
    monkeypatch.setitem(system._HANDLERS, "namespace.create", does_nothing)
    assert broken_claims(text) == {SENSIBLE}


# --- enforced schemas

ENFORCED = (
    "format: 1\nname: mutation\ntitle: Mutation\nfamily: topic-creation\nuntil: 2s\nclusters: {a: "
    "{}}\nsettings: {isSchemaValidationEnforced: true}\n"
    "schemas: {v1: {type: STRING}}\ntopics: {t: {clusters: [a]}, loose: {clusters: [a]}}\n"
    "producers: {p: {topic: t, cluster: a, every: 100ms, schema: v1, start: 500ms}, bare: {topic: t, "
    "cluster: a, every: 100ms}, free: {topic: loose, cluster: a, every: 100ms}}\n"
)


def test_enforced_schemas_break_nothing():
    assert broken_claims(ENFORCED) == set()
    assert broken_claims(ENFORCED.replace("Enforced: true", "Enforced: false")) == set()


@pytest.mark.parametrize(
    "text, rule",
    [
        (ENFORCED, lambda cluster, base: None),
        (ENFORCED, lambda cluster, base: schemas.WITHOUT_SCHEMA),
        (
            ENFORCED.replace("Enforced: true", "Enforced: false"),
            lambda cluster, base: schemas.WITHOUT_SCHEMA if schemas.versions(cluster, base) else None,
        ),
    ],
    ids=["not-enforced", "everywhere", "despite-switch-off"],
)
def test_wrongly_enforced_schemas_are_detected(text, rule, monkeypatch):
    monkeypatch.setattr(catalogue.schemas, "admit_without_schema", rule)
    assert broken_claims(text) == {BY_RULE}
