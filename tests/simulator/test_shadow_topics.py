"""Rules of shadow topics beyond Pulsar's own tests.

Creating and deleting, the list and its codes, roles, schemas, what a scenario may contain.
"""

import json

import pytest

from tests.simulator.engine_runs import MS, SECOND, at_ms, do, open_world, positions, rows
from tests.simulator.test_pulsars_own_shadow_cases import (
    SMALL,
    confirmed,
    publish,
    received,
    shadow_summary,
    shadowed,
)

SET = {"do": "shadow.set", "cluster": "eu", "topic": "source", "shadows": ["shadow"]}
REMOVE = {"do": "shadow.remove", "cluster": "eu", "topic": "source"}


def apply(world, command, **more):
    return world.apply({**command, **more})


# --- creating and deleting

CREATED_LATER = ", exists: {}, shadowReplication: false"


def test_creating_and_feeding_are_two_steps():
    world = shadowed(shadow=CREATED_LATER)
    publish(world, 3)
    do(world, "shadow.create", cluster="eu", topic="shadow", source="source")
    world.run(2 * SECOND)  # the reader retries with backoff until the topic exists
    assert (
        rows(world, "shadow.created")[0]["reason"] == "source"
        and shadow_summary(world)["replicator"] is None
        and received(world) == []
    )
    assert world.apply(SET).ok
    publish(world)
    assert [number for number, _position in received(world)] == [0, 1, 2, 3]


def test_partitions_are_copied_when_the_shadow_is_created():
    world = shadowed(shadow=CREATED_LATER, source=", partitions: 2")
    do(world, "topic.grow", topic="source", partitions=3)
    do(world, "shadow.create", cluster="eu", topic="persistent://public/default/shadow", source="source")
    assert len(shadow_summary(world)["partitions"]) == 3
    do(world, "topic.grow", topic="source", partitions=4)
    assert len(shadow_summary(world)["partitions"]) == 3, "copied once"
    assert world.apply({"do": "topic.grow", "topic": "shadow", "partitions": 5}).code == "too-many"
    do(world, "topic.update-partitions", cluster="eu", topic="shadow", partitions=4)
    assert len(shadow_summary(world)["partitions"]) == 4, "by hand"


def test_partitions_follow_the_source_as_proposed():
    world = shadowed(source=", partitions: 2", options="shadowPartitionChanges: follow-source")
    do(world, "topic.grow", topic="source", partitions=3)
    do(world, "topic.update-partitions", cluster="eu", topic="source", partitions=4)
    world.run(SECOND)
    assert len(shadow_summary(world)["partitions"]) == 4
    do(world, "producer.publish", producer="p", count=12)
    world.run(2 * SECOND)
    assert sorted(number for number, _position in received(world)) == list(range(12))


@pytest.mark.parametrize(
    "shadow, source, code",
    [
        ("shadow", "source", "409"),
        ("no-such", "source", "not-declared"),
        ("Shadow", "source", "403"),
        ("later", "nowhere", "404"),
        ("non-persistent://public/default/later", "source", "412"),
        ("later", "non-persistent://public/default/source", "412"),
        ("later", "other", "not-declared"),
    ],
)
def test_refusals_of_creation(shadow, source, code):
    world = shadowed(
        source="}\n  other: {clusters: [eu]}\n  later: {clusters: [eu], shadowOf: source, exists: {}"
    )
    refused = world.apply({"do": "shadow.create", "cluster": "eu", "topic": shadow, "source": source})
    assert (refused.ok, refused.code) == (False, code) and refused.error and refused.hint


def test_a_source_cannot_be_deleted_while_it_feeds_shadows():
    world = shadowed()
    refused = world.apply({"do": "topic.delete", "cluster": "eu", "topic": "source"})
    assert (refused.code, refused.error) == (
        "422",
        "Delete forbidden. Topic persistent://public/default/source is replicated to shadow topics.",
    )
    do(world, "topic.delete", cluster="eu", topic="source", force=True)
    assert rows(world, "shadow.replicator-stopped")[0]["reason"] == "source-deleted"
    do(world, "topic.unload", cluster="eu", topic="shadow")
    assert rows(world, "shadow.load-failed")[0]["reason"] == "source"
    do(world, "topic.create", cluster="eu", topic="source")
    assert world.view()["clusters"]["eu"]["topics"]["shadow"]["shadow"]["loaded"], "its source is there again"


def test_a_shadow_cannot_be_deleted_while_it_is_used():
    world = shadowed()
    publish(world, 4)
    delete = {"do": "shadow.delete", "cluster": "eu", "topic": "shadow"}
    assert world.apply(delete).code == "412"
    do(world, "client.close", client="c")
    assert world.apply(delete).code == "412", "it is fed"
    world.run(world.now_us + SECOND)
    assert world.apply({**delete, "force": True}).ok
    assert (
        "shadow" not in world.summary()["shadows"]
        and world.summary()["clusters"]["eu"]["topics"]["source"]["entries"] == 4
    ), "the ledgers are the source's"
    assert rows(world, "shadow.deleted") and world.apply(delete).code == "404"
    do(world, "shadow.create", cluster="eu", topic="shadow", source="source")
    assert len(rows(world, "shadow.created")) == 2


def test_a_shadow_is_not_created_by_connecting():
    world = shadowed(shadow=CREATED_LATER)
    world.run(SECOND)
    assert world.summary()["shadows"] == {} and rows(world, "topic.creation-refused")


# --- the list of shadow topics


def test_disabled_policies_and_concurrent_changes_are_refused():
    world = shadowed()
    do(world, "setting.change", setting="topicLevelPoliciesEnabled", value=False)
    assert {
        apply(world, one).code
        for one in (SET, REMOVE, {"do": "shadow.list", "cluster": "eu", "topic": "source"})
    } == {"405"}
    do(world, "setting.change", setting="topicLevelPoliciesEnabled", value=True)
    assert apply(world, REMOVE).ok
    assert apply(world, SET).code == "409"
    world.run(world.now_us + 5 * MS)
    assert apply(world, SET).ok


@pytest.mark.parametrize(
    "command, code",
    [
        ({**SET, "shadows": []}, "412"),
        ({**SET, "shadows": ["nobody"]}, "412"),
        ({**SET, "shadows": ["non-persistent://public/default/shadow"]}, "412"),
        ({**SET, "topic": "non-persistent://public/default/source"}, "412"),
        ({**SET, "topic": "nowhere"}, "404"),
        ({**SET, "topic": "persistent://acme/sales/source"}, "404"),
        ({**SET, "topic": "Source!"}, "403"),
        ({**SET, "shadows": ["Shadow!"]}, "403"),
        ({**REMOVE, "topic": "nowhere"}, "404"),
    ],
)
def test_refusal_codes_of_the_list_of_shadows(command, code):
    world = shadowed()
    refused = world.apply(command)
    assert (refused.ok, refused.code) == (False, code) and refused.error and refused.hint


def test_a_listed_plain_topic_refuses_every_position():
    world = shadowed(source="}\n  plain: {clusters: [eu]")
    assert apply(world, SET, shadows=["shadow", "plain"]).ok
    publish(world, 2)
    assert (
        positions(rows(world, "shadow.entry-refused", topic="plain"))[0]
        == positions(rows(world, "message.stored"))[0]
    )
    assert [number for number, _position in received(world)] == [0, 1], "the shadow is not held up by it"
    assert world.summary()["clusters"]["eu"]["topics"]["plain"]["entries"] == 0


@pytest.mark.parametrize(
    "option, more, seen", [("keeps-running", "", [0, 1]), ("ends", "", [0]), ("keeps-running", "unload", [0])]
)
def test_removing_the_last_shadow_keeps_its_replicator_until_the_unload(option, more, seen):
    """Read in the source code: with an empty list the check returns early, so the replicator continues
    until the source is unloaded.
    """
    world = shadowed(options=f"shadowRemoveLast: {option}")
    publish(world)
    assert apply(world, REMOVE).ok
    if more:
        do(world, "topic.unload", cluster="eu", topic="source")
        world.run(world.now_us + SECOND)
    publish(world)
    assert [number for number, _position in received(world)] == seen


def test_removing_one_of_two_shadows_ends_its_replicator():
    world = shadowed(source="}\n  second: {clusters: [eu], shadowOf: source")
    assert sorted(row["topic"] for row in rows(world, "shadow.replicator-created")) == ["second", "shadow"]
    assert apply(world, SET).ok
    assert [(row["topic"], row["reason"]) for row in rows(world, "shadow.replicator-stopped")] == [
        ("second", "removed")
    ]


# --- roles

ROLES = """
clusters: {eu: {}}
topics: {t: {clusters: [eu]}, dark: {clusters: [eu], shadowOf: t}}
roles: {reader: {consume: [dark]}, writer: {produce: [t], consume: [t]}, owner: {shadowTopicPolicy: [t]}, root: {superuser: true}}
producers: {p: {topic: t, cluster: eu, every: 100ms, count: 5, role: writer}, nobody: {topic: t, cluster: eu, every: 100ms, count: 5}}
subscriptions: {s: {topic: t, initialPosition: Earliest}, d: {topic: dark, initialPosition: Earliest}}
consumers:
  c: {subscription: s, cluster: eu, role: reader}
  e: {subscription: d, cluster: eu, role: reader}
"""


def test_permissions_on_source_and_shadow_are_independent():
    world = open_world(ROLES, family="shadow-topics", until="2s")
    world.run()
    assert [row["topic"] for row in rows(world, "message.delivered")] == ["dark"] * 5
    assert [(row["client"], row["reason"]) for row in rows(world, "client.changed")] == [
        ("c", "refused-not-authorised")
    ]
    assert [(row["producer"], row["reason"]) for row in rows(world, "message.send-failed")] == [
        ("nobody", "not-authorised")
    ] * 5
    assert world.apply({"do": "producer.send", "producer": "nobody"}).code == "NotAuthorized"


@pytest.mark.parametrize(
    "role, code", [("reader", "403"), ("writer", "403"), ("owner", None), ("root", None), (None, None)]
)
def test_the_list_requires_its_own_permission(role, code):
    world = open_world(ROLES, family="shadow-topics", until="2s")
    more = {} if role is None else {"role": role}
    result = world.apply({"do": "shadow.set", "cluster": "eu", "topic": "t", "shadows": ["dark"], **more})
    assert (result.ok, result.code) == (code is None, code)
    world.run(SECOND)
    assert (
        world.apply({"do": "shadow.delete", "cluster": "eu", "topic": "dark", "force": True, **more}).code
        == code
    )
    assert (
        world.apply({"do": "shadow.create", "cluster": "eu", "topic": "dark", "source": "t", **more}).code
        == code
    )


# --- schemas


def test_a_shadow_answers_with_its_sources_schemas():
    world = open_world(
        "clusters: {eu: {}}\ntopics: {t: {clusters: [eu]}, dark: {clusters: [eu], shadowOf: t}}\n"
        "schemas: {order: {type: STRING}, other: {type: INT32}}\n"
        "producers: {p: {topic: t, cluster: eu, every: 100ms, count: 5, schema: "
        "order}}\nsubscriptions: {d: {topic: dark, initialPosition: Earliest}}\n"
        "consumers: {e: {subscription: d, cluster: eu, start: 300ms, schema: order}}\n",
        family="shadow-topics",
        until="2s",
    )
    world.run()
    asked = {"cluster": "eu", "topic": "dark"}
    assert len(rows(world, "message.delivered")) == 5 and [
        row["topic"] for row in rows(world, "schema.registered")
    ] == ["t"], "no registering on the shadow"
    for command in (
        {"do": "schema.get", **asked},
        {"do": "schema.list", **asked},
        {"do": "schema.version", **asked, "schema": "order"},
    ):
        assert world.apply(command).ok
    answer = {"version": 0, "schema": "order", "type": "STRING"}
    assert [one["answer"] for one in world.summary()["commands"]] == [answer, [answer], 0]
    assert (
        world.apply({"do": "schema.version", **asked, "schema": "other"}).code
        == "404"
        == world.apply({"do": "schema.get", **asked, "version": 1}).code
    )
    assert (
        world.apply({"do": "schema.upload", **asked, "schema": "other"}).code
        == "NotAllowed"
        == world.apply({"do": "schema.delete", **asked}).code
    )


# --- seeking and branching


def test_seeking_and_branching_keep_the_run():
    world = shadowed(SMALL, producers="p: {topic: source, cluster: eu, every: 50ms, count: 100}")
    world.run(6 * SECOND)
    digest = world.digest()
    for at_us in (1 * SECOND, 4 * SECOND, 2 * SECOND, 6 * SECOND):
        world.seek(at_us)
    assert world.digest() == digest
    world.seek(2 * SECOND)
    do(world, "topic.crash", cluster="eu", topic="shadow", downtime="500ms")
    world.run(6 * SECOND)
    assert len(world.branches) == 2 and world.summary()["violations"] == []
    assert at_ms(rows(world, "shadow.replicator-stopped")) == [2000.0]
    world.switch_branch(0)
    world.seek(6 * SECOND)
    assert world.digest() == digest


# --- what a scenario may not contain


@pytest.mark.parametrize(
    "topics, words",
    [
        ("t: {clusters: [eu]}, d: {clusters: [eu], shadowOf: d}", "is a shadow itself"),
        (
            "t: {clusters: [eu]}, d: {clusters: [eu], shadowOf: t}, e: {clusters: [eu], shadowOf: d}",
            "is a shadow itself",
        ),
        ("t: {clusters: [eu]}, d: {clusters: [us], shadowOf: t}", "is not one cluster of t"),
        ("t: {clusters: [eu, us]}, d: {clusters: [eu, us], shadowOf: t}", "is not one cluster of t"),
        (
            "t: {clusters: [eu], partitions: 2}, d: {clusters: [eu], shadowOf: t, partitions: 2}",
            "does not go with shadowOf",
        ),
        ("t: {clusters: [eu]}, d: {clusters: [eu], shadowOf: nobody}", "there is no topic"),
        (
            "t: {clusters: [eu], exists: {}}, d: {clusters: [eu], shadowOf: t}",
            "does not exist when the run begins",
        ),
    ],
)
def test_invalid_scenarios_are_refused(topics, words):
    with pytest.raises(Exception, match=words):
        open_world(f"clusters: {{eu: {{}}, us: {{}}}}\ntopics: {{{topics}}}\n", family="shadow-topics")


# --- what the admin tools print


def printed(world, tool, topic="source"):
    return json.loads(world.admin(tool, "eu", topic)["text"])


def test_internal_stats_list_the_replicators_cursor_and_queued_adds():
    world = shadowed(SMALL, options="shadowMetadataLatency: 1s")
    publish(world, 3)
    cursor = printed(world, "stats-internal")["cursors"][
        "pulsar.repl-persistent%3A%2F%2Fpublic%2Fdefault%2Fshadow"
    ]
    assert (cursor["active"], cursor["cursorLedger"], cursor["state"]) == (True, -1, "NoLedger")
    shadow = printed(world, "stats-internal", "shadow")
    assert (shadow["pendingAddEntriesCount"], shadow["currentLedgerEntries"], list(shadow["cursors"])) == (
        1,
        1,
        ["sub"],
    )
    world.run(world.now_us + 2 * SECOND)
    shadow = printed(world, "stats-internal", "shadow")
    assert (
        shadow["pendingAddEntriesCount"],
        shadow["currentLedgerEntries"],
        shadow["lastConfirmedEntry"],
    ) == (0, 0, confirmed(world)[0])


@pytest.mark.parametrize("option, there", [("absent", False), ("proposal", True)])
def test_topic_stats_have_the_proposals_map_only_on_request(option, there):
    world = shadowed(options=f"shadowReplicationInStats: {option}")
    publish(world, 3)
    stats = printed(world, "stats")
    assert ("shadowReplication" in stats) == there
    if there:
        replication = stats["shadowReplication"]["persistent://public/default/shadow"]
        assert (
            replication["connected"],
            replication["msgOutCount"],
            replication["bytesOutCount"],
            replication["replicationBacklog"],
        ) == (True, 3, 0, 0)
