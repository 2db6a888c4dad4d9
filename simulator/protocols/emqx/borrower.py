"""A borrower: one shared subscription's part in a session.

One input and now in, effects out (`emqx_ds_shared_sub_borrower`).

Rules: it does no I/O and has no reference to its session. It keeps the first leader that sends it a message
and ignores every other. Timers are kept as name -> instant; an expiry for another instant is ignored. `reset`
means: the borrower is gone, and the agent creates another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.emqx import protocol
from simulator.protocols.emqx.protocol import (
    ABSENT,
    BORROWER_MOVES,
    CONNECTED,
    CONNECTING,
    END,
    GONE,
    GRANTED,
    LEADER_WANTED,
    LEASE_MOVES,
    REVOKING,
    UNSUBSCRIBING,
    Address,
    BorrowerId,
    Flight,
    Message,
    Progress,
)
from simulator.protocols.emqx.scenario.sections import Subscription
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.emqx.session import Session


FIND, PING, PING_TIMEOUT, UNSUBSCRIBE = "find-leader", "ping", "ping-timeout", "unsubscribe"
"""The timers of a borrower."""


class Timers(NamedTuple):
    """Spans of the timers in us, under the names of their settings."""

    session_find_leader_timeout: int
    session_ping_leader_interval: int
    session_ping_leader_timeout: int
    session_unsubscribe_timeout: int


class Faults(NamedTuple):
    """Known faults of EMQX's code; true means as shipped."""

    second_connect_response_crashes: bool = False
    reset_resubscribes: bool = False
    stale_revoke_taken: bool = True
    """A revoke takes effect whichever grant it is about (option `revokeCarriesEpoch`: false)."""


# --- effects


class Send(NamedTuple):
    kind: str
    stream: str | None = None
    progress: tuple[Progress, ...] = ()


class Lease(NamedTuple):
    """The session is to read a stream from a position."""

    stream: str
    position: int


class Release(NamedTuple):
    """The session is to stop reading a stream, and to report when all of it is acknowledged."""

    stream: str


class Forget(NamedTuple):
    """The borrower no longer holds the stream."""

    stream: str


class Arm(NamedTuple):
    timer: str
    at_us: int


class Ended(NamedTuple):
    """The borrower is gone. `replaced`: the agent creates another. `crash`: the session's process crashed."""

    why: str
    replaced: bool = False
    crash: bool = False


Effect = Send | Lease | Release | Forget | Arm | Ended


class Borrowed:
    """One stream at the borrower: its state, the session's last report, and the epoch of the grant."""

    __slots__ = ("state", "position", "finished", "epoch")

    def __init__(self, position: int, epoch: int) -> None:
        self.state, self.position, self.finished, self.epoch = ABSENT, position, False, epoch
        self.become(GRANTED)

    def become(self, state: str) -> None:
        """Change the state; only legal moves are accepted."""
        assert state in LEASE_MOVES[self.state], f"no move of a lease from {self.state} to {state}"
        self.state = state


class Borrower:
    """`streams` are the streams it holds, by name; `leader` is the number of its leader."""

    __slots__ = ("id", "group", "state", "leader", "streams", "timers", "spans", "faults")

    def __init__(self, borrower_id: BorrowerId, group: str, spans: Timers, faults: Faults = Faults()) -> None:
        self.id, self.group, self.spans, self.faults = borrower_id, group, spans, faults
        self.state = CONNECTING
        self.leader: int | None = None
        self.streams: dict[str, Borrowed] = {}
        self.timers: dict[str, int] = {}

    def become(self, state: str) -> None:
        """Change the state; only legal moves are accepted."""
        assert state in BORROWER_MOVES[self.state], f"no move of a borrower from {self.state} to {state}"
        self.state = state

    def start(self, now: int) -> list[Effect]:
        """Look for a leader, from the borrower's first instant on."""
        return [Send(protocol.LEADER_WANTED), self._arm(FIND, now + self.spans.session_find_leader_timeout)]

    # --- messages

    def receive(self, now: int, message: Message) -> list[Effect]:
        """Handle a message from a leader."""
        if self.state == GONE or (self.leader is not None and message.leader != self.leader):
            return []
        if message.kind == protocol.INVALIDATE:
            return self._reset("invalidated by the leader")
        if message.kind == protocol.PING_RESPONSE:
            self.timers.pop(PING_TIMEOUT, None)
            return [self._arm(PING, now + self.spans.session_ping_leader_interval)]
        if message.kind == protocol.CONNECT_RESPONSE:
            return self._connected(now, message)
        if self.state == UNSUBSCRIBING:
            return []
        if message.kind == protocol.GRANT:
            return self._granted(now, message)
        if self.state == CONNECTING:
            return self._reset(f"{message.kind} while connecting")
        return self._revoke(message) if message.kind == protocol.REVOKE else self._revoked(message.about)

    def _connected(self, now: int, message: Message) -> list[Effect]:
        if self.state == CONNECTING:
            return self._connect(now, message.leader)
        if self.faults.second_connect_response_crashes:
            self.become(GONE)
            return [Ended("a second connect response", crash=True)]
        return []

    def _connect(self, now: int, leader: int) -> list[Effect]:
        self.become(CONNECTED)
        self.leader = leader
        self.timers.pop(FIND, None)
        return [self._arm(PING, now + self.spans.session_ping_leader_interval)]

    def _granted(self, now: int, message: Message) -> list[Effect]:
        (given,) = message.progress
        effects = self._connect(now, message.leader) if self.state == CONNECTING else []
        held = self.streams.get(given.stream)
        if (
            held is not None
            and held.state == REVOKING
            and message.epoch != held.epoch
            and not self.faults.stale_revoke_taken
        ):
            held.become(ABSENT)  # the grant that was being revoked is over
            held = None
            effects.append(Forget(given.stream))
        if held is None:
            held = self.streams[given.stream] = Borrowed(given.position, message.epoch)
            effects.append(Lease(given.stream, given.position))
        held.epoch = message.epoch
        return [*effects, self._send_progress(given.stream, held)]

    def _revoke(self, message: Message) -> list[Effect]:
        stream = message.about
        held = self.streams.get(stream)
        if held is not None and held.epoch != message.epoch and not self.faults.stale_revoke_taken:
            return []
        if held is None:
            return self._reset(f"revoke of {stream}, which it does not hold")
        if held.state == REVOKING:
            return [self._send_progress(stream, held)]
        held.become(REVOKING)
        return [Release(stream), self._send_progress(stream, held)]

    def _revoked(self, stream: str) -> list[Effect]:
        finished = Send(protocol.REVOKE_FINISHED, stream)
        held = self.streams.pop(stream, None)
        if held is None:
            return [finished]
        releases = [Release(stream)] if held.state == GRANTED else []
        held.become(ABSENT)
        return [*releases, Forget(stream), finished]

    # --- timers

    def expire(self, now: int, timer: str, at_us: int) -> list[Effect]:
        """Handle a timer that was armed for `at_us` and has expired."""
        if self.state == GONE or self.timers.get(timer) != at_us:
            return []
        del self.timers[timer]
        if timer == FIND:
            return [
                Send(protocol.LEADER_WANTED),
                self._arm(FIND, now + self.spans.session_find_leader_timeout),
            ]
        if timer == PING:
            return [
                Send(protocol.PING),
                self._arm(PING_TIMEOUT, now + self.spans.session_ping_leader_timeout),
            ]
        if timer == PING_TIMEOUT:
            return self._reset("no answer to its ping")
        return self._leave("not all was acknowledged in time")

    # --- the session

    def report(self, progress: Iterable[Progress]) -> list[Effect]:
        """Handle a report of the session's progress."""
        if self.state not in (CONNECTED, UNSUBSCRIBING):
            return []
        known = [one for one in progress if one.stream in self.streams]
        for one in known:
            self._keep(one)
        if self.state == CONNECTED:
            return [Send(protocol.UPDATE_PROGRESS, one.stream, (one,)) for one in known]
        return self._leave("all is acknowledged") if self._all_finished() else []

    def unsubscribe(self, now: int) -> list[Effect]:
        """Handle that the client unsubscribed."""
        if self.state == CONNECTING:
            self.become(GONE)
            return [Ended("unsubscribed before it found a leader")]
        if self.state != CONNECTED:
            return []
        if self._all_finished():
            return self._leave("unsubscribed")
        self.become(UNSUBSCRIBING)
        return [self._arm(UNSUBSCRIBE, now + self.spans.session_unsubscribe_timeout)]

    def disconnect(self, progress: Iterable[Progress]) -> list[Effect]:
        """Handle the end of the session, with its last progress of every stream."""
        if self.state == CONNECTING:
            self.become(GONE)
            return [Ended("disconnected before it found a leader")]
        if self.state == GONE:
            return []
        for one in progress:
            if one.stream in self.streams:
                self._keep(one)
        return self._leave("disconnected")

    # --- helpers

    def _all_finished(self) -> bool:
        return all(held.finished for held in self.streams.values())

    def _keep(self, progress: Progress) -> None:
        held = self.streams[progress.stream]
        held.position, held.finished = progress.position, progress.finished

    def _leave(self, why: str) -> list[Effect]:
        self.become(GONE)
        return [
            Send(
                protocol.DISCONNECT,
                None,
                tuple(Progress(name, held.position, held.finished) for name, held in self.streams.items()),
            ),
            Ended(why),
        ]

    def _reset(self, why: str) -> list[Effect]:
        replaced = self.state != UNSUBSCRIBING or self.faults.reset_resubscribes
        self.become(GONE)
        releases = [Release(name) for name, held in self.streams.items() if held.state == GRANTED]
        return [*releases, Ended(why, replaced=replaced)]

    def _send_progress(self, stream: str, held: Borrowed) -> Send:
        return Send(protocol.UPDATE_PROGRESS, stream, (Progress(stream, held.position, held.finished),))

    def _arm(self, timer: str, at_us: int) -> Arm:
        self.timers[timer] = at_us
        return Arm(timer, at_us)


TIMER_RANK = 3


class Agent:
    """The agent's state.

    `borrowers` are by id, `leaders` is the number and node of each borrower's leader. `owing_seq` is the row
    after which all progress must be reported, None when none is due.

    The agent carries out what the borrowers decide.

    Rules: borrowers are identified by id, never by group and filter, because after a quick unsubscribe and
    subscribe two borrowers of one group exist side by side. A borrower that restarts is a new one with a new
    id. In the community edition the agent is a stub and borrows nothing.
    """

    __slots__ = ("session", "borrowers", "leaders", "owing_seq", "count", "born")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.borrowers: dict[BorrowerId, Borrower] = {}
        self.leaders: dict[BorrowerId, tuple[int, str]] = {}
        self.owing_seq: int | None = None
        self.born: dict[BorrowerId, int] = {}  # row of its last change
        self.count = 0

    # --- calls by the session

    def borrow(self, number: int, subscription: Subscription, cause: int) -> None:
        """Start a new borrower for a subscription."""
        system = self.session.system
        if system.option("emqxEdition") == "community":
            return
        spans = self._spans()
        faults = Faults(
            system.fault("secondConnectResponse"),
            system.fault("resetWhileUnsubscribing"),
            not system.option("revokeCarriesEpoch"),
        )
        who = (self.session.name, number, self.count)
        self.count += 1
        group = system.group_name(subscription)
        assert group is not None, f"{subscription.text} is a private subscription"
        borrower = self.borrowers[who] = Borrower(who, group, spans, faults)
        self._note_state(borrower, "new", cause)
        self._carry_out(borrower, borrower.start(system.now_us), self.born[who])

    def _spans(self) -> Timers:
        return Timers(*(self.session.system.setting(name) for name in Timers._fields))

    def read_settings(self) -> None:
        """Read changed settings; each timer uses its new duration when it next starts."""
        for borrower in self.borrowers.values():
            borrower.spans = self._spans()

    def unsubscribe(self, number: int, cause: int) -> None:
        """End the borrowers of a subscription and report all fully acknowledged progress."""
        for borrower in [one for who, one in self.borrowers.items() if who[1] == number]:
            self._step(borrower, borrower.unsubscribe(self.session.system.now_us), "unsubscribed", cause)
        self.report_all(cause)

    def disconnect(self, progress: dict[BorrowerId, list[Progress]], cause: int) -> None:
        """End all borrowers in order, with their progress."""
        for borrower in list(self.borrowers.values()):
            self._step(borrower, borrower.disconnect(progress[borrower.id]), "disconnected", cause)
        self.owing_seq = None

    def kill(self, cause: int) -> None:
        """End all borrowers, because the session's process died."""
        for borrower in list(self.borrowers.values()):
            borrower.become(GONE)
            self._note_state(borrower, "its session's process died", cause)
        self.borrowers.clear()
        self.leaders.clear()
        self.owing_seq = None

    def report(self, who: BorrowerId, progress: Iterable[Progress], cause: int) -> None:
        """Pass the progress of streams to their borrower."""
        borrower = self.borrowers.get(who)
        if borrower is not None:
            self._step(borrower, borrower.report(progress), "", cause)

    def report_due(self) -> None:
        """Report fully acknowledged progress again for every subscription, after a lease changed."""
        seq, self.owing_seq = self.owing_seq, None
        if seq is not None:
            self.report_all(seq)

    def report_all(self, cause: int) -> None:
        """Report the progress of every stream without unacknowledged messages."""
        for who, progress in self.session.acknowledged_progress().items():
            self.report(who, progress, cause)

    # --- messages and timers

    def receive(self, flight: Flight, cause: int) -> bool:
        """Handle a leader's message; False when its borrower no longer exists."""
        borrower = self.borrowers.get(flight.message.borrower)
        if borrower is None:
            return False
        if borrower.leader in (None, flight.message.leader):
            self.leaders[borrower.id] = (flight.message.leader, flight.source)
        self._step(
            borrower, borrower.receive(self.session.system.now_us, flight.message), flight.message.kind, cause
        )
        return True

    def expire(self, armed: tuple[BorrowerId, str, int]) -> None:
        """Handle an expired timer."""
        who, timer, at_us = armed
        borrower = self.borrowers.get(who)
        if borrower is not None and borrower.timers.get(timer) == at_us:
            self._step(
                borrower, borrower.expire(self.session.system.now_us, timer, at_us), timer, self.born[who]
            )

    # --- effects

    def _step(self, borrower: Borrower, effects: list[Effect], why: str, cause: int) -> None:
        last = effects[-1] if effects else None
        gone = last.why if isinstance(last, Ended) else why
        cause = self._note_state(borrower, gone, cause)
        self._carry_out(borrower, effects, cause)

    def _note_state(self, borrower: Borrower, why: str, cause: int) -> int:
        """Record the borrower's state if it differs from the last recorded one."""
        session = self.session
        if session.borrower_states.get(borrower.id) == borrower.state:
            return cause
        session.borrower_states[borrower.id] = borrower.state
        leader = NULL if borrower.leader is None else borrower.leader
        self.born[borrower.id] = session.system.rows.borrower_changed(
            cause,
            cluster=session.node,
            subscription=borrower.group,
            client=session.name,
            count=borrower.id[2],
            reason=borrower.state,
            detail=why,
            ledger=leader,
        )
        if borrower.state == GONE:
            del session.borrower_states[borrower.id]
            return self.born.pop(borrower.id)
        return self.born[borrower.id]

    def _carry_out(self, borrower: Borrower, effects: list[Effect], cause: int) -> None:
        session, system = self.session, self.session.system
        for effect in effects:
            if isinstance(effect, Send):
                self._send(borrower, effect, cause)
            elif isinstance(effect, Arm):
                system.schedule(
                    effect.at_us, TIMER_RANK, self.expire, (borrower.id, effect.timer, effect.at_us)
                )
            elif isinstance(effect, Lease):
                seq = self._note_lease(borrower, effect.stream, effect.position, "granted", cause)
                # otherwise the handler drops it: the subscription is gone
                if borrower.id[1] in session.subscriptions:
                    session.read(
                        borrower.id[1], borrower.id, borrower.group, effect.stream, effect.position, seq
                    )
                    self.owing_seq = seq
            elif isinstance(effect, Release):
                seq = self._note_lease(
                    borrower,
                    effect.stream,
                    borrower.streams[effect.stream].position if effect.stream in borrower.streams else None,
                    "revoking",
                    cause,
                )
                session.release(borrower.id, effect.stream)
                self.owing_seq = seq
                session.be_due()
            elif isinstance(effect, Forget):
                self._note_lease(borrower, effect.stream, None, "absent", cause)
                session.release(borrower.id, effect.stream, forget=True)
            else:
                self._ended(borrower, effect, cause)

    def _ended(self, borrower: Borrower, ended: Ended, cause: int) -> None:
        session = self.session
        self.borrowers.pop(borrower.id, None)
        self.leaders.pop(borrower.id, None)
        if session.online:
            session.release(borrower.id, forget=True)
        if ended.crash:
            session.kill(cause, "crash")
        elif ended.replaced and session.online:
            subscription = session.subscriptions.get(borrower.id[1])
            wanted = (
                subscription if subscription is not None else session.system.subscription_of(borrower.group)
            )
            self.borrow(borrower.id[1], wanted, cause)

    def _send(self, borrower: Borrower, send: Send, cause: int) -> None:
        session = self.session
        message = Message(send.kind, borrower.group, borrower.id, 0, send.stream, send.progress)
        if send.kind == LEADER_WANTED:
            session.system.network.send(session.node, Address(session.node, "registry"), message, cause)
            return
        leader, node = self.leaders[borrower.id]
        session.system.network.send(session.node, Address(node, "leader", leader), message, cause)

    def _note_lease(
        self, borrower: Borrower, stream: str, position: int | None, state: str, cause: int
    ) -> int:
        session = self.session
        at = NULL if position is None or position == END else position
        leader = NULL if borrower.leader is None else borrower.leader
        return session.system.rows.lease_changed(
            cause,
            cluster=session.node,
            subscription=borrower.group,
            client=session.name,
            topic=stream,
            count=borrower.id[2],
            entry=at,
            reason=state,
            ledger=leader,
        )
