"""The work of one step of a migration: begin, progress, reason why it is blocked, undo.

Rules: `begin` and `undo` act and may be called again after a pause or a failure, when they continue with what
is missing. Everything else only reads. Numbers are part of the sentences, so that they can be understood
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from simulator.kernel.clock import Handler
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.run import Run
    from simulator.protocols.pulsar.pulsar import Pulsar


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


class MetadataOfMigration(Protocol):
    """The step that copies metadata (`migration.metadata.Metadata`)."""

    @property
    def source(self) -> Cluster:
        """The cluster that the tenant leaves."""

    def progress(self) -> Progress:
        """How far it is."""

    def topics_in(self, cluster: Cluster) -> list[Topic]:
        """The tenant's topics and partitions there, sorted."""


class TopicDataOfMigration(Protocol):
    """The step that copies messages (`migration.data.TopicData`).

    `goals` are, by topic, the first index that is copied and the one up to which all is.
    """

    goals: dict[str, tuple[int, int]]

    def connected(self) -> tuple[int, int]:
        """How many replicators are connected, of how many."""

    def undo(self, cause: int) -> None:
        """Take back what it did."""


class ProgressOfMigration(Protocol):
    """The step that copies how far consumers are (`migration.progress.Nothing` and its subclasses)."""

    def stale(self) -> list[str]:
        """What the target has not received lately, in words."""

    def unsynced(self) -> list[str]:
        """Subscriptions of which the target has not received every acknowledgement."""

    def undo(self, cause: int) -> None:
        """Take back what it did."""


class SwitchOfMigration(Protocol):
    """The step that moves clients (`migration.switching.Switching`, `migration.draining.Draining`)."""

    def complete(self) -> bool:
        """Whether there is nothing left to do."""

    def progress(self) -> Progress:
        """How far it is."""


class CleanUpOfMigration(Protocol):
    """The step that deletes what the source has left (`migration.clean_up.CleanUp`)."""

    def needed_here_alone(self, but_coming: bool = False) -> dict[str, int]:
        """Messages that only the source has and somebody needs, by subscription."""


class WorksOfMigration(Protocol):
    """The work of every step (`migration.step_registry.Works`)."""

    @property
    def metadata(self) -> MetadataOfMigration:
        """Copies metadata."""

    @property
    def topic_data(self) -> TopicDataOfMigration:
        """Copies messages."""

    @property
    def progress(self) -> ProgressOfMigration:
        """Copies how far consumers are."""

    @property
    def switch(self) -> SwitchOfMigration:
        """Moves clients."""

    @property
    def clean_up(self) -> CleanUpOfMigration:
        """Deletes what the source has left."""

    def of(self, step: str) -> Work:
        """The work of a step, by its name."""


class MigrationOfStep(Protocol):
    """What the work of a step needs of its migration (`migration.migration.Migration`)."""

    runtime: Pulsar
    run: Run
    bases: list[str]
    """The tenant's topics, without shadows."""
    start_at: str
    """Where replication begins: "earliest" or "latest"."""

    @property
    def works(self) -> WorksOfMigration:
        """The work of every step."""

    @property
    def subscriptions(self) -> list[str]:
        """The tenant's subscriptions in source or target, sorted."""

    def clients_in(self, cluster: str) -> list[str]:
        """The tenant's clients that are connected there, sorted."""

    def followers(self) -> list[str]:
        """The tenant's running clients that follow the LookupService, sorted."""

    def later(self, after_us: int, handler: Handler, argument: Any = None) -> None:
        """Call `handler(argument)` after a span of time."""


class Work:
    """The work of one step of one migration."""

    def __init__(self, migration: MigrationOfStep) -> None:
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
