"""The protocol that exists only in the tests is drawn in a browser.

Its manifest is added to the page's table, as one import and one name there would do, and frames of its lab
are sent on the socket.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Route, WebSocketRoute, expect

from simulator import ENGINE_VERSION, World, load_scenario_text
from tests.third_protocol import registered
from visualizer.live.frames import FrameMaker, Playing
from visualizer.live.welcome import welcome
from visualizer.pages import page_scripts
from visualizer.questions.curve import RiskCurves

OWN = Path(__file__).resolve().parents[1] / "third_protocol" / "page" / "manifest.js"
FOLDER = "js/protocols/single-log"
TEXT = """\
format: 1
name: one-crash
title: One crash
family: single-log
until: 20s
servers:
  alpha: {every: 500ms, count: 20, persistEach: 4}
"""


def messages() -> list[str]:
    """What the server sends to the page of such a lab: its welcome, a first frame, one after a crash."""
    scenario = load_scenario_text(TEXT)
    described = {"scenario_text": TEXT, "seed": 1, "title": scenario.title, "scenario_name": scenario.name}
    lab: Any = SimpleNamespace(pk="third", engine_version=ENGINE_VERSION, **described)
    world = World.from_scenario(scenario)
    frames = FrameMaker(world, RiskCurves(world, scenario))
    frames.begin_epoch(1)
    first = frames.next(Playing(False, 1.0), False)[0].text
    world.run(3_200_000)
    assert world.apply({"do": "server.crash", "server": "alpha"}).ok
    return [json.dumps(welcome(lab, is_owner=True)), first, frames.next(Playing(False, 1.0), False)[0].text]


def with_third(script: str) -> str:
    """The page's script with the manifest's module in it and its two words in the table."""
    source = OWN.read_text(encoding="utf-8").replace("../../../static/js/", "../../")
    module = page_scripts._as_function(f"{FOLDER}/manifest.js", source)
    table = script.index("// js/protocols/table.js\n")
    before, after = script[:table], script[table:]
    taken = f'const {{ SINGLE_LOG }} = modules["{FOLDER}/manifest.js"];'
    after = after.replace(
        "const PROTOCOLS = [EMQX, PULSAR];", f"{taken} const PROTOCOLS = [EMQX, PULSAR, SINGLE_LOG];", 1
    )
    assert "SINGLE_LOG" in after
    return before + module + after


def test_a_lab_of_the_third_protocol_is_drawn_with_its_servers_events_and_menu(
    make_lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered.register(monkeypatch)
    sent = messages()
    lab = make_lab("two-regions")

    def script(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=with_third(answer.text()))

    def line(socket: WebSocketRoute) -> None:
        def on_message(text: str) -> None:
            if json.loads(text)["type"] == "hello":
                for message in sent:
                    socket.send(message)

        socket.on_message(on_message)

    lab.page.route("**/scripts/lab.js", script)
    lab.page.route_web_socket("**/ws/labs/**", line)
    lab.open().at_rest()
    page = lab.page
    expect(page.locator("[data-part=sentence]")).to_have_text("0 servers are up.")
    expect(page.locator("section.logs > ul > li")).to_have_text(
        ["alpha is down: 6 stored, read up to 5, persisted up to 3."]
    )
    expect(page.locator(".lab")).to_have_class("lab drawn single-log without-snapshots without-peers")
    expect(page.locator("[data-part=events]")).to_contain_text("alpha crashed")
    page.keyboard.press("b")
    expect(page.locator("[role=menu]")).to_contain_text("crash alpha")
    expect(page.locator(".menu-says")).to_have_text(
        "alpha stops at once. It goes back to entry 3 when it is up again."
    )
    assert lab.troubles == []
