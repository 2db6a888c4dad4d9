"""Links: bandwidth, then latency; slow overrides; state captured and restored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.kernel.distributions import Sampler, Span
from simulator.kernel.links import Link
from simulator.kernel.random import stream_key

KEY = stream_key(1, "link/a/b")


SPAN = Span("constant", 40_000)


def link(span=SPAN, bandwidth=None):
    return Link("a", "b", Sampler(span, KEY), bandwidth)


def test_latency_alone_when_bandwidth_is_unlimited():
    plain = link()
    assert plain.transmit(1_000, 10**9, 0) == plain.transmit(1_000, 1, 1) == 41_000
    assert (plain.free_at_us, plain.nominal_us) == (0, 40_000)


def test_bytes_are_sent_one_after_the_other():
    narrow = link(bandwidth=1_000_000)  # a microsecond a byte
    assert narrow.transmit(0, 500, 0) == 40_500
    assert narrow.transmit(100, 500, 1) == 41_000  # waited until 500
    assert narrow.transmit(5_000, 500, 2) == 45_500  # the link was idle in between
    assert narrow.free_at_us == 5_500


def test_transmission_time_is_rounded_up():
    assert link(bandwidth=3_000_000).transmit(0, 1, 0) == 40_001


def test_latency_depends_on_the_draw_and_not_on_the_order():
    varying = link(Span("uniform", low_us=10, high_us=90_000))
    assert [varying.transmit(0, 1, index) for index in (2, 0, 1)] == [38_226, 342, 87_784]
    assert varying.latency_us(0) == 342


def test_slow_overrides_the_latency_and_keeps_the_nominal_one():
    varying = link(Span("uniform", low_us=10, high_us=90_000))
    varying.slow_us = 2_000_000
    assert varying.transmit(5, 1, 0) == 2_000_005
    assert varying.latency_us(0) == 2_000_000
    assert varying.nominal_us == 45_005
    varying.slow_us = None
    assert varying.latency_us(0) == 342


def test_a_cut_loses_queued_bytes_and_healing_restores_the_declared_latency():
    narrow = link(bandwidth=1_000_000)
    narrow.transmit(0, 500_000, 0)
    narrow.slow_us = 2_000_000
    narrow.cut()
    assert (narrow.up, narrow.free_at_us) == (False, 0)
    narrow.heal()
    assert (narrow.up, narrow.slow_us) == (True, None)
    assert narrow.transmit(100, 500, 1) == 40_600


def test_restore_sets_the_same_object():
    narrow = link(bandwidth=1_000_000)
    narrow.transmit(0, 500, 0)
    captured = narrow.capture()
    narrow.transmit(0, 500, 1)
    narrow.up, narrow.slow_us = False, 7
    narrow.restore(captured)
    assert (narrow.up, narrow.slow_us, narrow.free_at_us) == (True, None, 500)
    assert narrow.transmit(100, 500, 1) == 41_000


@given(st.integers(1, 10**7), st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**5)), max_size=30))
def test_a_narrow_link_never_carries_more_than_its_bandwidth(bandwidth, sends):
    narrow = link(Span("constant", 0), bandwidth)
    now_us = total = 0
    first_us = None
    for wait_us, size_bytes in sends:
        now_us += wait_us
        first_us = now_us if first_us is None else first_us
        total += size_bytes
        arrival_us = narrow.transmit(now_us, size_bytes, 0)
        assert (arrival_us - first_us) * bandwidth >= total * 1_000_000
        assert arrival_us >= now_us


def test_a_bandwidth_of_zero_is_refused_with_a_reason():
    with pytest.raises(ValueError, match="link a -> b: bandwidth is 0 bytes per second; give at least 1"):
        link(bandwidth=0)
