"""Distributions: pinned draws and tables, the right shape, errors with a reason."""

import hashlib
from statistics import NormalDist, mean, median, quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.kernel.distributions import (
    BLOCK,
    BLOCKS_KEPT,
    CELLS,
    LONGEST_US,
    SCALE,
    Sampler,
    Span,
    interval_sampler,
    normal_quantiles,
    quantile_table,
)
from simulator.kernel.random import draw, stream_key
from simulator.scenarios.model import Distribution

KEY = stream_key(1, "link/a/b")
UNIFORM = Span("uniform", low_us=10, high_us=90_000)
LOGNORMAL = Span("lognormal", 40_000, sigma_millionths=250_000)
EXPONENTIAL = Span("exponential", 1_000)
INDICES = (0, 1, 2, 3, 1023, 1024, 1 << 40)

spans = st.one_of(
    st.builds(Span, st.just("constant"), st.integers(0, LONGEST_US)),
    st.builds(
        lambda low, more: Span("uniform", low_us=low, high_us=low + more),
        st.integers(0, 1 << 30),
        st.integers(0, 1 << 30),
    ),
    st.builds(
        lambda value, sigma: Span("lognormal", value, sigma_millionths=sigma),
        st.integers(0, 10**7),
        st.sampled_from((0, 1, 300_000, 1_500_000)),
    ),
    st.builds(Span, st.just("exponential"), st.integers(0, 10**9)),
)


@pytest.mark.parametrize(
    ("span", "values"),
    [
        (UNIFORM, [342, 87784, 38226, 72065, 44777, 25699, 31582]),
        (LOGNORMAL, [20476, 65395, 38145, 49398, 39937, 34716, 36347]),
        (EXPONENTIAL, [4, 3704, 553, 1613, 688, 336, 432]),
    ],
)
def test_draws_are_pinned(span, values):
    sampler = Sampler(span, KEY)
    assert [sampler.at(index) for index in INDICES] == values


@pytest.mark.parametrize(
    ("named", "digest"),
    [
        (("lognormal", 40_000, 250_000), "5c44ee397ca4495af8a0d8088fd9a443d685331062518fc036c162ea17dbb0ac"),
        (("exponential", 1_000, 0), "a8b23adc5ae8e65f4127a225ac643d24662a6c817094753bc8a6d2a847c21938"),
    ],
)
def test_whole_tables_are_pinned(named, digest):
    assert hashlib.sha256(quantile_table(*named).astype("<i8").tobytes()).hexdigest() == digest


def test_committed_normal_quantiles_are_the_inverse_normal():
    inverse = NormalDist().inv_cdf
    table = normal_quantiles()
    assert len(table) == CELLS
    assert all(
        abs(value - inverse((2 * cell + 1) / (2 * CELLS)) * SCALE) <= 1 for cell, value in enumerate(table)
    )
    assert table == sorted(table)
    assert [-value for value in reversed(table)] == table


@given(spans, st.lists(st.integers(0, 1 << 45), min_size=1, max_size=8))
def test_a_draw_does_not_depend_on_the_order_of_calls(span, indices):
    forth, back = Sampler(span, KEY), Sampler(span, KEY)
    values = [forth.at(index) for index in indices]
    assert values == [back.at(index) for index in reversed(indices)][::-1]
    assert all(type(value) is int and value >= 0 for value in values)


def test_a_draw_repeated_after_its_block_was_evicted_is_the_same():
    sampler = Sampler(UNIFORM, KEY)
    first = sampler.at(5)
    for block in range(2 * BLOCKS_KEPT):
        sampler.at(block * BLOCK)
    assert sampler.at(5) == first


def test_uniform_is_the_scaled_draw_and_includes_both_ends():
    sampler = Sampler(Span("uniform", low_us=7, high_us=9), KEY)
    values = [sampler.at(index) for index in range(300)]
    assert values == [7 + (draw(KEY, index) * 3 >> 64) for index in range(300)]
    assert set(values) == {7, 8, 9}


def test_lognormal_has_its_median_and_spread():
    sampler = Sampler(LOGNORMAL, KEY)
    values = [sampler.at(index) for index in range(100_000)]
    assert median(values) == pytest.approx(40_000, rel=0.01)
    cut = quantiles(values, n=100)
    for percent in (1, 10, 90, 99):
        expected = 40_000 * 2.718281828459045 ** (0.25 * NormalDist().inv_cdf(percent / 100))
        assert cut[percent - 1] == pytest.approx(expected, rel=0.015)


def test_exponential_has_its_mean_median_and_tail():
    sampler = interval_sampler(1_000, KEY)
    values = [sampler.at(index) for index in range(200_000)]
    assert mean(values) == pytest.approx(1_000, rel=0.01)
    assert median(values) == pytest.approx(693.1, rel=0.01)
    assert sum(value > 4_605 for value in values) / len(values) == pytest.approx(0.01, rel=0.1)
    assert max(values) <= 9_011


def test_short_spans_keep_their_mean():
    sampler = Sampler(Span("exponential", 3), KEY)
    assert mean(sampler.at(index) for index in range(100_000)) == pytest.approx(3, rel=0.02)


@pytest.mark.parametrize(
    "span",
    [Span("constant", 5), Span("uniform", low_us=5, high_us=5), Span("lognormal", 5, sigma_millionths=0)],
)
def test_a_constant_distribution_has_a_constant(span):
    sampler = Sampler(span, KEY)
    assert sampler.constant == 5
    assert {sampler.at(index) for index in range(10)} == {5}


def test_a_varying_distribution_has_no_constant():
    assert all(Sampler(span, KEY).constant is None for span in (UNIFORM, LOGNORMAL, EXPONENTIAL))


def test_a_scenarios_distribution_equals_the_span():
    distribution = Distribution("lognormal", 40_000, sigma_millionths=250_000)
    assert Sampler(distribution, KEY).at(1) == Sampler(LOGNORMAL, KEY).at(1)
    assert (
        Sampler(Distribution("uniform", low_us=10, high_us=30), KEY).nominal_us
        == Span("uniform", low_us=10, high_us=30).nominal_us
        == 20
    )


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (Span("normal", 5), "use one of constant, uniform, lognormal, exponential"),
        (Span("uniform", low_us=9, high_us=3), "the lower first"),
        (Span("uniform", low_us=-1, high_us=3), "must lie within 0"),
        (Span("constant", -1), "out of bounds"),
        (Span("lognormal", 5, sigma_millionths=-1), "use a sigma of 0..10"),
        (Span("lognormal", 5, sigma_millionths=11_000_000), "use a sigma of 0..10"),
        (Span("lognormal", 10**6, sigma_millionths=9_000_000), "a shorter median or a smaller sigma"),
        (Span("exponential", LONGEST_US), "a shorter mean"),
    ],
)
def test_impossible_distributions_are_refused_with_a_reason(span, words):
    with pytest.raises(ValueError, match=words):
        Sampler(span, KEY)


def test_the_longest_spans_are_exact():
    mean_us = LONGEST_US // 10
    table = quantile_table("exponential", mean_us, 0)
    sampler = Sampler(Span("exponential", mean_us), KEY)
    values = [sampler.at(index) for index in range(20_000)]
    assert int(table[0]) >> 4 <= min(values)
    assert max(values) <= (int(table[-1]) >> 4) + 1
    assert mean(values) == pytest.approx(mean_us, rel=0.03)
