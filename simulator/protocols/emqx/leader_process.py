"""The process of a leader: its timers, commits and messages, and the rows about it.

Rules: it commits and renews its claim in one step every `leader_heartbeat_interval`. A clean stop commits a
last time and releases the claim; a crash does neither. While a request waits for the store the process
handles nothing: messages wait in its mailbox. The first round runs at once, the others every
`leader_renew_streams_interval`. The first check of deadlines comes one `leader_periodical_actions_interval`
after the start (`emqx_ds_shared_sub_leader:init_state`). Each timer is armed again after its own work, so
rounds and checks keep their phase. With `leaderTimerPhase: drawn` the first check is at a drawn instant in
that interval, as in a leader whose two timers have drifted apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from simulator.kernel.clock import Handler
from simulator.kernel.random import draw, stream_key
from simulator.protocols.emqx import leader as machine
from simulator.protocols.emqx.cluster_state import ClusterState
from simulator.protocols.emqx.events import GroupNames
from simulator.protocols.emqx.leader import REQUEST_TIMEOUT_US, Claim, Leader, LeaderFaults
from simulator.protocols.emqx.protocol import (
    CRASHED,
    END,
    FENCED,
    FREE,
    LEADER_MOVES,
    LEADING,
    STOPPED,
    Address,
    BorrowerId,
    Flight,
    Message,
)
from simulator.trace.registry import NULL

# --- A node's registry of leaders: it forwards connects to a group's leader, or elects one on its node
#
# Rules: there is no standby; a borrower's connect triggers an election. A claim younger than its time to
# live is accepted even when its leader is dead: until it expires the node forwards connects to that leader
# (`emqx_ds_shared_sub_elector`).


class Followed(NamedTuple):
    """A leader known to this node and when that entry expires; a leader on this node never expires."""

    leader: int
    node: str
    until_us: int | None


class Registry:
    """The electors of one node, by group; `leaders` are those of all nodes, by number."""

    __slots__ = ("system", "node", "leaders", "electors")

    def __init__(self, system: ClusterState, node: str, leaders: dict[int, LeaderProcess]) -> None:
        self.system, self.node, self.leaders = system, node, leaders
        self.electors: dict[str, Followed] = {}

    def wanted(self, flight: Flight, cause: int) -> None:
        """Handle a borrower's search for the leader of its group."""
        group = flight.message.group
        known = self.electors.get(group)
        asked = known is None or (known.until_us is not None and known.until_us <= self.system.now_us)
        if asked:
            known = self._elect(group, cause)
        if known is None:
            return
        self.electors[group] = known
        self.system.network.send(
            self.node, Address(known.node, "leader", known.leader), flight.message, cause
        )
        if asked and known.until_us is None:
            self.leaders[known.leader].begin()

    def _elect(self, group: str, cause: int) -> Followed | None:
        system, store, now = self.system, self.system.store, self.system.now_us
        self.electors.pop(group, None)
        if not store.answers(self.node, now):
            system.rows.election_failed(
                cause, cluster=self.node, subscription=group, detail="the store does not answer"
            )
            return None
        if group not in store.groups and not system.fault("undeclaredElection"):
            system.rows.election_failed(
                cause, cluster=self.node, subscription=group, detail="the group is not declared"
            )
            return None
        ttl_us = system.setting("leader_claim_ttl")
        seen = store.claims.get(group)
        if seen is not None and now - seen.heartbeat_us < ttl_us:
            system.rows.leader_followed(
                cause,
                cluster=self.node,
                peer=seen.node,
                subscription=group,
                count=seen.leader,
                duration_us=seen.heartbeat_us + ttl_us - now,
            )
            return Followed(seen.leader, seen.node, seen.heartbeat_us + ttl_us)
        number = system.next_leader()
        if not store.claim(group, Claim(number, self.node, now), seen):
            return None
        if group not in store.groups:  # the leader exits when it opens the store, without `terminate`
            system.rows.election_failed(
                cause, cluster=self.node, subscription=group, detail="the group is not declared"
            )
            return None
        why = "first" if seen is None else "taken-over"
        self.leaders[number] = LeaderProcess(system, self, group, self.node, number, cause, why)
        return Followed(number, self.node, None)

    def forget(self, group: str, leader: int) -> None:
        """Remove a leader of this node that ended."""
        known = self.electors.get(group)
        if known is not None and known.leader == leader:
            del self.electors[group]


FIRST_ROUND_RANK = 2
"""The rank of messages (`network.WIRE_RANK`): the first round is handled between them."""

TIMER_RANK = 3


class Chooser:
    """Uniform random choices of one leader: its n-th choice uses the n-th draw."""

    __slots__ = ("key", "count")

    def __init__(self, key: int) -> None:
        self.key, self.count = key, 0

    def __call__(self, below: int) -> int:
        self.count += 1
        return draw(self.key, self.count) % below


class LeaderProcess:
    """A leader at a node.

    `places` has the node of each borrower's last message, `due` the instants at which each timer fires.
    """

    __slots__ = (
        "system",
        "elector",
        "group",
        "node",
        "number",
        "state",
        "leader",
        "places",
        "root",
        "life",
        "start_us",
        "born_seq",
        "committed_us",
        "due",
        "rounds",
        "round_us",
        "requested_us",
        "mailbox",
    )

    def __init__(
        self,
        system: ClusterState,
        elector: Registry,
        group: str,
        node: str,
        number: int,
        cause: int,
        why: str,
    ) -> None:
        self.system, self.elector, self.group, self.node = system, elector, group, node
        self.number, self.state = number, LEADING
        kept = system.store.groups[group]
        faults = LeaderFaults(
            *(
                system.fault(option)
                for option in ("lateProgress", "reassignmentTimers", "endOfStream", "secondRevokeFinished")
            )
        )
        chooser = Chooser(stream_key(system.seed, f"leader/{group}/{number}"))
        unread = {
            name: (rank, position) for name, (rank, position) in kept.positions.items() if position != END
        }
        self.leader = Leader(
            number,
            group,
            unread,
            kept.ranks.copy(),
            system.setting("leader_borrower_timeout"),
            chooser,
            faults,
        )
        self.places: dict[BorrowerId, str] = {}
        self.root, self.life, self.start_us = kept.root, kept.life, kept.start_us
        self.committed_us = self.round_us = system.now_us  # also the instant of its claim
        self.rounds = 0
        self.requested_us: int | None = None  # instant since which a commit waits for the store
        self.mailbox: list[tuple[Handler, Any]] = []
        self.due: dict[str, list[int]] = {"renew_streams": [], "periodical_actions": [], "heartbeat": []}
        self.born_seq = system.rows.leader_elected(
            cause, cluster=node, subscription=group, count=number, reason=why
        )
        for name, assignment in self.leader.streams.items():
            system.rows.progress_loaded(
                self.born_seq,
                cluster=node,
                subscription=group,
                topic=name,
                entry=assignment.position,
                count=number,
            )
        interval_us = system.setting("leader_periodical_actions_interval")
        drawn = system.option("leaderTimerPhase") == "drawn"
        first_us = 1 + draw(stream_key(system.seed, f"phase/{group}/{number}"), 0) % interval_us
        self._arm(first_us if drawn else interval_us, self.periodical_actions)
        self._arm(system.setting("leader_heartbeat_interval"), self.heartbeat)

    def begin(self) -> None:
        """Run the first round, after the connect that led to the election and before any answer to it.

        The elector becomes the leader with the connect in its mailbox (`emqx_ds_shared_sub_leader:become`).
        """
        self._arm(0, self.renew_streams, True, FIRST_ROUND_RANK)

    @property
    def alive(self) -> bool:
        return self.state == LEADING

    def _arm(
        self, after_us: int, timer: Handler, argument: bool | None = None, rank: int = TIMER_RANK
    ) -> None:
        at_us = self.system.now_us + after_us
        self.due[timer.__name__].append(at_us)
        self.system.schedule(at_us, rank, timer, argument)

    def due_us(self, timer: str) -> int | None:
        """The next instant at which a timer fires."""
        return min(self.due[timer], default=None)

    def _is_due(self, timer: Handler, argument: bool | None = None) -> bool:
        """Record that a timer fired; False when the leader has ended or the process waits for the store."""
        due_us = self.due[timer.__name__]
        if self.system.now_us in due_us:
            due_us.remove(self.system.now_us)
        if self.requested_us is not None:
            self.mailbox.append((timer, argument))
        return self.alive and self.requested_us is None

    # --- timers

    def renew_streams(self, rearm: bool) -> None:
        """Run a reassignment round."""
        if not self._is_due(self.renew_streams, rearm):
            return
        system = self.system
        self.rounds += 1
        self.round_us = system.now_us
        listed = system.streams_of(self.group, self.start_us)
        known = set(self.leader.streams)
        effects = self.leader.round(listed, lambda name: system.storage.streams[name].first_at(self.start_us))
        seq = (
            system.rows.leader_round(
                self.born_seq,
                **self.names,
                count=self.number,
                entry=len(self.leader.streams),
                sequence_id=len(self.leader.borrowers),
            )
            if effects
            else self.born_seq
        )
        for name, assignment in self.leader.streams.items():
            if name not in known:
                system.rows.stream_found(
                    seq, **self.names, topic=name, entry=assignment.position, count=self.number
                )
        self._carry_out(effects, seq)
        if rearm and self.alive:
            self._arm(system.setting("leader_renew_streams_interval"), self.renew_streams, True)

    @property
    def names(self) -> GroupNames:
        """The columns that name it in a row."""
        return {"cluster": self.node, "subscription": self.group}

    def periodical_actions(self, _argument: None = None) -> None:
        """Drop expired borrowers and resend messages that have no response yet."""
        if self._is_due(self.periodical_actions):
            self._carry_out(self.leader.periodical(self.system.now_us), self.born_seq)
            if self.alive:
                self._arm(self.system.setting("leader_periodical_actions_interval"), self.periodical_actions)

    def heartbeat(self, _argument: None = None) -> None:
        """Commit and renew the claim, or end if the claim is too old or another leader fenced this one."""
        if not self._is_due(self.heartbeat):
            return
        store, now = self.system.store, self.system.now_us
        if now - self.committed_us >= self.system.setting("leader_claim_ttl"):
            self._end("its claim is too old", self.born_seq)
            return
        if store.cut_off(self.node, now):
            self.requested_us = now
            self.system.rows.leader_blocked(self.born_seq, **self.names, count=self.number)
            self.system.schedule(
                min(now + REQUEST_TIMEOUT_US, store.cut_until_us[self.node]), TIMER_RANK, self.answered
            )
            return
        if store.answers(self.node, now):
            self._renew(self.born_seq, now)
        if self.alive:
            self._arm(self.system.setting("leader_heartbeat_interval"), self.heartbeat)

    def _renew(self, cause: int, requested_us: int) -> None:
        """Commit and renew the claim, or end the leader if the store fences it.

        `requested_us` is the instant of the request to the store.
        """
        lost = self._fenced()
        if lost is not None:
            self._end(lost, cause)
        else:
            self._commit(cause, requested_us)

    def answered(self, _argument: None = None) -> None:
        """Handle the answer or timeout of a waiting commit, then the mailbox, in order."""
        if not self.alive or self.requested_us is None:
            return
        system = self.system
        requested_us, self.requested_us = self.requested_us, None
        answers = system.store.answers(self.node, system.now_us)
        seq = system.rows.leader_unblocked(
            self.born_seq, **self.names, count=self.number, reason="answered" if answers else "timeout"
        )
        if answers:
            self._renew(seq, requested_us)
        if self.alive:
            self._arm(system.setting("leader_heartbeat_interval"), self.heartbeat)
        waiting, self.mailbox = self.mailbox, []
        for handle, argument in waiting:
            if self.alive:
                handle(argument)

    def _received(self, message: tuple[Flight, int]) -> None:
        self.receive(*message)

    def _fenced(self) -> str | None:
        """Why the store refuses the leader's commit, None when it accepts it.

        The claim must be this leader's, however old, and the root must be the one that this leader last
        wrote or read.
        """
        store = self.system.store
        claim = store.claims.get(self.group)
        if self.group not in store.groups:
            return "the group is gone"
        if claim is None or claim.leader != self.number:
            return "another leader has the claim"
        return "another leader has committed" if store.groups[self.group].root != self.root else None

    def _commit(self, cause: int, claimed_us: int) -> None:
        """Write positions and ranks to the store and renew the claim.

        `claimed_us` is the claim's new instant.
        """
        system = self.system
        kept = system.store.groups[self.group]
        wanted = {name: (one.rank, one.position) for name, one in self.leader.streams.items()}
        changed = [name for name in wanted if kept.positions.get(name) != wanted[name]]
        seq = system.rows.leader_committed(cause, **self.names, count=self.number, entry=len(changed))
        for name in changed:
            position = wanted[name][1]
            system.rows.progress_persisted(
                seq, **self.names, topic=name, entry=NULL if position == END else position, count=self.number
            )
        if kept.life != self.life:
            self._adopt(seq, kept.life)
        kept.positions, kept.ranks = wanted, self.leader.ranks.copy()
        kept.root = self.root = system.store.next_root()
        self.committed_us = claimed_us
        system.store.claims[self.group] = Claim(self.number, self.node, claimed_us)

    def _adopt(self, cause: int, life: int) -> None:
        """Record that a group that was declared again has this leader's streams."""
        self.life = life
        for name, one in self.leader.streams.items():
            if one.position != END:
                self.system.rows.stream_found(
                    cause, **self.names, topic=name, entry=one.position, count=self.number
                )

    # --- messages

    def receive(self, flight: Flight, cause: int) -> None:
        """Handle a message for the leader, or put it into the mailbox."""
        if self.requested_us is not None:
            self.mailbox.append((self._received, (flight, cause)))
            return
        self.places[flight.message.borrower] = flight.source
        self._carry_out(self.leader.receive(self.system.now_us, flight.message), cause)

    def _carry_out(self, effects: list[machine.Effect], cause: int) -> None:
        system = self.system
        for effect in effects:
            if isinstance(effect, machine.Send):
                message = Message(
                    effect.kind,
                    self.group,
                    effect.borrower,
                    self.number,
                    effect.stream,
                    effect.progress,
                    effect.epoch,
                )
                place = self.places.get(effect.borrower)
                if place is not None:
                    system.network.send(self.node, Address(place, "borrower"), message, cause)
            elif isinstance(effect, machine.Assigned):
                position = NULL if effect.position == END else effect.position
                cause = system.rows.assignment_changed(
                    cause,
                    **self.names,
                    client=effect.owner[0],
                    topic=effect.stream,
                    count=effect.owner[2],
                    entry=position,
                    reason=effect.state,
                    ledger=self.number,
                )
            elif isinstance(effect, machine.Saved):
                cause = system.rows.progress_saved(
                    cause,
                    **self.names,
                    client=effect.owner[0],
                    topic=effect.stream,
                    entry=NULL if effect.before == END else effect.before,
                    to_entry=NULL if effect.position == END else effect.position,
                    count=self.number,
                )
            elif isinstance(effect, machine.Joined):
                cause = system.rows.borrower_joined(
                    cause, **self.names, client=effect.borrower[0], count=effect.borrower[2]
                )
            elif isinstance(effect, machine.Dropped):
                cause = system.rows.borrower_dropped(
                    cause,
                    **self.names,
                    client=effect.borrower[0],
                    count=effect.borrower[2],
                    reason=effect.why,
                )
            elif isinstance(effect, machine.RoundRequested):
                self._arm(0, self.renew_streams, effect.rearms)
            else:
                self._end(effect.why, cause)

    # --- ends

    def stop(self, cause: int, why: str) -> None:
        """Stop cleanly: commit the progress, release the claim."""
        self._end(why, cause)

    def _end(self, why: str, cause: int) -> None:
        fenced = self._fenced() is not None
        if self.system.store.answers(self.node, self.system.now_us):
            if not fenced:
                self._commit(cause, self.system.now_us)
            self.system.store.release(self.group, self.number)
        self._gone(cause, why, FENCED if fenced else STOPPED)

    def crash(self, cause: int, why: str) -> None:
        """Kill the process: nothing is committed, and the claim is kept until it is too old."""
        self._gone(cause, why, CRASHED)

    def _gone(self, cause: int, why: str, state: str) -> None:
        assert state in LEADER_MOVES[self.state], f"no move of a leader from {self.state} to {state}"
        seq = self.system.rows.leader_ended(cause, **self.names, count=self.number, reason=why)
        self.state = state
        for name, one in self.leader.streams.items():
            if one.owner is not None:
                self.system.rows.assignment_changed(
                    seq,
                    **self.names,
                    client=one.owner[0],
                    topic=name,
                    count=one.owner[2],
                    entry=NULL if one.position == END else one.position,
                    reason=FREE,
                    ledger=self.number,
                )
        self.elector.forget(self.group, self.number)
