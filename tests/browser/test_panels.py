"""The tab strip under the logs, with a panel in a contributor's form in place of the page's own list."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from visualizer.pages.page_scripts import one_script

LIST = """const PANELS = [{
  name: "heads",
  title: "Heads of the logs",
  make(section, { document, getWatched }) {
    globalThis.made = (globalThis.made ?? 0) + 1;
    const line = section.appendChild(document.createElement("p"));
    return {
      update(state, watched) {
        globalThis.told = (globalThis.told ?? 0) + 1;
        line.textContent = `${watched.topic}: ${watched.clusters.map((name) => state.view.clusters[name].topics[watched.topic].length).join(", ")}`;
      },
    };
  },
}];
"""


@pytest.fixture
def lab(make_lab):
    made = make_lab("two-regions")
    script, replaced = re.subn(r"const PANELS = \[[^\]]*\];", lambda _: LIST, one_script("js/pages/lab.js"))
    assert replaced == 1
    made.page.route(
        "**/scripts/lab.js", lambda route: route.fulfill(body=script, content_type="text/javascript")
    )
    yield made
    assert made.troubles == []


def test_a_panel_is_created_when_first_shown_and_updated_only_while_shown(lab):
    lab.open()
    lab.seek(3_000_000)
    assert lab.page.evaluate("() => globalThis.made ?? 0") == 0
    lab.page.get_by_role("tab", name="Heads of the logs").click()
    panel = lab.page.get_by_role("tabpanel", name="Heads of the logs")
    expect(panel).to_contain_text("orders: ")
    expect(lab.page.locator("#panel-time")).to_be_hidden()
    before = lab.at_rest().page.locator(".panel:visible").inner_text()
    lab.seek(4_000_000)
    expect(panel).not_to_have_text(before)
    lab.page.get_by_role("tab", name="Time").click()
    expect(panel).to_be_hidden()
    lab.at_rest()
    told = lab.page.evaluate("() => globalThis.told")
    lab.seek(3_000_000)
    assert lab.at_rest().page.evaluate("() => globalThis.told") == told
    assert lab.page.evaluate("() => globalThis.made") == 1


def test_tabs_are_selected_by_keyboard_and_by_address(lab):
    lab.open("?panel=heads")
    expect(lab.page.get_by_role("tab", name="Heads of the logs")).to_have_attribute("aria-selected", "true")
    expect(lab.page.get_by_role("tabpanel", name="Heads of the logs")).to_contain_text("orders: ")
    lab.page.keyboard.press("p")
    expect(lab.page.locator("#panel-time")).to_be_visible()
    lab.page.get_by_role("tab", name="Time").focus()
    lab.page.keyboard.press("ArrowRight")
    expect(lab.page.get_by_role("tab", name="Heads of the logs")).to_be_focused()
    lab.page.keyboard.press("2")
    expect(lab.page.locator("#panel-time")).to_be_focused()


def test_tabs_without_content_in_a_lab_are_hidden_unless_requested(make_lab):
    plain = make_lab("two-regions").open()
    names = plain.at_rest().page.get_by_role("tab").all_inner_texts()
    assert names[0] == "Time" and not {"Shadow topics", "Brokers", "Tenant migration"} & set(names)
    plain.page.keyboard.press("p")
    expect(plain.page.locator("[role=tab][aria-selected=true]")).to_have_text(names[1])
    asked = make_lab("two-regions").open("?panel=shadows")
    expect(asked.page.get_by_role("tab", name="Shadow topics")).to_be_visible()
    shadows = make_lab("shadow-rollover").open()
    expect(shadows.page.locator("#panel-shadows")).to_be_visible()
    expect(shadows.page.get_by_role("tab", name="Brokers")).to_have_count(0)
    for lab in (plain, asked, shadows):
        assert lab.troubles == []
