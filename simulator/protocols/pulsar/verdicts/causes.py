"""Why a message was duplicated: the ordered causes of each family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from simulator.counting import CountingError, Duplicate, LazyList
from simulator.protocols.pulsar.verdicts.facts import NEVER, Cursor, End, Facts, Log, Table, first_reaching
from simulator.protocols.pulsar.verdicts.windows import Judged, Window
from simulator.trace.registry import NULL

# --- why a message was duplicated: ordered tables of causes, and their application to duplicates


@dataclass(frozen=True, slots=True)
class Batch:
    """Duplicates of one window in one topic partition whose latest acknowledgement was in the cluster X.

    `position` and `copy` are the delivered entry's at the target B, `acknowledged_position` is the
    acknowledged entry's at X. `end` is min(failover, crash of X). Where clients follow the LookupService's
    map, it is the unload that disconnected them.
    """

    facts: Facts
    window: Window
    topic: int
    x: int
    end: End
    message: np.ndarray
    position: np.ndarray
    copy: np.ndarray
    delivered_seq: np.ndarray
    client: np.ndarray
    acknowledged_seq: np.ndarray
    acknowledged_position: np.ndarray

    _ROWS = (
        "message",
        "position",
        "copy",
        "delivered_seq",
        "client",
        "acknowledged_seq",
        "acknowledged_position",
    )

    def __len__(self) -> int:
        return len(self.message)

    def take(self, rows: np.ndarray) -> Batch:
        """The same batch with only these duplicates."""
        columns = {name: getattr(self, name)[rows] for name in self._ROWS}
        return Batch(self.facts, self.window, self.topic, self.x, self.end, **columns)

    @property
    def cursor(self) -> Cursor:
        """The subscription's cursor at the target."""
        return self.facts.cursor(self.window.subscription, self.window.target, self.topic)

    @property
    def cursor_of_x(self) -> Cursor:
        return self.facts.cursor(self.window.subscription, self.x, self.topic)

    @property
    def log(self) -> Log:
        """The target's log."""
        return self.facts.log(self.window.target, self.topic)

    @property
    def log_of_x(self) -> Log:
        return self.facts.log(self.x, self.topic)


@dataclass(slots=True)
class Verdict:
    """The duplicates of a batch that one cause explains.

    `holds` is a mask of the batch. `why` is a word for each duplicate or one for all. `evidence` is
    role -> seq (NULL: none), for each or one for all.
    """

    holds: np.ndarray
    why: np.ndarray | str = ""
    evidence: dict[str, np.ndarray | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cause:
    """One line of a table: its name in `by_cause`, and the function that judges a batch.

    `deciding` is the evidence that decided: its role, and the role where there is no such row.
    """

    name: str
    judge: Callable[[Batch], Verdict]
    deciding: tuple[str, ...] = ()


def causes_of(family: str) -> tuple[Cause, ...]:
    """The ordered causes of a scenario family."""
    if family not in CAUSE_TABLES:
        raise CountingError(
            f"the family {family} has no causes; known are {', '.join(sorted(CAUSE_TABLES))}", {}
        )
    return CAUSE_TABLES[family]


def explain(facts: Facts, window: Window, judged: Judged) -> tuple[dict[str, int], LazyList]:
    """Find the cause of every duplicate of a window.

    Returns the number of duplicates by cause, with every cause of the table, and the list of duplicates.
    """
    causes = causes_of(facts.scenario.family)
    total = len(judged.duplicates)
    cause_of = np.empty(total, dtype=np.int64)  # every duplicate gets one, or the count stops
    why = np.full(total, "", dtype=object)
    evidence: dict[str, np.ndarray] = {}
    topics, exes = judged.duplicates.topic, judged.acknowledged.cluster[judged.latest_ack]
    for topic, x in product(np.unique(topics).tolist(), np.unique(exes).tolist()):
        rows = np.flatnonzero((topics == topic) & (exes == x))
        _judge_batch(causes, _batch(facts, window, judged, topic, x, rows), rows, cause_of, why, evidence)
    names = [cause.name for cause in causes]
    numbers = np.bincount(cause_of, minlength=len(names)).tolist()
    return dict(zip(names, numbers, strict=True)), _listed(
        facts, judged, [names[cause] for cause in cause_of.tolist()], why, evidence
    )


def _batch(facts: Facts, window: Window, judged: Judged, topic: int, x: int, rows: np.ndarray) -> Batch:
    chosen, acks = judged.duplicates.take(rows), judged.latest_ack[rows]
    return Batch(
        facts,
        window,
        topic,
        x,
        facts.end_in(window, x, topic),
        chosen.message,
        chosen.position,
        facts.log(window.target, topic).copy_of(chosen.message, chosen.position),
        chosen.seq,
        chosen.client,
        judged.acknowledged.seq[acks],
        judged.acknowledged.position[acks],
    )


def _judge_batch(
    causes: tuple[Cause, ...],
    batch: Batch,
    rows: np.ndarray,
    cause_of: np.ndarray,
    why: np.ndarray,
    evidence: dict[str, np.ndarray],
) -> None:
    """Apply the causes in order, each to the duplicates that none before it explains.

    The verdicts are written at `rows` of the window's columns.
    """
    for number, cause in enumerate(causes):
        if not len(rows):
            return
        verdict = cause.judge(batch)
        holds = verdict.holds
        cause_of[rows[holds]] = number
        why[rows[holds]] = verdict.why if isinstance(verdict.why, str) else verdict.why[holds]
        for role, seqs in verdict.evidence.items():
            column = evidence.setdefault(role, np.full(len(cause_of), NULL, dtype=np.int64))
            column[rows[holds]] = seqs[holds] if isinstance(seqs, np.ndarray) else seqs
        rows, batch = rows[~holds], batch.take(~holds)
    if len(rows):
        words = (
            "a duplicate has no cause: the target delivered what its cursor had covered since before the "
            "consumer connected"
        )
        seen = {
            "delivered": int(batch.delivered_seq[0]),
            "acknowledged": int(batch.acknowledged_seq[0]),
            "failover": batch.window.opened_seq,
        }
        raise CountingError(words, seen)


def _listed(
    facts: Facts, judged: Judged, causes: list[str], why: np.ndarray, evidence: dict[str, np.ndarray]
) -> LazyList:
    duplicates, acknowledged = judged.duplicates, judged.acknowledged.take(judged.latest_ack)
    producer, sequence_id = facts.history.identity(duplicates.message)
    columns = {
        "producer": producer,
        "sequence_id": sequence_id,
        "at_us": duplicates.at_us,
        "delivered_seq": duplicates.seq,
        "cluster": duplicates.cluster,
        "acknowledged_seq": acknowledged.seq,
        "acknowledged_at_us": acknowledged.at_us,
        "acknowledged_in": acknowledged.cluster,
        "cause": causes,
        "why": why,
    }
    roles = {"delivered": duplicates.seq, "acknowledged": acknowledged.seq, **evidence}
    return LazyList(
        Duplicate, columns, roles, facts.history.names, ("producer", "cluster", "acknowledged_in")
    )


# --- causes 0 to 6 of replicated subscriptions, from the logs, the cursors and the configuration
#
# Rules: B is the target, X the cluster of the latest acknowledgement, p the delivered entry's position in
# B, "X's end" is min(failover, crash of X). Each function answers for a whole batch. The order is
# `replicated_causes.CAUSES`.


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


_REFUSED = ("pending", "replicator-disconnected")
"""Ticks refused by rules 2 and 4 of the controller; without new data (rule 3) no snapshot could help."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A requested snapshot, or a refused tick: `snapshot` is 0 for a refused tick."""

    seq: int
    at_us: int
    snapshot: int
    refused: str


def snapshot_incomplete(batch: Batch) -> Verdict:
    """9. An attempt of X would have covered p if it had completed in its nominal time.

    Its nominal time was over by X's end, and its local position at or below X's mark-delete.

    Cause 9: a snapshot that would have covered p within its nominal time, and what delayed it.
    """
    if batch.x == batch.window.target:
        return nothing(batch)
    attempts, nominal_us = _attempts(batch)
    if not attempts:
        return nothing(batch)
    remote_us, local_us = _nominal_instants(batch, attempts, nominal_us)
    remote, local = batch.log.last_position(remote_us), batch.log_of_x.last_position(local_us)
    fits = (local <= batch.cursor_of_x.mark_at(batch.end.seq)) & (local_us <= batch.end.at_us)
    attempts = [attempt for attempt, fit in zip(attempts, fits.tolist(), strict=True) if fit]
    chosen = first_reaching(remote[fits], batch.position)
    if not (chosen >= 0).any():
        return nothing(batch)
    words, evidence = np.full(len(batch), "", dtype=object), np.full(len(batch), NULL, dtype=np.int64)
    for place in np.unique(chosen[chosen >= 0]).tolist():
        mine = chosen == place
        words[mine], evidence[mine] = _why(batch, attempts[place], nominal_us), attempts[place].seq
    return Verdict(chosen >= 0, words, {"attempt": evidence, "end": batch.end.seq})


def _attempts(batch: Batch) -> tuple[list[_Attempt], int]:
    """The attempts of X by its end that did not finish in their nominal time, and that time's length."""
    facts, history, end = batch.facts, batch.facts.history, batch.end
    remotes = [
        number for number in facts.replication_list(batch.x, batch.topic, end.seq) if number != batch.x
    ]
    round_us = max(
        (facts.latency_us(batch.x, remote) + facts.latency_us(remote, batch.x) for remote in remotes),
        default=0,
    )
    nominal_us = 2 * round_us if len(remotes) > 1 else round_us
    where = {"cluster": batch.x, "topic": batch.topic}
    completed = {
        row["snapshot"]: row["at_us"]
        for row in history.table("snapshot.completed", **where).upto(end.seq).dicts()
    }
    attempts = []
    for row in history.table("snapshot.requested", **where).upto(end.seq).dicts():
        done_us = completed.get(row["snapshot"])
        if row["count"] == 1 and not (done_us is not None and done_us - row["at_us"] <= nominal_us):
            attempts.append(_Attempt(row["seq"], row["at_us"], row["snapshot"], ""))
    for row in history.table("snapshot.refused", **where).upto(end.seq).dicts():
        if history.names[row["reason"]] in _REFUSED:
            attempts.append(_Attempt(row["seq"], row["at_us"], 0, history.names[row["reason"]]))
    return sorted(attempts, key=lambda attempt: attempt.seq), nominal_us


def _nominal_instants(
    batch: Batch, attempts: list[_Attempt], nominal_us: int
) -> tuple[np.ndarray, np.ndarray]:
    """When each attempt would have reached the target, and when it would have completed."""
    starts = np.array([attempt.at_us for attempt in attempts], dtype=np.int64)
    return starts + batch.facts.latency_us(batch.x, batch.window.target), starts + nominal_us


def instants_of_logs(facts: Facts, window: Window) -> dict[tuple[int, int], set[int]]:
    """By (cluster, topic) the instants at which a cause asks for a log's last position.

    They follow from control rows, and the positions from all rows of the run.
    """
    found: dict[tuple[int, int], set[int]] = {}
    nobody = np.empty(0, dtype=np.int64)
    for topic, x in product(facts.topics_of(window.subscription), facts.clusters):
        if x != window.target:
            batch = Batch(facts, window, topic, x, facts.end_in(window, x, topic), *[nobody] * 7)
            instants = _nominal_instants(batch, *_attempts(batch))
            for cluster, at_us in zip((window.target, x), instants, strict=True):
                found.setdefault((cluster, topic), set()).update(at_us.tolist())
    return found


def _why(batch: Batch, attempt: _Attempt, nominal_us: int) -> str:
    """Why an attempt did not complete in its nominal time.

    The first that applies of one-way, cluster-down, link, timeout and backlog.
    """
    facts, history, end = batch.facts, batch.facts.history, batch.end
    blocking = _blocking(batch, attempt)
    snapshot = attempt.snapshot or (blocking.snapshot if blocking else 0)
    first_us = blocking.at_us if blocking else attempt.at_us
    last_us = min(end.at_us, _finished_us(batch, snapshot, attempt.at_us + nominal_us))
    remotes = [
        number for number in facts.replication_list(batch.x, batch.topic, end.seq) if number != batch.x
    ]
    if any(not facts.replicator_at(remote, batch.x, batch.topic, end.seq)[0] for remote in remotes):
        return "one-way"
    if any(facts.was_down(remote, first_us, last_us) is not None for remote in remotes):
        return "cluster-down"
    links = [pair for remote in remotes for pair in ((batch.x, remote), (remote, batch.x))]
    if attempt.refused == "replicator-disconnected" or any(
        _link_failed(batch, pair, snapshot, first_us, last_us) for pair in links
    ):
        return "link"
    where = {"cluster": batch.x, "topic": batch.topic, "snapshot": snapshot}
    return "timeout" if len(history.table("snapshot.timed-out", **where).upto(end.seq)) else "backlog"


def _blocking(batch: Batch, attempt: _Attempt) -> _Attempt | None:
    """The pending snapshot because of which a tick was refused."""
    if attempt.refused != "pending":
        return None
    requested = (
        batch.facts.history.table("snapshot.requested", cluster=batch.x, topic=batch.topic)
        .upto(attempt.seq)
        .dicts()
    )
    first_rounds = [row for row in requested if row["count"] == 1]
    return (
        _Attempt(first_rounds[-1]["seq"], first_rounds[-1]["at_us"], first_rounds[-1]["snapshot"], "")
        if first_rounds
        else None
    )


def _finished_us(batch: Batch, snapshot: int, nominal_end_us: int) -> int:
    """When the snapshot completed or timed out.

    For a snapshot that did neither it is X's end. For a refused tick it is the tick's nominal end.
    """
    if not snapshot:
        return nominal_end_us
    where = {"cluster": batch.x, "topic": batch.topic, "snapshot": snapshot}
    rows = [
        batch.facts.history.table(event, **where).at_us
        for event in ("snapshot.completed", "snapshot.timed-out")
    ]
    ends = np.concatenate(rows)
    return int(ends.min()) if len(ends) else batch.end.at_us


def _link_failed(batch: Batch, pair: tuple[int, int], snapshot: int, first_us: int, last_us: int) -> bool:
    """Whether the link was cut or slowed in the span, or disturbed a marker of the snapshot.

    A disturbed marker was late, delayed, dropped or lost on the link.
    """
    facts, history, (source, target) = batch.facts, batch.facts.history, pair
    if _disturbed(batch, pair, first_us, last_us):
        return True
    if not snapshot:
        return False
    where = {"topic": batch.topic, "snapshot": snapshot}
    if any(
        len(history.table(event, cluster=source, peer=target, **where))
        for event in ("marker.lost", "marker.delayed", "marker.dropped")
    ):
        return True
    if facts.bandwidth_limited(source, target):
        return False  # a late marker there was queued behind other entries
    sent = {
        row["marker"]: row["at_us"]
        for row in history.table("marker.sent", cluster=source, peer=target, **where).dicts()
    }
    latency_us = facts.latency_us(source, target)
    stored = history.table("marker.stored", cluster=target, peer=source, **where).dicts()
    return any(row["at_us"] - sent.get(row["marker"], row["at_us"]) > latency_us for row in stored)


def _disturbed(batch: Batch, pair: tuple[int, int], first_us: int, last_us: int) -> bool:
    """Whether the link was cut, or slowed beyond its configured latency, at some instant of the span."""
    history, (source, target) = batch.facts.history, pair
    rows = [
        (row["seq"], row["at_us"], event, row.get("duration_us", 0))
        for event in ("link.cut", "link.healed", "link.slowed")
        for row in history.table(event, cluster=source, peer=target).dicts()
    ]
    cut = bad = False
    for _seq, at_us, event, duration_us in sorted(rows):
        if at_us > last_us:
            break
        if at_us > first_us and bad:
            return True
        cut = event == "link.cut" or (cut and event == "link.slowed")
        bad = cut or (event == "link.slowed" and duration_us > batch.facts.latency_us(source, target))
    return bad


# --- causes 7, 8 and 10 of replicated subscriptions: Updates and snapshots of X that could cover p
#
# Rules: only Updates and completed snapshots by X's end count. Of several that cover p at B, the first that
# reaches p is the evidence.


def _of_x(batch: Batch, event: str, **more: int) -> Table:
    """Rows of a type in X, for the batch's topic partition, by X's end."""
    return batch.facts.history.table(event, cluster=batch.x, topic=batch.topic, **more).upto(batch.end.seq)


def _picked(values: list[int], chosen: np.ndarray) -> np.ndarray:
    """For each duplicate the value of the row chosen for it; NULL for none."""
    return np.where(chosen >= 0, np.array(values, dtype=np.int64)[chosen], NULL)


def _words(values: list[str], chosen: np.ndarray) -> np.ndarray:
    return np.array(values, dtype=object)[chosen]


# --- 7


def update_in_flight(batch: Batch) -> Verdict:
    """7. An Update that covers p was written at X, and B had not applied it (in time)."""
    subscription, opened_seq = batch.window.subscription, batch.window.opened_seq
    named = _of_x(batch, "update.position", subscription=subscription, peer=batch.window.target)
    written = {
        row["marker"]: row["seq"] for row in _of_x(batch, "update.written", subscription=subscription).dicts()
    }
    where = {
        "cluster": batch.window.target,
        "peer": batch.x,
        "topic": batch.topic,
        "subscription": subscription,
    }
    applied = {
        row["marker"]: row["seq"] for row in batch.facts.history.table("update.applied", **where).dicts()
    }
    in_time = np.array(
        [applied.get(marker, opened_seq + 1) <= opened_seq for marker in named.marker.tolist()], dtype=bool
    )
    late = named.take(~in_time) if len(named) else named
    verdict = _covered_by_updates(batch, late, written, lambda marker: _whereabouts(batch, marker))
    early = _covered_at_delivery(batch) & ~_impossible(batch) & ~verdict.holds
    if early.any():
        prompt = named.take(in_time)
        second = _covered_by_updates(
            batch, prompt, written, lambda marker: ("already-dispatched", applied[marker])
        )
        verdict = _either(verdict, second, early & second.holds)
    return verdict


def _covered_by_updates(
    batch: Batch, named: Table, written: dict[int, int], place_of: Callable[[int], tuple[str, int]]
) -> Verdict:
    """Verdict for p's that one of the `update.position` rows covers.

    `place_of` returns where a marker was, and the row that shows it.
    """
    chosen = first_reaching(named.to_position, batch.position)
    if not (chosen >= 0).any():
        return nothing(batch)
    markers, seqs = named.marker.tolist(), named.seq.tolist()
    words, places = [""] * len(named), [NULL] * len(named)
    for row in np.unique(chosen[chosen >= 0]).tolist():
        words[row], places[row] = place_of(markers[row])
    rows = [written.get(marker, seq) for marker, seq in zip(markers, seqs, strict=True)]
    evidence: dict[str, np.ndarray | int] = {
        "update": _picked(rows, chosen),
        "position": _picked(seqs, chosen),
        "whereabouts": _picked(places, chosen),
    }
    return Verdict(chosen >= 0, _words(words, chosen), evidence)


def _either(first: Verdict, second: Verdict, use_second: np.ndarray) -> Verdict:
    if isinstance(first.why, str):
        return Verdict(use_second, second.why, second.evidence)
    evidence: dict[str, np.ndarray | int] = {
        role: np.where(use_second, second.evidence[role], seqs) for role, seqs in first.evidence.items()
    }
    return Verdict(first.holds | use_second, np.where(use_second, second.why, first.why), evidence)


def _whereabouts(batch: Batch, marker: int) -> tuple[str, int]:
    """Where an Update was when the failover began, and the row that shows it (NULL: no row yet)."""
    history, target, opened_seq = batch.facts.history, batch.window.target, batch.window.opened_seq

    def last(event: str, cluster: int, peer: int) -> int | None:
        seqs = (
            history.table(event, cluster=cluster, peer=peer, topic=batch.topic, marker=marker)
            .upto(opened_seq)
            .seq
        )
        return int(seqs[-1]) if len(seqs) else None

    refused = last("update.refused", target, batch.x)
    if refused is not None:
        return "refused", refused
    handled = last("marker.handled", target, batch.x)
    stored = last("marker.stored", target, batch.x)
    shown = stored if handled is None else handled
    if shown is not None:
        return "backlog", shown
    gone = [
        (last(event, batch.x, target), word)
        for event, word in (("marker.dropped", "dropped"), ("marker.lost", "lost-on-the-wire"))
    ]
    sent = last("marker.sent", batch.x, target)
    if sent is None:
        return "never-left", NULL
    seq, word = max((seq, word) for seq, word in [*gone, (sent, "on-the-wire")] if seq is not None)
    return word, seq


def _connected_seq(batch: Batch) -> np.ndarray:
    """The row with which the client of each duplicate had last connected; NULL for none."""
    where = {"cluster": batch.window.target, "topic": batch.topic, "subscription": batch.window.subscription}
    connected = batch.facts.history.table("consumer.connected", **where)
    seqs = np.full(len(batch), NULL, dtype=np.int64)
    for client in np.unique(batch.client).tolist():
        rows = connected.seq[connected.client == client]
        mine = batch.client == client
        places = np.searchsorted(rows, batch.delivered_seq[mine]) - 1
        if len(rows):
            seqs[mine] = np.where(places >= 0, rows[places], NULL)
    return seqs


def _covered_at_delivery(batch: Batch) -> np.ndarray:
    """Mask: B's cursor covered p at delivery.

    Then p must have been in the client's receiver queue before it was covered.
    """
    return batch.cursor.covers(batch.copy, batch.position, batch.delivered_seq)


def _impossible(batch: Batch) -> np.ndarray:
    """Mask: B's cursor covered p both when the client connected and at delivery.

    Such a p must not have been delivered.
    """
    connected = _connected_seq(batch)
    return (
        (connected != NULL)
        & _covered_at_delivery(batch)
        & batch.cursor.covers(batch.copy, batch.position, connected)
    )


# --- 8


def _usable_snapshots(batch: Batch) -> tuple[list[dict[str, int]], Table]:
    """Completed snapshots of X that its mark-delete has reached, and B's positions in them.

    A snapshot's local position is at or below X's mark-delete at X's end. They are in the order of local
    positions.
    """
    completed = _of_x(batch, "snapshot.completed")
    mark = int(batch.cursor_of_x.mark_at(batch.end.seq))
    rows = sorted(
        (row for row in completed.dicts() if row["position"] <= mark), key=lambda row: row["position"]
    )
    return rows, _of_x(batch, "snapshot.position", peer=batch.window.target)


def _left_cache(batch: Batch) -> dict[int, tuple[str, int]]:
    """How each snapshot left the subscription's cache at X: (word, seq) by snapshot."""
    subscription, names = batch.window.subscription, batch.facts.history.names
    left = {
        row["snapshot"]: (names[row["reason"]], row["seq"])
        for row in _of_x(batch, "snapshot.evicted", subscription=subscription).dicts()
    }
    left |= {
        row["snapshot"]: ("used", row["seq"])
        for row in _of_x(batch, "snapshot.used", subscription=subscription).dicts()
    }
    return left


def _covered_by_snapshots(
    batch: Batch, wanted: list[tuple[dict[str, int], str, int]], positions: Table, role: str
) -> Verdict:
    """Verdict for p's that one of the snapshots `(completed row, why, evidence seq)` covers."""
    there = dict(zip(positions.snapshot.tolist(), positions.to_position.tolist(), strict=True))
    wanted = [entry for entry in wanted if entry[0]["snapshot"] in there]
    if not wanted:
        return nothing(batch)
    chosen = first_reaching(
        np.array([there[row["snapshot"]] for row, _, _ in wanted], dtype=np.int64), batch.position
    )
    evidence = {
        "snapshot": _picked([row["seq"] for row, _, _ in wanted], chosen),
        role: _picked([seq for _, _, seq in wanted], chosen),
    }
    return Verdict(
        chosen >= 0,
        _words([why for _, why, _ in wanted], chosen),
        evidence | {"mark_delete": batch.cursor_of_x.step_row(batch.end.seq)},
    )


def snapshot_evicted(batch: Batch) -> Verdict:
    """8. A usable snapshot of X covers p, but the cache rule had evicted it."""
    rows, positions = _usable_snapshots(batch)
    left = _left_cache(batch)
    wanted = [
        (row, "cache-rule", left[row["snapshot"]][1])
        for row in rows
        if left.get(row["snapshot"], ("", 0))[0] == "cache-rule"
    ]
    return _covered_by_snapshots(batch, wanted, positions, "evicted")


_UNUSED_WORDS = {
    "unloaded": "lost-at-unload",
    "cursor-reset": "lost-at-reset",
    "switched-off": "lost-at-switching-off",
}


def snapshot_unused(batch: Batch) -> Verdict:
    """8. A usable snapshot of X covers p, but it was lost, not yet read, or no ack used it."""
    rows, positions = _usable_snapshots(batch)
    left = _left_cache(batch)
    cached = {
        row["snapshot"]: row["seq"]
        for row in _of_x(batch, "snapshot.cached", subscription=batch.window.subscription).dicts()
    }
    wanted = []
    for row in rows:
        snapshot = row["snapshot"]
        word, seq = left.get(snapshot, ("", NULL))
        if word in _UNUSED_WORDS:
            wanted.append((row, _UNUSED_WORDS[word], seq))
        elif not word:
            wanted.append(
                (row, "no-ack-after" if snapshot in cached else "not-yet-read", cached.get(snapshot, NULL))
            )
    return _covered_by_snapshots(batch, wanted, positions, "cache")


# --- 10


def after_newest_snapshot(batch: Batch) -> Verdict:
    """10. No earlier cause holds: the cost of the snapshot period.

    It cannot hold when B's cursor covered p both when the consumer connected and at delivery.
    """
    used = _of_x(batch, "snapshot.used", subscription=batch.window.subscription).seq
    completed = _of_x(batch, "snapshot.completed").seq
    newest = used if len(used) else completed
    why = "no-snapshot" if not len(completed) else "none-used" if not len(used) else "newest-used"
    return Verdict(
        ~_impossible(batch),
        why,
        {"newest_snapshot": int(newest[-1]) if len(newest) else NULL, "end": batch.end.seq},
    )


# --- causes of duplicates under acknowledgement-state sync: what X's requests to B contained, and when
#
# Rules: they hold only for synced subscriptions, and then explain every duplicate that lines 0 to 5 do not.
# A request contains the whole state of X's cursor, so it contains whatever the cursor covered when it was
# sent. That state holds until an operator resets or deletes X's cursor and X has sent a request afterwards.
# Docs: docs/counting.md, lines 5a and 5b.


def synchronises(batch: Batch) -> bool:
    """Whether the subscription synchronises its acknowledgements.

    The scenario or a migration of its tenant makes it use acknowledgement-state sync.
    """
    spec = batch.facts.scenario.subscriptions.get(batch.facts.name(batch.window.subscription))
    return (spec is not None and spec.acknowledgement_sync != "none") or batch.facts.migrates_with_sync(
        batch.topic, batch.window.opened_seq
    )


def _where(batch: Batch) -> dict[str, int]:
    return {"topic": batch.topic, "subscription": batch.window.subscription}


def _sent(batch: Batch) -> np.ndarray:
    """The requests of X to B by X's end, since the newest one's cursor was opened or last reset."""
    table = batch.facts.history.table(
        "acknowledgements.sent", cluster=batch.x, peer=batch.window.target, **_where(batch)
    )
    sent = table.upto(batch.end.seq).seq
    if not len(sent):
        return sent
    recreated = batch.cursor_of_x.recreated
    return sent[sent > recreated[recreated < sent[-1]].max(initial=NULL)]


def _requests_of(batch: Batch, sent: np.ndarray) -> np.ndarray:
    """The newest request, and the last one before each time that X's cursor lost acks.

    Together they contain what any request contained.
    """
    ends = np.append(batch.cursor_of_x.forgetting_seqs, NEVER)
    places = np.searchsorted(sent, ends) - 1
    return np.unique(sent[places[places >= 0]])


def sync_in_flight(batch: Batch) -> Verdict:
    """X sent a request with the ack by its end, but it was lost or not applied before the dispatch."""
    if not synchronises(batch) or not len(sent := _sent(batch)):
        return nothing(batch)
    cursor = batch.cursor_of_x
    copy = batch.log_of_x.copy_of(batch.message, batch.acknowledged_position)
    request = np.full(len(batch), NEVER, dtype=np.int64)
    for request_place in _requests_of(batch, sent).tolist():
        taken, _ = cursor.last_registration(copy, request_place)
        taken = np.where(cursor.registered(copy, request_place), taken, NEVER)
        since = np.minimum(taken, cursor.covered_since(batch.acknowledged_position, request_place))
        place = np.minimum(np.searchsorted(sent, since), len(sent) - 1)
        request = np.where(since == NEVER, request, np.minimum(request, sent[place]))
    was_requested = request != NEVER
    words, rows = _fates(batch, sent)
    place = np.minimum(np.searchsorted(sent, request), len(sent) - 1)
    return Verdict(
        was_requested,
        words[place],
        {"request": np.where(was_requested, request, NULL), "whereabouts": rows[place], "end": batch.end.seq},
    )


def _fates(batch: Batch, sent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What had happened to each request by the failover: a word, and the row that shows it.

    The row is NULL for a request without an end in the trace.
    """
    history, opened_seq = batch.facts.history, batch.window.opened_seq
    words = np.full(len(sent), "on-the-wire", dtype=object)
    rows = np.full(len(sent), NULL, dtype=np.int64)
    fates = (
        ("acknowledgements.lost", batch.x, "lost-on-the-wire"),
        ("acknowledgements.applied", batch.window.target, "already-dispatched"),
    )
    for event, cluster, word in fates:
        table = history.table(event, cluster=cluster, **_where(batch))
        known = np.isin(table.evidence_seq, sent)
        places = np.searchsorted(sent, table.evidence_seq[known])
        words[places] = np.where(
            (table.seq[known] > opened_seq) & (event == "acknowledgements.applied"), "on-the-wire", word
        )
        rows[places] = table.seq[known]
    return words, rows


def after_last_sync(batch: Batch) -> Verdict:
    """Otherwise: X's broker registered the ack after its last request, or lost it before it sent one."""
    if not synchronises(batch):
        return nothing(batch)
    sent = _sent(batch)
    if not len(sent):
        return Verdict(
            np.ones(len(batch), dtype=bool), "none-sent", {"newest_request": NULL, "end": batch.end.seq}
        )
    copy = batch.log_of_x.copy_of(batch.message, batch.acknowledged_position)
    taken, _ = batch.cursor_of_x.last_registration(copy, int(sent[-1]))
    why = np.where(taken > batch.acknowledged_seq, "forgotten", "newest-sent").astype(object)
    return Verdict(
        np.ones(len(batch), dtype=bool), why, {"newest_request": int(sent[-1]), "end": batch.end.seq}
    )


# --- the ordered causes of replicated subscriptions, numbered 0 to 10 in `docs/counting.md`


CAUSES: tuple[Cause, ...] = (
    Cause("resent_copy", resent_copy, ("earlier_copy",)),
    Cause("subscription_missing", subscription_missing, ("failover",)),
    Cause("not_replicated", not_replicated, ("end",)),
    Cause("cursor_went_back", cursor_went_back, ("went_back", "covered")),
    Cause("ack_not_registered", ack_not_registered, ("end",)),
    Cause("not_in_target_yet", not_in_target_yet, ("stored",)),
    Cause("ack_hole", ack_hole, ("mark_delete",)),
    Cause("update_in_flight", update_in_flight, ("position", "update")),
    Cause("snapshot_evicted", snapshot_evicted, ("evicted",)),
    Cause("snapshot_unused", snapshot_unused, ("cache", "snapshot")),
    Cause("snapshot_incomplete", snapshot_incomplete, ("attempt",)),
    Cause("after_newest_snapshot", after_newest_snapshot, ("newest_snapshot", "end")),
)

# --- the ordered causes of tenant migration, in one table for its three strategies
#
# The strategies are none, snapshots and acknowledgement-state sync. Rules: a subscription that synchronises
# its acknowledgements has lines 0 to 5, except `not_replicated`, and the two causes of sync. The causes
# about mark-deletes and snapshots (6 to 10) do not apply to it. Every other subscription has the causes of
# replicated subscriptions.


_FOR_ALL = (
    "resent_copy",
    "subscription_missing",
    "cursor_went_back",
    "ack_not_registered",
    "not_in_target_yet",
)


def _without_sync(judge: Callable[[Batch], Verdict]) -> Callable[[Batch], Verdict]:
    return lambda batch: nothing(batch) if synchronises(batch) else judge(batch)


def _table() -> tuple[Cause, ...]:
    lines = [
        cause if cause.name in _FOR_ALL else replace(cause, judge=_without_sync(cause.judge))
        for cause in CAUSES
    ]
    after = 1 + [cause.name for cause in lines].index("not_in_target_yet")
    return (
        *lines[:after],
        Cause("sync_in_flight", sync_in_flight, ("request",)),
        Cause("after_last_sync", after_last_sync, ("newest_request", "end")),
        *lines[after:],
    )


MIGRATION_CAUSES: tuple[Cause, ...] = _table()

CAUSE_TABLES: dict[str, tuple[Cause, ...]] = {
    "replicated-subscriptions": CAUSES,
    # no mechanism of shadow topics moves a subscription: a failover of their source is explained as usual
    "shadow-topics": CAUSES,
    "topic-creation": CAUSES,
    "tenant-migration": MIGRATION_CAUSES,
}
"""The ordered causes of each scenario family."""
