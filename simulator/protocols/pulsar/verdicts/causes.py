"""Why a message was duplicated: ordered tables of causes, and their application to duplicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from simulator.counting.results import CountingError, Duplicate, LazyList
from simulator.protocols.pulsar.verdicts.cursors import Cursor
from simulator.protocols.pulsar.verdicts.facts import End, Facts
from simulator.protocols.pulsar.verdicts.logs import Log
from simulator.protocols.pulsar.verdicts.windows import Judged, Window
from simulator.trace.registry import NULL


@dataclass(frozen=True, slots=True)
class Batch:
    """Duplicates of one window in one topic partition whose latest acknowledgement was in the cluster X.

    `position` and `copy` are the delivered entry's at the target B, `acknowledged_position` is the
    acknowledged entry's at X. `end` is min(failover, crash of X). Where clients follow the LookupService's
    map, it is the unload that disconnected them.
    """

    facts: Facts
    window: Window
    topic: int
    x: int
    end: End
    message: np.ndarray
    position: np.ndarray
    copy: np.ndarray
    delivered_seq: np.ndarray
    client: np.ndarray
    acknowledged_seq: np.ndarray
    acknowledged_position: np.ndarray

    _ROWS = (
        "message",
        "position",
        "copy",
        "delivered_seq",
        "client",
        "acknowledged_seq",
        "acknowledged_position",
    )

    def __len__(self) -> int:
        return len(self.message)

    def take(self, rows: np.ndarray) -> Batch:
        """The same batch with only these duplicates."""
        columns = {name: getattr(self, name)[rows] for name in self._ROWS}
        return Batch(self.facts, self.window, self.topic, self.x, self.end, **columns)

    @property
    def cursor(self) -> Cursor:
        """The subscription's cursor at the target."""
        return self.facts.cursor(self.window.subscription, self.window.target, self.topic)

    @property
    def cursor_of_x(self) -> Cursor:
        return self.facts.cursor(self.window.subscription, self.x, self.topic)

    @property
    def log(self) -> Log:
        """The target's log."""
        return self.facts.log(self.window.target, self.topic)

    @property
    def log_of_x(self) -> Log:
        return self.facts.log(self.x, self.topic)


@dataclass(slots=True)
class Verdict:
    """The duplicates of a batch that one cause explains.

    `holds` is a mask of the batch. `why` is a word for each duplicate or one for all. `evidence` is
    role -> seq (NULL: none), for each or one for all.
    """

    holds: np.ndarray
    why: np.ndarray | str = ""
    evidence: dict[str, np.ndarray | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cause:
    """One line of a table: its name in `by_cause`, and the function that judges a batch."""

    name: str
    judge: Callable[[Batch], Verdict]


CAUSE_TABLES: dict[str, tuple[Cause, ...]] = {}


def register_causes(family: str, causes: tuple[Cause, ...]) -> None:
    """Give a scenario family its ordered causes."""
    if family in CAUSE_TABLES:
        raise ValueError(
            f"the family {family} has its causes already: "
            f"{', '.join(cause.name for cause in CAUSE_TABLES[family])}"
        )
    CAUSE_TABLES[family] = causes


def causes_of(family: str) -> tuple[Cause, ...]:
    """The ordered causes of a scenario family."""
    if family not in CAUSE_TABLES:
        raise CountingError(
            f"the family {family} has registered no causes; known are {', '.join(sorted(CAUSE_TABLES))}", {}
        )
    return CAUSE_TABLES[family]


def explain(facts: Facts, window: Window, judged: Judged) -> tuple[dict[str, int], LazyList]:
    """Find the cause of every duplicate of a window.

    Returns the number of duplicates by cause, with every cause of the table, and the list of duplicates.
    """
    causes = causes_of(facts.scenario.family)
    total = len(judged.duplicates)
    cause_of = np.empty(total, dtype=np.int64)  # every duplicate gets one, or the count stops
    why = np.full(total, "", dtype=object)
    evidence: dict[str, np.ndarray] = {}
    topics, exes = judged.duplicates.topic, judged.acknowledged.cluster[judged.latest_ack]
    for topic, x in product(np.unique(topics).tolist(), np.unique(exes).tolist()):
        rows = np.flatnonzero((topics == topic) & (exes == x))
        _judge_batch(causes, _batch(facts, window, judged, topic, x, rows), rows, cause_of, why, evidence)
    names = [cause.name for cause in causes]
    numbers = np.bincount(cause_of, minlength=len(names)).tolist()
    return dict(zip(names, numbers, strict=True)), _listed(
        facts, judged, [names[cause] for cause in cause_of.tolist()], why, evidence
    )


def _batch(facts: Facts, window: Window, judged: Judged, topic: int, x: int, rows: np.ndarray) -> Batch:
    chosen, acks = judged.duplicates.take(rows), judged.latest_ack[rows]
    return Batch(
        facts,
        window,
        topic,
        x,
        facts.end_in(window, x, topic),
        chosen.message,
        chosen.position,
        facts.log(window.target, topic).copy_of(chosen.message, chosen.position),
        chosen.seq,
        chosen.client,
        judged.acknowledged.seq[acks],
        judged.acknowledged.position[acks],
    )


def _judge_batch(
    causes: tuple[Cause, ...],
    batch: Batch,
    rows: np.ndarray,
    cause_of: np.ndarray,
    why: np.ndarray,
    evidence: dict[str, np.ndarray],
) -> None:
    """Apply the causes in order, each to the duplicates that none before it explains.

    The verdicts are written at `rows` of the window's columns.
    """
    for number, cause in enumerate(causes):
        if not len(rows):
            return
        verdict = cause.judge(batch)
        holds = verdict.holds
        cause_of[rows[holds]] = number
        why[rows[holds]] = verdict.why if isinstance(verdict.why, str) else verdict.why[holds]
        for role, seqs in verdict.evidence.items():
            column = evidence.setdefault(role, np.full(len(cause_of), NULL, dtype=np.int64))
            column[rows[holds]] = seqs[holds] if isinstance(seqs, np.ndarray) else seqs
        rows, batch = rows[~holds], batch.take(~holds)
    if len(rows):
        words = (
            "a duplicate has no cause: the target delivered what its cursor had covered since before the "
            "consumer connected"
        )
        seen = {
            "delivered": int(batch.delivered_seq[0]),
            "acknowledged": int(batch.acknowledged_seq[0]),
            "failover": batch.window.opened_seq,
        }
        raise CountingError(words, seen)


def _listed(
    facts: Facts, judged: Judged, causes: list[str], why: np.ndarray, evidence: dict[str, np.ndarray]
) -> LazyList:
    duplicates, acknowledged = judged.duplicates, judged.acknowledged.take(judged.latest_ack)
    producer, sequence_id = facts.history.identity(duplicates.message)
    columns = {
        "producer": producer,
        "sequence_id": sequence_id,
        "at_us": duplicates.at_us,
        "delivered_seq": duplicates.seq,
        "cluster": duplicates.cluster,
        "acknowledged_seq": acknowledged.seq,
        "acknowledged_at_us": acknowledged.at_us,
        "acknowledged_in": acknowledged.cluster,
        "cause": causes,
        "why": why,
    }
    roles = {"delivered": duplicates.seq, "acknowledged": acknowledged.seq, **evidence}
    return LazyList(
        Duplicate, columns, roles, facts.history.names, ("producer", "cluster", "acknowledged_in")
    )
