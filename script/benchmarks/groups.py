"""Durable shared subscriptions at size, compared with the same engine's figures for Pulsar.

There are 1,000 streams, 200 borrowers and 100,000 messages. Both protocols take turns in processes of their
own, so the ratio is the cost of one relative to the other on this machine. All rows are written and checks
run, in both. Counting is compared with a run in which half of the messages were moved to another region. The
troubled run (a session dies each second, the leader every 45 s) gives counting something to explain. `python
-m script.benchmarks.groups RUN MESSAGES` is one run and prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time

from script.benchmarks import scenarios
from script.benchmarks.measure import REPEATS, Figure, in_own_process, median, peak_memory_bytes

MESSAGES, FEW = 100_000, 20_000
STREAMS, SESSIONS = 1000, 200
GROWTH_LIMIT = 1.5
"""The limit of the growth of the cost per message in a run five times as long."""

TEXTS = {
    "plain": scenarios.plain,
    "moved": scenarios.fail_over,
    "steady": lambda messages: scenarios.shared(messages, False),
    "troubled": lambda messages: scenarios.shared(messages, True),
}


def run_once(which: str, messages: int) -> dict[str, float]:
    """One run to its end, counted; raises AssertionError when it did not do all of its work."""
    from simulator import World  # imported here: the parent process measures nothing and needs no engine

    world = World.open(TEXTS[which](messages), rows_max=None)
    began = time.process_time()
    world.run()
    ran = time.process_time()
    counted = world.counted()
    seconds = {"run": ran - began, "count": time.process_time() - ran}
    duplicates = 0
    if which in ("steady", "troubled"):
        group = counted.groups["meters"]
        duplicates = group.duplicates
        assert (group.streams, group.sessions, group.published) == (STREAMS, SESSIONS, messages), (
            group.streams,
            group.sessions,
            group.published,
        )
        assert group.waiting == group.lost == 0 and group.delivered >= messages, (
            f"{group.waiting} not read, {group.lost} lost"
        )
        assert bool(duplicates) == (which == "troubled"), f"{which}: {duplicates} duplicates"
    assert world.limit_reached is None and not world.violations, world.limit_reached or world.violations[0]
    each = {f"{what}_us": spent * 1e6 / messages for what, spent in seconds.items()}
    return {
        **each,
        "messages_per_s": messages / seconds["run"],
        "rows": len(world.trace),
        "peak_bytes": peak_memory_bytes(),
        "duplicates": duplicates,
    }


def _rounds(messages: int) -> dict[str, list[dict[str, float]]]:
    rounds = [
        {which: in_own_process(__name__, which, str(messages)) for which in TEXTS} for _ in range(REPEATS)
    ]
    return {which: [one[which] for one in rounds] for which in TEXTS}


def measure() -> list[Figure]:
    runs, few = _rounds(MESSAGES), [in_own_process(__name__, "troubled", str(FEW)) for _ in range(REPEATS)]

    def of(which: str, name: str) -> float:
        return median([run[name] for run in runs[which]])

    figures = []
    for which in ("steady", "troubled"):
        figures.append(
            Figure(
                "groups",
                f"{which}, engine",
                of(which, "messages_per_s"),
                "messages/s",
                "Pulsar, plain",
                of("plain", "messages_per_s"),
            )
        )
        figures.append(
            Figure(
                "groups",
                f"{which}, rows",
                of(which, "rows") / MESSAGES,
                "rows/message",
                "Pulsar, plain",
                of("plain", "rows") / MESSAGES,
            )
        )
        figures.append(
            Figure(
                "groups",
                f"{which}, counting",
                of(which, "count_us"),
                "us/message",
                "Pulsar, a failover",
                of("moved", "count_us"),
            )
        )
    figures.append(Figure("groups", "troubled, duplicates", of("troubled", "duplicates"), "deliveries"))
    figures.append(
        Figure(
            "groups",
            "troubled, peak memory",
            of("troubled", "peak_bytes") / 2**20,
            "MiB",
            "Pulsar, plain",
            of("plain", "peak_bytes") / 2**20,
        )
    )
    for what in ("run", "count"):
        ours, theirs = of("troubled", f"{what}_us"), median([run[f"{what}_us"] for run in few])
        limit = f"at most {GROWTH_LIMIT:g} times"
        figures.append(
            Figure(
                "groups",
                f"troubled, {what} at {MESSAGES:,}",
                ours,
                "us/message",
                f"at {FEW:,}",
                theirs,
                limit,
                ours <= GROWTH_LIMIT * theirs,
            )
        )
    return figures


if __name__ == "__main__":
    print(json.dumps(run_once(sys.argv[1], int(sys.argv[2]))))
