"""Links, which are the same in every protocol: their commands, and how a page shows one.

The rules of commands are in `simulator.system.commanding`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_link
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.system.system import System


def cut(system: System, arguments: dict, begin: Begin) -> None:
    """link.cut: nothing can be sent, and messages on the link are lost."""
    links = _links(system, arguments)
    if not any(link.up for link in links):
        raise CommandError("already-cut", f"{arguments['link']} is cut already", "heal it first")
    cause = begin()
    for link in links:
        if link.up:
            link.cut()
            system.link_cut(link, system.note("link.cut", cause, link.source, link.target))


def heal(system: System, arguments: dict, begin: Begin) -> None:
    """link.heal: up, with the latency of the scenario."""
    links = _links(system, arguments)
    if all(link.up and link.slow_us is None for link in links):
        raise CommandError("not-broken", f"{arguments['link']} works as declared", "cut or slow it first")
    cause = begin()
    for link in links:
        link.heal()
        system.note("link.healed", cause, link.source, link.target)
        system.link_healed(link)


def slow(system: System, arguments: dict, begin: Begin) -> None:
    """link.slow: messages sent from now on have this latency."""
    cause = begin()
    for link in _links(system, arguments):
        link.slow_us = arguments["latency_us"]
        system.note("link.slowed", cause, link.source, link.target, link.slow_us)


def _links(system: System, arguments: dict) -> list[Link]:
    return [system.links[pair] for pair in parse_link(arguments["link"])]


def shown(link: Link) -> dict[str, Any]:
    """A link as the live state shows it."""
    return {
        "state": "up" if link.up else "cut",
        "latency_us": link.nominal_us if link.slow_us is None else link.slow_us,
        "slowed": link.slow_us is not None,
    }


HANDLERS: dict[str, Handler] = {
    "link.cut": cut,
    "link.heal": heal,
    "link.slow": slow,
}
