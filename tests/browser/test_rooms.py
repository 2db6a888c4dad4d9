"""The other pages (gallery, my set-up, my labs, sharing) in each of their states.

axe finds nothing serious, and everything fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until
from tests.browser.conftest import fresh_context
from tests.browser.test_access import findings_in_both_themes
from tests.browser.test_fits import SIZES, misfits

pytestmark = pytest.mark.usefixtures("engine_worker")

QUICK = "rate=40%2Fs&at=3s&after=500ms&end=2s"


def set_up_states(page: Any, address: str) -> Iterator[str]:
    page.goto(f"{address}/my-set-up/?{QUICK}&regions=us-west%2C+us-east%2C+eu-central&slow_share=5%25")
    wait_until(page, "() => Boolean(globalThis.failoverSetUp)")
    yield "my set-up"
    page.get_by_role("button", name="Answer from").click()
    wait_until(page, "() => globalThis.failoverSetUp.answer().state === 'done'")
    page.locator("summary").click()
    yield "an answer"
    page.get_by_label("Rate").fill("as fast as it goes")
    page.get_by_label("Receiver queue").fill("-1")
    expect(page.get_by_label("Receiver queue")).to_have_attribute("aria-invalid", "true")
    yield "problems at their fields"
    page.get_by_role("button", name="My own YAML").click()
    text = page.get_by_label("Scenario as YAML")
    text.fill(text.input_value() + "wrong: {}\n")
    expect(page.get_by_text("unknown key")).to_be_visible()
    yield "a text of one's own"


def editor_states(page: Any, address: str) -> Iterator[str]:
    page.goto(f"{address}/editor/?start=scenario/region-down")
    wait_until(page, "() => Boolean(globalThis.failoverEditor?.schema())")
    expect(page.get_by_role("heading", name="No problems")).to_be_visible()
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_label("Link to a run of this scenario")).to_have_value(re.compile("#run="))
    yield "the editor with a link"
    page.get_by_role("group", name=re.compile("Scenario as YAML")).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+End")
    page.keyboard.type("wrong: 1\nnames")
    expect(page.locator(".ace_autocomplete")).to_contain_text("namespaces")
    expect(page.get_by_role("heading", name="problem")).to_be_visible()
    yield "completion and problems"


def lab_states(page: Any, address: str) -> Iterator[str]:
    page.goto(f"{address}/labs/")
    expect(page.get_by_text("No labs in this browser yet.")).to_be_visible()
    yield "no labs"
    for scenario in ("region-down", "local-subscription-earliest"):
        page.goto(address)
        page.locator(f".card [data-scenario={scenario}] .open").click()
        page.wait_for_url(re.compile(r"/labs/\w+/"))
        wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    page.get_by_role("button", name="Share").click()
    yield "sharing"
    page.keyboard.press("Escape")
    page.goto(f"{address}/labs/")
    expect(page.locator(".lab-card")).to_have_count(2)
    yield "my labs"
    page.get_by_role("button", name=re.compile("^Rename")).first.click()
    yield "renaming"
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^Delete: ")).first.click()
    yield "deleting"


def gallery_states(page: Any, address: str) -> Iterator[str]:
    page.goto(address)
    page.get_by_role(
        "button", name="Guess the number of duplicates: Region crash: duplicates since the last snapshot"
    ).click()
    yield "a guess"
    page.get_by_label("Search").fill("xyzzy")
    yield "nothing found"


def comparison_states(page: Any, address: str) -> Iterator[str]:
    page.goto(f"{address}/compare/strategies-backlog/")
    wait_until(page, "() => (globalThis.failoverComparison?.getState().columns.length ?? 0) > 0")
    yield "three columns at the beginning"
    for at_us in (9_350_000, 24_000_000):
        page.evaluate("at_us => globalThis.failoverComparison.seek(at_us)", at_us)
        yield f"three columns at {at_us / 1e6} s"


ROOMS = {
    "set-up": set_up_states,
    "editor": editor_states,
    "labs": lab_states,
    "gallery": gallery_states,
    "comparison": comparison_states,
}


@pytest.mark.parametrize("room", ROOMS)
def test_axe_finds_nothing_serious(browser, site, room):
    context = fresh_context(browser, color_scheme="light", reduced_motion="reduce")
    page = context.new_page()
    found = [
        f"{state}: {line}"
        for state in ROOMS[room](page, site.address)
        for line in findings_in_both_themes(page)
    ]
    context.close()
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_everything_fits_at_every_width(browser, site, room):
    context = fresh_context(browser)
    page = context.new_page()
    found = []
    for state in ROOMS[room](page, site.address):
        if state == "sharing":
            continue  # the lab's own page has its own test
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            found += [f"{state} at {width}: {line}" for line in misfits(page)]
        page.set_viewport_size({"width": 1440, "height": 900})
    context.close()
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_large_type_for_a_projector_fits(browser, site, room):
    context = fresh_context(browser, viewport={"width": 1920, "height": 1080})
    page = context.new_page()
    page.goto(f"{site.address}/labs/")
    page.evaluate(
        "() => localStorage.setItem('failover-lab.appearance', JSON.stringify({ mode: 'projector' }))"
    )
    found = [
        f"{state}: {line}"
        for state in ROOMS[room](page, site.address)
        if state != "sharing"
        for line in misfits(page)
    ]
    assert page.evaluate("() => document.documentElement.dataset.mode") == "projector"
    context.close()
    assert found == []
