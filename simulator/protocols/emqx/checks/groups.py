"""Checks of durable shared subscriptions: legal transitions, one owner per stream, safe positions.

A position may not pass a message that is unacknowledged or undelivered. Two readers of one stream are not a
violation, because nothing fences a reader (docs/durable-shared-subscriptions.md); they are counted instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

from pyroaring import BitMap

from simulator.checks.check import Check
from simulator.checks.knowledge import NoKnowledge
from simulator.checks.stretch import Stretch
from simulator.protocols.emqx.checks.groups_settled import Settled
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NULL

Place = tuple[int, int]
"""(group, stream)"""

BORROWER = {
    "": ("connecting",),
    "connecting": ("connected", "gone"),
    "connected": ("unsubscribing", "gone"),
    "unsubscribing": ("gone",),
    "gone": (),
}
LEASE = {"absent": ("granted",), "granted": ("revoking", "absent"), "revoking": ("absent",)}
ASSIGNMENT = {
    "free": ("granting",),
    "granting": ("granted", "revoked", "free"),
    "granted": ("revoking", "revoked", "free"),
    "revoking": ("revoked", "free"),
    "revoked": ("free",),
}
"""The legal transitions: the check's own copy of the protocol's tables (a test compares them)."""


class LegalMoves(Check):
    """Follows the state of every borrower, lease and assignment."""

    claim = "Borrowers, leases and assignments of shared streams take only the protocol's moves."

    def begin(self, scenario: Scenario) -> None:
        self.states: dict[tuple, str] = {}

    def copy_into(self, copy: Self) -> None:
        copy.states = dict(self.states)

    def read(self, stretch: Stretch, known: NoKnowledge) -> Iterable[tuple[int, str]]:
        stretch.read_more("client")
        rows = [
            *(
                (seq, ("borrower", group, client, count), BORROWER, "", reason)
                for seq, group, client, count, reason in stretch.of("borrower.changed").records(
                    "subscription", "client", "count", "reason"
                )
            ),
            *(
                (seq, ("lease", group, client, count, topic), LEASE, "absent", reason)
                for seq, group, client, count, topic, reason in stretch.of("lease.changed").records(
                    "subscription", "client", "count", "topic", "reason"
                )
            ),
            *(
                (seq, ("assignment", group, leader, topic), ASSIGNMENT, "free", reason)
                for seq, group, leader, topic, reason in stretch.of("assignment.changed").records(
                    "subscription", "ledger", "topic", "reason"
                )
            ),
        ]
        for seq, what, moves, first, reason in sorted(rows, key=lambda row: row[0]):
            before, after = self.states.get(what, first), stretch.name(reason)
            if after not in moves[before]:
                yield (
                    seq,
                    f"a {what[0]} of {stretch.name(int(what[1]))} went from {before or 'nothing'} to {after}",
                )
            if not moves.get(after) or after == first:
                self.states.pop(what, None)
            else:
                self.states[what] = after


class OneOwner(Check):
    """Follows the owner of each stream at each leader."""

    claim = "At one leader a stream has at most one owner."

    def begin(self, scenario: Scenario) -> None:
        self.owners: dict[tuple[int, int, int], tuple[int, int]] = {}

    def copy_into(self, copy: Self) -> None:
        copy.owners = dict(self.owners)

    def read(self, stretch: Stretch, known: NoKnowledge) -> Iterable[tuple[int, str]]:
        stretch.read_more("client")
        for seq, group, leader, topic, client, count, reason in stretch.of("assignment.changed").records(
            "subscription", "ledger", "topic", "client", "count", "reason"
        ):
            place, who = (group, leader, topic), (client, count)
            owner = self.owners.get(place, who)
            if owner != who:
                yield (
                    seq,
                    (
                        f"leader {leader} of {stretch.name(group)} has {stretch.name(topic)} with "
                        f"{stretch.name(client)}, while {stretch.name(owner[0])} owns it"
                    ),
                )
            if stretch.name(reason) == "free":
                self.owners.pop(place, None)
            else:
                self.owners[place] = who


class Passing(Check):
    """Tracks the finished messages of a group in each stream: a position, and single messages above it.

    A message of QoS 0 is finished as soon as its session fetches it: it is never acknowledged, and it may be
    lost.
    """

    done_by: tuple[str, ...] = ()
    """Further types of rows that finish a message."""

    moved_by: tuple[tuple[str, str], ...] = ()
    """Types of rows that contain a position, and the column that holds it."""

    words = ""

    def begin(self, scenario: Scenario) -> None:
        self.reached: dict[Place, int] = {}
        self.redeclared: dict[int, bool] = {}  # declared groups; true: declared again after being destroyed
        self.above: dict[Place, dict[int, None]] = {}
        self.closed: dict[int, int] = {}
        self.weightless: dict[int, BitMap] = {}  # by stream, the messages published with QoS 0
        self.light = {name: None for name, publisher in scenario.publishers.items() if publisher.qos == 0}
        self.careless = {name: None for name, session in scenario.sessions.items() if session.qos == 0}

    def copy_into(self, copy: Self) -> None:
        copy.reached, copy.redeclared, copy.closed, copy.light, copy.careless = (
            dict(self.reached),
            dict(self.redeclared),
            dict(self.closed),
            self.light,
            self.careless,
        )
        copy.above = {place: dict(offsets) for place, offsets in self.above.items()}
        copy.weightless = {stream: BitMap(offsets) for stream, offsets in self.weightless.items()}

    def read(self, stretch: Stretch, known: NoKnowledge) -> Iterable[tuple[int, str]]:
        stretch.read_more("client")
        for seq, place, step, value in sorted(self._steps(stretch), key=lambda row: row[0]):
            if step == "closed":
                self.closed[place[1]] = value
            elif step == "declared":
                self.redeclared[place[0]] = place[0] in self.redeclared
            elif step == "found":
                self._found(place, value)
            elif step == "done":
                self._done(place, value)
            elif step == "light":
                self.weightless.setdefault(place[1], BitMap()).add(value)
            elif step == "taken":
                self._taken(place, value)
            else:
                reached = self.reached.get(place, 0)
                if value == NULL:
                    value = self.closed.get(place[1], 0)
                if value > reached:
                    yield (
                        seq,
                        (
                            f"{stretch.name(place[0])} is put to {value} of {stretch.name(place[1])}, though "
                            f"message {reached} there {self.words}"
                        ),
                    )
                    self.reached[place] = value

    def _steps(self, stretch: Stretch) -> Iterator[tuple[int, Place, str, Any]]:
        yield from (
            (seq, (NULL, topic), "closed", entry)
            for seq, topic, entry in stretch.of("stream.closed").records("topic", "entry")
        )
        yield from (
            (seq, (group, topic), "found", entry)
            for seq, group, topic, entry in stretch.of("stream.found").records(
                "subscription", "topic", "entry"
            )
        )
        yield from (
            (seq, (group, NULL), "declared", NULL)
            for seq, group in stretch.of("group.declared").records("subscription")
        )
        for event in ("message.acknowledged", *self.done_by):
            yield from (
                (seq, (group, topic), "done", entry)
                for seq, group, topic, entry in stretch.of(event).records("subscription", "topic", "entry")
                if group != NULL
            )
        if self.light:
            stored = stretch.of("message.stored").records("topic", "entry", "producer")
            yield from (
                (seq, (NULL, topic), "light", entry)
                for seq, topic, entry, producer in stored
                if stretch.name(producer) in self.light
            )
        if self.light or self.careless:
            for seq, group, topic, first, last, client in stretch.of("chunk.fetched").records(
                "subscription", "topic", "entry", "to_entry", "client"
            ):
                if group != NULL:
                    yield seq, (group, topic), "taken", (first, last, stretch.name(client) in self.careless)
        for event, column in self.moved_by:
            yield from (
                (seq, (group, topic), "moved", value)
                for seq, group, topic, value in stretch.of(event).records("subscription", "topic", column)
            )

    def _taken(self, place: Place, chunk: tuple[int, int, bool]) -> None:
        first, last, careless = chunk
        weightless = self.weightless.get(place[1], ())
        for offset in range(first, last):
            if careless or offset in weightless:
                self._done(place, offset)

    def _found(self, place: Place, value: int) -> None:
        """Record where a group begins in a stream.

        A group that was destroyed and declared again may begin later than before; it skips the messages in
        between.
        """
        if value > self.reached.get(place, NULL) and (
            place not in self.reached or self.redeclared.get(place[0])
        ):
            self.reached[place] = value
            self._advance(place)

    def _done(self, place: Place, offset: int) -> None:
        if offset >= self.reached.get(place, 0):
            self.above.setdefault(place, {})[offset] = None
        self._advance(place)

    def _advance(self, place: Place) -> None:
        reached, above = self.reached.get(place, 0), self.above.get(place, {})
        while reached in above:
            del above[reached]
            reached += 1
        self.reached[place] = reached


class PersistedAcknowledged(Passing):
    """Compares the stored positions with the messages that clients acknowledged."""

    claim = (
        "A position in the leaders' store passes no message of QoS 1 or 2 that no session has acknowledged."
    )
    moved_by = (("progress.persisted", "entry"),)
    words = "is not acknowledged by any session"


class NothingPassedOver(Passing):
    """Compares the leaders' positions with the messages that were delivered."""

    claim = "A leader's position passes no message of QoS 1 or 2 that was delivered to no session."
    done_by = ("message.delivered",)
    moved_by = (("progress.saved", "to_entry"),)
    words = "was delivered to no session"


GROUP_CHECKS = (LegalMoves, OneOwner, PersistedAcknowledged, NothingPassedOver, Settled)
