"""The story of one message as steps: each an instant, the row behind it, and one sentence.

Rules: a pure function of rows. What no row records is not in the story. A case names what became of the
message and rests on the evidence that counting gave (role -> row). Steps are in the order of the rows, so
stepping through them goes forward in time. The sentence with the reason is where the chance was gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simulator.protocols.pulsar.stories.evidence import EVIDENCE_BEATS
from simulator.protocols.pulsar.stories.words import WHY
from simulator.story.step import Beat, Row


@dataclass(frozen=True, slots=True)
class Case:
    """One message of one failover.

    `kind` is duplicates, redeliveries, stranded or lost; `x` where it was last acknowledged ("" when
    nowhere), `cause` and `why` as in counting ("" where there is none), `again_seq` the judged delivery (-1:
    none).
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
    again_seq: int = -1

    def fill(self, words: str) -> str:
        """A sentence of `words` about this case."""
        return words.format(
            **{"from": self.source}, to=self.target, x=self.x or self.source, subscription=self.subscription
        )


def tell(case: Case, rows: Iterable[Row], evidence: Mapping[str, Row]) -> list[Beat]:
    """The beats of a case.

    `rows` are the message's own rows in order, `evidence` the rows that the judgement rests on, with
    "failover" (failover.started) and, when a region had died, "end" (its crash).
    """
    own = [row for row in rows if row.get("subscription") in (None, case.subscription)]
    shown = [beat for role, row in evidence.items() for beat in _shown(case, role, row)]
    told_already = {beat.seq for beat in shown}
    told = shown + [beat for beat in _life(case, own) if beat.seq not in told_already]
    told += _reason(case, own, evidence) + _move(case, evidence) + _again(case, own)
    return sorted(told, key=lambda beat: (beat.seq, _ORDER.get(beat.kind, 1)))


_ORDER = {"end": 0, "why": 2, "failover": 3}
"""Of beats at one row: the end, what it meant, then the move."""


def place(row: Row, ledger: str = "ledger", entry: str = "entry") -> str:
    """A position as Pulsar prints it."""
    return f"{row[ledger]}:{row[entry]}"


def _beat(kind: str, row: Row, words: str) -> Beat:
    return Beat(kind, row["at_us"], row["seq"], words, row)


# --- the message itself


def _life(case: Case, own: list[Row]) -> list[Beat]:
    """From its publish to the acknowledgement that should have been enough."""
    name = f"{case.producer}/{case.sequence_id}"
    told = [
        _beat("published", row, f"{case.producer} publishes {name} in {row['cluster']}.")
        for row in _first(own, "message.published")
    ]
    known: set[str] = set()
    for row in own:
        mine = row["cluster"] in (case.source, case.target, case.x) or "peer" not in row
        if row["type"] == "message.stored" and mine and row["cluster"] not in known:
            known.add(row["cluster"])
            told += _stored(own, row)
    if case.kind in ("stranded", "lost"):
        told += [
            _beat("receipted", row, f"{row['cluster']} acknowledges it to the producer {case.producer}.")
            for row in _first(own, "message.receipted")
        ]
    return told + _handled(case, own)


def _stored(own: list[Row], row: Row) -> list[Beat]:
    if "peer" not in row:
        return [_beat("stored", row, f"{row['cluster']} stores it in its log at {place(row)}.")]
    left = [
        one
        for one in own
        if one["type"] == "message.replicated"
        and (one["cluster"], one["peer"]) == (row["peer"], row["cluster"])
        and one["seq"] < row["seq"]
    ]
    sent = [_beat("sent", left[-1], f"{row['peer']} replicates it to {row['cluster']}.")] if left else []
    return [*sent, _beat("replicated", row, f"The copy arrives: {row['cluster']} stores it at {place(row)}.")]


def _handled(case: Case, own: list[Row]) -> list[Beat]:
    """The delivery and acknowledgement before the judged delivery, the latest of each."""
    before = [row for row in own if case.again_seq < 0 or row["seq"] < case.again_seq]
    acks = [row for row in before if row["type"] == "message.acknowledged"]
    ack = acks[-1] if acks and case.kind != "lost" else None
    handed = [
        row
        for row in before
        if row["type"] == "message.delivered"
        and (ack is None or (row["cluster"] == ack["cluster"] and row["seq"] < ack["seq"]))
    ]
    told = (
        [_beat("delivered", handed[-1], f"{handed[-1]['cluster']} delivers it to {handed[-1]['client']}.")]
        if handed
        else []
    )
    told += [
        _beat("held", row, f"{row['client']} holds it without acknowledging it.")
        for row in before
        if row["type"] == "message.held" and ack is None
    ]
    if ack is None:
        return told
    told.append(_beat("acknowledged", ack, f"{ack['client']} acknowledges it."))
    taken = [
        row
        for row in own
        if row["type"] == "message.registered"
        and row["cluster"] == ack["cluster"]
        and row["seq"] > ack["seq"]
    ]
    return told + [
        _beat("registered", row, f"The broker in {row['cluster']} registers the acknowledgement.")
        for row in taken[:1]
    ]


def _again(case: Case, own: list[Row]) -> list[Beat]:
    end = {
        "duplicates": "again, although it was acknowledged: a duplicate.",
        "redeliveries": "again, a redelivery: it had not been acknowledged.",
    }
    return [
        _beat("again", row, f"{row['cluster']} delivers it to {row['client']} {end[case.kind]}")
        for row in own
        if row["seq"] == case.again_seq
    ]


def _first(own: list[Row], event: str) -> list[Row]:
    return next(([row] for row in own if row["type"] == event), [])


# --- what the judgement rests on


def _shown(case: Case, role: str, row: Row) -> list[Beat]:
    """The beat of a row of evidence, when its role has words for rows of its type."""
    words = EVIDENCE_BEATS.get((role, row["type"]))
    return [] if words is None else [_beat(role, row, words(case, row))]


def _reason(case: Case, own: list[Row], evidence: Mapping[str, Row]) -> list[Beat]:
    """The reason, at the row where the chance was gone, else at X's end, else at the move."""
    row = next((evidence[role] for role in ("lost", "end", "failover") if role in evidence), None)
    if row is None:
        return []
    if case.kind == "redeliveries":
        return [_beat("why", row, "It had not been acknowledged by then.")]
    if case.kind == "stranded":
        return [_beat("why", evidence.get("failover", row), _why_stranded(case, own, evidence))]
    words = WHY.get((case.cause, case.why))
    return [] if words is None else [_beat("why", row, case.fill(words))]


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


def _move(case: Case, evidence: Mapping[str, Row]) -> list[Beat]:
    told = []
    end, moved = evidence.get("end"), evidence.get("failover")
    if end is not None and end["type"] in ("cluster.crashed", "cluster.lost"):
        told.append(
            _beat(
                "end",
                end,
                f"{end['cluster']} goes down{' permanently' if end['type'] == 'cluster.lost' else ''}.",
            )
        )
    if moved is not None:
        told.append(
            _beat(
                "failover",
                moved,
                f"The consumers of {case.subscription} move from {case.source} to {case.target}.",
            )
        )
    return told
