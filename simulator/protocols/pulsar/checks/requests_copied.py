"""Requests about partitioned topics are copied to the clusters that they replicate to.

The sources are PIP-370, PIP-433 and #25312. A creation is copied as implemented and before, unless the broker
may not create topics remotely or the request had `createLocalTopicOnly`. More partitions are always copied.
The result has a row in the other cluster: the topic, more partitions, or the reason for a refusal. Over links
without a latency bound nothing is claimed. Where a link is made slower, later requests may take as long as it
does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.administration import FOLLOWED, Administered, Row
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.scenarios.model import Scenario

COPIED = "copied-request"
TRIPS = 4
"""The limit, in multiples of the longest latency.

A request goes one way, which takes three times as long where a link reorders.
"""

Request = tuple[str, str, str, str]
"""Fields: (command, cluster that received it, other cluster, topic)."""


class RequestsCopied(Administered):
    """Keeps the requests in flight: their deadlines and the partitions requested."""

    claim = (
        "A request to create a partitioned topic, or to give it more partitions, reaches each cluster that "
        "the topic replicates to: it does there what it does here, or why not is logged."
    )
    reads = ("topic.creation-refused",)

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        latencies = [link.latency for link in scenario.links.values()]
        # over other links nothing is claimed
        self.bounded = all(one.kind in ("constant", "uniform") for one in latencies)
        self.trip_us = TRIPS * max((max(one.value_us, one.high_us) for one in latencies), default=0)
        self.due: dict[Request, tuple[int, int]] = {}

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.bounded, copy.trip_us, copy.due = self.bounded, self.trip_us, dict(self.due)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Requests that were copied but have no row in the other cluster."""
        if not self.bounded:
            return
        for row in self.rows(stretch):
            yield from self._overdue(stretch, row.at_us)
            self.judge(row)
            if row.kind in FOLLOWED:
                self.has.follow(row)
        yield from self._overdue(stretch, stretch.at_us(stretch.last - 1))

    def judge(self, row: Row) -> Iterable[str]:
        """Record the sending of a request and its result."""
        if row.kind == "command.applied" and row.reason == "link.slow":
            self.trip_us = max(self.trip_us, TRIPS * row.arguments()["latency_us"])
        elif row.kind == "command.applied" and row.reason in ("topic.create", "topic.update-partitions"):
            self._sent(row)
        elif row.reason == COPIED:
            for command in ("topic.create", "topic.update-partitions"):
                self.due.pop((command, row.peer, row.cluster, row.topic), None)
        return ()

    def _sent(self, row: Row) -> None:
        has, given = self.has, row.arguments()
        cluster, base, partitions = given["cluster"], given["topic"], given["partitions"]
        if base in has.lists_unknown:
            return
        if row.reason == "topic.create" and (
            not partitions
            or given["createLocalTopicOnly"]
            or has.rule == "proposal"
            or not has.creates_remotely[cluster]
        ):
            return
        copied = row.reason == "topic.create"
        for remote in has.namespace_remotes(cluster, base) if copied else has.followers(cluster, base):
            self.due[row.reason, cluster, remote, base] = (row.at_us + self.trip_us, partitions)

    def _overdue(self, stretch: Stretch, now_us: int) -> Iterator[tuple[int, str]]:
        for (command, cluster, remote, base), (due_us, partitions) in list(self.due.items()):
            if due_us >= now_us:
                continue
            del self.due[command, cluster, remote, base]
            if self.has.shapes.get((remote, base)) != partitions:
                seq = stretch.first + int(np.searchsorted(stretch.values("at_us"), due_us, side="right"))
                yield (
                    seq,
                    (
                        f"{command} of {base} with {partitions} partitions in {cluster} had no effect in "
                        f"{remote}"
                    ),
                )
