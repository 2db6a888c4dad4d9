"""The statistics of the comparison agree with a second implementation, published values and their laws."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from spark_reports.html.numbers import number
from spark_reports.protocols.pulsar.fidelity.summary import (
    DIFFERENT,
    EQUAL,
    MANY,
    NOT_DECIDED,
    SHUFFLES,
    Interval,
    equal_share,
    generator,
    judge,
    ks_distance,
    ks_permutation_p,
    runs_needed,
    t_interval,
    within_one_share,
)
from spark_reports.student import t_probability, t_quantile
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
def test_shares_are_those_of_the_definition(pairs):
    differences = [real - simulated for real, simulated in pairs]
    assert equal_share(differences) == sum(real == simulated for real, simulated in pairs) / len(pairs)
    near = [abs(real - simulated) < 2 for real, simulated in pairs]
    assert within_one_share(differences) == near.count(True) / len(pairs)


@pytest.mark.parametrize("often", [0.02, 0.05])
def test_the_interval_contains_the_true_mean_where_few_pairs_differ_by_a_period(often):
    """Of 400 jobs of 60 pairs about 380 intervals contain zero; for these draws, at least 372."""
    draws = random.Random(5)
    weights = [often / 2, 0.07, 1 - often - 0.14, 0.07, often / 2]
    found = [t_interval(draws.choices([-10, -1, 0, 1, 10], weights, k=60)) for _ in range(400)]
    assert 372 <= sum(one.contains_zero for one in found) <= 398


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
    error = math.sqrt(exact * (1 - exact) / SHUFFLES)
    assert ks_permutation_p(real, simulated, "a test") == pytest.approx(exact, abs=4 * error + 2 / SHUFFLES)


@given(PAIRS)
@settings(max_examples=30, deadline=None)
def test_exchanging_real_and_simulated_reverses_signs_and_keeps_p(pairs):
    real, simulated = [one for one, _ in pairs], [one for _, one in pairs]
    differences = [one - other for one, other in pairs]
    found, reversed_ = (t_interval([sign * one for one in differences]) for sign in (1, -1))
    assert found.mean == -reversed_.mean
    assert found.low == pytest.approx(-reversed_.high, abs=1e-9)
    assert found.high == pytest.approx(-reversed_.low, abs=1e-9)
    p, other_p = ks_permutation_p(real, simulated, "key"), ks_permutation_p(simulated, real, "key")
    assert abs(p - other_p) < 0.05 and ks_distance(real, simulated) == ks_distance(simulated, real)


@given(COUNTS)
@settings(max_examples=30, deadline=None)
def test_equal_pairs_give_a_difference_of_zero_and_p_of_one(values):
    found = t_interval([0 for _ in values])
    assert (found.mean, found.low, found.high) == (0, 0, 0)
    assert ks_permutation_p(values, values, "key") == 1
    assert judge(found, len(values), oracle.mean(values), 1.0).word == EQUAL


@given(PAIRS, some.integers(-50, 50))
@settings(max_examples=30, deadline=None)
def test_adding_to_every_real_figure_moves_the_interval_and_keeps_its_width(pairs, shift):
    differences = [real - simulated for real, simulated in pairs]
    found = t_interval(differences)
    moved = t_interval([one + shift for one in differences])
    assert moved.mean == pytest.approx(found.mean + shift, abs=1e-9)
    assert moved.high - moved.low == pytest.approx(found.high - found.low, abs=1e-9)


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
    ("differences", "real_mean", "word"),
    [
        ([0.0] * 4, 0, EQUAL),
        ([0.4] * 3, 0, EQUAL),  # below half a message
        ([0.6] * 3, 0, DIFFERENT),
        ([2.9] * 3, 100, EQUAL),  # below 3 % of the mean
        ([3.1] * 3, 100, DIFFERENT),
        ([-3.1] * 3, 100, DIFFERENT),
        ([1, -1, 1, -1], 10, NOT_DECIDED),  # contains zero, and is wide
        ([5.0, 5.1, 5.0, 5.1], 10, DIFFERENT),
        ([0.3, 0.6, 0.3, 0.6], 10, NOT_DECIDED),  # excludes zero, and reaches beyond half a message
        ([0] * 199 + [-98], 60, EQUAL),
        ([0] * 19 + [-98], 60, NOT_DECIDED),  # one pair of twenty differs by a snapshot period
    ],
)
def test_only_a_whole_interval_within_the_limit_is_equal(differences, real_mean, word):
    found = judge(t_interval(differences), len(differences), real_mean, 0.5)
    assert found.word == word
    assert (found.further_runs is not None) == (word == NOT_DECIDED)


@given(PAIRS, some.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_a_wider_interval_with_the_same_mean_is_never_decided_instead(pairs, real_mean):
    differences = [real - simulated for real, simulated in pairs]
    found = t_interval(differences)
    wider = Interval(found.mean, found.mean - 2 * found.half, found.mean + 2 * found.half)
    first, second = (judge(one, len(pairs), real_mean, 0.5).word for one in (found, wider))
    assert second in (first, NOT_DECIDED)


def test_a_small_p_is_said_and_decides_nothing():
    found = judge(t_interval([0.1] * 4), 4, 10, 0.003)
    assert found.word == EQUAL and "different distributions: p = 0.003" in found.because
    assert "p =" not in judge(t_interval([0.1] * 4), 4, 10, 0.5).because


@given(
    some.lists(some.integers(-20, 20), min_size=3, max_size=30),
    some.floats(0.4, 6),
)
@settings(max_examples=50, deadline=None)
def test_the_further_runs_are_the_fewest_whose_interval_would_decide(differences, limit):
    found, pairs = t_interval(differences), len(differences)
    deviation = oracle.standard_error(differences) * math.sqrt(pairs)
    distance = abs(limit - abs(oracle.mean(differences)))

    def decides(runs: int) -> bool:
        return t_quantile(0.975, runs - 1) * deviation / math.sqrt(runs) <= distance + 1e-9

    needed = runs_needed(found, pairs, limit)
    if needed is None or needed > MANY:
        assert not decides(MANY - 3)
    else:
        assert decides(needed) and (needed == 2 or not decides(needed - 1) or distance < 1e-6)


def test_a_mean_at_the_limit_is_decided_by_no_number_of_runs():
    found = judge(t_interval([0.0, 1.0] * 10), 20, 0, 0.5)
    assert (found.word, found.further_runs) == (NOT_DECIDED, None)
    assert f"Not even {number(1_000_000)} runs would decide" in found.because
