"""A geo-replicator's start check by its admin client: the check, the requested creation, the refusal.

A producer that was created before reconnects by itself, without that check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.dispatch import full_topic_name
from simulator.protocols.pulsar.creation import catalogue, policies
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.replication.replicator import Replicator


# --- the replicator's start check: connect, create the topic first, or refuse (PIP-433, #24652)
#
# Rules: pure functions of the state of both clusters. A shape is a number of partitions, 0 for a plain
# topic, None where there is no topic. `judge_by_admin` is PIP-433's check by admin client, as proposed and
# as implemented. `judge_by_producer` is the earlier check by the internal producer of a single partition.
# `judge_by_reconnection` is that of a producer that was created before and has lost its connection.


START, CREATE, REFUSE = "start", "create", "refuse"
PASSED, ORDERED, CREATED, REFUSED = "passed", "ordered", "created", "refused"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a check: `shape` to create, or `reason` and `words` of a refusal.

    A `final` refusal is not followed by a retry.
    """

    action: str
    shape: int = 0
    reason: str = ""
    words: str = ""
    final: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a start check.

    `code` is the response of the remote's admin service, None where it is not queried (before PIP-433). The
    shapes are as below.
    """

    # ordered: the remote was requested to create the topic, without a response yet; created: it did
    outcome: str
    code: str | None
    local: int | None
    remote: int | None


CheckedStart = tuple[Outcome, str | None]
"""The result of a start check, and why the replicator does not start, if so."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The state in both clusters of a replicator of `name` (a partition of `base`, or `base` itself)."""

    base: str
    name: str
    partition: int
    local: int | None
    remote: int | None
    remote_has_name: bool
    peer: str
    creates: bool  # createTopicToRemoteClusterForReplication

    @property
    def compared(self) -> tuple[int | None, int | None]:
        """Both shapes; a log named like a partition, without metadata here, is a plain topic of that name."""
        return (
            (self.local, self.remote) if self.local is not None else (0, 0 if self.remote_has_name else None)
        )


def judge_by_admin(sides: Sides) -> Verdict:
    """The check of PIP-433: both clusters must have the same shape.

    A topic that the remote lacks is created in the local shape, regardless of its policies.
    """
    local, remote = sides.compared
    if remote is None:
        if sides.creates:
            assert local is not None, "the topic that is to be created there exists here"
            return Verdict(CREATE, local)
        topic = f"partitioned topic with {local} partitions" if local else "non-partitioned topic"
        return Verdict(
            REFUSE,
            0,
            "no-remote-topic",
            "Can not start replicator because there is no topic on the remote cluster. "
            f"Please create a {topic} on the remote cluster: {_plain_name(sides)} in {sides.peer}",
        )
    if local != remote:
        return Verdict(
            REFUSE,
            0,
            "different-partitions",
            "Can not start replicator because the partitions between local and remote cluster are"
            f" different. local: {local}, remote: {remote}",
        )
    return Verdict(START)


def _plain_name(sides: Sides) -> str:
    return sides.base if sides.local is not None else sides.name


def judge_by_producer(sides: Sides, may_create: str | None, consistency: bool) -> Verdict:
    """The check before PIP-433: the internal producer requires a topic of the same name.

    Connecting creates it, as for any producer. `may_create` is why the remote's policies forbid that, None
    when they allow it. `consistency` is PIP-414.
    """
    remote = sides.remote
    if sides.partition < 0 and remote:
        return Verdict(
            REFUSE,
            0,
            "remote-partitioned",
            "Can not create the replicator due to the partitions in the remote cluster is not 0,"
            f" but is {remote}",
        )
    if sides.remote_has_name:
        return Verdict(START)
    if sides.partition >= 0 and remote:
        return Verdict(
            REFUSE,
            0,
            "no-such-partition",
            f"Illegal topic partition name {sides.name} with max allowed {remote} partitions",
        )
    if not sides.creates:
        return Verdict(
            REFUSE,
            0,
            "no-remote-topic",
            f"Topic {sides.name} does not exist on the remote cluster {sides.peer}",
        )
    if sides.partition >= 0 and consistency:
        return Verdict(
            REFUSE,
            0,
            "no-partitioned-topic",
            (
                f"Partition {sides.name} is denied: the partitioned topic {sides.base} does not exist on the "
                f"remote cluster {sides.peer}"
            ),
        )
    if may_create is not None:
        return Verdict(REFUSE, 0, "auto-creation-not-allowed", may_create)
    return Verdict(CREATE, 0)


def judge_by_reconnection(
    sides: Sides, topic: str, nowhere: tuple[str, str] | None, may_create: bool, consistency: bool
) -> Verdict:
    """The client's own reconnection, which compares nothing (`ProducerImpl`, `ServerCnx`).

    A missing topic is created as for any producer. `topic` is its full name, `nowhere` why it cannot exist in
    the peer's namespace (status, sentence), `may_create` whether the peer's policies let clients create it. A
    topic that does not exist and may not be created closes the producer for good. `consistency` is PIP-414.
    """
    if sides.remote_has_name:
        return Verdict(START)
    if nowhere is not None and nowhere[0] != "404":
        return Verdict(REFUSE, 0, "not-created", " ".join(nowhere))
    if nowhere is not None or not may_create or (sides.partition >= 0 and sides.remote):
        words = f"Topic not found {topic}" if nowhere is None else nowhere[1]
        return Verdict(REFUSE, 0, "topic-not-found", words, final=True)
    if sides.partition < 0 and sides.remote:
        return Verdict(
            REFUSE,
            0,
            "remote-partitioned",
            f"Found partitioned metadata for non-partitioned topic: {topic}",
        )
    if sides.partition >= 0 and consistency:
        return Verdict(
            REFUSE,
            0,
            "no-partitioned-topic",
            f"Partition metadata not found for the partitioned topic: {topic}",
        )
    return Verdict(CREATE, 0)


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
        allowed = nowhere is None and catalogue.refusal(remote, topic.base) is None
        return judge_by_reconnection(sides, full_name, nowhere, allowed, consistency)
    by_admin = runtime.option("replicationTopicCreation") != "before"
    verdict = (
        judge_by_admin(sides)
        if by_admin
        else judge_by_producer(sides, catalogue.refusal(remote, topic.base), consistency)
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
