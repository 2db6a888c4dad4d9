"""A leader: one group's assignment of streams to borrowers.

One input and now in, effects out (`emqx_ds_shared_sub_leader`).

Rules: it does no I/O. Its state is in memory, and only what `LeaderStore` stored at a heartbeat survives a
crash. A borrower that is unknown or past its deadline is dropped and notified. So is one that sends a message
about a stream of another borrower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.protocols.emqx import protocol
from simulator.protocols.emqx.protocol import (
    ABSENT,
    ASSIGNMENT_MOVES,
    DISCONNECT,
    END,
    FREE,
    GRANTING,
    LEADER_GRANTED,
    LEADER_REVOKING,
    REVOKED_STATE,
    TRANSIENT,
    UPDATE_PROGRESS,
    BorrowerId,
    Message,
    Progress,
)
from simulator.protocols.emqx.storage import Rank, RankProgress

if TYPE_CHECKING:
    from simulator.protocols.emqx.leader_process import LeaderProcess
    from simulator.protocols.emqx.storage import Reading
    from simulator.protocols.emqx.system import Emqx


# --- the leaders' store: claims and committed progress, each written by precondition
#
# It is separate from the storage of messages.
#
# Rules: a claim is (leader, node, instant of the last heartbeat). A leader can take it when there is none,
# or when the present one is the one that the taker read and is older than the time to live. A commit
# requires that the claim is the committer's and that the sequence number is the one it last wrote or read.
# Every newly declared group has the same number, so a leader that has not committed yet does not notice
# that its group was destroyed and declared again.


REQUEST_TIMEOUT_US = 60_000_000
"""The timeout of a request to the store: `RA_TIMEOUT` of emqx_ds_replication_layer."""


class Claim(NamedTuple):
    leader: int
    node: str
    heartbeat_us: int


FIRST_ROOT = 0
"""The sequence number of every group that is declared and has not been committed to."""


class Committed:
    """The committed state of one group: positions, ranks, and the start of the group.

    `root` is the sequence number of the last commit. `life` is the number of the declaration.
    """

    __slots__ = ("start_us", "positions", "ranks", "root", "life")

    def __init__(self, start_us: int, ranks: RankProgress, root: int, life: int) -> None:
        self.start_us = start_us
        self.positions: dict[str, tuple[Rank, int]] = {}
        self.ranks = ranks
        self.root, self.life = root, life


class LeaderStore:
    """The claims and committed groups, and the present faults of the store.

    Before `failing_until_us` every request fails at once. Requests from a node in `cut_until_us` wait until
    that instant, or for `REQUEST_TIMEOUT_US`.
    """

    __slots__ = ("claims", "groups", "failing_until_us", "cut_until_us", "roots")

    def __init__(self) -> None:
        self.claims: dict[str, Claim] = {}
        self.groups: dict[str, Committed] = {}
        self.failing_until_us = 0
        self.cut_until_us: dict[str, int] = {}
        self.roots = 0

    def answers(self, node: str, now: int) -> bool:
        """Whether a request from a node is answered now."""
        return max(self.failing_until_us, self.cut_until_us.get(node, 0)) <= now

    def cut_off(self, node: str, now: int) -> bool:
        """Whether a request from a node gets no answer at all."""
        return self.cut_until_us.get(node, 0) > now

    def next_root(self) -> int:
        """A sequence number that no commit and no declaration has had."""
        self.roots += 1
        return self.roots

    def claim(self, group: str, new: Claim, seen: Claim | None) -> bool:
        """Write a claim if the present one is `seen`; returns whether it did."""
        if self.claims.get(group) != seen:
            return False
        self.claims[group] = new
        return True

    def release(self, group: str, leader: int) -> None:
        """Delete a claim, if it is still this leader's."""
        if group in self.claims and self.claims[group].leader == leader:
            del self.claims[group]


# --- progress of each stream of a group, and what each kind of crash would redeliver; read-only
#
# Progress is what clients received and acknowledged, what was reported to the leader, and what it
# committed. Rules: figures are of messages delivered up to now, without those between the crash and its
# detection.


Readers = dict[str, dict[BorrowerId, dict[str, Any]]]
"""The readers by stream and borrower."""


def borrower_name(who: BorrowerId) -> str:
    """A borrower's name, `session/incarnation`."""
    return f"{who[0]}/{who[2]}"


def offset_of(system: Emqx, stream: str, position: int) -> int:
    """A position as an offset: the end of a closed stream is its length."""
    return system.storage.streams[stream].length if position == END else position


def group_progress(system: Emqx, name: str, most: int) -> dict[str, Any]:
    """`streams`, `streams_total` and `repeats` of a group."""
    kept = system.store.groups.get(name)
    listed = system.streams_of(name, kept.start_us) if kept is not None else []
    committed = {stream: _committed(system, kept, stream) for stream, _rank in listed if kept is not None}
    readers = _readers(system, name)
    return {
        "streams": {
            stream: {
                "committed": at,
                "readers": {borrower_name(who): one for who, one in readers.get(stream, {}).items()},
            }
            for stream, at in list(committed.items())[:most]
        },
        "streams_total": len(committed),
        "repeats": _repeats(system, name, committed, readers),
    }


def _committed(system: Emqx, kept: Committed, stream: str) -> int:
    """The position at which a leader that has only the store would begin."""
    one = system.storage.streams[stream]
    if stream in kept.positions:
        return offset_of(system, stream, kept.positions[stream][1])
    return one.length if kept.ranks.replayed(stream, one.rank) else one.first_at(kept.start_us)


def _readers(system: Emqx, group: str) -> Readers:
    """The readers of each stream, from the sessions.

    `lease` is absent where a chunk of a stream that is no longer leased is still in flight.
    """
    found: Readers = {}
    for session in system.sessions.values():
        for borrower in session.agent.borrowers.values():
            if borrower.group == group:
                for stream, held in borrower.streams.items():
                    at = offset_of(system, stream, held.position)
                    found.setdefault(stream, {})[borrower.id] = {
                        "lease": held.state,
                        "acknowledged": at,
                        "delivered": at,
                        "chunk": None,
                    }
        if session.online:
            for reading in session.readings.values():
                borrower_id = reading.borrower
                if borrower_id is None or reading.group != group:
                    continue
                if not reading.forgotten or reading.busy:
                    of_stream = found.setdefault(reading.stream, {})
                    of_stream.setdefault(borrower_id, {"lease": ABSENT}).update(_cursors(system, reading))
    return found


def _cursors(system: Emqx, reading: Reading) -> dict[str, Any]:
    """The acknowledged and delivered offsets, and the chunk in flight.

    Messages are sent and acknowledged in order, so each is one offset.
    """
    if not reading.blocked:
        at = offset_of(system, reading.stream, reading.end)
        return {"acknowledged": at, "delivered": at - reading.unsent, "chunk": None}
    sent = reading.end - reading.unsent
    return {
        "acknowledged": next(iter(reading.unacked), sent),
        "delivered": max(sent, reading.sent),
        "chunk": [reading.begin, reading.end],
    }


def _repeats(system: Emqx, group: str, committed: dict[str, int], readers: Readers) -> dict[str, Any]:
    """The messages that would be redelivered if the leader or one session crashed now.

    Also how many of them are acknowledged already.
    """
    leader = _leading(system, group)
    sessions: dict[str, dict[str, int]] = {}
    if leader is None:
        return {"leader": None, "sessions": sessions}
    again = acknowledged = 0
    under_way = _under_way(system, leader)
    for stream, kept_at in committed.items():
        by_borrower = readers.get(stream, {})
        assignment = leader.leader.streams.get(stream)
        known = kept_at if assignment is None else offset_of(system, stream, assignment.position)
        furthest = done = max(kept_at, known)
        for one in by_borrower.values():
            furthest, done = max(furthest, one["delivered"]), max(done, one["acknowledged"])
        again += furthest - kept_at
        acknowledged += done - kept_at
        if assignment is None or assignment.owner not in by_borrower:
            continue
        one = by_borrower[assignment.owner]
        reported = max(known, under_way.get((stream, assignment.owner), 0))
        figures = sessions.setdefault(assignment.owner[0], {"again": 0, "acknowledged": 0})
        figures["again"] += max(0, one["delivered"] - reported)
        figures["acknowledged"] += max(0, one["acknowledged"] - reported)
    return {
        "leader": {"again": again, "acknowledged": acknowledged},
        "sessions": {name: sessions[name] for name in sorted(sessions)},
    }


def _leading(system: Emqx, group: str) -> LeaderProcess | None:
    """The leader that has the claim; None while the claim is a dead leader's."""
    claim = system.store.claims.get(group)
    return next(
        (one for one in system.leaders_of(group) if claim is not None and one.number == claim.leader), None
    )


def _under_way(system: Emqx, leader: LeaderProcess) -> dict[tuple[str, BorrowerId], int]:
    """The furthest position that is on its way to the leader, by stream and borrower."""
    found: dict[tuple[str, BorrowerId], int] = {}
    for flight in system.network.flights.values():
        message = flight.message
        if (
            flight.target.process == "leader"
            and flight.target.leader == leader.number
            and message.kind in (UPDATE_PROGRESS, DISCONNECT)
        ):
            for report in message.progress:
                key = report.stream, message.borrower
                found[key] = max(found.get(key, 0), offset_of(system, report.stream, report.position))
    return found


class LeaderFaults(NamedTuple):
    """Known faults of EMQX's code; true means as shipped."""

    progress_rewinds: bool = False
    rounds_multiply: bool = False
    end_of_stream_kills: bool = False
    second_revoke_finished_invalidates: bool = True


# --- effects


class Send(NamedTuple):
    borrower: BorrowerId
    kind: str
    stream: str | None = None
    progress: tuple[Progress, ...] = ()
    epoch: int = 0


class Assigned(NamedTuple):
    """The assignment of a stream changed; `owner` has the stream, or had it if it is free now."""

    stream: str
    owner: BorrowerId
    state: str
    position: int


class Saved(NamedTuple):
    """The leader accepted a progress: in memory, not yet in the store."""

    stream: str
    owner: BorrowerId
    before: int
    position: int


class Dropped(NamedTuple):
    borrower: BorrowerId
    why: str


class Joined(NamedTuple):
    borrower: BorrowerId


class RoundRequested(NamedTuple):
    """A reassignment round is due now. `rearms`: it starts another periodic timer, as shipped."""

    rearms: bool


class Died(NamedTuple):
    why: str


Effect = Send | Assigned | Saved | Dropped | Joined | RoundRequested | Died


_KILLED = "end of stream: it looked for the rank of a record that it had deleted"


class Assignment:
    """One stream: position to read from, owner and state, and the epoch of its last grant."""

    __slots__ = ("rank", "position", "owner", "state", "epoch")

    def __init__(self, rank: Rank, position: int) -> None:
        self.rank, self.position = rank, position
        self.owner: BorrowerId | None = None
        self.state = FREE
        self.epoch = 0

    @property
    def owned_by(self) -> BorrowerId:
        """The owner of a stream that is not free."""
        assert self.owner is not None, f"a stream that is {self.state} has no owner"
        return self.owner


class Leader:
    """`borrowers` are deadlines by id; `choose(count)` draws the next number below `count`."""

    __slots__ = (
        "number",
        "group",
        "streams",
        "ranks",
        "borrowers",
        "owned",
        "timeout_us",
        "faults",
        "choose",
        "grants",
    )

    def __init__(
        self,
        number: int,
        group: str,
        saved: dict[str, tuple[Rank, int]],
        ranks: RankProgress,
        timeout_us: int,
        choose: Callable[[int], int],
        faults: LeaderFaults = LeaderFaults(),
    ) -> None:
        self.number, self.group, self.timeout_us, self.choose, self.faults = (
            number,
            group,
            timeout_us,
            choose,
            faults,
        )
        self.streams = {name: Assignment(rank, position) for name, (rank, position) in saved.items()}
        self.ranks = ranks
        self.borrowers: dict[BorrowerId, int] = {}
        self.owned: dict[BorrowerId, dict[str, None]] = {}  # in order of assignment
        self.grants = 0

    # --- messages

    def receive(self, now: int, message: Message) -> list[Effect]:
        """Handle a message from a borrower."""
        who = message.borrower
        if message.kind == protocol.LEADER_WANTED:
            return self._connect(now, who)
        if message.kind == protocol.DISCONNECT:
            return self._disconnect(who, message.progress) if who in self.borrowers else []
        if who not in self.borrowers:
            return self._drop(who, "unknown")
        if self.borrowers[who] <= now:
            return self._drop(who, "expired")
        if message.kind == protocol.PING:
            self.borrowers[who] = now + self.timeout_us
            return [Send(who, protocol.PING_RESPONSE)]
        if message.kind == protocol.REVOKE_FINISHED:
            return self._revoke_finished(who, message.about)
        (progress,) = message.progress
        return self._progress(who, progress)

    def _connect(self, now: int, who: BorrowerId) -> list[Effect]:
        effects: list[Effect] = []
        if who not in self.borrowers:
            self.borrowers[who] = now + self.timeout_us
            self.owned[who] = {}
            effects.append(Joined(who))
        grants = self._assign(who, self.targets()[who], self._unowned())
        return [*effects, *(grants or [Send(who, protocol.CONNECT_RESPONSE)])]

    def _disconnect(self, who: BorrowerId, progress: Iterable[Progress]) -> list[Effect]:
        effects: list[Effect] = []
        freed = 0
        for one in progress:
            assignment = self.streams.get(one.stream)
            if assignment is not None and assignment.owner == who:
                if one.position == END and self.faults.end_of_stream_kills:
                    return [*effects, Died(_KILLED)]
                effects += self._save(one, assignment, who)
                if one.position == END:
                    self.ranks.set_replayed(one.stream, assignment.rank)
                effects.append(self._free(one.stream))
                freed += 1
        effects += self._forget(who, "disconnected")
        rounds = freed if self.faults.rounds_multiply else min(freed, 1)
        return effects + [RoundRequested(self.faults.rounds_multiply)] * rounds

    def _revoke_finished(self, who: BorrowerId, stream: str) -> list[Effect]:
        assignment = self.streams.get(stream)
        if assignment is None or assignment.owner != who:
            if not self.faults.second_revoke_finished_invalidates:
                return []
        elif assignment.state == REVOKED_STATE:
            return [self._free(stream)]
        return self._drop(who, "revoke-finished out of turn")

    def _progress(self, who: BorrowerId, progress: Progress) -> list[Effect]:
        assignment = self.streams.get(progress.stream)
        if assignment is None or assignment.owner is None:
            return []
        if assignment.owner != who:
            return self._drop(who, f"progress of {progress.stream}, which is another's")
        if assignment.state == REVOKED_STATE:
            return []
        if progress.position == END and self.faults.end_of_stream_kills:
            return [Died(_KILLED)]  # it commits the positions that it had before
        effects = self._save(progress, assignment, who)
        if progress.position == END:
            self.ranks.set_replayed(progress.stream, assignment.rank)
            return [*effects, *self._take(progress.stream, assignment)]
        if assignment.state == GRANTING:
            return [*effects, self._move(progress.stream, LEADER_GRANTED)]
        if assignment.state == LEADER_REVOKING and progress.finished:
            return [*effects, *self._take(progress.stream, assignment)]
        return effects

    # --- time

    def round(self, listed: Iterable[tuple[str, Rank]], start_of: Callable[[str], int]) -> list[Effect]:
        """Run a reassignment round over the streams that storage lists.

        `start_of(stream)` is the position at which the group begins in a new stream.
        """
        ranks = dict(listed)
        effects: list[Effect] = []
        for name in self.ranks.unread(ranks.items()):
            if name not in self.streams:
                self.streams[name] = Assignment(ranks[name], start_of(name))
        for name in [name for name in self.streams if name not in ranks]:
            effects += self._vanished(name)
        targets = self.targets()
        for who, target in targets.items():
            if self.stable(who):
                effects += self._revoke(who, len(self.owned[who]) - target)
        free = self._unowned()
        for who, target in targets.items():
            if self.stable(who):
                effects += self._assign(who, target - len(self.owned[who]), free)
        return effects

    def periodical(self, now: int) -> list[Effect]:
        """Drop borrowers past their deadline, then resend the messages without an answer."""
        effects: list[Effect] = []
        for who in [who for who, deadline in self.borrowers.items() if deadline <= now]:
            effects += self._drop(who, "expired")
        for name, assignment in self.streams.items():
            if assignment.state in TRANSIENT:
                effects.append(self._send(name, assignment))
        return effects

    def targets(self) -> dict[BorrowerId, int]:
        """How many streams each borrower is to have; the lowest ids get the extra ones."""
        if not self.borrowers:
            return {}
        ids = sorted(self.borrowers)
        # a stream that is read to its end only waits for its owner's answer
        shared = sum(one.position != END for one in self.streams.values())
        each, rest = divmod(shared, len(ids))
        return {who: each + (number < rest) for number, who in enumerate(ids)}

    def stable(self, who: BorrowerId) -> bool:
        """Whether none of the borrower's streams is being granted or revoked."""
        return all(self.streams[name].state == LEADER_GRANTED for name in self.owned[who])

    # --- steps

    def _revoke(self, who: BorrowerId, count: int) -> list[Effect]:
        effects: list[Effect] = []
        for name in self._some(list(self.owned[who]), count):
            effects += [self._move(name, LEADER_REVOKING), self._send(name, self.streams[name])]
        return effects

    def _unowned(self) -> list[str]:
        """The streams without an owner."""
        return [name for name, one in self.streams.items() if one.owner is None]

    def _assign(self, who: BorrowerId, count: int, free: list[str]) -> list[Effect]:
        """Grant `count` of the free streams (or all), and remove them from `free`."""
        effects: list[Effect] = []
        for name in self._some(free, count):
            self.grants += 1
            self.streams[name].owner, self.streams[name].epoch = who, self.grants
            self.owned[who][name] = None
            effects += [self._move(name, GRANTING), self._send(name, self.streams[name])]
        return effects

    def _some(self, names: list[str], count: int) -> list[str]:
        """Draw `count` of the names (or all) one by one, and remove them from the list."""
        if count >= len(names):
            drawn, names[:] = names[:], []
            return drawn
        return [names.pop(self.choose(len(names))) for _number in range(count)]

    def _vanished(self, name: str) -> list[Effect]:
        """Handle a stream that storage no longer lists: it is read to its end, or its data is gone."""
        assignment = self.streams[name]
        if assignment.owner is None:
            del self.streams[name]
            return []
        return self._take(name, assignment) if assignment.state != REVOKED_STATE else []

    def _take(self, name: str, assignment: Assignment) -> list[Effect]:
        return [self._move(name, REVOKED_STATE), self._send(name, assignment)]

    def _save(self, progress: Progress, assignment: Assignment, who: BorrowerId) -> list[Effect]:
        before = assignment.position
        if progress.position == before or (progress.position < before and not self.faults.progress_rewinds):
            return []
        assignment.position = progress.position
        return [Saved(progress.stream, who, before, progress.position)]

    def _free(self, name: str) -> Assigned:
        assignment = self.streams[name]
        del self.owned[assignment.owned_by][name]
        freed = self._move(name, FREE)
        assignment.owner = None
        if assignment.position == END or self.ranks.replayed(name, assignment.rank):
            del self.streams[name]
        return freed

    def _drop(self, who: BorrowerId, why: str) -> list[Effect]:
        return [*self._forget(who, why), Send(who, protocol.INVALIDATE)]

    def _forget(self, who: BorrowerId, why: str) -> list[Effect]:
        if who not in self.borrowers:
            return [Dropped(who, why)]
        freed: list[Effect] = [self._free(name) for name in list(self.owned[who])]
        del self.borrowers[who], self.owned[who]
        return [Dropped(who, why), *freed]

    def _move(self, name: str, state: str) -> Assigned:
        assignment = self.streams[name]
        assert state in ASSIGNMENT_MOVES[assignment.state], (
            f"{name}: no move from {assignment.state} to {state}"
        )
        assignment.state = state
        return Assigned(name, assignment.owned_by, state, assignment.position)

    def _send(self, name: str, assignment: Assignment) -> Send:
        """The message that the owner must receive in the stream's present state."""
        if assignment.state == GRANTING:
            return Send(
                assignment.owned_by,
                protocol.GRANT,
                name,
                (Progress(name, assignment.position, False),),
                assignment.epoch,
            )
        if assignment.state == LEADER_REVOKING:
            return Send(assignment.owned_by, protocol.REVOKE, name, (), assignment.epoch)
        return Send(assignment.owned_by, protocol.REVOKED, name)
