"""Backoff of a client after a refusal by the LookupService: 100 ms, doubled up to 60 s.

There is no limit on tries (docs/tenant-migration.md). The refusal row holds the number of refusals in
succession, and the next request reaches the service a round trip and that wait later. Not judged are a client
that lost several brokers one after another, which sends a request for each, and a producer after the last
message of its plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.check import Check
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import OPTIONS

FIRST_US, MOST_US = 100_000, 60_000_000
_READ = (
    "lookup.failed",
    "lookup.answered",
    "client.changed",
    "consumer.disconnected",
    "producer.disconnected",
    "consumer.connected",
    "producer.connected",
)
_FAILED, _ANSWERED, _CHANGED, *_CONNECTIONS = (CODE[name] for name in _READ)
_LEFT, _CONNECTED = _CONNECTIONS[:2], _CONNECTIONS[2:]
NEVER_US = 1 << 62


class LookupRetries(Check):
    """Keeps when each refused client must retry."""

    claim = (
        "A client that the LookupService refused retries after 100 ms, doubled with each refusal "
        "in a row up to 60 s, without end."
    )

    def begin(self, scenario: Scenario) -> None:
        self.watching = bool(scenario.tenants)
        self.trip_us = scenario.options.get("lookupLatency", OPTIONS["lookupLatency"].default)
        self.ending = frozenset(
            name
            for name, spec in scenario.producers.items()
            if spec.count is not None or spec.at_us or spec.stop_us is not None
        )
        self.due: dict[int, int] = {}  # client -> instant
        self.next_due_us = NEVER_US
        self.lost: dict[int, int] = {}  # client -> number of brokers lost since it was last connected

    def copy_into(self, copy: Self) -> None:
        copy.watching, copy.trip_us, copy.ending, copy.next_due_us = (
            self.watching,
            self.trip_us,
            self.ending,
            self.next_due_us,
        )
        copy.due, copy.lost = dict(self.due), dict(self.lost)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Requests at another time than the backoff allows, and missing ones."""
        if not self.watching:
            return
        for seq, kind, at_us, client, count in stretch.of(*_READ).records("type", "at_us", "client", "count"):
            yield from self._overdue(stretch, at_us)
            if kind in (_FAILED, _ANSWERED):
                due_us = self.due.pop(client, at_us)
                if at_us < due_us:
                    yield (
                        seq,
                        (
                            f"{stretch.name(client)} asked {(due_us - at_us) / 1e6:.3f} s before its wait "
                            "was over"
                        ),
                    )
            if kind == _FAILED and self.lost.get(client, 0) < 2:
                self.due[client] = at_us + self.trip_us + min(FIRST_US << min(count - 1, 20), MOST_US)
                self.next_due_us = min(self.next_due_us, self.due[client])
            elif kind == _CHANGED:
                self.due.pop(client, None)
            elif kind in _LEFT:
                self.due.pop(client, None)
                self.lost[client] = self.lost.get(client, 0) + 1
            elif kind in _CONNECTED and self.lost.get(client, 0) < 2:
                self.lost[client] = 0
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        if now_us <= self.next_due_us:
            return
        for client, due_us in list(self.due.items()):
            if due_us < now_us:
                del self.due[client]
                if stretch.name(client) not in self.ending:
                    seq = stretch.first + int(np.searchsorted(stretch.values("at_us"), due_us, side="right"))
                    yield seq, f"{stretch.name(client)} was to ask again at {due_us / 1e6:.3f} s, and did not"
        self.next_due_us = min(self.due.values(), default=NEVER_US)
