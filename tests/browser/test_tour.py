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


PARTS = {
    "forecast": ".ask",
    "side": "[data-part=side]",
    "time": "[data-part=time]",
    "tabs": "[data-part=tabs]",
    "controls": ".transport .bar",
    "overview": "canvas[data-part=overview]",
    "legend": "[data-part=legend]",
}
SHOWN = """(parts) => Object.entries(parts).filter(([, selector]) => {
  const box = document.querySelector(selector).getBoundingClientRect();
  return box.width > 0 && box.height > 0;
}).map(([name]) => name)"""


def shown(lab) -> set[str]:
    """The parts of the page that are on it now."""
    return set(lab.at_rest().page.evaluate(SHOWN, PARTS))


def go_to(lab, number: int) -> None:
    lab.page.get_by_role("button", name=f"Step {number}: ").press("Enter")
    reached(lab, number)


def test_the_first_tour_begins_with_the_logs_and_parts_appear_with_their_steps(lab):
    assert shown(lab) == set(PARTS)
    start(lab)
    reached(lab, 1)
    assert shown(lab) == set()
    note = lab.page.locator("[data-part=note]")
    expect(note).to_have_text("the first message, stored at 1234:0")
    stage, box = lab.page.locator("[data-part=stage]").bounding_box(), note.bounding_box()
    assert stage["x"] <= box["x"] and box["x"] + box["width"] <= stage["x"] + stage["width"]
    go_to(lab, ASKED)
    assert shown(lab) == {"time", "forecast"}
    expect(note).to_be_hidden()
    go_to(lab, 9)
    assert shown(lab) == {"time", "forecast", "controls", "legend", "side"}
    go_to(lab, STEPS)
    assert shown(lab) == set(PARTS)
    go_to(lab, 2)
    assert shown(lab) == set(), "also on the way back"


def test_the_whole_page_is_shown_on_request_and_after_the_tour(lab):
    start(lab)
    reached(lab, 1)
    whole = lab.page.get_by_role("button", name="Whole page")
    whole.press("Enter")
    assert shown(lab) == set(PARTS)
    expect(whole).to_have_attribute("aria-pressed", "true")
    go_to(lab, 2)
    assert "side" in shown(lab), "also at the next step"
    whole.press("Enter")
    assert shown(lab) == set()
    lab.page.get_by_role("button", name="Leave tour").press("Enter")
    assert shown(lab) == set(PARTS)
    expect(lab.page.locator("[data-part=note]")).to_be_hidden()


def test_a_key_of_a_hidden_part_shows_the_whole_page(lab):
    start(lab)
    reached(lab, 1)
    lab.page.keyboard.press("p")
    assert "tabs" in shown(lab)


def test_terms_of_a_step_open_the_glossary(lab):
    start(lab)
    reached(lab, 1)
    lab.page.keyboard.press("ArrowRight")
    reached(lab, 2)
    go_to(lab, 4)
    terms = lab.page.locator("[data-part=tour-text] a.term")
    assert terms.all_inner_texts() == ["cursor", "mark-delete position", "acked", "delivered", "region"]
    with lab.page.context.expect_page() as opened:
        terms.nth(1).click()
    opened.value.wait_for_url("**/glossary/#mark-delete-position")


def test_duplicates_that_the_tour_does_not_mention_are_nowhere_on_the_page(make_lab):
    lab = make_lab("two-regions", reduced_motion="reduce").open()
    lab.page.goto(f"{lab.site.address}{lab.made['url']}#tour=11")
    expect(lab.page.locator("[data-part=tour-status]")).to_have_text("")
    parts = shown(lab)
    assert "forecast" not in parts and "side" in parts
    expect(lab.page.locator("aside")).not_to_contain_text("duplicate", use_inner_text=True)
    expect(lab.page.locator(".curve-caption")).to_be_hidden()
    assert lab.troubles == []


def test_the_last_step_leads_to_the_next_tour_and_the_gallery_marks_what_is_done(lab):
    lab.page.goto(f"{lab.site.address}{lab.made['url']}#tour={STEPS}")
    reached(lab, STEPS)
    lab.page.get_by_role("button", name="Next tour: Markers in ten minutes").press("Enter")
    lab.page.wait_for_url(lambda url: lab.made["id"] not in url)
    expect(count_of(lab)).to_have_text("1 of 11")
    expect(lab.page.locator("[data-part=tour-name]")).to_have_text("Markers in ten minutes")
    lab.page.goto(lab.site.address)
    tours = lab.page.get_by_role("region", name="Start here").get_by_role("listitem")
    expect(tours.nth(0)).to_contain_text("5 min, 10 steps, done")
    expect(tours.nth(1)).not_to_contain_text("done")
    lab.page.get_by_role("button", name="Continue with tour 2: Markers in ten minutes").press("Enter")
    expect(count_of(lab)).to_have_text("1 of 11")


def test_a_tour_without_a_next_one_leads_to_all_tours(make_lab):
    lab = make_lab("region-down", reduced_motion="reduce").open()
    steps = lab.page.evaluate("() => failoverLab.getState().welcome.tour.steps")
    lab.page.goto(f"{lab.site.address}{lab.made['url']}#tour={steps}")
    lab.page.get_by_role("link", name="All tours").press("Enter")
    lab.page.wait_for_url("**/#start-here")
    assert lab.troubles == []
