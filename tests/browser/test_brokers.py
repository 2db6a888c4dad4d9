"""The panel “Brokers” as a person uses it.

Which consumers are behind, which brokers are busy, and the latency by the place in the fan-out.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect


@pytest.fixture
def lab(make_lab):
    opened = make_lab("starved-subscription").open("?panel=brokers")
    yield opened
    assert opened.troubles == []


def panel_of(lab):
    return lab.page.get_by_role("tabpanel", name="Brokers")


def row_of(lab, name):
    return panel_of(lab).locator("tbody tr").filter(has=lab.page.get_by_role("rowheader", name=name))


def test_the_figures_are_the_engines_before_and_after_moving_the_other_topic(lab):
    lab.seek(3_000_000)
    # order 46 is the last that payments has by then
    expect(row_of(lab, "payments").locator("td").nth(5)).to_have_text("567 ms")
    expect(row_of(lab, "main").locator("td").nth(2)).to_contain_text("dispatches")
    lab.seek(11_000_000)
    expect(row_of(lab, "payments").locator("td").nth(6)).to_have_text("1 ms")  # p99 of the last two seconds
    expect(row_of(lab, "newsletter-left (30 of 30)").locator("td").nth(5)).to_have_text("31 ms")
    expect(panel_of(lab)).to_contain_text("a fit to the one point that PIP-180 measured")


def test_both_charts_are_drawn_and_described_in_text(lab):
    lab.seek(8_000_000)
    expect(panel_of(lab).locator(".js-plotly-plot")).to_have_count(2)
    expect(panel_of(lab).locator(".curves").nth(0)).to_have_accessible_name(
        "Longest latency: 589 ms, main. Highest load of a broker: 100 %. Lines: solid main, dashed left, dotted right. The table above has the figures."
    )
    expect(panel_of(lab).locator(".curves").nth(1)).to_have_accessible_name(
        "newsletter: place 1 after 540 ms, place 60 after 588 ms; newsletter-left: place 1 after 2 ms, "
        "place 30 after 31 ms; newsletter-right: place 1 after 2 ms, place 30 after 31 ms"
    )


def test_a_topic_is_moved_to_another_broker_from_the_form(lab):
    lab.seek(2_000_000)
    lab.page.evaluate(
        "() => failoverLab.link.command({ do: 'topic.unload', cluster: 'eu', topic: 'orders', broker: "
        "'left' })"
    )
    lab.seek(2_500_000)
    expect(row_of(lab, "left").locator("td").nth(0)).to_have_text("orders, orders-left")


def test_without_brokers_the_panel_explains_them(make_lab):
    lab = make_lab("two-regions").open("?panel=brokers")
    expect(panel_of(lab)).to_contain_text("This scenario declares no brokers")
    expect(panel_of(lab).locator(".halves")).to_be_hidden()
    assert lab.troubles == []
