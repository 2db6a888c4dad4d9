"""A swarm of small random runs of shadow topics.

Random faults and operator commands, then everything healed and one more message.

No claim breaks; nothing is stored for a shadow; in the end it has the entries of its source; with everything
retained its readers get every message; the digest does not depend on how the run was cut.
`SWARM_EXAMPLES=2000 pytest -m swarm` draws that many new ones.
"""

import json
import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from simulator import World, load_scenario_text

EXAMPLES_ALWAYS = 5
REQUESTED = os.environ.get("SWARM_EXAMPLES")
HEALED_MS, LAST_MS, END_MS = 6_000, 60_000, 70_000

pytestmark = pytest.mark.swarm
swarm = settings(
    max_examples=int(REQUESTED or EXAMPLES_ALWAYS),
    derandomize=REQUESTED is None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def ms(value):
    return f"{value}ms"


@st.composite
def scenarios(draw, retained=None):
    """A scenario file as a dict. `retained`: the source keeps everything, so nothing may be lost."""
    pick = lambda *values: draw(st.sampled_from(values))  # noqa: E731
    retained = pick(True, False) if retained is None else retained
    partitions, clusters = pick(0, 0, 2), pick(["eu"], ["eu", "us"])
    shadows = {
        f"dark-{number}": {
            "clusters": ["eu"],
            "shadowOf": "orders",
            "shadowReplication": pick(True, True, False),
        }
        for number in range(pick(1, 2, 3))
    }
    subscriptions = {
        "s": {
            "topic": "orders",
            "type": pick("Shared", "Exclusive"),
            "initialPosition": "Earliest",
            "replicateSubscriptionState": len(clusters) > 1,
        }
    }
    subscriptions |= {
        f"on-{name}": {
            "topic": name,
            "type": pick("Shared", "Exclusive", "Key_Shared", "Failover"),
            "initialPosition": "Earliest",
        }
        for name in shadows
    }
    consumers = {
        f"c-{name}": {
            "subscription": name,
            "cluster": "eu",
            "processing": ms(pick(0, 3, 40)),
            "receiverQueueSize": pick(1, 5, 1000),
            "acknowledgmentGroupTime": ms(pick(0, 100)),
            **pick({}, {}, {"hold": {"share": "10%", "for": "700ms"}}),
        }
        for name in subscriptions
    }
    producers = {
        "p": {
            "topic": "orders",
            "cluster": "eu",
            "every": ms(pick(9, 40)),
            "stop": ms(5000),
            "batch": pick(1, 1, 3),
            **pick({}, {"keys": 3}),
        },
        "last": {"topic": "orders", "cluster": "eu"},
        "forger": {"topic": "dark-0", "cluster": "eu", "every": "500ms", "stop": ms(5000)},
    }
    if len(clusters) > 1:
        producers["q"] = {"topic": "orders", "cluster": "us", "every": ms(60), "stop": ms(5000)}
    ever = {"defaultRetentionTimeInMinutes": -1, "defaultRetentionSizeInMB": -1}
    return {
        "format": 1,
        "name": "swarm",
        "title": "Swarm",
        "family": "shadow-topics",
        "seed": pick(1, 2, 3),
        "until": ms(END_MS),
        "settings": {
            "managedLedgerMaxEntriesPerLedger": pick(4, 30, 50000),
            "managedLedgerMinLedgerRolloverTimeMinutes": 0,
            "retentionCheckIntervalInSeconds": pick(1, 120),
            "bookkeeperExplicitLacIntervalInMills": pick(0, 0, 300),
            "replicationPolicyCheckDurationSeconds": 5,
            "replicationProducerQueueSize": pick(3, 1000),
            "managedLedgerCacheEvictionTimeThresholdMillis": pick(0, 1000),
            "managedLedgerDefaultMarkDeleteRateLimit": pick(0, 1),
            **(ever if retained else {}),
        },
        "options": {
            "shadowReplicationLatency": ms(pick(1, 30)),
            "shadowMetadataLatency": ms(pick(1, 50, 400)),
            "shadowCachesReplicatedEntries": pick(True, False),
            "shadowReadsPiggybackedLac": pick(True, False),
            "shadowLastConfirmedRefresh": pick("never", "on-read"),
            "shadowReplicatorRetry": pick("terminates", "retries"),
            "shadowRemoveLast": pick("keeps-running", "ends"),
            "shadowPartitionChanges": pick("copied-once", "follow-source"),
            "shadowReplicatorAutoResetBacklogEntries": pick(0, 0, 20),
        },
        "clusters": {name: {} for name in clusters},
        "links": {"default": {"latency": "20ms"}},
        "topics": {"orders": {"clusters": clusters, "partitions": partitions}, **shadows},
        "producers": producers,
        "subscriptions": subscriptions,
        "consumers": consumers,
        "commands": draw(faults(sorted(shadows), sorted(consumers), partitions))
        + healing(shadows, consumers, partitions),
    }


@st.composite
def faults(draw, shadows, consumers, partitions):
    """Commands at random instants.

    A command that does not apply at its time is refused by the run, which is allowed.
    """
    topic, consumer = st.sampled_from(["orders", *shadows]), st.sampled_from(consumers)
    one = lambda do, **more: st.fixed_dictionaries({"do": st.just(do), **more})  # noqa: E731
    eu, source = {"cluster": st.just("eu")}, {"cluster": st.just("eu"), "topic": st.just("orders")}
    commands = [
        one("topic.unload", **eu, topic=topic),
        one("topic.crash", **eu, topic=topic, downtime=st.sampled_from(["0s", "300ms", "2s"])),
        one("topic.crash", **eu, topic=topic, downtime=st.sampled_from(["50ms", "900ms"])),
        one("shadow.set", **source, shadows=st.lists(st.sampled_from(shadows), min_size=1, unique=True)),
        one("shadow.remove", **source),
        one("shadow.list", **source),
        one("topic.truncate", **source),
        one("cluster.crash", **eu),
        one("cluster.restart", **eu),
        one("client.kill", client=consumer),
        one("consumer.start", consumer=consumer),
        one("consumer.pause", consumer=consumer),
        one("producer.send", producer=st.just("forger")),
        one("producer.publish", producer=st.just("p"), count=st.integers(1, 40)),
        one("setting.change", setting=st.just("ttlDurationDefaultInSeconds"), value=st.sampled_from([1, 2])),
        one("shadow.delete", **eu, topic=st.sampled_from(shadows), force=st.booleans()),
        one("shadow.create", **eu, topic=st.sampled_from(shadows), source=st.just("orders")),
    ]
    if partitions:
        commands.append(
            one("topic.grow", topic=st.sampled_from(["orders", *shadows]), partitions=st.integers(3, 4))
        )
    drawn = draw(st.lists(st.tuples(st.integers(200, HEALED_MS - 500), st.one_of(commands)), max_size=9))
    return [{"at": ms(at), **command} for at, command in sorted(drawn, key=lambda pair: pair[0])]


def healing(shadows, consumers, partitions):
    """Every broker up, every shadow created and fed, every consumer running.

    Then one message for each partition.
    """
    commands = [
        {"do": "cluster.restart", "cluster": "eu"},
        {"do": "setting.change", "setting": "ttlDurationDefaultInSeconds", "value": 0},
    ]
    commands += [
        {"do": "shadow.create", "cluster": "eu", "topic": name, "source": "orders"} for name in shadows
    ]
    for name in consumers:
        commands += [{"do": "consumer.resume", "consumer": name}, {"do": "consumer.start", "consumer": name}]
    healed = [{"at": ms(HEALED_MS), **command} for command in commands]
    healed += [
        {"at": ms(HEALED_MS + 3000), "do": "topic.grow", "topic": name, "partitions": 4}
        for name in ("orders", *shadows)
        if partitions
    ]
    healed += [{"at": ms(HEALED_MS + 4000), "do": "topic.unload", "cluster": "eu", "topic": "orders"}]
    healed += [
        {
            "at": ms(HEALED_MS + 5000),
            "do": "shadow.set",
            "cluster": "eu",
            "topic": "orders",
            "shadows": sorted(shadows),
        }
    ]
    return healed + [
        {"at": ms(LAST_MS), "do": "producer.send", "producer": "last", "partition": number}
        for number in range(4 if partitions else 1)
    ]


def run(scenario) -> World:
    note(json.dumps(scenario, indent=1))
    world = World.from_scenario(load_scenario_text(json.dumps(scenario)))
    world.run()
    return world


def parts(found):
    return list(found.get("partitions", {"": found}).values())


@swarm
@given(scenarios())
def test_no_claim_breaks_and_a_shadow_ends_with_the_entries_of_its_source(scenario):
    world = run(scenario)
    summary = world.summary()
    assert summary["violations"] == []
    for name, shadow in summary["shadows"].items():
        assert shadow["stored_bytes"] == 0, name
        for part in parts(shadow):
            assert (
                part["last_confirmed"] == part["source_last_confirmed"]
                and part["behind_entries"] == 0
                and part["queued_adds"] == 0
            ), (name, part)


@swarm
@given(scenarios(retained=True))
def test_with_everything_retained_every_message_reaches_every_shadow(scenario):
    scenario["commands"] = [
        one
        for one in scenario["commands"]
        if one["do"] not in ("topic.truncate", "shadow.delete", "setting.change")
    ]
    world = run(scenario)
    summary = world.summary()
    stored = {
        (row["producer"], row["sequence_id"])
        for row in world.trace.rows(types=["message.stored"])
        if row["cluster"] == "eu"
    }
    for name, shadow in summary["shadows"].items():
        got = {
            (row["producer"], row["sequence_id"])
            for row in world.trace.rows(types=["message.delivered"])
            if row["subscription"] == f"on-{name}"
        }
        assert shadow["lost_to_retention"] == 0 and got == stored, (name, sorted(stored - got)[:3])


@swarm
@given(scenarios(), st.lists(st.integers(0, END_MS), min_size=2, max_size=4))
def test_digest_is_the_same_however_the_run_is_cut(scenario, instants):
    world = run(scenario)
    digest = world.digest()
    for at_ms in instants:
        world.seek(at_ms * 1000)
    world.seek(END_MS * 1000)
    assert world.digest() == digest
    again = World.from_scenario(load_scenario_text(json.dumps(scenario)))
    for at_ms in sorted(instants):
        again.run(at_ms * 1000)
    again.run()
    assert again.digest() == digest
