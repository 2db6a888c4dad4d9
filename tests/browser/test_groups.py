"""The page of a group lab as a person uses it.

Which session reads what, the tables of leader and sessions, an inspector, a fault with its cost shown first,
many streams.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect


@pytest.fixture
def open_lab(make_lab):
    opened = []

    def open_one(scenario, **options):
        opened.append(make_lab(scenario, **options).open())
        return opened[-1]

    yield open_one
    assert [lab.troubles for lab in opened] == [[]] * len(opened)


def test_two_readers_of_one_stream_are_reported_drawn_and_inspected(open_lab):
    lab = open_lab("groups-two-readers")
    page = lab.page
    expect(page.get_by_role("tab", name="Messages between nodes")).to_have_attribute("aria-selected", "true")
    lab.seek(11_000_000)
    expect(page.locator("[data-part=sentence]")).to_contain_text(
        "ada and ben both read 1/1/meters/heat and 1 other stream. In the leader's table it is assigned to "
        "ada, not to ben."
    )
    expect(
        page.get_by_role(
            "button", name="stream 1/1/meters/heat: leader's assignment: ada; read by ada and ben"
        ).first
    ).to_be_visible()
    expect(page.get_by_role("button", name="link between n1 and n2")).to_have_text("cut")
    expect(page.locator("[data-part=risk]")).to_contain_text("leader crash3131")
    page.get_by_role(
        "button", name="stream 1/1/meters/heat: leader's assignment: ada; read by ada and ben"
    ).last.click()
    inside = page.locator("[data-part=inspector]")
    expect(inside).to_contain_text("It has two readers")
    expect(inside.locator("tbody tr").first).to_have_text("committed1312 redelivered if the leader crashes")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(page.locator("[data-part=mirror]")).to_contain_text(
        "1/1/meters/heat: assigned to ada (granted); ada reads it, 25 of 25 delivered, 25 "
        "acknowledged; ben reads it"
    )
    expect(page.locator("[data-part=mirror]")).to_contain_text(
        "ben at n2 is online: borrower ben/0 is connected, keeps reading for 1.1 s without a ping "
        "response; not in its leader's table."
    )
    expect(page.get_by_role("button", name="Fail over…")).to_have_count(0)
    page.keyboard.press("t")
    page.get_by_role("button", name="Why duplicates?").click()
    asked = page.get_by_role("tabpanel", name="Why duplicates?")
    expect(asked).to_contain_text("delivered after an acknowledgement of the same message.")
    asked.get_by_role("button", name="grid/53, delivered at 10.000 s: show its story").click()
    story = page.get_by_role("region", name="Story of a message")
    story.get_by_role("button", name="The progress of ben reaches no leader").click()
    for words in ("5 of 10", "6.300 s", "The progress of ben reaches no leader: the link is cut."):
        expect(story).to_contain_text(words)
    lab.until("state.at_us === 6300000")
    story.get_by_role("button", name="Close the story").click()
    lab.seek(5_000_000)
    expect(page.get_by_role("button", name="Why duplicates?")).to_be_hidden()
    says = page.locator(".menu-says")
    page.get_by_role("button", name="client ben").click()
    page.get_by_role("menuitem", name="Connect it to n1 (takeover)").hover()
    expect(says).to_contain_text(
        "ben takes over its session at n1: the old connection closes and no leader receives a message."
    )
    page.keyboard.press("Escape")
    page.get_by_role("button", name="node n1, up").click()
    for item, words in (
        ("Stop it gracefully", "n1's connections close without a message to leaders elsewhere"),
        (
            "Evacuate and stop it",
            "n1's clients are disconnected gracefully first: leaders receive their progress.",
        ),
        (
            "Cut it off from the leaders' store for 90 s",
            "Leaders at n1 handle nothing from their next commit on",
        ),
    ):
        page.get_by_role("menuitem", name=item).hover()
        expect(says).to_contain_text(words)
    page.get_by_role("menuitem", name="Cut it off from the leaders' store for 90 s").click()
    lab.until("state.view.store.cut_until_us.n1 === 95000000")
    page.get_by_role("button", name="node n2, up").click()
    page.get_by_role("menuitem", name="Stop it gracefully").click()
    lab.until("state.view.clusters.n2.state === 'down' && state.view.sessions.ben.state === 'offline'")
    page.get_by_role("button", name=re.compile("^leader")).first.click()
    page.get_by_role("menuitem", name="Change a timer…").click()
    form = page.get_by_role("dialog")
    form.locator("[name=setting]").select_option("leader_borrower_timeout")
    form.locator("[name=value]").fill("9s")
    page.keyboard.press("Enter")
    lab.until("state.view.spans_us.leader_borrower_timeout === 9000000")


def test_killing_a_session_shows_its_cost_and_its_streams_stay_granted_in_the_leaders_table(open_lab):
    lab = open_lab("groups-killed-in-a-chunk")
    page = lab.page
    lab.seek(2_500_000)
    expect(page.locator("[data-part=sentence]")).to_contain_text(
        "If the leader of meters crashed now, 10 messages would be redelivered; if ben was killed, 10."
    )
    page.get_by_role("button", name="client ben").click()
    page.get_by_role("menuitem", name="Kill its session").hover()
    expect(page.locator(".menu-says")).to_contain_text(
        "At this instant: 10 messages would be redelivered, 5 of them acked."
    )
    page.get_by_role("menuitem", name="Kill its session").click()
    lab.until("state.view.sessions.ben.state === 'offline'")
    expect(page.locator("[data-part=sentence]")).to_contain_text(
        "No stream is read. In the leader's table it is granted."
    )
    page.keyboard.press("b")
    expect(page.get_by_role("menu")).to_contain_text("Crash the leader of meters")


def test_a_thousand_streams_fold_to_strips_and_arrows_move_among_the_clients(open_lab):
    lab = open_lab("groups-thousand-streams")
    page = lab.page
    lab.seek(2_600_000)
    expect(page.get_by_role("button", name="expand 0/1: 125 streams")).to_be_attached()
    page.keyboard.press("+")
    expect(page.get_by_role("button", name="stream 0/1/meters/").first).to_be_visible()
    page.keyboard.press("Space")
    lab.until("state.at_us > 3400000")
    page.keyboard.press("Space")
    lab.until("!state.playing")
    dials = lab.at_rest().page.locator(".group-handle.dial")
    expect(dials).to_have_count(200)
    expect(
        page.locator(".group-handle.dial[tabindex='0']"), "one stop of the tab key for each node"
    ).to_have_count(2)
    dials.first.focus()
    page.keyboard.press("ArrowRight")
    expect(dials.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menu")).to_contain_text("Kill its session")
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    expect(page.get_by_role("button", name="by shard")).to_be_visible()


def test_a_stream_left_unread_by_a_late_revoke_is_reported_as_such(open_lab):
    """groups-late-revoke: from 7.5 s on ada releases the stream, and her leader has it as granted."""
    lab = open_lab("groups-late-revoke")
    page = lab.page
    lab.seek(10_000_000)
    expect(page.locator("[data-part=sentence]")).to_have_text(
        re.compile(
            r"No client reads \d/1/meters/heat. ada acted on a late revoke; in the leader's table "
            r"it is still "
            r"granted."
        )
    )
    page.keyboard.press("t")
    expect(page.locator("[data-part=mirror]")).to_contain_text(
        "Starved: its owner acted on a late revoke and does not read it."
    )
    page.keyboard.press("t")
    page.get_by_role("tab", name="Rebalances").click()
    expect(page.get_by_role("tabpanel", name="Rebalances")).to_contain_text(
        "not stable: 1 stream starved: granted, but the owner acted on a late revoke"
    )
