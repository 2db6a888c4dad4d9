"""The claims about schemas of topics.

Who may register one, which schema may follow which, what is stored; each rule violated on purpose.
"""

import pytest

from simulator.protocols.pulsar.checks.schemas import SchemaFirst, SchemasByRule, may_follow, may_subscribe
from simulator.protocols.pulsar.creation import catalogue, schemas
from simulator.protocols.pulsar.creation import schemas as compatibility
from simulator.protocols.pulsar.scenario.model import SchemaSpec
from tests.simulator.checked import broken_claims
from tests.simulator.creation_runs import NAMESPACE, SCHEMAS

BY_RULE, SCHEMA_FIRST = SchemasByRule.claim, SchemaFirst.claim

MORE = (
    "{type: AVRO, definition: {type: record, name: Order, fields: [{name: id, type: long}, {name: note, "
    "type: string}]}}"
)
OTHER = (
    "{type: AVRO, definition: {type: record, name: Order, fields: [{name: note, type: string, default: ''}]}}"
)
WORD = (
    "{type: AVRO, definition: {type: record, name: Order, fields: [{name: id, type: string, default: ''}]}}"
)


def written(policies="", used=("v2",), r2="", commands=(), settings="", options="", consumer=None):
    """p begins with v1 in r1, which replicates to r2, and uses another schema every 200 ms."""
    uses = [
        f"{{at: {200 * number}ms, do: producer.use-schema, producer: p, schema: {schema}}}"
        for number, schema in enumerate(used, 1)
    ]
    reads = (
        (
            f"subscriptions: {{s: {{topic: t}}}}\nconsumers: {{c: {{subscription: s, cluster: r1, start: "
            f"700ms, schema: {consumer}}}}}\n"
        )
        if consumer
        else ""
    )
    return (
        "format: 1\nname: mutation\ntitle: Mutation\nfamily: topic-creation\nuntil: 1s\nclusters: {r1: "
        "{}, r2: {}}\nlinks: {default: {latency: 10ms}}\n"
        f"settings: {{{settings}}}\noptions: {{{options}}}\n"
        f"namespaces: {{{NAMESPACE}: {{replicationClusters: [r1, r2], {policies} overrides: {{r2: "
        f"{{replicationClusters: [r2], {r2}}}}}}}}}\n"
        + SCHEMAS.replace("text:", f"more: {MORE}, other: {OTHER}, word: {WORD}, text:")
        + f"topics: {{t: {{clusters: [r1, r2], namespace: {NAMESPACE}, exists: {{r1: 0, r2: 0}}}}}}\n"
        f"producers: {{p: {{topic: t, cluster: r1, every: 50ms, schema: v1}}}}\n{reads}commands: "
        f"[{', '.join([*commands, *uses])}]\n"
    )


REGISTERED_NOT = "isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: false,"
UPLOADED = "{at: 10ms, do: schema.upload, cluster: r1, topic: t, schema: v1}"
RUNS = {
    "full": written(used=("v2", "v3", "text")),
    "backward": written("schemaCompatibilityStrategy: BACKWARD,", ("other", "more", "v2")),
    "forward": written("schemaCompatibilityStrategy: FORWARD,", ("more", "other", "v3")),
    "transitive": written("schemaCompatibilityStrategy: BACKWARD_TRANSITIVE,", ("other", "word")),
    "incompatible": written("schemaCompatibilityStrategy: ALWAYS_INCOMPATIBLE,"),
    "compatible": written("schemaCompatibilityStrategy: ALWAYS_COMPATIBLE,", ("text", "flag")),
    "not-allowed": written(REGISTERED_NOT, commands=[UPLOADED]),
    "replicator": written(r2="isAllowAutoUpdateSchema: false, isAllowAutoUpdateSchemaWithReplicator: true,"),
    "replicator-not": written(r2=REGISTERED_NOT),
    "before": written(r2="isAllowAutoUpdateSchema: false,", options="replicationTopicCreation: before"),
    "broker": written(settings="isAllowAutoUpdateSchemaEnabled: false"),
    "reader": written(consumer="v3"),
    "reader-of-all": written("schemaCompatibilityStrategy: FULL_TRANSITIVE,", consumer="v2"),
}


@pytest.mark.parametrize("text", RUNS.values(), ids=RUNS)
def test_correct_schema_runs_have_no_violations(text):
    assert broken_claims(text) == set()


def mutated(monkeypatch, text, place, name, rule):
    with monkeypatch.context() as broken:
        broken.setattr(place, name, rule)
        return broken_claims(text)


@pytest.mark.parametrize("run", ["full", "backward", "forward", "incompatible"])
def test_a_topic_that_accepts_every_schema_is_detected(run, monkeypatch):
    assert BY_RULE in mutated(monkeypatch, RUNS[run], schemas, "why_incompatible", lambda *given: None)


@pytest.mark.parametrize("run", ["full", "backward", "forward", "compatible"])
def test_a_topic_that_accepts_no_second_schema_is_detected(run, monkeypatch):
    assert mutated(
        monkeypatch,
        RUNS[run],
        schemas,
        "why_incompatible",
        lambda strategy, new, versions: "no" if versions else None,
    ) == {BY_RULE}


@pytest.mark.parametrize(
    "taken, run",
    [
        ("FORWARD", "backward"),
        ("BACKWARD", "forward"),
        ("BACKWARD", "full"),
        ("FULL", "backward"),
        ("BACKWARD", "transitive"),
    ],
)
def test_a_wrong_compatibility_strategy_is_detected(taken, run, monkeypatch):
    text = (
        RUNS["full"].replace("schema: v2}", "schema: more}").replace("schema: v3}", "schema: other}")
        if run == "full"
        else RUNS[run]
    )
    assert BY_RULE in mutated(monkeypatch, text, schemas, "strategy", lambda *given: taken)


@pytest.mark.parametrize("run", ["not-allowed", "replicator-not", "before", "broker"])
def test_a_schema_registered_without_permission_is_detected(run, monkeypatch):
    assert BY_RULE in mutated(monkeypatch, RUNS[run], schemas, "may_register", lambda *given: True)


@pytest.mark.parametrize("run", ["full", "replicator"])
def test_a_refusal_despite_permission_is_detected(run, monkeypatch):
    assert mutated(
        monkeypatch, RUNS[run], schemas, "may_register", lambda cluster, base, who: who == "command"
    ) == {BY_RULE}


def test_replicators_without_their_own_switch_are_detected(monkeypatch):
    may = schemas.may_register
    assert mutated(
        monkeypatch,
        RUNS["replicator"],
        schemas,
        "may_register",
        lambda cluster, base, who: may(cluster, base, "producer"),
    ) == {BY_RULE}


def test_a_schema_registered_twice_is_detected(monkeypatch):
    assert BY_RULE in mutated(monkeypatch, RUNS["full"], schemas, "same", lambda *given: False)


def test_a_consumer_schema_that_is_not_compared_is_detected(monkeypatch):
    assert mutated(monkeypatch, RUNS["reader"], schemas, "admit_consumer", lambda *given: None) == {BY_RULE}


def test_a_consumer_refused_although_it_can_read_is_detected(monkeypatch):
    assert mutated(monkeypatch, RUNS["reader-of-all"], schemas, "why_unreadable_by", lambda *given: "no") == {
        BY_RULE
    }


def test_a_producer_whose_refused_messages_are_stored_is_detected(monkeypatch):
    refuses = catalogue.refuses_schema
    assert SCHEMA_FIRST in mutated(
        monkeypatch, RUNS["full"], catalogue, "refuses_schema", lambda *given: refuses(*given) and None
    )


# --- compatibility, implemented twice

SPECS = [SchemaSpec("text", "STRING")] + [
    SchemaSpec(name, "AVRO", f'{{"type": "record", "name": "Order", "fields": [{fields}]}}')
    for name, fields in {
        "v1": '{"name": "id", "type": "long"}',
        "other": '{"name": "note", "type": "string", "default": ""}',
        "more": '{"name": "id", "type": "long"}, {"name": "note", "type": "string"}',
        "narrow": '{"name": "id", "type": "int"}',
    }.items()
]
STRATEGIES = [
    direction + more for direction in ("FULL", "BACKWARD", "FORWARD") for more in ("", "_TRANSITIVE")
] + ["ALWAYS_COMPATIBLE", "ALWAYS_INCOMPATIBLE"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_check_and_the_broker_agree_on_every_pair_of_schemas(strategy):
    for old in SPECS:
        for older in SPECS:
            for new in SPECS:
                versions = [older, old]
                assert may_follow(strategy, new, versions) == (
                    compatibility.why_incompatible(strategy, new, versions) is None
                ), (new, versions)
                assert may_subscribe(strategy, new, versions) == (
                    compatibility.why_unreadable_by(strategy, new, versions) is None
                ), (new, versions)
