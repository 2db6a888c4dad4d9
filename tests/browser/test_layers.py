"""“Layers” and “Rounds” as a person uses them.

The inside of a client with its state machines, messages between its layers, the leader's clock, badge and
figures.
"""

from __future__ import annotations

from playwright.sync_api import expect

STREAM = "1/1/meters/heat"


def test_the_inside_of_a_client_is_shown(open_lab):
    """Of two readers of one stream: the one that the leader has dropped is connected and reads, and the
    leader has the other.
    """
    lab = open_lab("groups-two-readers", "?panel=layers")
    lab.seek(11_000_000)
    panel = lab.page.get_by_role("tabpanel", name="Layers")
    panel.get_by_label("client").select_option("ben")
    panel.get_by_label("stream").select_option(STREAM)
    borrower = panel.get_by_role(
        "img", name="Borrower ben/0: connected now. The last move: from connecting to connected."
    )
    expect(borrower).to_be_visible()
    expect(
        panel.get_by_role(
            "img", name=f"{STREAM} at borrower ben/0: granted now. The last move: from absent to granted."
        )
    ).to_be_visible()
    expect(
        panel.get_by_role(
            "img", name=f"{STREAM} at leader 1: granted now. The last move: from granting to granted."
        )
    ).to_be_visible()
    moves = lab.state(
        "Object.values(state.welcome.tables.machines.borrower.moves).reduce((sum, next) => sum + "
        "Object.keys(next).length, 0)"
    )
    expect(borrower.locator("path.move")).to_have_count(moves)
    expect(borrower.locator("rect.now")).to_have_count(1)
    leader = panel.locator("details[data-layer=leader] summary")
    expect(leader).to_contain_text("ben/0 is not in its table")
    expect(panel.locator(".gap.by-messages")).to_contain_text("between n2 and n1")
    expect(panel.locator(".gap.by-messages")).to_contain_text("ping: lost")
    expect(panel.locator(".gap.by-calls").first).to_contain_text("subscribe $share/meters/")
    agent = panel.locator("details[data-layer=agent]")
    agent.locator("summary").press("Enter")
    expect(agent).to_contain_text("leader")
    panel.locator("section.machine-of").first.get_by_role("button").click()
    expect(lab.page.locator("[data-part=lit]")).to_contain_text("borrower 0")
    lab.seek(500)  # before any session is connected
    expect(panel.get_by_role("img", name="Borrower ben/0")).to_have_count(0)


def test_the_clock_of_rounds_its_badge_and_its_figures_are_shown(open_lab):
    lab = open_lab("groups-two-readers", "?panel=rounds")
    panel = lab.page.get_by_role("tabpanel", name="Rebalances")
    lab.seek(4_000_000)
    expect(panel.locator(".badge.stable")).to_have_text("stable")
    expect(panel.locator(".timers")).to_contain_text("next rebalance")
    lab.seek(11_000_000)
    expect(panel.locator(".badge")).to_have_text("stable for its leader, but 2 streams have two readers")
    figures = lab.state("state.view.groups.meters.figures")
    assert figures["two_readers_now"] == 2
    lab.at_rest()
    shown = dict(
        zip(
            panel.locator(".figures-now dt").all_inner_texts(),
            panel.locator(".figures-now .value").all_inner_texts(),
            strict=True,
        )
    )
    assert (shown["duplicates so far"], shown["streams with two readers"]) == (
        str(figures["duplicates"]),
        "2",
    )
    tabs = [tab for tab in lab.page.get_by_role("tab").all_inner_texts() if tab]
    assert tabs[:4] == ["Time", "Messages between nodes", "Layers", "Rebalances"]
    lab.page.get_by_role("tab", name="Rebalances").focus()
    lab.page.keyboard.press("Home")
    expect(lab.page.get_by_role("tabpanel", name="Time")).to_be_visible()


def test_a_phone_shows_all_of_it(make_lab):
    lab = make_lab("groups-two-readers", viewport={"width": 390, "height": 844}).open("?panel=layers")
    lab.seek(11_000_000)
    for name in ("Layers", "Rebalances", "Messages between nodes"):
        lab.page.get_by_role("tab", name=name).click()
        assert lab.at_rest().page.evaluate("() => document.scrollingElement.scrollWidth <= innerWidth"), name
    assert lab.troubles == []
