"""Spark's counts are those of the engine and of the plain recount of `tests/oracle`.

Every built-in scenario is counted in one Spark job.
"""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import pytest

from simulator import World, load_scenario, scenario_names
from simulator.comparison import STRATEGIES, under
from simulator.headless import trace_meta
from simulator.protocols.emqx.verdicts.groups import count_groups
from simulator.trace.files import write_trace
from spark_reports.protocols.emqx.counting import GroupCounting
from spark_reports.protocols.emqx.groups import FIGURES
from spark_reports.protocols.pulsar.counting import Counting
from spark_reports.read import TraceInput, find_traces, trace_rows
from spark_reports.scans import tasks
from spark_reports.scans.tasks import Scans
from tests.oracle.failovers import recount
from tests.oracle.groups import recount as recount_groups
from tests.oracle.sync_causes import sync_causes
from tests.simulator import test_counting_cases, test_counting_causes, test_counting_draining, trace_builder
from tests.simulator.engine_runs import run as run_text
from tests.simulator.random_scenarios import random_scenario
from tests.simulator.test_acknowledgement_sync import MOVE, body
from tests.simulator.test_backlog_quota import TEXTS as QUOTA_TEXTS
from tests.simulator.test_cumulative_ack_across_clusters import NEW_CLIENT, UNLOADS, blue_green, probed
from tests.simulator.test_migration import BACK, BASE, CLEAN_UP, PARTS, START, SWITCH
from tests.simulator.test_migration import run as migrate
from tests.simulator.test_operator_commands import TEXTS as OPERATOR_TEXTS
from tests.spark_reports.conftest import run_scenario, write_run
from tests.spark_reports.group_worlds import group_worlds, lost_by_hand

COUNTED = [name for name in scenario_names() if load_scenario(name).protocol == "pulsar"]
SHARED = [name for name in scenario_names() if load_scenario(name).protocol == "emqx"]
COMPARED = [name for name in scenario_names() if load_scenario(name).compare]

RANDOM_SEEDS = range(int(os.environ.get("SWARM_EXAMPLES", 16)))
"""About a third of them fail over."""

_PUBLISHES = "p: {topic: t, cluster: a, start: 1ms, every: 2500us, count: 700}"
_HOLES = "processing: 500us, hold: {messages: [p/5, p/201, p/330], for: 1h}"
_FORGETS = (
    "  - {at: 1200ms, do: link.slow, link: a -> b, latency: 5s}\n  - {at: 1550ms, do: client.close, "
    "client: c1}\n"
    "  - {at: 1600ms, do: cluster.crash, cluster: a}\n  - {at: 2s, do: cluster.restart, cluster: a}\n"
)
_ONCE = (
    "  - {at: 500ms, do: subscription.sync-acknowledgements, subscription: s, from: a, to: b}\n  - {at: "
    "2500ms, do: subscription.sync-acknowledgements, subscription: s, from: a, to: b}\n"
)
_RESET = (
    "  - {at: 1600ms, do: client.close, client: c1}\n  - {at: 1700ms, do: subscription.reset, "
    "subscription: s, cluster: a, position: earliest}\n"
)
_PLANNED = "  - {at: 2900ms, do: subscription.fail-over, subscription: s, from: a, to: b, mode: planned}\n"
SYNC_TEXTS = {
    "sync-in-flight": body(_PUBLISHES, "processing: 500us", commands=MOVE.replace("2s", "1520ms")),
    "sync-far-away": body(_PUBLISHES, _HOLES).replace("40ms", "700ms"),
    "sync-batches": body(
        _PUBLISHES.replace("700", "700, batch: 5"),
        _HOLES,
        settings="acknowledgmentAtBatchIndexLevelEnabled: true",
    ).replace("40ms", "700ms"),
    "sync-partitions": body(_PUBLISHES.replace("700", "700, keys: 9"), _HOLES, partitions=3).replace(
        "40ms", "700ms"
    ),
    "sync-forgotten": body(_PUBLISHES, _HOLES, commands=_FORGETS + _PLANNED.replace("2900", "2200")),
    "sync-what-survived": body(_PUBLISHES, _HOLES, "once", commands=_FORGETS + _ONCE + _PLANNED),
    "sync-few-survived": body(
        _PUBLISHES,
        _HOLES,
        "once",
        commands=_FORGETS + _ONCE + _PLANNED,
        settings=(
            "managedLedgerMaxUnackedRangesToPersist: 200, managedLedgerMaxEntriesPerLedger: 60, "
            "managedLedgerMinLedgerRolloverTimeMinutes: 0"
        ),
    ),
    "sync-reset": body(_PUBLISHES, _HOLES, commands=_RESET + _PLANNED),
}
"""Runs of acknowledgement-state sync whose requests are late, lost, forgotten or revoked."""

_SLOW = BASE.replace("processing: 1ms", "processing: 15ms")
MIGRATIONS = {
    "tenant-by-snapshots": (
        [f"{START}, strategy: snapshots", SWITCH, CLEAN_UP],
        BASE.replace(", hold: {messages: [web/50], for: 20s}", ""),
    ),
    "tenant-told-nothing": ([f"{START}, strategy: none", SWITCH, CLEAN_UP], BASE),
    "tenant-in-partitions": ([START, SWITCH, BACK], PARTS),
    "tenant-from-latest": ([START + ", startAt: latest", SWITCH + ", force: true"], _SLOW),
    "tenant-source-crashes": (
        [
            START,
            SWITCH,
            "at: 5050ms, do: cluster.crash, cluster: blue",
            "at: 7s, do: cluster.restart, cluster: blue",
            CLEAN_UP,
        ],
        PARTS,
    ),
}
"""Migrations of a tenant by other strategies, in partitions, from the latest entry, and with a source that
crashes between two unloads.
"""

pytestmark = pytest.mark.slow


def counted_by_spark(spark: Any, inputs: list[TraceInput], scenarios: list[Any]) -> Counting:
    by_run = {entry.run: scenario for entry, scenario in zip(inputs, scenarios, strict=True)}
    counting = Counting(spark, inputs, by_run, Scans(spark, inputs, {}))
    counting.find_failovers()
    counting.judge_messages()
    return counting


@pytest.fixture(scope="module")
def worlds() -> dict[str, World]:
    """Every built-in scenario with clusters, those with a comparison under each strategy, and random ones
    with faults and commands that no built-in scenario has.
    """
    made = {name: run_scenario(name) for name in COUNTED} | {
        f"random-{seed}": run_scenario(random_scenario(seed)) for seed in RANDOM_SEEDS
    }
    for name in COMPARED:
        for strategy in STRATEGIES:
            world = made[f"{name}-{strategy.name}"] = World.from_scenario(
                under(load_scenario(name), strategy), rows_max=None
            )
            world.run()
    made |= {name: run_text(text, until="8s", family="tenant-migration") for name, text in SYNC_TEXTS.items()}
    made |= {f"operator-{name}": run_text(text, until="12s") for name, text in OPERATOR_TEXTS.items()}
    made |= {f"quota-{name}": run_text(text, until="16s") for name, text in QUOTA_TEXTS.items()}
    made |= {
        "dropped-and-back": probed(),
        "dropped-and-covered": probed(a=10, b=9, back="false", commands=UNLOADS + NEW_CLIENT),
        "dropped-and-delivered": probed(a=20, b=9, back="false", commands=UNLOADS + NEW_CLIENT),
        "dropped-batches": probed(producer=", batch: 5"),
        "dropped-in-partitions": probed(partitions=", partitions: 3"),
        "dropped-in-green": blue_green(),
    }
    return made | {
        name: migrate(*commands, base=base, until="20s") for name, (commands, base) in MIGRATIONS.items()
    }


def write_traces(worlds: dict[str, World], folder: Path) -> list[TraceInput]:
    """All traces of the folder, including these; every third of these is a .jsonl."""
    for number, (name, world) in enumerate(worlds.items()):
        write_run(world, folder / f"{name}{'.jsonl' if number % 3 == 0 else '.parquet'}")
    return find_traces([folder])


def worked_cases(patch: pytest.MonkeyPatch) -> dict[str, tuple[Any, Any, list[Any]]]:
    """Trace, scenario and failovers of every worked case, by name: what the counting's own tests count, of
    each trace in its final state.
    """
    seen: dict[int, tuple[str, tuple[Any, Any, list[Any]]]] = {}
    count_run = trace_builder.count_run

    def recording(trace: Any, scenario: Any, *more: Any) -> Any:
        # a case about contradictions raises here, and is none for Spark
        counted = count_run(trace, scenario, *more)
        if scenario.family in ("replicated-subscriptions", "tenant-migration"):
            seen[id(trace)] = (current[0], (trace, scenario, counted.failovers))
        return counted

    current = [""]
    patch.setattr(trace_builder, "count_run", recording)
    for module in (test_counting_cases, test_counting_causes, test_counting_draining):
        for name, function in vars(module).items():
            if (
                name.startswith("test_")
                and inspect.isfunction(function)
                and not inspect.signature(function).parameters
                and not hasattr(function, "hypothesis")
            ):
                current[0] = name
                function()
    return {f"case-{number:03}-{name}": case for number, (name, case) in enumerate(seen.values())}


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[Any, Any, list[Any]]]:
    with pytest.MonkeyPatch.context() as patch:
        return worked_cases(patch)


@pytest.fixture(scope="module")
def library(
    spark: Any,
    worlds: dict[str, World],
    cases: dict[str, tuple[Any, Any, list[Any]]],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, list[dict]], dict[str, dict]]:
    """Spark's failovers and subscriptions by scenario and worked case, from one job."""
    folder = tmp_path_factory.mktemp("traces")
    # the cases have no file; only the protocol is read from it
    readable = load_scenario("two-regions").canonical_text
    for name, (trace, _, _) in cases.items():
        write_trace(
            folder / f"{name}.parquet",
            trace,
            {
                "engine_version": "by hand",
                "scenario": readable,
                "seed": 0,
                "commands": [],
                "until_us": 60_000_000,
            },
        )
    scenarios = {name: world.scenario for name, world in worlds.items()} | {
        name: scenario for name, (_, scenario, _) in cases.items()
    }
    inputs = write_traces(worlds, folder)
    counting = counted_by_spark(spark, inputs, [scenarios[entry.path.stem] for entry in inputs])
    counting.release()
    failovers, subscriptions = (
        {entry.path.stem: counting.figures[entry.run][name] for entry in inputs}
        for name in ("failovers", "subscriptions")
    )
    return failovers, subscriptions


def differences(name: str, theirs: dict, ours: dict, skip: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{name}: {key} is {ours[key]} in Spark, {value} elsewhere"
        for key, value in theirs.items()
        if key not in skip and ours[key] != value
    ]


def test_every_figure_of_every_scenario_equals_the_simulators(library: Any, worlds: dict[str, World]) -> None:
    failovers, subscriptions = library
    found = []
    for name, world in worlds.items():
        summary = world.summary()
        assert len(failovers[name]) == len(summary["failovers"])
        for ours, theirs in zip(failovers[name], summary["failovers"], strict=True):
            found += differences(f"{name} at {theirs['at_us']}", theirs, ours, skip=("forecast",))
        for subscription, clusters in summary["subscriptions"].items():
            for cluster, theirs in clusters.items():
                ours = subscriptions[name][subscription][cluster]
                counts = {
                    key: theirs[key]
                    for key in ("delivered", "acknowledged", "repeated", "expired", "skipped")
                }
                found += differences(f"{name} {subscription} {cluster}", counts, ours)
                for partition, inner in theirs.get("partitions", {}).items():
                    found += differences(
                        f"{name} {partition} {cluster}",
                        {key: inner[key] for key in counts},
                        ours["partitions"][partition],
                    )
    assert not found, "\n".join(found)


def test_the_failovers_of_every_scenario_equal_the_plain_recounts(
    library: Any, worlds: dict[str, World]
) -> None:
    failovers, _ = library
    found = []
    for name, world in worlds.items():
        if not failovers[name]:
            continue
        for ours, theirs in zip(failovers[name], recount(world.trace, world.scenario), strict=True):
            window = {unit: theirs.pop(f"dedup_window_{unit}") for unit in ("messages", "us")}
            found += differences(f"{name} at {ours['at_us']}", {**theirs, "dedup_window": window}, ours)
    assert not found, "\n".join(found)
    assert sum(failover["duplicates"] for name in worlds for failover in failovers[name]) > 100


def test_the_causes_of_sync_equal_a_recount_with_sets(library: Any, worlds: dict[str, World]) -> None:
    failovers, _ = library
    found, seen = [], {"sync_in_flight": 0, "after_last_sync": 0}
    for name, world in worlds.items():
        for ours, theirs in zip(
            failovers[name], sync_causes(world.trace, world.counted().failovers), strict=True
        ):
            counts = {cause: ours["by_cause"].get(cause, 0) for cause in theirs}
            found += differences(f"{name} at {ours['at_us']}", theirs, counts)
            seen = {cause: seen[cause] + theirs[cause] for cause in seen}
    assert not found, "\n".join(found)
    assert min(seen.values()) > 20, seen


def test_spark_counts_of_the_worked_cases_are_those_by_hand(
    library: Any, cases: dict[str, tuple[Any, Any, list[Any]]]
) -> None:
    assert len(cases) > 20
    told, _ = library
    found = []
    for name, (_, _, failovers) in cases.items():
        for ours, theirs in zip(told[name], failovers, strict=True):
            plain = {
                key: getattr(theirs, key)
                for key in (
                    "by_cause",
                    "lost_by_cause",
                    "stranded",
                    "stranded_unprocessed",
                    "stranded_returned",
                    "stranded_missing",
                    "expired",
                    "skipped",
                    "duplicates",
                    "redeliveries",
                    "extra_deliveries",
                    "reordered",
                    "lost_recovered",
                    "outage_us",
                    "caught_up_us",
                    "drained_us",
                    "pending_repeats",
                )
            }
            plain["dedup_window"] = {"messages": theirs.dedup_window_messages, "us": theirs.dedup_window_us}
            found += differences(f"{name} at {theirs.at_us}", plain, ours)
    assert not found, "\n".join(found)


def test_every_figure_of_every_group_equals_the_simulators_and_the_plain_recounts(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most runs are counted in several shares."""
    worlds = {name: run_scenario(name) for name in SHARED} | group_worlds()
    told = {
        name: (world.scenario, world.trace.rows(), world.summary()["groups"])
        for name, world in worlds.items()
    }
    shaped = worlds["groups-of-every-shape"]
    trace = lost_by_hand(shaped)
    write_trace(tmp_path / "lost.parquet", trace, trace_meta(shaped))
    told["lost"] = (
        shaped.scenario,
        trace.rows(),
        {name: counted.summary() for name, counted in count_groups(trace, shaped.scenario).groups.items()},
    )
    inputs = write_traces(worlds, tmp_path)
    monkeypatch.setattr(tasks, "ROWS_OF_A_SHARE", 1_000)
    by_run = {entry.run: told[entry.path.stem][0] for entry in inputs}
    counting = GroupCounting(spark, inputs, by_run, trace_rows(spark, inputs))
    counting.judge_deliveries()
    counting.release()
    found, seen = [], {}
    for entry in inputs:
        name = entry.path.stem
        ours = {
            group: {figure: getattr(counted, figure) for figure in FIGURES}
            for group, counted in counting.groups[entry.run].items()
        }
        scenario, rows, theirs = told[name]
        plain = recount_groups(rows, scenario)
        assert sorted(ours) == sorted(theirs) == sorted(plain)
        for group in theirs:
            found += differences(f"{name}, {group}", theirs[group], ours[group]) + differences(
                f"{name}, {group}, recounted", plain[group], ours[group]
            )
            flat = {**ours[group], **ours[group]["by_cause"]}
            seen = {key: seen.get(key, 0) + value for key, value in flat.items() if isinstance(value, int)}
    assert not found, "\n".join(found)
    assert not [key for key, value in seen.items() if not value], f"nothing to compare: {seen}"
