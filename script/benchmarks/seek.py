"""Seeking in a run of a million rows, with a thousand holes and ten pending snapshots to restore.

The alternative is what a lab without checkpoints does: run again from the start. Memory of the checkpoints is
compared with the trace's.
"""

from __future__ import annotations

import random

from script.benchmarks import scenarios
from script.benchmarks.measure import REPEATS, Figure, median, seconds_of

MESSAGES = 125_000
"""About eight rows each: a million rows."""

ROWS, HOLES, PENDING = 1_000_000, 1000, 10
SEEKS = 40
"""Number of random instants in each round."""

LIMIT_MS, CHECKPOINT_SHARE = 300, 0.1


def measure() -> list[Figure]:
    from simulator import World

    world = World.open(scenarios.holes(MESSAGES), rows_max=None)
    end_us = world.scenario.until_us
    started = seconds_of(lambda: world.run(until_us=end_us))
    assert len(world.trace) >= ROWS, f"the run has {len(world.trace):,} rows, not a million"
    busy = _state_at(world, (MESSAGES // scenarios.RATE_PER_S - 1) * 1_000_000)
    assert busy["holes"] >= HOLES and busy["pending"] >= PENDING, f"the state is too simple: {busy}"
    draw = random.Random(1)
    rounds = [
        [seconds_of(lambda: world.seek(at_us=draw.randrange(end_us))) * 1000 for _ in range(SEEKS)]
        for _ in range(REPEATS)
    ]
    medians, slowest = median([median(times) for times in rounds]), max(max(times) for times in rounds)
    share = world._branch.checkpoint_bytes / world.trace.size_bytes
    return [
        Figure(
            "seek",
            "median to a random instant",
            medians,
            "ms",
            "run again from the start (half the run)",
            started * 500,
            f"under {LIMIT_MS} ms",
            medians < LIMIT_MS,
        ),
        Figure("seek", "slowest of all", slowest, "ms"),
        Figure(
            "seek",
            "memory of checkpoints",
            share * 100,
            "% of the trace",
            target="under 10 %",
            met=share < CHECKPOINT_SHARE,
        ),
        Figure("seek", "trace", world.trace.size_bytes / 2**20, "MiB"),
        Figure("seek", "holes brought back", busy["holes"], "ranges"),
        Figure("seek", "pending snapshots brought back", busy["pending"], "snapshots"),
    ]


def _state_at(world, at_us: int) -> dict[str, int]:
    world.seek(at_us=at_us)
    topic = world.view()["clusters"]["a"]["topics"]["orders"]
    return {
        "holes": topic["subscriptions"]["billing"]["ranges_total"],
        "pending": world.summary()["snapshots"]["a"]["pending"],
    }
