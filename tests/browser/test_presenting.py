"""A lab presented to a class, driven in three browsers: a presenter and two followers, each in its own context."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from script.support.browsing import wait_until, wait_until_at_rest
from tests.browser.conftest import Lab, fresh_context, note_troubles
from tests.browser.test_access import findings_in_both_themes
from tests.browser.test_fits import misfits

BAR = "{ include: [['.present-bar']] }"
"""The bar alone; the rest of the page has its own test."""
SHOWS_A_LAB = "() => Boolean(globalThis.failoverLab?.getState().view)"


@pytest.fixture
def presenter(make_lab: Callable[..., Lab]) -> Iterator[Lab]:
    """The presenter's page, with the dialog of the room code open."""
    lab = make_lab("periodic-snapshots", reduced_motion="reduce").open()
    lab.page.get_by_role("button", name="Share", exact=True).click()
    lab.page.get_by_role("button", name="Present to a class").click()
    expect(lab.page.locator("[data-part=room-code]")).to_have_text(re.compile("^[A-Z]{3} [A-Z]{3}$"))
    yield lab
    assert lab.troubles == []


def code_of(presenter: Lab) -> str:
    return presenter.page.locator("[data-part=room-code]").inner_text()


def bar_of(page: Page) -> Any:
    return page.locator("[data-part=present-words]")


@pytest.fixture
def follow(browser: Any, presenter: Lab) -> Iterator[Callable[..., Page]]:
    """Opens the page of a follower, who enters the code or opens the link to it."""
    contexts, troubles = [], []

    def opened(by_code: bool, **options: Any) -> Page:
        contexts.append(fresh_context(browser, reduced_motion="reduce", **options))
        page = contexts[-1].new_page()
        note_troubles(page, presenter.site.address, troubles)
        if by_code:
            page.goto(presenter.site.address)
            page.get_by_role("link", name="Join a class").click()
            page.get_by_label("Room code").fill(code_of(presenter).lower())
            page.get_by_role("button", name="Join").click()
        else:
            page.goto(presenter.page.get_by_label("or open the link").input_value())
        wait_until(page, SHOWS_A_LAB)
        expect(bar_of(page)).to_contain_text("You follow the presenter in room")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


FIRST_STEP_REACHED = """() => {
  const { at_us, playing } = globalThis.failoverLab.getState();
  return at_us > 0 && !playing;
}"""


def instant_of(page: Page) -> int:
    return page.evaluate("() => globalThis.failoverLab.getState().at_us")


def test_followers_see_the_presenters_step_panel_and_highlight_and_explore_on_their_own(presenter, follow):
    first, second = follow(by_code=True), follow(by_code=False)
    own = presenter.page
    expect(own.locator("[data-part=room-facts]")).to_contain_text("2 followers")
    own.keyboard.press("Escape")
    expect(bar_of(own)).to_have_text(re.compile("^Presenting in room .*: 2 followers.$"))

    own.locator(".watch [data-act=tour-start]").click()
    expect(own.locator("[data-part=tour-count]")).to_have_text("1 of 10")
    wait_until(own, FIRST_STEP_REACHED)  # a key before would only end the playback up to it
    own.keyboard.press("PageDown")
    for page in (own, first, second):
        expect(page.locator("[data-part=tour-count]")).to_have_text("2 of 10")
        expect(page.locator("[data-part=tour-title]")).to_have_text(
            own.locator("[data-part=tour-title]").inner_text()
        )
    expect(first.get_by_role("button", name="Next", exact=True)).to_be_hidden()
    expect(own.locator("[data-part=tour-status]")).to_have_text("")
    presenter.at_rest()
    for page in (first, second):
        wait_until(page, f"() => globalThis.failoverLab.getState().at_us === {instant_of(own)}")

    for page in (own, first, second):
        expect(page.get_by_role("tab", name="Admin")).to_be_hidden()
    own.get_by_role("button", name="Whole page").press("Enter")
    own.get_by_role("tab", name="Admin").click()
    expect(first.get_by_role("tab", name="Admin")).to_have_attribute("aria-selected", "true")
    line = own.locator(f".event[data-seq='{own.locator('.event').first.get_attribute('data-seq')}']")
    presented_us = round(1_000_000 * float(line.locator("time").inner_text()))
    words = own.locator("[data-part=lit-words]")
    of_step = words.text_content() or ""
    line.click()  # the lab goes to the event's instant
    expect(words).not_to_have_text(of_step)
    expect(words).to_contain_text("caused by")
    for page in (own, first, second):
        wait_until(page, f"() => globalThis.failoverLab.getState().at_us === {presented_us}")
        expect(page.locator("[data-part=lit-words]")).to_have_text(words.inner_text())

    first.keyboard.press("Space")
    expect(first.get_by_text("Only the owner can control this lab")).to_be_visible()
    second.get_by_role("button", name="Explore on your own").click()
    second.wait_for_url(re.compile(r"presented=\w+"))
    wait_until(second, SHOWS_A_LAB)
    expect(bar_of(second)).to_contain_text("in a copy of the presented lab")
    expect(second.get_by_role("tab", name="Admin")).to_have_attribute("aria-selected", "true")
    wait_until(second, f"() => globalThis.failoverLab.getState().at_us === {presented_us}")
    second.evaluate("globalThis.failoverLab.link.command({ do: 'cluster.crash', cluster: 'us-west' })")
    down = "globalThis.failoverLab.getState().view.clusters['us-west'].state === 'down'"
    wait_until(second, f"() => {down}")
    expect(bar_of(own)).to_contain_text("1 follower.")
    own.keyboard.press("PageDown")
    expect(first.locator("[data-part=tour-count]")).to_have_text("3 of 10")
    assert not first.evaluate(down)
    second.get_by_role("link", name="Return to the presenter").click()
    expect(second.locator("[data-part=tour-count]")).to_have_text("3 of 10")
    expect(bar_of(own)).to_contain_text("2 followers")


def test_followers_see_that_the_presenter_is_away_and_that_the_presentation_ended(
    presenter, follow, open_page
):
    page = follow(by_code=False, viewport={"width": 390, "height": 844})
    own = presenter.page
    own.keyboard.press("Escape")
    own.reload()
    expect(bar_of(own)).to_have_text(re.compile("^Presenting in room .*: 1 follower.$"))
    own.get_by_role("tab", name="Admin").click()
    expect(page.get_by_role("tab", name="Admin")).to_have_attribute("aria-selected", "true")
    found = findings_in_both_themes(page, BAR) + misfits(page)
    assert found == []

    address = own.url
    own.goto("about:blank")
    expect(bar_of(page)).to_contain_text("The presenter is not connected.")
    own.goto(address)
    expect(bar_of(page)).to_contain_text("You follow the presenter")
    own.locator("[data-act=show-code]").click()
    assert findings_in_both_themes(own) == []
    own.get_by_role("button", name="End the presentation").click()
    expect(page.get_by_text("The presentation has ended.")).to_be_visible()
    expect(bar_of(page)).to_be_hidden()
    joining = open_page("/join/")
    assert findings_in_both_themes(joining) == []


def test_another_page_of_the_owner_follows_until_it_presents(presenter):
    own = presenter.page
    own.keyboard.press("Escape")
    other = own.context.new_page()
    other.goto(own.url)
    wait_until(other, SHOWS_A_LAB)
    expect(bar_of(other)).to_contain_text("from another page of its owner")
    own.get_by_role("tab", name="Admin").click()
    expect(other.get_by_role("tab", name="Admin")).to_have_attribute("aria-selected", "true")
    other.get_by_role("button", name="Present from this page").click()
    expect(bar_of(other)).to_contain_text("Presenting in room")
    expect(bar_of(own)).to_contain_text("from another page of its owner")
    other.get_by_role("tab", name="Time").click()
    expect(own.get_by_role("tab", name="Time")).to_have_attribute("aria-selected", "true")


def test_the_room_shows_a_qr_code_and_says_when_its_address_works_on_this_computer_only(presenter):
    own = presenter.page
    dialog = own.locator("dialog[data-part=present-dialog]")
    qr = dialog.get_by_role("img", name="QR code of the link to this room")
    expect(qr).to_be_visible()
    wait_until(own, "() => document.querySelector('[data-part=room-qr]').naturalWidth > 0")
    expect(dialog.locator("[data-part=local-only]")).to_contain_text("works on this computer only")
    expect(dialog.locator("[data-part=local-only]")).to_contain_text("script/server --lan")
    own.keyboard.press("Escape")
    own.get_by_role("button", name="Share", exact=True).click()
    expect(own.locator(".share [data-part=local-only]")).to_contain_text("script/server --lan")


def test_on_a_projector_code_and_qr_code_fill_the_screen(presenter):
    own = presenter.page
    own.keyboard.press("Escape")
    own.get_by_role("button", name="Projector").click()
    own.locator("[data-act=show-code]").click()
    wait_until(own, "() => document.querySelector('[data-part=room-qr]').naturalWidth > 0")
    code, qr = (own.locator(f"[data-part=room-{name}]").bounding_box() for name in ("code", "qr"))
    assert code["height"] >= 110 and qr["width"] >= 400, (code, qr)
    assert code["x"] + code["width"] <= qr["x"], "one beside the other"
    dialog = own.locator("dialog[data-part=present-dialog]")
    assert dialog.evaluate("box => box.scrollHeight - box.clientHeight") <= 1, "nothing to scroll"
    assert dialog.evaluate("box => box.scrollWidth - box.clientWidth") <= 1


ASKS_POSITION, ASKS_NUMBER = 5, 7
"""Steps of the tour that ask for a position and for a number."""


def ask(presenter: Lab, step: int) -> None:
    """Goes to a step with a question, which followers see."""
    own = presenter.page
    own.keyboard.press("Escape")
    own.evaluate("step => { globalThis.location.hash = `#tour=${step}`; }", step)
    expect(own.locator("form[data-part=tour-ask]")).to_be_visible()


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def newest_end(page: Page) -> dict[str, float]:
    """Where the newest end of the logs is, and where the sheet begins, as shares of the screen's height."""
    return page.evaluate(
        """() => {
          const top = document.querySelector(".transport").getBoundingClientRect().top;
          const logs = document.querySelector("canvas[data-part=still]").getBoundingClientRect();
          return { sheet: top / innerHeight, end: logs.bottom / innerHeight, begins: logs.top / innerHeight };
        }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_a_followers_sheet_leaves_the_log_that_is_asked_about_in_view(presenter, follow, scheme):
    page = follow(by_code=False, color_scheme=scheme, **PHONE)
    ask(presenter, ASKS_POSITION)
    expect(page.locator("form[data-part=tour-ask]")).to_be_visible()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_hidden()
    wait_until_at_rest(page)
    seen = newest_end(page)
    assert seen["sheet"] >= 2 / 3 - 0.001, seen
    assert seen["begins"] < 0.5 <= seen["end"] <= seen["sheet"] + 0.001, seen
    for part in ("tour-question", "tour-title"):
        assert page.locator(f"[data-part={part}]").bounding_box()["y"] >= 844 * seen["sheet"]
    send = page.get_by_role("button", name="Predict").bounding_box()
    assert send["y"] + send["height"] <= 844 and send["height"] >= 40

    chosen = page.locator("[data-part=tour-chosen]")
    box = page.locator("canvas[data-part=moving]").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] * 0.88, box["y"] + box["height"] * 0.5)
    expect(chosen).to_have_text(re.compile(r"^192:\d+, up to shop/\d+$"))
    assert (
        findings_in_both_themes(page, "{ include: [['.tour-bar'], ['.present-bar']] }") + misfits(page) == []
    )


def numbers_drawn(page: Page) -> set[str]:
    """The texts that are drawn into the still picture at its next drawing."""
    return set(
        page.evaluate(
            """async () => {
              const drawn = [], plain = CanvasRenderingContext2D.prototype.fillText;
              CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
                if (this.canvas.dataset.part === "still") drawn.push(String(text));
                return plain.call(this, text, ...more);
              };
              globalThis.dispatchEvent(new Event("resize"));
              globalThis.failoverLab.wake();
              document.querySelector("[data-act=theme]").click();
              await new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)));
              CanvasRenderingContext2D.prototype.fillText = plain;
              return drawn;
            }"""
        )
    )


def test_on_a_phone_messages_have_their_numbers_while_a_position_is_asked(presenter, follow):
    page = follow(by_code=False, **PHONE)
    ask(presenter, ASKS_POSITION)
    expect(page.locator("form[data-part=tour-ask]")).to_be_visible()
    wait_until_at_rest(page)
    assert {"17", "18", "19", "20"} <= numbers_drawn(page)


def test_the_predictions_of_a_class_are_a_histogram_that_the_presenter_reveals(presenter, follow):
    own = presenter.page
    pages = [follow(by_code=False, **(PHONE if number else {})) for number in range(3)]
    ask(presenter, ASKS_NUMBER)
    words, bars = own.locator("[data-part=tour-class-words]"), own.locator("[data-part=tour-class-chart] li")
    for page, guess in zip(pages, ("4", "9", "4"), strict=True):
        page.locator("input[name=guess]").fill(guess)
        page.get_by_role("button", name="Predict").click()
        expect(page.locator("[data-part=tour-status]")).to_have_text(f"Your prediction: {guess}.")
    expect(words).to_have_text("3 of 3 followers predicted.")
    expect(pages[0].locator("[data-part=tour-class-words]")).to_have_text("3 of 3 followers predicted.")
    for page in (own, *pages):
        expect(page.locator("[data-part=tour-class-chart] li")).to_have_count(0)
    expect(pages[0].get_by_role("button", name="Show predictions")).to_be_hidden()
    own.get_by_role("button", name="Show predictions").click()
    expect(bars).to_have_count(2)
    assert [bar.get_attribute("aria-label") for bar in bars.all()] == ["4: 2 predictions", "9: 1 prediction"]
    expect(pages[0].locator("[data-part=tour-class-chart]")).to_be_visible()
    expect(pages[1].locator("[data-part=tour-class-chart]")).to_be_hidden()
    assert findings_in_both_themes(own, "{ include: [['.tour-bar']] }") == []
    own.keyboard.press("PageDown")
    expect(own.locator("[data-part=tour-count]")).to_have_text(f"{ASKS_NUMBER + 1} of 10")
    expect(own.locator("[data-part=tour-revealed]")).to_contain_text("In this run: ")


def test_a_followers_prediction_is_judged_as_the_presenters(presenter, follow):
    page = follow(by_code=False)
    ask(presenter, ASKS_POSITION)
    for one in (page, presenter.page):
        one.locator("input[name=guess]").fill("192:19")
    page.get_by_role("button", name="Predict").click()
    presenter.page.locator("input[name=guess]").press("Enter")
    for one in (page, presenter.page):
        expect(one.locator("[data-part=tour-revealed]")).to_have_text(
            "Your prediction, 192:19, is right: it covers the same messages as 192:20."
        )
