"""A broker observes its limits: service time and bandwidth, one dispatch at a time.

Each `message.dispatched` row holds how long its broker was busy with the entry until then, and with how many
bytes. The latest `topic.assigned` row names the broker. The limits are the scenario's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.scenario.model import BrokerSpec
from simulator.scenarios.model import Scenario

_SECOND_US = 1_000_000


class BrokerLimits(Check):
    """Keeps which broker serves each topic, and until when each was busy."""

    claim = (
        "A broker serves one dispatch at a time, each for at least its service time, and sends no more "
        "than its bandwidth."
    )

    def begin(self, scenario: Scenario) -> None:
        self.brokers: dict[str, BrokerSpec] = dict(scenario.brokers)
        self.serves: dict[tuple[int, int], int] = {}  # (cluster, topic) -> broker
        self.busy_until_us: dict[int, int] = {}

    def copy_into(self, copy: Self) -> None:
        copy.brokers, copy.serves, copy.busy_until_us = (
            self.brokers,
            dict(self.serves),
            dict(self.busy_until_us),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Dispatches that overlap, are too fast, or have no possible broker."""
        dispatched, assigned = stretch.of_all("message.dispatched"), stretch.of("topic.assigned")
        if not len(dispatched) and not len(assigned):
            return []
        stretch.read_more("broker", "size_bytes", "duration_us")
        served_by = self._served_by(dispatched, assigned)
        broken: list[tuple[int, str]] = []
        for broker in np.unique(served_by).tolist():
            rows = dispatched.take(served_by == broker)
            if broker < 0:
                broken += first_broken(
                    rows.seqs, lambda n: "was dispatched from a topic that no broker serves"
                )
            else:
                broken += self._one_broker(
                    stretch, broker, rows.take((rows["duration_us"] > 0) | (rows["batch_index"] <= 0))
                )
        return broken

    def _served_by(self, dispatched: Rows, assigned: Rows) -> np.ndarray:
        """The broker of each dispatch, -1 for none."""
        served_by = np.full(len(dispatched), -1, dtype=np.int64)
        changes: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for seq, cluster, topic, broker in assigned.records("cluster", "topic", "broker"):
            changes.setdefault((cluster, topic), []).append((seq, broker))
        for place, rows in dispatched.groups("cluster", "topic"):
            starts = changes.get(place, [])
            brokers = np.array([self.serves.get(place, -1), *(broker for _seq, broker in starts)])
            which = np.searchsorted([seq for seq, _broker in starts], rows.seqs)
            served_by[np.searchsorted(dispatched.seqs, rows.seqs)] = brokers[which]
        self.serves |= {place: starts[-1][1] for place, starts in changes.items()}
        return served_by

    def _one_broker(self, stretch: Stretch, broker: int, rows: Rows) -> list[tuple[int, str]]:
        spec = self.brokers[stretch.name(broker)]
        ends, spans, sizes = rows["at_us"], rows["duration_us"], rows["size_bytes"]
        before = np.concatenate(([self.busy_until_us.get(broker, 0)], ends))
        self.busy_until_us[broker] = int(before.max())
        early = np.flatnonzero(ends - spans < np.maximum.accumulate(before)[:-1])
        broken = first_broken(
            rows.seqs[early],
            lambda n: (
                f"{spec.name} began a dispatch {_late(before, ends, spans, early[n])} us before it had "
                f"finished the one before"
            ),
        )
        short = np.flatnonzero(spans < spec.dispatch_us)
        broken += first_broken(
            rows.seqs[short],
            lambda n: (
                f"{spec.name} spent {int(spans[short[n]])} us on a dispatch that takes {spec.dispatch_us}"
            ),
        )
        if spec.bandwidth_bytes_per_s is not None:
            fast = np.flatnonzero(sizes * _SECOND_US > spec.bandwidth_bytes_per_s * spans)
            broken += first_broken(
                rows.seqs[fast],
                lambda n: f"{spec.name} sent {int(sizes[fast[n]])} bytes in {int(spans[fast[n]])} us",
            )
        return broken


def _late(before: np.ndarray, ends: np.ndarray, spans: np.ndarray, at: int) -> int:
    """By how much the dispatch began too early."""
    return int(before[: at + 1].max() - (ends[at] - spans[at]))
