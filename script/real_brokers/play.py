"""Plays the runs of one scenario in batches, which share the clusters and one set of faults.

Rules: a batch is prepared completely before any of its runs begins, so that creating topics disturbs no run.
Without shared faults each run has its own instant 0, a tick of its own snapshot controller. With them, the
faults happen once, and each run's instant 0 is chosen before them so that its offset lies within one period.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from script.real_brokers.install import load_average
from script.real_brokers.live_run import MARGIN_NS, Effects, Faults, Run
from script.real_brokers.plan import (
    US_NS,
    RunPlan,
    as_played,
    commands_in_order,
    period_us,
    shifted,
    written,
)
from script.real_brokers.rig import Event, Rig
from script.real_brokers.times_of_run import times_of_run, with_ack_timers

WARM_UP_RUNS_LEAST = 4
WARM_UP_US = 8_000_000
"""Brokers that have just started are slow: as many runs of eight seconds come before the first batch.

After three seconds of four runs, appends of the first batch took twice as long as later ones.
"""

SETTLE_NS = 200_000_000
"""Events of the last instant still arrive this long after the end."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Played:
    """One run as it was played: its plan has the instants at which its commands took effect."""

    plan: RunPlan
    zero_ns: int
    until_ns: int
    events: list[Event]
    dumps: list[Event]
    load: float
    """The machine's load average when the run began."""


def play_batch(rig: Rig, plans: Sequence[RunPlan]) -> list[Played]:
    """Play these runs at the same time, repair the clusters, and read the logs."""
    runs, load = [Run(plan, rig) for plan in plans], load_average()
    with ThreadPoolExecutor(len(runs) + 1) as pool:
        try:
            for name, cluster in rig.clusters.items():
                cluster.watch([topic for run in runs for topic in run.topics_of(name)])
            _in_parallel(pool, Run.create_topics, runs)
            _in_parallel(pool, Run.connect, runs)
            faults = _choose_zeros(runs)
            if faults is not None:
                faults.start()
            _in_parallel(pool, lambda run: _play(run, faults), runs)
            if faults is not None:
                faults.join()
            rig.repair()
            _in_parallel(pool, Run.finish, runs)
            for name, cluster in rig.clusters.items():
                cluster.unwatch([topic for run in runs for topic in run.topics_of(name)])
        except BaseException:
            rig.stopping.set()  # the threads of the pool give up, so that leaving it does not wait
            rig.close(in_order=False)
            raise
    return [_played(run, load) for run in runs]


def warm_up(rig: Rig, plan: RunPlan, runs: int) -> None:
    """Play so many short runs without commands, whose results are not written."""
    until_us = min(plan.scenario.until_us, WARM_UP_US)
    scenario = written(replace(plan.scenario, commands=(), until_us=until_us))
    numbers = range(max(runs, WARM_UP_RUNS_LEAST))
    play_batch(rig, [replace(plan, label=f"w{number}", scenario=scenario) for number in numbers])


def _in_parallel(
    pool: ThreadPoolExecutor, work: Callable[[Run], Result], runs: Sequence[Run]
) -> list[Result]:
    return list(pool.map(work, runs))


def _choose_zeros(runs: Sequence[Run]) -> Faults | None:
    """Choose every run's instant 0; returns the shared faults, if there are any."""
    ready_ns = time.monotonic_ns() + MARGIN_NS
    shared = runs[0].plan.shared
    if not shared:
        for run in runs:
            run.choose_zero(ready_ns)
        return None
    scenario = runs[0].plan.scenario
    period_ns = period_us(scenario) * US_NS
    # one instant for all: the first moved command, without the offset of the first run
    base_ns = (scenario.commands[runs[0].plan.moved_from].at_us - runs[0].plan.offset_us) * US_NS
    faults_ns = ready_ns + base_ns + 2 * period_ns
    for run in runs:
        run.choose_zero(faults_ns - base_ns - period_ns)
        offset_us = (faults_ns - base_ns - run.zero_ns) // US_NS
        run.plan = with_offset(run.plan, offset_us)
        run.until_ns = run.at_ns(run.plan.scenario.until_us)
    return Faults(runs)


def with_offset(plan: RunPlan, offset_us: int) -> RunPlan:
    """The run with another offset of its commands."""
    changed = shifted(plan.scenario, plan.moved_from, offset_us - plan.offset_us)
    return replace(plan, scenario=written(changed), offset_us=offset_us)


def _play(run: Run, faults: Faults | None) -> None:
    """Play one run from its instant 0 to its end."""
    run.begin_producers()
    effects = Effects(run)
    for at_us, order, work in sorted(_timed(run, effects), key=lambda item: item[:2]):
        late_ns = faults.late_ns if faults is not None else 0
        if order >= 0 and faults is not None and order in faults.done:
            faults.wait_for(order)
        else:
            run.rig.sleep_until(run.at_ns(at_us) + late_ns)
            work()
    run.until_ns += faults.late_ns if faults is not None else 0
    run.rig.sleep_until(run.until_ns + SETTLE_NS)
    effects.wait()


def _timed(run: Run, effects: Effects) -> list[tuple[int, int, Callable[[], Any]]]:
    """What happens at an instant of the scenario: (instant, number of the command or negative, work)."""
    timed: list[tuple[int, int, Callable[[], Any]]] = []
    for number, spec in commands_in_order(run.plan):
        timed.append((spec.at_us, number, partial(effects.perform, number, spec)))
    for index, (name, consumer) in enumerate(run.plan.scenario.consumers.items()):
        client = run.consumers[name]
        if consumer.start_us > 0:
            start = partial(run.start_consumer, client, client.cluster)
            timed.append((consumer.start_us, -2 * index - 1, start))
        if consumer.stop_us is not None:
            timed.append((consumer.stop_us, -2 * index - 2, partial(effects.close_consumer, name)))
    return timed


def _played(run: Run, load: float) -> Played:
    until_us = (run.until_ns - run.zero_ns) // US_NS
    events = sorted(run.events, key=lambda one: one["t"])
    entries = [entry for dump in run.dumps for entry in dump["entries"]]
    if run.plan.times is None:
        plan = as_played(run.plan, run.effects_us, until_us, times_of_run(events, entries))
        timed = with_ack_timers(plan.scenario, events, run.zero_ns, plan.prefix)
        plan = replace(plan, scenario=timed)
    else:
        plan = as_played(run.plan, run.effects_us, until_us, run.plan.times)
    return Played(plan, run.zero_ns, run.until_ns, events, run.dumps, load)
