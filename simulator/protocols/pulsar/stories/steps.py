"""The story of one message as steps: each an instant, its row, and one sentence.

Rules: a pure function of rows. Facts without a row are not in the story. A case names the result for the
message and its evidence from counting (role -> row). Steps are in the order of the rows, so stepping through
them is forward in time. The sentence with the reason is at the row that made the result unavoidable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from simulator.protocols.pulsar.stories.evidence import EVIDENCE_BEATS
from simulator.protocols.pulsar.stories.words import WHY
from simulator.story.step import Row, StoryStep


@dataclass(frozen=True, slots=True)
class Case:
    """One message of one failover.

    `kind` is duplicates, redeliveries, stranded or lost. `x` is the cluster where it was last acknowledged
    ("" without any). `cause` and `why` are as in counting ("" without any). `duplicate_seq` is the judged
    delivery (-1: none). `snapshots` are the names of snapshots by number.
    """

    kind: str
    producer: str
    sequence_id: int
    subscription: str
    source: str
    target: str
    x: str = ""
    cause: str = ""
    why: str = ""
    duplicate_seq: int = -1
    snapshots: Mapping[int, str] = field(default_factory=dict)

    def snapshot(self, row: Row) -> str:
        """The name of a row's snapshot, such as `S3`."""
        return self.snapshots[row["snapshot"]]

    def fill(self, words: str) -> str:
        """A sentence of `words` about this case."""
        return words.format(
            **{"from": self.source}, to=self.target, x=self.x or self.source, subscription=self.subscription
        )


def steps_of(case: Case, rows: Iterable[Row], evidence: Mapping[str, Row]) -> list[StoryStep]:
    """The steps of a case.

    `rows` are the message's own rows in order. `evidence` are the rows that the verdict is based on, with
    "failover" (failover.started) and, when a region had crashed, "end" (its crash).
    """
    own = [row for row in rows if row.get("subscription") in (None, case.subscription)]
    shown = [step for role, row in evidence.items() for step in _shown(case, role, row)]
    shown_seqs = {step.seq for step in shown}
    steps = shown + [step for step in _life(case, own) if step.seq not in shown_seqs]
    steps += _reason(case, own, evidence) + _move(case, evidence) + _duplicate_step(case, own)
    return sorted(steps, key=lambda step: (step.seq, _ORDER.get(step.kind, 1)))


_ORDER = {"end": 0, "why": 2, "failover": 3}
"""The order of steps at one row: the crash, its meaning, then the failover."""


def place(row: Row, ledger: str = "ledger", entry: str = "entry") -> str:
    """A position as Pulsar prints it."""
    return f"{row[ledger]}:{row[entry]}"


def _step(kind: str, row: Row, words: str) -> StoryStep:
    return StoryStep(kind, row["at_us"], row["seq"], words, row)


# --- the message itself


def _life(case: Case, own: list[Row]) -> list[StoryStep]:
    """The steps from its publish to the acknowledgement that should have been sufficient."""
    name = f"{case.producer}/{case.sequence_id}"
    steps = [
        _step("published", row, f"{case.producer} publishes {name} in {row['cluster']}.")
        for row in _first(own, "message.published")
    ]
    known: set[str] = set()
    for row in own:
        mine = row["cluster"] in (case.source, case.target, case.x) or "peer" not in row
        if row["type"] == "message.stored" and mine and row["cluster"] not in known:
            known.add(row["cluster"])
            steps += _stored(own, row)
    if case.kind in ("stranded", "lost"):
        steps += [
            _step("receipted", row, f"{row['cluster']} acknowledges it to the producer {case.producer}.")
            for row in _first(own, "message.receipted")
        ]
    return steps + _handled(case, own)


def _stored(own: list[Row], row: Row) -> list[StoryStep]:
    if "peer" not in row:
        return [_step("stored", row, f"{row['cluster']} stores it in its log at {place(row)}.")]
    left = [
        one
        for one in own
        if one["type"] == "message.replicated"
        and (one["cluster"], one["peer"]) == (row["peer"], row["cluster"])
        and one["seq"] < row["seq"]
    ]
    sent = [_step("sent", left[-1], f"{row['peer']} replicates it to {row['cluster']}.")] if left else []
    return [*sent, _step("replicated", row, f"The copy arrives: {row['cluster']} stores it at {place(row)}.")]


def _handled(case: Case, own: list[Row]) -> list[StoryStep]:
    """The delivery and acknowledgement before the judged delivery, the latest of each."""
    before = [row for row in own if case.duplicate_seq < 0 or row["seq"] < case.duplicate_seq]
    acks = [row for row in before if row["type"] == "message.acknowledged"]
    ack = acks[-1] if acks and case.kind != "lost" else None
    handed = [
        row
        for row in before
        if row["type"] == "message.delivered"
        and (ack is None or (row["cluster"] == ack["cluster"] and row["seq"] < ack["seq"]))
    ]
    steps = (
        [_step("delivered", handed[-1], f"{handed[-1]['cluster']} delivers it to {handed[-1]['client']}.")]
        if handed
        else []
    )
    steps += [
        _step("held", row, f"{row['client']} holds it without acknowledging it.")
        for row in before
        if row["type"] == "message.held" and ack is None
    ]
    if ack is None:
        return steps
    steps.append(_step("acknowledged", ack, f"{ack['client']} acknowledges it."))
    taken = [
        row
        for row in own
        if row["type"] == "message.registered"
        and row["cluster"] == ack["cluster"]
        and row["seq"] > ack["seq"]
    ]
    return steps + [
        _step("registered", row, f"The broker in {row['cluster']} registers the acknowledgement.")
        for row in taken[:1]
    ]


def _duplicate_step(case: Case, own: list[Row]) -> list[StoryStep]:
    end = {
        "duplicates": "again, although it was acknowledged: a duplicate.",
        "redeliveries": "again, a redelivery: it had not been acknowledged.",
    }
    return [
        _step("again", row, f"{row['cluster']} delivers it to {row['client']} {end[case.kind]}")
        for row in own
        if row["seq"] == case.duplicate_seq
    ]


def _first(own: list[Row], event: str) -> list[Row]:
    return next(([row] for row in own if row["type"] == event), [])


# --- evidence of the verdict


def _shown(case: Case, role: str, row: Row) -> list[StoryStep]:
    """The step of a row of evidence, when its role has a sentence for rows of its type."""
    words = EVIDENCE_BEATS.get((role, row["type"]))
    return [] if words is None else [_step(role, row, words(case, row))]


def _reason(case: Case, own: list[Row], evidence: Mapping[str, Row]) -> list[StoryStep]:
    """The reason, at the row that made the result unavoidable, else at X's crash or the failover."""
    row = next((evidence[role] for role in ("lost", "end", "failover") if role in evidence), None)
    if row is None:
        return []
    if case.kind == "redeliveries":
        return [_step("why", row, "It had not been acknowledged by then.")]
    if case.kind == "stranded":
        return [_step("why", evidence.get("failover", row), _why_stranded(case, own, evidence))]
    words = WHY.get((case.cause, case.why))
    return [] if words is None else [_step("why", row, case.fill(words))]


def _why_stranded(case: Case, own: list[Row], evidence: Mapping[str, Row]) -> str:
    moved_seq = evidence["failover"]["seq"]
    left = any(
        row["type"] == "message.replicated" and row["peer"] == case.target and row["seq"] < moved_seq
        for row in own
    )
    where = (
        f"Its copy was in flight to {case.target} and had not arrived"
        if left
        else f"No copy had been sent to {case.target}"
    )
    return (
        f"{where}."
        if "returned" in evidence
        else f"{where}, and none has arrived since: it is missing in {case.target}."
    )


def _move(case: Case, evidence: Mapping[str, Row]) -> list[StoryStep]:
    steps = []
    end, moved = evidence.get("end"), evidence.get("failover")
    if end is not None and end["type"] in ("cluster.crashed", "cluster.lost"):
        steps.append(
            _step(
                "end",
                end,
                f"{end['cluster']} goes down{' permanently' if end['type'] == 'cluster.lost' else ''}.",
            )
        )
    if moved is not None:
        steps.append(
            _step(
                "failover",
                moved,
                f"The consumers of {case.subscription} move from {case.source} to {case.target}.",
            )
        )
    return steps
