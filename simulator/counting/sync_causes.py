"""Causes of duplicates under acknowledgement-state sync: what X said to B, and when.

Rules: they hold only for subscriptions that synchronise, and then explain everything that lines 0 to 5 leave. A request
carries the whole state, so one sent after the broker registered an acknowledgement covers it.
"""

from __future__ import annotations

import numpy as np

from simulator.counting.causes import Batch, Verdict
from simulator.counting.cursor_causes import nothing
from simulator.trace.registry import NULL


def synchronises(batch: Batch) -> bool:
    """Whether the scenario gives the subscription acknowledgement-state sync."""
    spec = batch.facts.scenario.subscriptions.get(batch.facts.name(batch.window.subscription))
    return spec is not None and spec.acknowledgement_sync != "none"


def _registered_seq(batch: Batch) -> np.ndarray:
    """The row with which X's cursor took each acknowledgement: the registration, or the step of the mark-delete that covered it."""
    cursor, end = batch.cursor_of_x, batch.end
    copy = batch.log_of_x.copy_of(batch.message, batch.acknowledged_position)
    registered, _ = cursor.last_registration(copy, end.seq)
    return np.where(registered > batch.acknowledged_seq, registered, cursor.covered_since(batch.acknowledged_position, end.seq))


def sync_in_flight(batch: Batch) -> Verdict:
    """A request that says it was sent at X by its end; B had not applied it when the message was dispatched, or it was lost."""
    if not synchronises(batch):
        return nothing(batch)
    facts, window = batch.facts, batch.window
    where = {"topic": batch.topic, "subscription": window.subscription}
    sent = facts.history.table("acknowledgements.sent", cluster=batch.x, peer=window.target, **where).upto(batch.end.seq).seq
    if not len(sent):
        return nothing(batch)
    place = np.searchsorted(sent, _registered_seq(batch))
    said = place < len(sent)
    request = np.where(said, sent[np.minimum(place, len(sent) - 1)], NULL)
    words, rows = _fates(batch, sent)
    why, fate = (values[np.minimum(place, len(sent) - 1)] for values in (words, rows))
    return Verdict(said, why, {"request": request, "whereabouts": fate, "end": batch.end.seq})


def _fates(batch: Batch, sent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What became of each request by the failover: a word, and the row that shows it (NULL: still on its way)."""
    history, opened_seq = batch.facts.history, batch.window.opened_seq
    where = {"topic": batch.topic, "subscription": batch.window.subscription}
    words = np.full(len(sent), "on-the-wire", dtype=object)
    rows = np.full(len(sent), NULL, dtype=np.int64)
    fates = (("acknowledgements.lost", batch.x, "lost-on-the-wire"), ("acknowledgements.applied", batch.window.target, "already-dispatched"))
    for event, cluster, word in fates:
        table = history.table(event, cluster=cluster, **where)
        known = np.isin(table.evidence_seq, sent)
        places = np.searchsorted(sent, table.evidence_seq[known])
        words[places] = np.where((table.seq[known] > opened_seq) & (event == "acknowledgements.applied"), "on-the-wire", word)
        rows[places] = table.seq[known]
    return words, rows


def after_last_sync(batch: Batch) -> Verdict:
    """Otherwise: X's broker took the acknowledgement after the last request it sent."""
    if not synchronises(batch):
        return nothing(batch)
    where = {"topic": batch.topic, "subscription": batch.window.subscription}
    sent = batch.facts.history.table("acknowledgements.sent", cluster=batch.x, peer=batch.window.target, **where).upto(batch.end.seq).seq
    return Verdict(np.ones(len(batch), dtype=bool), "newest-sent" if len(sent) else "none-sent",
                   {"newest_request": int(sent[-1]) if len(sent) else NULL, "end": batch.end.seq})  # fmt: skip
