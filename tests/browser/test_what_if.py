"""The panel “What would have helped” as a person uses it.

The table fills by itself, names the setting that helps most with the line to paste, and opens a run as a lab.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until


@pytest.fixture
def lab(make_lab):
    opened = make_lab("periodic-snapshots").open("?panel=what-if")
    yield opened
    assert opened.troubles == []


def panel_of(lab):
    return lab.page.get_by_role("tabpanel", name="What would have helped")


def row(lab, name: str):
    return panel_of(lab).locator("tbody tr").filter(has=lab.page.get_by_role("rowheader", name=name))


def test_the_table_fills_and_names_the_setting_that_helps_most(lab):
    panel = panel_of(lab)
    expect(panel).to_contain_text(
        "The setting that helps most: a snapshot every 1000 ms instead of 2000 ms. 10 fewer duplicates, at the "
        "price of"
    )
    expect(panel.locator(".placed").first).to_contain_text(
        "replicatedSubscriptionsSnapshotFrequencyMillis=1000 broker.conf of every broker of every region"
    )
    expect(panel.locator("tbody tr").last).to_contain_text("not a setting")
    expect(row(lab, "as it was")).to_contain_text("19")
    halved = row(lab, "a snapshot every 1000 ms instead of 2000 ms")
    expect(halved).to_contain_text("9")
    expect(halved).to_contain_text("10 fewer duplicates")
    expect(panel.get_by_role("status")).to_be_hidden()
    expect(panel.locator("tr.same").nth(1), "what made no difference is shown too").to_be_visible()


def test_the_lab_can_be_played_while_the_variants_run(lab):
    lab.page.keyboard.press("Space")
    lab.until("state.playing && state.at_us > 200000")
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")
    expect(row(lab, "as it was")).to_be_visible()


def test_a_row_opens_as_a_users_own_lab_at_the_failover(lab):
    halved = row(lab, "a snapshot every 1000 ms instead of 2000 ms")
    expect(halved).to_be_visible()
    with lab.page.context.expect_page() as opened:
        halved.get_by_role("button", name="Open the run").click()
    other = opened.value
    wait_until(other, "() => Boolean(globalThis.failoverLab?.getState().view)")
    wait_until(other, "() => failoverLab.getState().at_us === 3900000")
    assert other.evaluate("() => failoverLab.getState().welcome.owner") is True
    assert "1000 ms instead of 2000 ms" in other.title()


def test_the_panel_of_a_run_without_a_failover_states_that(make_lab):
    lab = make_lab("two-regions").open("?panel=what-if")
    expect(panel_of(lab)).to_contain_text("This run has no failover")
    assert lab.troubles == []


def test_on_a_phone_the_table_scrolls_and_the_page_does_not(make_lab):
    lab = make_lab("region-down", viewport={"width": 390, "height": 844}, has_touch=True).open(
        "?panel=what-if"
    )
    expect(row(lab, "as it was")).to_be_visible()
    assert lab.at_rest().page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert lab.troubles == []


def test_a_group_is_compared_by_its_own_figures(make_lab):
    lab = make_lab("groups-two-readers").open("?panel=what-if")
    panel = panel_of(lab)
    expect(panel).to_contain_text(
        "The setting that helps most: all leases and deadlines half as long. 20 fewer duplicates"
    )
    expect(panel.locator(".placed").first).to_contain_text("durable_queues.leader_borrower_timeout = 2500ms")
    expect(row(lab, "sessions that ping every 2 s")).to_contain_text(
        "20 fewer duplicates, without a reader, summed over streams 3.79 s longer"
    )
    expect(panel.get_by_role("columnheader")).to_contain_text(
        [
            "change",
            "duplicates",
            "redelivered",
            "lost",
            "lost, QoS 0",
            "unread at the end",
            "without a reader, sum of streams",
            "two readers",
            "difference",
            "price",
            "as a lab",
        ]
    )
    expect(panel.get_by_role("link", name="three strategies")).to_be_hidden()
    assert lab.troubles == []
