"""The live diagram with many viewers: servers compared, one lab with hundreds, and many labs at once.

Processor time is read from the server's own process, so viewers that run in this process do not count. Frames
per second and ages are worse when both share the machine's cores.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from script.benchmarks import scenarios
from script.benchmarks.measure import REPEATS, Figure, median, percentile
from script.benchmarks.viewer import Viewer
from script.support.environment import PYTHON
from script.support.processes import Supervisor
from script.support.serve import site_command
from script.support.temporary_site import Site, temporary_site

SEEN_EVERY = 10
"""Frames between a page's `seen` answers, as in `static/js/wire/connection.js`."""

COMPARED_VIEWERS = 100
WARM_UP_S, ROUND_S = 3, 8
AGE_LIMIT_MS = 100
FULL_SPEED = 0.98

Command = Callable[[str, int], list[str]]


def _daphne(host: str, port: int) -> list[str]:
    return [
        str(PYTHON),
        "-m",
        "daphne",
        "--bind",
        host,
        "--port",
        str(port),
        "--verbosity",
        "0",
        "labsite.asgi:application",
    ]


def _granian(host: str, port: int) -> list[str]:
    return [
        str(PYTHON),
        "-m",
        "granian",
        "--interface",
        "asginl",
        "--host",
        host,
        "--port",
        str(port),
        "--loop",
        "uvloop",
        "--workers",
        "1",
        "--no-log",
        "labsite.asgi:application",
    ]


SERVERS: dict[str, Command] = {"uvicorn": site_command, "Daphne": _daphne, "Granian": _granian}


@dataclass(frozen=True, slots=True)
class Seen:
    """The measurements of the viewers of one round."""

    frames_per_s: float  # of the median viewer
    age_ms: float  # p95
    frame_us: float  # processor time of the server for each frame of each viewer, the engine's included
    speed: float  # of the slowest lab; 1 is the requested speed
    cores: float  # processor time of the server in a second


def measure() -> Iterator[Figure]:
    with Supervisor(interrupting=True) as supervisor:
        yield from _compared(supervisor)
        yield from _against_targets(supervisor, "300 viewers of one lab", 1, 300, 19)
        yield from _against_targets(supervisor, "20 labs with 10 viewers each", 20, 10, 10)
        yield from _against_targets(supervisor, "500 viewers of one lab", 1, 500, 19)


def _compared(supervisor: Supervisor) -> Iterator[Figure]:
    """The figures of the compared servers.

    They take turns, so that a slow minute of the machine affects all of them.
    """
    rounds: dict[str, list[Seen]] = {name: [] for name in SERVERS}
    for _ in range(REPEATS):
        for name, command in SERVERS.items():
            with temporary_site(supervisor, command) as site:
                rounds[name].append(asyncio.run(_watched(site, 1, COMPARED_VIEWERS)))
    ours = _medians(rounds.pop("uvicorn"))
    for name, seen in rounds.items():
        other = _medians(seen)
        yield Figure(
            "live",
            f"processor time per viewer and frame, {COMPARED_VIEWERS} viewers",
            ours.frame_us,
            "us",
            name,
            other.frame_us,
        )
        yield Figure(
            "live", f"p95 frame age, {COMPARED_VIEWERS} viewers", ours.age_ms, "ms", name, other.age_ms
        )
        yield Figure(
            "live",
            f"frames per second and viewer, {COMPARED_VIEWERS} viewers",
            ours.frames_per_s,
            "1/s",
            name,
            other.frames_per_s,
        )


def _against_targets(
    supervisor: Supervisor, crowd: str, labs: int, viewers: int, frames_per_s: int
) -> Iterator[Figure]:
    rounds = []
    for _ in range(REPEATS):
        with temporary_site(supervisor) as site:
            rounds.append(asyncio.run(_watched(site, labs, viewers)))
    seen = _medians(rounds)
    yield Figure(
        "live",
        f"frames per second and viewer, {crowd}",
        seen.frames_per_s,
        "1/s",
        target=f"at least {frames_per_s}",
        met=seen.frames_per_s >= frames_per_s,
    )
    yield Figure(
        "live",
        f"p95 frame age, {crowd}",
        seen.age_ms,
        "ms",
        target=f"under {AGE_LIMIT_MS} ms",
        met=seen.age_ms < AGE_LIMIT_MS,
    )
    yield Figure(
        "live",
        f"playback speed, {crowd}",
        seen.speed,
        "times",
        target=f"at least {FULL_SPEED}",
        met=seen.speed >= FULL_SPEED,
    )
    yield Figure("live", f"processor time of the server, {crowd}", seen.cores, "cores")


def _medians(rounds: list[Seen]) -> Seen:
    return Seen(*(median([getattr(seen, name) for seen in rounds]) for name in Seen.__slots__))


async def _watched(site: Site, labs: int, viewers: int) -> Seen:
    """One round of `labs` playing at speed 1, with `viewers` viewers each.

    1,000 messages a second are divided among the labs.
    """
    messages = 600 * scenarios.RATE_PER_S
    text = scenarios.plain(messages).replace(
        f"rate: {scenarios.RATE_PER_S}/s", f"rate: {scenarios.RATE_PER_S // labs}/s"
    )
    crowds = []
    for seed in range(1, labs + 1):
        lab = site.open_lab(yaml=text, seed=seed)
        crowds.append(
            [
                Viewer(site.port, lab["id"], lab["token"] if number == 0 else "", seen_every=SEEN_EVERY)
                for number in range(viewers)
            ]
        )
    crowd = [viewer for one in crowds for viewer in one]
    for viewer in crowd:
        await viewer.connect()
    for one in crowds:
        one[0].send({"type": "play", "speed": 1.0})
    await asyncio.sleep(WARM_UP_S)
    for viewer in crowd:
        viewer.frames.clear()
    began_s, used_s = time.perf_counter(), processor_seconds(site.pid)
    await asyncio.sleep(ROUND_S)
    took_s, used_s = time.perf_counter() - began_s, processor_seconds(site.pid) - used_s
    frames = sum(len(viewer.frames) for viewer in crowd)
    ages = [age for one in crowds for age in ages_ms(one)]
    seen = Seen(
        median([len(viewer.frames) / took_s for viewer in crowd]),
        percentile(ages, 0.95),
        used_s / frames * 1e6,
        min(_speed(one[0]) for one in crowds),
        used_s / took_s,
    )
    for viewer in crowd:
        await viewer.close()
    return seen


def ages_ms(viewers: list[Viewer]) -> list[float]:
    """The age of each frame: how much later it arrived than the earliest frame implies, at speed 1."""
    delays = [frame.received_s - frame.at_us / 1e6 for viewer in viewers for frame in viewer.frames]
    earliest = min(delays)
    return [(delay - earliest) * 1000 for delay in delays]


def _speed(viewer: Viewer) -> float:
    first, last = viewer.frames[0], viewer.frames[-1]
    return (last.at_us - first.at_us) / 1e6 / (last.received_s - first.received_s)


def processor_seconds(pid: int) -> float:
    """The processor time that a process and its children have used so far, in seconds (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(
        processor_seconds(int(child)) for child in children
    )
