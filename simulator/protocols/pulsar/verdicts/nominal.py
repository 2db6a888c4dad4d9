"""Cause 9: a snapshot that would have covered p within its nominal time, and what delayed it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.protocols.pulsar.verdicts.causes import Batch, Verdict
from simulator.protocols.pulsar.verdicts.cursor_causes import nothing
from simulator.protocols.pulsar.verdicts.lookup import first_reaching
from simulator.trace.registry import NULL

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
    """
    if batch.x == batch.window.target:
        return nothing(batch)
    attempts, nominal_us = _attempts(batch)
    if not attempts:
        return nothing(batch)
    starts = np.array([attempt.at_us for attempt in attempts], dtype=np.int64)
    remote = batch.log.last_position(starts + batch.facts.latency_us(batch.x, batch.window.target))
    local = batch.log_of_x.last_position(starts + nominal_us)
    fits = (local <= batch.cursor_of_x.mark_at(batch.end.seq)) & (starts + nominal_us <= batch.end.at_us)
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
