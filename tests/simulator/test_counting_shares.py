"""A run counted in several shares of its messages has the figures of the run counted at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from simulator import World, load_scenario, scenario_names
from simulator.counting import CountedFailover, CountedRun
from simulator.protocols.emqx.verdicts import groups
from simulator.protocols.pulsar.events import BY_NAME
from simulator.protocols.pulsar.verdicts.count import count_run, count_share, summed
from simulator.protocols.pulsar.verdicts.facts import Facts, History, Share
from simulator.protocols.pulsar.verdicts.shares import survey, whole_of
from simulator.trace.trace import Trace
from tests.emqx.group_runs import run as run_groups
from tests.simulator.engine_runs import run as run_text
from tests.simulator.random_scenarios import random_scenario
from tests.simulator.test_acknowledgement_sync import body
from tests.spark_reports.group_worlds import MANY_SHAPES, random_world

MESSAGES = [event.code for name, event in BY_NAME.items() if name.startswith("message.")]
LISTS = ("duplicates_list", "redelivered_list", "lost_list", "stranded_list")
APART = ("reordered", *LISTS)
"""Compared by no share: order is a matter of the messages of all shares."""


class ShareOfTrace:
    """The control rows of a trace, and the rows of some of its messages."""

    def __init__(self, trace: Trace, share: Share | None) -> None:
        self._trace, self._share = trace, share
        self.names, self.number, self.vocabulary = trace.names, trace.number, trace.vocabulary
        self.row = trace.row

    def __len__(self) -> int:
        return len(self._trace)

    def at_us(self, seq: int) -> int:
        row = self._trace.row(seq)
        mine = self._share is None or row.get("sequence_id", 0) % self._share.of == self._share.number
        assert mine or not row["type"].startswith("message."), "a row of another share"
        return self._trace.at_us(seq)

    def parts(self, last: int, names: Sequence[str]) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        for seqs, columns in self._trace.parts(last, list(dict.fromkeys([*names, "sequence_id"]))):
            chosen = ~np.isin(columns["type"], MESSAGES)
            if self._share is not None:
                chosen |= columns["sequence_id"] % self._share.of == self._share.number
            yield seqs[chosen], {name: columns[name][chosen] for name in names}


def counted_in_shares(trace: Trace, scenario: Any, of: int) -> CountedRun:
    def facts(share: Share | None, whole: Any = None) -> Facts:
        rows: Any = ShareOfTrace(trace, share)
        return Facts(History(rows, None, tuple(scenario.audiences), share or Share(), whole), scenario)

    shares = [Share(number, of) for number in range(of)]
    whole = whole_of(facts(None), [survey(facts(share)) for share in shares])
    return summed([count_share(facts(share, whole)) for share in shares])


def figures(counted: CountedFailover) -> dict[str, Any]:
    return {field.name: getattr(counted, field.name) for field in fields(counted) if field.name not in APART}


FEW_ACKS_RESTORED = body(
    "p: {topic: t, cluster: a, start: 1ms, every: 2500us, count: 700}",
    "processing: 500us, hold: {messages: [p/5, p/201, p/330], for: 1h}",
    "once",
    commands=(
        "  - {at: 500ms, do: subscription.sync-acknowledgements, subscription: s, from: a, to: b}\n"
        "  - {at: 1200ms, do: link.slow, link: a -> b, latency: 5s}\n"
        "  - {at: 1550ms, do: client.close, client: c1}\n"
        "  - {at: 1600ms, do: cluster.crash, cluster: a}\n"
        "  - {at: 2s, do: cluster.restart, cluster: a}\n"
        "  - {at: 2500ms, do: subscription.sync-acknowledgements, subscription: s, from: a, to: b}\n"
        "  - {at: 2900ms, do: subscription.fail-over, subscription: s, from: a, to: b, mode: planned}\n"
    ),
    settings=(
        "managedLedgerMaxUnackedRangesToPersist: 200, managedLedgerMaxEntriesPerLedger: 60, "
        "managedLedgerMinLedgerRolloverTimeMinutes: 0"
    ),
)
"""A cursor whose recovery restores only some of its individual acks: which, depends on all messages."""

RUNS = [
    *(name for name in scenario_names() if load_scenario(name).protocol == "pulsar"),
    *(f"random-{seed}" for seed in range(24)),
]


def check(world: World, of: int) -> None:
    at_once = count_run(world.trace, world.scenario)
    in_shares = counted_in_shares(world.trace, world.scenario, of)
    assert list(map(figures, in_shares.failovers)) == list(map(figures, at_once.failovers))
    assert in_shares.subscriptions == at_once.subscriptions
    assert in_shares.partitions == at_once.partitions


@pytest.mark.parametrize("name", RUNS)
def test_shares_add_up(name: str) -> None:
    source = random_scenario(int(name.removeprefix("random-"))) if name.startswith("random-") else name
    world = World.open(source, rows_max=None)
    world.run()
    check(world, 3)


@pytest.mark.parametrize("of", [2, 7])
def test_shares_of_a_run_whose_recovery_restores_few_acks_add_up(of: int) -> None:
    check(run_text(FEW_ACKS_RESTORED, until="8s", family="tenant-migration"), of)


class TopicsOfTrace(ShareOfTrace):
    """The rows of a trace that have no topic, and those of some topics and of their streams."""

    def parts(self, last: int, names: Sequence[str]) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        assert self._share is not None
        published = BY_NAME["message.published"].code
        for seqs, columns in self._trace.parts(last, names):
            topics = [
                None if topic < 0 else self.names[topic] if kind == published else self.names[topic][4:]
                for topic, kind in zip(columns["topic"].tolist(), columns["type"].tolist(), strict=True)
            ]
            shares = [topic and sum(topic.encode()) % self._share.of for topic in topics]
            chosen = np.array([share in (None, self._share.number) for share in shares], dtype=bool)
            yield seqs[chosen], {name: columns[name][chosen] for name in names}


@pytest.mark.parametrize("of", [1, 2, 5])
@pytest.mark.parametrize("seed", [14, 30, None])
def test_shares_of_groups_add_up(seed: int | None, of: int) -> None:
    world = run_groups(MANY_SHAPES, until="50s") if seed is None else random_world(seed)
    at_once = groups.count_groups(world.trace, world.scenario).groups
    rows: list[Any] = [TopicsOfTrace(world.trace, Share(number, of)) for number in range(of)]
    shares = [groups.count_share(one, world.scenario, world.trace.at_us(world.seq - 1)) for one in rows]
    assert len([share for share in shares if share.deliveries]) > 1 or of == 1
    for name, counted in at_once.items():
        in_shares = groups.summed([share.groups[name] for share in shares])
        assert in_shares == replace(counted, duplicates_list=[]), name
    every = [one for share in shares for one in share.deliveries]
    rows_of = {
        "delivered": {one.delivery.seq for one in every},
        "duplicates": {one.delivery.seq for one in every if one.cause is not None},
        "reordered": set().union(*(share.reordered for share in shares)),
    }
    assert len(every) == len(rows_of["delivered"])
    assert {name: len(seqs) for name, seqs in rows_of.items()} == {
        name: sum(getattr(counted, name) for counted in at_once.values()) for name in rows_of
    }
