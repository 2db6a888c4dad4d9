"""Cursors against a naive model made of a set, under any sequence of operations.

Captures and pickles do not change afterwards.
"""

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.log.cursors import Cursor
from simulator.log.ledgers import TopicLog

LEDGERS = ((1, 7), (2, 1), (5, 20), (6, 12))
LENGTH = sum(entries for _, entries in LEDGERS)
BATCH = 3

indices = st.integers(0, LENGTH - 1)
acts = st.one_of(
    st.tuples(st.just("acknowledge"), indices),
    st.tuples(st.just("acknowledge"), indices),
    st.tuples(st.just("mark_delete_to"), indices),
    st.tuples(st.just("acknowledge_batch"), indices, st.integers(0, BATCH - 1)),
    st.tuples(st.just("acknowledge_batch_to"), indices, st.integers(0, BATCH - 1)),
    st.tuples(st.just("reset"), st.integers(-1, LENGTH - 1)),
    st.tuples(st.just("persist")),
    st.tuples(st.just("recover")),
)


def make_log():
    log = TopicLog()
    for ledger_id, entries in LEDGERS:
        log.open_ledger(ledger_id, 0)
        for _ in range(entries):
            log.append(log.length, 1, 0)
    return log


LOG = make_log()


def entries_of(runs):
    """Entries of runs (first, length), in their order."""
    return [index for first, length in runs for index in range(first, min(first + length, LENGTH))]


class Model:
    """Computes the same with a set of acknowledged (index, batch index), in the simplest way."""

    def __init__(self):
        self.done = set()
        self.below = -1  # everything up to here counts as acknowledged whatever the set contains
        self.saved = (set(), -1)
        self.dirty = False

    def whole(self, index):
        return index <= self.below or all((index, batch) in self.done for batch in range(BATCH))

    @property
    def mark_delete(self):
        index = self.below
        while self.whole(index + 1):
            index += 1
        return index

    def add(self, pairs):
        before = len(self.done)
        self.done |= {pair for pair in pairs if pair[0] > self.below}
        self.dirty |= len(self.done) > before
        return len(self.done) > before

    def acknowledge(self, index):
        return not self.whole(index) and self.add({(index, batch) for batch in range(BATCH)})

    def mark_delete_to(self, index):
        if index <= self.mark_delete:
            return False
        self.add({(entry, batch) for entry in range(index + 1) for batch in range(BATCH)})
        return True

    def acknowledge_batch(self, index, batch_index):
        return not self.whole(index) and self.add({(index, batch_index)}) and self.whole(index)

    def acknowledge_batch_to(self, index, batch_index):
        if self.whole(index):
            return False
        self.add({(entry, batch) for entry in range(index) for batch in range(BATCH)})
        return self.add({(index, batch) for batch in range(batch_index + 1)}) and self.whole(index)

    def reset(self, index):
        self.done, self.below, self.dirty = set(), index, True

    def persist(self):
        self.saved, self.dirty = (set(self.done), self.below), False

    def recover(self):
        self.done, self.below, self.dirty = set(self.saved[0]), self.saved[1], False

    def ranges(self):
        found = []
        for index in range(self.mark_delete + 1, LENGTH):
            if self.whole(index):
                if found and found[-1][1] == index - 1:
                    found[-1] = (found[-1][0], index)
                else:
                    found.append((index, index))
        return found

    def text(self):
        parts, start = [], 0
        for ledger_id, entries in LEDGERS:
            inside = [
                entry
                for entry in range(entries)
                if start + entry > self.mark_delete and self.whole(start + entry)
            ]
            for entry in inside:
                if entry - 1 not in inside:
                    last = next(end for end in range(entry, entries + 1) if end + 1 not in inside)
                    parts.append(f"({ledger_id}:{entry - 1}..{ledger_id}:{last}]")
            start += entries
        return "[" + ",".join(parts) + "]"

    def state(self):
        ranges = self.ranges()
        remaining = [
            sum(1 << b for b in range(BATCH) if i > self.below and (i, b) not in self.done)
            for i in range(LENGTH)
        ]
        unacknowledged = [
            next(e for e in range(i, LENGTH + 1) if e == LENGTH or not self.whole(e)) for i in range(LENGTH)
        ]
        backlog = sum(not self.whole(index) for index in range(LENGTH))
        return (
            self.mark_delete,
            ranges,
            len(ranges),
            backlog,
            self.text(),
            remaining,
            unacknowledged,
            self.dirty,
        )


def state(cursor):
    remaining = [cursor.batch_remaining(index, BATCH) for index in range(LENGTH)]
    unacknowledged = [cursor.next_unacknowledged(index) for index in range(LENGTH)]
    assert [bits == 0 for bits in remaining] == [cursor.is_acknowledged(index) for index in range(LENGTH)]
    assert cursor.ranges() == cursor.ranges(LENGTH)
    assert cursor.deleted_count == len(cursor.acknowledged())
    return (
        cursor.mark_delete,
        cursor.ranges(),
        cursor.ranges_total,
        cursor.backlog(LENGTH),
        cursor.text(LOG),
        remaining,
        unacknowledged,
        cursor.dirty,
    )


def play(cursor, act):
    name, *arguments = act
    if name.startswith("acknowledge_batch"):
        arguments.append(BATCH)
    elif name == "persist":
        arguments = [0, 200_000, LOG]
    return getattr(cursor, name)(*arguments)


@settings(max_examples=200)
@given(st.lists(acts, max_size=40))
def test_a_cursor_agrees_with_a_set(script):
    cursor, model = Cursor(), Model()
    for act in script:
        answer, expected = play(cursor, act), getattr(model, act[0])(*act[1:])
        if act[0] not in ("persist", "reset", "recover"):
            assert answer == expected, act
        assert state(cursor) == model.state(), act


@given(st.lists(acts, max_size=40), st.data())
def test_captures_do_not_change_and_replays_agree(script, data):
    cursor = Cursor()
    captures, states = [cursor.capture()], [state(cursor)]
    for act in script:
        play(cursor, act)
        captures.append(cursor.capture())
        states.append(state(cursor))
    other = Cursor()
    for captured, seen in zip(captures, states):
        other.restore(captured)
        assert state(other) == seen
    start = data.draw(st.integers(0, len(script)))
    other.restore(captures[start])
    for step in range(start, len(script)):
        play(other, script[step])
        assert state(other) == states[step + 1]
    assert state(cursor) == states[-1]
    if data.draw(st.booleans()):
        cursor = pickle.loads(pickle.dumps(cursor))
        assert state(cursor) == states[-1]
        other.restore(captures[-1])
        for act in (("recover",), *script):
            assert play(cursor, act) == play(other, act)
            assert state(cursor) == state(other)
    cursor.restore(captures[0])
    assert state(cursor) == states[0]


wide = st.integers(0, 400_000)
wide_acts = st.one_of(
    st.tuples(st.just("range"), wide, st.integers(1, 90_000)),
    st.tuples(st.just("stripes"), wide, st.integers(1, 3_000)),
    st.tuples(st.just("mark_delete_to"), wide),
    st.tuples(st.just("recover")),
    st.tuples(st.just("persist")),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(wide_acts, max_size=8))
def test_large_bitmaps_are_safe_to_share(script):
    """Copies share containers until written; every kind of container and every way of writing is covered."""
    cursor, captures, expected, saved = Cursor(), [], set(), (set(), -1)
    floor = -1
    for name, *arguments in script:
        if name == "range":
            wanted = range(arguments[0], arguments[0] + arguments[1])
        elif name == "stripes":
            wanted = range(arguments[0], arguments[0] + 2 * arguments[1], 2)
        elif name == "mark_delete_to":
            floor = max(floor, arguments[0])
            cursor.mark_delete_to(arguments[0])
            wanted = ()
        else:
            play(cursor, (name,))
            if name == "persist":
                saved = (set(expected), floor)
            else:
                expected, floor = set(saved[0]), saved[1]
            wanted = ()
        for index in wanted:
            cursor.acknowledge(index)
        expected |= set(wanted)
        captures.append((cursor.capture(), {index for index in expected if index > floor}, floor))
    for captured, above, below in captures:
        cursor.restore(captured)
        mark_delete = below
        while mark_delete + 1 in above:
            mark_delete += 1
        assert cursor.mark_delete == mark_delete
        assert set(cursor.acknowledged()) == {index for index in above if index > mark_delete}
