"""A guided tour as a person plays it: by keyboard alone, with predictions, with a command in between."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_access import findings, findings_in_both_themes

NAME = "periodic-snapshots"
STEPS = 9
ASKED = 6
TOUR_PARTS = "{ include: [['.tour-bar'], ['.watch']] }"
"""The tour's own parts; the rest of the page has its own test."""


@pytest.fixture
def lab(make_lab):
    """A lab whose viewer wants little motion, so that it jumps to the steps."""
    opened = make_lab(NAME, reduced_motion="reduce").open()
    yield opened
    assert opened.troubles == []


def count_of(lab):
    return lab.page.locator("[data-part=tour-count]")


def start(lab) -> None:
    """Starts the tour by keyboard alone."""
    for _ in range(100):
        lab.page.keyboard.press("Tab")
        if lab.page.evaluate("() => document.activeElement.dataset.act === 'tour-start'"):
            break
    lab.page.keyboard.press("Enter")
    expect(lab.page.get_by_role("region", name="Guided tour")).to_be_visible()


def reached(lab, number: int) -> None:
    """Waits until the lab has played to a step."""
    expect(count_of(lab)).to_have_text(f"{number} of {STEPS}")
    expect(lab.page.locator("[data-part=tour-status]")).to_have_text("")
    lab.at_rest()


def test_a_tour_can_be_completed_by_keyboard_alone(lab):
    start(lab)
    instants = []
    for number in range(1, STEPS + 1):
        reached(lab, number)
        instants.append(lab.state("state.at_us"))
        if number == ASKED:
            lab.page.keyboard.type("12")
            lab.page.keyboard.press("Enter")
        elif number == ASKED + 1:
            expect(lab.page.locator(".tour-words")).to_contain_text(
                "Your prediction: 12. In this run: 19 duplicates."
            )
            lab.page.keyboard.press("PageDown")
        elif number < STEPS:
            lab.page.keyboard.press("ArrowRight" if number % 2 else "PageDown")
    assert instants == sorted(instants) and instants[-1] == 8_000_000
    assert lab.page.locator(".tour-words").get_attribute("role") == "status", "it is read aloud"
    lab.page.keyboard.press("PageDown")
    expect(lab.page.get_by_role("region", name="Guided tour")).to_be_hidden()
    assert lab.state("state.at_us") == 8_000_000 and "#" not in lab.page.url


def test_going_back_seeks_and_the_event_of_a_step_is_highlighted(lab):
    start(lab)
    reached(lab, 1)
    first_us = lab.state("state.at_us")
    lab.page.keyboard.press("PageDown")
    reached(lab, 2)
    expect(lab.page.locator("[data-part=lit-words]")).to_contain_text("stored")
    lab.page.keyboard.press("PageUp")
    reached(lab, 1)
    assert lab.state("state.at_us") == first_us
    assert lab.page.url.endswith("#tour=1")


def test_a_wrong_entry_is_explained_and_an_empty_one_goes_on(lab):
    lab.page.goto(f"{lab.site.address}{lab.made['url']}#tour={ASKED}")
    reached(lab, ASKED)
    field = lab.page.get_by_role("textbox", name="How many messages")
    expect(field).to_be_focused()
    lab.page.keyboard.type("many")
    lab.page.keyboard.press("Enter")
    expect(lab.page.locator("[data-part=tour-problem]")).to_contain_text("Write a whole number")
    lab.page.keyboard.press("Backspace")
    lab.page.keyboard.press("PageDown")
    reached(lab, ASKED + 1)
    expect(lab.page.locator("[data-part=tour-revealed]")).to_have_text("In this run: 19 duplicates.")


def test_a_command_during_a_tour_begins_another_run_and_the_tours_run_is_kept(lab):
    start(lab)
    reached(lab, 1)
    lab.page.evaluate("() => failoverLab.link.command({ do: 'consumer.stop', consumer: 'billing-1' })")
    lab.until("state.view.branch === 1")
    expect(lab.page.locator("[data-part=tour-status]")).to_contain_text("A command was given")
    lab.page.get_by_role("button", name="Return to the tour").press("Enter")
    lab.until("state.view.branch === 0")
    reached(lab, 1)


def test_a_step_is_played_slowly_until_its_instant(make_lab):
    lab = make_lab(NAME).open()
    start(lab)
    reached(lab, 1)
    lab.page.keyboard.press("PageDown")
    lab.until("state.playing && state.speed < 0.1")
    lab.until("!state.playing && state.at_us === 90000")
    reached(lab, 2)
    lab.page.keyboard.press("PageDown")
    lab.page.keyboard.press("PageDown")
    reached(lab, 3)
    lab.page.get_by_role("button", name="Leave tour").click()
    lab.until("state.speed === 1")
    assert lab.state("state.at_us") == 152_000 and lab.troubles == []


def test_a_viewer_is_told_why_the_tour_does_not_start(lab, make_lab):
    viewer = make_lab(of=lab).open(owner=False)
    viewer.page.locator(".watch [data-act=tour-start]").click()
    expect(viewer.page.get_by_role("alert", name="Notices")).to_contain_text(
        "Only the owner can play the tour"
    )
    assert viewer.troubles == []


@pytest.mark.parametrize(
    ("viewport", "judged"),
    [({"width": 1440, "height": 900}, findings_in_both_themes), ({"width": 390, "height": 844}, findings)],
    ids=["wide", "phone"],
)
def test_a_tour_has_no_findings_and_fits(make_lab, viewport, judged):
    lab = make_lab(NAME, viewport=viewport, color_scheme="light", reduced_motion="reduce").open()
    found = judged(lab.page, TOUR_PARTS)
    start(lab)
    for number in range(1, ASKED + 1):
        reached(lab, number)
        if number < ASKED:
            lab.page.keyboard.press("PageDown")
    assert found + judged(lab.page, TOUR_PARTS) == []
    assert lab.page.evaluate("() => document.documentElement.scrollWidth") <= viewport["width"]
    assert lab.troubles == []
