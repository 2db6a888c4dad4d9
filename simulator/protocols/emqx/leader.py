"""A leader: one group's assignment of streams to borrowers.

One input and now in, effects out (`emqx_ds_shared_sub_leader`).

Rules: it does no I/O. Its state is in memory, and only what `LeaderStore` stored at a heartbeat survives a
crash. A borrower that is unknown or past its deadline is dropped and notified. So is one that sends a message
about a stream of another borrower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from simulator.protocols.emqx import protocol
from simulator.protocols.emqx.protocol import (
    ASSIGNMENT_MOVES,
    END,
    FREE,
    GRANTING,
    LEADER_GRANTED,
    LEADER_REVOKING,
    REVOKED_STATE,
    TRANSIENT,
    BorrowerId,
    Message,
    Progress,
)
from simulator.protocols.emqx.ranks import Rank, RankProgress


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
