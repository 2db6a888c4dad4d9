"""The logs of one run from their dumps: entries with positions, and the original of each copy.

Rules: an entry without `replicated_from` was published or written in the log's own cluster. The original of a
copy is named by the position that the replicator put into its properties (Pulsar's
`__MSG_PROP_REPL_SOURCE_POSITION`), or found by its content: the next original with the same content after
the last one that this link had sent, else the last one with it (a replicator sends again after it
reconnected). Entries stored after the end of the run are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from script.real_brokers.draft import Row
from script.real_brokers.marker_content import MarkerContent, marker_content
from script.real_brokers.recording import PARTITION, Recording, RecordingError
from simulator.scenarios.model import Scenario

SOURCE_POSITION = "__MSG_PROP_REPL_SOURCE_POSITION"

Position = tuple[int, int]
Message = tuple[str, int]
"""(producer, sequence id)."""


@dataclass(slots=True, eq=False)
class Entry:
    """One stored entry: messages of a producer, or a marker.

    `rows` are its rows once they are made: one for each message, or the marker's. `origin` is None where it
    was published. `number` and `snapshot` are a marker's, the same in all copies.
    """

    cluster: str
    topic: str
    position: Position
    t: int
    size_bytes: int
    origin: str | None
    messages: tuple[Message, ...]
    key: str | None
    marker: MarkerContent | None
    source: Position | None
    original: Entry | None = None
    rows: list[Row] = field(default_factory=list)
    number: int = 0
    snapshot: int | None = None

    @property
    def first(self) -> Entry:
        """The entry where it was published or written."""
        return self if self.original is None else self.original

    @property
    def words(self) -> str:
        """The entry for an error's text."""
        what = self.marker.type if self.marker else "/".join(map(str, self.messages[0]))
        return f"{what} at {self.position[0]}:{self.position[1]} of {self.topic} in {self.cluster}"

    def batch_index(self, message: Message) -> int | None:
        """The message's index in the entry; None when it is the only one."""
        return self.messages.index(message) if len(self.messages) > 1 else None


class Log:
    """One topic partition's log in one cluster, in the order of positions."""

    def __init__(self, cluster: str, topic: str, entries: list[Entry]) -> None:
        self.cluster, self.topic = cluster, topic
        self.entries = sorted(entries, key=lambda entry: entry.position)
        self.by_position = {entry.position: entry for entry in self.entries}
        self.index = {entry.position: number for number, entry in enumerate(self.entries)}
        if len(self.by_position) < len(entries):
            raise RecordingError(f"the dump of {topic} in {cluster} has a position twice")
        self.native: dict[Message, list[Entry]] = {}
        for entry in self.entries:
            for message in entry.messages if entry.origin is None else ():
                self.native.setdefault(message, []).append(entry)

    @property
    def ledgers(self) -> list[int]:
        """The ledgers with entries, in order."""
        return list(dict.fromkeys(entry.position[0] for entry in self.entries))

    def at(self, ledger: int, entry: int, why: str) -> Entry:
        """The entry at a position. Raises RecordingError when the dump lacks it."""
        found = self.by_position.get((ledger, entry))
        if found is None:
            raise RecordingError(
                f"{why} names {ledger}:{entry} of {self.topic} in {self.cluster}, which the dump of that log "
                "does not have; dump the logs after the last event of the run"
            )
        return found

    def index_up_to(self, position: Position) -> int:
        """The number of entries at or below a position, less one: its place as the cursors count."""
        low, high = 0, len(self.entries)
        while low < high:
            middle = (low + high) // 2
            if self.entries[middle].position <= position:
                low = middle + 1
            else:
                high = middle
        return low - 1


Logs = dict[tuple[str, str], Log]


def logs_of(recording: Recording, scenario: Scenario) -> Logs:
    """Every log of the scenario's topics, with the originals of all copies.

    Raises RecordingError when a dump is missing.
    """
    logs: Logs = {}
    for topic in partitions_of(scenario):
        for cluster in sorted(scenario.topics[base_of(topic, scenario)].clusters):
            if (cluster, topic) not in recording.dumps:
                raise RecordingError(
                    f"the recording has no dump of {topic} in {cluster}; every cluster's log is needed: "
                    "restart a killed cluster after the run to dump it"
                )
            entries = [_entry(cluster, topic, raw) for raw in recording.dumps[cluster, topic]]
            logs[cluster, topic] = Log(
                cluster, topic, [entry for entry in entries if entry.t <= recording.until_ns]
            )
    for log in logs.values():
        _find_originals(log, logs)
    return logs


def partitions_of(scenario: Any) -> list[str]:
    """The names of the scenario's topics or their partitions."""
    return [
        name if not spec.partitions else f"{name}{PARTITION}{number}"
        for name, spec in sorted(scenario.topics.items())
        for number in range(spec.partitions or 1)
    ]


def base_of(topic: str, scenario: Any) -> str:
    """The scenario's topic of a partition."""
    return topic if topic in scenario.topics else topic.rpartition(PARTITION)[0]


def _entry(cluster: str, topic: str, raw: dict[str, Any]) -> Entry:
    missing = [name for name in ("ledger", "entry", "stored_ns", "size_bytes") if raw.get(name) is None]
    if missing:
        raise RecordingError(
            f"an entry of the dump of {topic} in {cluster} has no {', '.join(missing)}: {json.dumps(raw)}"
        )
    marker = None if raw.get("marker") is None else marker_content(raw["marker"])
    numbers: Iterable[int] = [one["sequence"] for one in raw.get("messages") or ()]
    if not numbers and not marker:
        numbers = range(raw["sequence"], raw["sequence"] + max(1, raw.get("batch") or 1))
    messages = () if marker else tuple((raw["producer"], number) for number in numbers)
    source = (raw.get("properties") or {}).get(SOURCE_POSITION)
    return Entry(
        cluster,
        topic,
        (raw["ledger"], raw["entry"]),
        raw["stored_ns"],
        raw["size_bytes"],
        raw.get("replicated_from") or None,
        messages,
        raw.get("key"),
        marker,
        tuple(int(part) for part in source.split(":")[:2]) if source else None,  # type: ignore[arg-type]
    )


def _find_originals(log: Log, logs: Logs) -> None:
    sent: dict[str, Position] = {}
    alike: dict[str, dict[Any, list[Entry]]] = {}
    for copy in log.entries:
        if copy.origin is None:
            continue
        source = logs.get((copy.origin, log.topic))
        if source is None:
            raise RecordingError(f"{copy.words} was replicated from {copy.origin}, which has no such topic")
        if copy.source is not None:
            copy.original = source.at(*copy.source, f"the copy {copy.words}")
        else:
            if copy.origin not in alike:
                alike[copy.origin] = _by_content(source)
            copy.original = _next_alike(copy, alike[copy.origin], sent.get(copy.origin))
        sent[copy.origin] = copy.original.position


def _by_content(log: Log) -> dict[Any, list[Entry]]:
    found: dict[Any, list[Entry]] = {}
    for entry in log.entries:
        if entry.origin is None:
            found.setdefault(entry.marker or entry.messages, []).append(entry)
    return found


def _next_alike(copy: Entry, alike: dict[Any, list[Entry]], sent: Position | None) -> Entry:
    candidates = alike.get(copy.marker or copy.messages, [])
    if not candidates:
        raise RecordingError(
            f"{copy.words} was replicated from {copy.origin}, whose dump has no such entry; dump the logs "
            "after the last event of the run"
        )
    later = [entry for entry in candidates if sent is None or entry.position > sent]
    return later[0] if later else candidates[-1]
