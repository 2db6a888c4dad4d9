"""The command that changes the seed of later draws.

Rules: what happened up to the instant of the command stays as it was, and so does what is drawn already, such
as the arrival of a message in flight. A draw after it is that of the same stream under the new seed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.scenarios.draw_commands import POISSON
from simulator.system.checkpoint import reseed
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.system.system import System


def change_seed(system: System, arguments: dict, begin: Begin) -> None:
    """draws.reseed: later draws are those of another seed."""
    begin()
    reseed(system, arguments["seed"], arguments["spread_millionths"])
    if arguments["arrivals"] == POISSON:
        system.publish_at_random()


HANDLERS: dict[str, Handler] = {"draws.reseed": change_seed}
