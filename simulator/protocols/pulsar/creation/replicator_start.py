"""A geo-replicator's start check by its admin client: the check, the requested creation, the refusal.

A producer that was created before reconnects by itself, without that check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.hash_ring import full_topic_name
from simulator.protocols.pulsar.creation import auto_creation, catalogue, policies
from simulator.protocols.pulsar.creation.start_check import (
    CREATE,
    CREATED,
    ORDERED,
    PASSED,
    REFUSE,
    REFUSED,
    START,
    Outcome,
    Sides,
    Verdict,
    judge_by_admin,
    judge_by_producer,
    judge_by_reconnection,
)
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator

CONFLICT = "409 This topic already exists"
FOUND, MISSING, DONE = "200", "404", "204"
PASS = Verdict(START)
_OUTCOMES = {START: PASSED, CREATE: ORDERED, REFUSE: REFUSED}


def order(replicator: Replicator, shape: int) -> None:
    """Send the peer a request to create the topic."""
    arrive_us = replicator.runtime.now_us + replicator.link.latency_us(replicator.draw_base)
    replicator.runtime.schedule(
        arrive_us, replicator.rank, replicator.create_remote, (replicator.connection, shape)
    )


def passes_at_once(replicator: Replicator) -> bool:
    """Whether this replicator is connected in a run that begins connected.

    If not, its check is repeated with requests over the link, and its result so far is dropped.
    """
    passed = check(replicator).action == START
    if not passed:
        replicator.checked = None
        replicator.runtime.start_checks.pop(_key(replicator), None)
    return passed


def _key(replicator: Replicator) -> tuple[int, str, str, str]:
    topic = replicator.topic
    return replicator.requested_seq, topic.cluster.name, replicator.peer, topic.name


def _record_outcome(replicator: Replicator, outcome: Outcome, error: str | None) -> None:
    """Keep the outcome in the replicator and in the run, because the replicator may be removed earlier."""
    replicator.checked = outcome
    if replicator.requested_seq != NULL:
        replicator.runtime.start_checks[_key(replicator)] = (outcome, error)


def check(replicator: Replicator) -> Verdict:
    """Run the start check now, and keep its outcome; a reconnection has none."""
    topic, runtime = replicator.topic, replicator.runtime
    remote = runtime.clusters[replicator.peer]
    consistency = runtime.option("topicConsistencyCheck")
    sides = Sides(
        topic.base,
        topic.name,
        topic.partition,
        topic.cluster.shape(topic.base),
        remote.shape(topic.base),
        topic.name in remote.topics,
        remote.name,
        topic.cluster.creates_remotely,
    )
    if replicator.connecting.created:
        full_name = full_topic_name(runtime.scenario.topics[topic.base].namespace, topic.name)
        nowhere = policies.not_here(remote, topic.base)
        allowed = nowhere is None and auto_creation.refusal(remote, topic.base) is None
        return judge_by_reconnection(sides, full_name, nowhere, allowed, consistency)
    by_admin = runtime.option("replicationTopicCreation") != "before"
    verdict = (
        judge_by_admin(sides)
        if by_admin
        else judge_by_producer(sides, auto_creation.refusal(remote, topic.base), consistency)
    )
    local, there = sides.compared
    outcome, code = _OUTCOMES[verdict.action], MISSING if there is None else FOUND
    if outcome == PASSED and replicator.checked is not None and replicator.checked.outcome == ORDERED:
        outcome, code = CREATED, DONE
    _record_outcome(
        replicator,
        Outcome(outcome, code if by_admin else None, local, there),
        verdict.words if outcome == REFUSED else None,
    )
    return verdict


def denied(replicator: Replicator, words: str) -> None:
    """The remote refused to create the topic; `words` begins with the status code."""
    last = replicator.checked
    there = replicator.runtime.clusters[replicator.peer].shape(replicator.topic.base)
    assert last is not None, "an order follows a check"
    _record_outcome(replicator, Outcome(REFUSED, last.code and words.split()[0], last.local, there), words)


def create_remote(replicator: Replicator, connection: int, shape: int) -> None:
    """The request to create reaches the peer; after its response the replicator checks or retries."""
    topic, runtime = replicator.topic, replicator.runtime
    remote = runtime.clusters[replicator.peer]
    if connection != replicator.connection:
        return  # a cut or a crash has closed the connection, and the start is retried
    by_name = shape == 0 and topic.partition >= 0
    there = topic.name in remote.topics if by_name else remote.shape(topic.base) is not None
    nowhere = policies.not_here(remote, topic.base)
    answer, reason = None, "reconnection" if replicator.connecting.created else "replicator"
    if nowhere is not None:
        answer = "not-created", " ".join(nowhere)
    elif there:
        answer = "conflict", CONFLICT
    elif by_name:
        catalogue.create_by_name(
            remote, topic.base, topic.name, reason, replicator.start_seq, topic.cluster.name
        )
    else:
        catalogue.create(remote, topic.base, shape, reason, replicator.start_seq, topic.cluster.name)
    answer_us = runtime.now_us + replicator.back.latency_us(replicator.draw_base)
    runtime.schedule(answer_us, replicator.rank, replicator.creation_answered, (connection, answer))
