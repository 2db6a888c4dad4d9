"""A lab in a frame of a page of another site, with the code that the page of the lab offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from script.support.browsing import wait_until
from tests.browser.conftest import Lab, fresh_context, note_troubles
from tests.browser.test_fits import MISFITS


class OneDocument(BaseHTTPRequestHandler):
    """Answers every request with the document of its server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.server.text.encode())  # type: ignore[attr-defined]

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@pytest.fixture
def elsewhere() -> Iterator[Callable[[Page, str], Page]]:
    """Opens a page of another site on this machine that has the code in it.

    A page that Playwright makes up has no address, and Chromium keeps such pages from this machine.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), OneDocument)
    Thread(target=server.serve_forever, daemon=True).start()

    def read(page: Page, code: str) -> Page:
        server.text = (  # type: ignore[attr-defined]
            f'<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,"><h1>Elsewhere</h1>{code}'
        )
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        return page

    yield read
    server.shutdown()
    server.server_close()


@pytest.fixture
def reading(browser: Any, site: Any, elsewhere: Any) -> Iterator[Callable[[str], Page]]:
    """Opens a page of another site in a browser of its own, in which no problem may occur."""
    context = fresh_context(browser)
    troubles: list[str] = []

    def read(code: str) -> Page:
        page = elsewhere(context.new_page(), code)
        note_troubles(page, site.address, troubles)
        return page

    yield read
    context.close()
    assert troubles == []


def code_of(lab: Lab, *boxes: str, theme: str = "") -> str:
    """The embed code of the dialog, with only these boxes checked."""
    page = lab.page
    page.get_by_role("button", name="Share", exact=True).click()
    page.locator("details[data-part=embed]").evaluate("details => { details.open = true }")
    for box in ("instant", "controls", "panel"):
        page.locator(f".embed-choices input[name={box}]").set_checked(box in boxes)
    page.get_by_label("theme").select_option(theme)
    code = page.get_by_label("Embed code").input_value()
    page.keyboard.press("Escape")
    return code


def test_a_frame_with_controls_is_a_copy_of_its_reader(open_lab, reading):
    lab = open_lab("two-regions")
    lab.seek(3_000_000)
    code = code_of(lab, "instant", "controls", "panel", theme="dark")
    lab.seek(5_000_000)
    page = reading(code)
    frame = page.frame_locator("iframe")
    expect(frame.locator("[data-part=now]")).to_have_value("3.000")
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    expect(frame.get_by_role("tab", name="Time")).to_be_visible()
    expect(frame.locator("header.top")).to_be_hidden()
    frame.get_by_role("button", name="Step", exact=True).click()
    expect(frame.locator("[data-part=now]")).not_to_have_value("3.000")
    assert lab.state("state.at_us") == 5_000_000 and lab.state("state.branches.length") == 1


def test_a_live_frame_follows_the_lab_and_has_no_controls(open_lab, reading):
    lab = open_lab("two-regions")
    lab.seek(3_000_000)
    page = reading(code_of(lab))
    frame = page.frames[1]
    wait_until(frame, "() => globalThis.failoverLab?.getState().at_us === 3000000")
    lab.seek(5_000_000)
    wait_until(frame, "() => globalThis.failoverLab.getState().at_us === 5000000")
    expect(page.frame_locator("iframe").locator("footer.transport")).to_be_hidden()
    assert lab.made["id"] in frame.url, "the lab itself, not a copy"


def test_a_frame_of_another_site_does_not_use_the_keys_of_its_reader(open_lab, elsewhere):
    lab = open_lab("two-regions")
    code = code_of(lab)
    other = elsewhere(lab.page.context.new_page(), code)
    frame = other.frames[1]
    wait_until(frame, "() => Boolean(globalThis.failoverLab?.getState().welcome)")
    assert not frame.evaluate("globalThis.failoverLab.getState().welcome.owner")
    assert lab.state("state.welcome.owner")


LOGS_AT = f"""async ([lanes, lowest]) => {{
  for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame); // the width is noticed, then drawn
  const box = (name) => document.querySelector(name).getBoundingClientRect();
  const [stage, still] = [box("[data-part=stage]"), box("canvas[data-part=still]")];
  const controls = document.querySelector(".transport").offsetParent ? box(".transport").top : innerHeight;
  const names = [...document.querySelectorAll(".lane-heading")].map((one) => one.getBoundingClientRect());
  const bad = ({MISFITS})();
  if (still.height < lowest) bad.push(`the logs are ${{Math.round(still.height)}} px high`);
  if (stage.top < 0 || stage.bottom > controls + 1) bad.push(`${{Math.round(stage.bottom - controls)}} px of the logs are not in view`);
  if (names.filter(({{ top, bottom, left, right }}) => top >= stage.top && bottom <= stage.bottom && left >= stage.left - 1 && right <= stage.right + 1).length < lanes) bad.push("a lane has no heading in the logs");
  return bad;
}}"""
"""What is wrong with a frame of the width that it just got."""


@pytest.mark.parametrize(
    ("scenario", "lanes", "at_us"), [("two-regions", 2, 3_000_000), ("three-regions", 3, 5_200_000)]
)
@pytest.mark.parametrize("query", ["?embed=1", "?embed=1&panel=1&controls=1"])
def test_a_frame_of_every_width_shows_the_logs(make_lab, scenario, lanes, at_us, query):
    made = make_lab(scenario).open()
    made.seek(at_us)
    lab, bad = make_lab(of=made, viewport={"width": 320, "height": 560}), {}
    lab.open(query).at_rest()
    for width in range(320, 1401, 20):
        lab.page.set_viewport_size({"width": width, "height": 560})
        found = lab.page.evaluate(LOGS_AT, [lanes, 100 * lanes])
        if found:
            bad[width] = found
    assert bad == {}


NOTE_TEXTS = """() => {
  globalThis.texts = new Set();
  const plain = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...given) {
    if (this.canvas.dataset.part === "still") texts.add(text);
    return plain.call(this, text, ...given);
  };
  const reset = CanvasRenderingContext2D.prototype.reset;
  CanvasRenderingContext2D.prototype.reset = function () {
    if (this.canvas.dataset.part === "still") texts.clear();
    return reset.call(this);
  };
}"""
"""From now on `texts` has what is written in the logs."""


def test_labels_without_room_are_named(make_lab):
    lab = make_lab("three-regions", viewport={"width": 800, "height": 560})
    lab.page.add_init_script(f"({NOTE_TEXTS})()")
    lab.open("?embed=1&panel=1&controls=1").seek(5_200_000)
    lab.page.set_viewport_size({"width": 820, "height": 560})
    lab.at_rest()
    left_out = lab.page.locator("[data-part=left-out]")
    left_out.locator("summary").click()
    lines = left_out.locator("li").all_inner_texts()
    expect(left_out.locator("summary")).to_have_text(
        f"{len(lines)} label{'s' if len(lines) != 1 else ''} without room"
    )
    assert lines
    texts = lab.page.evaluate("() => [...texts]")
    assert any(text.endswith("duplicates") for text in texts), "other labels have room"
    for line in lines:
        lane, label = line.split(": ", 1)
        assert lane in ("us-west", "us-east", "eu-central") and label not in texts
