"""`script/screenshot`: plays a scenario in Chromium to an instant and writes `docs/screenshot.png`.

It serves the lab only meanwhile. There are two steps, because only the second may use installed packages:
this module makes the environment and runs itself again in it.
"""

from __future__ import annotations

import argparse

from script.support.browsing import ARGUMENTS, chromium, open_at, run_in_environment, wait_until
from script.support.environment import ROOT
from script.support.processes import Supervisor

SETTLE_MS = 1500
"""The time after the pause in which the page draws its last frames and charts."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="script/screenshot", description="Writes a picture of the lab page from a real run."
    )
    parser.add_argument(
        "--scenario", default="region-down", help="which scenario is shown (default: region-down)"
    )
    parser.add_argument(
        "--at", type=float, default=5.84, help="simulated second at which it stands (default: 5.84)"
    )
    parser.add_argument("--out", default=str(ROOT / "docs" / "screenshot.png"), help="where the picture goes")
    parser.add_argument("--width", type=int, default=1440, help="pixels; the height follows (default: 1440)")
    parser.add_argument("--height", type=int, default=900, help="pixels (default: 900)")
    parser.add_argument("--theme", choices=("light", "dark"), default="light")
    arguments = parser.parse_args()
    return run_in_environment("script.support.screenshot", lambda supervisor: take(supervisor, arguments))


def take(supervisor: Supervisor, arguments: argparse.Namespace) -> int:
    """Open the lab as its owner, play it, seek to the exact instant and take the picture.

    Playing fills the forecast curve.
    """
    from playwright.sync_api import sync_playwright

    from script.support.temporary_site import temporary_site

    supervisor.interrupting = True
    with temporary_site(supervisor) as site, sync_playwright() as playwright:
        lab = site.open_lab(scenario=arguments.scenario)
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(
            viewport={"width": arguments.width, "height": arguments.height}, color_scheme=arguments.theme
        )
        open_at(page, f"{site.address}{lab['url']}#token={lab['token']}", 0)
        page.evaluate("() => globalThis.failoverLab.link.play(1)")
        wait_until(
            page, "at_us => globalThis.failoverLab.getState().at_us >= at_us", round(arguments.at * 1_000_000)
        )
        page.evaluate("() => globalThis.failoverLab.link.pause()")
        page.evaluate("at_us => globalThis.failoverLab.link.seek(at_us)", round(arguments.at * 1_000_000))
        page.wait_for_timeout(SETTLE_MS)
        page.screenshot(path=arguments.out)
        browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
