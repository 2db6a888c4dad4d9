"""An hour of simulated time in one open page, compressed.

The frames are those that the server makes at speed 10, sent as fast as the page takes them. The lab is opened
at a real server, to which the page continues to send HTTP requests. The frames come from a world of the same
scenario here, half a second of simulated time apart, so they contain every row, cell and point of the hour.
After each hundred frames the page's garbage is collected: a real hour has the idle time for it, which
compressing leaves out. Memory is what JavaScript holds after a collection, and what Chromium's process for
the page holds in total (proportional set size).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from script.benchmarks import scenarios
from script.benchmarks.measure import Figure
from script.support.browsing import chromium, open_at
from script.support.processes import Supervisor
from script.support.temporary_site import temporary_site

PLAY_S, FRAME_US = 3600, 500_000
MESSAGES_PER_S = 100
"""A rate at which an hour's rows fit a lab."""

AT_ONCE = 100
"""Frames sent before waiting for the page."""

LIMIT_MIB = 300
FIRST_EPOCH = 1_000_000_000
"""An epoch later than any of the server's own."""


def measure() -> Iterator[Figure]:
    from playwright.sync_api import sync_playwright

    text = (
        scenarios.crowded(3, 1)
        .replace("300/s", f"{MESSAGES_PER_S}/s")
        .replace("until: 600s", f"until: {PLAY_S + 60}s")
    )
    with (
        Supervisor(interrupting=True) as supervisor,
        temporary_site(supervisor) as site,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        lab = site.open_lab(yaml=text)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        lines: list[Any] = []
        page.route_web_socket("**/ws/labs/**", lambda line: (lines.append(line), line.connect_to_server()))
        open_at(page, f"{site.address}{lab['url']}#token={lab['token']}", 0)
        before = _memory_mib(page)
        _play(page, lines[0], text)
        after = _memory_mib(page)
        browser.close()
    yield Figure(
        "hour",
        "memory that JavaScript holds after an hour of play",
        after[0],
        "MiB",
        "when opened",
        before[0],
        f"under {LIMIT_MIB} MiB",
        after[0] < LIMIT_MIB,
    )
    yield Figure(
        "hour",
        "memory of the page's process after an hour of play",
        after[1],
        "MiB",
        "when opened",
        before[1],
        f"under {LIMIT_MIB} MiB",
        after[1] < LIMIT_MIB,
    )


def _play(page: Any, line: Any, text: str) -> None:
    """Send the frames of the hour, a hundred at a time."""
    from simulator import World, load_scenario_text
    from visualizer.live.frames import FrameMaker, Playing

    world = World.from_scenario(load_scenario_text(text))
    frames = FrameMaker(world)
    frames.begin_epoch(FIRST_EPOCH)
    collector = page.context.new_cdp_session(page)
    for number in range(1, PLAY_S * 1_000_000 // FRAME_US + 1):
        world.run(number * FRAME_US)
        line.send(frames.next(Playing(True, 10.0), False)[0].text)
        if number % AT_ONCE == 0:
            _until_seen(page, number)
            collector.send("HeapProfiler.collectGarbage")


def _until_seen(page: Any, number: int) -> None:
    for _ in range(2000):
        seen = page.evaluate(
            "() => { const state = globalThis.failoverLab.getState(); return [state.epoch, state.number, "
            "state.gaps]; }"
        )
        if seen == [FIRST_EPOCH, number, 0]:
            return
        page.wait_for_timeout(5)
    raise RuntimeError(f"the page stands at {json.dumps(seen)} and not at frame {number}")


def _memory_mib(page: Any) -> tuple[float, float]:
    """JavaScript's heap after a collection, and the process's proportional set size, both in MiB."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 2**20
    session.detach()
    browser = page.context.browser.new_browser_cdp_session()
    processes = browser.send("SystemInfo.getProcessInfo")["processInfo"]
    browser.detach()
    return heap, max(
        _proportional_mib(process["id"]) for process in processes if process["type"] == "renderer"
    )


def _proportional_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
