"""Faults in the middle of a migration of three partitions.

The migration ends, forward or back, nothing is lost, no claim breaks.
"""

from __future__ import annotations

import pytest

from tests.simulator.test_migration import (
    BACK,
    CLEAN_UP,
    PARTS,
    START,
    SWITCH,
    everything_arrived,
    migration,
    refused,
    run,
)

AWAY = "do: topic.crash, cluster: blue, topic: orders-partition-1, downtime: 700ms"


@pytest.mark.parametrize("at_ms", [5010, 5050, 5250])
def test_a_partition_already_unloaded_when_its_unload_is_due_does_not_block_clean_up(at_ms):
    """Its clients are disconnected already; clean-up used to wait for its unload without end."""
    world = run(START, SWITCH, f"at: {at_ms}ms, {AWAY}", CLEAN_UP, base=PARTS)
    assert (migration(world)["state"], refused(world)) == ("finished", [])
    everything_arrived(world)


@pytest.mark.parametrize("cluster", ["blue", "green"])
@pytest.mark.parametrize(
    "last, state",
    [(CLEAN_UP, "finished"), (BACK.replace("6s", "9s"), "rolled-back")],
    ids=["forward", "back"],
)
def test_a_migration_ends_despite_a_crash_between_two_unloads(cluster, last, state):
    crash = (
        f"at: 5050ms, do: cluster.crash, cluster: {cluster}",
        f"at: 7s, do: cluster.restart, cluster: {cluster}",
        "at: 7500ms, do: migration.resume, tenant: acme",
    )
    world = run(START, SWITCH, *crash, last, base=PARTS, until="20s")
    assert migration(world)["state"] == state
    everything_arrived(world)
