"""The pages of audits: a log is uploaded or the example tried, progress is shown, and the report is opened.

The worker is not running here: its answers are put into those that the page polls, and its files beside them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from script.support.browsing import wait_until
from tests.browser.conftest import fresh_context, note_troubles
from tests.browser.test_access import findings_in_both_themes
from tests.browser.test_fits import misfits

ROW = b'{"ts":1767225600050000,"kind":"deliver","cluster":"a","message_id":1}\n'
SIZES = ((360, 740), (390, 844), (768, 1024), (1440, 900))
SCENARIO = """\
format: 1
name: from-an-audit
title: A failover with the measured rates
family: replicated-subscriptions
until: 8s
clusters: {us-west: {}, us-east: {}}
links: {default: {latency: 40ms}}
topics: {orders: {clusters: [us-west, us-east]}}
producers:
  shop: {topic: orders, cluster: us-west, rate: 20/s, count: 100}
subscriptions:
  billing: {topic: orders, type: Shared, replicateSubscriptionState: true, initialPosition: Earliest}
consumers:
  billing-1: {subscription: billing, cluster: us-west, processing: 2ms}
commands:
  - {at: 4s, do: cluster.crash, cluster: us-west}
  - {at: 4s, do: subscription.fail-over, subscription: billing, from: us-west, to: us-east, mode: crash}
"""


def answer_with(page: Page, **columns: Any) -> None:
    """From now on the page polls this state."""

    def answer(route: Any) -> None:
        route.fulfill(json={**json.loads(route.fetch().text()), **columns})

    page.route("**/status.json*", answer)


def finish(site: Any, address: str) -> None:
    """Do what the worker does at the end, in the site's own data."""
    import subprocess

    from script.support.environment import PYTHON

    name = address.rstrip("/").rpartition("/")[2]
    folder = Path(site.environment["FAILOVER_LAB_DATA"]) / "audits" / name / "result"
    folder.mkdir()
    (folder / "audit.html").write_text(
        "<!doctype html><html lang='en'><title>Audit</title><h1>The report</h1>"
    )
    (folder / "scenario.yaml").write_text(SCENARIO)
    code = (
        "from visualizer.tasks.models import Audit; "
        f"Audit.objects.filter(pk={name!r}).update(state='done', "
        "figures={'messages': 834, 'repeated': 271, 'duplicates': 263})"
    )
    subprocess.run([str(PYTHON), "manage.py", "shell", "-c", code], env=dict(site.environment), check=True)


def test_from_the_upload_to_the_report_and_its_scenario(browser: Any, site: Any) -> None:
    context = fresh_context(browser, color_scheme="light", reduced_motion="reduce")
    page, troubles, found = context.new_page(), [], []
    note_troubles(page, site.address, troubles)

    def look(state: str) -> None:
        found.extend(f"{state}: {line}" for line in findings_in_both_themes(page))
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            found.extend(f"{state} at {width}: {line}" for line in misfits(page))

    page.goto(f"{site.address}/experiments/")
    page.get_by_role("navigation").get_by_role("link", name="Audits").click()
    expect(page.get_by_text("No audits in this browser yet.")).to_be_visible()
    page.get_by_role("button", name="Start the audit").click()
    expect(page.get_by_role("alert")).to_have_text(
        "No file is chosen. Choose log files, or try the example log."
    )
    files = page.get_by_label("Files", exact=True)
    files.set_input_files(
        [{"name": f"{n}.jsonl", "mimeType": "text/plain", "buffer": ROW} for n in range(21)]
    )
    page.get_by_role("button", name="Start the audit").click()
    expect(page.get_by_role("alert")).to_contain_text("21 files are chosen. At most 20 are taken")
    page.get_by_text("Mapping: the log").click()
    page.get_by_label("Mapping as YAML").fill("format: 1\n")
    look("the form")
    files.set_input_files([{"name": "us-west.jsonl", "mimeType": "text/plain", "buffer": ROW}])
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_label("Format").select_option("jsonl")
    page.get_by_role("button", name="Start the audit").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/audits/\w{12}/$"))
    expect(page.get_by_role("heading", name="us-west.jsonl")).to_be_visible()
    expect(page.get_by_text("Queued.")).to_be_visible()

    words = "Step 2 of 5: reading the rows."
    answer_with(page, state="running", words=words, step_number=2, step_count=5)
    expect(page.get_by_text(words)).to_be_visible()
    expect(page.get_by_role("progressbar", name="Steps done")).to_have_attribute("max", "5")
    page.unroute("**/status.json*")
    page.get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("It was cancelled.")).to_be_visible()
    look("cancelled")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Queued.")).to_be_visible()

    finish(site, page.url)
    expect(page.frame_locator("iframe").get_by_role("heading", name="The report")).to_be_visible()
    expect(page.get_by_text("271 of 834 messages were delivered more than once")).to_be_visible()
    expect(page.get_by_role("list", name="Downloads").get_by_role("link")).to_have_text(
        ["audit.html", "scenario.yaml"]
    )
    look("the report")
    page.get_by_role("link", name="Open as a scenario").click()
    page.wait_for_url(re.compile("/my-set-up/"))
    expect(page.get_by_label("Scenario as YAML")).to_have_value(SCENARIO)
    expect(page.get_by_role("heading", name="If us-west goes down")).to_be_visible()
    page.get_by_role("button", name="Open as a lab").click()
    wait_until(page, "() => Boolean(globalThis.failoverLab?.getState().view)")

    page.goto(f"{site.address}/audits/")
    expect(page.locator("[data-part=list] li")).to_have_count(1)
    page.get_by_role("link", name="us-west.jsonl").click()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No audits in this browser yet.")).to_be_visible()
    page.get_by_role("button", name="Try the example log").click()
    expect(page.get_by_role("heading", name="example-log.jsonl.gz")).to_be_visible()
    context.close()
    assert found == [] and troubles == []


CSV = (
    b"when,op,order id,group,region\n"
    b"2026-01-01T00:00:00.050Z,recv,o-1,billing,west\n"
    b"2026-01-01T00:00:00.060Z,done,o-1,billing,west\n"
    b"2026-01-01T00:00:05.000Z,recv,o-1,billing,east\n"
)
TEXT = b"2025-05-01 11:55:39.100 [main] INFO  com.shop.Billing - Received message order-7\n" * 3
MAPPING = """\
format: 1
columns:
  ts: "when"
  kind: "op"
  message_id: "order id"
  subscription: "group"
  cluster: "region"
kinds:
  "recv": deliver
  "done": ack
"""


def test_columns_are_assigned_before_anything_is_uploaded(browser: Any, site: Any) -> None:
    context = fresh_context(browser, color_scheme="light", reduced_motion="reduce")
    page, troubles, found, sent = context.new_page(), [], [], []
    note_troubles(page, site.address, troubles)
    page.goto(f"{site.address}/audits/")
    expect(page.get_by_text("No audits in this browser yet.")).to_be_visible()
    page.on("request", lambda request: sent.append(request.url))
    files, mapping = page.get_by_label("Files", exact=True), page.get_by_label("Mapping as YAML")

    files.set_input_files({"name": "log.csv", "mimeType": "text/csv", "buffer": CSV})
    expect(page.get_by_text("5 columns were found in the first rows.")).to_be_visible()
    table = page.get_by_role("region", name="Columns found, with their first values")
    expect(table.get_by_role("row", name="region")).to_contain_text("west · east")
    chosen = {
        "Time": "when",
        "Kind": "op",
        "Message id": "order id",
        "Subscription": "group",
        "Cluster": "region",
    }
    for label, column in chosen.items():
        expect(page.get_by_label(label, exact=True)).to_have_value(column)
    expect(page.get_by_label("“recv” is")).to_have_value("deliver")
    expect(page.get_by_text("Still needed: what “done” is.")).to_be_visible()
    page.get_by_label("“done” is").select_option("an ack")
    expect(page.get_by_text("Say which is which.")).to_be_visible()
    expect(mapping).to_have_value(MAPPING)
    found.extend(f"columns: {line}" for line in findings_in_both_themes(page))
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        found.extend(f"columns at {width}: {line}" for line in misfits(page))
    page.get_by_label("Cluster", exact=True).select_option("the file’s name")
    expect(mapping).to_have_value(re.compile(r"from_path: \{cluster: "))

    files.set_input_files({"name": "app.log", "mimeType": "text/plain", "buffer": TEXT})
    page.get_by_label("Lines of").select_option("Logback and Spring Boot")
    expect(mapping).to_have_value("format: 1\nmapping: logback\n")
    page.get_by_label("Lines of").select_option("another program: a pattern of my own")
    page.get_by_label("Pattern of a line").fill(r"(?P<ts>\S+ \S+) .* (?P<kind>Received) message (?P<id>\S+)")
    page.get_by_label("Pattern of a line").blur()
    expect(page.get_by_label("Message id", exact=True)).to_have_value("id")
    expect(mapping).to_have_value(re.compile(r'pattern: .*\n(.*\n)*  message_id: "id"'))

    files.set_input_files({"name": "west.jsonl", "mimeType": "text/plain", "buffer": ROW})
    expect(page.get_by_text("no mapping is needed")).to_be_visible()
    expect(mapping).to_have_value("")
    mapping.fill("format: 1\ncolumns: {ts: mine}\n")
    files.set_input_files({"name": "log.csv", "mimeType": "text/csv", "buffer": CSV})
    expect(page.get_by_label("Kind", exact=True)).to_have_value("op")
    expect(mapping).to_have_value("format: 1\ncolumns: {ts: mine}\n")
    page.get_by_label("Cluster", exact=True).select_option("region")
    expect(mapping).to_have_value(re.compile('ts: "when"'))
    assert sent == [], "nothing is uploaded before the audit is started"
    context.close()
    assert found == [] and troubles == []
