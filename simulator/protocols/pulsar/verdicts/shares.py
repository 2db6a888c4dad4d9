"""A run counted in shares of its messages: what must be known before a share is judged.

Rules: every share has all control rows of the run. `survey` reads what one share knows of the whole,
`whole_of` puts the surveys of all shares together, `count_share` judges a share with it, and `summed` adds
up. A run counted as one share needs no survey: its rows are all there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simulator.protocols.pulsar.verdicts.causes import instants_of_logs
from simulator.protocols.pulsar.verdicts.facts import Acks, Facts, Whole, acks_of, ledger_of
from simulator.protocols.pulsar.verdicts.windows import windows_of
from simulator.trace.registry import NULL

Names = tuple[str, ...]


@dataclass(slots=True)
class Survey:
    """What one share of a run's messages knows of the whole; keys as in `Whole`.

    `acks`: positions and rows of the individual acks that a recovery of a cursor may have restored.
    """

    heads: dict[Names, dict[int, int]] = field(default_factory=dict)
    removed: dict[Names, dict[int, int]] = field(default_factory=dict)
    acks: dict[Names, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


def survey(facts: Facts) -> Survey:
    """Read a share of a run that has failovers."""
    found, history = Survey(), facts.history
    for window in windows_of(facts):
        for (cluster, topic), instants in instants_of_logs(facts, window).items():
            asked = sorted(instants)
            last = facts.log(cluster, topic).last_position(np.array(asked, dtype=np.int64)).tolist()
            found.heads.setdefault(history.named(cluster, topic), {}).update(zip(asked, last, strict=True))
    removed = history.table("message.removed")
    for cluster, topic, ledger, seq in zip(
        removed.cluster.tolist(),
        removed.topic.tolist(),
        ledger_of(removed.position).tolist(),
        removed.seq.tolist(),
        strict=True,
    ):
        found.removed.setdefault(history.named(cluster, topic), {}).setdefault(ledger, seq)
    for subscription, cluster, topic in _recovered(facts):
        where = {"cluster": cluster, "topic": topic, "subscription": subscription}
        acks = acks_of(history, facts.log(cluster, topic), where)
        chosen = facts.cursor(subscription, cluster, topic).restorable(acks)
        found.acks[history.named(subscription, cluster, topic)] = acks.position[chosen], acks.seq[chosen]
    return found


def whole_of(control: Facts, surveys: list[Survey]) -> Whole:
    """What all shares together know. `control` has the control rows of the run, and no messages."""
    whole, history = Whole(), control.history
    for one in surveys:
        for log, last in one.heads.items():
            known = whole.heads.setdefault(log, {})
            for at_us, position in last.items():
                known[at_us] = max(position, known.get(at_us, NULL))
        for log, seqs in one.removed.items():
            gone = whole.removed.setdefault(log, {})
            for ledger, seq in seqs.items():
                gone[ledger] = min(seq, gone.get(ledger, seq))
    for cursor in _recovered(control):
        name = history.named(*cursor)
        parts = [one.acks[name] for one in surveys if name in one.acks]
        positions, rows = (np.concatenate([part[column] for part in parts]) for column in (0, 1))
        order = np.argsort(rows)
        acks = Acks(np.zeros(len(rows), dtype=np.int64), positions[order], rows[order])
        whole.limits[name] = control.cursor(*cursor).forget(acks, None)
    return whole


def _recovered(facts: Facts) -> list[tuple[int, int, int]]:
    """Subscription, cluster and topic of each cursor that was recovered after a crash."""
    rows = facts.history.table("cursor.recovered")
    return sorted(
        set(zip(rows.subscription.tolist(), rows.cluster.tolist(), rows.topic.tolist(), strict=True))
    )
