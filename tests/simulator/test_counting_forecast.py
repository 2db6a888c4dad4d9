"""The forecast against the actual figures.

Make it, then do exactly that in the trace, and count the same numbers.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from simulator.protocols.pulsar.verdicts import Flags, Forecast, Places, RemoteCursor, forecast
from tests.examples import examples
from tests.simulator.trace_builder import TraceBuilder

FIGURES = ("duplicates", "redeliveries", "lost", "stranded", "stranded_unprocessed")


@st.composite
def histories(draw):
    """The history of each of a few messages before the failover."""
    count = draw(st.integers(0, 8))
    subset = st.sets(st.integers(0, max(count - 1, 0)), max_size=count) if count else st.just(set())
    stored = draw(st.integers(0, count))
    subscribed = draw(st.booleans())
    return {
        "count": count,
        "stored": stored,
        "delivered": draw(subset),
        "acknowledged": draw(subset),
        "expired": draw(subset),
        "passed_over": draw(subset),
        "deleted": draw(subset),
        "mark": draw(st.integers(-1, max(stored - 1, -1))),
        "subscribed": subscribed,
        "earliest": draw(st.booleans()),
        "repeated": draw(subset),
    }


def before(history: dict) -> TraceBuilder:
    """A holds every message, B the first `stored` and some of them twice, with a marker between."""
    world = TraceBuilder()
    world.create("a")
    if history["subscribed"]:
        world.create("b", reason="update")
    world.publish(range(history["count"]), "a")
    world.store(range(history["stored"]), "b", "a")
    world.append("b")
    world.store([number for number in sorted(history["repeated"]) if number < history["stored"]], "b", "a")
    world.deliver(sorted(history["delivered"]), "a")
    world.ack(sorted(history["acknowledged"]), "a")
    for number in sorted(history["expired"]):
        world.ours("message.expired", "a", **world._message(number, "a", "web"))
    for number in sorted(history["passed_over"]):
        world.here(
            "message.not-replicated", "a", peer="b", producer="web", sequence_id=number, reason="replicate_to"
        )
    if history["subscribed"]:
        world.move("b", history["mark"], "update")
    return world


def forecast_of(history: dict) -> tuple[Forecast, list[int]]:
    """The forecast from arrays, and B's log."""
    everything = BitMap(range(history["count"]))
    log = [
        *range(history["stored"]),
        -1,
        *(number for number in sorted(history["repeated"]) if number < history["stored"]),
    ]
    cursor = RemoteCursor(history["mark"], BitMap()) if history["subscribed"] else None
    flags = Flags(
        everything, BitMap(history["acknowledged"]), BitMap(history["delivered"]), BitMap(history["expired"])
    )
    places = Places(everything, BitMap(range(history["stored"])), BitMap(history["passed_over"]))
    return forecast(np.array(log, dtype=np.int64), cursor, flags, places, earliest=history["earliest"]), log


def flags(**given_flags) -> Flags:
    return Flags(
        **(
            {"receipted": BitMap(), "acknowledged": BitMap(), "delivered": BitMap(), "settled": BitMap()}
            | given_flags
        )
    )


@st.composite
def remote_logs(draw):
    """Entries of B's log by index, each with its messages (none: a marker), and B's cursor."""
    batched = draw(st.booleans())
    sizes = draw(st.lists(st.integers(0, 3 if batched else 1), max_size=8))
    numbers = iter(range(100))
    entries = [[next(numbers) for _ in range(size)] for size in sizes]
    cursor = None
    if draw(st.booleans()):
        cursor = RemoteCursor(
            draw(st.integers(-1, len(sizes))),
            BitMap(draw(st.sets(st.integers(0, len(sizes) + 2)))),
            BitMap(draw(st.sets(st.integers(0, sum(sizes))))),
        )
    return batched, entries, cursor, draw(st.integers(0, len(sizes))), draw(st.integers(0, len(sizes)))


@examples(200)
@given(remote_logs())
def test_what_is_above_the_mark_delete_and_not_individually_deleted_is_delivered(case):
    batched, entries, cursor, first_kept, spare = case
    first = first_kept if cursor is None else max(cursor.mark_delete + 1, first_kept)
    log_from = max(first - spare, 0)
    rows = [
        (index, message)
        for index, messages in enumerate(entries)
        for message in messages or [-1 - index]
        if index >= log_from
    ]
    delivered = {
        message
        for index, message in rows
        if message >= 0
        and index >= first
        and not (cursor and (index in cursor.deleted or message in cursor.deleted_messages))
    }
    told = forecast(
        np.array([message for _, message in rows], dtype=np.int64),
        cursor,
        flags(acknowledged=BitMap(range(100))),
        Places(BitMap(), BitMap(range(100)), BitMap()),
        log_from=log_from,
        first_kept=first_kept,
        entry=np.array([index for index, _ in rows], dtype=np.int64) if batched else None,
        earliest=True,
    )
    assert told.duplicates == len(delivered)


def test_individually_deleted_entries_are_not_delivered():
    told = forecast(
        np.arange(10),
        RemoteCursor(3, BitMap([5, 7])),
        flags(acknowledged=BitMap(range(10))),
        Places(BitMap(), BitMap(range(10)), BitMap()),
    )
    assert told.duplicates == 4


def test_the_log_may_begin_at_the_mark_delete():
    told = forecast(
        np.array([4, -1, 5]),
        RemoteCursor(3, BitMap()),
        flags(delivered=BitMap([4, 5])),
        Places(BitMap(), BitMap(range(6)), BitMap()),
        log_from=4,
    )
    assert told.redeliveries == 2
    with pytest.raises(ValueError, match="needs them from 2"):
        forecast(
            np.array([4]),
            RemoteCursor(1, BitMap()),
            flags(),
            Places(BitMap(), BitMap(), BitMap()),
            log_from=4,
        )


def test_a_subscription_that_b_does_not_have_is_opened_behind_the_last_entry_by_default():
    known = flags(acknowledged=BitMap([0, 1]))
    places = Places(BitMap(), BitMap([0, 1]), BitMap())
    assert forecast(np.arange(2), None, known, places).duplicates == 0
    assert forecast(np.arange(2), None, known, places, earliest=True).duplicates == 2


def test_batches_have_several_messages_in_an_entry():
    log, entry = np.array([0, 1, 2, -1, 3, 4]), np.array([0, 0, 0, 1, 2, 2])
    cursor = RemoteCursor(-1, BitMap([0]), deleted_messages=BitMap([3]))
    told = forecast(
        log,
        cursor,
        flags(acknowledged=BitMap(range(5))),
        Places(BitMap(), BitMap(range(5)), BitMap()),
        entry=entry,
    )
    assert told.duplicates == 1


def test_removed_entries_are_lost_unless_finished():
    known = flags(receipted=BitMap(range(4)), acknowledged=BitMap([0]), settled=BitMap([1]))
    told = forecast(
        np.arange(4), None, known, Places(BitMap(), BitMap(range(4)), BitMap()), first_kept=3, earliest=True
    )
    assert told == Forecast(duplicates=0, redeliveries=0, lost=1, stranded=0, stranded_unprocessed=0)


def test_removed_entries_and_messages_passed_over_add_up_to_the_lost():
    known = flags(receipted=BitMap(range(6)), acknowledged=BitMap([4]), settled=BitMap([5]))
    places = Places(BitMap(), in_target=BitMap([0, 1]), passed_over=BitMap([1, 2, 3, 4, 5]))
    told = forecast(np.array([0, 1]), None, known, places, first_kept=2, earliest=True)
    assert told.lost == 4


def test_stranded_are_messages_acknowledged_to_their_producer_in_the_source_and_not_in_the_target():
    known = flags(receipted=BitMap([0, 1, 2, 3]), acknowledged=BitMap([1, 2]))
    told = forecast(
        np.array([2]), None, known, Places(BitMap([0, 1, 2, 5]), BitMap([2]), BitMap()), earliest=True
    )
    assert (told.stranded, told.stranded_unprocessed) == (2, 1)


def test_messages_on_their_way_from_other_clusters_still_come():
    known = flags(receipted=BitMap([7, 8]), acknowledged=BitMap([7]), delivered=BitMap([7, 8]))
    told = forecast(
        np.array([], dtype=np.int64),
        None,
        known,
        Places(BitMap([7, 8]), BitMap(), BitMap(), coming=BitMap([7, 8])),
    )
    assert (told.duplicates, told.redeliveries, told.stranded, told.lost) == (1, 1, 2, 0)


def test_forecasts_of_partitions_add_up():
    one = Forecast(1, 2, 3, 4, 5)
    assert one + one == Forecast(2, 4, 6, 8, 10)


@examples(80)
@given(histories())
def test_forecast_is_what_counting_finds(history):
    world = before(history)
    told, log = forecast_of(history)
    world.wait().crash("a")
    world.fail_over("a", "b")
    first = history["mark"] + 1
    if not history["subscribed"]:
        world.create("b", before=0 if history["earliest"] else None)
        first = 0 if history["earliest"] else len(log)
    for entry in range(first, len(log)):
        if log[entry] >= 0:
            where = {
                "producer": "web",
                "sequence_id": log[entry],
                "ledger": world.ledger["b"],
                "entry": entry,
            }
            world.wait().ours("message.delivered", "b", client="c", count=0, **where)
    counted = world.failover()
    assert {name: getattr(told, name) for name in FIGURES} == {
        name: getattr(counted, name) for name in FIGURES
    }
