"""The leaders' own store: claims and what they committed, each written by precondition.

Apart from the messages' storage.

Rules: a claim is (leader, node, instant of the last heartbeat). It is taken when absent, or when what is
there is exactly what the taker saw and older than the time to live. A commit needs the claim to be the
committer's and the sequence number to be the one it last wrote.
"""

from __future__ import annotations

from typing import NamedTuple

from simulator.protocols.emqx.ranks import Rank, RankProgress

REQUEST_TIMEOUT_US = 60_000_000
"""How long a request waits for an answer of the store: `RA_TIMEOUT` of emqx_ds_replication_layer."""


class Claim(NamedTuple):
    leader: int
    node: str
    heartbeat_us: int


class Committed:
    """What survives a leader of one group: positions, ranks, and where the group begins."""

    __slots__ = ("start_us", "positions", "ranks", "root")

    def __init__(self, start_us: int, ranks: RankProgress, root: int) -> None:
        self.start_us = start_us
        self.positions: dict[str, tuple[Rank, int]] = {}
        self.ranks = ranks
        self.root = root


class LeaderStore:
    """`failing_until_us`: every request before fails at once.

    `cut_until_us` by node: requests from there wait until then, or for `REQUEST_TIMEOUT_US`.
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
        """A sequence number that no commit has had: one of a group that was destroyed never fits its
        successor.
        """
        self.roots += 1
        return self.roots

    def claim(self, group: str, new: Claim, seen: Claim | None) -> bool:
        """Write a claim if what is there is `seen`."""
        if self.claims.get(group) != seen:
            return False
        self.claims[group] = new
        return True

    def release(self, group: str, leader: int) -> None:
        """Take a claim back, if it is still this leader's."""
        if group in self.claims and self.claims[group].leader == leader:
            del self.claims[group]
