"""`script/screenshots`: pictures of every room of the site in every look, from real runs, for review."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from script.support.browsing import ARGUMENTS, chromium, open_at, run_in_environment, wait_until
from script.support.environment import ROOT
from script.support.processes import Supervisor

Room = Callable[[Any, Any], None]
"""A function (page, site) that brings the page to the state of the picture."""

MISTAKE = {
    "type": "error",
    "code": "engine-bug",
    "error": "Internal error, this lab has stopped.",
    "hint": "Other labs go on.",
    "seed": 1,
    "at_us": 5_300_000,
    "replay": "#",
}
REMEMBER_SOCKETS = """
globalThis.spoken = [];
const Plain = globalThis.WebSocket;
globalThis.WebSocket = class extends Plain {
  constructor(...given) { super(...given); globalThis.spoken.push(this); }
};
"""
OPENED_MS = 900


def tell(message: dict[str, Any]) -> Callable[[Any], None]:
    """Pretend that the server sent a message, for states that are hard to produce quickly.

    States that are rare in use (no connection, too slow, an internal error) are produced in the page.
    """
    return lambda page: page.evaluate(
        "text => globalThis.spoken.forEach((socket) => socket.onmessage({ data: text }))", json.dumps(message)
    )


def _press(*keys: str) -> Callable[[Any], None]:
    def do(page: Any) -> None:
        for key in keys:
            page.keyboard.press(key)
            page.wait_for_timeout(250)

    return do


def _look_inside(page: Any) -> None:
    page.locator(".mark-button").last.focus()
    page.keyboard.press("Enter")


def _light_a_cone(page: Any) -> None:
    """Highlight a cone; the panel that opens with it is closed again, the highlight remains."""
    _look_inside(page)
    page.wait_for_timeout(OPENED_MS)
    page.keyboard.press("Escape")


def _break_a_region(page: Any) -> None:
    page.get_by_role("button", name="us-west", exact=True).click()


def _stop_the_lookup_service(page: Any) -> None:
    """Unloads a topic while the lookup service is stopped, so that its clients stay disconnected."""
    for command in ({"do": "lookup.stop"}, {"do": "topic.unload", "cluster": "blue", "topic": "orders"}):
        page.evaluate("command => failoverLab.link.command(command)", command)
        page.wait_for_timeout(500)
    page.evaluate("() => failoverLab.link.seek(5500000)")
    wait_until(page, "() => failoverLab.getState().at_us === 5500000")
    page.wait_for_timeout(OPENED_MS)


def _two_branches(page: Any) -> None:
    for command in (
        {"do": "link.cut", "link": "us-east <-> us-west"},
        {"do": "cluster.crash", "cluster": "us-west"},
    ):
        page.evaluate("command => failoverLab.link.command(command, { apart: true })", command)
        page.wait_for_timeout(500)
    page.keyboard.press("y")


def _cut_the_line(page: Any) -> None:
    page.evaluate("() => { globalThis.WebSocket = class { close() {} }; failoverLab.dropLine(); }")


def _room(scenario: str, at_s: float, do: Callable[[Any], None] | None = None, query: str = "") -> Room:
    def room(page: Any, site: Any) -> None:
        page.add_init_script(REMEMBER_SOCKETS)
        made = site.open_lab(scenario=scenario)
        open_at(page, f"{site.address}{made['url']}{query}#token={made['token']}", round(at_s * 1_000_000))
        wait_until(page, "() => document.querySelector('.lab').classList.contains('drawn')")
        page.wait_for_timeout(OPENED_MS)
        if do is not None:
            do(page)

    return room


LAB_ROOMS: dict[str, Room] = {
    "lab-held-back": _room("ack-hole-delayed-message", 5.5),
    "lab-three-regions": _room("three-regions", 5.2),
    "lab-one-cluster": _room("figure-4", 2.9),
    "lab-overhead": _room("overhead", 20),
    "lab-duplicates": _room("region-down-twice", 17.5),
    "lab-drained": _room("consumer-drains-backlog", 13),
    "lab-lit-cone": _room("region-down", 5.3, _light_a_cone),
    "lab-look-inside": _room("region-down", 5.3, _look_inside),
    "lab-menu": _room("region-down", 5.3, _break_a_region),
    "lab-failover-dialog": _room("region-down", 5.3, _press("o")),
    "lab-keys": _room("region-down", 5.3, _press("?")),
    "lab-text-view": _room("region-down", 5.3, _press("t")),
    "lab-branches": _room("region-down", 5.3, _two_branches),
    "lab-long-run": _room("region-down", 11, _press("n", "n", "n")),
    "lab-why-duplicates": _room("region-down", 6, query="?panel=why-duplicates"),
    "lab-what-if": _room("region-down", 6, query="?panel=what-if"),
    "lab-forecast": _room("region-down", 6, query="?panel=forecast"),
    "lab-shadows": _room("shadow-two-audiences", 3.02, query="?panel=shadows"),
    "lab-shadow-loss": _room("shadow-retention-loss", 4.4, query="?panel=shadows"),
    "lab-consumers-stay": _room("tenant-moves", 0.9, query="?panel=migration"),
    "lab-lookup-down": _room("tenant-moves", 4.8, _stop_the_lookup_service, query="?panel=migration"),
    "lab-synced-acks": _room("strategies-delayed-message", 4.9),
    "lab-blue-green": _room("tenant-blue-green", 6.3, query="?panel=migration"),
    "lab-noisy-neighbour": _room("tenant-noisy-neighbour", 6.05, query="?panel=migration"),
    "lab-move-ready": _room("tenant-moves", 4.9, query="?panel=migration"),
    "lab-move-both": _room("tenant-moves", 5.05, query="?panel=migration"),
    "lab-move-failed": _room("tenant-link-fails", 2.0, query="?panel=migration"),
    "lab-move-back": _room("tenant-rolls-back", 6.5, query="?panel=migration"),
    "lab-shadow-unseen": _room("shadow-source-unload", 2.29, query="?panel=shadows"),
    "lab-topics": _room("clients-created-it-before", 12, query="?panel=topics"),
    "lab-topics-apart": _room("drifted-partitions", 9, query="?panel=topics"),
    "lab-schema-refused": _room("schema-refused", 9, query="?panel=topics"),
    "lab-group-two-readers": _room("groups-two-readers", 11),
    "lab-group-ghost": _room("groups-killed", 9),
    "lab-group-dead-leader": _room("groups-leader-crash-late", 20),
    "lab-group-unacked": _room("groups-killed-in-a-chunk", 2.5),
    "lab-group-thousand": _room("groups-thousand-streams", 2.6, _press("+")),
    "lab-group-node-messages": _room("groups-two-readers", 10.5, query="?panel=node-messages"),
    "lab-group-layers": _room("groups-two-readers", 11, query="?panel=layers"),
    "lab-group-rounds": _room("groups-two-readers", 11, query="?panel=rounds"),
    "lab-group-what-if": _room("groups-two-readers", 14, query="?panel=what-if"),
    "lab-pulsar-admin": _room("region-down", 5.3, query="?panel=pulsar-admin"),
    "state-empty": _room("region-down", 0),
    "state-line-down": _room("region-down", 5.3, _cut_the_line),
    "state-too-slow": _room("region-down", 5.3, tell({"type": "lagged", "missed": 42})),
    "state-internal-error": _room("region-down", 5.3, tell(MISTAKE)),
}


# --- the lab's views of a past failover, for `script/screenshots`
#
# They are the list, a story, changed runs and the forecast.


END_US = 20_000_000
HOLE_END_US = 8_000_000


def _panel(page: Any, site: Any, scenario: str, name: str, to_us: int) -> None:
    lab = site.open_lab(scenario=scenario)
    open_at(page, f"{site.address}{lab['url']}?panel={name}#token={lab['token']}", to_us)
    page.locator(f"#panel-{name}").wait_for()


def why_duplicates(page: Any, site: Any) -> None:
    _panel(page, site, "ack-hole-delayed-message", "why-duplicates", HOLE_END_US)
    page.locator("button.message").first.wait_for()
    page.locator(".lower").evaluate("panels => panels.scrollIntoView()")


def story(page: Any, site: Any) -> None:
    """A story at the step that gives the cause."""
    _panel(page, site, "ack-hole-delayed-message", "why-duplicates", HOLE_END_US)
    page.locator("button.message").first.click()
    page.locator("[data-part=story-pips] .hole button").click()
    page.wait_for_timeout(600)


def what_helped(page: Any, site: Any) -> None:
    _panel(page, site, "slow-consumer-spread", "what-if", 45_000_000)
    wait_until(
        page,
        (
            "() => document.querySelector('.what-if table') && document.querySelector('.what-if "
            "[role=status]').hidden"
        ),
    )
    page.locator(".lower").evaluate("panels => panels.scrollIntoView()")


def forecast(page: Any, site: Any) -> None:
    """The forecast of a run played to its end, at an instant without a snapshot request.

    Playing draws the whole curve.
    """
    _panel(page, site, "region-down-twice", "forecast", 0)
    page.evaluate("() => failoverLab.link.play(20)")
    wait_until(page, "end_us => failoverLab.getState().at_us >= end_us", END_US)
    page.evaluate("() => failoverLab.link.seek(8000000)")
    wait_until(page, "() => failoverLab.getState().at_us === 8000000")
    page.locator(".lower").evaluate("panels => panels.scrollIntoView()")
    page.wait_for_timeout(900)


def _brokers(scenario: str, at_us: int) -> Callable[[Any, Any], None]:
    def room(page: Any, site: Any) -> None:
        _panel(page, site, scenario, "brokers", at_us)
        page.locator("#panel-brokers .figures").first.wait_for()
        page.locator("#panel-brokers .js-plotly-plot").first.wait_for()
        page.locator(".lower").evaluate("panels => panels.scrollIntoView()")
        page.wait_for_timeout(900)

    return room


STORY_ROOMS: dict[str, Callable[[Any, Any], None]] = {
    "why-duplicates": why_duplicates,
    "story": story,
    "what-helped": what_helped,
    "forecast": forecast,
    "brokers-starved": _brokers("starved-subscription", 8_000_000),
    "brokers-broadcast": _brokers("broadcast", 20_000_000),
}


# --- `script/screenshots`: pictures of every room of the site in every look, from real runs, for review
#
# A room is a function that brings a page to the state to show. A look is a size, a theme and a mode. To add
# a room, add it to `ROOMS`. Like `script/screenshot`, it makes
# the environment and runs itself again in it.


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
