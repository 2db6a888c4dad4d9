"""Backoff of a consumer that lost its broker: 100 ms, doubled with each attempt up to 60 s.

The rule is `Backoff` of Pulsar's client, without a limit on tries. No row records a try, but rows record when
the consumer lost its broker and when it is connected again, which can only be at a try. A consumer waits once
for all partitions that it has lost. Judged are consumers that name their cluster, were connected to
everything before, and may connect whenever the broker serves the topic. Exclusive consumers, those with a
schema or a role, and runs where connecting takes time or policies create and delete topics are not judged. A
consumer that is started, stopped or redirected is judged as new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Distribution, Scenario
from simulator.scenarios.settings import OPTIONS

FIRST_US, MOST_US = 100_000, 60_000_000
_READ = (
    "consumer.connected",
    "consumer.disconnected",
    "client.changed",
    "client.redirected",
    "topic.loaded",
    "topic.unloaded",
    "topic.partitions-changed",
)
_CONNECTED, _LEFT, _CHANGED, _SENT_ON, _LOADED, _UNLOADED, _GROWN = (CODE[name] for name in _READ)
NEVER_US = 1 << 62
_BY_BROKER = ("unload", "crash")

Place = tuple[int, int]
"""Fields: (cluster, log)."""


class _Wait(NamedTuple):
    """`lost` logs, and the next try at `next_us`, after `tries` that failed."""

    lost: tuple[Place, ...]
    next_us: int
    tries: int

    def after(self) -> _Wait:
        return self._replace(
            next_us=self.next_us + min(FIRST_US << min(self.tries + 1, 20), MOST_US), tries=self.tries + 1
        )


class ConsumerReconnects(Check):
    """Keeps each consumer's connections and lost logs, and the topics that brokers serve."""

    claim = (
        "A consumer that lost its broker reconnects after 100 ms, doubled with each attempt up to"
        " 60 s, without end, and succeeds at the first attempt at which the broker serves its "
        "topic."
    )

    def begin(self, scenario: Scenario) -> None:
        topics_change = bool(scenario.namespaces or scenario.tenants) or any(
            topic.exists is not None for topic in scenario.topics.values()
        )
        slow = any(broker.connect_us for broker in scenario.brokers.values())
        subscribing = scenario.options.get(
            "subscribeTime", OPTIONS["subscribeTime"].default_under(scenario.options)
        )
        slow = slow or subscribing != Distribution()
        judged = () if topics_change or slow else scenario.consumers.items()
        self.judged = {
            name: max(1, scenario.topics[scenario.subscriptions[spec.subscription].topic].partitions or 0)
            for name, spec in judged
            if scenario.subscriptions[spec.subscription].type != "Exclusive"
            and spec.schema is None
            and spec.role is None
        }
        self.connected: dict[int, tuple[Place, ...]] = {}
        self.waits: dict[int, _Wait] = {}
        self.served: dict[Place, int] = {}  # the time since when brokers serve it
        self.next_due_us = NEVER_US

    def copy_into(self, copy: Self) -> None:
        copy.judged, copy.next_due_us = self.judged, self.next_due_us
        copy.connected, copy.waits, copy.served = dict(self.connected), dict(self.waits), dict(self.served)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Consumers that reconnected between their tries, or not at a try."""
        if not self.judged:
            return
        for seq, kind, at_us, cluster, topic, client, reason in stretch.of(*_READ).records(
            "type", "at_us", "cluster", "topic", "client", "reason"
        ):
            yield from self._overdue(stretch, at_us)
            place = cluster, topic
            if kind == _LOADED:
                self.served[place] = at_us
            elif kind == _UNLOADED:
                self.served.pop(place, None)
            elif kind == _GROWN:
                # one that connects late to a new partition is in backoff for it: judge none from now on
                self.judged, self.waits, self.next_due_us = {}, {}, NEVER_US
                return
            elif stretch.name(client) in self.judged:
                yield from (
                    (seq, why)
                    for why in self._take(
                        stretch, kind, at_us, place, client, stretch.name(reason) in _BY_BROKER
                    )
                )
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def _take(
        self, stretch: Stretch, kind: int, at_us: int, place: Place, client: int, by_broker: bool
    ) -> Iterator[str]:
        wait, connected = self.waits.get(client), self.connected.get(client, ())
        if kind == _LEFT:
            whole = len(connected) == self.judged[stretch.name(client)] and all(
                one[0] == place[0] for one in connected
            )
            self.connected[client] = tuple(one for one in connected if one != place)
            if not by_broker:
                self.waits.pop(client, None)
            elif wait is not None:
                self.waits[client] = wait._replace(lost=(*wait.lost, place))
            elif whole:
                self._wait(client, _Wait((place,), at_us + FIRST_US, 0))
        elif kind == _CONNECTED:
            self.connected[client] = (*connected, place)
            if wait is not None and place in wait.lost:
                yield from self._back(stretch, at_us, place, client, wait)
        else:
            self.waits.pop(client, None)

    def _back(self, stretch: Stretch, at_us: int, place: Place, client: int, wait: _Wait) -> Iterator[str]:
        if at_us != wait.next_us:
            yield (
                f"{stretch.name(client)} was back on {stretch.name(place[1])} at {at_us / 1e6:g} s, and "
                f"was to try at {wait.next_us / 1e6:g} s"
            )
            del self.waits[client]
            return
        lost = tuple(one for one in wait.lost if one != place)
        self.waits[client] = wait._replace(lost=lost)
        if not lost:
            del self.waits[client]

    def _wait(self, client: int, wait: _Wait) -> None:
        self.waits[client] = wait
        self.next_due_us = min(self.next_due_us, wait.next_us)

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        """Consumers that are still waiting after a try at which a broker served the topic."""
        if now_us <= self.next_due_us:
            return
        self.next_due_us = NEVER_US
        for client, wait in list(self.waits.items()):
            while wait.next_us < now_us:
                missed = [place for place in wait.lost if self.served.get(place, NEVER_US) < wait.next_us]
                if missed:
                    seq = stretch.first + int(
                        np.searchsorted(stretch.values("at_us"), wait.next_us, side="right")
                    )
                    yield (
                        seq,
                        (
                            f"{stretch.name(client)} was to be back on {stretch.name(missed[0][1])} at "
                            f"{wait.next_us / 1e6:g} s, and was not"
                        ),
                    )
                    del self.waits[client]
                    break
                wait = wait.after()
            else:
                self._wait(client, wait)
