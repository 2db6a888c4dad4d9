"""Leaders in a given state, and messages from borrowers, for the tests of the leader."""

from simulator.protocols.emqx.leader import Dropped, Leader, LeaderFaults, Send
from simulator.protocols.emqx.protocol import (
    FREE,
    GRANTING,
    LEADER_GRANTED,
    LEADER_REVOKING,
    REVOKED_STATE,
    Message,
    Progress,
)
from simulator.protocols.emqx.storage import Rank, RankProgress

F, OTHER = ("f", 0, 0), ("o", 0, 0)
NOW, TIMEOUT = 10_000_000, 5_000_000
OWNED = (GRANTING, LEADER_GRANTED, LEADER_REVOKING, REVOKED_STATE)


def leader(state=FREE, owner=None, position=5, faults=LeaderFaults()):
    """A leader that knows F and OTHER, with stream s in a state."""
    one = Leader(1, "g", {"s": (Rank(0, 1), position)}, RankProgress(), TIMEOUT, lambda count: 0, faults)
    for who in (F, OTHER):
        one.borrowers[who], one.owned[who] = NOW + TIMEOUT, {}
    if owner is not None:
        one.streams["s"].owner, one.streams["s"].state = owner, state
        one.owned[owner]["s"] = None
    return one


def received(kind, position=None, finished=False, who=F):
    progress = () if position is None else (Progress("s", position, finished),)
    return Message(kind, "g", who, 0, "s", progress)


def state_of(one):
    assignment = one.streams.get("s")
    return None if assignment is None else (assignment.state, assignment.owner, assignment.position)


def invalidated(effects):
    """Whether F is dropped and notified."""
    return any(isinstance(effect, Dropped) for effect in effects) and effects[-1] == Send(F, "invalidate")


def listed(count, generation=1):
    return [(f"s{number}", Rank(number, generation)) for number in range(count)]
