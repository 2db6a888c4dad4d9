"""Tests of a report by click.

Requested on a lab, its worker killed half-way, retried, read, downloaded, and opened without a network.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from script.support.browsing import WAIT_LIMIT_SECONDS, wait_until_at_rest
from tests.browser.conftest import MADE_WITHIN_MS, fresh_context
from tests.browser.test_access import THEMES, findings

pytestmark = pytest.mark.slow


def java_of(pid: int) -> list[int]:
    """Living Java processes started by a process, whatever their parent is by now."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = place.read_text().partition("(")[2].rpartition(")")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended during the search
        state, _parent, group = rest.split()[:3]
        if name == "java" and state != "Z" and int(group) == pid:
            found.append(int(place.parent.name))
    return found


NOTES_OF_WORDS = """
addEventListener("DOMContentLoaded", () => {
    const words = document.getElementById("words");
    const note = () => sessionStorage.setItem("steps", (sessionStorage.getItem("steps") ?? "") + words.textContent.trim() + "\\n");
    if (words) { note(); new MutationObserver(note).observe(words, {childList: true, characterData: true, subtree: true}); }
});
"""
"""Records every text that the page shows about its report, over its reloads: the page leaves when the
report is ready, and a test that only reads along may be too late.
"""


def steps_shown(page: Page) -> set[int]:
    """The numbers of all steps that the page has shown so far."""
    shown = str(page.evaluate("sessionStorage.getItem('steps') ?? ''")).splitlines()
    return {int(words.split()[1]) for words in shown if words.startswith("Step ")}


def wait_for(what: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to this"
        time.sleep(0.1)


def test_a_report_is_made_by_click_despite_a_killed_worker(
    make_lab: Any, start_worker: Any, browser: Browser, tmp_path: Path
) -> None:
    lab = make_lab("fail-over-and-back").open()
    page = lab.page
    page.add_init_script(NOTES_OF_WORDS)
    lab.seek(14_000_000)
    page.locator("[data-act=report]").click()
    page.wait_for_url("**/reports/*/")
    expect(page.locator("#words")).to_have_text("Queued.")

    worker = start_worker()
    wait_for(lambda: max(steps_shown(page), default=0) >= 2, MADE_WITHIN_MS / 1000)
    assert java_of(worker.pid)
    os.kill(worker.pid, signal.SIGKILL)
    worker.wait()
    wait_for(lambda: not java_of(worker.pid), WAIT_LIMIT_SECONDS)
    expect(page.locator("#words")).to_contain_text("ended before it was done")
    expect(page.locator("[data-part=hint]")).to_contain_text("Try again")
    assert lab.troubles == [], "a dead worker is no error of the page"

    page.evaluate("sessionStorage.removeItem('steps')")
    page.get_by_role("button", name="Try again").click()
    start_worker()
    expect(page.locator("iframe")).to_be_visible(timeout=MADE_WITHIN_MS)
    assert len(steps_shown(page)) > 1, f"the page showed the steps {steps_shown(page)}"
    read_the_page(page)
    download_everything(page, tmp_path)
    assert lab.troubles == []
    assert findings(page) == []
    opens_without_a_network(browser, tmp_path / "report.html")
    is_for_everyone(browser, tmp_path / "report.html")


def read_the_page(page: Page) -> None:
    """The page names the run; the report in its frame has the outcome."""
    told = page.frame_locator("iframe")
    expect(told.get_by_role("heading", level=1).first).to_contain_text("2 failovers")
    expect(told.get_by_role("heading", name="What would have helped").first).to_be_visible()
    expect(told.locator(".chart svg.main-svg").first).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("seed 1")


def download_everything(page: Page, folder: Path) -> None:
    links = page.locator(".downloads a")
    expect(links).to_have_count(5)
    for place in range(links.count()):
        address = links.nth(place).evaluate("link => link.href")
        answer = page.request.get(address)
        assert answer.status == 200 and len(answer.body()) > 100, address
        if "/html/" in address:
            (folder / "report.html").write_bytes(answer.body())
        if "/json/" in address:
            assert len(json.loads(answer.body())["runs"][0]["failovers"]) == 2


def opens_without_a_network(browser: Browser, file: Path) -> None:
    """From a disk, offline: every chart is drawn, nothing is requested, no errors."""
    context = fresh_context(browser, offline=True)
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((file.as_uri(), "data:", "blob:"))
            else troubles.append(request.url)
        ),
    )
    page.goto(file.as_uri())
    charts = page.locator("[data-chart]")
    expect(charts).to_have_count(6)
    for place in range(charts.count()):
        expect(charts.nth(place).locator("svg.main-svg").first).to_be_visible()
    wait_until_at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert troubles == []


def is_for_everyone(browser: Browser, file: Path) -> None:
    """axe finds nothing serious, light and dark, on a desktop and on a phone.

    A phone's page is as wide as the phone.
    """
    for theme in THEMES:
        for width in (1440, 390):
            context = fresh_context(
                browser, offline=True, color_scheme=theme, viewport={"width": width, "height": 900}
            )
            page = context.new_page()
            page.goto(file.as_uri())
            expect(page.locator("[data-chart] svg.main-svg").first).to_be_visible()
            assert findings(page) == [], (theme, width)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (theme, width)
            context.close()
