"""The statistics of the comparison agree with a second implementation, published values and their laws."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from spark_reports.protocols.pulsar.fidelity.statistics import (
    RESAMPLES,
    SKEWED,
    bootstrap_interval,
    equal_share,
    generator,
    ks_distance,
    ks_permutation_p,
    paired_interval,
    skewness,
    t_interval,
    within_one_share,
)
from spark_reports.protocols.pulsar.fidelity.student import t_probability, t_quantile
from spark_reports.protocols.pulsar.fidelity.verdict import judge
from tests.oracle import paired_statistics as oracle

COUNTS = some.lists(some.integers(0, 200), min_size=2, max_size=60)
PAIRS = some.lists(some.tuples(some.integers(0, 200), some.integers(0, 200)), min_size=2, max_size=60)

PUBLISHED = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 10: 2.228, 30: 2.042, 60: 2.000, 120: 1.980}
"""Two-sided 95 % quantiles of Student's t, as in every printed table."""


@pytest.mark.parametrize("degrees", PUBLISHED)
def test_quantiles_of_t_are_the_published_ones(degrees):
    assert round(t_quantile(0.975, degrees), 3) == PUBLISHED[degrees]
    assert t_quantile(0.025, degrees) == -t_quantile(0.975, degrees)


@pytest.mark.parametrize("degrees", [1, 2, 3, 8, 59, 199])
@pytest.mark.parametrize("t", [0.1, 0.7, 1.96, 4.0])
def test_probabilities_of_t_are_the_integral_of_its_density(degrees, t):
    assert t_probability(t, degrees) == pytest.approx(oracle.t_probability(t, degrees), abs=1e-9)
    assert t_probability(-t, degrees) == pytest.approx(1 - t_probability(t, degrees), abs=1e-15)


@given(PAIRS)
@settings(max_examples=50, deadline=None)
def test_the_t_interval_is_the_mean_and_so_many_standard_errors(pairs):
    differences = [real - simulated for real, simulated in pairs]
    found = t_interval(differences)
    half = t_quantile(0.975, len(pairs) - 1) * oracle.standard_error(differences)
    assert found.mean == pytest.approx(oracle.mean(differences), abs=1e-9)
    assert found.high - found.mean == pytest.approx(half, abs=1e-9)
    assert found.mean - found.low == pytest.approx(half, abs=1e-9)


@given(PAIRS)
@settings(max_examples=50, deadline=None)
def test_skewness_and_shares_are_those_of_the_definition(pairs):
    differences = [real - simulated for real, simulated in pairs]
    assert skewness(differences) == pytest.approx(oracle.skewness(differences), abs=1e-9)
    assert equal_share(differences) == sum(real == simulated for real, simulated in pairs) / len(pairs)
    near = [abs(real - simulated) < 2 for real, simulated in pairs]
    assert within_one_share(differences) == near.count(True) / len(pairs)


@pytest.mark.parametrize("seed", range(4))
def test_the_bootstrap_agrees_with_a_plain_one_that_draws_its_own_resamples(seed):
    draws = random.Random(seed)
    differences = [draws.choice((0, 0, 0, 0, 1, -1, 9)) for _ in range(80)]
    found = bootstrap_interval(differences, "a job", str(seed))
    low, high = oracle.bootstrap_bounds(differences, draws)
    width = high - low
    assert found.low == pytest.approx(low, abs=0.1 * width)
    assert found.high == pytest.approx(high, abs=0.1 * width)


def test_the_bootstrap_covers_the_mean_of_a_skewed_distribution_about_as_often_as_it_says():
    """Of 200 samples about 190 intervals contain the true mean; for these draws, at least 176."""
    draws = random.Random(5)
    mean = 1.0
    found = [
        bootstrap_interval([draws.expovariate(1 / mean) for _ in range(50)], str(number))
        for number in range(200)
    ]
    assert 176 <= sum(one.low <= mean <= one.high for one in found) <= 199


@given(COUNTS, COUNTS)
@settings(max_examples=100, deadline=None)
def test_the_distance_is_that_of_the_definition(real, simulated):
    assert ks_distance(real, simulated) == pytest.approx(oracle.ks_distance(real, simulated), abs=1e-12)


@pytest.mark.parametrize(
    ("real", "simulated"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        ([1, 1, 2, 5, 7], [2, 5, 5, 7, 9]),
        ([0, 0, 0, 1, 1], [1, 2, 2, 3, 3]),
        ([1, 2, 3], [4, 5, 6, 7, 8]),
    ],
)
def test_the_shuffled_p_agrees_with_all_labellings(real, simulated):
    exact = oracle.exact_ks_p(real, simulated)
    error = math.sqrt(exact * (1 - exact) / RESAMPLES)
    assert ks_permutation_p(real, simulated, "a test") == pytest.approx(exact, abs=4 * error + 2 / RESAMPLES)


@given(PAIRS)
@settings(max_examples=30, deadline=None)
def test_exchanging_real_and_simulated_reverses_signs_and_keeps_p(pairs):
    real, simulated = [one for one, _ in pairs], [one for _, one in pairs]
    differences = [one - other for one, other in pairs]
    found, reversed_ = (paired_interval([sign * one for one in differences], "key") for sign in (1, -1))
    assert found.method == reversed_.method
    assert found.mean == -reversed_.mean
    assert found.low == pytest.approx(-reversed_.high, abs=1e-9)
    assert found.high == pytest.approx(-reversed_.low, abs=1e-9)
    p, other_p = ks_permutation_p(real, simulated, "key"), ks_permutation_p(simulated, real, "key")
    assert abs(p - other_p) < 0.05 and ks_distance(real, simulated) == ks_distance(simulated, real)


@given(COUNTS)
@settings(max_examples=30, deadline=None)
def test_equal_pairs_give_a_difference_of_zero_and_p_of_one(values):
    found = paired_interval([0 for _ in values], "key")
    assert (found.mean, found.low, found.high) == (0, 0, 0)
    assert ks_permutation_p(values, values, "key") == 1
    assert judge(found, oracle.mean(values), 1.0).met


@given(PAIRS, some.integers(-50, 50))
@settings(max_examples=30, deadline=None)
def test_adding_to_every_real_figure_moves_the_interval_and_keeps_its_width(pairs, shift):
    differences = [real - simulated for real, simulated in pairs]
    found = paired_interval(differences, "key")
    moved = paired_interval([one + shift for one in differences], "key")
    assert moved.mean == pytest.approx(found.mean + shift, abs=1e-9)
    if abs(abs(skewness(differences)) - SKEWED) > 1e-6:
        assert moved.high - moved.low == pytest.approx(
            found.high - found.low, abs=0.02 * (1 + found.high - found.low)
        )


@given(PAIRS, some.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_order_of_runs_changes_neither_t_interval_nor_p_beyond_the_draws(pairs, shuffler):
    differences = [real - simulated for real, simulated in pairs]
    shuffled = list(differences)
    shuffler.shuffle(shuffled)
    one, other = t_interval(differences), t_interval(shuffled)
    assert one.low == pytest.approx(other.low, abs=1e-9)
    values = [real for real, _ in pairs]
    again = list(values)
    shuffler.shuffle(again)
    zeros = [0] * len(values)
    assert ks_permutation_p(values, zeros, "key") == ks_permutation_p(again, zeros, "key")


def test_skewed_differences_take_the_bootstrap_and_others_student():
    assert paired_interval([0, 0, 0, 0, 0, 0, 0, 20], "key").method == "bootstrap"
    assert paired_interval([-1, 0, 1, 2, -2, 0], "key").method == "t"


def test_draws_depend_on_the_key_alone():
    first = generator("a", "b").integers(0, 1 << 62, 3).tolist()
    generator("another").integers(0, 1 << 62, 3)
    assert generator("a", "b").integers(0, 1 << 62, 3).tolist() == first
    assert generator("ab").integers(0, 1 << 62, 3).tolist() != first


def test_one_difference_has_no_interval():
    with pytest.raises(ValueError, match="1 differences; an interval needs at least 2"):
        t_interval([1])
    with pytest.raises(ValueError, match="needs values on both sides"):
        ks_permutation_p([], [1], "key")


@pytest.mark.parametrize(
    ("differences", "real_mean", "p", "met"),
    [
        ([1, -1, 1, -1], 10, 0.5, True),  # contains zero
        ([1, -1, 1, -1], 10, 0.05, False),  # p
        ([0.4] * 3, 0, 0.5, True),  # below half a message
        ([0.6] * 3, 0, 0.5, False),
        ([2.9] * 3, 100, 0.5, True),  # below 3 % of the mean
        ([3.1] * 3, 100, 0.5, False),
        ([5.0, 5.1, 5.0, 5.1], 10, 0.5, False),  # narrow, and far from zero
    ],
)
def test_the_target(differences, real_mean, p, met):
    assert judge(t_interval(differences), real_mean, p).met is met
