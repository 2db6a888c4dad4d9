"""The live diagram under load: fifty viewers of one lab, and a quiet lab beside a busy one.

One of the viewers is slow; the busy lab seeks. A frame's age is how much later it arrived than the earliest
frame implies, at the playback's speed. So a server that falls behind its own clock shows as age, too. Server
and viewers share this machine's cores.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator

from script.benchmarks import crowd, scenarios
from script.benchmarks.crowd import ages_ms
from script.benchmarks.measure import REPEATS, Figure, median, percentile
from script.benchmarks.viewer import Viewer
from script.support.processes import Supervisor
from script.support.temporary_site import Site, temporary_site

VIEWERS = 50
FRAMES_PER_S = 20
ROUND_S, WARM_UP_S = 8, 4
AGE_LIMIT_MS = 100
NEIGHBOUR_ROWS_MESSAGES = 600_000
"""Messages of the neighbour: about eight rows each, so near five million rows."""

SEEK_LIMIT_S = 1200
FLAT = 1.25
"""The limit of memory growth with the slow reader, relative to that without."""


def measure() -> Iterator[Figure]:
    with Supervisor(interrupting=True) as supervisor:
        with temporary_site(supervisor) as site:
            many = asyncio.run(_watch_one_lab(site, VIEWERS, slow=1))
        with temporary_site(supervisor) as site:
            alone = asyncio.run(_watch_one_lab(site, 1, slow=0))
        yield Figure(
            "live",
            "p95 frame age, 50 viewers, one slow",
            many["age_ms"],
            "ms",
            "one viewer",
            alone["age_ms"],
            f"under {AGE_LIMIT_MS} ms",
            many["age_ms"] < AGE_LIMIT_MS,
        )
        yield Figure(
            "live",
            "frames per second and viewer",
            many["frames_per_s"],
            "1/s",
            "asked for",
            FRAMES_PER_S,
            "at least 19",
            many["frames_per_s"] >= 19,
        )
        yield Figure(
            "live",
            "frames missed by the 49",
            many["missed"],
            "frames",
            target="none",
            met=many["missed"] == 0,
        )
        yield Figure("live", "times the slow one was resynchronised", many["lagged"], "times")
        with temporary_site(supervisor) as site:
            without = asyncio.run(_watch_one_lab(site, VIEWERS - 1, slow=0))
        growth = many["bytes_per_s"] / 2**20, without["bytes_per_s"] / 2**20
        yield Figure(
            "live",
            "memory growth (the trace grows too)",
            growth[0],
            "MiB/s",
            "without the slow reader",
            growth[1],
            f"at most {FLAT} times",
            growth[0] <= FLAT * growth[1],
        )
        with temporary_site(supervisor) as site:
            beside, before = asyncio.run(_quiet_beside_seeking(site))
        yield Figure(
            "live",
            "p95 frame age of a quiet lab, neighbour seeking",
            beside,
            "ms",
            "neighbour paused",
            before,
            f"under {AGE_LIMIT_MS} ms",
            beside < AGE_LIMIT_MS,
        )
    yield from crowd.measure()


async def _watch_one_lab(site: Site, viewers: int, slow: int) -> dict[str, float]:
    """The medians over the rounds of playing at speed 1 with the engine at 1,000 messages a second."""
    lab = site.open_lab(yaml=scenarios.plain(600 * scenarios.RATE_PER_S), seed=1)
    viewing = [
        Viewer(site.port, lab["id"], lab["token"] if number == 0 else "", slow=number >= viewers - slow)
        for number in range(viewers)
    ]
    await asyncio.gather(*(viewer.connect() for viewer in viewing))
    viewing[0].send({"type": "play", "speed": 1.0})
    await asyncio.sleep(WARM_UP_S)
    fast = viewing[: viewers - slow]
    memory = site.memory_bytes()
    ages, rates, missed = [], [], 0
    for _ in range(REPEATS):
        for viewer in fast:
            viewer.frames.clear()
        await asyncio.sleep(ROUND_S)
        ages.append(_age_p95_ms(fast))
        rates.append(median([len(viewer.frames) / ROUND_S for viewer in fast]))
        missed += sum(viewer.missed() for viewer in fast) + sum(viewer.lagged for viewer in fast)
    growth = (site.memory_bytes() - memory) / (REPEATS * ROUND_S)
    lagged = sum(viewer.lagged for viewer in viewing[viewers - slow :])
    await asyncio.gather(*(viewer.close() for viewer in viewing))
    return {
        "age_ms": median(ages),
        "frames_per_s": median(rates),
        "missed": missed,
        "bytes_per_s": growth,
        "lagged": lagged,
    }


def _age_p95_ms(viewers: list[Viewer]) -> float:
    return percentile(ages_ms(viewers), 0.95)


async def _quiet_beside_seeking(site: Site) -> tuple[float, float]:
    """The p95 frame age of a small playing lab while its neighbour seeks, and while it is paused."""
    quiet = site.open_lab(scenario="two-regions", seed=1)
    loud = site.open_lab(yaml=scenarios.plain(NEIGHBOUR_ROWS_MESSAGES), seed=1)
    watcher = Viewer(site.port, quiet["id"], quiet["token"])
    driver = Viewer(site.port, loud["id"], loud["token"])
    await asyncio.gather(watcher.connect(), driver.connect())
    end_us = NEIGHBOUR_ROWS_MESSAGES // scenarios.RATE_PER_S * 1_000_000
    await _seek(driver, end_us)
    beside, before = [], []
    draw = random.Random(1)
    for _ in range(REPEATS):
        before.append(await _play_round(watcher, None))
        beside.append(await _play_round(watcher, lambda: _seek(driver, draw.randrange(end_us))))
        await _seek(driver, end_us)
    await asyncio.gather(watcher.close(), driver.close())
    return median(beside), median(before)


async def _play_round(watcher: Viewer, meanwhile: Callable[[], Awaitable[None]] | None) -> float:
    """Play the quiet lab from its start, with the neighbour busy all the time; returns the p95 frame age."""
    await _seek(watcher, 0)
    neighbour = None if meanwhile is None else asyncio.create_task(_again_and_again(meanwhile))
    watcher.send({"type": "play", "speed": 1.0})
    await asyncio.sleep(1)
    watcher.frames.clear()
    await asyncio.sleep(ROUND_S)
    age = _age_p95_ms([watcher])
    watcher.send({"type": "pause"})
    if neighbour is not None:
        neighbour.cancel()
    return age


async def _again_and_again(body: Callable[[], Awaitable[None]]) -> None:
    while True:
        await body()


async def _seek(driver: Viewer, at_us: int) -> None:
    """Request a seek and wait for a frame at its instant without further work."""
    driver.send({"type": "seek", "at_us": at_us})
    waited = 0.0
    while not (driver.frames and driver.frames[-1].at_us == at_us and not driver.frames[-1].busy):
        await asyncio.sleep(0.02)
        driver.check()
        waited += 0.02
        if waited > SEEK_LIMIT_S:
            raise RuntimeError(f"the seek to {at_us} us did not end within {SEEK_LIMIT_S} s")
