"""The names of snapshots: S1, S2, S3 in each region, whatever numbers the trace has."""

from __future__ import annotations

from simulator import World
from simulator.protocols.pulsar.snapshots.controller import CHUNK, SnapshotNames, names_of


def test_each_region_counts_its_own_snapshots() -> None:
    names = SnapshotNames()
    for snapshot, region in enumerate([0, 1, 2, 0, 0, 2], 1):
        names.note(snapshot, region)
    assert [names.name(snapshot) for snapshot in range(1, 7)] == ["S1", "S1", "S1", "S2", "S3", "S2"]
    assert names.parts() == {"0": "abcaac"}


def test_a_recording_may_lack_snapshots_and_name_them_later() -> None:
    names = SnapshotNames()
    names.note(3, 0)
    assert names.parts() == {"0": "--a"}
    names.note(1, 0)
    assert (names.name(1), names.name(3)) == ("S1", "S2")


def test_long_runs_are_sent_in_parts_of_which_only_the_last_changes() -> None:
    names = SnapshotNames()
    for snapshot in range(1, CHUNK + 3):
        names.note(snapshot, 0)
    before = names.parts()
    names.note(CHUNK + 3, 1)
    assert before == {"0": "a" * CHUNK, str(CHUNK): "aa"}
    assert names.parts() == {**before, str(CHUNK): "aab"}


def test_the_view_has_the_region_of_every_request_of_the_trace() -> None:
    world = World.open("three-regions")
    world.run(until_us=5_200_000)
    requests = [
        row for row in world.trace.rows() if row["type"] == "snapshot.requested" and row["count"] == 1
    ]
    letters = {"eu-central": "a", "us-east": "b", "us-west": "c"}
    assert [row["snapshot"] for row in requests] == list(range(1, len(requests) + 1))
    assert world.view()["snapshot_regions"] == {"0": "".join(letters[row["cluster"]] for row in requests)}
    last = {region: sum(row["cluster"] == region for row in requests) for region in letters}
    names = names_of(requests)
    assert {row["cluster"]: names[row["snapshot"]] for row in requests} == {
        region: f"S{count}" for region, count in last.items()
    }


def test_a_seek_restores_the_names() -> None:
    world = World.open("three-regions")
    world.run(until_us=5_200_000)
    then = world.view()["snapshot_regions"]
    world.run(until_us=9_000_000)
    world.seek(5_200_000)
    assert world.view()["snapshot_regions"] == then
