"""The rule of replicated subscriptions: five hooks, whose default answers are what Pulsar does.

`ReplicatedSubscriptionsController` and `ReplicatedSubscriptionSnapshotCache` are the sources. A rule in a
file of one's own extends `Rule` and overrides hooks (docs/rules.md). A run asks one instance of it.

Rules: a hook is given facts and returns an answer as a value; the engine performs it and checks its form.
Places are indices of entries in the log of the cluster that asks, messages are numbers that are equal in
every cluster. What a rule keeps in `self` is part of the run's state: a seek or branch restores it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from simulator.scenarios.rule_files import BUILT_IN, RuleError, ask, how_to_load, loaded_rules, wrong_answer

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription
    from simulator.protocols.pulsar.broker.topic import Topic


# --- A subscription's snapshot cache: which snapshots it keeps, and which one an ack may use
#
# The source is `ReplicatedSubscriptionSnapshotCache`.
#
# Rules: memory only. Plain data. Positions are indices in the local log. `spread` (4.0.9, 4.1.3 on) drops
# the inner entry whose neighbours are closest. `oldest-first` (before) drops the oldest.


SPREAD, OLDEST_FIRST = "spread", "oldest-first"
UNKNOWN = -1


@dataclass(slots=True)
class CachedSnapshot:
    """A cached snapshot.

    `distance` counts the entries between its predecessor and itself, UNKNOWN until the cache is full.
    """

    snapshot: int
    index: int
    clusters: tuple[tuple[str, int, int], ...]
    distance: int = UNKNOWN
    carried: tuple[int, ...] = ()  # numbers that the rule put into the marker


Keeps = Callable[[list[CachedSnapshot], int, str], list[CachedSnapshot]]
"""Which snapshots a cache keeps of those given, with its size and cache rule."""


def kept_by_cache_rule(snapshots: list[CachedSnapshot], most: int, cache_rule: str) -> list[CachedSnapshot]:
    """The snapshots that Pulsar keeps after one was added."""
    if len(snapshots) > most:
        snapshots.pop(0 if cache_rule == OLDEST_FIRST else _closest(snapshots))
    return snapshots


def _closest(kept: list[CachedSnapshot]) -> int:
    """The inner entry with the smallest distance between its neighbours, the lowest of equals."""
    for before, after in zip(kept, kept[1:], strict=False):
        if after.distance == UNKNOWN:
            after.distance = after.index - before.index - 1
    closest = min(
        range(1, len(kept) - 1),
        key=lambda place: (kept[place].distance + kept[place + 1].distance, place),
    )
    # The sum, not the difference of positions: each merge is one short, as in the broker.
    kept[closest + 1].distance += kept[closest].distance
    return closest


class SnapshotCache:
    """Snapshots in the order of their arrival, local positions strictly increasing."""

    def __init__(self, rule: str, size_max: int, keeps: Keeps = kept_by_cache_rule) -> None:
        self.rule = rule
        self.size_max = size_max
        self.keeps = keeps
        self.snapshots: list[CachedSnapshot] = []

    def add(self, snapshot: CachedSnapshot) -> list[tuple[CachedSnapshot, str]]:
        """Add a snapshot; returns the removed ones, each with the reason."""
        if self.rule == OLDEST_FIRST:
            gone = self._insert(snapshot)
        else:
            gone = []
            if self.snapshots and snapshot.index <= self.snapshots[-1].index:
                gone = [(old, "cursor-reset") for old in self.snapshots]
                self.snapshots = []
            self.snapshots.append(snapshot)
        before = self.snapshots
        self.snapshots = self.keeps(list(before), self.size_max, self.rule)
        if len(self.snapshots) < len(before):
            kept = {one.index: one for one in self.snapshots}
            gone += [(one, "cache-rule") for one in before if one.index not in kept]
        return gone

    def _insert(self, snapshot: CachedSnapshot) -> list[tuple[CachedSnapshot, str]]:
        """Insert it in order; it replaces one at the same position, which is read again after a reset."""
        same = [kept for kept in self.snapshots if kept.index == snapshot.index]
        others = [kept for kept in self.snapshots if kept.index != snapshot.index]
        self.snapshots = sorted((*others, snapshot), key=lambda kept: kept.index)
        return [(old, "cursor-reset") for old in same]

    def take_up_to(self, mark_delete: int) -> tuple[CachedSnapshot | None, list[CachedSnapshot]]:
        """Remove all at or below `mark_delete`: the newest of them is usable, the others are obsolete."""
        usable = [kept for kept in self.snapshots if kept.index <= mark_delete]
        if not usable:
            return None, []
        self.snapshots = self.snapshots[len(usable) :]
        return usable[-1], usable[:-1]


OPTION = "replicatedSubscriptionsRule"

PENDING, NO_NEW_DATA, DISCONNECTED = "pending", "no-new-data", "replicator-disconnected"
"""The reasons why a tick requests no snapshot."""

CARRIED_MOST = 100_000
"""The most numbers that one marker carries: about 300 kB. An entry has at most 5 MB."""
LARGEST_CARRIED = (1 << 53) - 1
LONGEST_REASON = 60
"""Characters of a reason, which is a column of the trace."""


# --- what hooks are given


class TopicSeen:
    """A topic's log in one cluster, to be read by a rule."""

    __slots__ = ("_topic",)

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    @property
    def name(self) -> str:
        """The topic or partition."""
        return self._topic.name

    @property
    def cluster(self) -> str:
        """The cluster in which it is."""
        return self._topic.cluster.name

    @property
    def now_us(self) -> int:
        """The present instant."""
        return self._topic.runtime.now_us

    @property
    def last_confirmed(self) -> int:
        """Index of the last entry whose append is complete, -1 without any."""
        return self._topic.log.index_of(*self._topic.last_confirmed)

    @property
    def first_kept(self) -> int:
        """Index of the first entry that is not deleted."""
        return self._topic.log.first_kept

    @property
    def subscriptions(self) -> tuple[SubscriptionSeen, ...]:
        """Its subscriptions in this cluster."""
        return tuple(SubscriptionSeen(one) for one in self._topic.subscriptions.values())


class SubscriptionSeen:
    """A subscription's cursor in one cluster, to be read by a rule."""

    __slots__ = ("_subscription",)

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    @property
    def name(self) -> str:
        """Its name."""
        return self._subscription.name

    @property
    def topic(self) -> TopicSeen:
        """The topic that it reads."""
        return TopicSeen(self._subscription.topic)

    @property
    def replicated(self) -> bool:
        """Whether its state is replicated."""
        return self._subscription.replicated

    @property
    def mark_delete(self) -> int:
        """Index up to which all is acknowledged, -1 for none."""
        return self._subscription.cursor.mark_delete

    @property
    def last_applied_us(self) -> int | None:
        """When an Update was last applied to it."""
        return self._subscription.last_applied_us

    def is_acknowledged(self, index: int) -> bool:
        """Whether an entry is acknowledged as a whole."""
        return self._subscription.cursor.is_acknowledged(index)

    @property
    def deleted_messages(self) -> tuple[int, ...]:
        """The messages above the mark-delete that are individually deleted, the first one of each entry."""
        indices = np.array(self._subscription.cursor.acknowledged().to_array(), dtype=np.int64)
        if not len(indices):
            return ()
        records = self._subscription.topic.log.records.view(int(indices[0]), int(indices[-1]) + 1)
        found = records[indices - indices[0]]
        return tuple(found[found >= 0].tolist())

    def entries_of(self, messages: Sequence[int]) -> tuple[int, ...]:
        """The entries of these messages that are in this log and not acknowledged here, in order."""
        cursor, log = self._subscription.cursor, self._subscription.topic.log
        first = max(cursor.mark_delete + 1, log.first_kept)
        found = np.flatnonzero(
            np.isin(log.records.view(first, log.length), np.array(messages, dtype=np.int64))
        )
        return tuple(index for index in (found + first).tolist() if not cursor.is_acknowledged(index))


class Facts(NamedTuple):
    """What a tick of the snapshot controller knows.

    The topic's remotes, whether each is connected, the publish time of its last message (0: none yet), and
    whether it is terminated. `pending` counts unfinished snapshots. `last_completed_ms` is when the newest
    completed one was requested, 0 for none. `partial` is on under unsafePartialSnapshotAfter.
    """

    remotes: tuple[str, ...]
    all_connected: bool
    data_timestamp_ms: int
    terminated: bool
    topic: TopicSeen | None = None
    pending: int = 0
    last_completed_ms: int = 0
    partial: bool = False


class Writing(NamedTuple):
    """A marker that is about to be written; `type` is one of those of `markers.entries`.

    An Update has the subscription, and the cached snapshot whose positions it names if it names any. The
    others have neither.
    """

    type: str
    topic: TopicSeen
    subscription: SubscriptionSeen | None = None
    snapshot: CachedSnapshot | None = None


class Arrived(NamedTuple):
    """An Update that arrived from `origin`: it names the entry `index` of this log, None if it names none.

    The entry may not have arrived yet: it is then beyond the last one. `carried` are the numbers that the
    rule put into it at `origin`.
    """

    origin: str
    subscription: SubscriptionSeen
    index: int | None  # type: ignore[assignment]  # hides tuple.index, which is not used
    beyond_last_entry: bool
    carried: tuple[int, ...]


class Applied(NamedTuple):
    """What an Update does: acks all up to `up_to` and each of `entries`; `refused` is why not, if neither."""

    up_to: int | None = None
    entries: tuple[int, ...] = ()
    refused: str = "not-moved"


# --- the rule


class Rule:
    """What Pulsar does. A rule of one's own extends it."""

    hooks: ClassVar[tuple[str, ...]] = (
        "marker_carries",
        "snapshot_refused",
        "update_due",
        "update_applies",
        "cache_keeps",
    )

    def marker_carries(self, writing: Writing) -> Sequence[int]:
        """Numbers that a marker carries beside what Pulsar writes: none.

        Those of a Snapshot are kept with it in the cache, those of an Update are given to `update_applies`.
        Those of a request and a response only add to its size.
        """
        return ()

    def snapshot_refused(self, facts: Facts) -> str | None:
        """When a snapshot is requested: why this tick requests none, None if it does."""
        if not facts.last_completed_ms and facts.pending:
            return PENDING
        if facts.data_timestamp_ms == 0 or facts.data_timestamp_ms < facts.last_completed_ms:
            return NO_NEW_DATA
        if not facts.remotes or not (facts.partial or facts.all_connected):
            return DISCONNECTED
        return None

    def update_due(self, subscription: SubscriptionSeen, usable: CachedSnapshot | None) -> bool:
        """Whether an Update is written now: a cached snapshot has become usable, or one has arrived.

        `usable` is the newest cached snapshot at or below the mark-delete. With None, which is given only
        when a snapshot has arrived, an Update names no position.
        """
        return usable is not None

    def update_applies(self, update: Arrived) -> Applied:
        """What an Update applies: a mark-delete that is ahead of the present one."""
        subscription = update.subscription
        if update.index is None:
            return Applied(refused="not-addressed")
        if update.beyond_last_entry:
            return Applied(refused="beyond-last-entry")
        if update.index == subscription.mark_delete:
            return Applied(refused="equal")
        # a recovered cursor is before the first kept ledger
        if update.index < max(subscription.topic.first_kept, subscription.mark_delete):
            return Applied(refused="behind-mark-delete")
        return Applied(up_to=update.index)

    def cache_keeps(
        self, snapshots: list[CachedSnapshot], most: int, cache_rule: str
    ) -> Sequence[CachedSnapshot]:
        """Which of a subscription's snapshots its cache keeps, after one was added; in order of their place.

        `most` is replicatedSubscriptionsSnapshotMaxCachedPerSubscription, `cache_rule` the option
        snapshotCacheRule.
        """
        return kept_by_cache_rule(snapshots, most, cache_rule)


PRESENT = Rule()
"""For parts that are used without a run. It keeps no state."""


def rule_of(value: str) -> Rule:
    """The rule of a run by the value of its option. Raises RuleError."""
    if value == BUILT_IN:
        return Rule()
    found = loaded_rules()
    if found is None or found.value != value:
        raise RuleError(value, None, *how_to_load(value))
    return found.make()


# --- asking, with the form of the answers checked


def carried_by(rule: Rule, writing: Writing) -> tuple[int, ...]:
    """The numbers that a marker carries."""
    answer = ask(rule, "marker_carries", writing)
    if not isinstance(answer, (tuple, list)) or len(answer) > CARRIED_MOST:
        what = (
            f"returned {len(answer):,} numbers" if hasattr(answer, "__len__") else f"returned {answer!r:.60}"
        )
        raise wrong_answer(
            rule, "marker_carries", what, f"return a tuple of at most {CARRIED_MOST:,} numbers"
        )
    for number in answer:
        if type(number) is not int or not 0 <= number <= LARGEST_CARRIED:
            right = f"each is a whole number from 0 to {LARGEST_CARRIED}"
            raise wrong_answer(rule, "marker_carries", f"returned {number!r:.60}", right)
    return tuple(answer)


def reason_of(rule: Rule, hook: str, answer: Any) -> str:
    """A reason as a column takes it."""
    if not isinstance(answer, str) or not 0 < len(answer) <= LONGEST_REASON or not answer.isascii():
        right = f"a reason is 1 to {LONGEST_REASON} ASCII characters, such as no-new-data"
        raise wrong_answer(rule, hook, f"gave the reason {answer!r:.80}", right)
    return answer


def applied_by(rule: Rule, update: Arrived, length: int) -> Applied:
    """What an Update does to a log of `length` entries."""
    answer = ask(rule, "update_applies", update)
    if not isinstance(answer, Applied):
        right = "return Applied(up_to=…, entries=…, refused=…)"
        raise wrong_answer(rule, "update_applies", f"returned {answer!r:.60}", right)
    first = update.subscription.mark_delete
    for index in (*(() if answer.up_to is None else (answer.up_to,)), *answer.entries):
        if type(index) is not int or not first < index < length:
            right = (
                f"an entry to ack is above the mark-delete, {first}, and below {length}; else name a refusal"
            )
            raise wrong_answer(rule, "update_applies", f"acks entry {index!r:.60}", right)
    if answer.up_to is None:
        reason_of(rule, "update_applies", answer.refused)
    return answer


def kept_by(rule: Rule, snapshots: list[CachedSnapshot], most: int, cache_rule: str) -> list[CachedSnapshot]:
    """The snapshots that a cache keeps."""
    answer = ask(rule, "cache_keeps", list(snapshots), most, cache_rule)
    places = [one.index for one in answer] if isinstance(answer, (list, tuple)) else None
    wanted = dict.fromkeys(places or ())
    kept = [one for one in snapshots if one.index in wanted]
    if places is None or [one.index for one in kept] != places:
        right = "return some of the snapshots that it was given, in their order"
        raise wrong_answer(rule, "cache_keeps", f"returned {answer!r:.80}", right)
    return kept
