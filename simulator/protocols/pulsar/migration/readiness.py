"""Whether it is safe to switch, in words with the numbers, and the cost of a switch now.

Rules: reads, never writes. A switch is safe when the previous steps are complete, both clusters, the links
and the LookupService work, no message waits longer than a second to be copied, acknowledgements were synced
lately, and no running consumer would drop what the target delivers. The cost is the forecast of a failover of
each subscription at this instant: the figures if the source crashed now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.migration.run import SKIPPED, STEPS, SWITCH

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.migration.migration import Migration


# --- the work of one step of a migration: begin, progress, reason why it is blocked, undo
#
# Rules: `begin` and `undo` act, and may be called again after a pause or a failure to continue with the
# missing part. All others only read. Each sentence contains its numbers, so that it is complete by itself.


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


LAG_MAX_US = 1_000_000
"""A longer wait means that replication does not keep up."""


def to_switch(work: Work) -> list[Condition]:
    """Conditions for redirecting clients to the target."""
    migration = work.migration
    lookup = work.runtime.lookup
    broken = work.broken()
    return [
        *steps_before(migration),
        Condition(broken is None, broken or "both clusters and the links between them work"),
        Condition(
            lookup.up,
            "the LookupService answers"
            if lookup.up
            else "the LookupService is down: clients could not look up the new cluster",
        ),
        _connected(migration),
        _copied(work),
        _needed(migration),
        _synced(migration),
        _nothing_dropped(work),
    ]


def steps_before(migration: Migration) -> list[Condition]:
    """Whether the steps before the switch are complete."""
    found = []
    for name in STEPS[: STEPS.index(SWITCH)]:
        step = next(one for one in migration.run.steps if one.name == name)
        if step.state == SKIPPED:
            continue
        progress = migration.works.of(name).progress()
        found.append(
            Condition(
                step.state == "done",
                f"step {name} is {step.state}: {progress.done:,} of {progress.total:,} {progress.unit}",
            )
        )
    return found


def _connected(migration: Migration) -> Condition:
    connected, wanted = migration.works.topic_data.connected()
    return Condition(connected == wanted, f"{connected} of {wanted} replicators are connected, both ways")


def _copied(work: Work) -> Condition:
    """Whether no message has waited long to be copied."""
    runtime, run = work.runtime, work.run
    only_here, oldest_us = 0, runtime.now_us
    for topic in work.topics_in(work.source):
        there = work.target.topics.get(topic.name)
        held = forecasting.unsent(topic, run.target)
        held -= forecasting.in_log(runtime, there) if there is not None else forecasting.BitMap()
        only_here += len(held)
        if held:
            oldest_us = min(oldest_us, runtime.messages.published_us[held.min()])
    lag_us = runtime.now_us - oldest_us
    words = f"{only_here:,} messages are in {run.source} and not in {run.target}"
    words += (
        f", the oldest published {lag_us // 1000:,} ms ago (safe: {LAG_MAX_US // 1000:,} ms)"
        if only_here
        else ""
    )
    return Condition(lag_us <= LAG_MAX_US, words)


def _needed(migration: Migration) -> Condition:
    """Whether replication will copy every message that is still needed."""
    needed = migration.works.clean_up.needed_here_alone(but_coming=True)
    words = ", ".join(f"{count:,} of {name}" for name, count in needed.items())
    return Condition(
        not needed,
        f"not acknowledged, and never to be copied: {words}"
        if needed
        else "all that is not acknowledged is copied or on its way",
    )


def _synced(migration: Migration) -> Condition:
    stale = migration.works.progress.stale()
    return Condition(
        not stale, "; ".join(stale) if stale else "acknowledgements were received within their period"
    )


def _nothing_dropped(work: Work) -> Condition:
    """Whether no running consumer keeps a cumulative ack that is not below the target's log.

    Its client would drop messages of the target at or below it (apache/pulsar#25291).
    """
    runtime, run, found = work.runtime, work.run, []
    for name in sorted(runtime.consumers):
        consumer = runtime.consumers[name]
        if consumer.spec.subscription not in work.migration.subscriptions:
            continue
        for topic in sorted(consumer.acks.acknowledged_to):
            ledger, entry, _part = consumer.acks.acknowledged_to[topic].position
            if topic not in work.target.topics:
                continue
            next_ledger, next_entry = _next_position(work.target.topics[topic], consumer.spec.subscription)
            if (ledger, entry) >= (next_ledger, next_entry):
                found.append(
                    f"{name} keeps its cumulative ack of {ledger}:{entry} and would drop what {run.target} "
                    f"delivers up to there, from {next_ledger}:{next_entry} on: restart it after the switch"
                )
    return Condition(
        not found,
        "; ".join(found) if found else "no running consumer keeps a cumulative ack above the target's log",
    )


def _next_position(topic: Topic, name: str) -> tuple[int, int]:
    """The position of the entry that a subscription of the topic delivers next."""
    log, subscription = topic.log, topic.subscriptions.get(name)
    index = log.first_kept if subscription is None else subscription.cursor.mark_delete + 1
    if index < log.length:
        return log.position(index)
    ledger, entry = log.last_confirmed
    return ledger, entry + 1


def only_forced(migration: Migration) -> str | None:
    """Why a switch is impossible even if forced: the target has nothing for clients. Else None."""
    progress = migration.works.metadata.progress()
    target = migration.runtime.clusters[migration.run.target]
    if not target.up:
        return f"{target.name} is {target.state}"
    missing = [
        topic.name
        for topic in migration.works.metadata.topics_in(migration.works.metadata.source)
        if topic.name not in target.topics
    ]
    if missing:
        return (
            f"{', '.join(missing)} are not in {target.name} yet ({progress.done} of {progress.total} "
            f"resources are)"
        )
    return None


def cost_now(
    migration: Migration, forecast: Callable[[str, str], dict[str, dict[str, int]]]
) -> dict[str, Any]:
    """The forecast of each subscription and their sum.

    Returns `{subscriptions: {name: figures}, sum: figures}`. `forecast` returns the figures for a
    subscription and the cluster that would fail.
    """
    run = migration.run
    by_name = {name: forecast(name, run.source).get(run.target) for name in migration.subscriptions}
    known = {name: figures for name, figures in by_name.items() if figures is not None}
    return {
        "subscriptions": known,
        "sum": {figure: sum(figures[figure] for figures in known.values()) for figure in forecasting.FIGURES},
    }
