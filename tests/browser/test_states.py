"""The rare states of the page are shown.

No connection, reconnected, too slow, internal error, before the first frame.
"""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import WebSocketRoute, expect

from script.support.screenshots import MISTAKE, REMEMBER_SOCKETS, tell


def test_before_the_first_frame_the_page_shows_connecting_and_keeps_the_pictures_place(make_lab):
    lab = make_lab("two-regions")
    lab.page.route_web_socket("**/ws/labs/**", lambda socket: None)
    lab.page.goto(f"{lab.site.address}{lab.made['url']}")
    expect(lab.page.locator("[data-part=sentence]")).to_have_text("Connecting…")
    assert lab.at_rest().page.locator(".stage:visible").bounding_box()["height"] > 300, (
        "the picture's place is kept, so that nothing jumps"
    )
    assert lab.troubles == []


def test_reconnecting_and_reconnected_are_shown_after_a_lost_connection(make_lab):
    lab = make_lab("two-regions").open()
    lab.seek(3_000_000)
    lab.page.evaluate(
        "() => { globalThis.Plain = WebSocket; globalThis.WebSocket = class { close() {} }; "
        "failoverLab.dropLine(); }"
    )
    expect(lab.page.locator(".lab")).to_have_attribute("data-line", "connecting")
    expect(lab.page.locator("[data-part=banners]")).to_contain_text("Reconnecting")
    lab.page.reload()
    expect(lab.page.locator(".lab")).to_have_attribute("data-line", "open")
    lab.until("state.view !== null")
    lab.page.evaluate("() => failoverLab.dropLine()")
    expect(lab.page.locator("[data-part=banners]")).to_contain_text("Reconnected: this is the current state.")
    assert lab.troubles == []


def test_the_notice_of_a_slow_page_disappears_and_that_of_an_internal_error_stays(make_lab):
    lab = make_lab("two-regions")
    lab.page.add_init_script(REMEMBER_SOCKETS)
    lab.open()
    tell({"type": "lagged", "missed": 42})(lab.page)
    banners = lab.page.locator("[data-part=banners]")
    expect(banners).to_contain_text("too slow for 42 frames")
    tell(MISTAKE)(lab.page)
    expect(banners).to_contain_text(MISTAKE["error"])
    expect(banners.get_by_role("link", name="Run it again")).to_be_visible()
    expect(banners).not_to_contain_text("too slow")
    expect(banners).to_contain_text("Internal error")
    assert lab.troubles == []


@pytest.mark.parametrize(
    ("differs", "words"),
    [
        ({"protocol": "single-log"}, "protocol is “single-log”, and this page can show only emqx and pulsar"),
        ({"wire": 1}, "The server uses wire version 1"),
    ],
)
def test_a_lab_that_the_page_cannot_show_has_a_message_with_what_to_do(make_lab, differs, words):
    """Server and page differ in version: a lasting message, no exception, and nothing that follows is
    drawn.
    """
    lab = make_lab("two-regions")

    def relay(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: socket.send(_changed(text, differs)))

    lab.page.route_web_socket("**/ws/labs/**", relay)
    lab.page.goto(f"{lab.site.address}{lab.made['url']}")
    banners = lab.page.locator("[data-part=banners]")
    expect(banners).to_contain_text(words)
    expect(banners).to_contain_text("Reload the page. If this message stays, update the server's files")
    expect(banners.get_by_role("link", name="Reload")).to_be_visible()
    expect(lab.page.locator("[data-part=sentence]")).to_have_text("This lab cannot be shown on this page.")
    assert lab.state("state.view") is None
    assert lab.troubles == []


def _changed(text: str, fields: dict[str, object]) -> str:
    """A message of the server; in a welcome some fields are changed."""
    message = json.loads(text)
    return json.dumps({**message, **fields}) if message["type"] == "welcome" else text
