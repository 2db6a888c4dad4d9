"""Causes 0 to 6 of replicated subscriptions, from the logs, the cursors and the configuration.

Rules: B is the target, X the cluster of the latest acknowledgement, p the delivered entry's position in B,
"X's end" is min(failover, crash of X). Each function answers for a whole batch. The order is
`replicated_causes.CAUSES`.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.verdicts.causes import Batch, Verdict
from simulator.protocols.pulsar.verdicts.read import NEVER
from simulator.trace.registry import NULL


def nothing(batch: Batch) -> Verdict:
    """A verdict that holds for none of the batch."""
    return Verdict(np.zeros(len(batch), dtype=bool))


def everything(batch: Batch, why: str, evidence: dict[str, int | np.ndarray]) -> Verdict:
    """A verdict that holds for the whole batch."""
    return Verdict(np.ones(len(batch), dtype=bool), why, evidence)


def resent_copy(batch: Batch) -> Verdict:
    """0. An earlier entry of the same message in B was covered by B's cursor when this one was delivered."""
    log = batch.log
    which, copies = log.copies(batch.message)
    earlier = log.position[copies] < batch.position[which]
    which, copies = which[earlier], copies[earlier]
    covered = batch.cursor.covers(copies, log.position[copies], batch.delivered_seq[which])
    evidence = np.full(len(batch), NULL, dtype=np.int64)
    evidence[which[covered]] = log.seq[copies[covered]]
    stored = np.where(batch.copy >= 0, log.seq[batch.copy], NULL) if len(log.seq) else evidence
    return Verdict(evidence != NULL, "stored-twice", {"earlier_copy": evidence, "stored": stored})


def subscription_missing(batch: Batch) -> Verdict:
    """1. The subscription did not exist at B at the failover."""
    if batch.cursor.exists_at(batch.window.opened_seq):
        return nothing(batch)
    later = batch.cursor.created.seq[batch.cursor.created.seq > batch.window.opened_seq]
    return everything(
        batch,
        "no-update-had-arrived",
        {"failover": batch.window.opened_seq, "created": int(later[0]) if len(later) else NULL},
    )


def not_replicated(batch: Batch) -> Verdict:
    """2. Not flagged at X, the feature off, or fewer than two clusters: X never sends an Update to B."""
    facts, window, end = batch.facts, batch.window, batch.end
    if batch.x == window.target:
        return nothing(batch)
    flagged, row = facts.flag(window.subscription, batch.x, batch.topic, end.seq)
    if not flagged:
        return everything(batch, "not-flagged", {"flag": NULL if row is None else row, "end": end.seq})
    for cluster in (batch.x, window.target):
        row = facts.feature_off(cluster, end.seq)
        if row is not None:
            return everything(batch, "feature-off", {"setting": row, "end": end.seq})
    if len(facts.replication_list(batch.x, batch.topic, end.seq)) < 2:
        return everything(batch, "one-cluster", {"end": end.seq})
    return nothing(batch)


def cursor_went_back(batch: Batch) -> Verdict:
    """3. B's cursor had covered p and no longer did: a reset, a recovery after a crash, a deletion."""
    cursor = batch.cursor
    uncovered, covered = cursor.went_back(batch.copy, batch.position, batch.delivered_seq)
    holds = (uncovered != NULL) & ~cursor.covers(batch.copy, batch.position, batch.delivered_seq)
    why = np.full(len(batch), "", dtype=object)
    for seq in np.unique(uncovered[holds]).tolist():
        why[holds & (uncovered == seq)] = _why_back(batch, seq)
    if batch.x == batch.window.target:
        registered, _ = cursor.last_registration(batch.copy, batch.delivered_seq)
        dispatched = (registered != NULL) & ~holds
        why[dispatched] = "already-dispatched"
        covered = np.where(dispatched, registered, covered)
        holds |= dispatched
    return Verdict(holds, why, {"covered": covered, "went_back": uncovered})


def _why_back(batch: Batch, seq: int) -> str:
    row = batch.facts.history.row(seq)
    if row["type"] == "cursor.recovered":
        return "recovered-older"
    if row["type"] == "subscription.deleted":
        return "deleted"
    return "recovered-older" if row.get("reason") == "recovery" else "reset"


def ack_not_registered(batch: Batch) -> Verdict:
    """4. The acknowledgement had not reached X's broker at X's end.

    It had reached it if X's cursor had registered it by then, still held an earlier ack of the same entry,
    or, where X is not B, had its mark-delete at or past the entry.
    """
    cursor, end = batch.cursor_of_x, batch.end
    copy = batch.log_of_x.copy_of(batch.message, batch.acknowledged_position)
    registered, _ = cursor.last_registration(copy, end.seq)
    reached = (registered > batch.acknowledged_seq) | cursor.registered(copy, end.seq)
    if batch.x != batch.window.target:
        reached |= cursor.mark_at(end.seq) >= batch.acknowledged_position
    late = batch.acknowledged_seq > end.seq
    why = np.where(late, "acknowledged-after-the-end", "not-sent-or-on-the-wire").astype(object)
    return Verdict(~reached, why, {"end": end.seq})


def not_in_target_yet(batch: Batch) -> Verdict:
    """5. The delivered entry was appended to B after the failover."""
    stored = (
        np.where(batch.copy >= 0, batch.log.seq[batch.copy], NEVER)
        if len(batch.log.seq)
        else np.full(len(batch), NEVER)
    )
    holds = (stored > batch.window.opened_seq) & (stored != NEVER)
    return Verdict(
        holds, "appended-after-the-failover", {"failover": batch.window.opened_seq, "stored": stored}
    )


def ack_hole(batch: Batch) -> Verdict:
    """6. X's mark-delete had not passed the acknowledged entry at X's end.

    Only mark-deletes are replicated.
    """
    cursor, end = batch.cursor_of_x, batch.end
    holds = cursor.mark_at(end.seq) < batch.acknowledged_position
    if not holds.any():
        return nothing(batch)
    copy = batch.log_of_x.copy_of(batch.message, batch.acknowledged_position)
    _, forgotten = cursor.last_registration(copy, end.seq)
    lost = (forgotten != NULL) & (forgotten <= end.seq)
    why = np.where(lost, "forgotten-at-recovery", "behind-a-hole").astype(object)
    return Verdict(holds, why, {"mark_delete": cursor.step_row(end.seq), "end": end.seq})
