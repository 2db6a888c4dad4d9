"""The answer of an experiment as one sentence, and the sentence below it.

Rules: a text is a list of pieces, each a mark (`b` for the main figure, `harm` for a failure, or none) and
plain text. A confidence is claimed only where runs are a sample. Words about an enumeration say so.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.experiments import Experiment, Wanted
from spark_reports.experiments.report.coverage import coverage
from spark_reports.experiments.report.design import SAMPLED
from spark_reports.experiments.report.results import Results, Setting
from spark_reports.experiments.report.words import (
    amount,
    bound_words,
    interval_words,
    mean_amount,
    millionths,
    noun_amount,
    percent,
    setting_words,
)
from spark_reports.html.numbers import number, plural

Pieces = list[tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    """The sentence of the first screen, what follows from it, and a word for programs."""

    verdict: str
    pieces: Pieces
    more: str

    @property
    def sentence(self) -> str:
        """The sentence as plain text."""
        return "".join(text for _, text in self.pieces)


def answer_of(results: Results) -> Answer:
    """The answer of the experiment."""
    if not results.present:
        return Answer("no-runs", [("", "No run has finished yet.")], "")
    if not results.finished:
        text = f" of {plural(results.present, 'run', 'runs')} finished. The reasons are below."
        return Answer("failed", [("harm", "None"), ("", text)], "")
    wanted = results.experiment.wanted
    if wanted is None:
        return Answer("measured", _measured(results), coverage(results, results.settings[0]))
    if results.chosen is not None:
        return Answer("meets", _meets(results, wanted, results.chosen), _after_meets(results))
    closest = results.closest
    if results.all_miss:
        return Answer("misses", _misses(results, wanted, closest), coverage(results, closest))
    more = coverage(results, closest)
    return Answer("undecided", _undecided(results, wanted), more)


def failure_noun(experiment: Experiment) -> str:
    """What the runs are examples of: failovers where one is commanded, else failures."""
    commands = experiment.scenario_at(experiment.points[0]).commands
    return "failovers" if any(spec.do.endswith(".fail-over") for spec in commands) else "failures"


def _meets(results: Results, wanted: Wanted, chosen: Setting) -> Pieces:
    assert chosen.judged is not None
    experiment = results.experiment
    noun = failure_noun(experiment)
    measure = results.main
    pieces = [
        ("b", _capital(setting_words(experiment, chosen.point))),
        ("", f" keeps {measure.title} at or below "),
        ("b", amount(wanted.at_most, measure.unit)),
    ]
    if chosen.design.kind == SAMPLED:
        pieces += [
            ("", " in "),
            ("b", millionths(wanted.share_millionths)),
            ("", f" of {noun} ({millionths(wanted.confidence_millionths)} confidence, "),
            ("", f"{plural(chosen.judged.runs, 'run', 'runs')})."),
        ]
    elif chosen.design.phases == 1:
        pieces += [("", " at the "), ("b", "one instant"), ("", " of the failure that was run.")]
    else:
        pieces += [
            ("", " in "),
            ("b", millionths(wanted.share_millionths)),
            ("", f" of {noun}, over {number(chosen.design.phases)} phases that cover the period evenly."),
        ]
    return pieces


def _after_meets(results: Results) -> str:
    assert results.chosen is not None
    parts = [coverage(results, results.chosen)]
    settings = len(results.settings)
    if settings > 1 and results.chosen.design.kind == SAMPLED:
        if results.choice_holds:
            parts.append(
                "Every more expensive setting meets it too, so the confidence also holds for the choice."
            )
        else:
            parts.append(
                f"The confidence is that of this setting alone, not of a choice among {number(settings)}."
            )
    undecided = results.cheaper_undecided
    if undecided:
        cheapest = undecided[0]
        parts.append(
            f"{plural(len(undecided), 'cheaper setting has', 'cheaper settings have')} too few runs to tell; "
            f"{_needs(results, cheapest)}."
        )
    return " ".join(parts)


def _misses(results: Results, wanted: Wanted, closest: Setting) -> Pieces:
    assert closest.judged is not None
    experiment = results.experiment
    what = "No setting" if experiment.axes else "The scenario does not keep"
    keeps = " keeps " if experiment.axes else " "
    share = closest.judged.within / closest.judged.runs
    return [
        ("harm", what),
        ("", f"{keeps}{bound_words(experiment, wanted)} in "),
        ("b", millionths(wanted.share_millionths)),
        ("", f" of {failure_noun(experiment)}. {_closest(results, closest)} in "),
        ("b", percent(share)),
        ("", f" of {plural(closest.judged.runs, 'run', 'runs')}."),
    ]


def _closest(results: Results, closest: Setting) -> str:
    if not results.experiment.axes:
        return "It does"
    return f"The closest is {setting_words(results.experiment, closest.point)}, which does"


def _undecided(results: Results, wanted: Wanted) -> Pieces:
    experiment, closest = results.experiment, results.closest
    assert closest.judged is not None
    what = "whether a setting keeps" if experiment.axes else "whether the scenario keeps"
    runs = closest.judged.runs
    within = "all" if closest.judged.within == runs else number(closest.judged.within)
    few = "runs" if closest.design.kind == SAMPLED else "phases"
    return [
        ("b", f"Too few {few} to tell"),
        ("", f" {what} {bound_words(experiment, wanted)} in {millionths(wanted.share_millionths)}"),
        ("", f" of {failure_noun(experiment)}: {_best(results, closest)} did in {within} of "),
        ("", f"{plural(runs, 'run', 'runs')}; {_needs(results, closest)}."),
    ]


def _best(results: Results, closest: Setting) -> str:
    return setting_words(results.experiment, closest.point) if results.experiment.axes else "it"


def _needs(results: Results, setting: Setting) -> str:
    """How many runs or phases would decide, as a clause."""
    judged = setting.judged
    assert judged is not None and results.experiment.wanted is not None
    confidence = millionths(results.experiment.wanted.confidence_millionths)
    who = setting_words(results.experiment, setting.point)
    if judged.needed is None:
        few = "runs" if setting.design.kind == SAMPLED else "phases"
        return f"with this share no number of {few} would show it for {who}"
    if setting.design.kind == SAMPLED:
        return f"{who} needs about {number(judged.needed)} runs for {confidence} confidence"
    return f"{who} needs {number(judged.needed)} evenly spaced phases, or drawn phases"


def _measured(results: Results) -> Pieces:
    """Without a wanted bound: the settings with the smallest and the largest mean."""
    measure, experiment = results.main, results.experiment
    settings = [one for one in results.settings if one.figures[measure.name].mean is not None]
    if not settings:
        return [("b", "No run"), ("", f" has a value of: {measure.title}.")]
    least = min(settings, key=lambda one: one.figures[measure.name].mean or 0)
    most = max(settings, key=lambda one: one.figures[measure.name].mean or 0)
    low, high = (one.figures[measure.name].mean for one in (least, most))
    if len(settings) == 1 or low == high:
        figures = most.figures[measure.name]
        interval = interval_words(figures.mean_interval, measure.unit)
        covered = f" (95 % interval {interval})" if interval and len(settings) == 1 else ""
        each = f" in each of {number(len(settings))} settings" if len(settings) > 1 else ""
        return [
            ("b", noun_amount(high, measure.title, measure.unit)),
            ("", "" if measure.unit == "count" else f" {measure.title}"),
            ("", f" on average{each}{covered}; {amount(figures.largest, measure.unit)} at most in "),
            ("", f"{plural(figures.known, 'run', 'runs')}."),
        ]
    return [
        ("", f"The mean {_of(measure.title, measure.unit)} is "),
        ("b", mean_amount(low, measure.unit)),
        ("", f" with {setting_words(experiment, least.point)}, the smallest, and "),
        ("b", mean_amount(high, measure.unit)),
        ("", f" with {setting_words(experiment, most.point)}, the largest of {number(len(settings))}."),
    ]


def _of(title: str, unit: str) -> str:
    return title if unit == "us" else f"number of {title}"


def _capital(text: str) -> str:
    """The text of a sentence's beginning; names of settings keep their spelling."""
    return "The" + text[3:] if text.startswith("the ") else text
