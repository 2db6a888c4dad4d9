"""A guided tour as a person plays it: by keyboard alone, with predictions, with a command in between."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

NAME = "periodic-snapshots"
STEPS = 10
POSITION_ASKED, ASKED = 5, 7


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


def test_the_last_step_ends_the_tour_and_the_lab_stays(lab):
    """By keyboard alone; `test_tours_played.py` plays every step."""
    start(lab)
    reached(lab, 1)
    assert lab.page.locator(".tour-words").get_attribute("role") == "status", "it is read aloud"
    lab.page.get_by_role("button", name=f"Step {STEPS}: What the failover cost").press("Enter")
    reached(lab, STEPS)
    lab.page.keyboard.press("PageDown")
    expect(lab.page.get_by_role("region", name="Guided tour")).to_be_hidden()
    assert lab.state("state.at_us") == 8_000_000 and "#" not in lab.page.url


def point_of(lab, words: str) -> dict[str, float]:
    """A point of the logs over which the picture says these words."""
    box = lab.page.locator("[data-part=moving]").bounding_box()
    for down in range(20, int(box["height"]), 40):
        for right in range(150, int(box["width"]), 8):
            lab.page.mouse.move(box["x"] + right, box["y"] + down)
            if words in (lab.page.locator("[data-part=moving]").get_attribute("title") or ""):
                return {"x": box["x"] + right, "y": box["y"] + down}
    raise AssertionError(f"nothing in the picture says {words}")


def test_a_position_is_predicted_by_keys_and_compared_by_what_it_covers(lab):
    lab.page.goto(f"{lab.site.address}{lab.made['url']}#tour={POSITION_ASKED}")
    reached(lab, POSITION_ASKED)
    field = lab.page.get_by_role("textbox", name="Which mark-delete position")
    chosen = lab.page.locator("[data-part=tour-chosen]")
    expect(field).to_be_focused()
    expect(lab.page.locator("[data-part=tour-hint]")).to_contain_text("Click a message in the log of us-east")
    plain = lab.at_rest().page.locator("canvas[data-part=still]").evaluate("(one) => one.toDataURL()")
    lab.page.keyboard.press("ArrowLeft")
    expect(chosen).to_have_text("192:23, up to shop/20")
    lab.page.keyboard.press("ArrowLeft")
    expect(field).to_have_value("192:19")
    expect(chosen).to_have_text("192:19, up to shop/19")
    lab.page.keyboard.press("Home")
    expect(chosen).to_have_text("192:-1, before the first message")
    lab.page.keyboard.press("End")
    lab.page.get_by_role("button", name="One message earlier").click()
    lab.at_rest()
    assert lab.page.locator("canvas[data-part=still]").evaluate("(one) => one.toDataURL()") != plain
    lab.page.keyboard.press("Enter")
    reached(lab, POSITION_ASKED + 1)
    expect(lab.page.locator("[data-part=tour-revealed]")).to_have_text(
        "Your prediction, 192:19, is right: it covers the same messages as 192:20."
    )


def test_a_position_is_predicted_by_a_click_in_its_log(make_lab):
    lab = make_lab("ack-hole-delayed-message", reduced_motion="reduce").open()
    lab.page.goto(f"{lab.site.address}{lab.made['url']}#tour=2")
    field = lab.page.get_by_role("textbox", name="Where will the mark-delete position")
    expect(field).to_be_focused()
    lab.at_rest()
    lab.page.mouse.click(**point_of(lab, "predict 1234:20, up to shop/14"))
    expect(field).to_have_value("1234:20")
    expect(lab.page.get_by_role("region", name="Inspector")).to_be_hidden()
    expect(field).to_be_focused()
    lab.page.keyboard.press("Enter")
    expect(lab.page.locator("[data-part=tour-revealed]")).to_have_text("Your prediction is right: 1234:20.")
    assert lab.troubles == []


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
    assert lab.state("state.at_us") == 100_000 and lab.troubles == []


def test_a_viewer_is_told_why_the_tour_does_not_start(lab, make_lab):
    viewer = make_lab(of=lab).open(owner=False)
    viewer.page.locator(".watch [data-act=tour-start]").click()
    expect(viewer.page.get_by_role("alert", name="Notices")).to_contain_text(
        "Only the owner can play the tour"
    )
    assert viewer.troubles == []
