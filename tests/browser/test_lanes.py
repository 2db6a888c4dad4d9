"""The lanes in a real browser.

Partitions that fold, lanes that separate, borders of ledgers, millions of entries by tiles.
"""

from __future__ import annotations

import re

from playwright.sync_api import expect

from script.support.browsing import wait_until

PARTITIONED = """
format: 1
name: parts
title: Three partitions, small ledgers
family: replicated-subscriptions
seed: 1
until: 20s
clusters: {a: {}, b: {}}
links:
  default: {latency: 40ms}
settings: {managedLedgerMaxEntriesPerLedger: 30, managedLedgerMinLedgerRolloverTimeMinutes: 0}
topics:
  orders: {clusters: [a, b], partitions: 3}
producers:
  web: {topic: orders, cluster: a, rate: 60/s, keys: 12}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: a, processing: 2ms, hold: {share: 5%, for: 2s}}
"""


def still(lab) -> str:
    """The canvas of the static parts at rest."""
    return lab.at_rest().page.evaluate("() => document.querySelector('[data-part=still]').toDataURL()")


def test_partitions_can_be_folded_unfolded_and_chosen(make_lab):
    lab = make_lab(yaml=PARTITIONED).open()
    lab.seek(6_000_000)
    fold = lab.page.get_by_role("button", name=re.compile("3 partitions"))
    expect(fold).to_have_attribute("aria-expanded", "true")
    rows = lab.page.locator(".partition")
    expect(rows).to_have_count(3)
    rows.nth(1).click()
    wait_until(lab.page, "() => failoverLab.getWatched().topic === 'orders-partition-1'")
    expect(lab.page.locator(".partition[aria-current]")).to_contain_text("partition 1, shown")
    lab.page.keyboard.press("i")
    expect(rows.first).to_be_hidden()
    lab.page.keyboard.press("i")
    expect(rows.first).to_be_visible()
    assert lab.troubles == []


def test_lanes_separate_and_align(make_lab):
    lab = make_lab("region-down").open()
    lab.seek(5_300_000)
    switch = lab.page.locator("[data-act=together]")
    expect(switch).to_have_attribute("aria-pressed", "true")
    lab.page.keyboard.press("l")
    expect(switch).to_have_attribute("aria-pressed", "false")
    before = still(lab)
    box = lab.page.locator("[data-part=moving]").bounding_box()
    lab.page.mouse.move(box["x"] + 500, box["y"] + 80)
    lab.page.mouse.down()
    lab.page.mouse.move(box["x"] + 650, box["y"] + 80, steps=4)
    lab.page.mouse.up()
    assert still(lab) != before
    lab.page.keyboard.press("0")
    expect(switch).to_have_attribute("aria-pressed", "true")
    assert lab.troubles == []
