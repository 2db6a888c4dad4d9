"""The results of counting, whatever the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np

from simulator.trace.registry import NULL

MILLION = 1_000_000
Z_MILLIONTHS = 1_959_964
"""The 97.5th percentile of the normal distribution: two sides of 2.5 % are outside."""


def wilson_interval(hits: int, runs: int) -> tuple[int, int]:
    """The bounds of the probability in millionths, when `hits` of `runs` runs had the outcome.

    Rules: integers only, so that equal counts give equal bytes everywhere. The bounds are rounded outwards to
    millionths. Unlike the normal approximation it has a width where all runs or none had the outcome.
    """
    if not 0 <= hits <= runs or runs < 1:
        raise ValueError(f"{hits} of {runs} runs: give at least one run, and 0 to all of them")
    one, z = MILLION * MILLION, Z_MILLIONTHS
    scaled_root = isqrt((4 * one * hits * (runs - hits) + runs * z * z) * one // runs)
    middle, spread = (2 * hits * one + z * z) * MILLION, z * scaled_root
    whole = 2 * (runs * one + z * z)
    # `middle` and `spread` are a million times too large, which makes the quotients millionths
    return max(0, (middle - spread) // whole), min(MILLION, -((-middle - spread) // whole))


# --- the results of counting as plain values; the protocol's `verdicts` name them in the summary
#
# Rules: instants are microseconds; `None` means that it never happened. Every cause of the mechanism is a
# key of `by_cause`, even when its number is 0. Lists of duplicates and losses keep columns and make an
# entry only on request, so a run with a million duplicates stays small.


LOST_CAUSES: tuple[str, ...] = (
    "subscription_began_after",
    "cursor_moved_past",
    "never_replicated",
    "removed",
    "dropped_by_client",
    "evicted_by_quota",
)


class CountingError(Exception):
    """An internal error: the trace contradicts the definitions; `evidence` is role -> seq."""

    def __init__(self, words: str, evidence: dict[str, int]) -> None:
        rows = ", ".join(f"{role} {seq}" for role, seq in evidence.items())
        super().__init__(f"{words} ({rows})")
        self.evidence = evidence


@dataclass(frozen=True, slots=True)
class Duplicate:
    """One message that the target delivered although it had been acknowledged before."""

    producer: str
    sequence_id: int
    at_us: int
    delivered_seq: int
    cluster: str
    acknowledged_seq: int
    acknowledged_at_us: int
    acknowledged_in: str
    cause: str
    why: str
    evidence: dict[str, int]


@dataclass(frozen=True, slots=True)
class Loss:
    """A message acknowledged to its producer that the target cannot deliver since row `lost_seq`."""

    producer: str
    sequence_id: int
    cause: str
    why: str
    delivered_before: bool
    recovered: bool
    evidence: dict[str, int]


@dataclass(frozen=True, slots=True)
class Redelivery:
    """One message that the target delivered although it had been delivered before and not acknowledged.

    The earlier delivery may be anywhere.
    """

    producer: str
    sequence_id: int
    at_us: int
    delivered_seq: int
    evidence: dict[str, int]


@dataclass(frozen=True, slots=True)
class Stranding:
    """A message acknowledged to its producer that was not replicated to the target at the failover.

    `returned` of its evidence is the row that stored it there later.
    """

    producer: str
    sequence_id: int
    unprocessed: bool
    evidence: dict[str, int]


def enough_until_us(failover: dict[str, Any], end_us: int) -> int:
    """An end of the run by which a failover that still delivers at `end_us` has probably finished.

    `failover` is an entry of the summary. It is assumed that the rest comes as fast as what came so far, plus
    a quarter; without any duplicate or redelivery so far, that the rest takes as long as the window did.
    """
    came, rest = failover["duplicates"] + failover["redeliveries"], failover["pending_repeats"]
    if came:
        took_us = (end_us - failover["first_delivery_us"]) * rest // came * 5 // 4
    else:
        took_us = end_us - failover["at_us"]
    return -(-(end_us + took_us) // 1_000_000) * 1_000_000


class LazyList(Sequence):
    """Entries of `kind`, made on demand from columns of equal length.

    A column is an array; `evidence` is role -> array of seqs, NULL where the role does not apply. `names` is
    the trace's name table; the columns listed in `named` hold numbers of it.
    """

    def __init__(
        self,
        kind: type,
        columns: dict[str, Any],
        evidence: dict[str, np.ndarray],
        names: Sequence[str],
        named: Sequence[str],
    ) -> None:
        self.kind = kind
        self.columns = columns
        self.evidence = evidence
        self.names = names
        self.named = frozenset(named)
        self._length = len(next(iter(columns.values())))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(f"entry {index} does not exist: there are {self._length}")
        values = {name: self._value(name, column[index]) for name, column in self.columns.items()}
        rows = {role: int(seqs[index]) for role, seqs in self.evidence.items() if seqs[index] != NULL}
        return self.kind(**values, evidence=rows)

    def place_of(self, producer: str, sequence_id: int) -> int | None:
        """The index of the first entry about a message; None when there is none."""
        if producer not in self.names or not self._length:
            return None
        mine = (np.asarray(self.columns["producer"]) == self.names.index(producer)) & (
            np.asarray(self.columns["sequence_id"]) == sequence_id
        )
        places = np.flatnonzero(mine)
        return int(places[0]) if len(places) else None

    def column(self, name: str) -> list[Any]:
        """One column of all entries, without making them."""
        return [self._value(name, value) for value in self.columns[name]]

    def _value(self, name: str, value: Any) -> Any:
        if name in self.named:
            return self.names[int(value)]
        return value.item() if isinstance(value, np.generic) else value


@dataclass(slots=True)
class CountedFailover:
    """One counted failover (docs/counting.md), and the lists behind its numbers."""

    subscription: str
    source: str
    target: str
    mode: str
    at_us: int
    opened_seq: int
    closed_seq: int
    duplicates: int = 0
    extra_deliveries: int = 0
    redeliveries: int = 0
    lost: int = 0
    lost_recovered: int = 0
    lost_by_cause: dict[str, int] = field(default_factory=dict)
    stranded: int = 0
    stranded_unprocessed: int = 0
    stranded_returned: int = 0
    stranded_missing: int = 0
    expired: int = 0
    skipped: int = 0
    reordered: int = 0
    by_cause: dict[str, int] = field(default_factory=dict)
    dedup_window_messages: int = 0
    dedup_window_us: int = 0
    outage_us: int | None = None
    first_delivery_us: int | None = None
    caught_up_us: int | None = None
    drained_us: int | None = None
    pending_repeats: int | None = None
    duplicates_list: Sequence[Duplicate] = ()
    redelivered_list: Sequence[Redelivery] = ()
    lost_list: Sequence[Loss] = ()
    stranded_list: Sequence[Stranding] = ()


@dataclass(slots=True)
class SubscriptionCounts:
    """The counts of one subscription in one cluster.

    `repeated` are those of the `delivered` that had been delivered there before, outside any window.
    """

    delivered: int = 0
    acknowledged: int = 0
    repeated: int = 0
    expired: int = 0
    skipped: int = 0


@dataclass(slots=True)
class CountedRun:
    """The results of counting the rows before `upto_seq`.

    `subscriptions` is keyed (subscription, cluster), `partitions` (subscription, cluster, topic partition);
    the former are sums of the latter.
    """

    upto_seq: int
    failovers: list[CountedFailover]
    subscriptions: dict[tuple[str, str], SubscriptionCounts]
    partitions: dict[tuple[str, str, str], SubscriptionCounts]
    groups: dict[str, Any] = field(default_factory=dict)  # durable shared subscriptions: CountedGroup by name
