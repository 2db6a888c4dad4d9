"""pulsar-admin's backlogs against a recount from the rows, over random runs with every kind of command, at
any instant.
"""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from simulator import World
from tests.simulator.backlog_recount import BacklogRecount
from tests.simulator.swarm_scenarios import END_MS, scenarios
from tests.simulator.test_swarm import loaded, pytestmark, swarm  # noqa: F401  these runs are the swarm's

KINDS = re.compile(r"([\d,]+) entr(?:y|ies) of messages and ([\d,]+) markers?\.")


def subscriptions_of(world):
    """(cluster, topic, stats of the topic, notes by line, lines) of every topic that a broker serves."""
    for cluster in world.scenario.clusters:
        for topic in world.view()["clusters"][cluster]["topics"]:
            answer = world.admin("stats", cluster, topic)
            if answer["unavailable"] is None:
                yield cluster, topic, answer


@swarm
@given(scenarios(safe=False), st.lists(st.integers(1, END_MS * 1000), min_size=1, max_size=3))
def test_backlogs_and_their_markers_agree_with_a_recount_from_the_rows(scenario, instants):
    world = World.from_scenario(loaded(scenario))
    for at_us in sorted(instants):
        world.run(at_us)
        recount = BacklogRecount(world.scenario.audiences).read(world.trace.rows(0, world.seq))
        for cluster, topic, answer in subscriptions_of(world):
            notes = [words for _line, words in answer["notes"]]
            stats = json.loads(answer["text"])
            for name, subscription in stats["subscriptions"].items():
                waiting, markers = (
                    recount.waiting(cluster, topic, name),
                    recount.markers(cluster, topic, name),
                )
                assert subscription["msgBacklog"] == len(waiting), (at_us, cluster, topic, name)
                kinds = [
                    tuple(int(figure.replace(",", "")) for figure in KINDS.match(words).groups())
                    for words in notes
                    if KINDS.match(words)
                ]
                assert (len(waiting) - markers, markers) in kinds
            internal = json.loads(world.admin("stats-internal", cluster, topic)["text"])
            for cursor in internal["cursors"].values():
                assert cursor["messagesConsumedCounter"] <= internal["entriesAddedCounter"]
            for peer, replicator in stats["replication"].items():
                cursor = internal["cursors"][f"pulsar.repl.{peer}"]
                assert (
                    internal["entriesAddedCounter"] - cursor["messagesConsumedCounter"]
                    == replicator["replicationBacklog"]
                    >= 0
                )
