"""Reads the output of `topics stats-internal` and computes how far apart two clusters are.

Rules: figures are entries, not messages: a batch is one entry, and markers of replicated subscriptions are
entries too. Positions of two clusters are not comparable, so each is counted from the end of its own log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from spark_reports.audit import documents
from spark_reports.audit.errors import AuditError
from spark_reports.audit.findings import Finding
from spark_reports.audit.inputs import InputFile
from spark_reports.audit.labels import short_name
from spark_reports.audit.mapping import Mapping, of_paths

FILES_MOST, FILE_BYTES_MOST = 2_000, 64 << 20
"""Limits of the input, which the driver parses: one file per topic and cluster, of a few KB each."""
FINDINGS_MOST = 20
"""Cursors that are named in findings."""
_REPLICATOR = re.compile(r"^\S+\.repl\.(\S+)$")
_POSITION = r"(-?\d{1,19}):(-?\d{1,19})"
_RANGE = re.compile(rf"([(\[]){_POSITION}(?:\.\.|‥){_POSITION}([)\]])")
_SEPARATOR = re.compile(r" {0,8}, {0,8}")
_REPLICATED = ".replicated.subscription"


class Topic(NamedTuple):
    """One topic or partition in one cluster: its ledgers' sizes and its cursors."""

    name: str
    cluster: str
    ledgers: list[tuple[int, int]]
    cursors: dict[str, dict[str, Any]]


def read_statistics(spark: SparkSession, files: Sequence[InputFile], mapping: Mapping) -> list[Topic]:
    """The topics of all files. Raises AuditError for a file that is none, and for one topic twice."""
    if len(files) > FILES_MOST:
        raise AuditError(f"{len(files):,} files of stats-internal; at most {FILES_MOST:,} are read")
    for file in files:
        if file.size_bytes > FILE_BYTES_MOST:
            raise AuditError(f"{file.path}: {file.size_bytes:,} bytes; at most {FILE_BYTES_MOST:,} are read")
    topics = []
    for file in files:
        content = spark.read.format("binaryFile").load(file.path).collect()[0]["content"]
        text = documents.decoded(documents.unpacked(bytes(content), file.path, FILE_BYTES_MOST >> 20))
        topics += topics_of(text, file.path, mapping)
    seen: dict[tuple[str, str], int] = {}
    for topic in topics:
        place = (topic.name, topic.cluster)
        if place in seen:
            raise AuditError(
                f"topic {topic.name or '(without name)'} is there twice for cluster {topic.cluster}; name "
                f"the files "
                f"CLUSTER.json, or set cluster and topic by `from_path` in the mapping"
            )
        seen[place] = 1
    return topics


def topics_of(text: str, path: str, mapping: Mapping) -> list[Topic]:
    """The topics of one file: one, each partition of a partitioned topic, or those of an array."""
    try:
        read = _json_of(text)
        topics = [
            topic
            for one in (read if isinstance(read, list) else [read])
            for topic in _topics(one, path, mapping)
        ]
        for cursor in (cursor for topic in topics for cursor in topic.cursors.values()):
            _place(cursor["markDeletePosition"])
        return topics
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise AuditError(
            f"{path}: it is no output of stats-internal ({error!r}); save it unchanged"
        ) from None


def _json_of(text: str) -> Any:
    """The JSON of a file that may have lines of kubectl or curl around it. Raises ValueError."""
    begin = documents.begin_of(text)
    if begin is None:
        raise ValueError("it has no JSON")
    begin += len(text[begin:]) - len(text[begin:].lstrip())
    read, end = json.JSONDecoder().raw_decode(text, begin)
    rest = [line for line in map(documents.line_of, text[end:].splitlines()) if line and line.strip()]
    if rest:
        raise ValueError(f"after its JSON it has {rest[0][:40]!r}")
    return read


def _topics(read: Any, path: str, mapping: Mapping) -> list[Topic]:
    whole = read.get("partitions") or {"": read}
    cluster = (
        _named("cluster", path, mapping) or read.get("cluster") or path.rpartition("/")[2].partition(".")[0]
    )
    topic = _named("topic", path, mapping) or read.get("topic") or read.get("topicName") or ""
    return [
        Topic(
            name.rpartition("/")[2] or short_name(str(topic)),
            str(cluster),
            _ledgers(one),
            dict(one["cursors"]),
        )
        for name, one in whole.items()
    ]


def _named(name: str, path: str, mapping: Mapping) -> str | None:
    [found] = of_paths(mapping.from_path[name], [path]) if name in mapping.from_path else [None]
    return found or mapping.constants.get(name)


def _ledgers(one: dict[str, Any]) -> list[tuple[int, int]]:
    """Id and number of entries of each ledger; the current one's is a field of its own."""
    sizes = [(int(ledger["ledgerId"]), int(ledger["entries"])) for ledger in one["ledgers"]]
    if sizes:
        current, entries = sizes[-1]
        sizes[-1] = (current, max(entries, int(one["currentLedgerEntries"])))
    return sizes


def _place(text: str) -> tuple[int, int]:
    ledger, entry = text.split(":")[:2]
    return int(ledger), int(entry)


def _after(topic: Topic, place: tuple[int, int]) -> int:
    """The number of entries after a position."""
    ledger, entry = place
    return sum(
        size if number > ledger else max(0, size - entry - 1)
        for number, size in topic.ledgers
        if number >= ledger
    )


def _ranges(cursor: dict[str, Any]) -> tuple[list[tuple[tuple[int, int], tuple[int, int]]], str]:
    """Ranges of individually deleted entries, and why the list is not complete, or "".

    Each is the position before its first entry, and its last one.
    """
    text = cursor.get("individuallyDeletedMessages")
    if not isinstance(text, str):
        return [], "individuallyDeletedMessages is missing"
    text = text.strip()
    ranges: list[tuple[tuple[int, int], tuple[int, int]]] = []
    end, wrong = 1, ""
    while text.startswith("[") and (found := _RANGE.match(text, end)):
        low, high = (int(found[2]), int(found[3])), (int(found[4]), int(found[5]))
        low = (low[0], low[1] - 1) if found[1] == "[" else low
        high = (high[0], high[1] - 1) if found[6] == ")" else high
        if high < low or (ranges and low < ranges[-1][1]):
            wrong = wrong or f"the range {found[0]} is not after the one before it"
        else:
            ranges.append((low, high))
        end = found.end()
        separator = _SEPARATOR.match(text, end)
        if separator is None:
            break
        end = separator.end()
    total = cursor.get("totalNonContiguousDeletedMessagesRange")
    if not text.startswith("[") or text[end:] != "]":
        wrong = wrong or f"individuallyDeletedMessages is cut off after {len(ranges):,} ranges"
    elif isinstance(total, int) and total > len(ranges):
        wrong = wrong or f"individuallyDeletedMessages has {len(ranges):,} of {total:,} ranges"
    return ranges, wrong


def figures_of(topic: Topic, cursor: dict[str, Any]) -> dict[str, Any]:
    """A cursor's distance from the end of the log, its ack holes, and its backlog, in entries.

    Where the list of ranges is not complete, `incomplete` says why: entries that it has are a lower bound of
    those that are individually deleted, so the backlog is an upper bound.
    """
    ranges, incomplete = _ranges(cursor)
    deleted = sum(_after(topic, low) - _after(topic, high) for low, high in ranges)
    behind = _after(topic, _place(cursor["markDeletePosition"]))
    return {
        "mark_delete": cursor["markDeletePosition"],
        "after_mark_delete": behind,
        "individually_deleted": deleted,
        "ack_holes": len(ranges),
        "backlog": behind - deleted,
        "incomplete": incomplete,
        "replicated": any(name.endswith(_REPLICATED) for name in cursor.get("properties") or {}),
    }


def positions(topics: Sequence[Topic]) -> list[dict[str, Any]]:
    """For each subscription, and each cluster that it could leave for another one: what would repeat."""
    names = sorted({topic.name for topic in topics})
    return [pair for name in names for pair in _pairs([one for one in topics if one.name == name])]


def _pairs(topics: list[Topic]) -> list[dict[str, Any]]:
    ordered = sorted(topics, key=lambda one: one.cluster)
    subscriptions = sorted(
        {
            name
            for topic in topics
            for name in topic.cursors
            if not _REPLICATOR.match(name) and ".dedup" not in name
        }
    )
    return [
        _pair(source, target, name)
        for name in subscriptions
        for source in ordered
        for target in ordered
        if source is not target and name in source.cursors
    ]


def _pair(source: Topic, target: Topic, name: str) -> dict[str, Any]:
    own = figures_of(source, source.cursors[name])
    other = figures_of(target, target.cursors[name]) if name in target.cursors else None
    waiting = _not_replicated(source, target.cluster)
    repeats = None
    if other:
        known = waiting is not None and not own["incomplete"]  # else the source may have read any of them
        unread_there = max(0, own["backlog"] - (waiting or 0)) if known else 0
        repeats = max(0, other["backlog"] - unread_there)
    return {
        "topic": source.name,
        "subscription": name,
        "from": source.cluster,
        "to": target.cluster,
        "source": own,
        "target": other,
        "not_replicated": waiting,
        "behind": other["after_mark_delete"] - own["after_mark_delete"] if other else None,
        "repeated_most": repeats,
        "ack_holes_most": (
            min(repeats, own["individually_deleted"])
            if repeats is not None and not own["incomplete"]
            else repeats
        ),
    }


def incomplete(pairs: Sequence[dict[str, Any]]) -> list[Finding]:
    """A finding for each cursor whose list of individually deleted entries is not complete."""
    found = {}
    for one in pairs:
        for cluster, figures in ((one["from"], one["source"]), (one["to"], one["target"])):
            if figures and figures["incomplete"]:
                found[one["subscription"], one["topic"], cluster] = figures["incomplete"]
    return [
        Finding(
            "ranges_incomplete",
            f"{name}{' of ' + topic if topic else ''} in {cluster}: {why}. Its individually deleted entries "
            f"are at least those, and its backlog at most what is shown. Save the output unchanged to have "
            f"the number.",
            1,
        )
        for (name, topic, cluster), why in sorted(found.items())[:FINDINGS_MOST]
    ]


def _not_replicated(source: Topic, target: str) -> int | None:
    """Entries that the source has not sent to the target yet; None without a replicator between them."""
    for name, cursor in source.cursors.items():
        found = _REPLICATOR.match(name)
        if found and found[1] == target:
            return figures_of(source, cursor)["backlog"]
    return None
