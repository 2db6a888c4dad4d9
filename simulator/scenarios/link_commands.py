"""Commands about links, which are the same in every protocol: links join clusters or nodes."""

from __future__ import annotations

from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

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
