"""Claims about lists, creation and deletion of topics.

Rules of the admin service and of connecting clients, violated one at a time.
"""

import pytest

from simulator import World, load_scenario_text
from simulator.protocols.pulsar import system
from simulator.protocols.pulsar.checks.administration import AutoCreated, CreatedWhereItMay, DeletedUnused
from simulator.protocols.pulsar.checks.copies import ListsAgreed
from simulator.protocols.pulsar.commands import replication, topic_shapes
from simulator.protocols.pulsar.creation import catalogue, policies, remote_admin
from simulator.protocols.pulsar.creation.remote_admin import RemoteAdmin
from simulator.scenarios.commands import CommandError
from tests.simulator.checked import broken_claims

LISTS, CREATED, DELETED, AUTOMATIC = (
    check.claim for check in (ListsAgreed, CreatedWhereItMay, DeletedUnused, AutoCreated)
)

HEAD = (
    "format: 1\nname: mutation\ntitle: Mutation\nfamily: topic-creation\nuntil: 1s\nlinks: {default: "
    "{latency: 10ms}}\n"
)


def written(
    commands,
    namespaces="shop/orders: {}",
    topics="t: {clusters: [a, b, c], namespace: shop/orders, exists: {a: 2, b: 2, c: 2}}",
    clusters="a: {}, b: {}, c: {}",
    more="",
):
    """Three clusters, one topic t in its own namespace; a command every 100 ms."""
    given = ", ".join(f"{{at: {100 * number}ms, {command}}}" for number, command in enumerate(commands, 1))
    return (
        f"{HEAD}clusters: {{{clusters}}}\nnamespaces: {{{namespaces}}}\ntopics: {{{topics}}}\ncommands: "
        f"[{given}]\n{more}"
    )


def given(text):
    """Whether each command was accepted."""
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    return [command["ok"] for command in world.summary()["commands"]]


# --- lists

SET = "do: namespace.set-clusters, cluster: a, namespace: shop/orders, clusters"
SET_TOPIC = "do: topic.set-replication-clusters, cluster: a, topic: t, clusters"
UNEQUAL = "t: {clusters: [a, b, c], namespace: shop/orders, exists: {a: 2, b: %s}}"
LISTS_REFUSED = {
    "partition-count": written([f"{SET}: [a, b]"], topics=UNEQUAL % 3),
    "plain": written([f"{SET}: [a, b]"], topics=UNEQUAL % 0),
    "change-events": written(
        [f"{SET}: [a, b]"],
        "shop/orders: {changeEventsPartitions: 1, overrides: {b: {changeEventsPartitions: 2}}}",
    ),
    "auto-creation-type": written(
        [f"{SET}: [a, b]"], "shop/orders: {overrides: {b: {allowAutoTopicCreationType: partitioned}}}"
    ),
    "auto-creation-set": written(
        ["do: setting.change, cluster: b, setting: defaultNumPartitions, value: 4", f"{SET}: [a, b]"]
    ),
    "override": written(
        [
            (
                "do: namespace.set-auto-topic-creation, cluster: b, namespace: shop/orders, "
                "allowAutoTopicCreationType: partitioned, defaultNumPartitions: 4"
            ),
            f"{SET}: [a, b]",
        ]
    ),
    "allow-switch": written(
        [f"{SET}: [a, b], compareTopicPartitions: false"],
        "shop/orders: {overrides: {b: {allowAutoTopicCreation: false}}}",
        more="options: {replicationTopicCreation: proposal}",
    ),
    "namespace": written(
        [f"{SET}: [a, b]"],
        "shop/orders: {clusters: [a, c]}",
        "t: {clusters: [a, b, c], namespace: shop/orders, exists: {a: 2}}",
    ),
    "not-allowed": written(
        [f"{SET}: [a, b], compareTopicPartitions: false"], "shop/orders: {allowedClusters: [a, c]}"
    ),
    "peers": written([f"{SET}: [a, b, c]"], clusters="a: {}, b: {peerClusters: [c]}, c: {}"),
    "cut": written(["do: link.cut, link: a -> b", f"{SET}: [a, b]"]),
    "crashed": written(["do: cluster.crash, cluster: b", f"{SET}: [a, b]"]),
    "topic-partition-count": written([f"{SET_TOPIC}: [a, b]"], topics=UNEQUAL % 3),
    "topic-peers": written([f"{SET_TOPIC}: [a, b, c]"], clusters="a: {}, b: {peerClusters: [c]}, c: {}"),
    "topic-global-alone": written([f"{SET_TOPIC}: [a, b], global: true"]),
    "topic-global-elsewhere": written(
        [f"{SET_TOPIC}: [a, c], global: true"], "shop/orders: {replicationClusters: [a, b]}"
    ),
    "topic-without-itself": written([f"{SET_TOPIC}: [b, c]"]),
    "topic-cut": written(["do: link.cut, link: a -> b", f"{SET_TOPIC}: [a, b]"]),
}


@pytest.mark.parametrize("text", LISTS_REFUSED.values(), ids=LISTS_REFUSED)
def test_an_unchecked_list_is_detected(text, monkeypatch):
    assert given(text)[-1] is False and LISTS not in broken_claims(text)
    monkeypatch.setattr(remote_admin, "members", lambda *given: None)
    monkeypatch.setattr(remote_admin, "validate", lambda *given: None)
    monkeypatch.setattr(replication, "_check_list", lambda *given: None)
    monkeypatch.setattr(replication, "_lacking", lambda *given: [])
    assert given(text)[-1] is True and LISTS in broken_claims(text)


def test_a_list_of_a_namespace_that_the_cluster_does_not_have_is_refused():
    text = written(
        [f"{SET}: [a, b]", f"{SET}: [a, b], compareTopicPartitions: false"],
        "shop/orders: {clusters: [b, c]}",
        "t: {clusters: [b, c], namespace: shop/orders, exists: {b: 2, c: 2}}",
    )
    assert given(text) == [False, False] and broken_claims(text) == set()


LISTS_ACCEPTED = {
    "equal": written([f"{SET}: [a, b]", f"{SET}: [a, b, c]", f"{SET_TOPIC}: [a, b]"]),
    "not-asked": written([f"{SET}: [a, b], compareTopicPartitions: false"], topics=UNEQUAL % 3),
    "left-out-there": written(
        [f"{SET}: [a, b]"],
        "shop/orders: {overrides: {b: {replicationClusters: [c]}}}",
        "t: {clusters: [a, b, c], namespace: shop/orders, exists: {a: 2}}",
    ),
    "switch-not-compared": written(
        [f"{SET}: [a, b]"], "shop/orders: {overrides: {b: {allowAutoTopicCreation: false}}}"
    ),
    "before": written(
        [f"{SET}: [a, b]"], topics=UNEQUAL % 3, more="options: {replicationTopicCreation: before}"
    ),
    "no-orders": written(
        [f"{SET_TOPIC}: [a, b]"],
        topics=UNEQUAL % 3,
        more="settings: {createTopicToRemoteClusterForReplication: false}",
    ),
    "created": written(
        [f"{SET_TOPIC}: [a, b]"], topics="t: {clusters: [a, b, c], namespace: shop/orders, exists: {a: 2}}"
    ),
}


@pytest.mark.parametrize("text", LISTS_ACCEPTED.values(), ids=LISTS_ACCEPTED)
def test_a_list_refused_without_reason_is_detected(text, monkeypatch):
    assert all(given(text)) and broken_claims(text) == set()

    def never(*given):
        raise CommandError("412", "no", "never")

    monkeypatch.setattr(remote_admin, "validate", never)
    monkeypatch.setattr(replication, "_check_list", never)
    assert not any(given(text)) and broken_claims(text) == {LISTS}


def test_a_list_whose_remotes_do_not_get_the_topic_is_detected(monkeypatch):
    monkeypatch.setattr(replication, "_lacking", lambda *given: [])
    assert LISTS in broken_claims(LISTS_ACCEPTED["created"])


# --- creation

CREATE = "do: topic.create, cluster: a, topic: t, partitions: 2"
ONE_WAY = "shop/orders: {replicationClusters: [a, b], overrides: {b: {replicationClusters: [b]}}}"
HERE = "t: {clusters: [a, b, c], namespace: shop/orders, exists: {}}"


def test_a_missing_namespace_check_is_detected(monkeypatch):
    for namespaces in ("shop/orders: {clusters: [b]}", "shop/orders: {replicationClusters: [b, c]}"):
        text = written([CREATE], namespaces, HERE)
        with monkeypatch.context() as broken:
            broken.setattr(policies, "not_here", lambda *given: None)
            assert broken_claims(text) == {CREATED}, namespaces
        assert broken_claims(text) == set()


def test_a_copied_request_that_skips_the_existence_check_is_detected(monkeypatch):
    text = written([CREATE], ONE_WAY, HERE.replace("exists: {}", "exists: {b: 2}"))
    assert broken_claims(text) == set()
    monkeypatch.setattr(
        RemoteAdmin,
        "create",
        lambda self, request: catalogue.create(
            self.runtime.clusters[request[1]],
            request[2],
            request[3],
            "copied-request",
            request[4],
            request[0],
        ),
    )
    assert broken_claims(text) == {CREATED}


def test_a_copied_request_with_another_count_is_detected(monkeypatch):
    send = RemoteAdmin.send
    monkeypatch.setattr(
        RemoteAdmin,
        "send",
        lambda self, method, source, target, base, what, cause: send(
            self, method, source, target, base, what + 1, cause
        ),
    )
    assert CREATED in broken_claims(written([CREATE], ONE_WAY, HERE))


@pytest.mark.parametrize(
    "more",
    [
        "settings: {createTopicToRemoteClusterForReplication: false}",
        "options: {replicationTopicCreation: proposal}",
    ],
    ids=["switched-off", "proposal"],
)
def test_requests_copied_against_the_flag_are_detected(more, monkeypatch):
    text = written([CREATE], ONE_WAY, HERE, more=more)
    assert broken_claims(text) == set()
    monkeypatch.setattr(topic_shapes, "copies_requests", lambda *given: True)
    assert CREATED in broken_claims(text)


def test_removed_partitions_are_detected(monkeypatch):
    text = written(
        ["do: topic.update-partitions, cluster: a, topic: t, partitions: 3"],
        ONE_WAY,
        "t: {clusters: [a, b, c], namespace: shop/orders, exists: {a: 2, b: 4}}",
    )
    assert broken_claims(text) == set()
    monkeypatch.setattr(
        RemoteAdmin,
        "grow",
        lambda self, request: catalogue.grow(
            self.runtime.clusters[request[1]],
            request[2],
            request[3],
            "copied-request",
            request[4],
            request[0],
        ),
    )
    assert broken_claims(text) == {CREATED}


# --- deletion

DELETE = "do: topic.delete, topic: t, cluster"
READER = "subscriptions: {s: {topic: t}}\nconsumers: {one: {subscription: s, cluster: a}}"
USED = {
    "outbound": written([f"{DELETE}: a"], ONE_WAY),
    "inbound": written([f"{DELETE}: b"], ONE_WAY),
    "consumer": written([f"{DELETE}: a"], more=READER),
    "producer": written([f"{DELETE}: a"], more="producers: {web: {topic: t, cluster: a, every: 50ms}}"),
}


@pytest.mark.parametrize("text", USED.values(), ids=USED)
def test_deleting_a_topic_in_use_is_detected(text, monkeypatch):
    assert given(text) == [False] and broken_claims(text) == set()
    delete = topic_shapes.delete
    monkeypatch.setitem(
        system._HANDLERS,
        "topic.delete",
        lambda runtime, arguments, begin: delete(runtime, {**arguments, "force": True}, begin),
    )
    assert given(text) == [True] and DELETED in broken_claims(text)


@pytest.mark.parametrize(
    "text",
    [
        written([f"{DELETE}: a, force: true"], more=READER),
        written(["do: consumer.stop, consumer: one", f"{DELETE}: a"], more=READER),
        written([f"{SET}: [a]", f"{DELETE}: b"], ONE_WAY),
        written(["do: cluster.crash, cluster: a", f"{DELETE}: b"], ONE_WAY),
        written([f"{DELETE}: a"], more="producers: {web: {topic: t, cluster: a, every: 50ms, stop: 60ms}}"),
    ],
    ids=["forced", "stopped", "removed-from-list", "crashed", "finished-producer"],
)
def test_deleting_an_unused_topic_breaks_nothing(text):
    assert given(text)[-1] is True and broken_claims(text) == set()


# --- creation by clients

CLIENTS = "producers: {web: {topic: t, cluster: a, every: 50ms}}"
FORBIDDEN = written([], "shop/orders: {allowAutoTopicCreation: false}", HERE, more=CLIENTS)
OVERRIDDEN = written(
    [], "shop/orders: {allowAutoTopicCreationType: partitioned, defaultNumPartitions: 3}", HERE, more=CLIENTS
)
ADOPTED = written(
    [],
    "shop/orders: {replicationClusters: [a, b, c]}",
    HERE.replace("exists: {}", "exists: {b: 2, c: 4}"),
    more=CLIENTS,
)
OFF_THE_LIST = written([], "shop/orders: {replicationClusters: [b, c]}", HERE, more=CLIENTS)


@pytest.mark.parametrize(
    "text",
    [
        FORBIDDEN,
        OVERRIDDEN,
        ADOPTED,
        OFF_THE_LIST,
        ADOPTED.replace("commands: []", "commands: [{at: 0ms, do: link.cut, link: a -> b}]").replace(
            "every: 50ms", "every: 50ms, start: 20ms"
        ),
        ADOPTED + "\noptions: {replicationTopicCreation: proposal}",
        OVERRIDDEN.replace(
            "commands: []",
            (
                "commands: [{at: 1ms, do: namespace.remove-auto-topic-creation, cluster: a, namespace: "
                "shop/orders}]"
            ),
        ).replace("every: 50ms", "every: 50ms, start: 20ms"),
    ],
    ids=[
        "forbidden",
        "overridden",
        "adopted",
        "removed-from-list",
        "first-remote-cut",
        "proposal",
        "removed",
    ],
)
def test_creation_by_clients_breaks_nothing(text):
    assert broken_claims(text) == set()


def test_a_broker_that_lets_every_client_create_is_detected(monkeypatch):
    monkeypatch.setattr(catalogue, "refusal", lambda *given: None)
    assert AUTOMATIC in broken_claims(FORBIDDEN)
    assert {AUTOMATIC, CREATED} <= broken_claims(OFF_THE_LIST)


def test_a_broker_that_refuses_what_policies_allow_is_detected(monkeypatch):
    monkeypatch.setattr(catalogue, "refusal", lambda *given: "never")
    assert broken_claims(OVERRIDDEN) == {AUTOMATIC}


def test_a_broker_that_ignores_the_namespace_policy_is_detected(monkeypatch):
    monkeypatch.setattr(
        policies, "in_force", lambda cluster, found, policy, setting: cluster.setting(setting)
    )
    assert broken_claims(OVERRIDDEN) == {AUTOMATIC}
    assert AUTOMATIC in broken_claims(FORBIDDEN)


def test_a_broker_with_another_number_of_partitions_is_detected(monkeypatch):
    partitions = catalogue.auto_partitions
    monkeypatch.setattr(catalogue, "auto_partitions", lambda cluster, base: partitions(cluster, base) + 1)
    assert broken_claims(OVERRIDDEN) == {AUTOMATIC}


def test_a_broker_that_queries_no_remote_or_the_last_one_first_is_detected(monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(catalogue, "_remote_shape", lambda *given: (None, None))
        assert AUTOMATIC in broken_claims(ADOPTED)
    monkeypatch.setattr(catalogue, "_remote_shape", lambda cluster, base: (4, "c"))
    assert AUTOMATIC in broken_claims(ADOPTED)


# --- however the trace is cut


def test_violations_do_not_depend_on_how_the_trace_is_cut(monkeypatch):
    monkeypatch.setattr(remote_admin, "validate", lambda *given: None)
    monkeypatch.setattr(catalogue, "_remote_shape", lambda *given: (None, None))
    assert broken_claims(
        written([f"{SET}: [a, b]", f"{SET}: [a, b, c]"], "shop/orders: {}", UNEQUAL % 3, more=CLIENTS), 1, 7
    )


def test_a_shadow_has_the_partitions_of_its_source():
    grown = ["do: topic.grow, topic: t, partitions: 3", "do: topic.grow, topic: dark, partitions: 3"]
    topics = "t: {clusters: [a, b], partitions: 2}, dark: {clusters: [a], shadowOf: t}"
    text = written(grown, topics=topics).replace("family: topic-creation", "family: shadow-topics")
    assert given(text) == [True, True] and broken_claims(text) == set()
