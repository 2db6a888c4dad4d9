"""Runs side by side: one run under every strategy, or a run on real brokers and its simulated twin.

Rules: seed, publishes, faults and moves are the same in all columns. A strategy changes the options of
subscriptions and nothing else (`scenarios/canonical.py`). Page, command line and report use the same
functions, so their figures agree. Each run is a world of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from simulator import recordings
from simulator.protocols.manifest import RunComparison
from simulator.scenarios.canonical import (
    STRATEGIES,
    STRATEGY_NAMES,
    Strategy,
    Variant,
    canonical_text,
    obeyed,
    ordered,
    strategy_named,
    under,
    with_strategy,
)
from simulator.scenarios.model import Scenario
from simulator.scenarios.rule_files import BUILT_IN, loaded_rules
from simulator.scenarios.settings import OPTIONS, RULE
from simulator.trace.registry import NAME_COLUMNS
from simulator.trace.trace import BLOCK_ROWS, Trace
from simulator.world import World

# --- the differences between two runs, of one scenario or of two, from the first differing row
#
# Rules: before its first differing row two traces are equal byte for byte, names included, so columns are
# compared as numbers, and a number is different where it stands for another name. After it, events of the
# control plane are matched by instant and content; what only one run has is listed, in order of time. In
# the logs, the entries of markers are marked that have such an event, and those with a message that the
# other run does not store in that log.


LISTED_MAX = 400
"""Most differing events listed: about 100 KB."""

SEARCHED_MAX = 50_000
"""Most events of each run that are matched after the first difference."""

RANGES_MAX = 2_000
"""Most ranges of marked entries of each run: about 50 KB."""

PLACED = ("marker", "cluster", "topic", "ledger", "entry")
"""Fields of an event of a marker's entry; those of a cursor name positions of other entries."""

STORED = "message.stored"
_STORED_COLUMNS = ("cluster", "topic", "ledger", "entry", "producer", "sequence_id", "batch_index")

_NOT_COMPARED = ("seq", "cause_seq", "evidence_seq")
"""Fields that number rows, which one additional row shifts."""


def first_difference(left: Trace, right: Trace) -> int | None:
    """The seq of the first row in which two traces differ; None when they are equal."""
    shorter, renamed = min(len(left), len(right)), _renamed(left, right)
    for first in range(0, shorter, BLOCK_ROWS):
        last = min(first + BLOCK_ROWS, shorter)
        ours, theirs = left.columns(first, last), right.columns(first, last)
        differing = np.zeros(last - first, dtype=bool)
        for name, values in ours.items():
            differing |= values != theirs[name]
            if name in NAME_COLUMNS:
                differing |= (values >= 0) & renamed[np.maximum(values, 0)]
        if differing.any():
            return first + int(differing.argmax())
    return None if len(left) == len(right) else shorter


def _renamed(left: Trace, right: Trace) -> np.ndarray:
    """Which numbers stand for different names in the two traces."""
    pairs = zip_longest(left.names, right.names)
    return np.array([one != other for one, other in pairs], dtype=bool)


def differences(left: Trace, right: Trace) -> dict[str, Any]:
    """The first differing row, the differing events after it, and the entries that they mark.

    Returns {"first": {"seq", "at_us", "left", "right"} or None for equal runs, "events": [{"at_us", "side",
    "row"}], "more": whether there are more, "entries": {side: {"cluster/topic": [[ledger, first, last]]}}}. A
    side has no row where its run has ended.
    """
    seq = first_difference(left, right)
    if seq is None:
        return {"first": None, "events": [], "more": False, "entries": {"left": {}, "right": {}}}
    rows = {"left": _row(left, seq), "right": _row(right, seq)}
    at_us = min(row["at_us"] for row in rows.values() if row is not None)
    found, more = _events_of_one_side(left, right, seq)
    entries = _entries(left, right, seq, found)
    return {"first": {"seq": seq, "at_us": at_us, **rows}, "events": found, "more": more, "entries": entries}


def _row(trace: Trace, seq: int) -> dict[str, Any] | None:
    return trace.row(seq) if seq < len(trace) else None


def _events_of_one_side(left: Trace, right: Trace, seq: int) -> tuple[list[dict[str, Any]], bool]:
    events, whole = {}, True
    for side, trace in (("left", left), ("right", right)):
        seqs = trace.seqs(seq, control_only=True, limit=SEARCHED_MAX)
        whole = whole and len(seqs) < SEARCHED_MAX
        events[side] = [trace.row(one) for one in seqs]
    found: list[dict[str, Any]] = []
    for side, other in (("left", "right"), ("right", "left")):
        unmatched = Counter(map(_content, events[other]))
        for row in events[side]:
            content = _content(row)
            if unmatched[content]:
                unmatched[content] -= 1
            else:
                found.append({"at_us": row["at_us"], "side": side, "row": row})
    found.sort(key=lambda one: (one["at_us"], one["side"], one["row"]["seq"]))
    return found[:LISTED_MAX], len(found) > LISTED_MAX or not whole


def _content(row: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in row.items() if name not in _NOT_COMPARED)


Entry = tuple[str, int, int]
"""("cluster/topic", ledger, entry)."""

Message = tuple[str, str, int, int]
"""("cluster/topic", producer, sequence id, place in the batch)."""


def _entries(
    left: Trace, right: Trace, seq: int, events: list[dict[str, Any]]
) -> dict[str, dict[str, list[list[int]]]]:
    """By side and log, the ranges of entries with a differing event, or with a message of this run only."""
    stored = {"left": _stored(left, seq), "right": _stored(right, seq)}
    marked = {}
    for side, other in (("left", "right"), ("right", "left")):
        entries = {entry: None for message, entry in stored[side].items() if message not in stored[other]}
        for event in events:
            row = event["row"]
            if event["side"] == side and all(name in row for name in PLACED):
                entries[f"{row['cluster']}/{row['topic']}", row["ledger"], row["entry"]] = None
        marked[side] = _ranges(sorted(entries))
    return marked


def _stored(trace: Trace, seq: int) -> dict[Message, Entry]:
    """The messages that are stored from a row on, with the entry of each."""
    seqs = trace.seqs(seq, types=(STORED,), limit=SEARCHED_MAX)
    if not seqs:
        return {}
    columns = trace.columns(seqs[0], seqs[-1] + 1, names=_STORED_COLUMNS)
    places = np.array(seqs) - seqs[0]
    names, held = trace.names, {}
    for cluster, topic, ledger, entry, producer, number, batch_index in zip(
        *(columns[name][places].tolist() for name in _STORED_COLUMNS), strict=True
    ):
        if cluster < 0:  # not in the log of a cluster
            continue
        log = f"{names[cluster]}/{names[topic]}"
        held[log, names[producer], number, batch_index] = (log, ledger, entry)
    return held


def _ranges(entries: list[Entry]) -> dict[str, list[list[int]]]:
    """Sorted entries as ranges, by log, the first `RANGES_MAX` of them."""
    ranges: dict[str, list[list[int]]] = {}
    count = 0
    for log, ledger, entry in entries:
        last = ranges.get(log, [[-1, -1, -2]])[-1]
        if last[0] == ledger and last[2] == entry - 1:
            last[2] = entry
        elif count < RANGES_MAX:
            count += 1
            ranges.setdefault(log, []).append([ledger, entry, entry])
    return ranges


__all__ = [
    "REAL",
    "SIMULATED",
    "STRATEGIES",
    "STRATEGY_NAMES",
    "Strategy",
    "column",
    "costs",
    "differences",
    "real_and_simulated",
    "result",
    "rule_runs",
    "strategy_named",
    "strategy_runs",
    "under",
]


def strategy_runs(
    scenario: Scenario,
    commands: Sequence[dict[str, Any]] = (),
    seed: int | None = None,
    until_us: int | None = None,
) -> list[Variant]:
    """The inputs of one run for each strategy, in the order of `STRATEGIES`."""
    return [
        Variant(
            strategy.name,
            strategy.title,
            under(scenario, strategy),
            [
                with_strategy(entry["do"], entry, strategy)
                for entry in commands
                if obeyed(entry["do"], strategy)
            ],
            seed=seed,
            until_us=until_us,
        )
        for strategy in STRATEGIES
    ]


REAL, SIMULATED = "real", "simulated"
"""Keys of the two runs of a recording."""


def real_and_simulated(recorded: recordings.RecordedFile) -> list[Variant]:
    """The inputs of a recorded run and of its simulated twin. Raises RecordingError."""
    return [
        Variant(REAL, "Real brokers", recordings.scenario_of(recorded), []),
        Variant(SIMULATED, "Simulated", recordings.simulated_twin(recorded), []),
    ]


def costs(world: World) -> dict[str, int]:
    """The cost of synchronising.

    It counts markers as stored entries and bytes in all logs, and requests and their bytes on the links.
    """
    return _declared(world).costs(world)


def _declared(world: World) -> RunComparison:
    declared = world.protocol.comparison
    if declared is None:
        raise ValueError(f"runs of {world.protocol.name} cannot be compared")
    return declared


def rule_runs(scenario: Scenario) -> list[Variant]:
    """The inputs of one run with the built-in rule, and of one with the rule that is loaded here."""
    found, options = loaded_rules(), scenario.options
    assert found is not None, "the command line has loaded it"
    runs = []
    for value in (BUILT_IN, found.value):
        changed = replace(scenario, options=ordered({**options, RULE: value}, OPTIONS), tour=None, pair={})
        runs.append(Variant(value, value, replace(changed, canonical_text=canonical_text(changed)), []))
    return runs


def result(key: str, world: World, noun: str = "strategy") -> dict[str, Any]:
    """The entry of `comparison[]` of one strategy, or of one rule: figures as in the summary."""
    summary = world.summary()
    kept = ("trace_sha256", *_declared(world).figures, "commands", "violations")
    return {noun: key, **{name: summary[name] for name in kept}, "costs": costs(world)}


def column(variant: Variant, world: World) -> dict[str, Any]:
    """Everything that a page draws of one strategy's finished run.

    That is its `result`, and each failover's messages with what was sent between the clusters meanwhile.
    """
    outcome = result(variant.key, world)
    outcome["followed"] = _declared(world).followed(world)
    outcome["until_us"] = world.now_us
    # with commands given by hand the scenario text is not the whole run
    outcome["text"] = None if variant.commands else variant.scenario.canonical_text
    return outcome
