"""The helper of checks that finds the first row of each message.

It agrees with plain sets of rows, however dense the ids are and however often they occur.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulator.protocols.pulsar.checks.knowledge import _NEVER, SPARSE, _Firsts


@given(st.data(), st.sampled_from([3, 12, 12 * SPARSE, 1 << 40]))
def test_the_first_row_of_each_id(data, most):
    ids = data.draw(st.lists(st.integers(0, most), min_size=1, max_size=12))
    seqs = data.draw(st.permutations(range(len(ids))))
    asked = data.draw(st.lists(st.integers(-1, most + 1), max_size=12)) + ids
    first: dict[int, int] = {}
    for sequence_id, seq in zip(ids, seqs):
        first[sequence_id] = min(seq, first.get(sequence_id, seq))
    assert _Firsts(np.array(ids), np.array(seqs)).of(np.array(asked, dtype=np.int64)).tolist() == [
        first.get(one, _NEVER) for one in asked
    ]
