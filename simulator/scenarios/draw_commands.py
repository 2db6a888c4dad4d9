"""The command that changes the seed of later draws, which is the same in every protocol."""

from __future__ import annotations

from simulator.scenarios.command import Command
from simulator.scenarios.key import Key
from simulator.scenarios.limits import LARGEST_INTEGER

SPREAD_MAX_MILLIONTHS = 900_000
"""Widest spread: a tenth of the value remains, so no duration becomes nothing."""

AS_DECLARED, POISSON = ARRIVALS = ("as-declared", "poisson")

DRAWS: tuple[Command, ...] = (
    Command(
        "draws.reseed",
        "take later random draws from another seed",
        (
            Key(
                "seed",
                "integer",
                "the seed of every draw after this instant",
                required=True,
                minimum=0,
                maximum=LARGEST_INTEGER,
                begin=1,
            ),
            Key(
                "spread",
                "share",
                "how far below their value constant durations are drawn from then on, such as latencies "
                "and processing times; the value stays the longest",
                default="0%",
                maximum=SPREAD_MAX_MILLIONTHS,
            ),
            Key(
                "arrivals",
                "choice",
                "poisson: producers with regular intervals publish at random intervals of the same mean from "
                "then on",
                choices=ARRIVALS,
                default=AS_DECLARED,
            ),
        ),
        label="change the seed of later draws",
        consequence="Everything so far stays as it was. Latencies, processing times and arrivals that are "
        "drawn from here on are those of seed {seed}.",
    ),
)
