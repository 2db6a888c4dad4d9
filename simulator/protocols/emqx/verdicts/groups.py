"""Counting durable shared subscriptions: duplicates by cause, losses, handovers of streams.

Definitions: docs/counting.md.
Rules: a pure reader of rows. Every delivery of a message after its first is a duplicate if a client had
acknowledged it before, otherwise a redelivery. So first deliveries, duplicates and redeliveries add up to all
deliveries. Messages of quality of service 0 are counted separately. A run may be counted in shares of its
topics: each share has the rows of some topics and those of none, `summed` adds the shares up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.counting import CountedRun
from simulator.protocols.emqx.events import BY_NAME
from simulator.protocols.emqx.scenario.sections import matches
from simulator.protocols.emqx.verdicts.group_causes import CHUNK_REPEATED, GROUP_CAUSES, Case, Known, cause_of
from simulator.protocols.emqx.verdicts.group_history import (
    COLUMNS_READ,
    TYPES_READ,
    Acknowledgement,
    Delivery,
    GroupHistory,
    Histories,
    Lease,
    StreamHistory,
)
from simulator.scenarios.model import Scenario

if TYPE_CHECKING:
    from simulator.trace.trace import Trace

CODES = {name: event.code for name, event in BY_NAME.items()}
"""The code of each event type in a column `type`."""
TYPES, COLUMNS = TYPES_READ, frozenset({*COLUMNS_READ, "cluster"})
"""The types and columns of the rows that counting reads, and of those that a report shows."""
FIRST, DUPLICATE, REDELIVERY = "first", "duplicate", "redelivery"


class Judged(NamedTuple):
    """A delivery with its verdict and the latest acknowledgement before it.

    A duplicate has a cause, and the lease under which it was delivered: None where a session sent its own
    chunk again.
    """

    delivery: Delivery
    verdict: str
    acknowledged: Acknowledgement | None
    cause: str | None
    lease: Lease | None


@dataclass(frozen=True, slots=True)
class GroupDuplicate:
    """One delivery of a message that had been acknowledged."""

    producer: str
    sequence_id: int
    at_us: int
    cause: str
    evidence: dict[str, int]


@dataclass(slots=True)
class Readers:
    """The readers of a stream from when a leader found it until it was read to its end; spans are in us.

    `found_us` is None for a stream that no leader found: it has no readers.
    """

    found_us: int | None
    done_us: int
    leases: list[tuple[str, int, int, int]] = field(default_factory=list)  # client, borrower, from, until
    gaps: list[int] = field(default_factory=list)  # without either client, of each handover
    idle: list[tuple[int, int]] = field(default_factory=list)  # without a reader
    overlaps: list[tuple[str, str, int, int]] = field(default_factory=list)  # two clients, from, until

    @property
    def unowned_us(self) -> int:
        """The time without a reader."""
        return sum(until - since for since, until in self.idle)

    @property
    def two_readers_us(self) -> int:
        """The time with two readers or more."""
        return _covered_us([(since, until) for _one, _other, since, until in self.overlaps])


@dataclass(slots=True)
class CountedGroup:
    """`groups.{G}` of the contract, and what is behind its figures. Instants and spans are us."""

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
    messages_twice: int = 0  # with a duplicate
    filter: str = ""
    readers: dict[str, Readers] = field(default_factory=dict)  # by stream
    duplicates_list: list[GroupDuplicate] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """As the summary prints it."""
        return {name: getattr(self, name) for name in _PRINTED}


_PRINTED = CountedGroup.__slots__[: CountedGroup.__slots__.index("messages_twice")]
_OF_TOPICS = (
    "streams",
    "published",
    "delivered",
    "acknowledged",
    "duplicates",
    "redeliveries",
    "lost",
    "lost_qos0",
    "waiting",
    "pending_repeats",
    "handovers",
    "unowned_us",
    "two_readers",
    "two_readers_us",
    "reordered",
    "messages_twice",
)


class GroupShare(NamedTuple):
    """What is counted of a share of a run's topics: the groups by name, and the deliveries to them.

    `reordered` has the rows of the deliveries that the figure of this name counts.
    """

    groups: dict[str, CountedGroup]
    deliveries: list[Judged]
    reordered: set[int]


def count_groups(trace: Trace, scenario: Scenario, upto_seq: int | None = None) -> CountedRun:
    """Count the rows before `upto_seq` (default: all)."""
    histories = Histories(trace, upto_seq)
    groups = {}
    for group in histories.groups.values():
        groups[group.name] = _count(histories, group, scenario)[0]
    return CountedRun(histories.upto_seq, [], {}, {}, groups)


def count_share(trace: Trace, scenario: Scenario, end_us: int) -> GroupShare:
    """Count a share of a run's topics; `duplicates_list` is empty.

    `trace` has the length, names and `parts` of a `Trace`, `end_us` is the instant of the run's last row.
    """
    histories, share = Histories(trace, end_us=end_us), GroupShare({}, [], set())
    for group in histories.groups.values():
        counted, reordered = _count(histories, group, scenario, share.deliveries)
        share.groups[group.name] = replace(counted, duplicates_list=[])
        share.reordered.update(reordered)
    return share


def summed(shares: Sequence[CountedGroup]) -> CountedGroup:
    """A group's figures in the whole run, from those in every share of its topics."""
    whole = replace(shares[0])  # sessions and leaders are the same in each
    for name in _OF_TOPICS:
        setattr(whole, name, sum(getattr(share, name) for share in shares))
    whole.by_cause = {name: sum(share.by_cause[name] for share in shares) for name in whole.by_cause}
    whole.readers = {name: one for share in shares for name, one in share.readers.items()}
    whole.handover_us = _percentiles_of(whole.readers)
    return whole


def _count(
    histories: Histories, group: GroupHistory, scenario: Scenario, every: list[Judged] | None = None
) -> tuple[CountedGroup, list[int]]:
    """Count a group, and name the rows of its reordered deliveries. `every` gets all deliveries."""
    counted = CountedGroup(
        sessions=len(group.sessions),
        leader_changes=max(0, len(group.leaders) - 1),
        filter=group.filter,
    )
    for number, stored in histories.stored.items():
        if not matches(stored.topic, group.filter):
            continue
        stream = group.streams.get(number) or StreamHistory()
        _messages(histories, group, scenario, stream, stored.messages, counted, every)
        counted.readers[histories.names[number]] = _readers(histories, stream)
        counted.pending_repeats += _pending_repeats(stream)
    readers = counted.readers.values()
    counted.streams = len(readers)
    counted.handovers = sum(len(one.gaps) for one in readers)
    counted.handover_us = _percentiles_of(counted.readers)
    counted.unowned_us = sum(one.unowned_us for one in readers)
    counted.two_readers = sum(len(one.overlaps) for one in readers)
    counted.two_readers_us = sum(one.two_readers_us for one in readers)
    reordered = _reordered(histories, group)
    counted.reordered = len(reordered)
    return counted, reordered


def _messages(
    histories: Histories,
    group: GroupHistory,
    scenario: Scenario,
    stream: StreamHistory,
    messages: dict[int, tuple[int, int, int, int]],
    counted: CountedGroup,
    every: list[Judged] | None,
) -> None:
    """Count a stream's deliveries, acknowledgements, duplicates and losses. `every` gets all deliveries."""
    known: dict[int, Known] = {}  # by the row of a lease
    light = _light(histories, scenario, stream, messages)
    for offset, (producer, sequence_id, seq, at_us) in messages.items():
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
        if len(deliveries) < 2 and every is None:
            continue
        judged = list(_judged(stream, offset, known))
        if every is not None:
            every += judged
        twice = 0
        for one in judged:
            if one.cause is not None:
                twice += 1
                counted.by_cause[one.cause] += 1
                counted.duplicates_list.append(
                    GroupDuplicate(
                        histories.names[producer], sequence_id, one.delivery.at_us, one.cause, _evidence(one)
                    )
                )
        counted.duplicates += twice
        counted.redeliveries += sum(one.verdict == REDELIVERY for one in judged)
        counted.messages_twice += bool(twice)


def _judged(stream: StreamHistory, offset: int, known: dict[int, Known]) -> Iterator[Judged]:
    """The deliveries of a message, in order. `known` is filled, by the row of a lease."""
    acks = stream.acknowledged.get(offset, ())
    for place, delivery in enumerate(stream.delivered.get(offset, ())):
        acknowledged = next((ack for ack in reversed(acks) if ack.seq < delivery.seq), None)
        verdict, cause, lease = FIRST, None, None
        if place:
            verdict = REDELIVERY
            if acknowledged is not None:
                verdict, cause, lease = DUPLICATE, CHUNK_REPEATED, stream.chunks[delivery.chunk_seq]
                if lease is not None:
                    if lease.seq not in known:
                        known[lease.seq] = Known(stream, lease)
                    cause = cause_of(Case(offset, delivery, acknowledged, lease, known[lease.seq]))
        yield Judged(delivery, verdict, acknowledged, cause, lease)


def _evidence(one: Judged) -> dict[str, int]:
    """The rows that show why a delivery is a duplicate, by role."""
    assert one.acknowledged is not None
    evidence = {"delivered": one.delivery.seq, "acknowledged": one.acknowledged.seq}
    if one.lease is not None:
        evidence |= {"decided": one.lease.granted_seq, "leased": one.lease.seq}
    return evidence


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


def _light(
    histories: Histories,
    scenario: Scenario,
    stream: StreamHistory,
    messages: dict[int, tuple[int, int, int, int]],
) -> set[int]:
    """Offsets of the messages that were fetched for a client with quality of service 0."""
    return {
        offset
        for client, first, after in stream.taken
        if scenario.sessions[histories.names[client]].qos == 0
        for offset in range(first, after)
        if offset in messages
    }


def _readers(histories: Histories, stream: StreamHistory) -> Readers:
    """Who read a stream when."""
    if stream.found_us is None:
        return Readers(None, histories.end_us)
    done_us = histories.end_us if stream.done_us is None else stream.done_us
    found = Readers(stream.found_us, done_us)
    for before, after in zip(stream.leases, stream.leases[1:]):
        if before.client != after.client:
            found.gaps.append(max(0, after.at_us - (after.at_us if before.end_us is None else before.end_us)))
    found.leases = [
        (
            histories.names[lease.client],
            lease.borrower,
            lease.at_us,
            min(done_us, done_us if lease.end_us is None else lease.end_us),
        )
        for lease in stream.leases
        if lease.at_us < done_us
    ]
    reached = stream.found_us
    for _client, _borrower, since, until in [*found.leases, ("", 0, done_us, done_us)]:
        if since > reached:
            found.idle.append((reached, since))
        reached = max(reached, until)
    for place, one in enumerate(found.leases):
        found.overlaps += _overlaps(one, islice(found.leases, place, None))
    return found


def _overlaps(
    one: tuple[str, int, int, int], later: Iterable[tuple[str, int, int, int]]
) -> Iterator[tuple[str, str, int, int]]:
    """The spans in which another client reads at the same time as `one`.

    `later` are `one` itself, then the leases that began no earlier, in order.
    """
    for client, _borrower, since, until in takewhile(lambda other: other[2] < one[3], later):
        if client != one[0] and since < until:
            yield one[0], client, since, min(one[3], until)


def _covered_us(spans: list[tuple[int, int]]) -> int:
    """The time that at least one of the spans covers."""
    covered = reached = 0
    for first, last in sorted(spans):
        covered += max(0, last - max(first, reached))
        reached = max(reached, last)
    return covered


def _percentiles_of(readers: dict[str, Readers]) -> dict[str, int | None]:
    """Of the handovers of these streams."""
    return percentiles([gap for one in readers.values() for gap in one.gaps])


def percentiles(values: list[int]) -> dict[str, int | None]:
    """p50, p95 and maximum by nearest rank; None without values."""
    ordered = sorted(values)

    def at(percent: int) -> int | None:
        return ordered[-(-percent * len(ordered) // 100) - 1] if ordered else None

    return {"p50": at(50), "p95": at(95), "max": at(100)}


def _reordered(histories: Histories, group: GroupHistory) -> list[int]:
    """The deliveries of a lower number than an earlier one of the same publisher, client and topic.

    The client is the MQTT client that published, and the order is that of its publishing.
    """
    deliveries = sorted(
        (delivery.seq, *histories.stored[number].messages[offset][:2], number)
        for number, stream in group.streams.items()
        for offset, several in stream.delivered.items()
        for delivery in several
    )
    newest: dict[tuple[int, int, str], int] = {}
    found = []
    for seq, producer, sequence_id, number in deliveries:
        order = (producer, histories.clients[producer, sequence_id], histories.stored[number].topic)
        reached = newest.get(order, sequence_id)
        if sequence_id < reached:
            found.append(seq)
        newest[order] = max(sequence_id, reached)
    return found
