"""The panel "pulsar-admin", used like a person uses it.

Tool and cluster chosen, instants changed, text copied by button and key.
"""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until

AT_US = 5_100_000
HELD_UP_MS = 200
"""A busy machine may delay a page between its reading of the clock and ours."""
NOTE_QUESTIONS = """() => {
  globalThis.asked_ms = [];
  const plain = globalThis.fetch;
  globalThis.fetch = (path, ...more) => {
    if (String(path).includes("/admin/")) globalThis.asked_ms.push(performance.now());
    return plain(path, ...more);
  };
}"""
"""The instants at which the page sends requests, by its own clock: when a request is sent depends on the
browser and the load of the machine.
"""


@pytest.fixture
def lab(make_lab):
    opened = make_lab("region-down", permissions=["clipboard-read", "clipboard-write"]).open(
        "?panel=pulsar-admin"
    )
    opened.seek(AT_US)
    yield opened
    assert opened.troubles == []


def panel(lab):
    return lab.page.get_by_role("tabpanel", name="pulsar-admin")


def answer(lab, tool, cluster):
    got = lab.page.request.get(f"{lab.site.address}/labs/{lab.made['id']}/admin/{tool}/{cluster}/orders.json")
    assert got.ok
    return got.json()


def press(lab, name):
    panel(lab).get_by_role("button", name=name, exact=True).click()


def shows(lab, at_us=AT_US):
    """Waits until the panel shows the output for an instant."""
    expect(panel(lab).locator(".when")).to_have_text(f"at {at_us / 1e6:.3f} s")


def printed(lab):
    """The lines shown at rest, without margins."""
    return lab.at_rest().page.eval_on_selector_all(
        ".printout li code", "codes => codes.map((code) => code.textContent)"
    )


def copied(lab, text):
    """Waits until the clipboard contains a text."""
    wait_until(lab.page, "async text => await navigator.clipboard.readText() === text", text)


def test_the_lines_are_the_answers_own_and_the_initial_cluster_is_that_of_the_consumers(lab):
    shows(lab)
    expect(panel(lab).locator(".command")).to_contain_text(
        "broker.us-west:8080 topics stats persistent://public/default/orders"
    )
    press(lab, "every line")
    expect(panel(lab).get_by_role("button", name="every line")).to_have_attribute("aria-pressed", "true")
    assert "\n".join(printed(lab)) + "\n" == answer(lab, "stats", "us-west")["text"]


def test_notes_are_beside_their_fields_and_differences_are_marked(lab):
    shows(lab)
    backlog = panel(lab).locator(".printout li").filter(has_text='"msgBacklog"')
    expect(backlog).to_contain_text("A marker counts until a dispatcher reads it.")
    east = json.loads(answer(lab, "stats", "us-east")["text"])["subscriptions"]["billing"]["msgBacklog"]
    expect(backlog.locator(".elsewhere")).to_contain_text(f"us-east {east}")
    expect(backlog).to_have_class("differs")
    expect(panel(lab).locator(".fold").first).to_have_text(re.compile(r"⋯ \d+ more lines"))
    rate = panel(lab).locator(".printout li").filter(has_text='"messageAckRate"')
    expect(rate).to_have_count(0)
    press(lab, "differences")
    expect(rate.first).to_have_class("differs")


def test_tool_and_cluster_can_be_chosen(lab):
    shows(lab)
    press(lab, "topics stats-internal")
    expect(panel(lab).locator(".printout")).to_contain_text('"markDeletePosition"')
    press(lab, "us-east")
    expect(panel(lab).locator(".command")).to_contain_text("broker.us-east:8080 topics stats-internal")
    expect(panel(lab).get_by_role("button", name="us-east", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    press(lab, "metrics")
    expect(panel(lab).locator(".printout")).to_contain_text(
        "pulsar_replicated_subscriptions_pending_snapshots"
    )
    press(lab, "every line")
    assert "\n".join(text.strip() for text in printed(lab)) == "\n".join(
        line.strip() for line in answer(lab, "metrics", "us-east")["text"].splitlines()
    )


def test_the_whole_text_is_copied_by_button_and_by_key_even_when_folded(lab):
    shows(lab)
    panel(lab).get_by_role("button", name="Copy all").click()
    expect(lab.page.get_by_role("alert")).to_contain_text("Copied.")
    copied(lab, answer(lab, "stats", "us-west")["text"])
    press(lab, "us-east")
    expect(panel(lab).locator(".command")).to_contain_text("broker.us-east")
    lab.page.keyboard.press("c")
    copied(lab, answer(lab, "stats", "us-east")["text"])


def test_the_output_follows_the_instant(lab):
    shows(lab)
    before = printed(lab)
    lab.page.keyboard.press("ArrowRight")
    lab.until(f"state.at_us > {AT_US}")
    shows(lab, lab.state("state.at_us"))
    lab.seek(2_000_000)
    shows(lab, 2_000_000)
    assert printed(lab) != before
    lab.seek(AT_US)
    shows(lab)
    assert printed(lab) == before


def test_while_playing_the_panel_sends_a_few_requests_per_second_at_most(lab):
    shows(lab)
    lab.page.evaluate(NOTE_QUESTIONS)
    lab.page.evaluate("() => failoverLab.link.play(0.2)")
    lab.until("state.playing")
    wait_until(lab.page, "() => globalThis.asked_ms.length >= 5")
    starts_ms = lab.page.evaluate("() => globalThis.asked_ms")
    lab.page.evaluate("() => failoverLab.link.pause()")
    lab.until("!state.playing")
    assert starts_ms[-1] - starts_ms[0] > 400 * (len(starts_ms) - 1) - HELD_UP_MS, "every 400 ms at most"
    shows(lab, lab.state("state.at_us"))


def test_a_region_that_is_down_gives_no_output_and_a_reason(lab):
    shows(lab)
    lab.seek(8_000_000)
    press(lab, "us-west")
    expect(panel(lab)).to_contain_text("us-west is down: no broker answers")
    expect(panel(lab).get_by_role("button", name="Copy all")).to_be_disabled()
    press(lab, "us-east")
    expect(panel(lab).locator(".printout")).to_contain_text('"msgBacklog"')


def test_a_viewer_sees_it_too_and_nothing_is_cut_off_on_a_phone(lab, make_lab):
    phone = make_lab(of=lab, viewport={"width": 360, "height": 740}).open("?panel=pulsar-admin", owner=False)
    wait_until(phone.page, "() => document.querySelectorAll('.printout li').length > 10")
    for tool in ("topics stats-internal", "metrics", "topics stats"):
        press(phone, tool)
        phone.at_rest()
        assert phone.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert phone.page.evaluate(
            "() => [...document.querySelectorAll('.printout li')].every((line) => line.scrollWidth <= "
            "line.clientWidth + 1)"
        )
    assert phone.troubles == []
