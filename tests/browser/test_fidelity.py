"""The summary `/fidelity/` and the page of a job with synthetic content: charts, colours, sizes, access.

The site of these tests shows the committed comparison; its answer is replaced by one with synthetic content.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from script.support.browsing import wait_until
from tests.browser.conftest import fresh_context, note_troubles
from tests.browser.test_access import findings_in_both_themes
from tests.browser.test_fits import misfits
from tests.spark_reports.synthetic_pairs import measured_content
from visualizer.fidelity import views

DRAWN = "() => document.querySelectorAll('[data-chart] .main-svg').length > 0"


@pytest.fixture
def open_fidelity(browser, site, tmp_path, monkeypatch):
    """Opens the page with synthetic content in a context of its own; no problem may occur on it."""
    monkeypatch.setattr(views, "MEASURED", measured_content(tmp_path))
    with ThreadPoolExecutor(1) as thread:  # Playwright's event loop runs in this one
        answers = {
            path: thread.submit(Client().get, path).result() for path in ("/fidelity/", "/fidelity/job-1/")
        }
    troubles: list[str] = []
    contexts = []

    def opened(path: str = "/fidelity/job-1/", **options) -> Page:
        answer = answers[path]
        contexts.append(fresh_context(browser, **options))
        page = contexts[-1].new_page()
        note_troubles(page, site.address, troubles)
        headers = {
            "Content-Security-Policy": answer["Content-Security-Policy"],
            "Content-Type": answer["Content-Type"],
        }
        page.route(f"{site.address}{path}", lambda route: route.fulfill(body=answer.content, headers=headers))
        page.goto(f"{site.address}{path}")
        wait_until(page, DRAWN)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def test_a_chart_is_drawn_when_it_comes_near_the_view(open_fidelity: Callable[..., Page]):
    page = open_fidelity()
    last = page.locator("[data-chart]").last
    expect(last.locator(".main-svg")).to_have_count(0)
    last.scroll_into_view_if_needed()
    expect(last.locator(".main-svg").first).to_be_visible()


def test_charts_follow_the_system_from_light_to_dark(open_fidelity: Callable[..., Page]):
    page = open_fidelity()
    label = page.locator("[data-chart] .xtick text").first
    light = label.evaluate("(text) => text.style.fill")
    page.emulate_media(color_scheme="dark")
    wait_until(
        page,
        f"() => document.querySelector('[data-chart] .xtick text').style.fill !== '{light}'",
    )


@pytest.mark.parametrize("path", ["/fidelity/", "/fidelity/job-1/"])
@pytest.mark.parametrize("width", [360, 390, 1440])
def test_the_page_fits(open_fidelity: Callable[..., Page], path: str, width: int):
    page = open_fidelity(path, viewport={"width": width, "height": 844})
    assert misfits(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("path", ["/fidelity/", "/fidelity/job-1/"])
def test_access(open_fidelity: Callable[..., Page], path: str):
    assert findings_in_both_themes(open_fidelity(path)) == []
