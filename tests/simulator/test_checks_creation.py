"""The claims "same shape" and "schema first".

A correct run, and rules of the protocol violated on purpose that the claims detect.
"""

from simulator.protocols.pulsar.checks.administration import SameShape
from simulator.protocols.pulsar.checks.schemas import SchemaFirst
from simulator.protocols.pulsar.creation import catalogue, replicator_start, schemas
from simulator.protocols.pulsar.creation.replicator_start import CREATE, START, Verdict
from simulator.protocols.pulsar.replication.connecting import Connecting
from simulator.protocols.pulsar.replication.replicator import Replicator
from tests.simulator.checked import broken_claims

SAME_SHAPE, SCHEMA_FIRST = SameShape.claim, SchemaFirst.claim

CREATION = """format: 1
name: mutation
title: Mutation
family: topic-creation
until: 6s
clusters: {a: {}, b: {settings: {defaultNumPartitions: 3}}}
settings: {allowAutoTopicCreationType: partitioned, defaultNumPartitions: 2}
namespaces: {public/default: {replicationClusters: [a, b], overrides: {b: {replicationClusters: [b], schemaCompatibilityStrategy: ALWAYS_INCOMPATIBLE}}}}
schemas: {one: {type: STRING}, two: {type: BOOLEAN}}
topics: {orders: {clusters: [a, b], exists: {}}, apart: {clusters: [a, b], exists: {a: 2, b: 3}}}
producers: {web: {topic: orders, cluster: a, every: 50ms, schema: one}, api: {topic: apart, cluster: a, every: 50ms}}
commands:
  - {at: 1s, do: namespace.set-schema-compatibility-strategy, cluster: a, namespace: public/default, strategy: ALWAYS_COMPATIBLE}
  - {at: 2s, do: producer.use-schema, producer: web, schema: two}
"""


def test_a_correct_creation_run_has_no_violations():
    assert broken_claims(CREATION) == set()
    assert (
        broken_claims(
            CREATION.replace(
                "settings: {allow", "options: {replicationTopicCreation: before}\nsettings: {allow"
            )
        )
        == set()
    )


def test_a_replicator_that_skips_the_start_check_is_detected(monkeypatch):
    monkeypatch.setattr(
        replicator_start,
        "judge_by_admin",
        lambda sides: Verdict(START if sides.remote_has_name else CREATE, sides.local or 0),
    )
    assert broken_claims(CREATION) == {SAME_SHAPE}


def test_a_replicator_that_creates_by_the_remotes_policy_is_detected(monkeypatch):
    create = catalogue.create

    def by_policy(cluster, base, partitions, reason, *more):
        return create(
            cluster,
            base,
            catalogue.auto_partitions(cluster, base) if reason == "replicator" else partitions,
            reason,
            *more,
        )

    monkeypatch.setattr(catalogue, "create", by_policy)
    assert SAME_SHAPE in broken_claims(CREATION)


RECONNECTED = (
    CREATION.split("commands:")[0]
    + """commands:
  - {at: 2s, do: link.cut, link: a -> b}
  - {at: 2s, do: topic.update-partitions, cluster: b, topic: orders, partitions: 5}
  - {at: 3s, do: link.heal, link: a -> b}
"""
)


def test_a_producer_that_reconnects_between_different_shapes_is_correct():
    assert broken_claims(RECONNECTED) == set()


def test_a_load_without_a_start_check_is_detected(monkeypatch):
    """The producer counts as created although its topic was loaded again."""
    loaded = RECONNECTED + "  - {at: 4s, do: topic.unload, cluster: a, topic: orders}\n"
    assert broken_claims(loaded) == set()
    close = Connecting.close

    def stays_created(self):
        created, effects = self.created, close(self)
        self.created = created
        return effects

    monkeypatch.setattr(Connecting, "close", stays_created)
    assert broken_claims(loaded) == {SAME_SHAPE}


def test_before_pip_433_a_replicator_that_starts_without_the_remote_topic_is_detected(monkeypatch):
    monkeypatch.setattr(replicator_start, "judge_by_producer", lambda *given: Verdict(START))
    monkeypatch.setattr(Replicator, "store_at_peer", lambda *given: None)
    assert SAME_SHAPE in broken_claims(
        CREATION.replace("settings: {allow", "options: {replicationTopicCreation: before}\nsettings: {allow")
    )


def test_a_replicator_that_ignores_a_refused_schema_is_detected(monkeypatch):
    answered = schemas.answered

    def ignores_refusal(replicator, connection, index, schema, why):
        answered(replicator, connection, index, schema, why)
        if why is not None and connection == replicator.connection:
            replicator.schemas.waiting = False
            replicator.schemas.accepted[schema] = None
            replicator.read()

    monkeypatch.setattr(schemas, "answered", ignores_refusal)
    assert broken_claims(CREATION) == {SCHEMA_FIRST}


def test_a_replicator_that_does_not_wait_for_the_schema_is_detected(monkeypatch):
    monkeypatch.setattr(schemas, "holds_back", lambda *given: False)
    assert broken_claims(CREATION) == {SCHEMA_FIRST}
