"""Broadcast to 100,000 subscriptions, on one topic and on more and more shadow topics.

Each topic has a broker of its own. Thirty messages of 1 KiB are sent, one a second. A dispatch takes 145 us
and a client 30 ms to connect, both fitted to PIP-180's one measured point (docs/pulsar.md). Every run has
3 million deliveries, with all their rows in the trace, in a process of its own. The time is that of the run
itself, checks included, without the summary. The alternative is the ordinary engine's time for a delivery,
measured on a small broadcast that both can run.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from script.benchmarks.measure import REPEATS, Figure, in_own_process, median, peak_memory_bytes, seconds_of
from simulator import World, load_scenario_text

SUBSCRIPTIONS, MESSAGES = 100_000, 30
SHADOWS = (0, 1, 2, 4, 8, 16, 32)
"""0 is one topic with all subscriptions on it."""
LONGEST_S = 60.0

DISPATCH_US, CONNECT_US = 145, 30_000
SMALL_SUBSCRIPTIONS, SMALL_MESSAGES = 250, 40


def scenario(
    shadows: int, subscriptions: int = SUBSCRIPTIONS, messages: int = MESSAGES, plain: bool = False
) -> str:
    """The broadcast's scenario text.

    `plain` writes every subscription out for the ordinary engine (without shadows).
    """
    topics = [f"news-{number}" for number in range(1, shadows + 1)] or ["news"]
    each = -(-subscriptions // len(topics))
    connected_s = each * CONNECT_US // 1_000_000 + 1
    until_s = connected_s + max(messages, each * DISPATCH_US * messages // 1_000_000) + 5
    broker = f"cluster: eu, dispatchTime: {DISPATCH_US}us, bandwidth: 1.25GB/s, connectTime: {CONNECT_US}us"
    lines = [
        (
            f"format: 1\nname: broadcast\ntitle: Broadcast\nfamily: shadow-topics\nuntil: "
            f"{until_s}s\nclusters: {{eu: {{}}}}\ntopics:\n  news: {{clusters: [eu]}}"
        ),
        *(f"  {name}: {{clusters: [eu], shadowOf: news}}" for name in topics if name != "news"),
        "brokers:",
        *(f"  broker-{name}: {{{broker}, topics: [{name}]}}" for name in dict.fromkeys(("news", *topics))),
        (
            f"producers:\n  press: {{topic: news, cluster: eu, start: {connected_s}s, every: 1s, count: "
            f"{messages}, size: 1KiB}}"
        ),
    ]
    if plain:
        lines += [
            "subscriptions:",
            *(f"  reader-{number}: {{topic: news}}" for number in range(subscriptions)),
        ]
        lines += [
            "consumers:",
            *(
                (
                    f"  reader-{number}-1: {{subscription: reader-{number}, cluster: eu, "
                    f"acknowledgmentGroupTime: 0s}}"
                )
                for number in range(subscriptions)
            ),
        ]
    else:
        sizes = [min(each, subscriptions - number * each) for number in range(len(topics))]
        lines += [
            "audiences:",
            *(
                f"  readers-{name}: {{topic: {name}, cluster: eu, subscriptions: {size}}}"
                for name, size in zip(topics, sizes, strict=True)
            ),
        ]
    return "\n".join(lines) + "\n"


def measure() -> list[Figure]:
    found = [in_own_process("script.benchmarks.broadcast", str(shadows)) for shadows in SHADOWS]
    figures = [
        Figure(
            "broadcast",
            _words(one),
            one["seconds"],
            "s",
            target=f"under {LONGEST_S:.0f} s",
            met=one["seconds"] < LONGEST_S,
        )
        for one in found
    ]
    ours, theirs = (median([_seconds(plain) for _ in range(REPEATS)]) for plain in (False, True))
    count = SMALL_SUBSCRIPTIONS * SMALL_MESSAGES
    at_full_size = median([one["seconds"] * 1e6 / one["deliveries"] for one in found])
    return [
        *figures,
        Figure(
            "broadcast",
            "per delivery, all its rows in the trace",
            at_full_size,
            "us",
            "the ordinary engine",
            theirs * 1e6 / count,
        ),
        Figure(
            "broadcast",
            f"per delivery, {SMALL_SUBSCRIPTIONS} subscriptions",
            ours * 1e6 / count,
            "us",
            "the ordinary engine",
            theirs * 1e6 / count,
        ),
    ]


def _seconds(plain: bool) -> float:
    world = World.from_scenario(load_scenario_text(scenario(0, SMALL_SUBSCRIPTIONS, SMALL_MESSAGES, plain)))
    return seconds_of(world.run)


def _words(one: dict[str, Any]) -> str:
    where = (
        f"{one['shadows']} shadows"
        if one["shadows"] > 1
        else "1 shadow"
        if one["shadows"]
        else "one topic, no shadow"
    )
    return (
        f"{one['deliveries']:,} deliveries, {where}: latency mean {one['mean_us'] / 1e6:,.2f} s, p99 "
        f"{one['p99_us'] / 1e6:,.2f} s, "
        f"at most {one['peak_bytes_per_s'] / 1e6:,.2f} MB/s from a broker, all connected after "
        f"{one['connect_us'] / 1e6:,.0f} s "
        f"(145 us a dispatch, 30 ms a client: a fit); {one['rows']:,} rows, "
        f"{one['trace_bytes'] / 1e6:,.0f} MB of trace, "
        f"{one['peak_memory_bytes'] / 1e9:.1f} GB at most, {one['processor_seconds']:.1f} s of the "
        f"processor; run"
    )


def one_run(shadows: int) -> dict[str, Any]:
    """One run, measured in this process.

    Raises RuntimeError when deliveries are missing or a check is violated.
    """
    world = World.from_scenario(load_scenario_text(scenario(shadows)), rows_max=None)
    began = time.process_time()
    seconds = seconds_of(world.run)
    processor_seconds, peak_memory = time.process_time() - began, peak_memory_bytes()
    summary = world.summary()
    audiences, brokers = list(summary["audiences"].values()), list(summary["brokers"].values())
    deliveries = sum(one["delivered"] for one in audiences)
    if deliveries != SUBSCRIPTIONS * MESSAGES or summary["violations"]:
        raise RuntimeError(f"{deliveries} deliveries, violations: {summary['violations'][:1]}")
    return {
        "shadows": shadows,
        "seconds": seconds,
        "deliveries": deliveries,
        "rows": summary["events"],
        "trace_bytes": world.trace.size_bytes,
        "mean_us": sum(one["latency"]["mean_us"] * one["delivered"] for one in audiences) // deliveries,
        "p99_us": max(one["latency"]["p99_us"] for one in audiences),
        "peak_bytes_per_s": max(one["bytes_out_per_s_max"] for one in brokers),
        "connect_us": max(one["connect_us"] for one in audiences),
        "processor_seconds": processor_seconds,
        "peak_memory_bytes": peak_memory,
    }


if __name__ == "__main__":
    print(json.dumps(one_run(int(sys.argv[1]))))
