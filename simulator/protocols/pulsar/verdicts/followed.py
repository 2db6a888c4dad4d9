"""Every message of a failover, followed from publish to its result at the target, for the drawing.

Rules: judgements are the counting's own (`windows.judge`, `causes.explain`, `losses.lost`). Instants are
those of the rows that record a change. "Known" is when the target's broker first had the acknowledgement of
a message: its cursor covered the entry, or it applied a peer's request that reported it. A message is a
forecast duplicate from `forecast_us` to `known_us`; a test compares their number with the engine's forecast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simulator.protocols.pulsar.verdicts.causes import explain
from simulator.protocols.pulsar.verdicts.facts import NEVER, Facts, Table, first_seq
from simulator.protocols.pulsar.verdicts.windows import Window, judge, lost, message_facts

FIRST, REDELIVERED, DUPLICATE = "first", "redelivered", "duplicate"


@dataclass(frozen=True, slots=True)
class Followed:
    """Messages of the failover's topic in the order in which they were first stored.

    Instants are µs, -1 for never.

    `delivery` is what the first delivery at the target in the window was: first, redelivered or duplicate,
    "" without one. `cause` is the cause of a duplicate. `origin` is the cluster that stored the message
    first. `at_source_us` and `at_target_us` are when the source and the target stored it. `forecast_us` is
    when a failover would begin to deliver it as a duplicate: it is acknowledged, the target has it, and a
    cursor there, or a new one, begins before it.
    """

    producer: list[str]
    sequence_id: list[int]
    origin: list[str]
    stored_us: list[int]
    at_source_us: list[int]
    at_target_us: list[int]
    acknowledged_us: list[int]
    known_us: list[int]
    forecast_us: list[int]
    delivered_us: list[int]
    delivery: list[str]
    cause: list[str]
    lost: list[bool]

    def __len__(self) -> int:
        return len(self.producer)


def follow(facts: Facts, window: Window, most: int) -> Followed | None:
    """All messages of the window's topics, or None when there are more than `most`."""
    history, topics = facts.history, facts.topics_of(window.subscription)
    stored = _tables(facts, "message.stored", topics)
    messages, first = np.unique(stored.message, return_index=True)
    if len(messages) > most:
        return None
    order = np.argsort(stored.seq[first], kind="stable")
    messages, first = messages[order], first[order]
    count = history.message_count
    place = np.empty(count, dtype=np.int64)  # filled for these messages only
    place[messages] = np.arange(len(messages))
    judged = judge(facts, window)
    _, duplicates = explain(facts, window, judged)
    delivered, delivery, cause = (
        np.full(len(messages), empty, dtype=kind)
        for empty, kind in ((-1, np.int64), ("", object), ("", object))
    )
    for table, word in (
        (judged.first, FIRST),
        (judged.redeliveries, REDELIVERED),
        (judged.duplicates, DUPLICATE),
    ):
        delivered[place[table.message]], delivery[place[table.message]] = table.at_us, word
    cause[place[judged.duplicates.message]] = [one.cause for one in duplicates]
    _, losses = lost(facts, window, topics, message_facts(facts, window.subscription))
    gone = {(one.producer, one.sequence_id) for one in losses}
    producers, numbers = history.identity(messages)
    named = [
        (facts.name(producer), number)
        for producer, number in zip(producers.tolist(), numbers.tolist(), strict=True)
    ]
    acknowledged = facts.first("message.acknowledged", subscription=window.subscription)[messages]
    at_target = _first_stored(stored, window.target, count)[messages]
    known = _known(facts, window, topics)[messages]
    deliverable = np.maximum(np.maximum(acknowledged, at_target), _opened(facts, window, topics)[messages])
    return Followed(
        [producer for producer, _ in named],
        [number for _, number in named],
        [facts.name(cluster) for cluster in stored.cluster[first].tolist()],
        stored.at_us[first].tolist(),
        _instants(facts, _first_stored(stored, window.source, count)[messages]),
        _instants(facts, at_target),
        _instants(facts, acknowledged),
        _instants(facts, known),
        _instants(facts, np.where(deliverable < known, deliverable, NEVER)),
        delivered.tolist(),
        delivery.tolist(),
        cause.tolist(),
        [name in gone for name in named],
    )


def _tables(facts: Facts, event: str, topics: list[int]) -> Table:
    table = facts.history.table(event)
    return table.take(np.isin(table.topic, topics))


def _first_stored(stored: Table, cluster: int, count: int) -> np.ndarray:
    here = stored.where(cluster=cluster)
    return first_seq(here.message, here.seq, count)


def _instants(facts: Facts, seqs: np.ndarray) -> list[int]:
    at_us = facts.history.at_us
    return [at_us(seq) if seq != NEVER else -1 for seq in seqs.tolist()]


def _opened(facts: Facts, window: Window, topics: list[int]) -> np.ndarray:
    """By message the seq from which a failover would find a cursor before it at the target.

    A subscription with the initial position Earliest needs none: its consumers begin with the oldest message.
    """
    opened = np.zeros(facts.history.message_count, dtype=np.int64)
    if facts.scenario.subscriptions[facts.name(window.subscription)].initial_position == "Earliest":
        return opened
    for topic in topics:
        created = facts.cursor(window.subscription, window.target, topic).created.seq
        opened[facts.log(window.target, topic).message] = created[0] if len(created) else NEVER
    return opened


def _known(facts: Facts, window: Window, topics: list[int]) -> np.ndarray:
    """By message the seq at which the target's broker first had its acknowledgement."""
    known = np.full(facts.history.message_count, NEVER, dtype=np.int64)
    for topic in topics:
        log = facts.log(window.target, topic)
        np.minimum.at(
            known,
            log.message,
            facts.cursor(window.subscription, window.target, topic).first_passed(log.position, log.seq),
        )
        for peer in facts.clusters:
            _hear(facts, window, topic, peer, known)
    return known


def _hear(facts: Facts, window: Window, topic: int, peer: int, known: np.ndarray) -> None:
    """Lower `known` to the rows with which the target applied the peer's requests."""
    where = {"topic": topic, "subscription": window.subscription}
    applied = facts.history.table("acknowledgements.applied", cluster=window.target, peer=peer, **where)
    if not len(applied):
        return
    order = np.argsort(applied.evidence_seq)
    sent, received = applied.evidence_seq[order], applied.seq[order]
    log, cursor = facts.log(peer, topic), facts.cursor(window.subscription, peer, topic)
    registered = facts.history.table("message.registered", cluster=peer, **where)
    taken = np.minimum(
        first_seq(registered.message, registered.seq, len(known))[log.message],
        cursor.first_passed(log.position, log.seq),
    )
    place = np.searchsorted(sent, taken)
    reported = place < len(sent)
    np.minimum.at(known, log.message[reported], received[place[reported]])
