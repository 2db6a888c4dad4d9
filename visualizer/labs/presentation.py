"""A lab's presentation to a class: who presents, and what is shown.

Rules: it is kept by the process that runs the lab. Followers are viewers of the lab, so its frames show them
the presenter's instant and branch. Only what no frame contains is kept here: tour step, highlight, selected
item, panel. It is not stored; the presenter's page sends it again after a restart. Several changes within
`EVERY_S` are sent as one message. A second is a tick of the hub, no clock is read. Predictions of the class
are kept under names that pages made at random, until the presentation ends. How often each one was given is
sent when the presenter reveals it. A page that connects again under another name counts once: an address has
at most as many predictions as it had pages at once, for which a keyed hash of it is kept as long.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from visualizer.live.wire import Refused

EVERY_S = 0.1
"""Shortest time between two messages about a presentation."""

AWAY_TICKS = 3
"""Seconds without the presenter's page until followers see a notice: a reload takes less."""

PREDICTIONS_PER_STEP = 1_000
"""Predictions of one step that are kept, one for each page's name."""

PREDICTIONS_MOST = 10_000
"""Predictions of a presentation that are kept: about 2 MB."""

DISTINCT_SENT = 100
"""Different predictions of a step that are sent, the most frequent ones; `others` counts the rest."""

NOBODY: dict[str, Any] = {"type": "presentation", "code": None}
"""The message of a lab that is not presented."""

Send = Callable[[dict[str, Any]], None]


class Pages(NamedTuple):
    """The pages of one address in the room: its keyed hash, their number, and the names that predict."""

    address: str
    total: int
    names: tuple[str, ...]


ANYWHERE = Pages("", 0, ())
"""Without an address no bound applies, as for other quotas."""


class Presenting:
    """The presentation of one lab. `send` sends a message to every page, here and in other processes."""

    def __init__(self, send: Send, facts: dict[str, Any] | None, before: dict[str, Any]) -> None:
        """`facts` are those of `Presentation.facts`; `before` is the last message that this process saw."""
        self._send = send
        self._facts: dict[str, Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._by, self._shown = None, None
        self._followers, self._here, self._away_ticks = 0, False, 0
        self._given: dict[int, dict[str, str]] = {}  # predictions by step, by the page's name
        self._addresses: dict[str, str] = {}  # the keyed hash of its address, by the page's name
        self._pages: dict[str, int] = {}  # the most pages of an address at once, by its keyed hash
        self._asked: int | None = None  # the step whose question was asked last
        self._revealed: int | None = None  # the step whose predictions the presenter's page shows
        if facts is not None:
            self._facts = dict(facts)
            if before.get("code") == facts["code"]:  # it was presented in another process
                self._by, self._shown = before["by"], before["shown"]
                self._asked = (before.get("predictions") or {}).get("step")  # pages send theirs again
            self._soon()

    @property
    def message(self) -> dict[str, Any]:
        """The message for every page, about the state now."""
        if self._facts is None:
            return NOBODY
        return {
            "type": "presentation",
            "code": self._facts["code"],
            "ends_at": self._facts["ends_at"],
            "by": self._by,
            "here": self._here or self._away_ticks < AWAY_TICKS,
            "followers": self._followers,
            "shown": self._shown,
            "predictions": self._predictions(),
        }

    def _predictions(self) -> dict[str, Any] | None:
        """How many followers have predicted at the step asked last, and what once it is revealed."""
        if self._asked is None:
            return None
        given = self._given.get(self._asked, {})
        counts = None
        if self._revealed == self._asked:
            counts = Counter(given.values()).most_common(DISTINCT_SENT)
        others = 0 if counts is None else len(given) - sum(count for _, count in counts)
        return {"step": self._asked, "answers": len(given), "counts": counts, "others": others}

    def set(self, facts: dict[str, Any] | None) -> None:
        """Begin the presentation, or end it with None."""
        if facts is None or self._facts is None or self._facts["code"] != facts["code"]:
            self._by, self._shown, self._away_ticks = None, None, 0
            self._given, self._asked, self._revealed = {}, None, None
            self._addresses, self._pages = {}, {}
        self._facts = None if facts is None else dict(facts)
        self._soon()

    def show(self, by: str, shown: dict[str, Any]) -> None:
        """Show on every follower's page what the page `by` shows. Raises Refused."""
        if self._facts is None:
            raise Refused(
                "not-presented", "This lab is not presented.", "Present it first: Share, Present to a class."
            )
        self._by, self._shown = by, shown
        tour = shown.get("tour") or {}
        self._asked = tour["step"] if tour.get("asks") else self._asked
        self._revealed = tour.get("reveals")
        self._soon()

    def predict(self, name: str, step: int, guess: str, pages: Pages = ANYWHERE) -> None:
        """Keep a page's prediction for the step asked last; a further one replaces it. Raises Refused."""
        if self._facts is None or step != self._asked:
            raise Refused(
                "not-asked",
                f"The presenter does not ask for a prediction at step {step}.",
                "Predict while the presenter's step has a question.",
            )
        if self._revealed == step:
            raise Refused(
                "revealed", f"The predictions of step {step} are revealed.", "Predict at the next question."
            )
        given = self._given.setdefault(step, {})
        if name not in given and pages.address:
            self._make_room(given, pages)
        kept = sum(map(len, self._given.values()))
        if name not in given and (len(given) >= PREDICTIONS_PER_STEP or kept >= PREDICTIONS_MOST):
            raise Refused(
                "too-many",
                f"{PREDICTIONS_PER_STEP:,} pages have predicted here, or {PREDICTIONS_MOST:,} in all.",
                "The predictions that were given before count.",
            )
        given[name] = guess
        if pages.address:
            self._addresses[name] = pages.address
            self._pages[pages.address] = max(self._pages.get(pages.address, 1), pages.total)
        self._soon()

    def _make_room(self, given: dict[str, str], pages: Pages) -> None:
        """Drop what an address has predicted beyond its pages, the newest first whose page has gone."""
        most = max(self._pages.get(pages.address, 1), pages.total)
        own = [one for one in given if self._addresses.get(one) == pages.address]
        while len(own) >= most:
            gone = next((one for one in reversed(own) if one not in pages.names), own[-1])
            own.remove(gone)
            del given[gone], self._addresses[gone]

    def count(self, followers: int, here: bool) -> None:
        """Take the number of followers' pages, and whether the presenter's page is connected."""
        if here:
            self._away_ticks = 0
        if (followers, here) != (self._followers, self._here):
            self._followers, self._here = followers, here
            self._soon()

    def second_passed(self) -> None:
        """End the presentation when its time is over, and notice that the presenter has disconnected."""
        if self._facts is None:
            return
        self._facts["left_s"] -= 1
        if self._facts["left_s"] <= 0:
            self.set(None)
        elif not self._here and self._away_ticks < AWAY_TICKS:
            self._away_ticks += 1
            if self._away_ticks == AWAY_TICKS:
                self._soon()

    def close(self) -> None:
        """Send nothing more."""
        if self._timer is not None:
            self._timer.cancel()

    def _soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._now)

    def _now(self) -> None:
        self._timer = None
        self._send(self.message)
