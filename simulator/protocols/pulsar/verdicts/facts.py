"""The data that counting uses: a run's rows and scenario, and logs and cursors, each made once.

Rules: names are numbers of the trace's name table. -1 is a name that no row used. The scenario has what rows
do not record: configured latencies, replication lists and settings from before the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.protocols.pulsar.verdicts.cursors import Cursor
from simulator.protocols.pulsar.verdicts.logs import Log
from simulator.protocols.pulsar.verdicts.lookup import first_seq
from simulator.protocols.pulsar.verdicts.read import History, Table

FEATURE = "enableReplicatedSubscriptions"
BY_MAP = ("migration", "roll-back")
"""Modes of a failover in which clients follow the LookupService's map."""
_PARTITION = "-partition-"

if TYPE_CHECKING:
    from simulator.protocols.pulsar.verdicts.windows import Window


@dataclass(frozen=True, slots=True)
class End:
    """When a cluster's part in a failover ended.

    It is the crash after which it had not restarted, else the failover itself.
    """

    seq: int
    at_us: int
    crashed: bool


class Facts:
    """Rows and scenario of one run."""

    def __init__(self, history: History, scenario: Any) -> None:
        self.history = history
        self.scenario = scenario
        self._logs: dict[tuple[int, int], Log] = {}
        self._cursors: dict[tuple[int, int, int], Cursor] = {}

    # --- names

    def name(self, number: int) -> str:
        """The word of a name number."""
        return self.history.names[int(number)]

    @cached_property
    def clusters(self) -> list[int]:
        """The clusters that rows mention, in order of names."""
        numbers = [self.history.number(name) for name in sorted(self.scenario.clusters)]
        return [number for number in numbers if number >= 0]

    def topics_of(self, subscription: int) -> list[int]:
        """The subscription's topic, or its partitions, as rows name them."""
        created = np.unique(
            self.history.table("subscription.created", subscription=subscription).topic
        ).tolist()
        spec = self.scenario.subscriptions.get(self.name(subscription))
        bases = [self.base_of(topic) for topic in created] if spec is None else [spec.topic]
        stored = np.unique(self.history.table("message.stored").topic).tolist()
        return [topic for topic in sorted({*stored, *created}) if self.base_of(topic) in bases]

    def subscriptions(self) -> list[int]:
        """Every subscription that rows mention, in order of names.

        These are the subscriptions of the scenario and those that a command created.
        """
        rows = [
            self.history.table(event).subscription for event in ("subscription.created", "message.delivered")
        ]
        return sorted(np.unique(np.concatenate(rows)).tolist(), key=self.name)

    def base_of(self, topic: int) -> str:
        """The topic's name in the scenario: without its partition."""
        name = self.name(topic)
        base, mark, partition = name.rpartition(_PARTITION)
        return base if mark and partition.isdigit() and name not in self.scenario.topics else name

    # --- logs and cursors

    def log(self, cluster: int, topic: int) -> Log:
        key = (cluster, topic)
        if key not in self._logs:
            self._logs[key] = Log(self.history, cluster, topic)
        return self._logs[key]

    def cursor(self, subscription: int, cluster: int, topic: int) -> Cursor:
        key = (subscription, cluster, topic)
        if key not in self._cursors:
            self._cursors[key] = Cursor(self.history, self.log(cluster, topic), subscription, cluster, topic)
        return self._cursors[key]

    @cached_property
    def receipted_seq(self) -> np.ndarray:
        """By message the seq at which it was first acknowledged to its producer."""
        return self.first("message.receipted")

    def first(self, event: str, **equal: int) -> np.ndarray:
        """By message the seq of its first row of a type, NEVER when it has none."""
        rows = self.history.table(event, **equal)
        return first_seq(rows.message, rows.seq, self.history.message_count)

    # --- clusters and configuration

    def end_of(self, cluster: int, opened_seq: int) -> End:
        """min(failover, crash): the crash after which the cluster had not restarted at the failover."""
        history = self.history
        rows = [
            (int(seq), event)
            for event in ("cluster.crashed", "cluster.lost", "cluster.restarted")
            for seq in history.table(event, cluster=cluster).upto(opened_seq).seq
        ]
        crash = None
        for seq, event in sorted(rows):
            crash = None if event == "cluster.restarted" else seq if crash is None else crash
        seq = opened_seq if crash is None else crash
        return End(seq, history.at_us(seq), crash is not None)

    def end_in(self, window: Window, cluster: int, topic: int) -> End:
        """The end of a cluster's part in one topic.

        Where clients follow the LookupService's map they stay until the topic is unloaded, which comes after
        the failover: then it is the last such unload of the window.
        """
        end = self.end_of(cluster, window.opened_seq)
        if end.crashed or cluster == window.target or self.name(window.mode) not in BY_MAP:
            return end
        unloads = self.history.table("topic.unloaded", cluster=cluster, topic=topic).between(
            window.opened_seq, window.closed_seq
        )
        reasons = [self.history.number(reason) for reason in ("migration", "crash")]
        left = unloads.seq[np.isin(unloads.reason, reasons)]
        return End(int(left[-1]), self.history.at_us(int(left[-1])), False) if len(left) else end

    def migrates_with_sync(self, topic: int, before_seq: int) -> bool:
        """Whether a migration of the topic's tenant with acknowledgement-state sync was started before."""
        tenant = self.history.number(self.scenario.topics[self.base_of(topic)].tenant)
        strategy = self.history.number("acknowledgement-sync")
        return (
            len(self.history.table("migration.started", tenant=tenant, reason=strategy).upto(before_seq)) > 0
        )

    def was_down(self, cluster: int, first_us: int, last_us: int) -> int | None:
        """The crash row because of which the cluster was down at some instant of the span.

        None when it was up throughout.
        """
        crash: int | None = None
        rows = [
            (row["seq"], row["at_us"], event)
            for event in ("cluster.crashed", "cluster.lost", "cluster.restarted")
            for row in self.history.table(event, cluster=cluster).dicts()
        ]
        for seq, at_us, event in sorted(rows):
            if at_us > last_us:
                break
            if event == "cluster.restarted":
                crash = crash if at_us > first_us else None
            else:
                crash = seq
        return crash

    def latency_us(self, source: int, target: int) -> int:
        """The configured nominal latency of a link."""
        link = self.scenario.links.get((self.name(source), self.name(target)))
        return 0 if link is None else link.latency.nominal_us

    def bandwidth_limited(self, source: int, target: int) -> bool:
        """Whether entries queue on the link for its bandwidth."""
        link = self.scenario.links.get((self.name(source), self.name(target)))
        return link is not None and link.bandwidth_bytes_per_s is not None

    def replication_list(self, cluster: int, topic: int, seq: int) -> list[int]:
        """The clusters of the topic's replication list as `cluster` had it at `seq`, in order of names.

        The cluster itself is included.
        """
        listed = {self.history.number(name) for name in self.scenario.topics[self.base_of(topic)].clusters}
        for row in self._replicator_rows(cluster, topic):
            if row["seq"] <= seq:
                (listed.add if row["created"] else listed.discard)(row["peer"])
        return sorted((number for number in {*listed, cluster} if number >= 0), key=self.name)

    def _replicator_rows(self, cluster: int, topic: int) -> list[dict[str, int]]:
        rows = [
            row | {"created": event == "replicator.created"}
            for event in ("replicator.created", "replicator.removed")
            for row in self.history.table(event, cluster=cluster, topic=topic).dicts()
        ]
        return sorted(rows, key=lambda row: row["seq"])

    def replicator_at(
        self, source: int, target: int, topic: int, seq: int
    ) -> tuple[bool, dict[str, int] | None]:
        """Whether a replication cursor source -> target existed at `seq`, and the row that shows it.

        The row created or removed the cursor; None when there is no such row.
        """
        rows = [
            row for row in self._replicator_rows(source, topic) if row["peer"] == target and row["seq"] <= seq
        ]
        return (bool(rows[-1]["created"]), rows[-1]) if rows else (False, None)

    def feature_off(self, cluster: int, seq: int) -> int | None:
        """The row since which replicated subscriptions were off in the cluster; None when they were on.

        Row 0, the start of the run, when the configuration switches them off.
        """
        spec = self.scenario.clusters[self.name(cluster)]
        row = None if {**self.scenario.settings, **spec.settings}.get(FEATURE, True) else 0
        changes = self.history.table(
            "setting.changed", cluster=cluster, reason=self.history.number(FEATURE)
        ).upto(seq)
        for changed in changes.dicts():
            value = str(self.history.row(changed["seq"]).get("detail", ""))
            row = changed["seq"] if value.strip().lower() == "false" else None
        return row

    def flag(self, subscription: int, cluster: int, topic: int, seq: int) -> tuple[bool, int | None]:
        """Whether the subscription was replicated in the cluster, and the row that decided it."""
        where = {"cluster": cluster, "topic": topic, "subscription": subscription}
        rows: list[tuple[int, bool]] = []
        for event in ("subscription.created", "subscription.replication-switched", "subscription.deleted"):
            table: Table = self.history.table(event, **where).upto(seq)
            rows += [(row["seq"], row.get("count") == 1) for row in table.dicts()]
        rows.sort()
        return (rows[-1][1], rows[-1][0]) if rows else (False, None)
