"""The pages of experiments: the form becomes an experiment, and results are shown as they arrive.

The worker is not running here: results are those of a worker, put into the answers that the page polls.
"""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import fresh_context, note_troubles
from tests.browser.test_access import findings_in_both_themes
from tests.browser.test_fits import misfits

MEASURES = [
    {"name": "duplicates", "title": "duplicates", "unit": "count"},
    {"name": "outage_us", "title": "delivery gap", "unit": "us"},
]


def point(number: int, value: str, finished: int, median: int) -> dict[str, Any]:
    figures = {"median": median, "p95": median + 9, "largest": median + 11}
    gap = {"median": 5_000_000, "p95": 5_000_000, "largest": None}
    return {
        "number": number,
        "values": [value],
        "finished": finished,
        "failed": 0,
        "never": 1,
        "dots": [[median, 11], [median + 9, 7], [median + 11, 1]] if finished else [],
        "within": finished // 2,
        "figures": {"duplicates": figures, "outage_us": gap},
        "median_run": 3,
        "worst_run": 7,
    }


RESULTS = {
    "measure": "duplicates",
    "measures": MEASURES,
    "axes": ["consumers.*.receiverQueueSize"],
    "at_most": 20,
    "share": 0.99,
    "runs": 40,
    "points": [point(0, "10", 20, 4), point(1, "100", 20, 17), point(2, "1000", 0, 0)],
    "failed": [{"run": 5, "point": 0, "seed": 1, "reason": "the run has more than 5,000,000 rows"}],
}


def answer_with(page: Page, **columns: Any) -> None:
    """From now on the page polls this state."""

    def answer(route: Any) -> None:
        found = json.loads(route.fetch().text())
        route.fulfill(json={**found, "results": found.get("results", {}), **columns})

    page.route("**/status.json*", answer)


def test_from_the_form_to_the_results(browser: Any, site: Any) -> None:
    context = fresh_context(browser, color_scheme="light", reduced_motion="reduce")
    page, troubles, found = context.new_page(), [], []
    note_troubles(page, site.address, troubles)

    def look(state: str) -> None:
        found.extend(f"{state}: {line}" for line in findings_in_both_themes(page))
        for width, height in ((360, 740), (768, 1024), (1440, 900)):
            page.set_viewport_size({"width": width, "height": height})
            found.extend(f"{state} at {width}: {line}" for line in misfits(page))

    page.goto(f"{site.address}/my-set-up/?rate=20%2Fs&at=4s&after=1s&end=2s")
    page.get_by_role("button", name="Experiment with it").click()
    page.wait_for_url(re.compile(r"/experiments/\?rate="))
    start = page.get_by_role("button", name="Start the experiment")
    expect(start).to_be_enabled()
    page.get_by_label("Parameter", exact=True).select_option("queue")
    expect(page.get_by_label("Values")).to_have_value("10, 100, 1000, 10000")
    page.get_by_label("Values").fill("10, 100, many")
    expect(page.get_by_text("grid.consumers.*.receiverQueueSize: many")).to_be_visible()
    expect(start).to_be_disabled()
    look("a problem")
    page.get_by_label("Values").fill("10, 100, 1000")
    expect(
        page.get_by_text(re.compile(r"^60 runs \(3 settings × 1 seed × 20 phases\), about "))
    ).to_be_visible()
    yaml = page.locator("[data-part=yaml]")
    expect(yaml).to_contain_text("measures: [duplicates,")
    page.get_by_label("Count reordered messages").check()
    expect(yaml).not_to_contain_text("measures:")
    page.get_by_label("Count reordered messages").uncheck()
    expect(yaml).to_contain_text("measures: [duplicates,")
    page.get_by_role("button", name="Compare two set-ups").click()
    expect(page.get_by_text(re.compile(r"^40 runs \(2 settings"))).to_be_visible()
    look("a comparison")
    page.get_by_role("button", name="One parameter").click()
    expect(page.get_by_text(re.compile(r"^60 runs"))).to_be_visible()
    start.click()
    page.wait_for_url(re.compile(r"/experiments/\w{12}/"))
    expect(page.get_by_text("Queued.")).to_be_visible()
    assert "token" not in page.url

    answer_with(page, state="running", words="40 of 60 runs finished.", finished=40, results=RESULTS)
    expect(page.get_by_role("heading", name="Duplicates: median 4 with 10, 17 with 100")).to_be_visible()
    row = page.get_by_role("row", name=re.compile("^100 20"))
    expect(row.get_by_role("cell").nth(1)).to_have_text("17")
    expect(page.locator(".chart circle")).to_have_count(6)
    page.unroute("**/status.json*")
    answer_with(page, state="done", over=True, words="Finished: 40 runs.", finished=40, results=RESULTS)
    expect(page.get_by_text("Finished: 40 runs.")).to_be_visible()
    look("results")
    page.unroute("**/status.json*")
    page.reload()
    page.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Cancelled: 0 of 60 runs finished.")).to_be_visible()
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    look("cancelled")
    page.get_by_role("navigation").get_by_role("link", name="Experiments").click()
    expect(page.locator("[data-part=list] li")).to_have_count(1)
    context.close()
    assert found == [] and troubles == []
