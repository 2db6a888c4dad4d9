"""One migration in progress: runs the state machine's effects, checks progress, writes its rows.

Rules: progress is checked every 100 ms. A step up to `through` begins automatically, as soon as its
precondition holds. Later ones need an operator. A failed step stays failed until an operator resumes it or
rolls back. Rolling back undoes switch, progress, data and metadata in this order, each as soon as nothing
would be lost by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulator.kernel.clock import Handler
from simulator.protocols.pulsar import lookup
from simulator.protocols.pulsar.migration import run as machine
from simulator.protocols.pulsar.migration.run import (
    ACKNOWLEDGEMENT_SYNC,
    BLUE_GREEN,
    CLEAN_UP,
    ENDED,
    METADATA,
    NONE,
    PROGRESS,
    ROLLING_BACK,
    RUNNING,
    SNAPSHOTS,
    SWITCH,
    TOPIC_DATA,
    UNDOING,
    WAITING,
    Effect,
    Run,
)
from simulator.protocols.pulsar.migration.steps import (
    AcknowledgementSync,
    CleanUp,
    Draining,
    Metadata,
    Nothing,
    Snapshots,
    Switching,
    TopicData,
)
from simulator.protocols.pulsar.ranks import MIGRATION, rank

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.readiness import Condition, Work
    from simulator.protocols.pulsar.pulsar import Pulsar


# --- the work of each step of a migration, by strategy


_PROGRESS_STEPS = {
    ACKNOWLEDGEMENT_SYNC: AcknowledgementSync,
    SNAPSHOTS: Snapshots,
    NONE: Nothing,
    BLUE_GREEN: Nothing,
}


@dataclass(frozen=True)
class Works:
    """The work of every step of one migration."""

    metadata: Metadata
    topic_data: TopicData
    progress: Nothing
    switch: Draining | Switching
    clean_up: CleanUp

    def of(self, step: str) -> Work:
        """The work of a step, by its name."""
        return {
            METADATA: self.metadata,
            TOPIC_DATA: self.topic_data,
            PROGRESS: self.progress,
            SWITCH: self.switch,
            CLEAN_UP: self.clean_up,
        }[step]


def works(migration: Migration) -> Works:
    """The work of every step."""
    strategy = migration.run.strategy
    return Works(
        Metadata(migration),
        TopicData(migration),
        _PROGRESS_STEPS[strategy](migration),
        Draining(migration) if strategy == BLUE_GREEN else Switching(migration),
        CleanUp(migration),
    )


LOOK_EVERY_US = 100_000
"""Interval of the progress checks."""


class Migration:
    """One tenant's move from a source to a target cluster."""

    def __init__(self, runtime: Pulsar, arguments: dict[str, Any]) -> None:
        tenant = arguments["tenant"]
        self.runtime = runtime
        self.run = Run(
            tenant,
            runtime.lookup.tenants[tenant],
            arguments["to"],
            arguments["strategy"],
            arguments["through"],
        )
        self.start_at = arguments["startAt"]
        self.rank = rank(MIGRATION, sorted(runtime.lookup.tenants).index(tenant))
        self.bases = [
            name
            for name in lookup.bases_of(runtime, tenant)
            if runtime.scenario.topics[name].shadow_of is None
        ]
        self.works = works(self)
        self.life = 0  # counts begins, pauses and resumes: an event of an earlier one is stale
        self.forced = False
        self.seq = -1

    # --- the tenant's subscriptions and clients

    @property
    def subscriptions(self) -> list[str]:
        """Its subscriptions that exist in the source or the target, sorted."""
        clusters = [self.runtime.clusters[name] for name in (self.run.source, self.run.target)]
        topics = [
            topic for cluster in clusters for topic in cluster.topics.values() if topic.base in self.bases
        ]
        return sorted({name: None for topic in topics for name in topic.subscriptions})

    def clients_in(self, cluster: str) -> list[str]:
        """Its producers and consumers that are connected to the cluster, sorted."""
        return lookup.clients_in(self.runtime, self.bases, cluster)

    def followers(self) -> list[str]:
        """Its running clients that follow the LookupService, sorted."""
        return lookup.followers(self.runtime, self.bases)

    # --- requests of an operator

    def begin(self, cause: int) -> None:
        """Start the migration: the first step begins at once."""
        run = self.run
        self.seq = self.runtime.rows.migration_started(
            cause, tenant=run.tenant, cluster=run.source, peer=run.target, reason=run.strategy
        )
        self.take("begin", self.seq)

    def take(self, given: str, cause: int, words: str | None = None) -> None:
        """Apply one input to the state machine, and perform the effects."""
        run, runtime = self.run, self.runtime
        self.life += 1
        step = run.step
        effects = run.take(given, runtime.now_us, words)
        seq = self.seq = self._note(given, step, cause, words)
        self._perform(effects, seq)
        if run.state not in ENDED:
            self.later(0 if given in ("roll-back", "undone") else LOOK_EVERY_US, self.look, self.life)

    def note_forced(self, cause: int) -> int:
        """The row of an operator's clean-up that is forced though subscriptions need its entries."""
        run = self.run
        return self.runtime.rows.migration_changed(
            cause, tenant=run.tenant, cluster=run.source, peer=run.target, reason="forced"
        )

    def _note(self, given: str, step: Any, cause: int, words: str | None) -> int:
        """The row of one move."""
        run, rows = self.run, self.runtime.rows
        tenant, source, target = run.tenant, run.source, run.target
        if given == "hurry" or (given in ("begin", "resume") and step.state == RUNNING):
            begun = run.step if given == "hurry" else step
            return rows.migration_step_began(
                cause, tenant=tenant, cluster=source, peer=target, reason=begun.name, count=begun.attempts
            )
        if given == "done":
            lasted_us = self.runtime.now_us - step.started_us
            return rows.migration_step_finished(
                cause, tenant=tenant, cluster=source, peer=target, reason=step.name, duration_us=lasted_us
            )
        if given == "fail":
            return rows.migration_step_failed(
                cause, tenant=tenant, cluster=source, peer=target, reason=step.name, detail=words
            )
        if given == "undone":
            return rows.migration_step_undone(
                cause, tenant=tenant, cluster=source, peer=target, reason=step.name
            )
        return rows.migration_changed(cause, tenant=tenant, cluster=source, peer=target, reason=given)

    def _perform(self, effects: list[Effect], cause: int) -> None:
        run = self.run
        for effect in effects:
            match effect:
                case machine.Work(step):
                    self.works.of(step).begin(cause)
                case machine.Rest(step):
                    self.works.of(step).rest()
                case machine.End():
                    self.runtime.rows.migration_ended(
                        cause, tenant=run.tenant, cluster=run.source, peer=run.target, reason=run.state
                    )

    def redirected(self, topic: Topic, subscription: str, cause: int) -> None:
        """Blue redirects a consumer of the subscription to green (PIP-188)."""
        run, switch = self.run, self.works.switch
        if (
            run.state == RUNNING
            and topic.base in self.bases
            and topic.cluster.name == run.source
            and isinstance(switch, Draining)
        ):
            switch.redirected(subscription, cause)

    # --- periodic check

    def later(self, after_us: int, handler: Handler, argument: Any = None) -> None:
        """Request a call after a span of time."""
        self.runtime.schedule(self.runtime.now_us + after_us, self.rank, handler, argument)

    def look(self, life: int) -> None:
        """Check every 100 ms whether the step is complete, has failed, or the next one may begin."""
        if life != self.life:
            return
        run, before = self.run, self.life
        if run.state == RUNNING:
            self._look_at_work(self.works.of(run.step.name))
        elif run.state == ROLLING_BACK:
            self._look_at_undo(self.works.of(run.step.name))
        if run.state == WAITING and run.automatic and all(condition.holds for condition in self.conditions()):
            self.take("begin", self.seq)
        if self.life == before and run.state not in ENDED:
            self.later(LOOK_EVERY_US, self.look, self.life)

    def _look_at_work(self, work: Work) -> None:
        failure = work.failure()
        if failure is not None:
            self.take("fail", self.seq, failure)
        elif work.complete():
            self.take("done", self.seq)
        else:
            work.tick()

    def _look_at_undo(self, work: Work) -> None:
        if self.run.step.state != UNDOING:
            if not all(condition.holds for condition in work.undo_conditions()):
                return
            self.take("undo", self.seq)
            work.undo(self.seq)
        if work.undone():
            self.take("undone", self.seq)

    def conditions(self) -> list[Condition]:
        """The conditions for the next step, or during a roll-back for the step's undo."""
        work = self.works.of(self.run.step.name)
        return work.undo_conditions() if self.run.state == ROLLING_BACK else work.conditions()

    @property
    def way_back(self) -> str | None:
        """Why it cannot be rolled back, in words; None when it can."""
        run, source = self.run, self.runtime.clusters[self.run.source]
        if run.state in ENDED:
            return f"it is {run.state.replace('-', ' ')}"
        if run.steps[-1].attempts:
            return (
                f"the {CLEAN_UP.replace('-', ' ')} of {run.source} has begun: what it needs is being deleted"
            )
        if not source.up:
            return f"{run.source} is {source.state}: no client could connect there"
        return self.works.switch.no_way_back()
