"""The source side of shadow topics: their list, their replicators, and the watch on the ledger list.

Rules: setting the list starts the missing replicators and ends those that are no longer on it. The list is a
policy of the topic, in its own cluster only. Each change of the list of ledgers is a new version. A shadow is
notified a little later and then reads the newest version. So the notification of a version that it has read
already is stale (PIP-180, `ShadowReplicator`, `ShadowManagedLedgerImpl`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.pulsar.shadow.reads import Storage
from simulator.protocols.pulsar.shadow.replicator import ShadowReplicator, as_shadow
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.topic import ShadowTopic
    from simulator.scenarios.model import Scenario


class ShadowList(NamedTuple):
    """The list of one topic's shadow topics.

    It has their names, and until when its last change is being written.

    The list of a topic's shadow topics, a policy of the topic in its own cluster (PIP-180).
    """

    names: tuple[str, ...] = ()
    busy_until_us: int = 0


NO_SHADOWS = ShadowList()


_SECOND_US = 1_000_000


class ShadowSource:
    """The part of one topic partition that its shadows use."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.storage = Storage(topic)
        self.version = 0  # of the list of ledgers
        self.stopped_us: int | None = None  # when its writer stopped, since the last load
        self.stopped_cleanly = False
        self.checked_epoch = -1  # the load whose periodic check is scheduled
        self.replicators: dict[str, ShadowReplicator] = {}  # by the name of the shadow, or of its partition

    # --- the list of ledgers

    def ledgers_changed(self, cause: int) -> None:
        """Notify the watching shadows: a ledger was opened, closed, deleted or offloaded."""
        self.version += 1
        runtime = self.topic.runtime
        due_us = None
        for shadow in self.shadows():
            if shadow.loaded:
                due_us = due_us or runtime.now_us + runtime.option("shadowMetadataLatency")
                runtime.schedule(due_us, shadow.rank, shadow.hear_of_ledgers, (shadow.epoch, cause))

    def shadows(self) -> list[ShadowTopic]:
        """The shadows of this topic partition in its cluster, by name."""
        return [
            shadow
            for topic in self.topic.cluster.topics.values()
            if topic.source is self.topic and (shadow := as_shadow(topic)) is not None
        ]

    # --- the list of shadow topics

    @property
    def listed(self) -> tuple[str, ...]:
        """Names of the shadow topics to be fed, from the topic's policy."""
        return self.topic.runtime.shadow_lists.get(
            (self.topic.cluster.name, self.topic.base), NO_SHADOWS
        ).names

    def partition_of(self, shadow: str) -> str:
        """The partition of the shadow that this topic partition feeds: the one with the same number."""
        return shadow if self.topic.partition < 0 else f"{shadow}-partition-{self.topic.partition}"

    def check_replication(self, cause: int, first: bool = False) -> None:
        """Start the missing replicators and end unlisted ones: the broker's policy check."""
        wanted = [self.partition_of(name) for name in self.listed]
        if not wanted and self.topic.runtime.option("shadowRemoveLast") == "keeps-running":
            return
        for name in wanted:
            if name not in self.replicators:
                replicator = self.replicators[name] = ShadowReplicator(self.topic, name, cause)
                replicator.start(cause, at_once=first)
        for name in [name for name in self.replicators if name not in wanted]:
            self.replicators.pop(name).end("removed", cause)

    def begin_policy_check(self) -> None:
        """Schedule the periodic policy check of this load."""
        seconds = self.topic.cluster.setting("replicationPolicyCheckDurationSeconds", self.topic)
        if seconds and self.listed and self.checked_epoch != self.topic.epoch:
            self.checked_epoch = self.topic.epoch
            self.topic.runtime.schedule(
                self.topic.runtime.now_us + seconds * _SECOND_US,
                self.topic.rank,
                self.policy_timer,
                self.topic.epoch,
            )

    def policy_timer(self, epoch: int) -> None:
        """Create again the replicators that ended by themselves."""
        if epoch == self.topic.epoch and self.topic.loaded:
            self.checked_epoch = -1
            self.check_replication(NULL)
            self.begin_policy_check()

    def ended(self, name: str) -> None:
        """A replicator ended by itself."""
        self.replicators.pop(name, None)

    # --- lifecycle of the topic

    def loaded(self, cause: int, first: bool) -> None:
        """A broker loaded the topic: new cursors, which are not durable, begin at the end of the log."""
        self.stopped_us = None
        for shadow in self.shadows():
            if shadow.waits_for_source:
                shadow.load(cause)
        self.check_replication(cause, first)
        self.begin_policy_check()

    def unloaded(self, reason: str, cause: int, clean: bool) -> None:
        """The broker unloaded the topic, and the cursors of the replicators are lost."""
        self.stopped_us, self.stopped_cleanly = self.topic.runtime.now_us, clean
        for replicator in self.replicators.values():
            replicator.end("source-" + reason, cause)
        self.replicators = {}

    def appended(self) -> None:
        """Entries were appended: the replicators continue."""
        for replicator in tuple(self.replicators.values()):
            replicator.read()

    def trimmed(self) -> None:
        """Ledgers were deleted: cursors that are not durable are moved forward."""
        for replicator in self.replicators.values():
            replicator.pushed_to(self.topic.log.first_kept)

    # --- the end of the open ledger, for readers

    def entries_confirmed(self) -> int:
        """Entries of the last ledger that the bookies report as confirmed to a reader that opens it.

        The writer sends its last confirmed entry every bookkeeperExplicitLacIntervalInMills (0: never). With
        the option `shadowReadsPiggybackedLac` the confirmed entry that each entry carries also counts, which
        is all but the last. A ledger that was closed cleanly is confirmed whole.
        """
        topic, log = self.topic, self.topic.log
        ledger = log.ledgers[-1]
        if ledger.closed_us is not None or (self.stopped_us is not None and self.stopped_cleanly):
            return ledger.entries
        confirmed = max(0, ledger.entries - 1) if topic.runtime.option("shadowReadsPiggybackedLac") else 0
        interval_us = topic.cluster.setting("bookkeeperExplicitLacIntervalInMills", topic) * 1_000
        if interval_us:
            until_us = topic.runtime.now_us if self.stopped_us is None else self.stopped_us
            last_us = ledger.opened_us + (until_us - ledger.opened_us) // interval_us * interval_us
            confirmed = max(confirmed, self._entries_stored_by(last_us))
        return confirmed

    def next_update_us(self) -> int | None:
        """The next instant at which the writer sends its last confirmed entry to the bookies.

        None when it never does, or when the topic was deleted.
        """
        ledgers, now_us = self.topic.log.ledgers, self.topic.runtime.now_us
        interval_us = self.topic.cluster.setting("bookkeeperExplicitLacIntervalInMills", self.topic) * 1_000
        if not interval_us or not ledgers:
            return None
        ledger = ledgers[-1]
        return ledger.opened_us + ((now_us - ledger.opened_us) // interval_us + 1) * interval_us

    def _entries_stored_by(self, at_us: int) -> int:
        """Entries of the last ledger that were stored at or before an instant."""
        topic, ledger = self.topic, self.topic.log.ledgers[-1]
        low, high = 0, ledger.entries
        while low < high:
            middle = (low + high) // 2
            if topic.runtime.trace.at_us(topic.stored_seqs[ledger.first_index + middle]) <= at_us:
                low = middle + 1
            else:
                high = middle
        return low


PRODUCE, CONSUME, SHADOW_TOPIC = "produce", "consume", "shadow_topic_policy"


def refusal(scenario: Scenario, role: str | None, action: str, topic: str) -> str | None:
    """Why a role may not perform an action on a topic, None when it may.

    The permissions of roles: a small model of Pulsar's authorisation, sufficient for shadow topics.

    Rules: a scenario without roles has authorisation off. With roles, a client acts as its role and needs the
    permission on that topic. Permissions on a source give none on its shadows, nor the reverse. Setting a
    source's list of shadow topics needs WRITE on the policy SHADOW_TOPIC of the source, which neither produce
    nor consume gives. A command without a role is a superuser's.
    """
    if not scenario.roles:
        return None
    if role is None:
        return f"a client without a role may not {_words(action)} {topic}"
    spec = scenario.roles[role]
    if spec.superuser or topic in getattr(spec, action):
        return None
    return f"role {role} may not {_words(action)} {topic}"


def _words(action: str) -> str:
    return (
        "write policy SHADOW_TOPIC of"
        if action == SHADOW_TOPIC
        else action + (" to" if action == PRODUCE else " from")
    )
