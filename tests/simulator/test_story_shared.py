"""Stories of duplicates in a shared group.

Every duplicate has one, from its publish to its second delivery, with the reason at the decision.
"""

from __future__ import annotations

import pytest

from simulator import World, load_scenario
from simulator.protocols.emqx.stories import (
    GROUP_CAUSES,
    shared_groups,
    shared_page,
    shared_place_of,
    shared_story,
)
from tests.emqx.group_runs import open_world

OF_CAUSES = {
    "groups-two-readers": ("progress_unreported", "owner_declared_dead"),
    "groups-leader-crash-late": ("progress_unreported", "progress_unpersisted"),
    "groups-killed-in-a-chunk": ("chunk_repeated",),
    "groups-late-progress-as-shipped": ("progress_rewound",),
}


@pytest.fixture(scope="module")
def counted():
    made = {}
    for name in OF_CAUSES:
        world = World.from_scenario(load_scenario(name))
        world.run()
        made[name] = world, world.counted_whole().groups["meters"]
    return made


@pytest.mark.parametrize("name", OF_CAUSES)
def test_every_duplicate_has_a_story(counted, name):
    world, group = counted[name]
    listed = shared_groups(group)
    assert tuple(one["cause"] for one in listed) == OF_CAUSES[name] and {
        one["cause"]: one["count"] for one in listed
    } == {cause: count for cause, count in group.by_cause.items() if count}
    for one in listed:
        page = shared_page(group, one["cause"], 0, 3)
        assert page["total"] == one["count"] and len(page["messages"]) == min(3, one["count"])
        for message in page["messages"]:
            steps = shared_story(world.trace, "meters", group.duplicates_list[message["place"]])
            kinds = [step.kind for step in steps]
            assert [step.seq for step in steps] == sorted(step.seq for step in steps)
            assert (
                kinds[-1] == "again"
                and kinds.count("why") == 1
                and {"published", "stored", "delivered", "acknowledged"} <= set(kinds)
            )
            assert (
                steps[-1].at_us == message["at_us"]
                and steps[kinds.index("why")].words == GROUP_CAUSES[one["cause"]][1]
            )
            assert shared_place_of(group, message["producer"], message["sequence_id"]) <= message["place"]


def test_a_story_names_the_events_between_both_deliveries(counted):
    world, group = counted["groups-two-readers"]
    words = [step.words for step in shared_story(world.trace, "meters", group.duplicates_list[0])]
    assert words[4:8] == [
        "The progress of ben reaches no leader: the link is cut.",
        "The leader drops ben (expired).",
        "The leader grants 1/1/meters/heat to ada, from offset 13 on.",
        "ada reads 1/1/meters/heat from offset 13 on.",
    ]


def test_the_story_of_a_chunk_resent_by_its_own_session_has_no_decision():
    world = open_world(
        "nodes: {n: {}}\nsessions: {c: {node: n, processing: 300ms, subscriptions: "
        '["$share/g/t"]}}\npublishers: {p: {topic: t, clients: 1, at: [1s, 1s, 1s]}}\n'
        "commands:\n  - {at: 1400ms, do: session.disconnect, session: c}\n  - {at: 2s, "
        "do: session.connect, session: c}\n"
    )
    world.run()
    group = world.counted_whole().groups["g"]
    stories = [[step.kind for step in shared_story(world.trace, "g", one)] for one in group.duplicates_list]
    assert stories and all(kinds[-1] == "again" and kinds.count("why") == 1 for kinds in stories)
