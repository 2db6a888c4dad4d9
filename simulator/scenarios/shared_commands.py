"""The commands that every protocol has: about links, and about the seed of later draws."""

from __future__ import annotations

from simulator.scenarios.declarations import Command, Key
from simulator.scenarios.limits import LARGEST_INTEGER

# --- commands about links, which are the same in every protocol: links join clusters or nodes


_LINK = Key("link", "link", "which link: a -> b one way, a <-> b both", required=True)

REFUSALS: dict[str, str] = {
    "already-cut": "the link is cut already",
    "not-broken": "the link works as declared",
}

LINKS: tuple[Command, ...] = (
    Command(
        "link.cut",
        "cut a link: nothing passes",
        (_LINK,),
        refusals=("already-cut",),
        label="cut a link",
        consequence="Nothing crosses {link} any more. What is in flight is lost.",
    ),
    Command(
        "link.heal",
        "heal a cut or slowed link",
        (_LINK,),
        refusals=("not-broken",),
        label="heal a link",
        consequence="{link} works again.",
    ),
    Command(
        "link.slow",
        "change a link's latency",
        (_LINK, Key("latency", "duration", "the new latency", required=True, begin="400ms")),
        label="slow a link",
        consequence="Everything on {link} takes {latency|longer}; order is kept.",
    ),
)


# --- the command that changes the seed of later draws, which is the same in every protocol


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
