"""The gallery in a real browser.

Pictures, search, the keyboard, a guess kept before playing, the outcome shown afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from script.support.browsing import wait_until, wait_until_at_rest
from script.support.temporary_site import Site
from simulator import scenario_names
from tests.browser.conftest import fresh_context


@pytest.fixture
def open_gallery(open_page: Callable[..., Page]) -> Callable[..., Page]:
    def opened(**options: Any) -> Page:
        page = open_page("/", **options)
        expect(page.get_by_role("heading", name="Replicated subscriptions", exact=True)).to_be_visible()
        return page

    return opened


def test_every_card_has_a_picture_that_is_drawn(open_gallery):
    page = open_gallery()
    wait_until(
        page, "wanted => document.querySelectorAll('canvas.painted').length === wanted", len(scenario_names())
    )
    drawn = page.evaluate("""() => [...document.querySelectorAll('canvas.picture')].map((canvas) => {
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return pixels.some((value, at) => at % 4 === 3 && value > 0);
    })""")
    assert len(drawn) == len(scenario_names()) and all(drawn)


def test_search_by_words_and_the_empty_state(open_gallery):
    page = open_gallery()
    page.keyboard.press("/")
    search = page.get_by_label("Search")
    expect(search).to_be_focused()
    page.keyboard.type("processes ten")  # from a description, in no title
    expect(page.locator(".card:visible")).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text="1 of")).to_be_visible()
    expect(page.locator("[data-part=why]:visible")).to_contain_text("description: …")
    search.fill("xyzzy")
    expect(page.get_by_text("No scenario matches.")).to_be_visible()
    expect(page.get_by_role("heading", name="Replicated subscriptions", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Show all scenarios").click()
    expect(page.locator(".card:visible").nth(24)).to_be_visible()
    search.fill("xyzzy")
    page.keyboard.press("Escape")
    expect(page.locator(".card:visible").nth(24)).to_be_visible()


def test_start_here_lists_tours_in_order_and_opens_one_at_its_first_step(open_gallery):
    page = open_gallery()
    tours = page.get_by_role("region", name="Start here").get_by_role("button")
    expect(tours).to_have_count(6)
    expect(tours.nth(0)).to_contain_text("Your first failover")
    expect(tours.nth(0)).to_contain_text("5 min, 10 steps")
    tours.nth(1).click()
    page.wait_for_url("**/labs/**")
    bar = page.get_by_role("region", name="Guided tour")
    expect(bar).to_contain_text("Markers in ten minutes")
    expect(bar).to_contain_text("1 of 11")


FIXED = "Reassignment rounds after a session has left"
RELEASED = f"{FIXED}: extra timers, as released"


def test_a_pair_is_one_card_with_a_switch(open_gallery):
    """By keyboard: the switch changes title, texts, figures and what is opened; a search and an address choose it."""
    page = open_gallery()
    switch = page.get_by_role("group", name="Differs in the option reassignmentTimers")
    fixed, released = (switch.get_by_role("radio", name=name) for name in ("fixed", "as released"))
    card = page.locator(".card").filter(has=switch)
    expect(card.locator("canvas")).to_have_count(2)
    expect(card.locator("canvas:visible")).to_have_count(1)
    expect(card.get_by_role("button", name=FIXED, exact=True)).to_be_visible()
    expect(card.locator("[data-facts='groups-rounds-as-shipped']")).to_be_hidden()
    fixed.focus()
    page.keyboard.press("ArrowRight")
    expect(released).to_be_checked()
    expect(card.get_by_role("button", name=FIXED, exact=True)).to_be_hidden()
    expect(card.get_by_role("button", name=RELEASED)).to_be_visible()
    expect(card.get_by_text("with the released code (reassignmentTimers: multiply)")).to_be_visible()
    expect(card.locator("[data-facts='groups-rounds-as-shipped']")).to_be_visible()

    search = page.get_by_label("Search")
    search.fill("cleo joins 7.2")
    expect(page.locator(".card:visible")).to_have_count(1)
    expect(card.locator("[data-part=why]:visible")).to_contain_text("matches: fixed, as released")
    expect(page.get_by_role("status").filter(has_text="2 of")).to_be_visible()
    expect(released).to_be_checked(), "both match, so the choice is kept"
    fixed.check(force=True)
    search.fill("extra timers")
    expect(card.locator("[data-part=why]:visible")).to_contain_text("matches: as released")
    expect(released).to_be_checked()
    search.fill("")
    expect(card.locator("[data-part=why]:visible")).to_have_count(0)

    page.evaluate("() => { location.hash = 'new-schema-before'; }")
    title = "Schema registered in one region only, before PIP-433"
    expect(page.get_by_role("button", name=title)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    expect(page.locator(".here b")).to_have_text(title)


def test_arrows_move_from_card_to_card_and_enter_opens(open_gallery):
    page = open_gallery()
    page.get_by_label("Search").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Two regions: a replicated subscription")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(
        page.get_by_role("button", name="Three regions: each snapshot takes two rounds", exact=True)
    ).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    expect(page.locator(".here b")).to_have_text("Region crash: duplicates since the last snapshot")


def test_a_guess_is_kept_and_the_outcome_shown_only_after_playing(open_gallery, site: Site):
    page = open_gallery()
    facts = page.locator("[data-facts='region-down']")
    expect(facts).to_contain_text("not played")
    page.get_by_role(
        "button", name="Guess the number of duplicates: Region crash: duplicates since the last snapshot"
    ).click()
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    expect(page.get_by_label("How many duplicates will there be")).to_have_attribute("aria-invalid", "true")
    page.keyboard.type("12")
    page.keyboard.press("Enter")
    expect(facts).to_contain_text("your guess 12, not played")
    page.get_by_role("button", name="Region crash: duplicates since the last snapshot", exact=True).click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    page.goto(site.address)
    expect(facts).to_contain_text("not played"), "opened is not played"
    expect(
        page.get_by_role(
            "link", name=re.compile("Continue “Region crash: duplicates since the last snapshot” at")
        )
    ).to_be_visible()
    page.go_back()
    wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    page.evaluate(
        "() => globalThis.failoverLab.link.seek(globalThis.failoverLab.getState().welcome.until_us)"
    )
    expect(page.get_by_text("7 duplicates; your guess was 12.")).to_be_visible()
    page.goto(site.address)
    expect(facts).to_have_text("10 s · 3 regions · 7 duplicates, your guess 12")
    expect(page.locator("[data-facts='three-regions']")).to_contain_text("not played")


def test_no_guess_is_sent_to_the_server(open_gallery):
    """A guess is kept in the browser: no request is sent when it is made."""
    page = open_gallery()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.get_by_role(
        "button", name="Guess the number of duplicates: Region crash: duplicates since the last snapshot"
    ).click()
    page.keyboard.type("12")
    page.keyboard.press("Enter")
    expect(page.locator("[data-facts='region-down']")).to_contain_text("your guess 12")
    assert sent == []


def test_the_gallery_works_without_scripts(browser: Browser, site: Site):
    context = fresh_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(site.address)
    about = page.locator("[data-scenario='three-regions'] details")
    short = about.bounding_box()
    expect(about.get_by_text("What to watch")).to_be_hidden()
    about.locator("summary").click()
    expect(about.get_by_text("What to watch")).to_be_visible()
    assert about.locator("summary span").bounding_box()["height"] > short["height"], (
        "clamped until it is opened"
    )
    page.locator(".switch").filter(has_text="reassignmentTimers").get_by_role(
        "radio", name="as released"
    ).check()
    expect(page.get_by_role("button", name=FIXED, exact=True)).to_be_hidden()
    page.get_by_role("button", name=RELEASED).click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    context.close()


@pytest.mark.parametrize("width", [360, 768, 1440, 2560])
def test_nothing_is_wider_than_the_page(open_gallery, width):
    page = open_gallery(viewport={"width": width, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


NOTE_SHIFTS = """new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shifted = (globalThis.shifted ?? 0) + entry.value;
}).observe({ type: "layout-shift", buffered: true });"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1280, 720), (390, 844)])
def test_the_gallery_does_not_move_while_it_loads(browser, site, width, height):
    """The browser's own sum of layout shifts, of which at most 0.1 is called good."""
    context = fresh_context(browser, viewport={"width": width, "height": height})
    page = context.new_page()
    page.add_init_script(NOTE_SHIFTS)
    page.goto(f"{site.address}/")
    wait_until(page, "() => document.querySelectorAll('canvas.picture:not(.painted)').length === 0")
    wait_until_at_rest(page)
    assert page.evaluate("() => globalThis.shifted ?? 0") < 0.1
    context.close()


def test_all_cards_are_less_than_four_thousand_pixels(open_page):
    page = open_page("/", "() => document.querySelectorAll('canvas.picture:not(.painted)').length === 0")
    cards, height = page.evaluate(
        "() => [document.querySelectorAll('.card').length, document.documentElement.scrollHeight]"
    )
    assert cards > 80 and height < 4000 * max(1, cards / 90)


def test_the_summary_of_the_comparison_is_short(open_page):
    page = open_page("/fidelity/")
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
