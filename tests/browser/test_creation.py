"""The panel “Topics and policies” as a person uses it.

Which replicators do not run and why, growing numbers of refusals, both sides in tables.
"""

from __future__ import annotations

import re

from playwright.sync_api import expect

from script.support.browsing import wait_until

PANEL = "?panel=topics"


def panel_of(lab):
    return lab.page.get_by_role("tabpanel", name="Topics and policies")


def test_a_refusal_is_shown_with_its_text_beside_a_metric_of_zero(open_lab):
    lab = open_lab("clients-created-it-before", PANEL)
    lab.seek(12_000_000)
    panel = panel_of(lab)
    expect(panel.get_by_role("status")).to_have_text(
        "The only replicator is not replicating; backlog 70 messages, replicationDelayInSeconds 0."
    )
    one = panel.locator(".starts li")
    expect(one).to_contain_text("connected false · delay 0 s · backlog 70")
    expect(one.locator("blockquote")).to_contain_text(
        "the partitioned topic orders does not exist on the remote cluster eu"
    )
    expect(panel.locator(".curves")).to_have_attribute(
        "aria-label",
        re.compile(
            r"us to eu, orders: 14 failed starts so far; backlog 70 messages; replicationDelayInSeconds 0"
        ),
    )
    wait_until(lab.page, "() => document.querySelectorAll('.creation .scatterlayer .trace').length === 3")


def test_both_sides_are_in_tables_with_differences_marked(open_lab):
    lab = open_lab("drifted-partitions", PANEL)
    lab.seek(9_000_000)
    topics = panel_of(lab).get_by_role("region", name="Topics by cluster")
    expect(topics.locator("tr.apart")).to_contain_text("2 partitions")
    expect(topics.locator("tr.apart")).to_contain_text("4 partitions")
    policies = panel_of(lab).get_by_role("region", name="Policies of shop/orders")
    expect(policies.locator("tr.differs")).to_have_count(1)
    lab.seek(20_000_000)
    expect(topics.locator("tr.apart")).to_have_count(0)
    expect(panel_of(lab).get_by_role("status")).to_have_text(
        "The only replicator is running: its start check passed."
    )


def test_another_replicator_is_selected_by_keyboard(open_lab):
    lab = open_lab("compared-first", PANEL)
    lab.seek(7_000_000)
    panel = panel_of(lab)
    parcels, orders = (
        panel.locator(".starts button").filter(has_text=name) for name in ("parcels", "orders")
    )
    expect(parcels).to_have_attribute("aria-pressed", "true")
    orders.focus()
    lab.page.keyboard.press("Enter")
    expect(panel.locator(".starts button").filter(has_text="orders")).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(panel.locator(".curves")).to_have_attribute("aria-label", re.compile("us to eu, orders"))


def test_the_panel_follows_a_command_of_the_page(open_lab):
    lab = open_lab("drifted-partitions", PANEL)
    lab.seek(9_000_000)
    lab.page.evaluate(
        "() => failoverLab.link.command({do: 'topic.update-partitions', cluster: 'eu', topic: 'orders', "
        "partitions: 4})"
    )
    expect(panel_of(lab).get_by_role("region", name="Topics by cluster").locator("tr.apart")).to_have_count(0)
