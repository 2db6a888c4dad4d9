"""Every tour can be played to its end with the keyboard alone, and with the text view alone.

The eight full tours and the shortest one of each family are played in every run, all of them with
`ALL_TOURS=1`. One page plays them one after the other and jumps to the steps, because its viewer wants little
motion. Each question is answered with the answer of the run, so the next step has to say that it is right.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from script.support.browsing import wait_until
from script.support.temporary_site import Site
from simulator import load_scenario
from simulator.tours import ResolvedStep
from tests.browser.conftest import WIDE, Lab, fresh_context, note_troubles
from tests.browser.test_access import findings, findings_in_both_themes
from tests.scenarios.test_tours import FULL, TOURS, played

PHONE = {"width": 390, "height": 844}
TOUR_PARTS = "{ include: [['.tour-bar'], ['.watch']] }"

STANDS_AT = """([count, at_us, highlighted, asks]) => {
  const part = (name) => document.querySelector(`[data-part=${name}]`);
  const state = globalThis.failoverLab.getState();
  return !part("tour-bar").hidden && part("tour-count").textContent === count && part("tour-status").textContent === ""
    && !state.playing && state.at_us === at_us && part("lit").hidden !== highlighted && part("tour-ask").hidden !== asks;
}"""
"""Whether the lab has reached a step: its instant, what it highlights, and its question."""

READ = """() => {
  const text = (selector) => document.querySelector(selector).textContent;
  return { at: text("[data-part=words] h3"), title: text("[data-part=tour-title]"), text: text("[data-part=tour-text]"),
    revealed: text("[data-part=tour-revealed]"), lit: text("[data-part=lit-words]") };
}"""
FOCUSED = "() => document.activeElement.dataset.act ?? document.activeElement.name ?? ''"
HIDE_PICTURES = (
    "() => document.querySelectorAll('canvas').forEach((one) => { one.style.visibility = 'hidden'; })"
)


def shortest_of_families() -> list[str]:
    """The tour with the fewest steps of each family."""
    found: dict[str, tuple[int, str]] = {}
    for name in TOURS:
        scenario = load_scenario(name)
        assert scenario.tour is not None
        place = (len(scenario.tour.steps), name)
        found[scenario.family] = min(place, found.get(scenario.family, place))
    return [name for _steps, name in found.values()]


SOME = tuple(dict.fromkeys((*FULL, *shortest_of_families())))
PLAYED = TOURS if os.environ.get("ALL_TOURS") else SOME


@pytest.fixture(scope="module")
def troubles() -> list[str]:
    return []


@pytest.fixture
def page_of(browser: Browser, site: Site, troubles: list[str]) -> Iterator[Callable[[str], Lab]]:
    """One page for all tours: its modules are loaded once."""
    context = fresh_context(browser, color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    note_troubles(page, site.address, troubles)
    yield lambda name: Lab(page, site, site.open_lab(scenario=name)).open()
    context.close()
    assert troubles == []


def press_until_focused(lab: Lab, key: str, wanted: str) -> None:
    for _ in range(100):
        if lab.page.evaluate(FOCUSED) == wanted:
            return
        lab.page.keyboard.press(key)
    raise AssertionError(f"{key} does not reach {wanted}")


def stand(lab: Lab, steps: list[ResolvedStep], number: int) -> dict[str, str]:
    """Waits until the page stands at a step, and reads it."""
    step = steps[number - 1]
    highlighted = step.seq is not None or step.message is not None
    count = f"{number} of {len(steps)}"
    wait_until(lab.page, STANDS_AT, [count, step.at_us, highlighted, step.ask is not None])
    return lab.page.evaluate(READ)


def nothing(lab: Lab) -> None:
    """What is done at a question of most tours."""


def play(lab: Lab, name: str, at_question: Callable[[Lab], None] = nothing) -> None:
    """Plays a tour from its start to its end by keyboard."""
    steps = played(name)
    press_until_focused(lab, "Tab", "tour-start")
    lab.page.keyboard.press("Enter")
    asked = None
    for number, step in enumerate(steps, 1):
        shown = stand(lab, steps, number)
        assert shown["at"] == f"At {step.at_us / 1e6:,.3f} s"
        assert (shown["title"], shown["text"]) == (step.title, step.text)
        assert ("right: " in shown["revealed"]) == (asked is not None), shown["revealed"]
        assert shown["lit"].endswith(".") or (step.seq is None and step.message is None)
        asked = step.ask
        if asked is not None:
            at_question(lab)
            press_until_focused(lab, "Tab", "guess")
            lab.page.keyboard.insert_text(asked["answer"])
            lab.page.keyboard.press("Enter")
        else:
            lab.page.keyboard.press("PageDown")
    wait_until(lab.page, "() => document.querySelector('[data-part=tour-bar]').hidden")
    assert lab.state("state.at_us") == steps[-1].at_us


def judged(found: list[str]) -> Callable[[Lab], None]:
    """A question of a tour has no findings: light, dark and on a phone."""

    def judge(lab: Lab) -> None:
        if found and found[-1] == lab.made["id"]:
            return  # one step of each tour
        assert findings_in_both_themes(lab.page, TOUR_PARTS) == []
        lab.page.set_viewport_size(PHONE)
        assert findings(lab.page, TOUR_PARTS) == []
        assert lab.page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
        lab.page.set_viewport_size(WIDE)
        found.append(lab.made["id"])

    return judge


def test_tours_are_played_to_their_ends_by_keyboard_alone(page_of: Callable[[str], Lab]) -> None:
    checked: list[str] = []
    for name in PLAYED:
        play(page_of(name), name, judged(checked) if name in FULL else nothing)
    assert len(checked) == len(FULL), "each full tour has a question"


def test_tours_are_played_to_their_ends_with_the_text_view_alone(page_of: Callable[[str], Lab]) -> None:
    """The pictures are hidden; the text view has the instant, the bar the step, and the strip the event."""
    for name in PLAYED:
        lab = page_of(name)
        lab.page.keyboard.press("t")
        wait_until(lab.page, "() => !document.querySelector('[data-part=mirror]').classList.contains('sr')")
        lab.page.evaluate(HIDE_PICTURES)
        play(lab, name)
