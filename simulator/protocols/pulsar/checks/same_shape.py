"""A replicator starts only where the remote cluster has the topic as the rule in force requires.

Since PIP-433 (options `implemented` and `proposal`) both clusters must have the topic in one shape. A
replicator creates it only in its local shape, or in one that it had when the request was sent. Before
PIP-433, and whenever a producer reconnects that was created since the local topic was loaded, the remote must
have a log of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from simulator.protocols.pulsar.checks.administration import Administered, Row, words_of
from simulator.scenarios.model import Scenario


class SameShape(Administered):
    """Compares both clusters' shapes at each start."""

    claim = (
        "A replicator starts only where the other cluster has the topic in the same shape, and creates it "
        "in no other."
    )
    reads = ("replicator.created", "replicator.started")

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.created: dict[tuple[str, str, str], None] = {}  # producers, as (cluster, peer, log)

    def copy_into(self, copy: Self) -> None:
        super().copy_into(copy)
        copy.created = dict(self.created)

    def judge(self, row: Row) -> Iterable[str]:
        """Replicators that started, and topics that they created, with a wrong shape."""
        link = row.cluster, row.peer, row.topic
        if row.kind == "topic.loaded":
            for one in [one for one in self.created if (one[0], one[2]) == (row.cluster, row.topic)]:
                del self.created[one]
        elif row.kind == "replicator.created":
            self.created.pop(link, None)
        if row.kind == "replicator.started":
            reconnects = link in self.created
            self.created[link] = None
            return self._out_of_shape(*link, reconnects)
        if row.kind == "topic.created" and row.reason == "replicator":
            return self._created_otherwise(row.cluster, row.peer, self.has.base(row.topic), row.count)
        return []

    def _out_of_shape(self, here: str, there: str, name: str, reconnects: bool) -> list[str]:
        has, base = self.has, self.has.base(name)
        if has.rule == "before" or reconnects:
            return (
                []
                if (there, name) in has.logs
                else [f"the replicator {here} -> {there} of {name} started where there is no {name}"]
            )
        local, remote = has.shapes.get((here, base)), has.shapes.get((there, base))
        if local is None:  # a log without metadata is a plain topic
            local, remote = 0, 0 if (there, name) in has.logs else None
        if local == remote:
            return []
        return [
            (
                f"the replicator {here} -> {there} of {name} started between {words_of(local)} and "
                f"{words_of(remote)}"
            )
        ]

    def _created_otherwise(self, here: str, there: str, base: str, count: int) -> list[str]:
        has, local = self.has, self.has.shapes.get((there, base))
        if has.rule == "before" or local is None or count in has.had[there, base]:
            return []
        return [
            (
                f"the replicator from {there} created {base} in {here} as {words_of(count)}, and has "
                f"{words_of(local)} at home"
            )
        ]
