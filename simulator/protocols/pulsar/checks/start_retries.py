"""Backoff of a replicator after a refused start: 100 ms, doubled up to 60 s, 5 % jitter, no limit.

The rule is that of `AbstractReplicator` and PIP-433. Each refusal row holds how many starts have failed and
how long the wait is; a row without a wait means that it does not try again. A start that fails because no
link is up has no row but counts in the number, so between two refusals the wait has doubled as often as the
number grew. A successful start resets the waits, and so does a load. The next start is not before the wait is
over, and not later than two round trips after it (the second is for a request to create). Where clusters,
links or topics changed meanwhile or blocked it, it is not later than the longest wait after that. Over links
without a latency bound, a missing start is not judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NULL

FIRST_US, MOST_US, JITTER_PERCENT = 100_000, 60_000_000, 5
LONGEST_US = MOST_US * (100 + JITTER_PERCENT) // 100
HIGHEST = (MOST_US // FIRST_US).bit_length()
"""After so many doublings the wait is the longest."""

_OWN = (
    "replicator.created",
    "replicator.removed",
    "replicator.started",
    "replicator.start-refused",
    "cluster.migration-marked",
)
_AROUND = (
    "topic.loaded",
    "topic.unloaded",
    "topic.deleted",
    "topic.terminated",
    "link.cut",
    "link.healed",
    "link.slowed",
    "cluster.crashed",
    "cluster.lost",
    "cluster.restarted",
)
_CREATED, _REMOVED, _STARTED, _REFUSED, _MARKED = (CODE[name] for name in _OWN)
_LOADED, _UNLOADED, _DELETED, _TERMINATED, _CUT, _HEALED, _SLOWED, _CRASHED, _LOST, _RESTARTED = (
    CODE[name] for name in _AROUND
)

_COLUMNS = ("at_us", "type", "cluster", "peer", "topic", "count", "duration_us", "reason")
NEVER_US = 1 << 62

Link = tuple[int, int, int]
"""Fields: (from, to, log)."""


@dataclass(frozen=True, slots=True)
class _Waits:
    """`failed` starts so far, of which those above `base` count for the backoff (None: unknown).

    It waits from `since_us` to `until_us` (0: it does not wait).
    """

    failed: int = 0
    base: int | None = 0
    since_us: int = 0
    until_us: int = 0
    due_us: int = 0


class StartRetries(Check):
    """Follows each replicator's failed starts, and the changes that may block the next one."""

    claim = (
        "A replicator that the start check refused retries after 100 ms, doubled with each failed"
        " start up to 60 s with 5 % jitter, without end, unless its row has no wait."
    )

    def begin(self, scenario: Scenario) -> None:
        self.judges = not scenario.tenants  # a migration starts and ends replicators at other times
        latencies = [link.latency for link in scenario.links.values()]
        self.bounded = all(latency.kind in ("constant", "uniform") for latency in latencies)
        self.trip_us = max((max(latency.value_us, latency.high_us) for latency in latencies), default=0)
        self.waits: dict[Link, _Waits] = {}
        self.next_due_us = NEVER_US  # before it, no start is overdue
        self.disturbed_us = -1
        self.down: dict[int, None] = {}
        self.cut: dict[tuple[int, int], None] = {}
        self.away: dict[tuple[int, int], None] = {}  # logs of a cluster that no broker serves
        self.terminated: dict[tuple[int, int], None] = {}  # logs that accept no producer

    def copy_into(self, copy: Self) -> None:
        copy.judges, copy.bounded, copy.trip_us = self.judges, self.bounded, self.trip_us
        copy.next_due_us, copy.disturbed_us = self.next_due_us, self.disturbed_us
        copy.waits, copy.down, copy.cut, copy.away = (
            dict(self.waits),
            dict(self.down),
            dict(self.cut),
            dict(self.away),
        )
        copy.terminated = dict(self.terminated)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Waits of the wrong length, starts at the wrong time, and missing starts."""
        if not self.judges:
            return
        rows = stretch.of(*_OWN, *_AROUND)
        if len(rows):
            stretch.read_more("duration_us")
            for seq, *row in rows.records(*_COLUMNS):
                yield from self._overdue(stretch, row[0])
                yield from (
                    (seq, f"{_words(stretch, (row[2], row[3], row[4]))} {why}")
                    for why in self._take(stretch, *row)
                )
                if not self.judges:
                    return
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def _take(
        self,
        stretch: Stretch,
        at_us: int,
        kind: int,
        cluster: int,
        peer: int,
        topic: int,
        count: int,
        duration_us: int,
        reason: int,
    ) -> Iterator[str]:
        link = cluster, peer, topic
        if kind in (_STARTED, _REFUSED) and link in self.waits and at_us < self.waits[link].until_us:
            yield f"was tried {(self.waits[link].until_us - at_us) / 1e6:.3f} s before its wait was over"
        if kind == _REFUSED:
            yield from self._refused(link, at_us, count, duration_us)
        elif kind == _CREATED:
            self.waits[link] = _Waits()
        elif kind in (_STARTED, _REMOVED):
            self._restart(link)
        elif kind == _MARKED:
            self.judges, self.waits, self.next_due_us = False, {}, NEVER_US
        else:
            self.disturbed_us = at_us
            self._around(
                kind,
                cluster,
                peer,
                topic,
                duration_us,
                kind == _UNLOADED and stretch.name(reason) == "deleted",
            )

    # --- a refusal

    def _refused(self, link: Link, at_us: int, count: int, wait_us: int) -> Iterator[str]:
        before = self.waits.get(link, _Waits(base=None))
        if count <= before.failed:
            yield f"was refused for the {count}. time after {before.failed} failed starts"
        if wait_us == NULL:  # a closed producer does not try again
            self._wait(link, _Waits(count, None))
            return
        doubled = _doubled(wait_us)
        if doubled is None:
            yield f"waits {wait_us / 1e6:.3f} s, which is 100 ms doubled no number of times"
        elif before.base is None and count - 1 - doubled < before.failed and doubled < HIGHEST:
            yield f"waits {wait_us / 1e6:.3f} s after a new beginning, as after {doubled + 1} failed starts"
        elif before.base is not None and doubled != min(count - 1 - before.base, HIGHEST):
            yield f"waits {wait_us / 1e6:.3f} s after {count - before.base} failed starts"
        base = before.base if before.base is not None else count - 1 - (doubled or 0)
        self._wait(link, _Waits(count, base, at_us, at_us + wait_us, at_us + wait_us + 4 * self.trip_us))

    def _restart(self, link: Link) -> None:
        before = self.waits.get(link)
        if before is not None:
            self.waits[link] = _Waits(before.failed, None)

    # --- overdue starts

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        """Replicators whose start is missing at the first row after it was due; each is named once."""
        if not self.bounded or now_us <= self.next_due_us:
            return
        self.next_due_us = NEVER_US
        for link in self.waits:
            while 0 < (due_us := self.waits[link].due_us) < now_us:
                later_us = self._later(link, self.waits[link])
                if later_us is None:
                    seq = stretch.first + int(np.searchsorted(stretch.values("at_us"), due_us, side="right"))
                    yield (
                        seq,
                        (
                            f"{_words(stretch, link)} was to be tried again at "
                            f"{self.waits[link].until_us / 1e6:.3f} s, and was not"
                        ),
                    )
                self._wait(link, replace(self.waits[link], due_us=later_us or 0))
            self._wait(link, self.waits[link])

    def _later(self, link: Link, one: _Waits) -> int | None:
        """A later deadline for the start, after a change or outage; None without one."""
        slack_us = LONGEST_US + 4 * self.trip_us
        if self.disturbed_us >= one.since_us and one.due_us < self.disturbed_us + slack_us:
            return self.disturbed_us + slack_us
        return one.due_us + slack_us if self._in_the_way(link) else None

    def _wait(self, link: Link, one: _Waits) -> None:
        self.waits[link] = one
        if one.due_us:
            self.next_due_us = min(self.next_due_us, one.due_us)

    def _in_the_way(self, link: Link) -> bool:
        source, target, log = link
        return (
            (source, target) in self.cut
            or target in self.down
            or (target, log) in self.away
            or (target, log) in self.terminated
        )

    def _around(self, kind: int, cluster: int, peer: int, topic: int, latency_us: int, deleted: bool) -> None:
        if kind == _UNLOADED:
            if deleted:
                self.terminated.pop((cluster, topic), None)
            else:
                self.away[cluster, topic] = None
            for link in [link for link in self.waits if (link[0], link[2]) == (cluster, topic)]:
                self._restart(link)
        elif kind == _LOADED:
            self.away.pop((cluster, topic), None)
        elif kind == _TERMINATED:
            self.terminated[cluster, topic] = None
        elif kind == _CUT:
            self.cut[cluster, peer] = None
        elif kind == _HEALED:
            self.cut.pop((cluster, peer), None)
        elif kind == _SLOWED:
            self.trip_us = max(self.trip_us, latency_us)
        elif kind in (_CRASHED, _LOST):
            self.down[cluster] = None
        elif kind == _RESTARTED:
            self.down.pop(cluster, None)


def _doubled(wait_us: int) -> int | None:
    """How many times 100 ms were doubled for this wait, within the jitter."""
    for times in range(HIGHEST + 1):
        wanted_us = min(FIRST_US << times, MOST_US)
        if abs(wait_us - wanted_us) * 100 <= wanted_us * JITTER_PERCENT:
            return times
    return None


def _words(stretch: Stretch, link: Link) -> str:
    return f"{stretch.name(link[2])}'s replicator {stretch.name(link[0])} -> {stretch.name(link[1])}"
