"""Counting durable shared subscriptions: duplicates by cause, losses, handovers of streams.

Definitions: docs/counting.md.
Rules: a pure reader of rows. Every delivery of a message after its first is a duplicate if a client had
acknowledged it before, otherwise a redelivery. So first deliveries, duplicates and redeliveries add up to all
deliveries. Messages of quality of service 0 are counted separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from simulator.counting import CountedRun
from simulator.protocols.emqx.scenario.mqtt_topics import matches
from simulator.protocols.emqx.verdicts.group_causes import CHUNK_REPEATED, GROUP_CAUSES, Case, Known, cause_of
from simulator.protocols.emqx.verdicts.group_history import GroupHistory, Histories, StreamHistory
from simulator.scenarios.model import Scenario
from simulator.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class GroupDuplicate:
    """One delivery of a message that had been acknowledged."""

    producer: str
    sequence_id: int
    at_us: int
    cause: str
    evidence: dict[str, int]


@dataclass(slots=True)
class CountedGroup:
    """`groups.{G}` of the contract, and the list behind its duplicates. Instants and spans are us."""

    streams: int = 0
    sessions: int = 0
    published: int = 0
    delivered: int = 0
    acknowledged: int = 0
    duplicates: int = 0
    redeliveries: int = 0
    lost: int = 0
    lost_qos0: int = 0
    waiting: int = 0
    pending_repeats: int = 0
    by_cause: dict[str, int] = field(default_factory=lambda: {name: 0 for name, _holds in GROUP_CAUSES})
    handovers: int = 0
    handover_us: dict[str, int | None] = field(
        default_factory=lambda: {"p50": None, "p95": None, "max": None}
    )
    unowned_us: int = 0
    two_readers: int = 0
    two_readers_us: int = 0
    leader_changes: int = 0
    reordered: int = 0
    duplicates_list: list[GroupDuplicate] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """As the summary prints it."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "duplicates_list"}


def count_groups(trace: Trace, scenario: Scenario, upto_seq: int | None = None) -> CountedRun:
    """Count the rows before `upto_seq` (default: all)."""
    histories = Histories(trace, upto_seq)
    groups = {group.name: _count(histories, group, scenario) for group in histories.groups.values()}
    return CountedRun(histories.upto_seq, [], {}, {}, groups)


def _count(histories: Histories, group: GroupHistory, scenario: Scenario) -> CountedGroup:
    counted = CountedGroup(sessions=len(group.sessions), leader_changes=max(0, len(group.leaders) - 1))
    gaps: list[int] = []
    for number, stored in histories.stored.items():
        if not matches(stored.topic, group.filter):
            continue
        counted.streams += 1
        stream = group.streams.get(number) or StreamHistory()
        _messages(histories, group, scenario, stream, stored.messages, counted)
        _owners(stream, histories.end_us, counted, gaps)
        counted.pending_repeats += _pending_repeats(stream)
    counted.handover_us = percentiles(gaps)
    counted.reordered = _reordered(histories, group)
    return counted


def _messages(
    histories: Histories,
    group: GroupHistory,
    scenario: Scenario,
    stream: StreamHistory,
    messages: Sequence[tuple[int, int, int, int]],
    counted: CountedGroup,
) -> None:
    """Count a stream's deliveries, acknowledgements, duplicates and losses."""
    known: dict[int, Known] = {}  # by the row of a lease
    light = _light(histories, scenario, stream)
    for offset, (producer, sequence_id, seq, at_us) in enumerate(messages):
        deliveries, acks = stream.delivered.get(offset, ()), stream.acknowledged.get(offset, ())
        if not deliveries and not acks and not any(life.covers(at_us, seq) for life in group.lives):
            continue
        counted.published += 1
        counted.delivered += len(deliveries)
        counted.acknowledged += len(acks)
        passed = (
            offset < stream.position and stream.found_us is not None and group.lives[-1].covers(at_us, seq)
        )
        if not acks and not deliveries:
            unsafe = passed and (offset in light or scenario.publishers[histories.names[producer]].qos == 0)
            counted.lost += passed and not unsafe
            counted.lost_qos0 += unsafe
            counted.waiting += not passed
        for delivery in deliveries[1:]:
            before = [ack for ack in acks if ack.seq < delivery.seq]
            if not before:
                counted.redeliveries += 1
                continue
            lease = stream.chunks[delivery.chunk_seq]
            if lease is not None and lease.seq not in known:
                known[lease.seq] = Known(stream, lease)
            cause = (
                CHUNK_REPEATED
                if lease is None
                else cause_of(Case(offset, delivery, before[-1], lease, known[lease.seq]))
            )
            counted.duplicates += 1
            counted.by_cause[cause] += 1
            evidence = {"delivered": delivery.seq, "acknowledged": before[-1].seq}
            if lease is not None:
                evidence |= {"decided": lease.granted_seq, "leased": lease.seq}
            counted.duplicates_list.append(
                GroupDuplicate(histories.names[producer], sequence_id, delivery.at_us, cause, evidence)
            )


def _pending_repeats(stream: StreamHistory) -> int:
    """How many messages of the stream may still be delivered again.

    Those are delivered before, at or after the position where a reader began, and not delivered by it since;
    without a reader all that were delivered at or after the position of the latest leader.
    """
    if stream.found_us is None or stream.done_us is not None:
        return 0
    reading = [lease for lease in stream.newest.values() if lease.end_us is None]
    if not reading:
        return sum(offset >= stream.position for offset in stream.delivered)
    return sum(
        any(
            offset >= lease.position
            and not any(one.client == lease.client and one.seq > lease.seq for one in deliveries)
            for lease in reading
        )
        for offset, deliveries in stream.delivered.items()
    )


def _light(histories: Histories, scenario: Scenario, stream: StreamHistory) -> set[int]:
    """Offsets of the messages that were fetched for a client with quality of service 0."""
    return {
        offset
        for client, first, after in stream.taken
        if scenario.sessions[histories.names[client]].qos == 0
        for offset in range(first, after)
    }


def _owners(stream: StreamHistory, end_us: int, counted: CountedGroup, gaps: list[int]) -> None:
    """Count handovers, the time without a reader and the time with two."""
    if stream.found_us is None:
        return
    done_us = end_us if stream.done_us is None else stream.done_us
    for before, after in zip(stream.leases, stream.leases[1:]):
        if before.client != after.client:
            counted.handovers += 1
            gaps.append(max(0, after.at_us - (before.end_us if before.end_us is not None else after.at_us)))
    # a lease that begins at or after the end of the stream has a duration of 0 or less
    spans = [
        (lease.at_us, min(done_us, done_us if lease.end_us is None else lease.end_us), lease.client)
        for lease in stream.leases
    ]
    covered_us = _covered_us([(first, last) for first, last, _client in spans])
    counted.unowned_us += max(0, done_us - stream.found_us - covered_us)
    overlaps = [
        both for place, one in enumerate(spans) for both in _overlaps(one, islice(spans, place, None))
    ]
    counted.two_readers += len(overlaps)
    counted.two_readers_us += _covered_us(overlaps)


def _overlaps(one: tuple[int, int, int], later: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """The spans in which another client reads at the same time as `one`.

    `later` are `one` itself, then the spans that began no earlier, in order.
    """
    for since, until, client in takewhile(lambda other: other[0] < one[1], later):
        if client != one[2] and since < until:
            yield since, min(one[1], until)


def _covered_us(spans: list[tuple[int, int]]) -> int:
    """The time that at least one of the spans covers."""
    covered = reached = 0
    for first, last in sorted(spans):
        covered += max(0, last - max(first, reached))
        reached = max(reached, last)
    return covered


def percentiles(values: list[int]) -> dict[str, int | None]:
    """p50, p95 and maximum by nearest rank; None without values."""
    ordered = sorted(values)

    def at(percent: int) -> int | None:
        return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None

    return {"p50": at(50), "p95": at(95), "max": at(100)}


def _reordered(histories: Histories, group: GroupHistory) -> int:
    """Deliveries of a lower number than an earlier one of the same publisher, client and topic.

    The client is the MQTT client that published, and the order is that of its publishing.
    """
    deliveries = sorted(
        (delivery.seq, *histories.stored[number].messages[offset][:2], number)
        for number, stream in group.streams.items()
        for offset, several in stream.delivered.items()
        for delivery in several
    )
    newest: dict[tuple[int, int, str], int] = {}
    found = 0
    for _seq, producer, sequence_id, number in deliveries:
        order = (producer, histories.clients[producer, sequence_id], histories.stored[number].topic)
        reached = newest.get(order, sequence_id)
        found += sequence_id < reached
        newest[order] = max(sequence_id, reached)
    return found


__all__ = ["CountedGroup", "GroupDuplicate", "count_groups", "percentiles"]
