"""Waiting acks, one by one and by column, against a plain dict, under any sequence of operations."""

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.protocols.pulsar.client.message_keys import MessageKey
from simulator.protocols.pulsar.client.waiting_acks import AckColumns, WaitingAcks
from simulator.trace.registry import NULL

HERE, ELSEWHERE = ("a", "orders"), ("b", "orders")
places = st.sampled_from((HERE, HERE, HERE, ELSEWHERE))
acts = st.lists(
    st.one_of(
        st.tuples(st.just("put"), places, st.integers(0, 60), st.sampled_from((NULL, NULL, NULL, 2))),
        st.tuples(st.just("add"), places, st.integers(1, 12)),
        st.tuples(st.just("clear")),
    ),
    max_size=12,
)


def ack_of(index, batch_index, seq):
    return index, batch_index, seq, 1000 + index, (1, 2, 3, 4, 5, index, 7, index % 3, batch_index)


def play(script):
    """The acks after these operations, and a dict after the same operations."""
    waiting, wanted, seq, fresh = WaitingAcks(), {}, 0, 100  # entries added by column were never added before
    for name, *about in script:
        seq += 1
        if name == "put":
            place, index, batch_index = about
            waiting.put(MessageKey(place, index, batch_index), ack_of(index, batch_index, seq))
            wanted[place, index, batch_index] = ack_of(index, batch_index, seq)
        elif name == "add":
            place, count = about
            acks = [ack_of(index, NULL, seq) for index in range(fresh, fresh + count)]
            fresh += count
            waiting.add(place, AckColumns.of(acks))
            wanted |= {(place, ack[0], NULL): ack for ack in acks}
        else:
            waiting.clear()
            wanted.clear()
    return waiting, wanted


@settings(max_examples=200)
@given(acts)
def test_waiting_acks_agree_with_a_dict(script):
    waiting, wanted = play(script)
    assert (len(waiting), bool(waiting)) == (len(wanted), bool(wanted))
    for place in (HERE, ELSEWHERE):
        assert waiting.all_of(place) == all(key[0] == place and key[2] == NULL for key in wanted)
        for index in range(160):
            assert (MessageKey(place, index, NULL) in waiting) == ((place, index, NULL) in wanted)
    for place in (HERE, ELSEWHERE):
        if wanted and waiting.all_of(place):
            columns = waiting.columns()
            assert list(columns.by_key(place).items()) == list(wanted.items())
            odd = list(range(1, len(wanted), 2))
            assert list(columns.chosen(odd).by_key(place)) == [
                key for number, key in enumerate(wanted) if number % 2
            ]
    assert list(waiting.by_key().items()) == list(wanted.items())


def test_a_repeated_ack_keeps_its_place_in_the_order():
    waiting = WaitingAcks()
    waiting.add(HERE, AckColumns.of([ack_of(index, NULL, 1) for index in range(5)]))
    waiting.put(MessageKey(HERE, 3, NULL), ack_of(3, NULL, 9))
    assert [ack[2] for ack in waiting.by_key().values()] == [1, 1, 1, 9, 1] and len(waiting) == 5
