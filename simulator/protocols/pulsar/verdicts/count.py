"""Counting a run: from a trace and its scenario to every number of the contract (`docs/counting.md`).

Rules: a pure reader. The trace decides, the scenario only adds what was configured. The forecast shown beside
a failover is not counted here: it is made from the world's state at that instant
(`simulator.protocols.pulsar.verdicts.forecast`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simulator.counting.results import CountedFailover, CountedRun, CountingError
from simulator.protocols.pulsar.verdicts import (  # noqa: F401  each registers its family's causes
    creation_causes,
    migration_causes,
    replicated_causes,
)
from simulator.protocols.pulsar.verdicts.causes import explain
from simulator.protocols.pulsar.verdicts.draining import drained_us, pending_repeats
from simulator.protocols.pulsar.verdicts.facts import Facts
from simulator.protocols.pulsar.verdicts.losses import (
    MessageFacts,
    caught_up_us,
    lost,
    message_facts,
    stranded,
)
from simulator.protocols.pulsar.verdicts.order import dedup_window, keys_by_message, reordered
from simulator.protocols.pulsar.verdicts.read import History
from simulator.protocols.pulsar.verdicts.subscriptions import subscription_counts
from simulator.protocols.pulsar.verdicts.windows import Window, judge, redelivered_list, windows_of

if TYPE_CHECKING:
    from simulator.trace.trace import Trace


def count_run(trace: Trace, scenario: Any, upto_seq: int | None = None) -> CountedRun:
    """Count the rows before `upto_seq` (default: all).

    Raises `CountingError` when the trace contradicts the definitions.
    """
    facts = Facts(History(trace, upto_seq, tuple(scenario.audiences)), scenario)
    windows = windows_of(facts)
    failovers = []
    if windows:
        keys = keys_by_message(facts)
        known: dict[int, MessageFacts] = {}
        for window in windows:
            if window.subscription not in known:
                known[window.subscription] = message_facts(facts, window.subscription)
            failovers.append(_count_failover(facts, window, known[window.subscription], keys))
    subscriptions, partitions = subscription_counts(facts, windows)
    return CountedRun(facts.history.upto_seq, failovers, subscriptions, partitions)


def _count_failover(facts: Facts, window: Window, known: MessageFacts, keys: np.ndarray) -> CountedFailover:
    judged = judge(facts, window)
    by_cause, duplicates = explain(facts, window, judged)
    topics = facts.topics_of(window.subscription)
    losses, lost_list = lost(facts, window, topics, known)
    left, stranded_list = stranded(facts, window, topics, known)
    remembered, span_us = dedup_window(judged)
    counted = CountedFailover(
        subscription=facts.name(window.subscription),
        source=facts.name(window.source),
        target=facts.name(window.target),
        mode=facts.name(window.mode),
        at_us=window.opened_us,
        opened_seq=window.opened_seq,
        closed_seq=window.closed_seq,
        duplicates=len(judged.duplicates),
        extra_deliveries=len(judged.deliveries) - len(judged.first),
        redeliveries=len(judged.redeliveries),
        reordered=reordered(facts, judged, keys),
        by_cause=by_cause,
        dedup_window_messages=remembered,
        dedup_window_us=span_us,
        caught_up_us=caught_up_us(facts, window, topics, known),
        drained_us=drained_us(facts, window, topics),
        pending_repeats=pending_repeats(facts, window, topics, judged),
        duplicates_list=duplicates,
        redelivered_list=redelivered_list(facts, judged),
        lost_list=lost_list,
        stranded_list=stranded_list,
        **losses,
        **left,
    )
    if len(judged.first):
        counted.first_delivery_us = int(judged.first.at_us[0])
        counted.outage_us = counted.first_delivery_us - facts.end_of(window.source, window.opened_seq).at_us
    check_sums(counted)
    return counted


def check_sums(counted: CountedFailover) -> None:
    """Raise `CountingError` unless causes are exclusive and add up."""
    if (
        sum(counted.by_cause.values()) != counted.duplicates
        or sum(counted.lost_by_cause.values()) != counted.lost
    ):
        raise CountingError("the causes of a failover do not add up", {"failover": counted.opened_seq})
