"""The recording of one run on real brokers: raw events and log dumps, read and checked.

Rules: a file `raw.jsonl.gz` has one JSON object a line. The first is `{"e": "meta", …}` with `pulsar`,
`date`, `zero_ns` (the run's instant 0), `until_ns` (its end), `topics` (name on the brokers -> name in the
scenario) and `prefix` (of client names). A dump is `{"e": "dump", "cluster", "topic", "entries": […]}`. Every
other line is an event with `t`, nanoseconds of the machine's monotonic clock. Names are translated to the
scenario's when the recording is read. A topic's partitions keep their suffix. A client's event has the
cluster and topic of the driver's latest `request` that placed the client.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from simulator.protocols.pulsar.events import MARKER_TYPES
from simulator.protocols.registry import vocabulary
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

# --- rows of a recorded run before they are numbered: causes as references, instants in nanoseconds
#
# Rules: a row is never before its cause, its evidence, or a row that it comes `after`. A polled row was
# seen late, so its instant goes back to that of the first row that needs it. Any other row that is before
# one it needs goes forward to that one's instant (two processes stamped them), and `moved` counts these.
# The order is by instant. At one instant a row comes after those that it needs, and others keep the order
# in which they were added. Rows that would need each other are inferred wrongly: the cause of a polled one
# is dropped, and `cut` counts that. Instants before the run's instant 0 become 0, in their order.


US_NS = 1_000


@dataclass(slots=True, eq=False)
class Row:
    """One row to be: `cause`, `evidence` and `after` are other rows."""

    type: str
    t: int
    cause: Row | None
    fields: dict[str, Any]
    polled: bool = False
    evidence: Row | None = None
    after: Row | None = None
    number: int = 0
    seq: int = NULL

    @property
    def needs(self) -> list[Row]:
        """The rows that come before this one."""
        return [row for row in (self.cause, self.evidence, self.after) if row is not None]


@dataclass(slots=True)
class Draft:
    """The rows of a run in the order in which they were found."""

    zero_ns: int
    rows: list[Row] = field(default_factory=list)
    moved: int = 0
    moved_most_ns: int = 0
    cut: int = 0

    def add(
        self,
        type_: str,
        t: int,
        cause: Row | None = None,
        *,
        polled: bool = False,
        evidence: Row | None = None,
        after: Row | None = None,
        **fields: Any,
    ) -> Row:
        """Add a row; returns it, to be named as a cause."""
        row = Row(type_, t, cause, fields, polled, evidence, after, len(self.rows))
        self.rows.append(row)
        return row

    def trace(self) -> Trace:
        """The trace with these rows, numbered in order."""
        order = self._needed_first()
        effects = self._effects()
        for row in reversed(order):
            if row.polled and effects[row.number]:
                row.t = min(row.t, min(effect.t for effect in effects[row.number]))
        for row in order:
            for before in row.needs:
                if before.t > row.t:
                    self.moved += 1
                    self.moved_most_ns = max(self.moved_most_ns, before.t - row.t)
                    row.t = before.t
        trace = Trace(vocabulary())
        for row in self._in_order(effects):
            row.seq = trace.append(self._values(trace, row))
        return trace

    def _effects(self) -> list[list[Row]]:
        effects: list[list[Row]] = [[] for _ in self.rows]
        for row in self.rows:
            for before in row.needs:
                effects[before.number].append(row)
        return effects

    def _needed_first(self) -> list[Row]:
        """The rows so that each comes after those that it needs; dropped causes let it end."""
        while True:
            waits, effects = [len(row.needs) for row in self.rows], self._effects()
            ready = [row for row in self.rows if not waits[row.number]]
            for row in ready:
                for effect in effects[row.number]:
                    waits[effect.number] -= 1
                    if not waits[effect.number]:
                        ready.append(effect)
            if len(ready) == len(self.rows):
                return ready
            circle = self._circle([row for row in self.rows if waits[row.number]], waits)
            chosen = next((row for row in circle if row.polled and row.cause is not None), circle[0])
            chosen.cause = chosen.after = None
            self.cut += 1

    def _circle(self, stuck: list[Row], waits: list[int]) -> list[Row]:
        """Rows that need each other, one after another."""
        seen: dict[int, int] = {}
        path: list[Row] = []
        row = stuck[0]
        while row.number not in seen:
            seen[row.number] = len(path)
            path.append(row)
            row = next(before for before in row.needs if waits[before.number])
        return path[seen[row.number] :]

    def _in_order(self, effects: list[list[Row]]) -> list[Row]:
        waits = [len(row.needs) for row in self.rows]
        heap = [(row.t, row.number) for row in self.rows if not waits[row.number]]
        heap.sort()
        order = []
        while heap:
            row = self.rows[heappop(heap)[1]]
            order.append(row)
            for effect in effects[row.number]:
                waits[effect.number] -= 1
                if not waits[effect.number]:
                    heappush(heap, (effect.t, effect.number))
        return order

    def _values(self, trace: Trace, row: Row) -> tuple[int, ...]:
        event = trace.vocabulary.by_name[row.type]
        unknown = [name for name in row.fields if name not in event.fields]
        if unknown:
            raise AssertionError(f"{row.type} has no column {', '.join(unknown)}")
        given = dict(row.fields)
        if row.evidence is not None and "evidence_seq" in event.fields:
            given["evidence_seq"] = row.evidence.seq
        values = [given.get(name) for name in event.fields]
        return (
            event.code,
            max(0, (row.t - self.zero_ns) // US_NS),
            NULL if row.cause is None else row.cause.seq,
            *(
                NULL if value is None else trace.intern(value) if isinstance(value, str) else int(value)
                for value in values
            ),
        )


# --- the content of a marker in a dump: Pulsar's protobuf fields as plain data, whatever their spelling
#
# Rules: names may be the proto's (`snapshot_id`) or Java's (`snapshotId`). A position's `ledger` and
# `entry` may stand beside its cluster or under `message_id`. Its numbers are unsigned in the proto, and
# those of Java's negative longs are read as negative.


_WORDS: dict[int | str, str] = {
    **{number: word for word, number in MARKER_TYPES.items()},
    **{word: word for word in MARKER_TYPES},
    "REPLICATED_SUBSCRIPTION_SNAPSHOT_REQUEST": "snapshot_request",
    "REPLICATED_SUBSCRIPTION_SNAPSHOT_RESPONSE": "snapshot_response",
    "REPLICATED_SUBSCRIPTION_SNAPSHOT": "snapshot",
    "REPLICATED_SUBSCRIPTION_UPDATE": "subscription_update",
}
"""The word of a type given as number, word, or name of Pulsar's enumeration `MarkerType`."""

_SIGN_BIT, _MODULUS = 1 << 63, 1 << 64


@dataclass(frozen=True, slots=True)
class MarkerContent:
    """One marker as its payload says.

    `cluster` is the requesting cluster of a request and the responding one of a response. `position` is the
    response's, or the snapshot's local one. `clusters` are (cluster, ledger, entry) by name.
    """

    type: str
    snapshot_id: str = ""
    cluster: str | None = None
    position: tuple[int, int] | None = None
    subscription: str | None = None
    clusters: tuple[tuple[str, int, int], ...] = ()


def marker_content(raw: dict[str, Any]) -> MarkerContent:
    """The marker of a dump's entry. Raises RecordingError for a type or a field that no marker has."""
    found = _plain(raw)
    type_ = _WORDS.get(found.get("type", ""), str(found.get("type")))
    try:
        if type_ == "snapshot_request":
            return MarkerContent(type_, found["snapshot_id"], found.get("source_cluster"))
        if type_ == "snapshot_response":
            name, *position = _cluster(found["cluster"])
            return MarkerContent(type_, found["snapshot_id"], name, tuple(position))
        clusters = tuple(sorted(_cluster(one) for one in found.get("clusters", ())))
        if type_ == "snapshot":
            local = _position(found["local_message_id"])
            return MarkerContent(type_, found["snapshot_id"], position=local, clusters=clusters)
        if type_ == "subscription_update":
            return MarkerContent(type_, subscription=found["subscription_name"], clusters=clusters)
    except (KeyError, TypeError) as error:
        raise RecordingError(f"a {type_} marker lacks {error}: {json.dumps(raw)[:300]}") from error
    raise RecordingError(
        f"{type_!r} is not a marker type of replicated subscriptions; these are: "
        f"{', '.join(f'{word} ({number})' for word, number in MARKER_TYPES.items())}"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(): _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _cluster(found: dict[str, Any]) -> tuple[str, int, int]:
    return (found["cluster"], *_position(found.get("message_id", found)))


def _position(found: dict[str, Any]) -> tuple[int, int]:
    ledger, entry = (name if name in found else f"{name}_id" for name in ("ledger", "entry"))
    return _signed(found[ledger]), _signed(found[entry])


def _signed(number: int | str) -> int:
    number = int(number)
    return number - _MODULUS if number & _SIGN_BIT else number


# --- the logs of one run from their dumps: entries with positions, and the original of each copy
#
# Rules: an entry without `replicated_from` was published or written in the log's own cluster. The original
# of a copy is named by the position that the replicator put into its properties (Pulsar's
# `__MSG_PROP_REPL_SOURCE_POSITION`), or found by its content: the next original with the same content after
# the last one that this link had sent, else the last one with it (a replicator sends again after it
# reconnected). Entries stored after the end of the run are left out.


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


Event = dict[str, Any]

PARTITION = "-partition-"
_META = ("pulsar", "date", "zero_ns", "until_ns", "topics", "prefix")
_CLIENTS = ("consumer", "producer", "client", "name")
"""Fields with a client's name, which begins with the run's prefix."""

_OF_CLIENTS = (
    "published",
    "receipted",
    "send_failed",
    "delivered",
    "acknowledged",
    "negatively_acknowledged",
)
"""Events that a client sends: the cluster and topic are those of its latest request."""


class RecordingError(ValueError):
    """The recording is incomplete or contradicts itself; the text says how, and what would be right."""


@dataclass(slots=True)
class Recording:
    """One run: `events` in the order of their instants, `dumps` by (cluster, topic partition)."""

    meta: dict[str, Any]
    events: list[Event] = field(default_factory=list)
    dumps: dict[tuple[str, str], list[Event]] = field(default_factory=dict)

    @property
    def zero_ns(self) -> int:
        """The instant 0 of the run."""
        return self.meta["zero_ns"]

    @property
    def until_ns(self) -> int:
        """The end of the run: later events and entries belong to none."""
        return self.meta["until_ns"]

    def of(self, *kinds: str) -> Iterator[Event]:
        """The events of these kinds, in order."""
        return (event for event in self.events if event["e"] in kinds)


def read_recording(path: Path) -> Recording:
    """The recording in a file that the rig wrote."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return recording_of(json.loads(line) for line in lines if line.strip())


def recording_of(lines: Iterable[Event]) -> Recording:
    """The recording from its lines. Raises RecordingError for missing parts."""
    lines = iter(lines)
    meta = next(lines, {})
    missing = [name for name in _META if name not in meta]
    if meta.get("e") != "meta" or missing:
        raise RecordingError(
            f"the first line of a recording is its meta with {', '.join(_META)}; missing: "
            f"{', '.join(missing) or 'the word meta in e'}"
        )
    recording, found = Recording(meta), []
    for number, line in enumerate(lines, start=2):
        if line.get("e") == "dump":
            _take_dump(recording, line)
            continue
        if "e" not in line or "t" not in line:
            raise RecordingError(f"line {number} of the recording has no e or no t: {json.dumps(line)[:200]}")
        found.append(_translated(line, meta))
    requested: dict[str, Event] = {}
    for event in sorted(found, key=lambda event: event["t"]):
        if event["t"] > recording.until_ns:
            break
        if event["e"] == "request":
            requested[event.get("name", "")] = event
        recording.events.append(_placed(event, requested))
    return recording


def _take_dump(recording: Recording, line: Event) -> None:
    place = (line["cluster"], topic_name(line["topic"], recording.meta))
    if place in recording.dumps:
        raise RecordingError(f"the recording has two dumps of {place[1]} in {place[0]}; one is right")
    recording.dumps[place] = [
        {**entry, "producer": without_prefix(entry.get("producer"), recording.meta)}
        for entry in line["entries"]
    ]


def _translated(line: Event, meta: dict[str, Any]) -> Event:
    event = dict(line)
    for name in _CLIENTS:
        if name in event:
            event[name] = without_prefix(event[name], meta)
    if event.get("topic"):
        event["topic"] = topic_name(event["topic"], meta)
    return event


def _placed(event: Event, requested: dict[str, Event]) -> Event:
    """The event with its cluster and topic, which a client's events may leave to its latest request."""
    name = event.get("consumer") or event.get("producer") or event.get("name")
    request = requested.get(name or "", {})
    for key in ("cluster", "topic", "subscription"):
        if event.get(key) is None and request.get(key) is not None:
            event[key] = request[key]
    if event["e"] not in _OF_CLIENTS:
        return event
    if not event.get("cluster"):
        raise RecordingError(
            f"the event {event['e']} of {name} has no cluster, and no request before it placed {name} in one"
        )
    if event.get("partition", -1) >= 0 and PARTITION not in (event.get("topic") or ""):
        event["topic"] = f"{event.get('topic') or ''}{PARTITION}{event['partition']}"
    return event


def topic_name(name: str, meta: dict[str, Any]) -> str:
    """The scenario's name of a topic or partition on the brokers."""
    local = name.rpartition("/")[2]
    base, mark, partition = local.rpartition(PARTITION)
    if not (mark and partition.isdigit()):
        base, mark, partition = local, "", ""
    if base not in meta["topics"]:
        raise RecordingError(
            f"the recording names the topic {name}, which its meta does not; it lists "
            f"{', '.join(meta['topics'])}"
        )
    return f"{meta['topics'][base]}{mark}{partition}"


def without_prefix(name: str | None, meta: dict[str, Any]) -> str | None:
    """A client's name in the scenario."""
    return None if name is None else name.removeprefix(meta["prefix"])
