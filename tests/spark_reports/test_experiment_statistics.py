"""The statistics of an experiment agree with exact sums of fractions, known values and their laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from spark_reports.experiments.report.binomial import (
    at_least,
    lower_bound,
    quantile_ranks,
    runs_needed,
    upper_bound,
)
from spark_reports.experiments.report.choices import cheapest_first, judged, magnitude
from spark_reports.experiments.report.figures import (
    ENUMERATED,
    SAMPLED,
    Design,
    PointRuns,
    Values,
    design_effect,
    design_of,
    figures_of,
    independent_runs,
    runs_by_point,
    variance_shares,
)
from spark_reports.experiments.report.results import results_of
from tests.oracle import binomial_sums as oracle
from tests.spark_reports.experiment_rows import CACHE, PERIOD, experiment_of, table_of

CONFIDENCE = Fraction(95, 100)
TALLIES = some.integers(1, 40).flatmap(lambda runs: some.tuples(some.integers(0, runs), some.just(runs)))
MATRICES = some.tuples(some.integers(2, 5), some.integers(2, 5)).flatmap(
    lambda size: some.lists(
        some.lists(some.integers(0, 30), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


def runs_of(by_seed: list[list[int | None]], phase_us: int = 50_000) -> PointRuns:
    """The runs of a point, a row for each seed."""
    flat = [value for row in by_seed for value in row]
    seeds = [seed for seed, row in enumerate(by_seed, 1) for _ in row]
    phases = [phase * phase_us for row in by_seed for phase, _ in enumerate(row)]
    numbers = np.array([value or 0 for value in flat], dtype=np.int64)
    known = np.array([value is not None for value in flat], dtype=np.bool_)
    values = Values(numbers, known)
    everywhere = np.ones(len(flat), dtype=np.bool_)
    rows = np.array(seeds, dtype=np.int64)
    return PointRuns(
        0, np.arange(len(flat)), np.array(seeds), np.array(phases), everywhere, rows, {"duplicates": values}
    )


def design(by_seed: list[list[int | None]], drawn: bool = True) -> Design:
    return Design(SAMPLED, drawn, len(by_seed), len(by_seed[0]), False)


@given(TALLIES, some.integers(1, 99))
@settings(max_examples=60, deadline=None)
def test_binomial_tails_are_the_sums(tally, per_cent):
    successes, runs = tally
    exact = oracle.at_least(successes, runs, Fraction(per_cent, 100))
    assert at_least(successes, runs, per_cent / 100) == pytest.approx(float(exact), rel=1e-10, abs=1e-14)


@given(TALLIES)
@settings(max_examples=60, deadline=None)
def test_bounds_are_those_of_clopper_and_pearson(tally):
    successes, runs = tally
    low, high = lower_bound(successes, runs, 0.95), upper_bound(successes, runs, 0.95)
    assert 0 <= low <= successes / runs <= high <= 1
    if successes:
        assert oracle.encloses_lower_bound(successes, runs, CONFIDENCE, low, 1e-9)
    if successes < runs:
        assert oracle.encloses_lower_bound(runs - successes, runs, CONFIDENCE, 1 - high, 1e-9)


def test_bounds_of_known_cases():
    assert lower_bound(20, 20, 0.95) == pytest.approx(0.05 ** (1 / 20))  # all within: share**20 = 0.05
    assert lower_bound(0, 20, 0.95) == 0 and upper_bound(20, 20, 0.95) == 1
    assert round(lower_bound(8, 10, 0.95), 4) == 0.4931  # as in printed tables of one-sided limits
    assert lower_bound(990_000, 1_000_000, 0.95) == pytest.approx(0.98983, abs=1e-5)


@pytest.mark.parametrize("per_cent", [50, 90, 95, 99])
def test_the_fewest_runs_are_those_by_counting_up(per_cent):
    assert runs_needed(1.0, per_cent / 100, 0.95) == oracle.fewest_runs(Fraction(per_cent, 100), CONFIDENCE)
    assert runs_needed(per_cent / 100, per_cent / 100, 0.95) is None


def test_needed_runs_of_a_share_below_one_suffice_and_one_less_does_not():
    needed = runs_needed(0.995, 0.99, 0.95)
    assert needed is not None
    assert (
        lower_bound(0.995 * needed, needed, 0.95)
        >= 0.99
        > lower_bound(0.995 * (needed - 1), needed - 1, 0.95)
    )


@given(some.integers(1, 45), some.sampled_from([50, 90, 95]))
@settings(max_examples=60, deadline=None)
def test_ranks_enclose_a_quantile_as_tightly_as_allowed(runs, per_cent):
    assert quantile_ranks(runs, per_cent / 100, 0.95) == oracle.ranks(
        runs, Fraction(per_cent, 100), CONFIDENCE
    )


def test_ranks_of_known_cases():
    assert quantile_ranks(100, 0.5, 0.95) == (40, 61)  # the printed ranks of the median's interval
    assert quantile_ranks(59, 0.95, 0.95) == (52, None)
    assert quantile_ranks(5, 0.5, 0.95) == (None, None)


@given(MATRICES, some.booleans())
@settings(max_examples=60, deadline=None)
def test_the_design_effect_is_that_of_the_definition(by_seed, drawn):
    runs = runs_of(by_seed)
    found = design_effect(
        design(by_seed, drawn), runs, runs.measures["duplicates"].numbers.astype(np.float64)
    )
    exact = oracle.design_effect(by_seed, drawn)
    assert found is None if exact is None else found == pytest.approx(float(exact), abs=1e-9)


def test_equal_runs_of_a_seed_count_as_one_and_unrelated_ones_count_fully():
    alike = [[seed] * 10 for seed in range(40)]
    runs = runs_of(alike)
    figure = runs.measures["duplicates"].numbers.astype(np.float64)
    # All runs of a seed are equal: 40 seeds, less the factor for few seeds, (t(399) / t(39))² = 0.958.
    assert independent_runs(design(alike), runs, 0.95, figure) == pytest.approx(40 * 0.958, abs=0.2)
    # Each seed has the same ten values: the means of seeds do not vary, and no seed counts for less.
    mixed = [list(range(10)) for _ in range(40)]
    runs = runs_of(mixed)
    figure = runs.measures["duplicates"].numbers.astype(np.float64)
    assert independent_runs(design(mixed), runs, 0.95, figure) == pytest.approx(400 * 0.958, abs=2)


def test_without_variation_each_seed_counts_as_one_run():
    still = [[7] * 10 for _ in range(40)]
    runs = runs_of(still)
    figure = runs.measures["duplicates"].numbers.astype(np.float64)
    assert independent_runs(design(still), runs, 0.95, figure) == pytest.approx(40 * 0.958, abs=0.2)
    assert independent_runs(design([[7]] * 40), runs_of([[7]] * 40), 0.95, figure[:40]) == 40


@given(some.lists(some.integers(0, 40), min_size=3, max_size=12), some.integers(0, 50))
@settings(max_examples=60, deadline=None)
def test_a_run_is_safely_within_if_no_phase_up_to_the_next_one_exceeds_the_bound(values, bound):
    experiment = experiment_of(
        f"phases: {len(values)}\nwanted: {{measure: duplicates, at_most: {bound}, share: 90%}}"
    )
    assert experiment.wanted is not None
    runs = runs_of([values])
    found = judged(experiment.wanted, Design(ENUMERATED, False, 1, len(values), False), runs)
    reached = oracle.reaches([Fraction(value) for value in values])
    assert found.within == sum(value <= bound for value in values)
    assert found.safely_within == sum(value <= bound for value in reached)
    assert found.low == found.safely_within / len(values) <= found.high


def test_a_ramp_needs_finer_phases_near_its_top():
    # Duplicates rise by 1 with each phase and fall once a period: 0 … 19. The last phase goes on to 20.
    experiment = experiment_of("phases: 20\nwanted: {measure: duplicates, at_most: 19, share: 99%}")
    assert experiment.wanted is not None
    ramp = Design(ENUMERATED, False, 1, 20, False)
    found = judged(experiment.wanted, ramp, runs_of([list(range(20))]))
    assert (found.verdict, found.within, found.safely_within) == ("undecided", 20, 19)
    assert found.needed == 100  # one uncertain stretch of 100 leaves 99 %
    roomy = experiment_of("phases: 20\nwanted: {measure: duplicates, at_most: 20, share: 99%}").wanted
    assert roomy is not None and judged(roomy, ramp, runs_of([list(range(20))])).verdict == "meets"


def test_the_lower_bound_is_rarely_above_the_true_share_when_runs_of_a_seed_are_alike():
    random = np.random.Generator(np.random.PCG64(16))
    wanted = experiment_of(
        "phases: {drawn: 10}\nwanted: {measure: duplicates, at_most: 12, share: 90%}"
    ).wanted
    assert wanted is not None
    above = 0
    tries = 300
    # Half of the spread is that of the seed. Normal(10, sqrt(2)): at most 12.49 in 96.1 % of the runs.
    true_share = 0.961
    for _ in range(tries):
        seeds = random.normal(10, 1, 30)[:, None]
        values = np.rint(seeds + random.normal(0, 1, (30, 10))).astype(int).tolist()
        above += judged(wanted, design(values), runs_of(values)).low > true_share
    assert above <= 0.05 * tries + 11  # three standard deviations


GRID = experiment_of(f"seeds: 2\nphases: 3\ngrid:\n  {PERIOD}: [250, 500, 1000]\n  {CACHE}: [5, 30]")


def test_the_lower_bound_covers_the_instants_between_the_phases():
    random = np.random.Generator(np.random.PCG64(17))
    text = "seeds: 60\nphases: 10\nwanted: {measure: duplicates, at_most: 17, share: 80%}"
    wanted = experiment_of(text).wanted
    assert wanted is not None
    # Over a period duplicates rise from 0 to 20, with a spread of 1: at most 17 in 87.5 % of all instants. At the
    # phases run, the last one at 18, it is 92.4 %.
    evenly_spaced = Design(SAMPLED, False, 60, 10, False)
    for _ in range(20):
        values = np.rint(2 * np.arange(10) + random.normal(0, 1, (60, 10))).astype(int).tolist()
        found = judged(wanted, evenly_spaced, runs_of(values))
        assert found.low < 0.875 < found.within / found.runs


@given(some.lists(some.integers(0, 9), min_size=36, max_size=36))
@settings(max_examples=30, deadline=None)
def test_shares_of_the_variance_are_those_of_the_definition(values):
    periods, caches = ["250", "500", "1000"], ["5", "30"]
    points = list(product(periods, caches))
    numbers = {point: values[6 * place : 6 * place + 6] for place, point in enumerate(points)}
    found = variance_shares(
        GRID, [runs_of([numbers[point][:3], numbers[point][3:]]) for point in points], "duplicates"
    )
    if len(set(values)) == 1:
        assert found is None
        return
    exact, within = oracle.variance_shares([periods, caches], numbers.__getitem__)
    assert found is not None
    shares = {one.paths: one.share for one in found if one.paths}
    assert shares[(PERIOD,)] == pytest.approx(float(exact[(0,)]), abs=1e-12)
    assert shares[(CACHE,)] == pytest.approx(float(exact[(1,)]), abs=1e-12)
    assert shares[PERIOD, CACHE] == pytest.approx(float(exact[0, 1]), abs=1e-12)
    assert sum(one.share for one in found if not one.paths) == pytest.approx(float(within), abs=1e-12)
    assert sum(one.share for one in found) == pytest.approx(1, abs=1e-12)


@given(some.lists(some.none() | some.integers(0, 99), min_size=1, max_size=70))
@settings(max_examples=60, deadline=None)
def test_figures_are_nearest_ranks_with_runs_without_a_value_above_all(values):
    by_seed = [[value] for value in values]
    found = figures_of(design(by_seed), runs_of(by_seed), "duplicates")
    known = sorted(value for value in values if value is not None)
    ordered = [*known, *[None] * (len(values) - len(known))]
    assert (found.known, found.never) == (len(known), len(values) - len(known))
    assert found.median == ordered[-(-len(values) // 2) - 1]
    assert found.p95 == ordered[-(-95 * len(values) // 100) - 1]
    assert found.mean == (pytest.approx(sum(known) / len(known)) if known else None)
    low, high = oracle.ranks(len(values), Fraction(1, 2), CONFIDENCE)
    assert found.median_interval == tuple(None if rank is None else ordered[rank - 1] for rank in (low, high))


def test_an_enumeration_has_figures_and_no_intervals():
    experiment = experiment_of("seeds: 3\nphases: 4")
    runs = results_of(experiment, table_of(experiment, lambda _, seed, phase: phase), False).settings[0]
    assert (runs.design.kind, runs.design.same_in_every_seed) == (ENUMERATED, True)
    figures = runs.figures["duplicates"]
    assert (figures.mean, figures.median, figures.largest) == (1.5, 1, 3)
    assert figures.mean_interval is figures.median_interval is figures.beyond is None


def test_seeds_that_differ_in_anything_make_a_sample():
    experiment = experiment_of("seeds: 3\nphases: 4")
    names = [one.name for one in experiment.measures]
    for more in ({"lost": lambda _, seed, phase: int(seed == 2)}, {"rows": lambda _, seed, phase: seed}):
        table = table_of(experiment, lambda _, seed, phase: phase, **more)
        assert design_of(experiment, runs_by_point(experiment, table, names)[0]).kind == SAMPLED


@pytest.mark.parametrize(
    "text, number",
    [
        ("500", 500),
        ("1.5s", 1_500_000),
        ("40ms", 40_000),
        ("1KiB", 1024),
        ("5%", 5),
        ("100/s", 100),
        ("on", None),
    ],
)
def test_values_are_ordered_by_what_they_stand_for(text, number):
    assert magnitude(text) == number


def test_settings_are_ordered_by_cost_one_parameter_after_the_other():
    experiment = experiment_of(
        f"grid:\n  {CACHE}: [5, 30]\n  {PERIOD}: [500, 4000, 1000]\nphases: 1\n"
        f"cheaper:\n  {PERIOD}: larger\n  {CACHE}: smaller"
    )
    order = [(one.values[PERIOD], one.values[CACHE]) for one in cheapest_first(experiment)]
    assert order == [(period, cache) for period in ("4000", "1000", "500") for cache in ("5", "30")]
