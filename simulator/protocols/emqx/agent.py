"""A session's agent: one borrower for each shared subscription, and those that are still ending.

The agent carries out what the borrowers decide.

Rules: borrowers are identified by id, never by group and filter, because after a quick unsubscribe and
subscribe two borrowers of one group exist side by side. A borrower that restarts is a new one with a new id.
In the community edition the agent is a stub and borrows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from simulator.protocols.emqx import borrower as machine
from simulator.protocols.emqx.borrower import Borrower, Faults, Timers
from simulator.protocols.emqx.protocol import (
    END,
    LEADER_WANTED,
    Address,
    BorrowerId,
    Flight,
    Message,
    Progress,
)
from simulator.protocols.emqx.scenario.mqtt_topics import Subscription
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.emqx.session import Session

TIMER_RANK = 3


class Agent:
    """The agent's state.

    `borrowers` are by id, `leaders` is the number and node of each borrower's leader. `owing_seq` is the row
    after which all progress must be reported, None when none is due.
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
            borrower.become(machine.GONE)
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

    def _step(self, borrower: Borrower, effects: list[machine.Effect], why: str, cause: int) -> None:
        last = effects[-1] if effects else None
        gone = last.why if isinstance(last, machine.Ended) else why
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
        if borrower.state == machine.GONE:
            del session.borrower_states[borrower.id]
            return self.born.pop(borrower.id)
        return self.born[borrower.id]

    def _carry_out(self, borrower: Borrower, effects: list[machine.Effect], cause: int) -> None:
        session, system = self.session, self.session.system
        for effect in effects:
            if isinstance(effect, machine.Send):
                self._send(borrower, effect, cause)
            elif isinstance(effect, machine.Arm):
                system.schedule(
                    effect.at_us, TIMER_RANK, self.expire, (borrower.id, effect.timer, effect.at_us)
                )
            elif isinstance(effect, machine.Lease):
                seq = self._note_lease(borrower, effect.stream, effect.position, "granted", cause)
                # otherwise the handler drops it: the subscription is gone
                if borrower.id[1] in session.subscriptions:
                    session.read(
                        borrower.id[1], borrower.id, borrower.group, effect.stream, effect.position, seq
                    )
                    self.owing_seq = seq
            elif isinstance(effect, machine.Release):
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
            elif isinstance(effect, machine.Forget):
                self._note_lease(borrower, effect.stream, None, "absent", cause)
                session.release(borrower.id, effect.stream, forget=True)
            else:
                self._ended(borrower, effect, cause)

    def _ended(self, borrower: Borrower, ended: machine.Ended, cause: int) -> None:
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

    def _send(self, borrower: Borrower, send: machine.Send, cause: int) -> None:
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
