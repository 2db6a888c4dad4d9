"""Definitions and methods at the end of the report; only those that the page needs."""

from __future__ import annotations

from spark_reports.experiments.report.choices import circumstances
from spark_reports.experiments.report.results import Results
from spark_reports.experiments.report.words import axis_label, bound_words, millionths

Terms = list[tuple[str, str]]


def definitions(results: Results) -> Terms:
    """The terms of the page and their meaning."""
    found = _runs(results)
    if results.experiment.wanted is not None:
        found += _bound(results)
    return [*found, *_figures(results)]


def _runs(results: Results) -> Terms:
    experiment = results.experiment
    found = [
        ("Setting", "One value for each parameter. Each setting is run with the same seeds."),
        (
            "Seed",
            "Decides every random draw of a run: arrivals, processing times, latencies. With another seed "
            "the same setting has other traffic.",
        ),
    ]
    if experiment.phases > 1 or experiment.drawn or experiment.by_seed:
        how = (
            "drawn at random for each run"
            if experiment.drawn
            else "one for each seed, evenly spaced, which cover the period once"
            if experiment.by_seed
            else f"{experiment.phases} evenly spaced ones, which cover the period once"
        )
        found.append(
            (
                "Phase",
                "How much later than written the failure begins. What it costs repeats with a period (that "
                f"of snapshots or commits), so one instant would be an accident. The phases are {how}.",
            )
        )
    found.append(
        (
            "Order of settings",
            "From the cheapest to the most expensive: parameters are compared one after the other, first "
            "those for which the experiment says what is cheaper, then the others in the order of their "
            "values.",
        )
    )
    return found


def _bound(results: Results) -> Terms:
    wanted = results.experiment.wanted
    assert wanted is not None
    share, confidence = millionths(wanted.share_millionths), millionths(wanted.confidence_millionths)
    names = [axis_label(results.experiment, path) for path in circumstances(results.experiment)]
    found = []
    if names:
        found.append(
            (
                "Circumstances",
                f"The experiment says of no value of {' and '.join(names)} that it is cheaper. These are no "
                "choices: the answer has to meet the bound for each of their values.",
            )
        )
    return [
        *found,
        (
            "Within the bound",
            f"A run with {bound_words(results.experiment, wanted)}. A failed run, and one that never reached "
            "what is measured, is not within.",
        ),
        (
            "Lower bound of the share",
            f"With {confidence} confidence at least this share of failures is within the bound: the exact "
            "one-sided interval of Clopper and Pearson. Between evenly spaced phases a measure may rise "
            "further. So a run counts here only if it is within the bound up to the next phase too, where "
            "the trends on both sides are continued.",
        ),
        (
            "Independent runs",
            "Runs of one seed share everything up to the failure, so they are alike. Their number is divided "
            "by the design effect (how much the means of seeds vary, compared with independent runs) and "
            "reduced for few seeds, as Korn and Graubard do for surveys. If every seed gives the same runs, "
            "or there is one seed, the phases are an enumeration. Then nothing is random, and no confidence "
            "is claimed.",
        ),
        (
            "Verdict",
            f"Meets it: the lower bound of the share is at least {share}. Misses it: the upper bound, with "
            "the same confidence, is below. Else the runs are too few to tell. The confidence is that of one "
            "setting.",
        ),
    ]


def _figures(results: Results) -> Terms:
    return [
        (
            "Mean, with 95 % interval",
            "Student's t interval over the means of the seeds; over the runs where each seed has one, or "
            "where one seed has drawn phases.",
        ),
        (
            "Median, p95, with 95 % interval",
            "Nearest ranks. The interval is between two order statistics, which holds for any distribution "
            "(Woodruff's interval where runs are alike). An open end (…) means that so few runs have no such "
            "bound.",
        ),
        (
            "Larger than that, at most",
            "With 95 % confidence at most this share of failures exceeds the largest value that was seen.",
        ),
        (
            "In closed form",
            "What follows from the setting without a run, for regular traffic and acks in order; – where no "
            "closed form covers the run.",
        ),
        (
            "Share of the variance",
            "Analysis of variance over all runs of the grid, each setting with equal weight. The share of a "
            "parameter is its main effect (Sobol's first-order index on the grid), of two parameters (×) "
            "their interaction. The rest is between runs of the same setting.",
        ),
    ]
