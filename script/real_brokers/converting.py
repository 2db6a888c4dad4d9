"""What the modules that make rows share: recording, scenario, logs, the draft, and rows to refer to."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

from script.real_brokers.recording import Draft, Entry, Log, Logs, Message, Recording, Row, base_of
from simulator.scenarios.settings import OPTIONS, SETTINGS

BEFORE_NS = -(1 << 62)
"""An instant before every event: of rows that describe the state in which a run begins."""

Place = tuple[str, str]
"""(cluster, topic partition)."""

Cursor = tuple[str, str, str]
"""(cluster, topic partition, subscription)."""


class Timeline:
    """Rows by key in the order of their instants, to find the latest at an instant."""

    def __init__(self) -> None:
        self._rows: dict[Any, list[Row]] = {}

    def add(self, key: Any, row: Row) -> None:
        """Add a row; rows of one key are added in the order of their instants."""
        self._rows.setdefault(key, []).append(row)

    def of(self, key: Any) -> list[Row]:
        """The rows of a key, in order."""
        return self._rows.get(key, [])

    def latest(self, key: Any, t: int) -> Row | None:
        """The latest row of a key at or before an instant; None when there is none."""
        rows = self._rows.get(key, [])
        place = bisect_right(rows, t, key=lambda row: row.t)
        return rows[place - 1] if place else None


@dataclass(slots=True)
class Run:
    """One recorded run while its rows are made."""

    recording: Recording
    scenario: Any
    logs: Logs
    draft: Draft
    states: Timeline = field(default_factory=Timeline)  # Place, ("link", …), ("replicator", …)
    crashed: Timeline = field(default_factory=Timeline)  # cluster
    away: dict[Place, list[tuple[int, int, Row]]] = field(default_factory=dict)
    commands: list[tuple[dict[str, Any], Row]] = field(default_factory=list)
    connected: Timeline = field(default_factory=Timeline)  # (Cursor, client)
    sessions: dict[Cursor, list[tuple[int, int, Row]]] = field(default_factory=dict)
    acknowledged: Timeline = field(default_factory=Timeline)  # (Cursor, position, message)
    registered: dict[Cursor, list[tuple[Entry, Row]]] = field(default_factory=dict)
    handled: dict[Cursor, list[tuple[Entry, Row]]] = field(default_factory=dict)
    snapshots: dict[Place, list[tuple[Entry, Row]]] = field(default_factory=dict)
    updates: dict[Cursor, list[tuple[Entry, Row]]] = field(default_factory=dict)

    def log(self, cluster: str, topic: str) -> Log:
        """One cluster's log of a topic partition."""
        return self.logs[cluster, topic]

    def peers(self, cluster: str, topic: str) -> list[str]:
        """The other clusters of a topic, in order of names."""
        return [
            name
            for name in sorted(self.scenario.topics[base_of(topic, self.scenario)].clusters)
            if name != cluster
        ]

    def setting(self, cluster: str, name: str) -> Any:
        """A broker setting of the scenario, or Pulsar's default."""
        spec = self.scenario.clusters[cluster]
        return {**self.scenario.settings, **spec.settings}.get(name, SETTINGS[name].default)

    def option(self, name: str) -> Any:
        """An option of the scenario, or its default."""
        return self.scenario.options.get(name, OPTIONS[name].default)

    def latency_ns(self, source: str, target: str) -> int:
        """The nominal latency of a link in the scenario."""
        link = self.scenario.links.get((source, target))
        return 0 if link is None else link.latency.nominal_us * 1_000

    def key_of(self, message: Message) -> int | None:
        """The key number of a message, which the scenario decides."""
        spec = self.scenario.producers.get(message[0])
        return message[1] % spec.keys if spec is not None and spec.keys else None

    def first_position(self, cluster: str, topic: str) -> tuple[int, int] | None:
        """The position before the first entry of a log; None when it is unknown, as no entry was stored."""
        log = self.logs[cluster, topic]
        if log.ledgers:
            return log.ledgers[0], -1
        for event in self.recording.of("cursor"):
            if (event["cluster"], event["topic"]) == (cluster, topic):
                return event["ledger"], -1
        return None
