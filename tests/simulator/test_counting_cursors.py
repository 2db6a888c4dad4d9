"""What a cursor covered at any instant, against a plain state machine that reads the same rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.verdicts.facts import ABSENT, NEVER, Cursor, History, Log
from simulator.trace.registry import NULL
from tests.examples import examples
from tests.simulator.trace_builder import TraceBuilder

ENTRIES = 6
STEP = st.one_of(
    st.tuples(st.just("register"), st.integers(0, ENTRIES - 1)),
    st.tuples(st.sampled_from(("move", "reset")), st.integers(-1, ENTRIES - 1)),
    st.tuples(st.sampled_from(("persist", "crash", "delete", "create")), st.just(0)),
)


class Plain:
    """The cursor as a broker keeps it."""

    def __init__(self) -> None:
        self.mark: int | None = None
        self.acks: set[int] = set()
        self.persisted: tuple[int, set[int]] = (-1, set())

    def covered(self) -> set[int]:
        if self.mark is None:
            return set()
        return {entry for entry in range(ENTRIES) if entry <= self.mark} | self.acks


def written(steps: list[tuple[str, int]]) -> tuple[TraceBuilder, list[tuple[int, set[int]]]]:
    """The trace, and after each row the covered entries."""
    world, plain = TraceBuilder(), Plain()
    world.publish(range(ENTRIES), "a")
    states: list[tuple[int, set[int]]] = []
    for what, entry in steps:
        seq = _take(world, plain, what, entry)
        if seq is not None:
            states.append((seq, plain.covered()))
    return world, states


def _take(world: TraceBuilder, plain: Plain, what: str, entry: int) -> int | None:
    if what == "create" and plain.mark is None:
        plain.mark, plain.acks, plain.persisted = -1, set(), (-1, set())
        return world.create("a")
    if plain.mark is None or what == "create":
        return None
    if what == "register":
        plain.acks.add(entry)
        return world.register([entry], "a")
    if what == "move" and entry > plain.mark:
        plain.mark = entry
        return world.move("a", entry)
    if what == "reset":
        plain.mark, plain.acks = entry, set()
        return world.move("a", entry, "reset")
    if what == "delete":
        plain.mark, plain.acks = None, set()
        return world.ours("subscription.deleted", "a")
    if what == "persist":
        plain.persisted = (plain.mark, {ack for ack in plain.acks if ack > plain.mark})
        return world.persist("a", len(plain.persisted[1]))
    if what == "crash":
        plain.mark, plain.acks = plain.persisted[0], set(plain.persisted[1])
        return world.recover("a", plain.mark, len(plain.acks))
    return None


def reading(world: TraceBuilder) -> tuple[History, Log, Cursor]:
    history = History(world.trace)
    cluster, topic, subscription = (history.number(name) for name in ("a", "orders", "billing"))
    log = Log(history, cluster, topic)
    return history, log, Cursor(history, log, subscription, cluster, topic)


@examples(80)
@given(st.lists(STEP, max_size=25))
def test_covers_agrees_with_a_state_machine(steps):
    world, states = written([("create", 0), *steps])
    _, log, cursor = reading(world)
    copies = np.arange(ENTRIES)
    for seq, expected in states:
        covered = cursor.covers(copies, log.position, np.full(ENTRIES, seq))
        assert set(np.flatnonzero(covered).tolist()) == expected, world.trace.row(seq)


@examples(80)
@given(st.lists(STEP, max_size=25))
def test_went_back_exactly_when_covered_before_and_not_now(steps):
    world, states = written([("create", 0), *steps])
    _, log, cursor = reading(world)
    seq, now = states[-1]
    ever = set().union(*(covered for _, covered in states))
    uncovered, _ = cursor.went_back(np.arange(ENTRIES), log.position, np.full(ENTRIES, seq))
    for entry in range(ENTRIES):
        if entry not in now:
            assert (uncovered[entry] != NULL) == (entry in ever)


def test_a_recovery_with_fewer_acks_than_were_held_keeps_the_lowest():
    world = TraceBuilder()
    world.publish(range(5), "a")
    world.create("a")
    world.register([1, 3, 4], "a")
    world.persist("a", 3)
    recovered = world.recover("a", -1, count=2)
    _, log, cursor = reading(world)
    assert np.flatnonzero(cursor.registered(np.arange(5), np.full(5, recovered))).tolist() == [1, 3]


def test_markers_that_the_broker_acknowledged_count_among_the_persisted():
    world = TraceBuilder()
    world.publish([0], "a")
    world.create("a")
    marker = world.append("a")
    world.publish([1], "a")
    world.ours("marker.filtered", "a", marker=1, reason="snapshot", **marker)
    world.register([1], "a")
    world.persist("a", 2)
    recovered = world.recover("a", -1, count=2)
    _, log, cursor = reading(world)
    assert cursor.registered(np.array([1]), np.array([recovered])).tolist() == [True]


def test_an_update_without_its_cursor_row_only_moves_the_mark_delete_forward():
    world = TraceBuilder()
    world.publish(range(5), "a")
    world.create("a")
    world.move("a", 3)
    applied = world.ours("update.applied", "a", peer="b", marker=1, to_ledger=1, to_entry=2)
    later = world.ours("update.applied", "a", peer="b", marker=2, to_ledger=1, to_entry=4)
    _, log, cursor = reading(world)
    assert cursor.mark_at(applied) == log.position[3] and cursor.mark_at(later) == log.position[4]


def test_covered_since_is_the_start_of_the_unbroken_interval():
    world = TraceBuilder()
    world.publish(range(4), "a")
    world.create("a")
    world.move("a", 2)
    world.move("a", 0, "reset")
    again = world.move("a", 1)
    _, log, cursor = reading(world)
    since = cursor.covered_since(log.position, again)
    assert world.trace.row(int(since[0]))["to_entry"] == 2
    assert since[1] == again and since[2] == NEVER


def test_an_unknown_cursor_covers_nothing():
    world = TraceBuilder()
    world.publish([0], "a")
    _, log, cursor = reading(world)
    assert not cursor.exists_at(5) and cursor.mark_at(5) == ABSENT and cursor.step_row(5) == NULL
    assert not cursor.covers(np.array([0]), log.position, np.array([5])).any()
