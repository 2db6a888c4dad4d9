"""The work of one step of a migration: begin, progress, reason why it is blocked, undo.

Rules: `begin` and `undo` act, and may be called again after a pause or a failure to continue with the missing
part. All others only read. Each sentence contains its numbers, so that it is complete by itself.
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


class MetadataOfMigration(Protocol):
    """The step that copies metadata (`migration.metadata.Metadata`)."""

    @property
    def source(self) -> Cluster:
        """The cluster that the tenant leaves."""

    def progress(self) -> Progress:
        """Its progress."""

    def topics_in(self, cluster: Cluster) -> list[Topic]:
        """The tenant's topics and partitions in the cluster, sorted."""


class TopicDataOfMigration(Protocol):
    """The step that copies messages (`migration.data.TopicData`).

    `goals` are, by topic, the first index that is copied and the last one that the source had then.
    """

    goals: dict[str, tuple[int, int]]

    def connected(self) -> tuple[int, int]:
        """Number of connected replicators, and number of all."""

    def undo(self, cause: int) -> None:
        """Undo its changes."""


class ProgressOfMigration(Protocol):
    """The step that syncs acknowledgements (`migration.progress.Nothing` and its subclasses)."""

    def stale(self) -> list[str]:
        """Subscriptions whose state the target has not received lately, in words."""

    def unsynced(self) -> list[str]:
        """Subscriptions of which the target has not received every acknowledgement."""

    def undo(self, cause: int) -> None:
        """Undo its changes."""


class SwitchOfMigration(Protocol):
    """The step that moves clients (`migration.switching.Switching`, `migration.draining.Draining`)."""

    def complete(self) -> bool:
        """Whether it is complete."""

    def progress(self) -> Progress:
        """Its progress."""


class CleanUpOfMigration(Protocol):
    """The step that deletes the rest of the source (`migration.clean_up.CleanUp`)."""

    def needed_here_alone(self, but_coming: bool = False) -> dict[str, int]:
        """By subscription the number of unacked messages that only the source has."""


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
        """Syncs acknowledgements."""

    @property
    def switch(self) -> SwitchOfMigration:
        """Moves clients."""

    @property
    def clean_up(self) -> CleanUpOfMigration:
        """Deletes the rest of the source."""

    def of(self, step: str) -> Work:
        """The work of a step, by its name."""


class MigrationOfStep(Protocol):
    """What the work of a step needs of its migration (`migration.migration.Migration`)."""

    runtime: Pulsar
    run: Run
    bases: list[str]
    """The tenant's topics, without shadows."""
    start_at: str
    """The start of replication: "earliest" or "latest"."""

    @property
    def works(self) -> WorksOfMigration:
        """The work of every step."""

    @property
    def subscriptions(self) -> list[str]:
        """The tenant's subscriptions in source or target, sorted."""

    def clients_in(self, cluster: str) -> list[str]:
        """The tenant's clients that are connected to the cluster, sorted."""

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
