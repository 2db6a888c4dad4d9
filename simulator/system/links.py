"""The commands of every protocol, about links and later draws, and how a page shows a link.

The rules of commands are in `simulator.system.commanding`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_link
from simulator.scenarios.shared_commands import POISSON
from simulator.system.checkpoint import reseed
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.system.system import System


def change_seed(system: System, arguments: dict, begin: Begin) -> None:
    """draws.reseed: later draws are those of another seed.

    Rules: what happened up to the instant of the command stays as it was, and so does what is drawn already,
    such as the arrival of a message in flight. A draw after it is that of the same stream under the new seed.
    """
    begin()
    reseed(system, arguments["seed"], arguments["spread_millionths"])
    if arguments["arrivals"] == POISSON:
        system.publish_at_random()


def cut(system: System, arguments: dict, begin: Begin) -> None:
    """link.cut: nothing can be sent, and messages on the link are lost."""
    links = _links(system, arguments)
    if not any(link.up for link in links):
        raise CommandError("already-cut", f"{arguments['link']} is cut already", "heal it first")
    cause = begin()
    for link in links:
        if link.up:
            link.cut()
            system.link_cut(link, system.rows.link_cut(cause, cluster=link.source, peer=link.target))


def heal(system: System, arguments: dict, begin: Begin) -> None:
    """link.heal: up, with the latency of the scenario."""
    links = _links(system, arguments)
    if all(link.up and link.slow_us is None for link in links):
        raise CommandError("not-broken", f"{arguments['link']} works as declared", "cut or slow it first")
    cause = begin()
    for link in links:
        link.heal()
        system.rows.link_healed(cause, cluster=link.source, peer=link.target)
        system.link_healed(link)


def slow(system: System, arguments: dict, begin: Begin) -> None:
    """link.slow: messages sent from now on have this latency."""
    cause = begin()
    for link in _links(system, arguments):
        link.slow_us = arguments["latency_us"]
        system.rows.link_slowed(cause, cluster=link.source, peer=link.target, duration_us=link.slow_us)


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
    "draws.reseed": change_seed,
}
