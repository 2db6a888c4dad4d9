"""The runs of an experiment: figures only, with phases sharing the part before the failover.

The scenario has two regions, two minutes of traffic at 100 messages/s and one failover in the middle, with one
consumer or two Shared ones. The alternative runs each phase from the start to its end and makes its summary. `python -m
script.benchmarks.sweep WAY` is one measurement and prints one JSON object. Processor time is measured, so
that other work on the machine matters less.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from script.benchmarks.measure import REPEATS, Figure, in_own_process, median

PHASES = 20
SECONDS = 120
TARGET_RUNS_PER_S = 16
"""Of one core: 10,000 runs on two cores in five and a half minutes."""

SCENARIO = """
  format: 1
  name: benchmark-sweep
  title: Two regions, one failover
  family: replicated-subscriptions
  until: {until}s
  clusters: {{us-west: {{}}, us-east: {{}}}}
  links: {{default: {{latency: 40ms}}}}
  topics: {{orders: {{clusters: [us-west, us-east]}}}}
  producers: {{shop: {{topic: orders, cluster: us-west, rate: 100/s, arrivals: poisson, count: {count}}}}}
  subscriptions:
    billing: {{topic: orders, type: {type}, replicateSubscriptionState: true, initialPosition: Earliest}}
  consumers:
{consumers}
  commands:
    - {{at: {half}s, do: subscription.fail-over, subscription: billing, from: us-west, to: us-east, mode: planned}}
"""


def experiment_text(consumers: int = 1, seconds: int = SECONDS, phases: int = PHASES) -> str:
    """The experiment, with an Exclusive consumer or several Shared ones."""
    lines = [
        f"    billing-{number}: {{subscription: billing, cluster: us-west, processing: 2ms}}"
        for number in range(1, consumers + 1)
    ]
    scenario = SCENARIO.format(
        until=seconds + 10,
        count=100 * seconds,
        half=seconds // 2,
        type="Exclusive" if consumers == 1 else "Shared",
        consumers="\n".join(lines),
    )
    measures = "" if consumers == 1 else "measures: [duplicates, redeliveries, lost, outage_us]\n"
    return f"{measures}name: benchmark-sweep\nphases: {phases}\nseeds: [1]\nscenario: |{scenario}"


def run_once(way: str, text: str) -> dict[str, float | list[int]]:
    """Runs per second of processor time, and the duplicates of each; AssertionError if a run failed."""
    from simulator import World  # imported here: the parent process needs no engine
    from simulator.experiments import batches, read_experiment_text, replayed, run_batch

    experiment = read_experiment_text(text)
    (batch,) = batches(experiment)
    rows = list(run_batch(experiment, batch))
    assert all(row["status"] == "finished" for row in rows), rows
    started = time.process_time()
    if way == "batch":
        duplicates = [row["duplicates"] for row in run_batch(experiment, batch)]
    else:
        duplicates = []
        for row in rows:
            world = World.from_scenario(replayed(experiment, row))
            world.run()
            duplicates.append(world.summary()["failovers"][0]["duplicates"])
    return {"runs_per_s": len(rows) / (time.process_time() - started), "duplicates": duplicates}


def measure() -> list[Figure]:
    figures = []
    for consumers in (1, 2):
        text = experiment_text(consumers)
        ours, theirs = [], []
        for _ in range(REPEATS):
            batch, whole = (in_own_process(__name__, way, text) for way in ("batch", "whole"))
            assert batch["duplicates"] == whole["duplicates"], "the figures of the runs differ"
            ours.append(batch["runs_per_s"])
            theirs.append(whole["runs_per_s"])
        figures.append(
            Figure(
                "sweep",
                f"two regions, 2 minutes at 100/s, one failover, {consumers} consumer{'s' * (consumers > 1)}",
                median(ours),
                "runs/s of one core",
                "each from the start, with its summary",
                median(theirs),
                f"at least {TARGET_RUNS_PER_S}",
                median(ours) >= TARGET_RUNS_PER_S,
            )
        )
    return figures


if __name__ == "__main__":
    gc.freeze()
    print(json.dumps(run_once(sys.argv[1], sys.argv[2])))
