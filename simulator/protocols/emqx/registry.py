"""A node's registry of leaders: it forwards connects to a group's leader, or elects one on its node.

Rules: there is no standby; a borrower's connect triggers an election. A claim younger than its time to live
is accepted even when its leader is dead: until it expires the node forwards connects to that leader
(`emqx_ds_shared_sub_elector`).
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.protocols.emqx.cluster_state import ClusterState
from simulator.protocols.emqx.leader_process import LeaderProcess
from simulator.protocols.emqx.leader_store import Claim
from simulator.protocols.emqx.protocol import Address, Flight


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
            system.note("election.failed", cause, self.node, group, "the store does not answer")
            return None
        if group not in store.groups and not system.fault("undeclaredElection"):
            system.note("election.failed", cause, self.node, group, "the group is not declared")
            return None
        ttl_us = system.setting("leader_claim_ttl")
        seen = store.claims.get(group)
        if seen is not None and now - seen.heartbeat_us < ttl_us:
            system.note(
                "leader.followed",
                cause,
                self.node,
                seen.node,
                group,
                seen.leader,
                seen.heartbeat_us + ttl_us - now,
            )
            return Followed(seen.leader, seen.node, seen.heartbeat_us + ttl_us)
        number = system.next_leader()
        if not store.claim(group, Claim(number, self.node, now), seen):
            return None
        if group not in store.groups:  # the leader exits when it opens the store, without `terminate`
            system.note("election.failed", cause, self.node, group, "the group is not declared")
            return None
        why = "first" if seen is None else "taken-over"
        self.leaders[number] = LeaderProcess(system, self, group, self.node, number, cause, why)
        return Followed(number, self.node, None)

    def forget(self, group: str, leader: int) -> None:
        """Remove a leader of this node that ended."""
        known = self.electors.get(group)
        if known is not None and known.leader == leader:
            del self.electors[group]
