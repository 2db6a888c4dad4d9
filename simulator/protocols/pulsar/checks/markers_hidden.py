"""No marker reaches a client: the dispatcher acknowledges markers itself."""

from __future__ import annotations

from collections.abc import Iterable

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch, position_words
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.logs import MARKER, Log
from simulator.trace.registry import NULL


class MarkersHidden(Check):
    """Looks up the stored entry of each delivered message."""

    claim = "No marker reaches a client."

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Deliveries of an entry that holds a marker, or of a message that no producer sent."""
        broken: list[tuple[int, str]] = []
        for (cluster, topic), rows in stretch.of("message.delivered").groups("cluster", "topic"):
            broken += self._delivered_markers(stretch, rows, known.logs.of(cluster, topic))
        return broken

    def _delivered_markers(self, stretch: Stretch, rows: Rows, log: Log) -> list[tuple[int, str]]:
        index, found = log.find(rows.positions(), rows.seqs)
        bad = rows.take((rows["producer"] == NULL) | found & (log.values("producer", index) == MARKER))
        places = bad.positions()

        def describe(number: int) -> str:
            subscription, cluster, topic = (
                stretch.name(int(bad[name][number])) for name in ("subscription", "cluster", "topic")
            )
            place = position_words(int(places[number]))
            return (
                f"a consumer of {subscription} at {cluster} was handed {place} of {topic}, which is a marker"
            )

        return first_broken(bad.seqs, describe)
