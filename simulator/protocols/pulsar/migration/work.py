"""The work of one step of a migration: begin, progress, reason why it is blocked, undo.

Rules: `begin` and `undo` act, and may be called again after a pause or a failure to continue with the missing
part. All others only read. Each sentence contains its numbers, so that it is complete by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.migration import Migration


def connected(names: list[str], cluster: str) -> str:
    """The clients that are connected in a cluster, in words."""
    if not names:
        return f"no client is connected in {cluster}"
    return (
        f"{len(names)} client{'s are' if len(names) > 1 else ' is'} connected in {cluster}: "
        f"{', '.join(names)}"
    )


class Condition(NamedTuple):
    """A condition that must hold, in words with the present numbers."""

    holds: bool
    words: str


class Progress(NamedTuple):
    """The progress of a step: `done` of `total` units, and their name."""

    done: int
    total: int
    unit: str


class Work:
    """The work of one step of one migration."""

    def __init__(self, migration: Migration) -> None:
        self.migration = migration
        self.runtime = migration.runtime
        self.run = migration.run
        self.seq = -1  # the row that caused the present work

    # --- actions

    def begin(self, cause: int) -> None:
        """Begin or continue the work."""

    def rest(self) -> None:
        """Stop: paused, failed or rolled back."""

    def tick(self) -> None:
        """Continue the work at the periodic check."""

    def undo(self, cause: int) -> None:
        """Undo its changes."""

    # --- state

    def conditions(self) -> list[Condition]:
        """What must hold before it begins."""
        return []

    def failure(self) -> str | None:
        """Why it cannot continue now, in words; None when it can."""
        return None

    def progress(self) -> Progress:
        """Its progress."""
        return Progress(0, 0, "things")

    def complete(self) -> bool:
        """Whether it is complete."""
        return True

    def undo_conditions(self) -> list[Condition]:
        """What must hold before it is undone, so that nothing is lost."""
        return []

    def undone(self) -> bool:
        """Whether the undo is complete."""
        return True

    # --- helpers for every step

    @property
    def source(self) -> Cluster:
        return self.runtime.clusters[self.run.source]

    @property
    def target(self) -> Cluster:
        return self.runtime.clusters[self.run.target]

    def topics_in(self, cluster: Cluster) -> list[Topic]:
        """The tenant's topics and partitions in the cluster, sorted."""
        bases = self.migration.bases
        return [cluster.topics[name] for name in sorted(cluster.topics) if cluster.topics[name].base in bases]

    def broken(self) -> str | None:
        """Which of the two clusters or links between them is down, in words; None when all work."""
        for cluster in (self.source, self.target):
            if not cluster.up:
                return f"{cluster.name} is {cluster.state}"
        for source, target in ((self.source.name, self.target.name), (self.target.name, self.source.name)):
            if not self.runtime.links[source, target].up:
                return f"the link {source} -> {target} is cut"
        return None
