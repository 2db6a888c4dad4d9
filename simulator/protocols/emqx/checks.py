"""Invariants of durable shared subscriptions, checked in every run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import numpy as np
from pyroaring import BitMap

from simulator.checks.check import Check, NoKnowledge
from simulator.checks.stretch import Stretch
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.trace.registry import NULL

# --- the check that an undisturbed group settles
#
# A settled group has one leader, an owner and a reader for each stream, and fair shares.
#
# A disturbance is anything that changes the streams, the sessions, or which processes can reach each other:
# a command, a session that connects or ends, a stream that begins or ends, a lost or late message, a client
# that holds a chunk for long. The bound is the sum of the timers in the worst case.
#
# Exception: a stream whose owner obeyed a late or duplicate revoke. EMQX leaves it unread until a later
# round revokes it (option `revokeCarriesEpoch`).


WAITED_FOR = (
    "leader_claim_ttl",
    "leader_borrower_timeout",
    "session_ping_leader_interval",
    "session_ping_leader_timeout",
    "session_find_leader_timeout",
    "leader_renew_streams_interval",
)
"""The timers whose sum is the bound: 45 s with the defaults.

A dead leader's claim expires, leader and borrower time each other out, the borrower connects again, and a
reassignment round runs.
"""

LASTING_FAULTS = {
    "resetWhileUnsubscribing": ("resubscribes", "session.unsubscribed"),
    "endOfStream": ("kills-leader", "stream.closed"),
    "replayedGeneration": ("forgotten", "stream.closed"),
}
"""Faults of the code that leave a group without leader or reader, and the event that can be followed by one.

By option, with the faulty value. From that event on the check does not apply.
"""

HELD_US = 5_000_000
"""A client that holds a chunk longer than this does not acknowledge."""


def _setting_us(settings: Mapping[str, Any], name: str) -> int:
    return settings.get(name, SETTINGS[name].default)


def round_trip_limit_us(settings: Mapping[str, Any], answers_repeated: bool = True) -> int:
    """The longest round trip to a leader at which no message is too late: 0.5 s with the defaults.

    It covers a ping before its deadline, its response, and what the periodic check would otherwise resend. A
    stream that is handed over takes two round trips from a round to the answer to `revoked`. With
    `answers_repeated` a check in between gets its owner invalidated, in each hand-over anew.
    """
    ping = _setting_us(settings, "leader_borrower_timeout") - _setting_us(
        settings, "session_ping_leader_interval"
    )
    return min(
        ping,
        _setting_us(settings, "session_ping_leader_timeout"),
        _setting_us(settings, "leader_periodical_actions_interval") // (2 if answers_repeated else 1),
    )


Borrower = tuple[int, int]
"""(session, incarnation)"""

DISTURBING = (
    "command.applied",
    "node.crashed",
    "node.restarted",
    "link.cut",
    "link.healed",
    "link.slowed",
    "session.connected",
    "session.disconnected",
    "session.subscribed",
    "session.unsubscribed",
    "group.declared",
    "group.destroyed",
    "stream.opened",
    "stream.closed",
    "stream.found",
    "store.failed",
    "protocol.delayed",
    "protocol.duplicated",
    "node.stopped",
    "store.unreachable",
    "leader.blocked",
    "leader.unblocked",
    "config.updated",
)
CHANGING = (
    "leader.elected",
    "leader.ended",
    "borrower.changed",
    "lease.changed",
    "assignment.changed",
    "protocol.lost",
    "chunk.fetched",
    "progress.told",
    "progress.loaded",
)


class _Group:
    """The state of one group at an instant, from the rows."""

    def __init__(self) -> None:
        self.leaders: dict[int, None] = {}
        # by stream its state and owner at the leader, None when free
        self.shared: dict[int, tuple[str, Borrower] | None] = {}
        self.borrowers: dict[Borrower, str] = {}
        self.leases: dict[tuple[Borrower, int], None] = {}
        # (session, stream) of the revokes that leaders sent to an owner
        self.revoked_once: dict[tuple[int, int], None] = {}
        # leases being revoked; true: by a late one of these revokes, while the leader has the
        # stream as granted to that borrower
        self.revoking: dict[tuple[Borrower, int], bool] = {}

    def copy(self) -> _Group:
        other = _Group()
        other.leaders, other.shared, other.borrowers, other.leases = (
            dict(self.leaders),
            dict(self.shared),
            dict(self.borrowers),
            dict(self.leases),
        )
        other.revoked_once, other.revoking = dict(self.revoked_once), dict(self.revoking)
        return other

    def trouble(self, name: Any, late_revokes: bool) -> str | None:
        """The first deviation from the settled state, None when there is none.

        `name` returns a number's name. With `late_revokes`, streams that a late revoke left unread are
        excepted.
        """
        sharing = [who for who, state in self.borrowers.items() if state == "connected"]
        if not self.borrowers:
            return None
        if len(self.leaders) != 1:
            return f"has {len(self.leaders) or 'no'} leader{'s' if self.leaders else ''}"
        if len(sharing) < len(self.borrowers):
            who, state = next((who, state) for who, state in self.borrowers.items() if state != "connected")
            return f"has {name(who[0])}, which is still {state}"
        for stream, one in self.shared.items():
            if one is None:
                return f"has {name(stream)}, which has no owner"
            if one[0] != "granted":
                return f"has {name(stream)}, which is still {one[0]}"
            if (one[1], stream) not in self.leases and not (
                late_revokes and self.revoking.get((one[1], stream))
            ):
                return f"has {name(stream)}, which its owner {name(one[1][0])} does not read"
        shares = Counter(one[1] for one in self.shared.values() if one is not None)
        most, least = (chosen(shares[who] for who in sharing) for chosen in (max, min))
        return f"deals {most} streams to one and {least} to another" if most - least > 1 else None


class Settled(Check):
    """Follows leaders, owners and leases, and judges each state that lasts after the bound.

    The bound counts from the last disturbance.
    """

    claim = (
        "Once nothing disturbs a group and its clients acknowledge, every stream is owned, and "
        "read unless its owner acted on a late revoke, within 45 s (the sum of the timers), and "
        "shares differ by one at most."
    )

    def begin(self, scenario: Scenario) -> None:
        options = scenario.options
        self.late_revokes = not OPTIONS["revokeCarriesEpoch"].value_under(options)
        self.answers_repeated = OPTIONS["secondRevokeFinished"].value_under(options) == "invalidates"
        self.ending = {
            event: None
            for name, (value, event) in LASTING_FAULTS.items()
            if OPTIONS[name].value_under(options) == value
        }
        self.settings = dict(scenario.settings)
        self.slowest_us = max(
            (2 * max(link.latency.value_us, link.latency.high_us) for link in scenario.links.values()),
            default=0,
        )
        self.judges = OPTIONS["emqxEdition"].value_under(options) == "enterprise"
        self.bound_us = 0
        self._reckon()
        self.groups: dict[int, _Group] = {}
        self.held: dict[tuple[int, int, int], int] = {}  # since when a client has a chunk of a group's stream
        self.undisturbed_us = self.changed_us = 0
        self.judged = False  # whether the present state was judged

    def _reckon(self) -> None:
        """Compute the limits from the settings in force.

        The check stops for good once the settings or links make messages, responses or claim renewals late.
        """
        self.limit_us = round_trip_limit_us(self.settings, self.answers_repeated)
        renewed = _setting_us(self.settings, "leader_heartbeat_interval") < _setting_us(
            self.settings, "leader_claim_ttl"
        )
        self.judges = self.judges and renewed and 0 < self.limit_us >= self.slowest_us
        looks_us = (
            _setting_us(self.settings, "leader_periodical_actions_interval")
            - SETTINGS["leader_periodical_actions_interval"].default
        )
        # running timers keep their duration
        self.bound_us = max(
            self.bound_us, sum(_setting_us(self.settings, name) for name in WAITED_FOR) + max(0, looks_us)
        )

    def copy_into(self, copy: Self) -> None:
        copy.settings, copy.slowest_us = dict(self.settings), self.slowest_us
        copy.ending, copy.answers_repeated = self.ending, self.answers_repeated
        copy.judges, copy.limit_us, copy.bound_us, copy.late_revokes = (
            self.judges,
            self.limit_us,
            self.bound_us,
            self.late_revokes,
        )
        copy.undisturbed_us, copy.changed_us, copy.judged = self.undisturbed_us, self.changed_us, self.judged
        copy.groups, copy.held = {name: group.copy() for name, group in self.groups.items()}, dict(self.held)

    def read(self, stretch: Stretch, known: NoKnowledge) -> Iterable[tuple[int, str]]:
        if not self.judges:
            return
        stretch.read_more("client", "duration_us")
        instants = stretch.values("at_us")
        for seq, kind, row in self._rows(stretch):
            yield from self._judge(stretch, instants, stretch.at_us(seq))
            self._take(kind, row, stretch.at_us(seq), stretch)
            if kind == "link.slowed":
                self.slowest_us = max(self.slowest_us, 2 * row[-1])
            elif kind == "config.updated":
                self.settings[stretch.name(row[6])] = row[-1]
            elif kind in self.ending:
                self.judges = False
                return
            else:
                continue
            self._reckon()
            if not self.judges:  # from now on messages may be late
                return
        yield from self._judge(stretch, instants, int(instants[-1]))

    @staticmethod
    def _rows(stretch: Stretch) -> Iterator[tuple[int, str, tuple[int, ...]]]:
        columns = (
            "subscription",
            "client",
            "count",
            "topic",
            "ledger",
            "entry",
            "reason",
            "detail",
            "duration_us",
        )
        sent = stretch.of("protocol.sent")
        revokes = sent.take(sent["reason"] == stretch.number("revoke"))
        rows = [
            (seq, kind, tuple(row))
            for kind in (*DISTURBING, *CHANGING)
            for seq, *row in stretch.of(kind).records(*columns)
        ]
        rows += [(seq, "protocol.sent", tuple(row)) for seq, *row in revokes.records(*columns)]
        return iter(sorted(rows, key=lambda row: row[0]))

    # --- judging: only a state that lasts beyond its instant counts

    def _judge(self, stretch: Stretch, instants: np.ndarray, until_us: int) -> Iterator[tuple[int, str]]:
        """Violations by the present state at the first row after the bound, if that is before `until_us`."""
        while not self.judged:
            from_us = max(self.undisturbed_us + self.bound_us, self.changed_us)
            if from_us >= until_us:
                return
            seq = stretch.first + int(np.searchsorted(instants, from_us, side="right"))
            if any(stretch.at_us(seq) - since_us > HELD_US for since_us in self.held.values()):
                self.undisturbed_us = stretch.at_us(seq)
                continue
            self.judged = True
            for number, group in self.groups.items():
                trouble = group.trouble(stretch.name, self.late_revokes)
                if trouble is not None:
                    yield (
                        seq,
                        (
                            f"{stretch.name(number)} {trouble}, "
                            f"{(stretch.at_us(seq) - self.undisturbed_us) / 1e6:.1f} s after the last "
                            "disturbance"
                        ),
                    )

    # --- following

    def _take(self, kind: str, row: tuple[int, ...], at_us: int, stretch: Stretch) -> None:
        subscription, client, count, topic, ledger, entry, reason, detail, duration_us = row
        group = (
            self.groups.get(subscription) or self.groups.setdefault(subscription, _Group())
            if subscription != NULL
            else None
        )
        if kind == "chunk.fetched":
            if subscription != NULL:  # a chunk of a private subscription is never reported
                self.held[client, subscription, topic] = at_us
            return
        if kind == "progress.told":
            self.held.pop((client, subscription, topic), None)
            return
        if kind == "protocol.sent":
            state = group.shared.get(topic) if group is not None else None
            if group is not None and state is not None and state[0] == "revoking" and state[1][0] == client:
                group.revoked_once[client, topic] = None
            return
        self.judged, self.changed_us = False, at_us
        if (
            kind in DISTURBING
            or (kind == "protocol.lost" and stretch.name(detail) != "no-such-process")
            or (kind == "assignment.changed" and entry == NULL)
        ):
            # a consequence of a fault does not end the fault
            self.undisturbed_us = max(
                self.undisturbed_us,
                at_us + (duration_us if kind in ("store.failed", "store.unreachable") else 0),
            )
        if kind == "session.disconnected":
            self._gone(client)
        elif kind == "group.destroyed":
            self.groups.pop(subscription, None)
        elif group is not None:
            _follow(group, kind, (client, count), topic, ledger, entry, stretch.name(reason))

    def _gone(self, client: int) -> None:
        """Remove a session and its borrowers."""
        self.held = {key: since_us for key, since_us in self.held.items() if key[0] != client}
        for group in self.groups.values():
            group.borrowers = {who: state for who, state in group.borrowers.items() if who[0] != client}
            group.leases = {key: None for key in group.leases if key[0][0] != client}
            group.revoking = {key: late for key, late in group.revoking.items() if key[0][0] != client}


def _follow(group: _Group, kind: str, who: Borrower, stream: int, leader: int, entry: int, word: str) -> None:
    """Apply one row to its group."""
    if kind == "leader.elected":
        group.leaders[who[1]] = None
        group.shared.clear()
    elif kind == "leader.ended":
        group.leaders.pop(who[1], None)
    elif kind in ("stream.found", "progress.loaded"):
        if entry != NULL:
            group.shared[stream] = None
    elif kind == "borrower.changed":
        group.borrowers[who] = word
        if word == "gone":
            del group.borrowers[who]
            group.revoking = {key: late for key, late in group.revoking.items() if key[0] != who}
    elif kind == "lease.changed":
        group.leases[who, stream] = None
        group.revoking.pop((who, stream), None)
        if word != "granted":
            del group.leases[who, stream]
        if word == "revoking" and group.borrowers.get(who) == "connected":
            group.revoking[who, stream] = (who[0], stream) in group.revoked_once and group.shared.get(
                stream
            ) in (("granting", who), ("granted", who))
    elif kind == "assignment.changed" and leader in group.leaders:
        group.shared[stream] = (word, who) if word != "free" else None
        if (who, stream) in group.revoking:
            group.revoking[who, stream] = word == "granting" or (
                word == "granted" and group.revoking[who, stream]
            )
        if entry == NULL:
            group.shared.pop(stream)


# --- checks of durable shared subscriptions: legal transitions, one owner per stream, safe positions
#
# A position may not pass a message that is unacknowledged or undelivered. Two readers of one stream are not
# a violation, because nothing fences a reader (docs/durable-shared-subscriptions.md); they are counted
# instead.


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


class FinishedMessages(Check):
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


class PersistedAcknowledged(FinishedMessages):
    """Compares the stored positions with the messages that clients acknowledged."""

    claim = (
        "A position in the leaders' store passes no message of QoS 1 or 2 that no session has acknowledged."
    )
    moved_by = (("progress.persisted", "entry"),)
    words = "is not acknowledged by any session"


class NothingPassedOver(FinishedMessages):
    """Compares the leaders' positions with the messages that were delivered."""

    claim = "A leader's position passes no message of QoS 1 or 2 that was delivered to no session."
    done_by = ("message.delivered",)
    moved_by = (("progress.saved", "to_entry"),)
    words = "was delivered to no session"


GROUP_CHECKS = (LegalMoves, OneOwner, PersistedAcknowledged, NothingPassedOver, Settled)
