"""My set-up, done in a real browser.

The form and its YAML, problems at their fields, the answer run by run, a run as a lab, a user's own text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from script.support.browsing import wait_until, wait_until_at_rest
from script.support.temporary_site import Site
from tests.browser.conftest import MADE_WITHIN_MS, fresh_context

QUICK = "rate=40%2Fs&at=3s&after=500ms&end=2s"


pytestmark = pytest.mark.usefixtures("engine_worker")


@pytest.fixture
def open_set_up(open_page: Callable[..., Page]) -> Callable[..., Page]:
    """Opens the page at an address with values."""

    def opened(query: str = "", **options: Any) -> Page:
        return open_page(f"/my-set-up/?{query}", "() => Boolean(globalThis.failoverSetUp)", **options)

    return opened


def answered(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Answer from|Run again")).click()
    wait_until(page, "() => globalThis.failoverSetUp.answer().state === 'done'")
    wait_until_at_rest(page)


def test_the_yaml_and_the_address_follow_the_input(open_set_up):
    page = open_set_up()
    page.get_by_label("Names").fill("ams, fra, lhr")
    expect(page.get_by_label("ams and fra")).to_be_visible()
    page.get_by_label("ams and fra").fill("9ms")
    expect(page.get_by_role("region", name="The scenario's YAML")).to_contain_text(
        "ams <-> fra: {latency: 4500us}"
    )
    expect(page.get_by_label("Consumers leave")).to_have_value("ams")
    expect(page).to_have_url(re.compile(r"regions=ams%2C\+fra%2C\+lhr.*rtt\.ams\.fra=9ms"))
    page.reload()
    expect(page.get_by_label("ams and fra")).to_have_value("9ms")
    expect(page.get_by_label("lhr")).to_have_count(2)


def test_a_problem_is_shown_at_its_field_and_no_input_is_lost(open_set_up):
    page = open_set_up()
    rate = page.get_by_label("Rate")
    rate.fill("fast")
    expect(rate).to_have_attribute("aria-invalid", "true")
    expect(rate).to_have_accessible_description(re.compile('"fast" is not a rate; write a number per second'))
    expect(page.get_by_role("button", name="Open as a lab")).to_be_disabled()
    expect(page.get_by_role("button", name="Answer from")).to_be_disabled()
    expect(rate).to_have_value("fast")
    page.get_by_role("button", name=re.compile("line 20")).click()
    expect(rate).to_be_focused()
    rate.fill("50/s")
    expect(rate).not_to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Open as a lab")).to_be_enabled()


def test_the_focused_field_is_highlighted_in_the_yaml(open_set_up):
    page = open_set_up()
    page.get_by_label("Period, ms").focus()
    expect(page.locator(".yaml .lit")).to_have_text("  replicatedSubscriptionsSnapshotFrequencyMillis: 1000")


def test_the_answer_arrives_run_by_run_and_each_dot_opens_its_run(open_set_up):
    page = open_set_up(QUICK)
    answered(page)
    sentence = page.locator("[data-part=sentence]")
    expect(sentence).to_have_text(
        re.compile(r"If us-west goes down: [\d.]+ duplicates? \(\d+ to \d+\), .*delivery gap \S+ m?s")
    )
    plot = page.get_by_role("group", name="duplicates, 20 runs")
    expect(plot.locator(".dot")).to_have_count(20)
    expect(plot.locator(".dot[tabindex='0']"), "one tab stop; the arrows go on").to_have_count(1)
    plot.locator(".dot[tabindex='0']").focus()
    page.keyboard.press("End")
    last = page.evaluate("() => Number(document.activeElement.dataset.seed)")
    runs = page.evaluate("() => globalThis.failoverSetUp.answer().runs")
    run = next(run for run in runs if run["seed"] == last)
    assert run["duplicates"] == max(run["duplicates"] for run in runs)
    expect(page.locator("[data-part=one]")).to_contain_text(f"Seed {last}, moved at")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    wait_until(page, "() => globalThis.failoverLab?.getState().view?.failovers?.length === 1")
    state = page.evaluate(
        "() => { const { at_us, welcome } = globalThis.failoverLab.getState(); return { at_us, seed: "
        "welcome.seed, owner: welcome.owner }; }"
    )
    assert state == {"at_us": run["at_us"], "seed": last, "owner": True}
    page.evaluate("() => globalThis.failoverLab.link.seek(99999999)")
    until_us = page.evaluate("() => globalThis.failoverLab.getState().welcome.until_us")
    wait_until(page, "at_us => globalThis.failoverLab.getState().at_us >= at_us", until_us)
    assert (
        page.evaluate("() => globalThis.failoverLab.getState().view.failovers[0].duplicates")
        == run["duplicates"]
    )


def test_an_answer_can_be_cancelled_and_requested_again(open_set_up):
    page = open_set_up("at=60s&rate=400%2Fs&consumers=8")
    page.get_by_role("button", name="Answer from 20 runs").click()
    wait_until(page, "() => globalThis.failoverSetUp.answer().runs.length > 0")
    expect(page.get_by_role("progressbar", name="Runs that are counted")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text(re.compile(r"stopped after \d+ of 20 runs"))).to_be_visible()
    expect(page.get_by_role("button", name="Answer from 20 runs")).to_be_enabled()


def test_an_answer_about_an_earlier_set_up_is_marked(open_set_up):
    page = open_set_up(QUICK)
    answered(page)
    page.get_by_label("Period, ms").fill("2000")
    expect(page.get_by_role("button", name="Run again: the set-up has changed")).to_be_enabled()
    expect(page.locator(".plot .dot").nth(19), "what was found stays").to_be_visible()
    colours = page.evaluate(
        "() => [...document.querySelectorAll('[data-part=sentence], [data-part=sentence] *')].map((one) => "
        "getComputedStyle(one).color)"
    )
    assert len(set(colours)) == 1, "the whole headline is grey, not only what is crimson otherwise"


def test_a_users_own_text_has_problems_with_line_and_column(open_set_up, tmp_path: Path):
    page = open_set_up(QUICK)
    page.get_by_role("button", name="My own YAML").click()
    text = page.get_by_label("Scenario as YAML")
    right = text.input_value()
    text.fill(right.replace("rate: 40/s", "rate: many"))
    page.get_by_role("button", name=re.compile(r"line 20, column \d+")).click()
    assert (
        page.evaluate(
            "() => { const area = document.activeElement; return area.value.slice(area.selectionStart, "
            "area.selectionEnd); }"
        )
        == "many"
    )
    file = tmp_path / "mine.yaml"
    file.write_text(right.replace("title: ", "title: My own, ").replace('My own, "', '"My own, '))
    page.locator("[data-part=file]").set_input_files(str(file))
    expect(page.get_by_role("button", name="Open as a lab")).to_be_enabled()
    answered(page)
    page.get_by_role("button", name="Open as a lab").click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    expect(page.locator(".here b")).to_contain_text("My own, us-west goes down")


def test_the_yaml_can_be_downloaded(open_set_up):
    page = open_set_up()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "my-set-up.yaml"
    assert Path(download.value.path()).read_text().startswith("format: 1\n")


def test_the_set_up_page_works_without_scripts(open_set_up, browser: Browser, site: Site):
    context = fresh_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site.address}/my-set-up/")
    page.get_by_label("Rate").fill("fast")
    page.get_by_role("button", name="Read it").click()
    expect(page.get_by_text('"fast" is not a rate; write a number per second').first).to_be_visible()
    page.get_by_label("Rate").fill("30/s")
    page.get_by_role("button", name="Read it").click()
    page.get_by_role("button", name="Open as a lab").click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    context.close()


@pytest.mark.parametrize("width", [360, 768, 1440, 2560])
def test_nothing_is_wider_than_the_page(open_set_up, width):
    page = open_set_up(QUICK, viewport={"width": width, "height": 900})
    answered(page)
    page.locator("summary").click()
    wait_until_at_rest(page)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_text_is_shared_by_link(open_set_up):
    page = open_set_up(QUICK, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="My own YAML").click()
    text = page.get_by_label("Scenario as YAML")
    text.fill(text.input_value().replace("My", "my") + "# ours\n")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("which is never sent to a server")).to_be_visible()
    link = page.evaluate("() => navigator.clipboard.readText()")
    other = open_set_up()
    other.goto("about:blank")
    other.goto(link)
    expect(other.get_by_label("Scenario as YAML")).to_have_value(re.compile("# ours\n$"))
    expect(other.get_by_role("button", name="Open as a lab")).to_be_enabled()
    other.goto("about:blank")
    other.goto(link[:-40])
    expect(other.get_by_role("alert").filter(has_text="cut off")).to_be_visible()


@pytest.mark.slow
def test_the_attachment_has_the_set_up_in_words_what_repeats_it_and_the_count_of_spark(
    open_set_up, start_worker
):
    page = open_set_up(QUICK)
    answered(page)
    page.evaluate(
        "() => { globalThis.print = () => { globalThis.printed = document.querySelector('[data-part=printed]').textContent; }; }"
    )
    page.get_by_role("button", name="Make the attachment").click()
    page.wait_for_function("() => globalThis.printed")
    words = page.evaluate("() => globalThis.printed")
    assert "Not counted again by Spark yet." in words
    expect(page.locator("[data-part=recount-words]")).to_contain_text(
        "For the appendix Spark counts the runs"
    )
    assert "Rate: 40/s" in words and "spark_reports sweep" in words and "/my-set-up/?rate=40" in words
    assert "replicatedSubscriptionsSnapshotFrequencyMillis=500" in words, "a setting to paste"
    page.emulate_media(media="print")
    expect(page.locator("[data-part=printed]")).to_be_visible()
    expect(page.get_by_label("Rate")).to_be_hidden()
    expect(page.locator(".plot .dot").first).to_have_css("print-color-adjust", "exact")
    pdf = page.pdf(format="A4")
    assert pdf.count(b"/Type /Page\n") in (3, 4), "the answer, the changes and the numbers, the scenario"
    assert (
        page.evaluate("() => document.querySelector('[data-set-up]').classList.contains('printing')") is False
    )
    page.emulate_media(media="null")
    start_worker()
    told = page.locator("[data-part=recount-words]")
    expect(told).to_contain_text("The attachment has its tables now", timeout=MADE_WITHIN_MS)
    page.evaluate("() => { globalThis.printed = null; }")
    page.get_by_role("button", name="Make the attachment").click()
    page.wait_for_function("() => globalThis.printed")
    assert "every figure and every cause is the same" in page.evaluate("() => globalThis.printed")
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", name="Counted again by Spark")).to_be_visible()
    expect(page.locator("[data-part=recount-table] tbody tr")).to_have_count(20)
    checks = page.locator("[data-part=recount-checks]")
    expect(checks.locator("caption")).to_contain_text("all held in every run")
    expect(checks.locator("tbody tr").first.locator("td").nth(1)).to_have_text("20")
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    assert checks.evaluate("(table) => table.getBoundingClientRect().right") <= 794, "claims are wrapped"
    appendix = (
        "@media print { .answer .what-if, .answer details, .answer .recount, .scenario { display: none } }"
    )
    page.add_style_tag(content=appendix)
    assert page.pdf(format="A4").count(b"/Type /Page\n") == 1, "without the appendix it is one page"


def test_what_the_answer_assumes_is_below_it(open_set_up):
    page = open_set_up(QUICK)
    answered(page)
    below = page.locator("[data-part=below]")
    expect(below).to_contain_text("busy")
    expect(below).to_contain_text("If 1 % of the acks were held for 500 ms")
    expect(below).to_contain_text("Compared with real brokers at 10 to 100 messages per second so far")


def test_what_would_have_helped_is_under_the_answer_with_settings_to_paste(open_set_up):
    page = open_set_up(QUICK)
    answered(page)
    section = page.get_by_role(
        "region", name=re.compile(r"What would have helped in the run with the most duplicates \(seed \d+")
    )
    found = page.evaluate("() => globalThis.failoverSetUp.answer().what_if")
    assert found["done"] and found["finished"] == found["of"] > 3
    rows = section.locator("tbody tr")
    expect(rows).to_have_count(len(found["variants"]))
    run = page.evaluate(
        "seed => globalThis.failoverSetUp.answer().runs.find((run) => run.seed === seed)", found["seed"]
    )
    expect(rows.first).to_contain_text(f"as it was{run['duplicates']}")
    halved = rows.filter(has_text="replicatedSubscriptionsSnapshotFrequencyMillis=500")
    expect(halved).to_have_count(1)
    expect(halved).to_contain_text("markers/s")
    expect(section).to_contain_text("This is one of the runs")


GROUP = "system=emqx&nodes=2&clients=2&streams=4&rate=20%2Fs&fault=leader-crash&release=proposal"


def test_the_form_of_a_group_follows_its_fields(open_set_up):
    page = open_set_up()
    page.get_by_role("link", name="EMQX: shared group").click()
    wait_until(page, "() => Boolean(globalThis.failoverSetUp)")
    node, lasts = page.get_by_label("Node", exact=True), page.get_by_label("Lasts")
    yaml = page.get_by_role("region", name="The scenario's YAML")
    expect(node.locator("option")).to_have_text(["n1", "n2", "n3"])
    page.get_by_label("Nodes", exact=True).fill("5")
    expect(node.locator("option")).to_have_text(["n1", "n2", "n3", "n4", "n5"])
    node.select_option("n4")
    expect(yaml).to_contain_text("{at: 20s, do: node.crash, node: n4}")
    page.get_by_label("What happens").select_option("leader-crash")
    expect(yaml).to_contain_text("{at: 20s, do: leader.crash, group: meters}")
    expect(node).to_be_disabled()
    expect(lasts).to_be_disabled()
    page.get_by_label("leader_borrower_timeout").fill("9s")
    expect(page).to_have_url(
        re.compile(r"system=emqx.*nodes=5.*leader_borrower_timeout.9s.*fault=leader-crash")
    )
    page.reload()
    expect(page.get_by_label("leader_borrower_timeout")).to_have_value("9s")
    page.get_by_label("batch_size").fill("many")
    expect(page.get_by_label("batch_size")).to_have_attribute("aria-invalid", "true")


def test_a_group_is_asked_about_and_answered_in_its_own_words(open_set_up):
    page = open_set_up(GROUP)
    sentence = page.locator("[data-part=sentence]")
    expect(sentence).to_have_text("If the leader of meters crashes: how many duplicates?")
    answered(page)
    expect(sentence).to_have_text(
        re.compile(
            r"If the leader of meters crashes: [\d.]+ duplicates? \(.*without a reader, summed over streams"
        )
    )
    expect(page.locator("[data-part=one]")).to_contain_text("not reported to a leader")
    below = page.locator("[data-part=below]")
    expect(below).to_contain_text("Not compared with running EMQX brokers so far")
    expect(below).to_contain_text("The first client of meters connects at n1, so its leader is there")
    expect(below.get_by_role("link", name="See Fidelity.")).to_be_hidden()
    helps = page.get_by_role("region", name=re.compile("What would have helped"))
    expect(helps).to_contain_text("durable_sessions.batch_size = 1")
    page.evaluate(
        "() => { globalThis.print = () => { globalThis.printed = document.querySelector('[data-part=printed]').textContent; }; }"
    )
    page.get_by_role("button", name="Make the attachment").click()
    page.wait_for_function("() => globalThis.printed")
    words = page.evaluate("() => globalThis.printed")
    assert "What happens: the leader crashes" in words and "system=emqx" in words
    assert "Node:" not in words, "a field that does not apply is left out"
    page.emulate_media(media="print")
    appendix = (
        "@media print { .answer .what-if, .answer details, .answer .recount, .scenario { display: none } }"
    )
    page.add_style_tag(content=appendix)
    assert page.pdf(format="A4").count(b"/Type /Page\n") == 1, "without the appendix it is one page"


def test_my_set_up_in_the_navigation_of_a_lab_leads_back_with_the_answer(open_set_up):
    page = open_set_up(QUICK)
    answered(page)
    said = page.locator("[data-part=sentence]").text_content()
    page.locator(".plot .dot").first.click()
    page.wait_for_url(re.compile(r"/labs/\w+/"))
    page.get_by_role("link", name="My set-up").click()
    expect(page).to_have_url(re.compile(r"/my-set-up/\?rate=40"))
    expect(page.locator("[data-part=sentence]")).to_have_text(said)
    page.goto(page.url.partition("?")[0])
    expect(page.get_by_label("Rate"), "otherwise the page begins anew").to_have_value("100/s")


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_the_form_of_a_group_is_not_wider_than_the_page(open_set_up, width):
    page = open_set_up(GROUP, viewport={"width": width, "height": 900})
    answered(page)
    page.locator("summary").click()
    wait_until_at_rest(page)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
