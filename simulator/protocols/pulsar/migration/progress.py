"""Step 3: acknowledgements are synced between source and target, by the strategy of the migration.

Rules: acknowledgement-state sync is enabled for subscriptions that do not have it. It begins at once and
continues each `ackSyncPeriod` in both directions until clean-up or roll-back. Snapshots: the flag of
replicated subscriptions is set in both clusters. None: nothing is synced. The step is complete when the
target has received the state of every subscription once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.ack_sync.sync import sender_for
from simulator.protocols.pulsar.migration.work import Condition, Progress, Work

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.migration.migration import Migration

PERIODS_CURRENT = 2
"""Periods for which a state received by the target counts as fresh."""


class Nothing(Work):
    """Strategies none and blue-green, which sync no acknowledgements."""

    def stale(self) -> list[str]:
        """Subscriptions whose state the target has not received lately, each with the reason in words."""
        return []

    def unsynced_back(self) -> list[str]:
        """Subscriptions whose acknowledgements in the target have not reached the source."""
        return []

    def unsynced(self) -> list[str]:
        """Subscriptions whose acknowledgements in the source have not reached the target."""
        return []


class _Synced(Nothing):
    """The common part of both strategies that sync acknowledgements."""

    def in_source(self) -> list[Subscription]:
        """The subscriptions of every topic and partition in the source."""
        return [found for topic in self.topics_in(self.source) for found in topic.subscriptions.values()]

    def there(self, subscription: Subscription) -> Subscription | None:
        """The same subscription in the target, None where it does not exist."""
        topic = self.target.topics.get(subscription.topic.name)
        return None if topic is None else topic.subscriptions.get(subscription.name)

    def nothing_to_sync(self, subscription: Subscription) -> bool:
        """Whether no entry that both clusters have is acknowledged."""
        cursor, copied = subscription.cursor, self.migration.works.topic_data.goals
        first = (
            copied.get(subscription.topic.name, (0, 0))[0] if subscription.topic.cluster is self.source else 0
        )
        return cursor.mark_delete < first and not cursor.acknowledged() and not cursor.partly_acknowledged()

    def is_synced(self, subscription: Subscription) -> bool:
        """Whether the target has received its state since the step began, or there is none to send."""
        raise TypeError(f"{type(self).__name__} does not say what was synced")

    def failure(self) -> str | None:
        broken = self.broken()
        done, total, _unit = self.progress()
        return (
            None
            if broken is None
            else f"{broken}: {self.target.name} has received acknowledgements of {done} of {total} "
            "subscriptions"
        )

    def progress(self) -> Progress:
        found = self.in_source()
        return Progress(sum(self.is_synced(one) for one in found), len(found), "subscriptions")

    def complete(self) -> bool:
        done, total, _unit = self.progress()
        return done == total

    def undo_conditions(self) -> list[Condition]:
        unsynced = self.unsynced_back()
        source, target = self.run.source, self.run.target
        return [
            Condition(
                not unsynced,
                f"{source} has not received all that {', '.join(unsynced)} acknowledged in {target}"
                if unsynced
                else f"{source} has received all that is acknowledged in {target}",
            )
        ]


class AcknowledgementSync(_Synced):
    """Syncs by acknowledgement-state sync; `begun_us` is when it was last enabled."""

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.begun_us = 0

    def begin(self, cause: int) -> None:
        self.begun_us = self.runtime.now_us
        for base in self.migration.bases:
            self.runtime.synchronised.setdefault(base, None)
        for cluster, peer in ((self.source, self.run.target), (self.target, self.run.source)):
            for topic in self.topics_in(cluster):
                for subscription in topic.subscriptions.values():
                    sender = subscription.sender
                    if sender is None:
                        sender = subscription.sender = sender_for(subscription)
                        assert sender is not None, "the topics of this tenant are synchronised now"
                        sender.opened_by(cause)
                        sender.start()
                    sender.send(peer, cause)

    def is_synced(self, subscription: Subscription) -> bool:
        sender = subscription.sender
        return sender is not None and (
            sender.is_current(self.run.target)
            or self.nothing_to_sync(subscription)
            or self._has_report(subscription)
        )

    def _has_report(self, subscription: Subscription) -> bool:
        """Whether any state has reached the target.

        A received state counts even when the source loads its topic again and loses its record of the
        request.
        """
        there = self.there(subscription)
        return there is not None and self.run.source in there.filter.reported

    def tick(self) -> None:
        """Send the missing states again at once; later changes are sent by the period."""
        for subscription in self.in_source():
            if not self.is_synced(subscription) and subscription.sender is not None:
                subscription.sender.send(self.run.target, self.seq)

    def _not_current(self, subscription: Subscription) -> str | None:
        sender, there, now_us = subscription.sender, self.there(subscription), self.runtime.now_us
        if there is None:
            return f"{subscription.name} is not in {self.run.target}"
        if sender is None or sender.is_current(self.run.target) or self.nothing_to_sync(subscription):
            return None if sender is not None else f"{subscription.name} is not synchronised"
        if not self._has_report(subscription):
            return f"{self.run.target} has received nothing about {subscription.name}"
        assert there.filter.received_us is not None, "a report arrived"
        age_us = now_us - there.filter.received_us
        latency_us = self.runtime.links[self.run.source, self.run.target].latency_us(0)
        if sender.period_us is None or age_us <= PERIODS_CURRENT * sender.period_us + latency_us:
            return None
        return (
            f"{self.run.target} last received acknowledgements of {subscription.name} "
            f"{age_us / 1e6:.1f} s ago, its period is {sender.period_us / 1e6:g} s"
        )

    def stale(self) -> list[str]:
        return [words for words in map(self._not_current, self.in_source()) if words is not None]

    def unsynced(self) -> list[str]:
        return sorted(
            {
                one.name: None
                for one in self.in_source()
                if not (one.sender is not None and one.sender.is_current(self.run.target))
                and not self.nothing_to_sync(one)
            }
        )

    def unsynced_back(self) -> list[str]:
        if self.target.state == "lost":  # no cluster can send it any more
            return []
        found = [one for topic in self.topics_in(self.target) for one in topic.subscriptions.values()]
        return sorted(
            {
                one.name: None
                for one in found
                if not (one.sender is not None and one.sender.is_current(self.run.source))
                and not self.nothing_to_sync(one)
            }
        )

    def undo(self, cause: int) -> None:
        for base in self.migration.bases:
            self.runtime.synchronised.pop(base, None)
        for cluster in (self.source, self.target):
            for topic in self.topics_in(cluster):
                for subscription in topic.subscriptions.values():
                    if sender_for(subscription) is None:
                        subscription.sender = None


class Snapshots(_Synced):
    """Syncs by snapshots; `switched` are the subscriptions whose flag this migration set.

    They are (cluster, topic, subscription).
    """

    def __init__(self, migration: Migration) -> None:
        super().__init__(migration)
        self.begun_us = 0
        self.switched: list[tuple[str, str, str]] = []

    def begin(self, cause: int) -> None:
        self.begun_us = self.runtime.now_us
        for cluster in (self.source, self.target):
            for topic in self.topics_in(cluster):
                for name, subscription in topic.subscriptions.items():
                    if not subscription.replicated:
                        self.switched.append((cluster.name, topic.name, name))
                        subscription.switch_replication(True, cause)

    def is_synced(self, subscription: Subscription) -> bool:
        there = self.there(subscription)
        return self.nothing_to_sync(subscription) or (there is not None and there.last_applied_us is not None)

    def stale(self) -> list[str]:
        return [
            f"no Update of {one.name} has come to {self.run.target}"
            for one in self.in_source()
            if not self.is_synced(one)
        ]

    def undo_conditions(self) -> list[Condition]:
        return []

    def undo(self, cause: int) -> None:
        for cluster, topic_name, name in self.switched:
            topic = self.runtime.clusters[cluster].topics.get(topic_name)
            if topic is not None and name in topic.subscriptions:
                topic.subscriptions[name].switch_replication(False, cause)
        self.switched = []
