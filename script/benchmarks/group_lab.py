"""A group lab of 1,000 streams and 200 sessions past its 100,000th row: server and page.

Measured are the server's cost of a frame, and the page's script time per animation frame with each of its
panels. The alternative for the frame is a lab of two regions at the same rate of messages, for the page the
same page with eight streams.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from script.benchmarks import scenarios
from script.benchmarks.measure import REPEATS, Figure, median
from script.benchmarks.page import script_ms_per_frame
from script.support.browsing import chromium
from script.support.processes import Supervisor
from script.support.temporary_site import temporary_site
from simulator import World, load_scenario_text
from visualizer.live.frames import FrameMaker, Playing

FROM_US = 15_000_000
FRAME_US = 50_000
FRAMES = 20
FRAME_LIMIT_MS, SCRIPT_LIMIT_MS = 25.0, 16.0
"""The limit of a frame is half of its 50 ms, the part that one lab may use."""

PANELS = ("node-messages", "layers", "rounds")
SHOWN = (
    "() => { if (!failoverLab.getState().playing) throw new Error('the page does not play'); return { "
    "rows: failoverLab.getState().view.seq }; }"
)


def measure() -> Iterator[Figure]:
    from playwright.sync_api import sync_playwright

    big, small = _text(125, 200), _text(1, 2)
    frame, rows = _frame_ms(big)
    yield Figure(
        "group_lab",
        f"a frame, 1,000 streams, 200 sessions, {rows:,} rows",
        frame,
        "ms",
        "two regions",
        _frame_ms(scenarios.plain(40_000))[0],
        f"under {FRAME_LIMIT_MS:g} ms",
        frame < FRAME_LIMIT_MS,
    )
    with (
        Supervisor(interrupting=True) as supervisor,
        temporary_site(supervisor) as site,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        labs = [site.open_lab(yaml=text) for text in (big, small)]
        for panel in PANELS:
            figures = [
                script_ms_per_frame(
                    browser, site, {**lab, "url": f"{lab['url']}?panel={panel}"}, FROM_US, 0, 900, SHOWN
                )[0]
                for lab in labs
            ]
            yield Figure(
                "group_lab",
                f"script time per frame, panel {panel}",
                figures[0],
                "ms",
                "eight streams, two sessions",
                figures[1],
                f"under {SCRIPT_LIMIT_MS:g} ms",
                figures[0] < SCRIPT_LIMIT_MS,
            )
        browser.close()


def _text(topics: int, sessions: int) -> str:
    """A scenario with eight streams a topic and 1,000 messages a second.

    The streams are assigned to sessions on two nodes.
    """
    members = "\n".join(
        (
            f"  s{number:03}: {{node: n{1 + number % 2}, start: 100ms, subscriptions: "
            f'["$share/meters/meters/#"]}}'
        )
        for number in range(sessions)
    )
    return f"""
format: 1
name: benchmark-group-lab
title: A group on the page
family: durable-shared-subscriptions
seed: 1
until: 600s
settings: {{n_shards: 8}}
nodes: {{n1: {{}}, n2: {{}}}}
links: {{default: {{latency: 1ms}}}}
groups: {{meters: {{filter: "meters/#"}}}}
publishers: {{grid: {{topic: meters, topics: {topics}, start: 1s, every: 1ms}}}}
sessions:
{members}
"""


def _frame_ms(text: str) -> tuple[float, int]:
    """The median processor time of a frame while it plays in real time, ms, and the number of rows."""
    world = World.from_scenario(load_scenario_text(text))
    world.run(FROM_US)
    maker, playing, times = FrameMaker(world), Playing(True, 1.0, None, 1.0), []
    maker.begin_epoch(1)
    maker.next(playing, with_snapshot=True)
    for _ in range(FRAMES * REPEATS):
        world.run(world.now_us + FRAME_US)
        began = time.process_time()
        maker.next(playing, with_snapshot=False)
        times.append((time.process_time() - began) * 1000)
    return median(times), world.seq
