"""What the page shows of a tenant's migration.

Which clients find no broker, and which acks the target has received.
"""

from __future__ import annotations

from tests.simulator.test_migration import MS, START, world_of


def synced_to_green(world):
    return world.view()["clusters"]["blue"]["topics"]["orders"]["subscriptions"]["billing"]["sync"]["peers"][
        "green"
    ]


def test_the_view_lists_clients_without_a_broker_and_their_failed_lookups():
    # Released at 4.8 s; lookups at 4.901 and 5.103 s, the answers back a millisecond later; the next at 5.505
    # s.
    world = world_of(
        "at: 4700ms, do: lookup.stop",
        "at: 4800ms, do: topic.unload, cluster: blue, topic: orders",
        "at: 5200ms, do: lookup.start",
        until="7s",
    )
    found = []
    for at_ms in (4700, 4850, 4950, 5150, 6000):
        world.run(at_ms * MS)
        found.append(world.view()["lookup"]["clients"]["acme"])
    here = {"blue": ["billing-1", "web"]}
    assert found == [
        {"connected": here, "nowhere": {}},
        *({"connected": {}, "nowhere": {"billing-1": tries, "web": tries}} for tries in (0, 1, 2)),
        {"connected": here, "nowhere": {}},
    ]


def test_the_target_keeps_received_acks_when_the_source_loads_its_topic_again():
    world = world_of(START, "at: 4800ms, do: topic.unload, cluster: blue, topic: orders")
    world.run(5000 * MS)
    shown = world.view()["migrations"][0]
    assert shown["steps"][2]["progress"] == {"done": 1, "total": 1, "unit": "subscriptions"}
    assert [one["words"] for one in shown["waits_for"] if not one["holds"]] == [], (
        "received at 4.74 s, within its period"
    )
    assert synced_to_green(world) == {"entries": 459, "at_us": 4_740 * MS, "on_the_wire": 0}, (
        "web/0 to web/459 but for web/50"
    )
    world.run(9000 * MS)
    assert synced_to_green(world)["at_us"] == 7_840 * MS, "told until nothing is new: web stops at 7 s"
