"""The lab page's rooms for `script/screenshots`: informative instants, panels and dialogs.

States that are rare in use (no connection, too slow, an internal error) are produced in the page.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from script.support.browsing import open_at, wait_until

Room = Callable[[Any, Any], None]
"""A function (page, site) that brings the page to the state of the picture."""

MISTAKE = {
    "type": "error",
    "code": "engine-bug",
    "error": "Internal error, this lab has stopped.",
    "hint": "Other labs go on.",
    "seed": 1,
    "at_us": 5_300_000,
    "replay": "#",
}
REMEMBER_SOCKETS = """
globalThis.spoken = [];
const Plain = globalThis.WebSocket;
globalThis.WebSocket = class extends Plain {
  constructor(...given) { super(...given); globalThis.spoken.push(this); }
};
"""
OPENED_MS = 900


def tell(message: dict[str, Any]) -> Callable[[Any], None]:
    """Pretend that the server sent a message, for states that are hard to produce quickly."""
    return lambda page: page.evaluate(
        "text => globalThis.spoken.forEach((socket) => socket.onmessage({ data: text }))", json.dumps(message)
    )


def _press(*keys: str) -> Callable[[Any], None]:
    def do(page: Any) -> None:
        for key in keys:
            page.keyboard.press(key)
            page.wait_for_timeout(250)

    return do


def _look_inside(page: Any) -> None:
    page.locator(".mark-button").last.focus()
    page.keyboard.press("Enter")


def _light_a_cone(page: Any) -> None:
    """Highlight a cone; the panel that opens with it is closed again, the highlight remains."""
    _look_inside(page)
    page.wait_for_timeout(OPENED_MS)
    page.keyboard.press("Escape")


def _break_a_region(page: Any) -> None:
    page.get_by_role("button", name="us-west", exact=True).click()


def _stop_the_lookup_service(page: Any) -> None:
    """Unloads a topic while the lookup service is stopped, so that its clients stay disconnected."""
    for command in ({"do": "lookup.stop"}, {"do": "topic.unload", "cluster": "blue", "topic": "orders"}):
        page.evaluate("command => failoverLab.link.command(command)", command)
        page.wait_for_timeout(500)
    page.evaluate("() => failoverLab.link.seek(5500000)")
    wait_until(page, "() => failoverLab.getState().at_us === 5500000")
    page.wait_for_timeout(OPENED_MS)


def _two_branches(page: Any) -> None:
    for command in (
        {"do": "link.cut", "link": "us-east <-> us-west"},
        {"do": "cluster.crash", "cluster": "us-west"},
    ):
        page.evaluate("command => failoverLab.link.command(command, { apart: true })", command)
        page.wait_for_timeout(500)
    page.keyboard.press("y")


def _cut_the_line(page: Any) -> None:
    page.evaluate("() => { globalThis.WebSocket = class { close() {} }; failoverLab.dropLine(); }")


def _room(scenario: str, at_s: float, do: Callable[[Any], None] | None = None, query: str = "") -> Room:
    def room(page: Any, site: Any) -> None:
        page.add_init_script(REMEMBER_SOCKETS)
        made = site.open_lab(scenario=scenario)
        open_at(page, f"{site.address}{made['url']}{query}#token={made['token']}", round(at_s * 1_000_000))
        wait_until(page, "() => document.querySelector('.lab').classList.contains('drawn')")
        page.wait_for_timeout(OPENED_MS)
        if do is not None:
            do(page)

    return room


LAB_ROOMS: dict[str, Room] = {
    "lab-held-back": _room("ack-hole-delayed-message", 5.5),
    "lab-three-regions": _room("three-regions", 5.2),
    "lab-one-cluster": _room("figure-4", 2.9),
    "lab-overhead": _room("overhead", 20),
    "lab-duplicates": _room("region-down-twice", 17.5),
    "lab-drained": _room("consumer-drains-backlog", 13),
    "lab-lit-cone": _room("region-down", 5.3, _light_a_cone),
    "lab-look-inside": _room("region-down", 5.3, _look_inside),
    "lab-menu": _room("region-down", 5.3, _break_a_region),
    "lab-failover-dialog": _room("region-down", 5.3, _press("o")),
    "lab-keys": _room("region-down", 5.3, _press("?")),
    "lab-text-view": _room("region-down", 5.3, _press("t")),
    "lab-branches": _room("region-down", 5.3, _two_branches),
    "lab-long-run": _room("region-down", 11, _press("n", "n", "n")),
    "lab-why-duplicates": _room("region-down", 6, query="?panel=why-duplicates"),
    "lab-what-if": _room("region-down", 6, query="?panel=what-if"),
    "lab-forecast": _room("region-down", 6, query="?panel=forecast"),
    "lab-shadows": _room("shadow-two-audiences", 3.02, query="?panel=shadows"),
    "lab-shadow-loss": _room("shadow-retention-loss", 4.4, query="?panel=shadows"),
    "lab-consumers-stay": _room("tenant-moves", 0.9, query="?panel=migration"),
    "lab-lookup-down": _room("tenant-moves", 4.8, _stop_the_lookup_service, query="?panel=migration"),
    "lab-synced-acks": _room("strategies-delayed-message", 4.9),
    "lab-blue-green": _room("tenant-blue-green", 6.3, query="?panel=migration"),
    "lab-noisy-neighbour": _room("tenant-noisy-neighbour", 6.05, query="?panel=migration"),
    "lab-move-ready": _room("tenant-moves", 4.9, query="?panel=migration"),
    "lab-move-both": _room("tenant-moves", 5.05, query="?panel=migration"),
    "lab-move-failed": _room("tenant-link-fails", 2.0, query="?panel=migration"),
    "lab-move-back": _room("tenant-rolls-back", 6.5, query="?panel=migration"),
    "lab-shadow-unseen": _room("shadow-source-unload", 2.29, query="?panel=shadows"),
    "lab-topics": _room("clients-created-it-before", 12, query="?panel=topics"),
    "lab-topics-apart": _room("drifted-partitions", 9, query="?panel=topics"),
    "lab-schema-refused": _room("schema-refused", 9, query="?panel=topics"),
    "lab-group-two-readers": _room("groups-two-readers", 11),
    "lab-group-ghost": _room("groups-killed", 9),
    "lab-group-dead-leader": _room("groups-leader-crash-late", 20),
    "lab-group-unacked": _room("groups-killed-in-a-chunk", 2.5),
    "lab-group-thousand": _room("groups-thousand-streams", 2.6, _press("+")),
    "lab-group-node-messages": _room("groups-two-readers", 10.5, query="?panel=node-messages"),
    "lab-group-layers": _room("groups-two-readers", 11, query="?panel=layers"),
    "lab-group-rounds": _room("groups-two-readers", 11, query="?panel=rounds"),
    "lab-group-what-if": _room("groups-two-readers", 14, query="?panel=what-if"),
    "lab-pulsar-admin": _room("region-down", 5.3, query="?panel=pulsar-admin"),
    "state-empty": _room("region-down", 0),
    "state-line-down": _room("region-down", 5.3, _cut_the_line),
    "state-too-slow": _room("region-down", 5.3, tell({"type": "lagged", "missed": 42})),
    "state-internal-error": _room("region-down", 5.3, tell(MISTAKE)),
}
