"""Links, the same in every protocol: the commands about them (rules: see `simulator.system.commanding`)
and what a page shows of one.
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
    """link.cut: nothing passes, and what is on its way is lost."""
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


def slow(system: System, arguments: dict, begin: Begin) -> None:
    """link.slow: what is sent from now on takes this long."""
    cause = begin()
    for link in _links(system, arguments):
        link.slow_us = arguments["latency_us"]
        system.note("link.slowed", cause, link.source, link.target, link.slow_us)


def _links(system: System, arguments: dict) -> list[Link]:
    return [system.links[pair] for pair in parse_link(arguments["link"])]


def shown(link: Link) -> dict[str, Any]:
    """A link in the live state."""
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
