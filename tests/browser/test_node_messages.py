"""The panel “Messages between nodes” as a person uses it.

The tab of a group lab, messages as text and in the picture, a highlighted cone, pan, zoom, a crowded window.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect


def picture(lab) -> str:
    """What the diagram shows at rest."""
    return lab.at_rest().page.evaluate("() => document.querySelector('.node-messages canvas').toDataURL()")


def test_a_group_lab_shows_its_messages_and_a_message_highlights_its_cone(make_lab):
    lab = make_lab("groups-two-readers").open("?panel=node-messages")
    lab.seek(10_500_000)
    panel = lab.page.get_by_role("tabpanel", name="Messages between nodes")
    expect(panel.locator(".says")).to_contain_text("lost")
    panel.locator("summary").click()
    lab.at_rest()
    begins_s = float(panel.locator(".says").inner_text().split()[0])
    instants_s = [float(line.split()[0]) for line in panel.locator(".in-words li").all_inner_texts()]
    assert instants_s and begins_s - 0.05 <= min(instants_s) and max(instants_s) <= 10.5, (
        "the list tells of what is drawn"
    )
    grant = panel.get_by_role("button", name="grant of").first
    expect(grant).to_contain_text("the leader at n1 to ada")
    before = picture(lab)
    grant.click()
    expect(lab.page.locator("[data-part=lit]")).to_contain_text("grant of")
    assert picture(lab) != before
    lab.page.keyboard.press("Escape")
    expect(lab.page.locator("[data-part=lit]")).to_be_hidden()
    drawn = [before]
    panel.locator(".lines").focus()
    for key in ("ArrowUp", "+", "Home"):
        lab.page.keyboard.press(key)
        drawn.append(picture(lab))
    assert len(set(drawn[:3])) == 3 and lab.state("state.at_us") == 10_500_000
    panel.get_by_role("button", name="progress", exact=True).click()
    assert picture(lab) != drawn[-1]
    assert lab.troubles == []


def test_two_hundred_sessions_are_shown_in_pages(make_lab):
    lab = make_lab("groups-thousand-streams").open("?panel=node-messages")
    lab.seek(2_300_000)
    panel = lab.page.get_by_role("tabpanel", name="Messages between nodes")
    expect(panel.locator(".pager")).to_contain_text("of 200 sessions")
    first = picture(lab)
    panel.get_by_role("button", name="Sessions after").click()
    expect(panel.locator(".pager")).not_to_contain_text("1–")
    assert picture(lab) != first
    assert lab.troubles == []


def test_a_lab_of_logs_has_no_such_tab(make_lab):
    lab = make_lab("two-regions").open()
    expect(lab.page.get_by_role("tab", name="Time")).to_be_visible()
    expect(lab.page.get_by_role("tab", name="Messages between nodes")).to_have_count(0)
    assert lab.troubles == []


IN_VIEW = """() => {
  const { top, bottom, height } = document.querySelector(".node-messages .lines").getBoundingClientRect();
  return { height, hidden: bottom - document.querySelector("footer.transport").getBoundingClientRect().top };
}"""


@pytest.mark.parametrize(
    ("scenario", "at_us"),
    [("groups-two-readers", 11_000_000), ("groups-split-heals", 20_000_000), ("groups-rounds", 5_000_000)],
)
def test_the_diagram_under_the_tallest_pictures_is_in_view_without_scrolling(make_lab, scenario, at_us):
    lab = make_lab(scenario).open("?panel=node-messages")
    lab.seek(at_us)
    found = lab.at_rest().page.evaluate(IN_VIEW)
    assert found["height"] > 100 and found["hidden"] <= 0, found
