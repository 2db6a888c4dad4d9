"""A recorded run in the browser: opened from the gallery, scrubbed, asked why, and not commanded."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from script.support.browsing import wait_until, wait_until_at_rest
from script.support.temporary_site import Site
from simulator import recordings
from tests.browser.conftest import Lab
from tests.recorded_runs import record

ORIGIN = "Recorded on real brokers: Pulsar 4.2.4, 2026-11-23."
REFUSAL = (
    "This run was recorded on real brokers (Pulsar 4.2.4, 2026-11-23). It can be played and searched, but "
    "takes no commands."
)


@pytest.fixture(scope="module")
def digest(site: Site) -> str:
    """The digest of a recording that the site has."""
    folder = Path(site.environment["LAB_RECORDINGS_DIR"])
    path = record("region-down", folder / "run-017.jsonl")
    recordings.use_folder(folder)
    [found] = [one for one in recordings.listed() if one.path == path]
    recordings.leave_folder(folder)
    assert isinstance(found, recordings.RecordedFile)
    return found.digest


@pytest.fixture
def lab(make_lab: Callable[..., Lab], site: Site, digest: str) -> Lab:
    made = make_lab("two-regions")
    made.made = site.open_lab(recording=digest)
    return made.open()


def test_a_recording_opens_from_the_gallery(open_page: Callable[..., Page], digest: str) -> None:
    page = open_page("/")
    group = page.locator(".recordings")
    expect(group.get_by_role("heading", name="Recorded on real brokers")).to_be_visible()
    expect(group).to_contain_text("Pulsar 4.2.4, 2026-11-23")
    page.get_by_label("Search").fill("xyzzy")
    expect(group).to_be_hidden()
    page.get_by_label("Search").fill("4.2.4")
    expect(group).to_be_visible()
    expect(page.get_by_text("No scenario matches.")).to_be_hidden()
    group.locator(f'.open[aria-describedby="recorded-{digest}"]').click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    expect(page.get_by_text(ORIGIN, exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Play", exact=True).first).to_be_visible()
    page.keyboard.press("ArrowRight")  # the visitor owns the lab
    wait_until(page, "() => globalThis.failoverLab.getState().rows.length > 0")


def test_it_is_shown_beside_its_simulated_twin(lab: Lab, digest: str) -> None:
    page = lab.page
    page.get_by_role("link", name="Beside the simulator").click()
    page.wait_for_url(f"**/recordings/{digest}/compare/")
    wait_until(page, "() => (globalThis.failoverComparison?.getState().columns.length ?? 0) === 2")
    page.evaluate("() => globalThis.failoverComparison.seek(9000000)")
    wait_until_at_rest(page)
    # the recording under test was made by the engine, so both columns are equal
    sentence = "Since the move to us-east at 5.7 s: 7 duplicates of billing, in both."
    expect(page.get_by_role("heading", level=1)).to_have_text(sentence)
    for column in ("Real brokers", "Simulated"):
        region = page.get_by_role("region", name=column, exact=True)
        expect(region.locator(".figure")).to_contain_text("7")
        expect(region.get_by_role("img")).to_have_attribute("aria-label", re.compile("7 duplicates"))
    page.get_by_role("button", name="Open as a lab at this instant").first.click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    expect(page.get_by_text(ORIGIN, exact=True)).to_be_visible()


def test_it_can_be_scrubbed_and_says_why_there_are_duplicates(lab: Lab) -> None:
    page = lab.page
    lab.seek(3_500_000)
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "billing is consumed in us-west. A recorded run has no forecast."
    )
    lab.seek(9_000_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("us-east has delivered 7 duplicates")
    page.get_by_role("button", name="Why duplicates?").click()
    panel = page.locator("#panel-why-duplicates")
    expect(panel).to_contain_text("Acked after the newest snapshot")
    expect(panel.get_by_role("button", name="shop/50")).to_be_visible()
    panel.get_by_role("button", name="shop/50").click()
    expect(page.get_by_role("region", name="Story of a message")).to_be_visible()
    lab.seek(5_000_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("billing is consumed in us-west")
    lab.at_rest()
    assert lab.troubles == []


def test_it_offers_no_command_and_says_why(lab: Lab) -> None:
    page = lab.page
    lab.seek(3_500_000)
    for act in ("break", "fail-over", "what-helps"):
        button = page.locator(f"[data-act={act}]")
        expect(button).to_have_count(1)
        expect(button).to_be_hidden()
    expect(page.get_by_role("tab")).to_have_text(["Time", "Why duplicates?"])
    for key in ("b", "o"):
        page.keyboard.press(key)
        expect(page.get_by_role("alert", name="Notices")).to_contain_text(REFUSAL)
    page.locator("[data-part=handles] button").first.click()
    expect(page.get_by_role("menu")).to_have_count(0)
    page.get_by_role("button", name="Measured and inferred rows").click()
    about = page.get_by_role("dialog")
    expect(about).to_contain_text("Measured: stored entries, deliveries.")
    expect(about).to_contain_text("Inferred: causes.")
    assert lab.troubles == []
