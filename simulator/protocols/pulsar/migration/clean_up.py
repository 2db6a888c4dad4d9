"""Step 5: all resources of the tenant in the source are deleted, once they are no longer needed.

Rules: no client may be connected to the source, no entry may be left to copy, and its acknowledgements must
have been synced. Messages that a subscription still needs and the target will never have would be lost with
the source. This is refused unless an operator forces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.creation import enforcement, policies
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.migration import resources
from simulator.protocols.pulsar.migration.run import BLUE_GREEN, SWITCH
from simulator.protocols.pulsar.migration.work import Condition, Progress, Work, connected

if TYPE_CHECKING:
    from simulator.protocols.pulsar.migration.migration import Migration

DELETE_EVERY_US = 10_000
"""The time of an administrative request within the cluster."""


class CleanUp(Work):
    """Deletes the source's resources.

    `planned` is the number of resources that the source had when the step first began.
    """

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.planned = 0
        self.number = 0

    # --- state

    def conditions(self) -> list[Condition]:
        run, migration = self.run, self.migration
        clients, came = migration.clients_in(run.source), migration.works.switch.progress()
        found = [
            Condition(
                migration.works.switch.complete() and run.switched_at_us is not None,
                f"step {SWITCH}: {came.done:,} of {came.total:,} {came.unit} have moved",
            ),
            Condition(self.source.up, f"{run.source} is {self.source.state}"),
            Condition(not clients, connected(clients, run.source)),
            self._needed(),
        ]
        if run.strategy == BLUE_GREEN:
            return found
        return [*found, self._copied(), self._synced()]

    def _copied(self) -> Condition:
        left = sum(len(forecasting.unsent(topic, self.run.target)) for topic in self.topics_in(self.source))
        return Condition(
            not left, f"{left:,} messages of {self.run.source} are not confirmed by {self.run.target}"
        )

    def _synced(self) -> Condition:
        unsynced = self.migration.works.progress.unsynced()
        return Condition(
            not unsynced,
            f"{self.run.target} has not received all acknowledgements of {', '.join(unsynced)}"
            if unsynced
            else "all acknowledgements were received",
        )

    def _needed(self) -> Condition:
        needed = self.needed_here_alone()
        words = ", ".join(f"{count:,} of {name}" for name, count in needed.items())
        return Condition(
            not needed,
            f"not acknowledged, and in {self.run.source} alone: {words}"
            if needed
            else f"nobody needs a message that {self.run.source} alone has",
        )

    def needed_here_alone(self, but_coming: bool = False) -> dict[str, int]:
        """By subscription the number of its unacked messages that the target's log does not hold.

        `but_coming` leaves out those that replication still has to send.
        """
        runtime, found = self.runtime, {}
        for name in self.migration.subscriptions:
            left = 0
            for topic in self.topics_in(self.source):
                if name not in topic.subscriptions:
                    continue
                there = self.target.topics.get(topic.name)
                waiting = forecasting.undelivered(
                    runtime, name, self.run.source, forecasting.in_log(runtime, topic)
                )
                waiting -= forecasting.in_log(runtime, there) if there is not None else forecasting.BitMap()
                left += len(waiting - forecasting.unsent(topic, self.run.target) if but_coming else waiting)
            if left:
                found[name] = left
        return found

    def failure(self) -> str | None:
        source = self.source
        done, total, _unit = self.progress()
        return (
            None if source.up else f"{source.name} is {source.state}: {done} of {total} resources are deleted"
        )

    def progress(self) -> Progress:
        left = len(self._left())
        return Progress(max(self.planned, left) - left, max(self.planned, left), "resources")

    def _left(self) -> list[resources.Resource]:
        return [one for one in resources.of_tenant(self) if resources.present(self.source, one)]

    def complete(self) -> bool:
        return not self._left()

    # --- actions

    def begin(self, cause: int) -> None:
        self.seq = cause
        lookup, run = self.runtime.lookup, self.run
        # blue-green: the map was needed until everything was drained
        if lookup.tenants[run.tenant] != run.target:
            self.seq = lookup.switch(run.tenant, run.target, cause)
        self.planned = max(self.planned, len(self._left()))
        self.migration.works.progress.undo(cause)
        self.migration.works.topic_data.undo(cause)
        self._stop_replication(cause)
        self.number += 1
        self.migration.later(DELETE_EVERY_US, self.delete_next, self.number)

    def _stop_replication(self, cause: int) -> None:
        """Stop replication between source and target, also the scenario's: the source loses the topics."""
        source, target = self.run.source, self.run.target
        for base in self.migration.bases:
            listed = policies.replication_list(self.runtime, target, base)
            if source in listed:
                policies.change_list(
                    self.runtime,
                    target,
                    base,
                    policies.LOCAL,
                    tuple(name for name in listed if name != source),
                    cause,
                )
            policies.change_list(self.runtime, source, base, policies.LOCAL, (source,), cause)
        enforcement.apply(self.runtime, cause)

    def rest(self) -> None:
        self.number += 1

    def delete_next(self, number: int) -> None:
        """Delete the last remaining resource."""
        left = self._left() if number == self.number and self.source.up else []
        if left:
            resources.delete(self, self.source, left[-1], self.seq)
            self.migration.later(DELETE_EVERY_US, self.delete_next, number)
