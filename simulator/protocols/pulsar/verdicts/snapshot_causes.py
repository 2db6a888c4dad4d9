"""Causes 7, 8 and 10 of replicated subscriptions: Updates and snapshots of X that could cover p.

Rules: only Updates and completed snapshots by X's end count. Of several that cover p at B, the first that
reaches p is the evidence.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulator.protocols.pulsar.verdicts.causes import Batch, Verdict
from simulator.protocols.pulsar.verdicts.cursor_causes import nothing
from simulator.protocols.pulsar.verdicts.lookup import first_reaching
from simulator.protocols.pulsar.verdicts.read import Table
from simulator.trace.registry import NULL


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
