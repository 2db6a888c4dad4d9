"""Migrations in a swarm of small random runs.

Any commands and faults at any instant, then everything healed and every migration that can still end brought
to its end.

No claim breaks, nothing is lost, and a run does not depend on how it was cut. A few runs, the same ones each
time, are part of every test run; `SWARM_EXAMPLES=2000 pytest -m swarm` draws that many new ones.
"""

import json
import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from simulator import World, load_scenario_text
from simulator.protocols.pulsar.migration.run import ENDED, RUN_MOVES, STRATEGIES, IllegalMove, Run

REQUESTED = os.environ.get("SWARM_EXAMPLES")
TRAFFIC_TO_MS, HEALED_MS, END_MS = 6_000, 7_000, 40_000

pytestmark = pytest.mark.swarm
swarm = settings(
    max_examples=int(REQUESTED or 12),
    derandomize=REQUESTED is None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def milliseconds(value):
    return f"{value}ms"


@st.composite
def scenarios(draw):
    """Two tenants in blue, one of which moves.

    Clients that look up and one that does not; commands and faults until 6 s.
    """
    type_ = draw(st.sampled_from(["Exclusive", "Failover", "Shared", "Key_Shared"]))
    several, partitions = type_ != "Exclusive", draw(st.sampled_from([0, 0, 2]))
    sync = draw(st.sampled_from(["none", "none", "periodic", "once"]))
    consumers = {
        f"billing-{number}": {
            "subscription": "billing",
            "processing": milliseconds(draw(st.sampled_from([0, 1, 5]))),
            "receiverQueueSize": draw(st.sampled_from([1, 10, 1000])),
            "acknowledgmentGroupTime": milliseconds(draw(st.sampled_from([0, 100]))),
            "negativeAckRedeliveryDelay": "300ms",
            **(
                {"hold": {"share": "10%", "for": milliseconds(draw(st.sampled_from([50, 900])))}}
                if draw(st.booleans())
                else {}
            ),
            **({"negativeAcknowledge": {"share": "5%"}} if draw(st.booleans()) else {}),
        }
        for number in range(draw(st.integers(1, 2)) if several else 1)
    }
    return {
        "format": 1,
        "name": "swarm",
        "title": "Swarm",
        "family": "tenant-migration",
        "seed": draw(st.integers(0, 1000)),
        "until": milliseconds(END_MS),
        "settings": {
            "managedLedgerMaxEntriesPerLedger": draw(st.sampled_from([20, 50000])),
            "managedLedgerMinLedgerRolloverTimeMinutes": 0,
            "defaultRetentionTimeInMinutes": draw(st.sampled_from([0, -1])),
            "clusterMigrationCheckDurationSeconds": 1,
            "defaultRetentionSizeInMB": -1,
            "brokerDeduplicationEnabled": draw(st.booleans()),
        },
        "clusters": {"blue": {}, "green": {}},
        "links": {
            "default": {
                "latency": draw(
                    st.sampled_from(
                        ["5ms", "40ms", {"distribution": "lognormal", "median": "40ms", "sigma": 0.5}]
                    )
                )
            }
        },
        "tenants": {"acme": {"cluster": "blue", "roles": ["app"]}, "other": {"cluster": "blue"}},
        "topics": {
            "orders": {"clusters": ["blue"], "namespace": "acme/shop", "partitions": partitions},
            "clicks": {"clusters": ["blue"], "namespace": "other/web"},
        },
        "producers": {
            "web": {
                "topic": "orders",
                "every": milliseconds(draw(st.sampled_from([10, 40]))),
                "stop": milliseconds(TRAFFIC_TO_MS),
                "batch": draw(st.sampled_from([1, 1, 3])),
                "keys": 4,
                "sendTimeout": "0s",
                "start": milliseconds(draw(st.integers(0, 400))),
            },
            "games": {
                "topic": "clicks",
                "every": "50ms",
                "stop": milliseconds(TRAFFIC_TO_MS),
                "sendTimeout": "0s",
            },
        },
        "subscriptions": {
            "billing": {
                "topic": "orders",
                "type": type_,
                "initialPosition": "Earliest",
                "acknowledgementSync": sync,
                "ackSyncPeriod": "700ms",
            },
            "ads": {"topic": "clicks", "type": "Shared", "initialPosition": "Earliest"},
        },
        "consumers": {**consumers, "ads-1": {"subscription": "ads", "processing": "1ms"}},
        "commands": draw(
            commands([f"orders-partition-{number}" for number in range(partitions)] or ["orders"])
        )
        + healing(),
    }


@st.composite
def commands(draw, logs):
    """A migration begins early; everything else happens at random.

    One of the logs may lose its broker for a while.
    """
    strategy = draw(st.sampled_from(STRATEGIES))
    start = {
        "at": milliseconds(draw(st.integers(200, 1500))),
        "do": "migration.start",
        "tenant": "acme",
        "to": "green",
        "strategy": strategy,
        "through": draw(
            st.sampled_from(["switch", "switch", "clean-up", "consumption-progress", "metadata"])
        ),
    }
    acme, cluster = {"tenant": st.just("acme")}, st.sampled_from(["blue", "green"])
    link = st.sampled_from(["blue -> green", "green -> blue", "blue <-> green"])
    one = st.one_of(
        *[
            st.fixed_dictionaries({"do": st.just(f"migration.{name}"), **acme})
            for name in ("pause", "resume", "advance", "switch", "clean-up", "roll-back")
        ],
        st.fixed_dictionaries({"do": st.just("migration.switch"), **acme, "force": st.just(True)}),
        st.fixed_dictionaries({"do": st.just("link.cut"), "link": link}),
        st.fixed_dictionaries({"do": st.just("link.heal"), "link": link}),
        st.fixed_dictionaries(
            {"do": st.just("link.slow"), "link": link, "latency": st.sampled_from(["1ms", "300ms"])}
        ),
        st.fixed_dictionaries({"do": st.just("cluster.crash"), "cluster": cluster}),
        st.fixed_dictionaries({"do": st.just("cluster.restart"), "cluster": cluster}),
        st.fixed_dictionaries({"do": st.sampled_from(["lookup.stop", "lookup.start"])}),
        st.fixed_dictionaries(
            {"do": st.just("topic.unload"), "cluster": cluster, "topic": st.just("orders")}
        ),
        st.fixed_dictionaries(
            {
                "do": st.just("topic.crash"),
                "cluster": cluster,
                "topic": st.sampled_from(logs),
                "downtime": st.sampled_from(["0s", "800ms"]),
            }
        ),
        st.fixed_dictionaries(
            {"do": st.just("producer.publish"), "producer": st.just("web"), "count": st.integers(1, 20)}
        ),
    )
    last = draw(st.sampled_from(["roll-back", "clean-up", "pause"]))
    last = {
        "at": milliseconds(draw(st.integers(3000, TRAFFIC_TO_MS))),
        "do": f"migration.{last}",
        "tenant": "acme",
    }
    drawn = draw(st.lists(st.tuples(st.integers(300, TRAFFIC_TO_MS), one), max_size=9))
    return sorted(
        [start, last, *({"at": milliseconds(at), **command} for at, command in drawn)],
        key=lambda command: int(command["at"][:-2]),
    )


def healing():
    """Everything healed and restarted; every paused migration is resumed."""
    at = milliseconds(HEALED_MS)
    repairs = [
        {"do": "link.heal", "link": "blue <-> green"},
        *({"do": "cluster.restart", "cluster": name} for name in ("blue", "green")),
        {"do": "lookup.start"},
    ]
    retries = [
        {"at": milliseconds(HEALED_MS + 500 * number), "do": "migration.resume", "tenant": "acme"}
        for number in (1, 2, 3)
    ]
    return [{"at": at, **command} for command in repairs] + retries


def run(scenario):
    text = json.dumps(scenario, indent=1)
    note(text)
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    return world


@swarm
@given(scenarios())
def test_no_claim_breaks_and_every_message_with_a_receipt_is_delivered(scenario):
    world = run(scenario)
    summary = world.summary()
    assert summary["violations"] == []
    receipted = {
        (row["producer"], row["sequence_id"]) for row in world.trace.rows(types=["message.receipted"])
    }
    handed = {(row["producer"], row["sequence_id"]) for row in world.trace.rows(types=["message.delivered"])}
    published = {
        (row["producer"], row["sequence_id"]) for row in world.trace.rows(types=["message.published"])
    }
    assert published == receipted <= handed, sorted(published - handed)[:5]
    run_of = summary["migrations"][0]
    if (
        run_of["steps"][1]["state"] != "waiting"
    ):  # a switch was forced, and the data was never copied afterwards
        assert [one["lost"] for one in summary["failovers"]] == [0] * len(summary["failovers"])
    assert summary["lookup"] == {
        "acme": "green"
        if run_of["switched_at_us"]
        and not run_of["rolled_back"]
        and not _in_an_unfinished_roll_back(run_of, summary)
        else "blue",
        "other": "blue",
    }
    assert sum(value["delivered"] for value in summary["subscriptions"]["ads"].values()) >= len(
        [one for one in receipted if one[0] == "games"]
    )


def _in_an_unfinished_roll_back(migration, summary):
    """A roll-back that has not ended, or a blue-green migration whose map changes only at clean-up."""
    undone = migration["steps"][3]["state"] in ("undoing", "undone")
    return undone or (migration["strategy"] == "blue-green" and migration["steps"][4]["attempts"] == 0)


@swarm
@given(scenarios(), st.data())
def test_digest_is_the_same_however_the_run_is_cut(scenario, data):
    world = run(scenario)
    digest = world.digest()
    for at_us in data.draw(st.lists(st.integers(0, END_MS * 1000), max_size=3)):
        world.seek(at_us=at_us)
        fork = world.fork()
        fork.run()
        assert fork.digest() == digest
    world.run()
    assert world.digest() == digest


@settings(max_examples=300, deadline=None, derandomize=REQUESTED is None)
@given(
    st.sampled_from(STRATEGIES),
    st.lists(
        st.sampled_from(
            sorted(
                {given for _state, given in RUN_MOVES} - {"last-done", "last-undone", "go-on"}
                | {"done", "undone"}
            )
        ),
        max_size=40,
    ),
)
def test_the_state_machine_takes_legal_moves_only_and_keeps_its_steps_in_order(strategy, inputs):
    machine = Run("acme", "blue", "green", strategy, "clean-up")
    for now_us, given_ in enumerate(inputs):
        before = (machine.state, machine.at, [(step.state, step.attempts) for step in machine.steps])
        try:
            machine.take(given_, now_us, "a reason")
        except IllegalMove:
            assert (
                machine.state,
                machine.at,
                [(step.state, step.attempts) for step in machine.steps],
            ) == before, "a refused input changes nothing"
            continue
        working = [step.name for step in machine.steps if step.state in ("running", "undoing")]
        assert len(working) <= 1, working
        if machine.state == "finished":
            assert all(step.state in ("done", "skipped") for step in machine.steps)
        if machine.state == "rolled-back":
            assert not any(step.state in ("done", "running", "failed", "paused") for step in machine.steps)
        if machine.steps[-1].attempts:
            assert all(step.state in ("done", "skipped") for step in machine.steps[:-1]) and not machine.may(
                "roll-back"
            )
    assert machine.state not in ENDED or not any(
        machine.may(given_) for given_ in ("begin", "pause", "resume", "roll-back")
    )
