"""The lab page in real Chromium: script time per animation frame, and first paint.

The page shows 5,000 cells and 500 messages in flight. A comparison of three strategies that plays is
measured, too. Script time is what Chromium's own profiler charges to JavaScript (decoding frames, reducing,
drawing), over all animation frames of the round. There are two ways to show 5,000 cells: three long logs
shown whole, and twelve regions with every cell drawn on its own.
"""

from __future__ import annotations

from typing import Any

from script.benchmarks import scenarios
from script.benchmarks.measure import REPEATS, Figure, median
from script.support.browsing import chromium, open_at, wait_until
from script.support.processes import Supervisor
from script.support.temporary_site import Site, temporary_site

ROUND_MS, SETTLE_MS = 3000, 2000
LIMIT_MS = 16.0
FIRST_PAINT_MS = 1000.0
DRAWN_MS = 800.0
ANIMATION_FRAMES = (
    "window.animationFrames = 0; (function count() { window.animationFrames += 1; "
    "requestAnimationFrame(count); })();"
)
WHEN_DRAWN = """addEventListener("DOMContentLoaded", () => {
  const lab = document.querySelector(".lab");
  new MutationObserver(() => { if (lab.classList.contains("drawn")) globalThis.drawnAt ??= performance.now(); }).observe(lab, { attributes: true });
});"""
SHOWN = """() => {
  const state = globalThis.failoverLab.getState();
  const lengths = Object.values(state.view.clusters).map((cluster) => cluster.topics.orders.length);
  if (!state.playing) throw new Error("the page does not play");
  return { entries: lengths.reduce((sum, length) => sum + length, 0), flights: state.flights.length };
}"""

CROWDS = {
    # name: (scenario text, instant to start from, presses of the key that shows more of the logs, height of
    # the window)
    "three logs seen whole": (scenarios.crowded(3, 2), 8_000_000, 4, 900),
    "twelve regions, each cell drawn": (scenarios.crowded(12, 1), 4_000_000, 0, 2400),
}


def measure() -> list[Figure]:
    from playwright.sync_api import sync_playwright

    figures = []
    with (
        Supervisor(interrupting=True) as supervisor,
        temporary_site(supervisor) as site,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        quiet, _shown = script_ms_per_frame(
            browser, site, site.open_lab(yaml=scenarios.crowded(2, 1).replace("300/s", "10/s")), 0, 0, 900
        )
        for name, (text, from_us, presses, height) in CROWDS.items():
            figure, shown = script_ms_per_frame(
                browser, site, site.open_lab(yaml=text), from_us, presses, height
            )
            title = (
                f"script time per frame, {name} ({shown['entries']:,} entries, {shown['flights']} in flight)"
            )
            figures.append(
                Figure(
                    "page",
                    title,
                    figure,
                    "ms",
                    "two regions, 10 messages/s",
                    quiet,
                    f"under {LIMIT_MS:g} ms",
                    figure < LIMIT_MS,
                )
            )
        figures += [*_first_picture(browser, site), _comparison(browser, site)]
        browser.close()
    return figures


def _first_picture(browser: Any, site: Site) -> list[Figure]:
    """The times from the click to the first paint, and to the drawn logs.

    They are medians over fresh visits with an empty cache.
    """
    made = site.open_lab(scenario="region-down")
    paints, drawings = [], []
    for _ in range(REPEATS):
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        page = context.new_page()
        page.add_init_script(WHEN_DRAWN)
        open_at(page, f"{site.address}{made['url']}#token={made['token']}", 0)
        wait_until(page, "() => globalThis.drawnAt !== undefined")
        paints.append(
            page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
        )
        drawings.append(page.evaluate("() => globalThis.drawnAt"))
        context.close()
    return [
        Figure(
            "page",
            "first paint of a lab",
            median(paints),
            "ms",
            target=f"under {FIRST_PAINT_MS:g} ms",
            met=median(paints) < FIRST_PAINT_MS,
        ),
        Figure(
            "page",
            "logs of a lab drawn",
            median(drawings),
            "ms",
            "first paint",
            median(paints),
            f"under {DRAWN_MS:g} ms",
            median(drawings) < DRAWN_MS,
        ),
    ]


def _comparison(browser: Any, site: Site) -> Figure:
    """Script time per frame of three columns that play at once.

    The page's own loop measures it, over the frames it keeps.
    """
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{site.address}/compare/strategies-backlog/")
    wait_until(page, "() => (globalThis.failoverComparison?.getState().columns.length ?? 0) > 0")
    page.keyboard.press("Space")
    page.wait_for_timeout(ROUND_MS)
    times = page.evaluate("() => globalThis.failoverComparison.times_ms")
    page.close()
    return Figure(
        "page",
        f"script time per frame, a comparison that plays ({len(times)} frames)",
        median(times),
        "ms",
        target=f"under {LIMIT_MS:g} ms",
        met=median(times) < LIMIT_MS,
    )


def script_ms_per_frame(
    browser: Any, site: Site, lab: dict[str, str], from_us: int, presses: int, height: int, shows: str = SHOWN
) -> tuple[float, dict[str, int]]:
    """The median script time per frame over the rounds, ms, and what the page held at the end."""
    page = browser.new_page(viewport={"width": 1440, "height": height})
    page.add_init_script(ANIMATION_FRAMES)
    open_at(page, f"{site.address}{lab['url']}#token={lab['token']}", from_us)
    for _ in range(presses):
        page.keyboard.press("-")
    page.evaluate("() => globalThis.failoverLab.link.play(1)")
    page.wait_for_timeout(SETTLE_MS)
    profiler = page.context.new_cdp_session(page)
    profiler.send("Performance.enable")
    times = []
    for _ in range(REPEATS):
        before = _script_seconds(profiler), page.evaluate("window.animationFrames")
        page.wait_for_timeout(ROUND_MS)
        after = _script_seconds(profiler), page.evaluate("window.animationFrames")
        times.append((after[0] - before[0]) * 1000 / (after[1] - before[1]))
    shown = page.evaluate(shows)
    page.close()
    return median(times), shown


def _script_seconds(profiler: Any) -> float:
    metrics = {
        metric["name"]: metric["value"] for metric in profiler.send("Performance.getMetrics")["metrics"]
    }
    return metrics["ScriptDuration"]
