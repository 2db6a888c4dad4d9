"""What the work of a step is to the migration: begin, look how far, know why not, undo.

Rules: `begin` and `undo` act and may be called again after a pause or a failure, when they go on with what is
missing; everything else only looks. Numbers stand in the words, so that whoever reads them need not look
elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.migration import Migration


def connected(names: list[str], cluster: str) -> str:
    """Which clients are connected in a cluster, in words."""
    if not names:
        return f"no client is connected in {cluster}"
    return (
        f"{len(names)} client{'s are' if len(names) > 1 else ' is'} connected in {cluster}: "
        f"{', '.join(names)}"
    )


class Condition(NamedTuple):
    """Something that must hold, in words with the numbers of now."""

    holds: bool
    words: str


class Progress(NamedTuple):
    """How far a step is: `done` of `total` things, and what they are."""

    done: int
    total: int
    unit: str


class Work:
    """The work of one step of one migration."""

    def __init__(self, migration: Migration) -> None:
        self.migration = migration
        self.runtime = migration.runtime
        self.run = migration.run
        self.seq = -1  # the row that the work of now goes back to

    # --- acting

    def begin(self, cause: int) -> None:
        """Work, or go on."""

    def rest(self) -> None:
        """Stop: paused, failed or rolled back."""

    def tick(self) -> None:
        """A moment of the work has passed."""

    def undo(self, cause: int) -> None:
        """Take back what was done."""

    # --- looking

    def conditions(self) -> list[Condition]:
        """What must hold before it begins."""
        return []

    def failure(self) -> str | None:
        """Why it cannot go on now, in words; None when it can."""
        return None

    def progress(self) -> Progress:
        """How far it is."""
        return Progress(0, 0, "things")

    def complete(self) -> bool:
        """Whether there is nothing left to do."""
        return True

    def undo_conditions(self) -> list[Condition]:
        """What must hold before it is undone, so that nothing is lost."""
        return []

    def undone(self) -> bool:
        """Whether the undo is through."""
        return True

    # --- what every step looks at

    @property
    def source(self) -> Cluster:
        return self.runtime.clusters[self.run.source]

    @property
    def target(self) -> Cluster:
        return self.runtime.clusters[self.run.target]

    def topics_in(self, cluster: Cluster) -> list[Topic]:
        """The tenant's topics and partitions there, sorted."""
        bases = self.migration.bases
        return [cluster.topics[name] for name in sorted(cluster.topics) if cluster.topics[name].base in bases]

    def broken(self) -> str | None:
        """Which of the two clusters and the way between them does not work, in words; None when all do."""
        for cluster in (self.source, self.target):
            if not cluster.up:
                return f"{cluster.name} is {cluster.state}"
        for source, target in ((self.source.name, self.target.name), (self.target.name, self.source.name)):
            if not self.runtime.links[source, target].up:
                return f"the link {source} -> {target} is cut"
        return None
