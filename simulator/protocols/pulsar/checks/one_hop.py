"""No replicated entry is forwarded to a third cluster, and only a rewind repeats entries on a link.

A replicator sends the entries of its log in order of position. Only a rewind, or a cursor opened again, moves
it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch, position_words
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.logs import HERE
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario

SENT = ("message.replicated", "marker.sent")
PUT_BACK = ("replicator.rewound", "replicator.created")
_PUT_BACK_CODES = [CODE[name] for name in PUT_BACK]

WHOLE_ENTRY = 1 << 62
"""Means "all of the entry" where a batch index is compared."""


class OneHop(Check):
    """Keeps each replicator's last sent entry."""

    claim = (
        "Nothing that was replicated from another cluster is replicated on, and an entry is sent "
        "again on a link only after a rewind."
    )

    def begin(self, scenario: Scenario) -> None:
        # replicator -> last position sent, batch index in it
        self.sent: dict[tuple[int, ...], tuple[int, int]] = {}

    def copy_into(self, copy: Self) -> None:
        copy.sent = dict(self.sent)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Entries sent that were not published in this cluster, and entries sent at or below the last one."""
        broken: list[tuple[int, str]] = []
        for link, rows in stretch.of(*SENT, *PUT_BACK).groups("cluster", "peer", "topic"):
            broken += self._repeated(stretch, link, rows)
            broken += self._forwarded(stretch, link, rows, known)
        return broken

    def _repeated(self, stretch: Stretch, link: tuple[int, ...], rows: Rows) -> list[tuple[int, str]]:
        put_back = np.isin(rows["type"], _PUT_BACK_CODES)
        places = rows.positions()
        batches = np.where(put_back, WHOLE_ENTRY, rows["batch_index"])
        last = self.sent.get(link)
        first = last is None or bool(put_back[0])
        before = (int(places[0]), int(batches[0])) if last is None or first else last
        place_before = np.insert(places[:-1], 0, before[0])
        batch_before = np.insert(batches[:-1], 0, before[1])
        forward = (places > place_before) | ((places == place_before) & (batches > batch_before)) | put_back
        forward[0] |= first
        self.sent[link] = int(places[-1]), int(batches[-1])
        bad = np.flatnonzero(~forward)

        def describe(number: int) -> str:
            at = int(bad[number])
            sent, after = position_words(int(places[at])), position_words(int(place_before[at]))
            return f"{_link_words(stretch, link)} sent {sent} after {after} without a rewind between"

        return first_broken(rows.seqs[bad], describe)

    def _forwarded(
        self, stretch: Stretch, link: tuple[int, ...], rows: Rows, known: Knowledge
    ) -> list[tuple[int, str]]:
        log = known.logs.of(link[0], link[2])
        sent = rows.take(~np.isin(rows["type"], _PUT_BACK_CODES))
        places = sent.positions()
        index, found = log.find(places, sent.seqs)
        origins = log.values("origin", index)
        bad = np.flatnonzero(found & (origins != HERE))

        def describe(number: int) -> str:
            at = int(bad[number])
            place, origin = position_words(int(places[at])), stretch.name(int(origins[at]))
            return f"{_link_words(stretch, link)} forwarded {place}, which was replicated from {origin}"

        return first_broken(sent.seqs[bad], describe)


def _link_words(stretch: Stretch, link: tuple[int, ...]) -> str:
    source, target, topic = (stretch.name(number) for number in link)
    return f"the replicator {source} -> {target} of {topic}"
