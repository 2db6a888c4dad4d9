"""Two branches on one clock, driven in a browser."""

from __future__ import annotations

from playwright.sync_api import expect

from script.support.browsing import wait_until


def test_two_branches_play_on_one_clock(open_lab):
    lab = open_lab("two-regions")
    lab.seek(6_000_000)
    lab.seek(3_000_000)
    lab.page.evaluate("() => failoverLab.link.command({ do: 'link.cut', link: 'us-east -> us-west' })")
    lab.until("state.branches.length === 2 && state.view.branch === 1")
    lab.page.evaluate("() => document.querySelector('[data-act=branches]').click()")
    lab.page.get_by_role("link", name="Compare with the shown branch").click()
    page = lab.page
    expect(page.get_by_role("heading", level=1)).to_have_text("Both runs are the same until 3.000 s.")
    expect(page.locator("[data-part=clock]")).to_have_text("3.000 s")
    only_right = page.get_by_role("button", name="only right").first
    expect(only_right).to_contain_text("cut a link: us-east → us-west")
    frames = (
        "[...document.querySelectorAll('iframe')].map((frame) => frame.contentWindow.failoverLab.getState())"
    )
    page.get_by_role("button", name="Next difference").click()
    page.locator("[data-part=differences] button").last.click()
    wait_until(page, f"() => {{ const [a, b] = {frames}; return a.at_us === b.at_us && a.at_us > 3e6; }}")
    states = page.evaluate(f"() => {frames}.map((state) => state.view.links['us-east -> us-west'].state)")
    assert states == ["up", "cut"], "the later branch is on the right"
    expect(page.locator("[data-part=only]")).to_be_visible()
    legends = page.evaluate(
        "() => [...document.querySelectorAll('iframe')].map((frame) => {"
        " const item = frame.contentDocument.querySelector('[data-marks=only-here]');"
        " item.click(); return item.textContent; })"
    )
    assert legends == ["only in this run"] * 2
    for number in range(2):
        none = f"document.querySelectorAll('iframe')[{number}].contentDocument.querySelector('[data-part=legend-none]')"
        wait_until(page, f"() => {none} && {none}.textContent === ''")


def test_a_kept_set_up_is_opened_beside_a_changed_one(open_page):
    page = open_page("/my-set-up/", "() => !document.querySelector('[data-act=keep]').hidden")
    compare = page.get_by_role("button", name="Compare with the kept one")
    expect(compare).to_be_disabled()
    page.get_by_role("button", name="Keep to compare").click()
    page.evaluate("() => { location.search = '?period=200'; }")
    expect(compare).to_be_enabled()
    compare.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Both runs are the same until")
    expect(page.get_by_role("table").first).to_be_visible()
    assert "#left=" in page.url and "&right=" in page.url
