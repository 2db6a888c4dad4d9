"""The comparison jobs: each can be played, and the engine's run has figures to compare."""

from __future__ import annotations

from pathlib import Path

import pytest

from script.real_brokers.install import version_for
from script.real_brokers.output import figures
from script.real_brokers.plan import job_names, job_text, make_run, problems, with_version
from simulator import World, scenario_names
from simulator.scenarios.loader import load_scenario_text

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "real-brokers.md"
SNAPSHOTS_BEFORE = 4
"""Completed snapshots of the region that consumers leave, before the first failover."""


def loaded(name):
    scenario = load_scenario_text(job_text(name), f"{name}.yaml")
    return with_version(scenario, version_for(scenario.options))


def played(name, number):
    scenario = make_run(loaded(name), number).scenario
    world = World.from_scenario(scenario)
    world.run(scenario.until_us)
    return scenario, world


def test_a_job_has_the_name_of_its_file_and_of_no_built_in_scenario():
    assert [loaded(name).name for name in job_names()] == list(job_names())
    assert [name for name in job_names() if name in scenario_names()] == []
    with pytest.raises(KeyError):
        job_text("../jobs/unload")


def test_the_jobs_cover_the_comparison():
    subjects = (
        "two-regions three-regions region-down ack-hole backlog-spread backlog-oldest-first broker-crash link-cut "
        "failover-and-failback producers-in-both-regions partitions key-shared unload cursor-reset "
        "failover-type batches shared-12 period-250-cumulative two-regions-500 negative-acks-exclusive predicted"
    )
    assert [one for one in subjects.split() if not any(name.startswith(one) for name in job_names())] == []


@pytest.mark.parametrize("name", job_names())
def test_a_job_can_be_played_and_is_short(name):
    scenario = load_scenario_text(job_text(name), f"{name}.yaml")
    version = version_for(scenario.options)
    assert version == ("4.0.7" if "oldest-first" in name else "4.2.4")
    assert problems(scenario, job_text(name), f"{name}.yaml", version) == []
    assert 12_000_000 <= scenario.until_us <= 20_000_000
    assert scenario.about.startswith("Compared: ")
    assert list(scenario.expect) == ["violations"]


@pytest.mark.parametrize("name", job_names())
def test_a_run_of_a_job_has_figures_to_compare(name):
    scenario, world = played(name, 3)
    found = figures(world.trace, scenario)
    moves = [spec for spec in scenario.commands if spec.do == "subscription.fail-over"]
    assert len(found["failovers"]) == len(moves) >= 1
    assert all(one["duplicates"] > 0 for one in found["failovers"])
    assert found["violations"] == []
    finished = world.trace.rows(types=("failover.finished",))
    assert len(finished) == len(moves)
    snapshots = [
        row["snapshot"]
        for row in world.trace.rows(types=("snapshot.completed",))
        if row["cluster"] == moves[0].arguments["from"] and row["at_us"] < moves[0].at_us
    ]
    assert len(snapshots) >= SNAPSHOTS_BEFORE * max(1, scenario.topics["orders"].partitions)


@pytest.mark.parametrize("name", job_names())
def test_a_run_of_a_job_is_the_same_each_time(name):
    assert played(name, 3)[1].digest() == played(name, 3)[1].digest()


def test_runs_of_a_job_differ():
    digests = [played("two-regions-10", number)[1].digest() for number in (1, 2, 3)]
    assert len(set(digests)) == 3


def test_what_only_one_job_has_is_in_its_figures():
    def of(name):
        scenario, world = played(name, 3)
        found = figures(world.trace, scenario)
        return {**found, "by_cause": found["failovers"][0]["by_cause"]}

    assert of("ack-hole")["by_cause"]["ack_hole"] > 20
    assert of("backlog-oldest-first")["by_cause"]["snapshot_evicted"] > 0
    assert of("backlog-spread")["by_cause"]["snapshot_evicted"] == 0
    assert of("cursor-reset")["repeated"] > 20
    assert of("failover-in-a-partition")["failovers"][0]["stranded"] > 5
    assert of("batches")["failovers"][0]["duplicates"] % 10 == 0
    assert of("shared-12")["by_cause"]["ack_not_registered"] > 5
    assert of("negative-acks-exclusive")["repeated"] > 0


@pytest.mark.parametrize(
    ("name", "fault"), [("link-cut", "link.cut"), ("failover-in-a-partition", "link.partition")]
)
def test_no_snapshot_completes_while_a_link_is_interrupted(name, fault):
    scenario, world = played(name, 3)
    at_us = {spec.do: spec.at_us for spec in scenario.commands}
    completed = [row["at_us"] for row in world.trace.rows(types=("snapshot.completed",))]
    assert [one for one in completed if at_us[fault] <= one <= at_us["link.heal"]] == []
    assert max(completed) > at_us["link.heal"]


def test_the_document_lists_every_job_with_its_version():
    rows = [line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for name in job_names():
        (row,) = [line for line in rows if line.startswith(f"| `{name}` |")]
        assert f"| {version_for(loaded(name).options)} |" in row
