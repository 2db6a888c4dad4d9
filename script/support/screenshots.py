"""`script/screenshots`: pictures of every room of the site in every look, from real runs, for review.

A room is a function that brings a page to the state to show. A look is a size, a theme and a mode. To add a
room, add it to `ROOMS` (the lab page's own are in `lab_rooms.py`). Like `script/screenshot`, it makes the
environment and runs itself again in it.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from script.support.browsing import ARGUMENTS, chromium, open_at, wait_until
from script.support.environment import ROOT
from script.support.lab_rooms import LAB_ROOMS, Room
from script.support.pictures import run_in_environment
from script.support.processes import Supervisor
from script.support.story_rooms import STORY_ROOMS

SETTLE_MS = 900
"""The time in which a page draws its last frames and charts."""


@dataclass(frozen=True, slots=True)
class Look:
    width: int
    height: int
    theme: str
    mode: str = ""


LOOKS = {
    "light": Look(1440, 900, "light"),
    "dark": Look(1440, 900, "dark"),
    "phone": Look(390, 844, "light"),
    "projector": Look(1920, 1080, "light", "projector"),
}


def gallery(page: Any, site: Any) -> None:
    page.goto(site.address)


def set_up(page: Any, site: Any) -> None:
    page.goto(
        f"{site.address}/my-set-up/?regions=us-west%2C+us-east%2C+eu-central&slow_share=5%25&slow_for=2s"
    )


def set_up_answered(page: Any, site: Any) -> None:
    set_up(page, site)
    page.get_by_role("button", name="Answer from").click()
    wait_until(page, "() => globalThis.failoverSetUp.answer().state === 'done'")


def editor(page: Any, site: Any) -> None:
    """The editor with a problem and its list of completions."""
    page.goto(f"{site.address}/editor/?start=scenario/region-down")
    wait_until(page, "() => Boolean(globalThis.failoverEditor?.schema())")
    page.get_by_role("group", name="Scenario as YAML").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+End")
    page.keyboard.type("wrong: 1\nnames")
    page.locator(".ace_autocomplete").wait_for()
    page.get_by_role("heading", name="problem").wait_for()


def set_up_problems(page: Any, site: Any) -> None:
    page.goto(f"{site.address}/my-set-up/?rate=fast&queue=-1&cache=2")


def labs(page: Any, site: Any) -> None:
    for scenario, at_us in (("three-regions", 9_500_000), ("region-down", 5_840_000)):
        lab = site.open_lab(scenario=scenario)
        open_at(page, f"{site.address}{lab['url']}#token={lab['token']}", at_us)
        page.wait_for_timeout(SETTLE_MS)
    page.goto(f"{site.address}/labs/")


def comparison_before(page: Any, site: Any) -> None:
    _comparison(page, site, "strategies-delayed-message", 5_020_000)


def comparison_after(page: Any, site: Any) -> None:
    _comparison(page, site, "strategies-backlog", 13_100_000)


def comparison_recorded(page: Any, site: Any) -> None:
    _comparison_at(page, f"{site.address}/recordings/{_recording('ack-hole')}/compare/", 9_000_000)


def recorded(page: Any, site: Any) -> None:
    lab = site.open_lab(recording=_recording("broker-crash-10"))
    open_at(page, f"{site.address}{lab['url']}#token={lab['token']}", 7_000_000)


def _recording(name: str) -> str:
    """The digest of a built-in recording."""
    from simulator import recordings  # noqa: PLC0415  # only in the environment

    return next(
        one.digest
        for one in recordings.listed()
        if isinstance(one, recordings.RecordedFile) and one.path.name.startswith(name)
    )


def fidelity(page: Any, site: Any) -> None:
    page.goto(f"{site.address}/fidelity/")


def experiments(page: Any, site: Any) -> None:
    page.goto(f"{site.address}/experiments/")
    page.locator("[data-act=start]:not([disabled])").wait_for()


def audits(page: Any, site: Any) -> None:
    page.goto(f"{site.address}/audits/")
    page.locator("form[data-part=form]").wait_for()


def _comparison(page: Any, site: Any, name: str, at_us: int) -> None:
    _comparison_at(page, f"{site.address}/compare/{name}/", at_us)


def _comparison_at(page: Any, address: str, at_us: int) -> None:
    page.goto(address)
    wait_until(page, "() => (globalThis.failoverComparison?.getState().columns.length ?? 0) > 0")
    page.evaluate("at_us => globalThis.failoverComparison.seek(at_us)", at_us)


def lab_before(page: Any, site: Any) -> None:
    _lab(page, site, 5_300_000)


def lab_after(page: Any, site: Any) -> None:
    _lab(page, site, 5_840_000)


def lab_shared(page: Any, site: Any) -> None:
    _lab(page, site, 5_840_000)
    page.locator("[data-act=share]").click()


def _lab(page: Any, site: Any, at_us: int) -> None:
    lab = site.open_lab(scenario="region-down")
    open_at(page, f"{site.address}{lab['url']}#token={lab['token']}", at_us)


ROOMS: dict[str, Room] = {
    "gallery": gallery,
    "set-up": set_up,
    "set-up-answered": set_up_answered,
    "set-up-problems": set_up_problems,
    "editor": editor,
    "labs": labs,
    "comparison-before": comparison_before,
    "comparison-after": comparison_after,
    "comparison-recorded": comparison_recorded,
    "recorded": recorded,
    "fidelity": fidelity,
    "experiments": experiments,
    "audits": audits,
    "lab-before": lab_before,
    "lab-after": lab_after,
    "lab-shared": lab_shared,
    **LAB_ROOMS,
    **STORY_ROOMS,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="script/screenshots", description="Takes a picture of every room in every look."
    )
    parser.add_argument("room", nargs="*", help=f"only these: {', '.join(ROOMS)}")
    parser.add_argument(
        "--look", action="append", choices=list(LOOKS), help="only this look; may be repeated"
    )
    parser.add_argument(
        "--out",
        default=str(ROOT / "var" / "screenshots"),
        help="folder for the pictures (default: var/screenshots)",
    )
    parser.add_argument("--whole", action="store_true", help="the whole page, not only what a window shows")
    arguments = parser.parse_args()
    if unknown := [room for room in arguments.room if room not in ROOMS]:
        parser.error(f"there is no room {unknown[0]}: rooms are {', '.join(ROOMS)}")
    return run_in_environment("script.support.screenshots", lambda supervisor: take(supervisor, arguments))


def take(supervisor: Supervisor, arguments: argparse.Namespace) -> int:
    """Take the pictures, each in a new browser context.

    So what one room keeps in the browser does not appear in another.
    """
    from playwright.sync_api import sync_playwright

    from script.support.serve import engine_worker_command
    from script.support.temporary_site import temporary_site

    supervisor.interrupting = True
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_site(supervisor) as site, sync_playwright() as playwright:
        supervisor.start(engine_worker_command(), site.environment)
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        for room in arguments.room or ROOMS:
            for name in arguments.look or LOOKS:
                path = folder / f"{room}-{name}.png"
                _picture(browser, site, ROOMS[room], LOOKS[name], path, arguments.whole)
                print(path)
        browser.close()
    return 0


def _picture(browser: Any, site: Any, room: Room, look: Look, path: Path, whole: bool) -> None:
    context = browser.new_context(
        viewport={"width": look.width, "height": look.height}, color_scheme=look.theme
    )
    page = context.new_page()
    if look.mode:
        page.goto(f"{site.address}/labs/")
        page.evaluate(
            "mode => localStorage.setItem('failover-lab.appearance', JSON.stringify({ mode }))", look.mode
        )
    room(page, site)
    page.wait_for_timeout(SETTLE_MS)
    page.screenshot(path=str(path), full_page=whole)
    context.close()


if __name__ == "__main__":
    raise SystemExit(main())
