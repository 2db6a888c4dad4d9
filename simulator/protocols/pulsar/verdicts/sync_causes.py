"""Causes of duplicates under acknowledgement-state sync: what X's requests to B contained, and when.

Rules: they hold only for synced subscriptions, and then explain every duplicate that lines 0 to 5 do not. A
request contains the whole state of X's cursor, so it contains whatever the cursor covered when it was sent.
That state holds until an operator resets or deletes X's cursor and X has sent a request afterwards.
Docs: docs/counting.md, lines 5a and 5b.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.verdicts.causes import Batch, Verdict
from simulator.protocols.pulsar.verdicts.cursor_causes import nothing
from simulator.protocols.pulsar.verdicts.read import NEVER
from simulator.trace.registry import NULL


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
