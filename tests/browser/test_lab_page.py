"""What a person does on the lab page, done in a real browser.

With the keyboard, with a pointer, as a second viewer, on a phone.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from script.support.browsing import wait_until

CLICK_A_FLIGHT = """() => {
  const canvas = document.querySelector("[data-part=moving]");
  const box = canvas.getBoundingClientRect();
  for (let x = box.right - 30; x > box.right - 200; x -= 6) {
    for (let y = box.top + 40; y < box.bottom - 10; y += 8) {
      if (document.elementFromPoint(x, y) !== canvas) continue;
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
      if (!canvas.title.includes("in flight to")) continue;
      for (const kind of ["pointerdown", "pointerup", "click"]) canvas.dispatchEvent(new PointerEvent(kind, { clientX: x, clientY: y, bubbles: true }));
      return true;
    }
  }
  return false;
}"""
"""Moves over the canvas like a pointer, until the page reports an object in flight there, and clicks it:
in one step, since a frame in between may move it.
"""


@pytest.fixture
def lab(make_lab):
    opened = make_lab("region-down").open()
    yield opened
    assert opened.troubles == []


def test_gallery_opens_a_users_own_lab(make_lab, site):
    lab = make_lab("two-regions")
    lab.page.goto(site.address)
    lab.page.get_by_label("Search").fill("region crash 5.3 s")
    expect(lab.page.locator(".card:visible")).to_have_count(1)
    lab.page.get_by_role(
        "button", name="Region crash: duplicates since the last snapshot", exact=True
    ).click()
    lab.page.wait_for_url(re.compile(r"/labs/\w+/"))
    wait_until(lab.page, "() => Boolean(globalThis.failoverLab?.getState().view)")
    assert lab.state("state.welcome.owner") is True
    assert "token" not in lab.page.url, "the address bar shows the viewing link"
    lab.page.get_by_role("button", name="About this scenario").last.click()
    about = lab.page.get_by_role("dialog", name="Region crash: duplicates since the last snapshot")
    expect(about).to_contain_text("It took two rounds and completed at 5.3 s.")
    expect(about).to_contain_text("the newest snapshot line links the cursor of us-east")
    about.get_by_role("button", name="Close").click()
    expect(about).to_be_hidden()
    assert lab.troubles == []


def test_play_pause_step_and_step_back_by_keyboard(lab):
    lab.seek(4_000_000)
    lab.page.keyboard.press("ArrowRight")
    lab.until("state.at_us > 4000000")
    after = lab.state("state.at_us")
    lab.page.keyboard.press("ArrowLeft")
    lab.until(f"state.at_us < {after}")
    lab.page.keyboard.press("Space")
    lab.until("state.playing")
    expect(lab.page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")


def test_an_instant_can_be_typed(lab):
    lab.page.keyboard.press("g")
    lab.page.keyboard.type("3.5 s")
    lab.page.keyboard.press("Enter")
    lab.until("state.at_us === 3500000")
    lab.page.keyboard.press("g")
    lab.page.keyboard.type("soon")
    lab.page.keyboard.press("Enter")
    expect(lab.page.get_by_role("alert").filter(has_text="is not an instant")).to_be_visible()


def test_the_sentence_and_the_table_show_the_engines_figures(lab):
    lab.seek(5_118_000)
    figures = lab.state("state.view.forecast.billing.to['us-east']")
    expect(lab.page.locator("[data-part=sentence]")).to_contain_text(f"{figures['duplicates']} duplicates")
    expect(lab.page.locator("[data-part=risk] tr").filter(has_text="duplicates")).to_contain_text(
        str(figures["duplicates"])
    )


def test_a_region_is_crashed_by_a_click_and_a_refusal_has_a_reason(lab):
    lab.seek(5_000_000)
    lab.page.get_by_role("button", name="us-west", exact=True).click()
    lab.page.get_by_role("menuitem", name="Crash now").click()
    lab.until("state.view.clusters['us-west'].state === 'down'")
    assert lab.state("state.view.branch") != 0 or lab.state("state.view.furthest_us") == 5_000_000
    lab.page.evaluate("() => failoverLab.link.command({ do: 'cluster.crash', cluster: 'us-west' })")
    notice = lab.page.get_by_role("alert").filter(has_text="cluster.crash was refused")
    expect(notice).to_be_visible()
    expect(notice).to_have_text(re.compile("cluster.crash was refused:.{15,}"))
    lab.page.get_by_role("button", name="us-west", exact=True).click()
    lab.page.keyboard.press("r")  # restart, by its letter: after a pointer action, space means play again
    lab.until("state.view.clusters['us-west'].state === 'up'")
    lab.page.keyboard.press("Space")
    lab.until("state.playing || state.at_us > 5000000")


def test_an_equal_refusal_replaces_the_earlier_one(lab):
    for cluster in ("no-such-region", "no-such-region", "another"):
        lab.page.evaluate(f"() => failoverLab.link.command({{ do: 'cluster.crash', cluster: '{cluster}' }})")
    expect(lab.page.locator("li.notice").filter(has_text="another")).to_be_visible()
    expect(lab.page.locator("li.notice")).to_have_count(2)


def test_failover_by_dialog_starts_a_branch_and_the_old_one_stays(lab):
    lab.seek(7_000_000)
    lab.seek(5_100_000)
    lab.page.keyboard.press("o")
    lab.page.locator("select[name=to]").select_option("us-east")
    lab.page.get_by_role("button", name="Fail over", exact=True).click()
    lab.until("state.view.failovers.length === 1 && state.view.failovers[0].at_us === 5100000")
    lab.page.keyboard.press("Space")
    lab.until("state.at_us > 5600000")
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")
    expect(lab.page.locator("[data-part=sentence]")).to_contain_text("us-west failed. us-east has delivered")
    lab.page.get_by_role("button", name=re.compile("^Branches 2")).click()
    tree = lab.page.get_by_role("dialog", name="Branches of this run")
    expect(tree.get_by_role("button", name=re.compile("Crash a cluster: us-west"))).to_have_attribute(
        "aria-current", "true"
    )
    tree.get_by_role("button", name=re.compile("As planned")).click()
    lab.until("state.view.branch === 0")


def test_the_inspector_of_a_marker_prints_it_as_in_pip_33(lab):
    lab.seek(5_118_000)
    lab.at_rest()
    mark = lab.page.locator(".mark-button[aria-label^='snapshot response']").first
    mark.focus()
    lab.page.keyboard.press("Enter")
    panel = lab.page.get_by_role("region", name="Inspector")
    expect(panel.get_by_label("the marker as JSON")).to_contain_text(
        "ReplicatedSubscriptionsSnapshotResponse"
    )
    expect(panel.get_by_label("the marker's bytes")).to_contain_text(re.compile("^0a"))
    expect(panel.locator(".travels li").nth(2)).to_be_visible()
    lab.page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_an_event_shows_its_cause_and_links_to_its_instant(lab):
    lab.seek(5_118_000)
    event = (
        lab.at_rest().page.locator("[data-part=events] button.event").filter(has_text="response of").nth(3)
    )
    event.click()
    lab.until("state.at_us < 5118000")
    expect(lab.page.locator(".because")).to_contain_text("caused by")
    expect(
        lab.page.locator("[data-part=events] li.ahead").first,
        "what lies ahead on this branch stays in the list",
    ).to_be_attached()


def test_the_event_list_shows_the_current_instant_also_after_a_seek_back(lab):
    lab.seek(10_000_000)
    lab.seek(5_300_000)
    present = lab.at_rest().page.evaluate("""() => {
      const list = document.querySelector("[data-part=events]");
      const [past] = list.querySelectorAll("li:not(.ahead)");
      return { ahead: list.querySelectorAll("li.ahead").length, share: (past.getBoundingClientRect().top - list.getBoundingClientRect().top) / list.clientHeight };
    }""")
    assert present["ahead"] > 10 and 0.1 < present["share"] < 0.4


def test_this_instant_is_described_in_text(lab):
    lab.seek(5_118_000)
    lab.page.keyboard.press("t")
    words = lab.page.get_by_role("region", name="Text view of this instant")
    expect(words).to_contain_text("Mark-delete of billing: 7655:118")
    expect(words.get_by_role("heading", name="us-east")).to_be_visible()
    lab.page.keyboard.press("t")


def test_a_second_viewer_sees_the_same_and_cannot_control(lab, make_lab):
    viewer = make_lab(of=lab).open(owner=False)
    lab.seek(4_200_000)
    viewer.until("state.at_us === 4200000")
    assert viewer.state("state.view.seq") == lab.state("state.view.seq")
    expect(viewer.page.locator("[data-part=sentence]")).to_have_text(
        lab.page.locator("[data-part=sentence]").text_content() or ""
    )
    viewer.page.keyboard.press("Space")
    expect(viewer.page.get_by_role("alert").filter(has_text="You are viewing.")).to_be_visible()
    assert viewer.state("state.playing") is False
    viewer.page.keyboard.press("o")
    figures = viewer.page.locator("[data-part=failover-forecast]")
    expect(figures).to_contain_text("At 4.200 s")
    then = figures.text_content()
    lab.seek(4_700_000)
    viewer.until("state.at_us === 4700000")
    viewer.page.locator("select[name=mode]").select_option("planned")
    viewer.page.locator("select[name=mode]").select_option("crash")
    # a viewer cannot pause: the dialog keeps the figures of the instant that it names
    expect(figures).to_have_text(then)
    assert viewer.troubles == []


def test_zooming_out_and_in_causes_no_errors(lab):
    lab.seek(9_000_000)
    for _ in range(8):
        lab.page.keyboard.press("-")
    lab.at_rest()
    for _ in range(12):
        lab.page.keyboard.press("+")
    lab.page.keyboard.press("0")
    lab.at_rest()


@pytest.mark.parametrize("query", ["?theme=dark", "?theme=light", "?mode=projector"])
def test_the_page_draws_with_every_display_option(make_lab, query):
    lab = make_lab("three-regions").open(query)
    lab.seek(4_250_000)
    assert lab.at_rest().troubles == []


def test_a_phone_shows_everything_in_one_column(make_lab):
    lab = make_lab("three-regions", viewport={"width": 390, "height": 844}, has_touch=True).open()
    lab.seek(4_250_000)
    assert lab.at_rest().page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert lab.page.evaluate(
        "() => [...document.querySelectorAll('.transport button')].filter((one) => "
        "one.offsetParent).every((one) => one.offsetHeight >= 40)"
    )
    assert lab.troubles == []


def test_reduced_motion_shows_the_servers_instants_only(make_lab):
    lab = make_lab("two-regions", reduced_motion="reduce").open()
    lab.page.keyboard.press("Space")
    lab.until("state.at_us > 200000")
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")
    assert float(lab.at_rest().page.locator("[data-part=now]").input_value()) * 1e6 == pytest.approx(
        lab.state("state.at_us"), abs=1000
    )
    assert lab.troubles == []


def test_a_lost_connection_is_reported_and_resumed(lab):
    lab.seek(2_000_000)
    lab.page.context.set_offline(True)
    lab.page.evaluate("() => globalThis.failoverLab.dropLine()")
    expect(
        lab.page.locator(".banner").filter(has_text=re.compile("Connection lost|Reconnecting"))
    ).to_be_visible()
    lab.page.context.set_offline(False)
    lab.page.keyboard.press("ArrowRight")
    expect(lab.page.locator(".lab")).to_have_attribute("data-line", "open")
    wait_until(lab.page, "() => !document.querySelector('.banner')")
    lab.seek(3_000_000)
    lab.troubles = [
        line for line in lab.troubles if "ERR_INTERNET_DISCONNECTED" not in line and "WebSocket" not in line
    ]


def test_undo_opens_the_run_without_the_command(lab):
    lab.seek(5_000_000)
    lab.page.get_by_role("button", name="us-west", exact=True).click()
    says = lab.page.locator(".menu-says")
    expect(says).to_contain_text("us-west stops at once")
    expect(says).to_contain_text(re.compile(r"to us-east: \d+ duplicates?, "))
    lab.page.keyboard.press("c")
    lab.until("state.view.clusters['us-west'].state === 'down' && state.view.branch === 1")
    lab.page.keyboard.press("z")
    lab.until(
        "state.view.clusters['us-west'].state === 'up' && state.view.branch === 0 && state.at_us === 5000000"
    )


def test_the_dialog_of_branches_is_closed_by_keyboard_also_after_it_was_rewritten(lab):
    """A longer branch rewrites the list, and its focused button is then another one."""
    lab.seek(5_000_000)
    lab.page.evaluate(
        "() => failoverLab.link.command({ do: 'link.cut', link: 'us-east <-> us-west' }, { apart: true })"
    )
    lab.until("state.branches.length === 2")
    lab.page.keyboard.press("y")
    dialog = lab.page.locator("[data-part=branches-dialog]")
    expect(dialog).to_be_visible()
    lines = dialog.locator("li").all_inner_texts()
    lab.page.evaluate("() => failoverLab.link.seek(failoverLab.getState().view.furthest_us + 1_000_000)")
    expect(dialog.locator("li")).not_to_have_text(lines)
    expect(dialog.locator("button.branch:focus")).to_have_count(1)
    lab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    lab.page.keyboard.press("y")
    lab.page.evaluate("() => document.activeElement.blur()")
    lab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_replication_backlog_is_cleared_from_the_menu_of_its_region(lab):
    lab.seek(3_000_000)
    lab.page.evaluate("() => failoverLab.link.command({ do: 'link.cut', link: 'us-west -> us-east' })")
    lab.until("state.view.links['us-west -> us-east'].state === 'cut'")
    lab.seek(3_900_000)
    lab.page.get_by_role("button", name="us-west", exact=True).click()
    expect(lab.page.get_by_role("menuitem", name="Expire messages to us-east…")).to_be_visible()
    clear = lab.page.get_by_role("menuitem", name="Clear the backlog to us-east")
    clear.hover()
    says = lab.page.locator(".menu-says")
    expect(says).to_contain_text("skips its whole backlog")
    expect(says).to_contain_text(re.compile(r"\d+ entries, markers"))
    clear.click()
    lab.until("state.view.clusters['us-west'].topics.orders.replicators['us-east'].backlog === 0")


MARKER_IN_FLIGHT = """() => {
  const canvas = document.querySelector("[data-part=moving]");
  const box = canvas.getBoundingClientRect();
  for (let x = box.left + box.width * 0.6; x < box.right; x += 4) {
    for (let y = box.top; y < box.bottom; y += 4) {
      if (document.elementFromPoint(x, y) !== canvas) continue;
      canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
      if (canvas.title.includes("snapshot request in flight") && canvas.title.includes("or drag it")) return [x, y];
    }
  }
  return null;
}"""
"""Where on the page the canvas has a request in flight."""


def test_a_marker_in_flight_is_dropped_by_dragging_it_off_its_link(lab):
    lab.seek(5_020_000)
    lab.at_rest()
    x, y = lab.page.evaluate(MARKER_IN_FLIGHT)
    lab.page.mouse.move(x, y)
    lab.page.mouse.down()
    lab.page.mouse.move(x - 60, y, steps=4)
    lab.page.mouse.move(x - 160, y, steps=4)
    lab.page.mouse.up()
    expect(lab.page.get_by_role("alert")).to_contain_text("The marker is dropped on a new branch.")
    lab.until("state.view.branch === 1 && state.at_us === 5020000")
    lab.page.keyboard.press("z")
    lab.until("state.view.branch === 0")


MESSAGE_IN_FLIGHT = MARKER_IN_FLIGHT.replace(
    'canvas.title.includes("snapshot request in flight") && canvas.title.includes("or drag it")',
    'canvas.title.includes("message in flight to us-east")',
)


def test_a_message_in_flight_is_delayed_by_dragging_it_back_and_is_never_lost_alone(lab):
    lab.seek(4_570_000)
    lab.at_rest()
    x, y = lab.page.evaluate(MESSAGE_IN_FLIGHT)
    mouse = lab.page.mouse

    def drag(by_x: int, by_y: int) -> None:
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + by_x, y + by_y, steps=6)
        mouse.up()

    drag(-160, 0)
    expect(lab.page.get_by_role("alert")).to_contain_text("A single message is not lost")
    expect(lab.page.get_by_role("menu")).to_contain_text("Cut us-west → us-east while it is in flight")
    lab.page.keyboard.press("Escape")
    assert lab.state("state.view.branch") == 0
    flight = lab.state("state.flights.find(({ what, to }) => what === 'message' && to === 'us-east')")
    drag(0, -20)  # its sender is above
    expect(lab.page.get_by_role("alert")).to_contain_text("The message is delayed and those behind it wait")
    later = f"({{ number, to, due_us }}) => number === {flight['number']} && to === 'us-east' && due_us > {flight['due_us']}"
    lab.until(f"state.view.branch === 1 && state.at_us === 4570000 && state.flights.some({later})")
    assert lab.state("state.view.links['us-west -> us-east'].slowed") is False, "only that message was slow"
    lab.page.keyboard.press("z")
    lab.until("state.view.branch === 0")


def test_a_marker_in_flight_is_dropped_by_clicking_it(lab):
    lab.seek(5_020_000)
    flight = lab.state(
        "state.flights.find((one) => one.what === 'snapshot_request' && one.from === 'us-west')"
    )
    lab.page.keyboard.press("b")
    lab.page.get_by_role("menuitem", name=f"Drop the request us-west → {flight['to']}").click()
    dropped = (
        f"!state.flights.some((one) => one.number === {flight['number']} && one.to === '{flight['to']}')"
    )
    lab.until(f"state.view.branch === 1 && state.at_us === 5020000 && {dropped}")
    lab.at_rest()
    wait_until(lab.page, CLICK_A_FLIGHT)
    expect(lab.page.get_by_role("menu")).to_be_visible()


def test_the_filter_of_steps_is_shown_and_follows_one_message(lab):
    lab.seek(2_000_000)
    chooser = lab.page.locator("[data-part=filter]")
    expect(chooser.locator("option")).to_have_text(
        ["protocol", "everything", "one message…", "subscription billing"]
    )
    chooser.select_option("message")
    field = lab.page.get_by_label("Message to step by")
    field.fill("shop/40")
    field.press("Enter")
    lab.until("state.at_us > 2000000")
    field.fill("nonsense")
    field.press("Enter")
    expect(lab.page.get_by_role("alert").filter(has_text="names no message")).to_be_visible()


def test_an_event_is_reached_by_its_number(lab):
    lab.seek(5_000_000)
    row = lab.page.evaluate(
        "() => fetch(location.pathname + 'row/700.json').then((answer) => answer.json())"
    )["row"]
    lab.page.keyboard.press("g")
    lab.page.keyboard.type("#700")
    lab.page.keyboard.press("Enter")
    lab.until(f"state.at_us === {row['at_us']}")


def test_an_open_dialog_pauses_playback_and_describes_the_instant_shown(lab):
    lab.seek(4_000_000)
    lab.page.keyboard.press("Space")
    lab.until("state.playing")
    lab.page.keyboard.press("o")
    dialog = lab.page.locator("[data-part=failover-dialog]")
    lab.until("!state.playing")
    at_us = lab.state("state.at_us")
    expect(dialog.locator("[data-part=failover-forecast]")).to_contain_text(f"At {at_us / 1e6:.3f} s")
    target = dialog.locator("[name=to]").input_value()
    duplicates = lab.state(f"state.view.forecast.billing.to['{target}'].duplicates")
    forecast = dialog.locator("[data-part=failover-forecast]")
    expect(forecast).to_contain_text(f"{duplicates} duplicate")
    expect(forecast).not_to_contain_text(re.compile(r"\b0 "))
    assert all(
        "duplicate" in words or "lost" in words for words in forecast.locator(".harm-text").all_inner_texts()
    )
    lab.page.keyboard.press("Escape")
    lab.until("state.playing")
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")
    lab.page.keyboard.press("o")
    lab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert lab.state("state.playing") is False, "what stood still before stands still after"


def test_an_automatic_failover_has_the_fields_of_its_probe(lab):
    lab.seek(4_000_000)
    lab.page.keyboard.press("o")
    dialog = lab.page.locator("[data-part=failover-dialog]")
    dialog.locator("[name=mode]").select_option("auto")
    expect(dialog.locator("[name=failoverDelay]")).to_be_visible()
    dialog.locator("[name=probe]").select_option("lookup")
    expect(dialog.locator("[name=failoverDelay]")).to_be_hidden()
    expect(dialog.locator("[data-part=probe-words]")).to_contain_text(
        "SameAuthParamsLookupAutoClusterFailover"
    )
    source, target = (dialog.locator(f"[name={name}]").input_value() for name in ("from", "to"))
    dialog.locator("[name=failoverThreshold]").fill("3")
    dialog.locator("[name=pulsarServiceUrlArray]").fill(f"{source}, {target}")
    dialog.locator("[name=markTopicNotFoundAsAvailable]").uncheck()
    lab.page.evaluate(
        "() => { const { link } = failoverLab, send = link.command; window.sent = [];"
        " link.command = (command, ...more) => { window.sent.push(command); return send.call(link, command, ...more); }; }"
    )
    dialog.get_by_role("button", name="Fail over").click()
    lab.page.wait_for_function("() => window.sent.length === 1")
    assert lab.page.evaluate("() => window.sent[0]") == {
        "do": "subscription.fail-over",
        "subscription": "billing",
        "from": source,
        "to": target,
        "mode": "auto",
        "probe": "lookup",
        "failoverThreshold": 3,
        "markTopicNotFoundAsAvailable": False,
        "pulsarServiceUrlArray": [source, target],
    }


def test_running_past_the_scenarios_end_asks_for_confirmation(lab):
    end_us = lab.state("state.welcome.until_us")
    lab.seek(end_us)
    dialog = lab.page.locator("[data-part=question-dialog]")
    lab.page.keyboard.press("Space")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("The scenario ends at 10.000 s")
    lab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert lab.state("state.at_us") == end_us and lab.state("state.playing") is False
    lab.page.keyboard.press("Space")
    dialog.get_by_role("button", name="Run past 10.000 s").press("Enter")
    lab.until(f"state.at_us > {end_us}")
    lab.page.keyboard.press("Space")
    lab.until("!state.playing")
