"""The panel “Why duplicates?” as a person uses it.

The list by cause, a message's story step by step, its link, on a phone, as a viewer.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until

LONGEST_READ_MS = 30_000
"""No sentence is shown for longer."""


@pytest.fixture
def lab(make_lab):
    opened = make_lab("region-down").open("?panel=why-duplicates")
    opened.seek(10_000_000)
    yield opened
    assert opened.troubles == []


def sentence_text(lab) -> str:
    return lab.page.locator("[data-part=story-words]").inner_text()


def select_message(lab, name: str) -> None:
    """Choose a message, stop its automatic playback, and go to its beginning, however far it has played by
    then.
    """
    lab.page.get_by_role(
        "button", name=re.compile(f"^{re.escape(name)}, delivered".replace("/", "."))
    ).click()
    expect(lab.page.get_by_role("region", name="Story of a message")).to_be_visible()
    lab.page.get_by_role("button", name="Pause", exact=True).first.click()
    count = lab.page.locator("[data-part=story-count]")
    while not count.inner_text().startswith("1 of"):
        lab.page.keyboard.press("[")
    lab.until(f"Math.abs(state.at_us - {sentence_us(lab)}) < 1000")
    lab.at_rest()


def sentence_us(lab) -> float:
    """The instant of the sentence that is shown."""
    return float(lab.page.locator("[data-part=story-time]").inner_text().split()[0]) * 1e6


def test_the_list_shows_how_many_duplicates_and_why(lab):
    panel = lab.page.get_by_role("tabpanel", name="Why duplicates?")
    expect(panel).to_contain_text("7 duplicates")
    group = panel.locator("details.group")
    expect(group).to_have_count(1)
    expect(group).to_contain_text("Acked after the newest snapshot")
    expect(group.locator("button.message")).to_have_count(7)


def test_a_story_steps_by_key_and_the_lab_follows(lab):
    select_message(lab, "shop/53")
    steps = lab.page.locator("[data-part=story-pips] li").count()
    seen = [(sentence_text(lab), lab.state("state.at_us"))]
    for _ in range(steps - 1):
        before = sentence_text(lab)
        lab.page.keyboard.press("]")
        wait_until(
            lab.page,
            "before => document.querySelector('[data-part=story-words]').textContent !== before",
            before,
        )
        lab.until(f"Math.abs(state.at_us - {sentence_us(lab)}) < 1000")
        seen.append((sentence_text(lab), lab.state("state.at_us")))
    instants = [at_us for _, at_us in seen]
    assert instants == sorted(instants) and len({text for text, _ in seen}) == steps
    expect(
        lab.page.locator("[data-part=lit]")
    ).to_be_visible()  # its entries are marked with rings in the lanes
    assert "publishes shop/53" in " ".join(text for text, _ in seen) and seen[-1][0].endswith(
        "again, although it was acknowledged: a duplicate."
    )
    lab.page.keyboard.press("[")
    wait_until(
        lab.page,
        "before => document.querySelector('[data-part=story-words]').textContent !== before",
        seen[-1][0],
    )
    assert sentence_text(lab) == seen[-2][0]


def test_a_story_plays_until_it_is_paused(make_lab):
    lab = make_lab("region-down")
    lab.page.clock.install()
    lab.open("?panel=why-duplicates").seek(10_000_000)
    lab.page.get_by_role("button", name=re.compile("^shop.50, delivered")).click()
    count = lab.page.locator("[data-part=story-count]")
    expect(count).to_contain_text("1 of")
    lab.page.clock.fast_forward(LONGEST_READ_MS)
    expect(count).to_contain_text("2 of")
    lab.page.get_by_role("button", name="Pause", exact=True).first.click()
    stopped = sentence_text(lab)
    lab.page.clock.run_for(3 * LONGEST_READ_MS)
    assert sentence_text(lab) == stopped
    assert lab.troubles == []


def test_its_link_opens_the_same_sentence_in_another_browser(lab, make_lab):
    select_message(lab, "shop/51")
    for _ in range(4):
        lab.page.keyboard.press("]")
    expect(lab.page.locator("[data-part=story-count]")).to_contain_text("5 of")
    address, sentence = lab.page.url, sentence_text(lab)
    assert "producer=shop&number=51&step=5" in address and "token" not in address
    viewer = make_lab(of=lab)
    viewer.page.goto(address)
    expect(viewer.page.locator("[data-part=story-words]")).to_have_text(sentence)
    assert viewer.troubles == []


def test_closing_a_story_restores_the_footer_and_the_address(lab):
    select_message(lab, "shop/50")
    lab.page.get_by_role("button", name="Close the story").click()
    expect(lab.page.get_by_role("region", name="Story of a message")).to_be_hidden()
    assert "#" not in lab.page.url


def test_the_link_under_the_sentence_leads_to_the_list(make_lab):
    lab = make_lab("region-down").open()
    lab.seek(5_000_000)
    button = lab.page.get_by_role("button", name="Why duplicates?")
    expect(button).to_be_hidden()
    lab.seek(6_000_000)
    button.click()
    expect(lab.page.get_by_role("tabpanel", name="Why duplicates?")).to_contain_text("7 duplicates")
    assert lab.troubles == []


def test_before_any_failover_the_panel_explains_what_it_will_show(make_lab):
    lab = make_lab("two-regions").open("?panel=why-duplicates")
    expect(lab.page.get_by_role("tabpanel", name="Why duplicates?")).to_contain_text("No failover yet")
    assert lab.troubles == []


def test_hundreds_of_messages_are_shown_in_pages_with_their_number(make_lab):
    lab = make_lab("slow-consumer-oldest-first").open("?panel=why-duplicates")
    lab.seek(45_000_000)
    group = lab.page.locator("details.group.duplicates").first
    expect(group.locator("button.message")).to_have_count(60)
    more = group.get_by_role("button", name=re.compile("60 of 250 shown"))
    more.click()
    expect(group.locator("button.message")).to_have_count(120)
    for kind in ("redeliveries", "stranded"):
        expect(lab.page.locator(f"details.group.{kind}")).to_be_visible()
    assert lab.troubles == []


def test_several_failovers_can_be_chosen(make_lab):
    lab = make_lab("region-down-twice").open("?panel=why-duplicates")
    lab.seek(20_000_000)
    choice = lab.page.get_by_label("Which failover")
    choice.select_option("1")
    expect(lab.page.get_by_role("tabpanel", name="Why duplicates?")).to_contain_text("50 duplicates")
    assert lab.troubles == []


def test_on_a_phone_the_story_keeps_the_logs_in_view(make_lab):
    lab = make_lab("region-down", viewport={"width": 390, "height": 844}, has_touch=True).open(
        "?panel=why-duplicates"
    )
    lab.seek(10_000_000)
    select_message(lab, "shop/53")
    for _ in range(10):
        lab.page.keyboard.press("]")
    lab.until(f"Math.abs(state.at_us - {sentence_us(lab)}) < 1000")
    lab.at_rest()
    assert lab.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert lab.page.evaluate("() => document.scrollingElement.scrollTop") == 0
    assert lab.page.evaluate(
        "() => [...document.querySelectorAll('.story-bar .steps button, .story-bar .tools "
        "button')].every((one) => one.offsetHeight >= 40)"
    )
    assert lab.troubles == []


@pytest.mark.parametrize(
    "name",
    [
        "ack-hole-delayed-message",
        "slow-consumer-spread",
        "crash-returns-stranded",
        "unsafe-partial-snapshot",
        "update-in-flight",
    ],
)
def test_every_step_of_every_kind_of_story_can_be_selected(make_lab, name):
    lab = make_lab(name).open("?panel=why-duplicates")
    lab.seek(lab.state("state.welcome.until_us"))
    groups = lab.page.locator("details.group")
    expect(groups.first).to_be_visible()
    for number in range(groups.count()):
        group = groups.nth(number)
        if group.get_attribute("open") is None:
            group.locator("summary").click()
        group.locator("button.message").first.click()
        lab.page.get_by_role("button", name="Pause", exact=True).first.click()
        for step in lab.page.locator("[data-part=story-pips] button").all():
            step.click()
            lab.until(f"Math.abs(state.at_us - {sentence_us(lab)}) < 1000")
        lab.page.get_by_role("button", name="Close the story").click()
    assert lab.at_rest().page.locator(".notice").count() == 0
    assert lab.troubles == []
