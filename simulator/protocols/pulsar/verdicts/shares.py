"""A run counted in shares of its messages, by tasks that have one share each.

Rules: every share has all control rows of the run. `survey` reads what one share knows of the whole,
`whole_of` puts the surveys of all shares together, `judged` judges a share with it, and `figures_of` adds up.
A run counted as one share needs no survey: its rows are all there. What is passed on can be pickled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simulator.protocols.pulsar.events import BY_NAME
from simulator.protocols.pulsar.verdicts.causes import MIGRATION_CAUSES, instants_of_logs
from simulator.protocols.pulsar.verdicts.count import (
    SUMMED,
    ShareCounts,
    count_share,
    failover_summary,
    repeats_outside,
    subscription_summary,
    summed,
)
from simulator.protocols.pulsar.verdicts.facts import (
    TYPES,
    Acks,
    Facts,
    History,
    LatestBefore,
    Share,
    Table,
    Whole,
    acks_of,
)
from simulator.protocols.pulsar.verdicts.windows import Judged, Window, judge, windows_of
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.counting import CountedFailover

Names = tuple[str, ...]
COUNTS = SUMMED
"""Figures of a failover that are numbers of messages or deliveries."""
CODES = {name: event.code for name, event in BY_NAME.items()}
"""The code of each event type in a column `type`."""
TYPES_READ = TYPES
COLUMNS_READ = frozenset(
    {"at_us", "reason", "detail", *(field for name in TYPES for field in BY_NAME[name].fields)}
    - {"batch_index", "size_bytes"}
)
"""The types and columns of the rows that counting reads."""
VERDICTS = ("plain", "repeated", "first", "duplicate", "redelivery", "extra")
PLAIN, REPEATED, FIRST, DUPLICATE, REDELIVERY, EXTRA = range(len(VERDICTS))
DECIDING = {cause.name: cause.deciding for cause in MIGRATION_CAUSES}
"""The causes of all families in order, with the evidence that decides about each (`Cause`)."""


@dataclass(slots=True)
class Survey:
    """What one share of a run's messages knows of the whole; keys as in `Whole`.

    `acks`: positions and rows of the individual acks that a recovery of a cursor may have restored.
    """

    heads: dict[Names, dict[int, int]] = field(default_factory=dict)
    acks: dict[Names, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


def survey(facts: Facts) -> Survey:
    """Read a share of a run that has failovers."""
    found, history = Survey(), facts.history
    for window in windows_of(facts):
        for (cluster, topic), instants in instants_of_logs(facts, window).items():
            asked = sorted(instants)
            last = facts.log(cluster, topic).last_position(np.array(asked, dtype=np.int64)).tolist()
            found.heads.setdefault(history.named(cluster, topic), {}).update(zip(asked, last, strict=True))
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
    for cursor in _recovered(control):
        name = history.named(*cursor)
        parts = [one.acks[name] for one in surveys if name in one.acks]
        positions, rows = (np.concatenate([part[column] for part in parts]) for column in (0, 1))
        order = np.argsort(rows)
        acks = Acks(np.zeros(len(rows), dtype=np.int64), positions[order], rows[order])
        whole.limits[name] = control.cursor(*cursor).forget(acks, None)
    return whole


def facts_of(trace: Any, scenario: Any, share: tuple[int, int] = (0, 1), whole: Whole | None = None) -> Facts:
    """What counting knows of a share: its number, and how many there are.

    `trace` has length, names, `number`, `parts`, `at_us` and `row` of a `Trace`, and the rows of the share.
    """
    return Facts(History(trace, None, (), Share(*share), whole), scenario)


class Deliveries(NamedTuple):
    """Deliveries of a share with their verdicts, a value for each in every array; NULL: there is none.

    `verdict` and `cause` are places in VERDICTS and DECIDING, names are numbers of `names`. `ack_…` is the
    latest acknowledgement before, `key` and `origin` (the cluster) are those of the publish.
    """

    names: list[str]
    rows: Table
    producer: np.ndarray
    sequence_id: np.ndarray
    key: np.ndarray
    origin: np.ndarray
    verdict: np.ndarray
    failover_seq: np.ndarray
    ack_seq: np.ndarray
    ack_us: np.ndarray
    ack_cluster: np.ndarray
    cause: np.ndarray
    evidence_seq: np.ndarray


def judged(facts: Facts, every: bool) -> tuple[ShareCounts, Deliveries]:
    """The counts of a share, and its deliveries inside windows and repeats outside, or `every` delivery."""
    counts = count_share(facts)
    found = _deliveries(facts, [(part.window, part.judged, part.counted) for part in counts.failovers], every)
    nothing: dict[str, Any] = dict.fromkeys(
        ("duplicates_list", "redelivered_list", "lost_list", "stranded_list"), ()
    )
    nobody: Any = None
    short = [
        replace(part, judged=nobody, counted=replace(part.counted, **nothing)) for part in counts.failovers
    ]
    return replace(counts, failovers=short), found


def deliveries(facts: Facts) -> Deliveries:
    """All deliveries of a share, without causes."""
    return _deliveries(facts, [(window, judge(facts, window), None) for window in windows_of(facts)], True)


def _deliveries(
    facts: Facts, windows: list[tuple[Window, Judged, CountedFailover | None]], every: bool
) -> Deliveries:
    rows = facts.history.table("message.delivered")
    verdict = np.full(len(rows), PLAIN, np.int64)
    failover, cause, evidence = (np.full(len(rows), NULL, np.int64) for _ in range(3))
    for subscription in np.unique(rows.subscription).tolist():
        for cluster in np.unique(rows.cluster[rows.subscription == subscription]).tolist():
            here = np.flatnonzero((rows.subscription == subscription) & (rows.cluster == cluster))
            again = repeats_outside(facts, [window for window, _, _ in windows], subscription, cluster)
            verdict[here[again]] = REPEATED
    for window, found, counted in windows:
        for table, word in (
            (found.deliveries, EXTRA),
            (found.first, FIRST),
            (found.duplicates, DUPLICATE),
            (found.redeliveries, REDELIVERY),
        ):
            verdict[np.searchsorted(rows.seq, table.seq)] = word
        failover[np.searchsorted(rows.seq, found.deliveries.seq)] = window.opened_seq
        if counted is not None:
            at = np.searchsorted(rows.seq, found.duplicates.seq)
            cause[at], evidence[at] = _explained(counted)
    chosen = np.arange(len(rows)) if every else np.flatnonzero(verdict != PLAIN)
    mine = rows.take(chosen)
    return Deliveries(
        facts.history.names,
        mine,
        *facts.history.identity(mine.message),
        *_published(facts, mine.message),
        verdict[chosen],
        failover[chosen],
        *_acknowledged(facts, mine),
        cause[chosen],
        evidence[chosen],
    )


def _explained(counted: CountedFailover) -> tuple[np.ndarray, np.ndarray]:
    """The place of each duplicate's cause in DECIDING, and the row that decided."""
    listed: Any = counted.duplicates_list
    names = list(DECIDING)
    cause = np.array([names.index(name) for name in listed.columns["cause"]], dtype=np.int64)
    evidence = np.full(len(cause), NULL, np.int64)
    for number, roles in enumerate(DECIDING.values()):
        for role in reversed(roles):
            if role in listed.evidence:
                mine = (cause == number) & (listed.evidence[role] != NULL)
                evidence[mine] = listed.evidence[role][mine]
    return cause, evidence


def _published(facts: Facts, message: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Key and cluster of each message's first publish."""
    rows = facts.history.table("message.published")
    found = []
    for column in (rows.key, rows.cluster):
        first = np.full(facts.history.message_count, NULL, np.int64)
        first[rows.message[::-1]] = column[::-1]
        found.append(first[message])
    return found[0], found[1]


def _acknowledged(facts: Facts, rows: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, instant and cluster of the latest acknowledgement before each delivery, by its subscription."""
    found = [np.full(len(rows), NULL, np.int64) for _ in range(3)]
    for subscription in np.unique(rows.subscription).tolist():
        acks = facts.history.table("message.acknowledged", subscription=subscription)
        mine = np.flatnonzero(rows.subscription == subscription)
        latest = LatestBefore(acks.message, acks.seq).row(rows.message[mine], rows.seq[mine])
        for column, name in zip(found, ("seq", "at_us", "cluster"), strict=True):
            column[mine] = np.append(getattr(acks, name), NULL)[latest]
    return found[0], found[1], found[2]


def figures_of(shares: list[ShareCounts]) -> dict[str, Any]:
    """The figures of a run from the counts of all its shares, under the names of the summary.

    `failovers` have `failover_seq` and `source_ended_us`, and no forecast. `reordered` is 0: it compares the
    messages of all shares.
    """
    counted = summed(shares)
    failovers = []
    for part, one in zip(shares[0].failovers, counted.failovers, strict=True):
        failovers.append(
            {
                "failover_seq": one.opened_seq,
                "source_ended_us": part.source_ended_us,
                **failover_summary(one),
            }
        )
        del failovers[-1]["forecast"]
    subscriptions: dict[str, dict[str, dict[str, Any]]] = {}
    for (name, cluster), total in sorted(counted.subscriptions.items()):
        subscriptions.setdefault(name, {})[cluster] = {**subscription_summary(total), "partitions": {}}
    for (name, cluster, topic), total in sorted(counted.partitions.items()):
        subscriptions[name][cluster]["partitions"][topic] = subscription_summary(total)
    return {"failovers": failovers, "subscriptions": subscriptions}


def _recovered(facts: Facts) -> list[tuple[int, int, int]]:
    """Subscription, cluster and topic of each cursor that was recovered after a crash."""
    rows = facts.history.table("cursor.recovered")
    return sorted(
        set(zip(rows.subscription.tolist(), rows.cluster.tolist(), rows.topic.tolist(), strict=True))
    )
