"""The leaders' store: claims and committed progress, each written by precondition.

It is separate from the storage of messages.

Rules: a claim is (leader, node, instant of the last heartbeat). A leader can take it when there is none, or
when the present one is the one that the taker read and is older than the time to live. A commit requires that
the claim is the committer's and that the sequence number is the one it last wrote or read. Every newly
declared group has the same number, so a leader that has not committed yet does not notice that its group was
destroyed and declared again.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.protocols.emqx.ranks import Rank, RankProgress

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
