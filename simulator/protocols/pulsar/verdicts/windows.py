"""The windows of failovers: duplicates, losses, order, and when the backlog was drained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simulator.counting import LOST_CAUSES, LazyList, Loss, Redelivery, Stranding
from simulator.protocols.pulsar.verdicts.facts import (
    NEVER,
    Cursor,
    Facts,
    LatestBefore,
    Log,
    Table,
    count_later_and_smaller,
    first_seq,
    last_seq,
    within_groups_before,
)
from simulator.trace.registry import NULL

# --- the windows of failovers, and which deliveries in them are duplicates or redeliveries
#
# Rules: a window opens with `failover.started` and closes with the next one of the same subscription, or
# where counting stops. Only deliveries at the target between the two rows belong to it. Each message is
# judged once, at its first delivery there. It is a duplicate if the message was acknowledged before, in any
# cluster. It is a redelivery if the message was only delivered before, in any cluster.


@dataclass(frozen=True, slots=True)
class Window:
    """One failover, with names as numbers.

    `closed_seq` is the first row that no longer belongs to it.
    """

    subscription: int
    source: int
    target: int
    mode: int
    opened_seq: int
    opened_us: int
    closed_seq: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The deliveries of one window: all, the first of each message, duplicates and redeliveries.

    `latest_ack` is the row of `acknowledged` that came last before each duplicate, `delivered_before` the seq
    of the delivery that came last before each redelivery.
    """

    deliveries: Table
    first: Table
    duplicates: Table
    redeliveries: Table
    delivered_before: np.ndarray
    acknowledged: Table
    latest_ack: np.ndarray


def windows_of(facts: Facts) -> list[Window]:
    """The failovers of the run in order."""
    started = facts.history.table("failover.started").dicts()
    windows = []
    for place, row in enumerate(started):
        later = [
            other["seq"] for other in started[place + 1 :] if other["subscription"] == row["subscription"]
        ]
        closed_seq = later[0] if later else facts.history.upto_seq
        windows.append(
            Window(
                row["subscription"],
                row["cluster"],
                row["peer"],
                row["reason"],
                row["seq"],
                row["at_us"],
                closed_seq,
            )
        )
    return windows


def judge(facts: Facts, window: Window) -> Judged:
    """Sort the window's deliveries into first deliveries, duplicates and redeliveries."""
    history, subscription = facts.history, window.subscription
    deliveries = history.table("message.delivered", subscription=subscription, cluster=window.target)
    deliveries = deliveries.between(window.opened_seq, window.closed_seq)
    _, first_rows = np.unique(deliveries.message, return_index=True)
    first = deliveries.take(np.sort(first_rows))
    acknowledged = history.table("message.acknowledged", subscription=subscription)
    latest = LatestBefore(acknowledged.message, acknowledged.seq).row(first.message, first.seq)
    delivered = history.table("message.delivered", subscription=subscription)
    before = LatestBefore(delivered.message, delivered.seq).row(first.message, first.seq)
    duplicate = latest >= 0
    again = (before >= 0) & ~duplicate
    return Judged(
        deliveries,
        first,
        first.take(duplicate),
        first.take(again),
        delivered.seq[before[again]],
        acknowledged,
        latest[duplicate],
    )


def redelivered_list(facts: Facts, judged: Judged) -> LazyList:
    """The redeliveries of a window, in the order of their deliveries."""
    rows = judged.redeliveries
    producer, sequence_id = facts.history.identity(rows.message)
    columns = {
        "producer": producer,
        "sequence_id": sequence_id,
        "at_us": rows.at_us,
        "delivered_seq": rows.seq,
    }
    return LazyList(
        Redelivery,
        columns,
        {"delivered": rows.seq, "delivered_before": judged.delivered_before},
        facts.history.names,
        ("producer",),
    )


# --- stranded, lost, expired and skipped messages of a failover, and when the target had caught up
#
# Rules: stranded (not replicated) is judged at the failover, lost at the end of the window. A subscription
# is owed the messages above the position at which a consumer or an operator opened its cursor, in some
# cluster. An Update that opens a cursor owes no messages. Of the copies in the target the one removed last
# decides the cause of a loss. A message that the client dropped at the target, because of its last
# cumulative ack in another cluster, is lost from the first drop on, unless it was delivered there after the
# last one. The row that closes a window is the next failover's: it stores and removes nothing, so it does
# not matter whether a comparison includes it.


_BEGAN_AFTER, _MOVED_PAST, _NEVER_REPLICATED, _REMOVED, _DROPPED, _EVICTED = range(len(LOST_CAUSES))


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """By message number the seq of the first row of each kind, for one subscription, in any cluster.

    NEVER for none. `last_delivered` is the seq of the last delivery, -1 for none.
    """

    receipted: np.ndarray
    acknowledged: np.ndarray
    delivered: np.ndarray
    last_delivered: np.ndarray
    expired: np.ndarray
    skipped: np.ndarray
    evicted: np.ndarray


def message_facts(facts: Facts, subscription: int) -> MessageFacts:
    """What happened first to each message, for one subscription."""
    of = {
        event: facts.first(f"message.{event}", subscription=subscription)
        for event in ("acknowledged", "delivered", "expired", "skipped", "evicted")
    }
    delivered = facts.history.table("message.delivered", subscription=subscription)
    last = last_seq(delivered.message, delivered.seq, facts.history.message_count)
    return MessageFacts(
        facts.receipted_seq,
        of["acknowledged"],
        of["delivered"],
        last,
        of["expired"],
        of["skipped"],
        of["evicted"],
    )


@dataclass(frozen=True, slots=True)
class Going:
    """When and why each message of a topic could no longer be delivered at the target.

    `seq` is the row since which it could not (NEVER: it can), `stored` the row that stored its copy.
    """

    message: np.ndarray
    seq: np.ndarray
    cause: np.ndarray
    why: np.ndarray
    stored: np.ndarray


def stranded(
    facts: Facts, window: Window, topics: list[int], known: MessageFacts
) -> tuple[dict[str, Any], LazyList]:
    """Numbers and list of the messages that were not replicated at the failover.

    They were acknowledged to the producer and in the source's log, but not in the target's.
    """
    opened_seq, count = window.opened_seq, facts.history.message_count
    stored, returned = np.full(count, NEVER, dtype=np.int64), np.full(count, NULL, dtype=np.int64)
    for topic in topics:
        source, target = facts.log(window.source, topic), facts.log(window.target, topic)
        here = (source.seq <= opened_seq) & (source.gone_seq >= facts.end_of(window.source, opened_seq).seq)
        left = np.setdiff1d(source.message[here], target.message[target.seq <= opened_seq])
        first = first_seq(source.message, source.seq, count)
        stored[left] = first[left]
        back = first_seq(target.message, target.seq, count)[left]
        returned[left] = np.where(back == NEVER, NULL, back)
    message = np.flatnonzero((stored != NEVER) & (known.receipted <= opened_seq))
    unprocessed = known.acknowledged[message] > opened_seq
    numbers = {
        "stranded": len(message),
        "stranded_unprocessed": int(unprocessed.sum()),
        "stranded_returned": int((returned[message] != NULL).sum()),
        "stranded_missing": int((unprocessed & (returned[message] == NULL)).sum()),
    }
    producer, sequence_id = facts.history.identity(message)
    evidence = {
        "receipted": known.receipted[message],
        "stored": stored[message],
        "returned": returned[message],
    }
    columns = {"producer": producer, "sequence_id": sequence_id, "unprocessed": unprocessed}
    return numbers, LazyList(Stranding, columns, evidence, facts.history.names, ("producer",))


def going(facts: Facts, window: Window, topic: int) -> Going:
    """When the last copy of each message became undeliverable at the target.

    The messages are those that the target stored before the window closed.
    """
    log, closed = facts.log(window.target, topic), window.closed_seq
    cursor = facts.cursor(window.subscription, window.target, topic)
    rows = np.flatnonzero(log.seq < closed)
    covered = cursor.covered_since(log.position[rows], closed)
    removed = np.where(log.gone_seq[rows] < closed, log.gone_seq[rows], NEVER)
    gone = np.minimum(covered, removed)
    order = np.lexsort((gone, log.message[rows]))
    messages = log.message[rows][order]
    chosen = order[np.flatnonzero(np.diff(messages, append=NULL))]  # the last copy of each message
    began = np.isin(gone[chosen], cursor.created.seq)
    cause = np.where(removed[chosen] <= covered[chosen], _REMOVED, np.where(began, _BEGAN_AFTER, _MOVED_PAST))
    message, since = log.message[rows][chosen], gone[chosen]
    dropped = dropped_since(facts, window, topic)[message]
    cause = np.where(dropped < since, _DROPPED, cause)
    why = np.array(
        ["cursor-opened-later", "mark-delete-passed-it", "", "ledger-deleted", "ack-of-another-cluster"],
        dtype=object,
    )[cause]
    why[(since == log.lost_seq) & (cause == _REMOVED)] = "cluster-lost"
    why[_not_replicated_from_update(facts, window, topic, message, since) & (cause == _MOVED_PAST)] = (
        "not-in-source"
    )
    return Going(message, np.minimum(since, dropped), cause, why, log.seq[rows][chosen])


def dropped_since(facts: Facts, window: Window, topic: int) -> np.ndarray:
    """By message the first row by which the client dropped it at the target, before the window closes.

    NEVER without one, and for messages that were delivered there after the last such row. Only drops for an
    ack in another cluster count: in one cluster that ack covered the message.
    """
    at_target = {"subscription": window.subscription, "cluster": window.target, "topic": topic}
    count = facts.history.message_count
    rows = facts.history.table("message.dropped", **at_target).upto(window.closed_seq)
    rows = rows.take(rows.peer != window.target)
    if not len(rows):
        return np.full(count, NEVER, dtype=np.int64)
    delivered = facts.history.table("message.delivered", **at_target).upto(window.closed_seq)
    again = last_seq(delivered.message, delivered.seq, count) > last_seq(rows.message, rows.seq, count)
    return np.where(again, NEVER, first_seq(rows.message, rows.seq, count))


def _not_replicated_from_update(
    facts: Facts, window: Window, topic: int, message: np.ndarray, gone: np.ndarray
) -> np.ndarray:
    """Mask of messages that an Update passed although its writer had not stored them.

    An Update contains a position, not messages.
    """
    applied = facts.history.table(
        "update.applied", subscription=window.subscription, cluster=window.target, topic=topic
    )
    mask = np.zeros(len(message), dtype=bool)
    for writer in np.unique(applied.peer).tolist():
        log = facts.log(writer, topic)
        stored = first_seq(log.message, log.seq, facts.history.message_count)
        mask |= np.isin(gone, applied.seq[applied.peer == writer]) & (stored[message] > gone)
    return mask


def owed(facts: Facts, window: Window, topic: int) -> np.ndarray:
    """Mask by message of the topic: stored in some cluster after a consumer or operator opened the cursor."""
    stored = facts.history.table("message.stored", topic=topic)
    mask = np.zeros(facts.history.message_count, dtype=bool)
    # opened by an Update of another cluster
    from_elsewhere = [
        facts.history.number(reason) for reason in ("update", "acknowledgement-sync", "migration")
    ]
    for cluster in facts.clusters:
        created = facts.cursor(window.subscription, cluster, topic).created.upto(window.closed_seq)
        opened = created.position[~np.isin(created.reason, from_elsewhere)]
        if len(opened):
            log = facts.log(cluster, topic)
            below = log.position <= opened.min()
            promised = np.zeros_like(mask)
            promised[stored.message] = True
            promised[log.message[below]] = False
            promised[log.message[~below]] = True
            mask |= promised
    return mask


def absent(facts: Facts, window: Window, topic: int, message: np.ndarray) -> Going:
    """For messages that the target never stored: since when no replication cursor will send them.

    NEVER when one will.
    """
    seq = np.full(len(message), NEVER, dtype=np.int64)
    why = np.full(len(message), "", dtype=object)
    stored = np.full(len(message), NULL, dtype=np.int64)
    for cluster in facts.clusters:
        log = facts.log(cluster, topic)
        which, copies = log.copies(message)
        native = log.native[copies] & (log.seq[copies] < window.closed_seq)
        which, copies = which[native], copies[native]
        if not len(copies):
            continue
        # Copies are in the order of positions: the last assignment is the newest copy, which is sent last.
        passed, word = _passed_over(facts, window, topic, cluster, message[which], copies)
        seq[which], why[which], stored[which] = passed, word, log.seq[copies]
    return Going(message, seq, np.full(len(message), _NEVER_REPLICATED), why, stored)


def _passed_over(
    facts: Facts, window: Window, topic: int, origin: int, message: np.ndarray, copies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Since which row the origin's replication cursor to the target will not send its copies, and why.

    NEVER and "" for a copy that it will send.
    """
    history, log, closed = facts.history, facts.log(origin, topic), window.closed_seq
    seq, why = np.full(len(copies), NEVER, dtype=np.int64), np.full(len(copies), "", dtype=object)

    def note(mask: np.ndarray, rows: np.ndarray | int, word: str) -> None:
        fresh = mask & (seq == NEVER)
        seq[fresh], why[fresh] = rows[fresh] if isinstance(rows, np.ndarray) else rows, word

    everywhere = np.ones(len(copies), dtype=bool)
    for cluster in (origin, window.target):
        lost = history.table("cluster.lost", cluster=cluster).upto(closed).seq
        if len(lost):
            note(everywhere, int(lost[0]), "cluster-lost")
    exists, row = facts.replicator_at(origin, window.target, topic, closed)
    if row is None:
        note(everywhere, NULL, "not-replicated-there")
    elif not exists:
        note(everywhere, row["seq"], "replication-removed")
    else:
        note(log.position[copies] <= row["position"], row["seq"], "replication-began-after")
    where = {"topic": topic}
    for event, word, place in (
        ("message.not-replicated", "passed-over", {"cluster": origin, "peer": window.target}),
        ("message.deduplicated", "deduplicated", {"cluster": window.target, "peer": origin}),
    ):
        rows = facts.first(event, **where, **place)[message]
        note(rows < closed, rows, word)
    gone = log.gone_seq[copies]
    note(gone < closed, gone, "removed-at-origin")
    return seq, why


def lost(
    facts: Facts, window: Window, topics: list[int], known: MessageFacts
) -> tuple[dict[str, Any], LazyList]:
    """Numbers of lost, expired and skipped messages of a window, and the list of the lost."""
    parts: list[Going] = []
    settled = {"expired": 0, "skipped": 0}
    closed = window.closed_seq
    for topic in topics:
        present = going(facts, window, topic)
        open_ = owed(facts, window, topic) & (known.receipted < closed) & (known.acknowledged >= closed)
        here = np.zeros(len(open_), dtype=bool)
        here[present.message] = True
        elsewhere = absent(facts, window, topic, np.flatnonzero(open_ & ~here))
        _name_evicted(present, elsewhere, _evicted_before_sent(facts, window, topic), known.evicted, closed)
        for part in (present, elsewhere):
            gone = open_[part.message] & (part.seq != NEVER)
            expired = gone & (known.expired[part.message] < closed)
            skipped = gone & ~expired & (known.skipped[part.message] < closed)
            settled["expired"] += int(expired.sum())
            settled["skipped"] += int(skipped.sum())
            rows = gone & ~expired & ~skipped
            parts.append(
                Going(part.message[rows], part.seq[rows], part.cause[rows], part.why[rows], part.stored[rows])
            )
    return _summed(facts, window, parts, known, settled)


def _evicted_before_sent(facts: Facts, window: Window, topic: int) -> np.ndarray:
    """By message the row by which a backlog quota moved a replication cursor to the target past it."""
    reason = facts.history.number("backlog-quota")
    return facts.first("message.not-replicated", topic=topic, peer=window.target, reason=reason)


def _name_evicted(
    present: Going, elsewhere: Going, unsent: np.ndarray, evicted: np.ndarray, closed: int
) -> None:
    """Give the losses that a backlog quota caused their own cause.

    In the target's log: the mark-delete passed it there, and the quota had moved the subscription's cursor
    past it in some cluster. Not in it: the quota had moved a replication cursor to the target past it.
    """
    passed = (present.cause == _MOVED_PAST) & (evicted[present.message] < closed)
    present.cause[passed], present.why[passed] = _EVICTED, "subscription-evicted"
    never_sent = unsent[elsewhere.message] < closed
    elsewhere.cause[never_sent], elsewhere.why[never_sent] = _EVICTED, "replication-evicted"


def _summed(
    facts: Facts, window: Window, parts: list[Going], known: MessageFacts, settled: dict[str, int]
) -> tuple[dict, LazyList]:
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        if parts
        else np.empty(0, dtype=np.int64)
        for name in ("message", "seq", "cause", "why", "stored")
    }
    order = np.argsort(columns["message"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    message = columns["message"].astype(np.int64)
    causes = np.bincount(columns["cause"].astype(np.int64), minlength=len(LOST_CAUSES)).tolist()
    recovered = known.last_delivered[message] >= window.closed_seq
    producer, sequence_id = facts.history.identity(message)
    listed = LazyList(
        Loss,
        {
            "producer": producer,
            "sequence_id": sequence_id,
            "cause": [LOST_CAUSES[cause] for cause in columns["cause"].tolist()],
            "why": columns["why"],
            "delivered_before": known.delivered[message] < window.closed_seq,
            "recovered": recovered,
        },
        {"receipted": known.receipted[message], "stored": columns["stored"], "lost": columns["seq"]},
        facts.history.names,
        ("producer",),
    )
    numbers = {
        "lost": len(message),
        "lost_recovered": int(recovered.sum()),
        "lost_by_cause": dict(zip(LOST_CAUSES, causes, strict=True)),
    }
    return numbers | settled, listed


def caught_up(facts: Facts, window: Window, topics: list[int], known: MessageFacts) -> tuple[int, int]:
    """The first row, and its instant, by which no message of the failover needed a delivery any more.

    Each message in the target's log at the failover was acknowledged, expired or skipped by then, or could
    not be delivered any more. A row after the window: that did not happen in it.
    """
    latest = window.opened_seq
    for topic in topics:
        log = facts.log(window.target, topic)
        held = np.unique(log.message[log.held(window.opened_seq)])
        gone = going(facts, window, topic)
        away = np.full(facts.history.message_count, NEVER, dtype=np.int64)
        away[gone.message] = gone.seq
        resolved = np.minimum.reduce([away, known.acknowledged, known.expired, known.skipped])[held]
        if len(resolved):
            latest = max(latest, int(resolved.max()))
    return latest, facts.history.at_us(latest) if latest < window.closed_seq else NEVER


# --- when the backlog of a failover is drained: the target's cursor covers its log as of the failover
#
# Rules: from the rows. It is the first instant at which all copies are covered together, so a later reset
# undoes nothing. Between two rows with which the cursor loses acks or goes back, coverage only grows. A
# copy that is removed while it is not covered never will be. `pulsar.draining` keeps the same figure live.


Interval = tuple[int, int]
"""Rows (first, end): everything is covered from `first` on until before `end`."""


def covered(facts: Facts, window: Window, topics: list[int]) -> list[Interval]:
    """Where in the window the target's cursor covers all copies in its log at the failover.

    It covers them in every topic. At the first of these rows the backlog of the failover is drained.
    """
    together: list[Interval] = [(window.opened_seq, window.closed_seq)]
    for topic in topics:
        log, cursor = facts.log(window.target, topic), facts.cursor(window.subscription, window.target, topic)
        together = overlaps(together, _covered_intervals(log, cursor, window))
    return together


def pending_repeats(facts: Facts, window: Window, topics: list[int], judged: Judged) -> int | None:
    """How many messages the target may still deliver again when counting stops.

    Each was delivered or acknowledged in any cluster, so that it will be a duplicate or a redelivery. A copy
    is in the target's log, and the cursor does not cover it. It was not delivered in the window, and no
    client dropped it. While there are any, the failover's numbers may rise. None when the next failover ended
    the window: its numbers are final.
    """
    if window.closed_seq < facts.history.upto_seq:
        return None
    delivered = facts.history.table("message.delivered", subscription=window.subscription).message
    known = np.union1d(delivered, judged.acknowledged.message)
    total = 0
    for topic in topics:
        log, cursor = facts.log(window.target, topic), facts.cursor(window.subscription, window.target, topic)
        copies = np.flatnonzero(log.held(window.closed_seq))
        copies = copies[~cursor.covers(copies, log.position[copies], window.closed_seq)]
        waiting = np.setdiff1d(np.intersect1d(log.message[copies], known), judged.first.message)
        total += int((dropped_since(facts, window, topic)[waiting] == NEVER).sum())
    return total


def overlaps(one: list[Interval], other: list[Interval]) -> list[Interval]:
    """Where the intervals of both lists overlap, in order."""
    met = ((max(a[0], b[0]), min(a[1], b[1])) for a in one for b in other)
    return sorted(interval for interval in met if interval[0] < interval[1])


def _covered_intervals(log: Log, cursor: Cursor, window: Window) -> list[Interval]:
    """Intervals of the window in which the cursor covers all copies that the log held at the failover."""
    copies = np.flatnonzero(log.held(window.opened_seq))
    if not len(copies):
        return [(window.opened_seq, window.closed_seq)]
    found = []
    for start, end in _stretches(cursor, window):
        since = _covered_since(log, cursor, copies, start, end)
        gone = log.gone_seq[copies]
        if (gone < np.minimum(since, end)).any():
            break
        if (latest := int(since.max(initial=start))) < end:
            found.append((latest, end))
        copies = copies[gone >= end]  # a copy that was covered when it was removed counts as covered
    return found


def _stretches(cursor: Cursor, window: Window) -> list[Interval]:
    """The window cut at each row with which the cursor loses acknowledgements or goes back."""
    cuts = np.unique(np.concatenate((cursor.forgetting_seqs, cursor.backward_seqs)))
    cuts = cuts[(cuts > window.opened_seq) & (cuts < window.closed_seq)].tolist()
    return list(zip([window.opened_seq, *cuts], [*cuts, window.closed_seq], strict=True))


def _covered_since(log: Log, cursor: Cursor, copies: np.ndarray, start: int, end: int) -> np.ndarray:
    """The row since which the cursor covers each copy, from `start` on.

    NEVER when it does not before `end`.
    """
    position = log.position[copies]
    since = np.minimum(
        cursor.passed_between(position, start, end), cursor.registered_between(copies, start, end)
    )
    return np.where(cursor.covers(copies, position, start), start, since)


# --- deliveries out of order in a window, and how many ids a consumer must remember to deduplicate
#
# Rules: order is the producer's own, within one key, or within the producer when its messages have none.
# Only the window's deliveries at the target are compared with each other. The consumer of the dedup window
# remembers an id whenever it acknowledges it, in any cluster. A repeated acknowledgement makes the id
# recent again.


def keys_by_message(facts: Facts) -> np.ndarray:
    """By message its key number; NULL for none."""
    published = facts.history.table("message.published")
    keys = np.full(facts.history.message_count, NULL, dtype=np.int64)
    keys[published.message] = published.key
    return keys


def reordered(facts: Facts, judged: Judged, keys: np.ndarray) -> int:
    """Deliveries older, in their producer's order, than an earlier delivery of the same key in the window."""
    message = judged.deliveries.message
    if not len(message):
        return 0
    producer, sequence_id = facts.history.identity(message)
    _, key_rank = np.unique(keys[message], return_inverse=True)
    group = producer * (int(key_rank.max()) + 1) + key_rank
    return int((within_groups_before(group, sequence_id) > sequence_id).sum())


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the ids that a consumer must remember follow from.

    `acks`: rows that acknowledged a message of the subscription. `early`, `late`: of each ack that was
    repeated its row, and that of the next ack of the same message. `first`, `last`: the rows of each
    duplicate's latest ack and of its delivery. `span_us`: the longest time between them.
    """

    acks: np.ndarray
    early: np.ndarray
    late: np.ndarray
    first: np.ndarray
    last: np.ndarray
    span_us: int


def remembered(judged: Judged) -> Remembered:
    """The rows of a window's duplicates, and of the acks of their subscription."""
    acks, duplicates = judged.acknowledged, judged.duplicates
    spans = duplicates.at_us - acks.at_us[judged.latest_ack]
    repeated_at = _next_seq(acks.message, acks.seq)
    repeats = np.flatnonzero(repeated_at != NEVER)
    return Remembered(
        acks.seq,
        acks.seq[repeats],
        repeated_at[repeats],
        acks.seq[judged.latest_ack],
        duplicates.seq,
        int(spans.max(initial=0)),
    )


def dedup_window(of: Remembered) -> tuple[int, int]:
    """The fewest recent ids, and the shortest time, that a consumer must remember.

    Both are just enough to contain the last acknowledgement of every duplicate. 0 and 0 without duplicates.
    """
    if not len(of.first):
        return 0, 0
    # Distinct ids among the acks from the duplicate's own to its delivery: acks in between, less those
    # repeated in between.
    acks = np.searchsorted(of.acks, of.last) - np.searchsorted(of.acks, of.first)
    again = count_later_and_smaller(of.late, np.searchsorted(of.early, of.first), of.last)
    return int((acks - again).max()), of.span_us


def _next_seq(message: np.ndarray, seq: np.ndarray) -> np.ndarray:
    """For each ack the seq of the next ack of the same message; NEVER for the last."""
    order = LatestBefore(message, seq).order
    following = np.full(len(message), NEVER, dtype=np.int64)
    same = message[order][1:] == message[order][:-1]
    following[order[:-1][same]] = seq[order[1:][same]]
    return following
