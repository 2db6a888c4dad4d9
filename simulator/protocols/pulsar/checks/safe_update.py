"""An Update never moves the peer past a message not acked, expired or skipped at its writer.

X writes an Update that names a position of Y. For every message of Y's log up to it, one of these must have
held at X before: the application acknowledged it, it expired or was skipped, X skipped it because a peer had
reported it as acknowledged (checked by `filtered_rightly`), it was before the start of X's subscription (or
was removed before an Update opened that), or an Update applied at X had covered it (checked by the same claim
at the cluster that wrote that one). Acks that X's cursor later loses in a crash or a reset still count. Each
entry of Y is judged once for each X and subscription, when the first Update names it or a later one.
Under a rule of one's own an Update may list messages. The same holds for each that Y then deletes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import Rows, Stretch, position, position_words
from simulator.protocols.pulsar.checks.acked_expired_or_skipped import AckedExpiredOrSkipped
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.recorded_messages import RecordedMessages
from simulator.protocols.pulsar.checks.safe_by_configuration import SafeByConfiguration
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario

CONTROL = (
    "ledger.trimmed",
    "replicator.created",
    "replicator.removed",
    "snapshot.completed",
    "subscription.created",
    "update.applied",
    "update.position",
)
COLUMNS = (
    "type",
    "cluster",
    "peer",
    "topic",
    "subscription",
    "ledger",
    "entry",
    "to_ledger",
    "to_entry",
    "snapshot",
    "reason",
)
_TRIMMED, _COMPLETED, _CREATED = (
    CODE["ledger.trimmed"],
    CODE["snapshot.completed"],
    CODE["subscription.created"],
)
_PASSED = ("expired", "cleared", "skipped", "expire-messages", "backlog-quota")
"""Reasons of `message.not-replicated` for messages that were meant for the peer."""
_APPLIED, _NAMED = CODE["update.applied"], CODE["update.position"]


class SafeUpdate(Check):
    """Keeps which messages are acked, expired or skipped, and how far each peer's log was checked."""

    claim = (
        "Whenever a cluster writes an Update, every message that the peer holds at or below the named "
        "position, and every one that the Update lists, has been"
        " acknowledged, expired or skipped at that cluster."
    )

    def begin(self, scenario: Scenario) -> None:
        self.safe = SafeByConfiguration(scenario)
        self.gone = AckedExpiredOrSkipped()
        self.never_sent = RecordedMessages()  # (cluster that never received it, producer)
        # (cluster, topic) -> position up to which ledgers were deleted
        self.removed: dict[tuple[int, int], int] = {}
        # (cluster, peer, topic, subscription) -> place
        self.looked_at: dict[tuple[int, int, int, int], int] = {}
        self.partial: dict[int, None] = {}  # snapshots that an operator finished without all responses

    def copy_into(self, copy: Self) -> None:
        copy.safe, copy.gone, copy.never_sent = (
            self.safe.copy(),
            self.gone.copy(),
            self.never_sent.copy(),
        )
        copy.removed, copy.looked_at, copy.partial = (
            dict(self.removed),
            dict(self.looked_at),
            dict(self.partial),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Updates that name a position above a message not acked, expired or skipped."""
        self.gone.read(stretch)
        self.never_sent.read(_never_sent(stretch), "peer")
        broken: list[tuple[int, str]] = []
        listed, judged = stretch.of("message.listed"), 0
        for row in stretch.of(*CONTROL).records(*COLUMNS):
            (
                seq,
                kind,
                cluster,
                peer,
                topic,
                subscription,
                ledger,
                entry,
                to_ledger,
                to_entry,
                snapshot,
                reason,
            ) = row
            if kind in (_APPLIED, _CREATED) and len(listed):  # before messages count as covered
                upto = int(np.searchsorted(listed.seqs, seq))
                broken += self._listed(stretch, listed.take(np.arange(judged, upto)))
                judged = upto
            if kind == _NAMED:
                link, place = (cluster, peer, topic, subscription), position(to_ledger, to_entry)
                if self.safe.holds(stretch, topic):
                    broken += self._named(
                        stretch, known, seq, link, place, judged=snapshot not in self.partial
                    )
            elif kind == _APPLIED:
                self.gone.cover(known, seq, (cluster, topic, subscription), position(to_ledger, to_entry))
            elif kind == _CREATED:
                place = position(ledger, entry)
                if stretch.name(reason) == "update":
                    place = min(place, self.removed.get((cluster, topic), -1))
                self.gone.cover(known, seq, (cluster, topic, subscription), place)
            elif kind == _TRIMMED:
                self.removed[cluster, topic] = position(ledger + 1, -1)
            elif kind == _COMPLETED:
                if stretch.name(reason) == "partial":
                    self.partial[snapshot] = None
            else:
                self.safe.follow(known, (seq, kind, cluster, peer, topic, ledger, entry))
        if judged < len(listed):
            broken += self._listed(stretch, listed.take(np.arange(judged, len(listed))))
        self.gone.finish()
        self.never_sent.finish()
        return broken

    def _listed(self, stretch: Stretch, listed: Rows) -> list[tuple[int, str]]:
        """Messages that a cluster deleted because an Update lists them, and that nobody had acknowledged."""
        broken: list[tuple[int, str]] = []
        by = ("cluster", "peer", "subscription", "producer")
        for (cluster, peer, subscription, producer), rows in listed.groups(*by):
            ids, written = rows["sequence_id"], rows["evidence_seq"]
            bad = np.flatnonzero(self.gone.unseen(peer, subscription, producer, ids, written))

            def describe(number: int) -> str:
                at, message = stretch.name(peer), stretch.message(producer, int(ids[bad[number]]))
                words = f"{at}'s Update of {stretch.name(subscription)} lists {message}"
                return f"{words} for {stretch.name(cluster)}: not acknowledged, expired or skipped at {at}"

            broken += first_broken(rows.seqs[bad], describe)
        return broken

    def _named(
        self,
        stretch: Stretch,
        known: Knowledge,
        seq: int,
        link: tuple[int, int, int, int],
        place: int,
        judged: bool,
    ) -> list[tuple[int, str]]:
        """Check the peer's entries up to `place` that were not checked before.

        Positions of a partial snapshot are not judged.
        """
        cluster, peer, topic, subscription = link
        log = known.logs.of(peer, topic)
        chosen = log.between(self.looked_at.get(link, -1), place, seq)
        self.looked_at[link] = max(place, self.looked_at.get(link, -1))
        for producer, ids in log.messages(chosen) if judged else ():
            open_ = ids[self.gone.unseen(cluster, subscription, producer, ids, seq)]
            open_ = open_[self.never_sent.unseen((cluster, producer), open_, seq)]
            if len(open_):
                at, name = stretch.name(cluster), stretch.name(subscription)
                more = f" and {len(open_) - 1} more" if len(open_) > 1 else ""
                message = stretch.message(producer, int(open_[0]))
                words = (
                    f"{at}'s Update of {name} names {position_words(place)} at {stretch.name(peer)}, which "
                    f"holds {message}{more}"
                )
                return [(seq, f"{words} at or below it: not acknowledged, expired or skipped at {at}")]
        return []


def _never_sent(stretch: Stretch) -> Rows:
    """Messages that a replicator skipped as expired, or that an operator's command passed before the send."""
    rows = stretch.of("message.not-replicated")
    return rows.take(np.isin(rows["reason"], [stretch.number(reason) for reason in _PASSED]))
