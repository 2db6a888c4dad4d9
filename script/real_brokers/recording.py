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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
