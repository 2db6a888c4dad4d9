"""The engine compared with SimPy: messages per second, memory, cost per message.

Our engine does what the SimPy program leaves out: acks with grouping, cursors, snapshots every second, the
full trace. Both run in processes of their own, in turns, under nominal and under measured timing. Only the
engine's loop is timed. Memory is that of a million messages, and the cost per message is measured as runs grow.
`python -m script.benchmarks.engine MIX MESSAGES [TIMING]` is one run and prints one JSON object.
"""

from __future__ import annotations

import cProfile
import gc
import json
import pstats
import subprocess
import sys
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

from script.benchmarks import scenarios
from script.benchmarks.measure import (
    REPEATS,
    ROOT,
    Figure,
    in_own_process,
    median,
    peak_memory_bytes,
    seconds_of,
)

MESSAGES = 200_000
SMALL, LARGE = 10_000, 1_000_000
MEMORY_LIMIT_BYTES = int(1.5 * 2**30)
GROWTH_LIMIT = 1.25
TARGET = 0.35
"""Of SimPy's speed, which writes no rows: the engine writes eight to ten for each message."""

MIXES, TIMINGS = ("plain", "hard"), ("nominal", "measured")
HOUR_MESSAGES, HOUR_LIMIT_S = 360_000, 20
"""An hour of a lab at 100 messages a second."""

PROFILED_MESSAGES = 50_000
PLACES_SHOWN = 8


def run_once(mix: str, messages: int, timing: str = "nominal") -> dict[str, float]:
    """One run to its end; raises AssertionError when it did not do all of its work."""
    world = _world(mix, messages, timing)
    gc.freeze()  # as the server does at its start
    processor_before = time.process_time()
    elapsed = seconds_of(lambda: world.run(until_us=_end_us(messages)))
    processor = time.process_time() - processor_before
    summary = world.summary()
    assert world.limit_reached is None, world.limit_reached
    assert summary["subscriptions"]["billing"]["a"]["acknowledged"] == messages, (
        "not every message was acknowledged"
    )
    for cluster, topics in summary["clusters"].items():
        assert topics["topics"]["orders"]["messages"] == messages, f"not every message reached {cluster}"
    return {
        "messages_per_s": messages / elapsed,
        "us_per_message": processor * 1e6 / messages,
        "rows": len(world.trace),
        "peak_bytes": peak_memory_bytes(),
    }


def _world(mix: str, messages: int, timing: str = "nominal"):
    from simulator import World  # imported here: the parent process measures nothing and needs no engine

    text = {"plain": scenarios.plain, "hard": scenarios.hard}[mix](messages)
    return World.open(f"{text}options: {{timing: {timing}}}\n", rows_max=None)


def _end_us(messages: int) -> int:
    return (messages // scenarios.RATE_PER_S + scenarios.TAIL_S) * 1_000_000


def opponent(mix: str, messages: int) -> float:
    """Messages per second, as the SimPy program prints them."""
    command = [sys.executable, "-m", "script.benchmarks.simpy_baseline", mix, str(messages)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(answer.stdout.split()[1])


def measure() -> list[Figure]:
    figures = []
    for mix, timing in product(MIXES, TIMINGS):
        rounds = [
            (in_own_process(__name__, mix, str(MESSAGES), timing), opponent(mix, MESSAGES))
            for _ in range(REPEATS)
        ]
        ours, theirs = (
            median([run["messages_per_s"] for run, _ in rounds]),
            median([speed for _, speed in rounds]),
        )
        figures.append(
            Figure(
                "engine",
                f"{mix}, {timing} timing",
                ours,
                "messages/s",
                "SimPy, traffic only",
                theirs,
                f"at least {TARGET:g} times",
                ours >= TARGET * theirs,
            )
        )
        figures.append(
            Figure(
                "engine",
                f"{mix}, {timing} timing, rows written",
                ours * rounds[0][0]["rows"] / MESSAGES,
                "rows/s",
            )
        )
    return figures + [_hour()] + _growth() + where_time_goes()


def _hour() -> Figure:
    runs = [in_own_process(__name__, "plain", str(HOUR_MESSAGES)) for _ in range(REPEATS)]
    hour_s = HOUR_MESSAGES / median([run["messages_per_s"] for run in runs])
    return Figure(
        "engine",
        "the messages of an hour at 100/s",
        hour_s,
        "s",
        "the limit",
        HOUR_LIMIT_S,
        f"at most {HOUR_LIMIT_S} s",
        hour_s <= HOUR_LIMIT_S,
    )


def _growth() -> list[Figure]:
    large = [in_own_process(__name__, "plain", str(LARGE)) for _ in range(REPEATS)]
    small = [in_own_process(__name__, "plain", str(SMALL)) for _ in range(REPEATS)]
    peak = median([run["peak_bytes"] for run in large])
    per_message = [median([run["us_per_message"] for run in runs]) for runs in (large, small)]
    return [
        Figure(
            "engine",
            "peak memory of 1,000,000 messages",
            peak / 2**20,
            "MiB",
            "the limit",
            MEMORY_LIMIT_BYTES / 2**20,
            "under 1.5 GiB",
            peak < MEMORY_LIMIT_BYTES,
        ),
        Figure(
            "engine",
            "processor time per message at 1,000,000",
            per_message[0],
            "us",
            "at 10,000",
            per_message[1],
            f"at most {GROWTH_LIMIT} times",
            per_message[0] <= GROWTH_LIMIT * per_message[1],
        ),
    ]


def where_time_goes() -> list[Figure]:
    """Shares of the hard mix's time by module, under a profiler.

    The profiler makes calls look more expensive than they are.
    """
    world = _world("hard", PROFILED_MESSAGES)
    profile = cProfile.Profile()
    profile.runcall(world.run, until_us=_end_us(PROFILED_MESSAGES))
    by_place: dict[str, float] = defaultdict(float)
    for (file, _line, name), (_calls, _primitive, own_seconds, _cumulative, _callers) in pstats.Stats(
        profile
    ).stats.items():
        path = Path(file)
        by_place[
            path.relative_to(ROOT).as_posix()
            if path.is_relative_to(ROOT / "simulator")
            else f"built in: {name}"
        ] += own_seconds
    total = sum(by_place.values())
    places = sorted(by_place.items(), key=lambda item: -item[1])[:PLACES_SHOWN]
    return [
        Figure("engine", f"time of the hard mix in {place}", 100 * seconds / total, "%")
        for place, seconds in places
    ]


if __name__ == "__main__":
    print(json.dumps(run_once(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])))
