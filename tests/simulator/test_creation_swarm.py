"""A swarm of small random runs of topic creation.

No claim breaks, refusals have a code and a reason, one digest however the run is cut.

A few runs, the same ones each time, are part of every test run; `SWARM_EXAMPLES=2000 pytest -m swarm` draws
that many new ones.
"""

import json
import os

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from simulator import World, load_scenario_text
from simulator.trace.registry import NULL
from tests.simulator.checked import violations_of
from tests.simulator.creation_scenarios import END_MS, creation_scenarios

REQUESTED = os.environ.get("SWARM_EXAMPLES")
END_US = END_MS * 1000

pytestmark = pytest.mark.swarm
swarm = settings(
    max_examples=int(REQUESTED or 8),
    derandomize=REQUESTED is None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def opened(scenario):
    text = json.dumps(scenario, indent=1)
    note(text)
    return World.from_scenario(load_scenario_text(text))


def run(scenario):
    world = opened(scenario)
    world.run()
    return world


@swarm
@given(creation_scenarios())
def test_no_claim_breaks_and_every_refusal_has_a_code_and_a_reason(scenario):
    world = run(scenario)
    assert violations_of(world) == []
    for command in world.summary()["commands"]:
        assert command["ok"] or (command["code"] and command["error"]), command


@swarm
@given(creation_scenarios())
def test_causes_precede_their_effects(scenario):
    columns = run(scenario).trace.columns(names=("cause_seq",))
    causes = columns["cause_seq"]
    for seq in (causes != NULL).nonzero()[0].tolist():
        assert 0 <= causes[seq] < seq, seq


@swarm
@given(creation_scenarios(), st.lists(st.integers(0, END_US), max_size=4))
def test_digest_and_summary_are_the_same_however_the_run_is_cut(scenario, instants):
    straight = run(scenario)
    world = opened(scenario)
    for at_us in instants:  # seek back and forth, and take a view at each instant
        world.seek(at_us)
        world.view()
        world.summary()
    world.run()
    assert world.digest() == straight.digest()
    assert world.summary() == straight.summary()


@swarm
@given(creation_scenarios())
def test_shapes_and_schemas_agree_with_a_recount_from_the_rows(scenario):
    """Shapes and schemas, computed again from the trace alone."""
    world = run(scenario)
    shapes = {
        (cluster, name): partitions
        for name, topic in world.scenario.topics.items()
        for cluster, partitions in topic.shapes.items()
    }
    schemas: dict = {}
    kinds = [
        "topic.created",
        "topic.deleted",
        "topic.partitions-changed",
        "schema.registered",
        "schema.deleted",
    ]
    for row in world.trace.rows(0, world.seq, types=kinds):
        place = row["cluster"], row["topic"]
        if (
            row["type"] in ("topic.created", "topic.partitions-changed")
            and row["topic"] in world.scenario.topics
        ):
            shapes[place] = row["count"]
        elif row["type"] == "topic.deleted":
            shapes.pop(place, None)
            schemas.pop(place, None)
        elif row["type"] == "schema.deleted":
            schemas.pop(place, None)
        elif row["type"] == "schema.registered":
            assert row["count"] == len(schemas.setdefault(place, []))
            schemas[place].append(row["detail"])
    told = world.summary()["topics"]
    assert {
        (cluster, name): one["partitions"] for cluster, found in told.items() for name, one in found.items()
    } == shapes
    for (cluster, name), names in schemas.items():
        if (cluster, name) in shapes:  # a replicator that creates one partition registers the topic's schema
            assert [one["schema"] for one in told[cluster][name]["schemas"]] == names
