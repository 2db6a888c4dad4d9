"""The link to a run, driven in a browser: it opens the same run, at the same instant, with the same view."""

from __future__ import annotations

import json

from playwright.sync_api import Page, expect

from tests.browser.conftest import Lab


def inputs_of(page: Page) -> dict:
    """The inputs of the run that a lab's page shows."""
    base = page.evaluate("document.querySelector('[data-lab-id]').dataset.apiBase")
    return json.loads(page.evaluate("async (path) => (await fetch(path)).text()", f"{base}inputs.json"))


def cut_and_play_on(lab: Lab) -> Page:
    lab.seek(2_000_000)
    lab.page.evaluate("globalThis.failoverLab.link.command({ do: 'link.cut', link: 'us-east -> us-west' })")
    lab.until("Object.values(state.view.links).some((link) => link.state === 'cut')")
    lab.seek(5_000_000)
    return lab.page


def test_the_link_to_a_run_opens_the_same_run(open_lab, open_page):
    page = cut_and_play_on(open_lab("two-regions"))
    page.get_by_role("tab", name="Admin").click()
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_label("Link to this run")
    expect(link).not_to_have_value("")

    _scheme, _host, path = link.input_value().split("/", 3)[1:]
    other = open_page(f"/{path}")
    expect(other.get_by_role("heading", level=1)).to_contain_text("Open “")
    expect(other.locator("[data-part=words]")).to_contain_text("1 command given by hand, at 5.000 s")
    other.get_by_role("button", name="Open the run").click()
    other.wait_for_url("**/labs/**")
    expect(other.get_by_role("tab", name="Admin")).to_have_attribute("aria-selected", "true")
    same = ("digest", "until_us", "commands")
    assert [inputs_of(other)[name] for name in same] == [inputs_of(page)[name] for name in same]


def test_a_link_that_was_cut_off_says_so(open_page):
    page = open_page("/run/#run=abc")
    expect(page.get_by_role("heading", level=1)).to_have_text("This link holds no run")
    expect(page.get_by_role("button", name="Open the run")).to_be_hidden()


def test_the_diagram_is_saved_as_a_picture(open_lab):
    lab = open_lab("two-regions")
    lab.seek(5_000_000)
    lab.page.get_by_role("button", name="Share", exact=True).click()
    with lab.page.expect_download() as saved:
        lab.page.get_by_role("button", name="picture (PNG)").click()
    assert saved.value.suggested_filename == "two-regions.png"
    data = saved.value.path().read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 10_000
