"""The answer of an experiment as one sentence, and the sentence below it.

Rules: a text is a list of pieces, each a mark (`b` for the main figure, `harm` for a failure, or none) and
plain text. A confidence is claimed only where runs are a sample. Words about an enumeration say so.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from markupsafe import Markup

from simulator.experiments import Experiment, Point, Wanted
from spark_reports.experiments.report.choices import MILLION, Choice, Setting, circumstances
from spark_reports.experiments.report.figures import SAMPLED, Ends
from spark_reports.experiments.report.results import Results
from spark_reports.html.numbers import number, plural, span

# --- texts of settings, amounts, shares and intervals for the report of an experiment


SETTINGS = "settings."


NOT_BY_THE_END = "not by the end"
"""The value of a run that ended before it reached what is measured."""


def axis_label(experiment: Experiment, path: str) -> str:
    """A short name of a parameter: a broker setting without its section, any other path as it is."""
    short = path.removeprefix(SETTINGS)
    others = [axis.path for axis in experiment.axes if axis.path != path]
    return path if short in others else short


def setting_words(experiment: Experiment, point: Point) -> str:
    """The values of a point as a phrase; of an experiment without parameters, the scenario."""
    return _values_words(experiment, point.values)


def choice_words(experiment: Experiment, choice: Choice) -> str:
    """The chosen values as a phrase."""
    return _values_words(experiment, choice.values)


def _values_words(experiment: Experiment, values: dict[str, str]) -> str:
    words = [f"{axis_label(experiment, path)} {value}" for path, value in values.items()]
    return ", ".join(words) if words else "the scenario as it is written"


def short_setting(experiment: Experiment, point: Point) -> str:
    """The values of a point as a label of a curve."""
    if len(point.values) == 1:
        return next(iter(point.values.values()))
    return ", ".join(point.values.values()) or "the scenario"


def amount(value: int | None, unit: str) -> str:
    """A whole value of a measure with its unit; a dash for none."""
    if value is None:
        return "–"
    return span(value) if unit == "us" else number(value)


def mean_amount(value: float | None, unit: str) -> str:
    """A mean with its unit; a count has one decimal, below 10 two."""
    if value is None:
        return "–"
    if unit == "us":
        return span(round(value))
    if value == round(value):
        return number(round(value))
    digits = 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}".replace(",", " ").replace("-", "−")


def noun_amount(value: float | None, title: str, unit: str) -> str:
    """A mean with its noun: `12.4 duplicates`, or the span of a duration."""
    words = mean_amount(value, unit)
    return words if unit == "us" else f"{words} {title}"


def interval_words(ends: Ends | None, unit: str) -> str:
    """Both ends of an interval; "" for none. An open end is `…`."""
    if ends is None:
        return ""
    low, high = ("…" if end is None else mean_amount(end, unit) for end in ends)
    return f"{low} to {high}"


def percent(share: float, digits: int = 1) -> str:
    """A share; one that is not 0 or 1 is never rounded to it, so that `100 %` means all."""
    shown = round(100 * share, digits)
    step = 10.0**-digits
    if share < 1 and shown >= 100:
        shown = 100 - step
    if share > 0 and shown <= 0:
        shown = step
    return f"{shown:.{digits}f}".removesuffix(f".{'0' * digits}") + " %"


def percent_down(share: float, digits: int = 2) -> str:
    """A lower bound, rounded down."""
    scale = 10.0 ** (digits + 2)
    shown = math.floor(round(share * scale, 6)) / 10.0**digits
    return f"{shown:.{digits}f}".rstrip("0").rstrip(".") + " %"


def millionths(share: int) -> str:
    """A wanted share as it was written."""
    return f"{100 * share / MILLION:.4f}".rstrip("0").rstrip(".") + " %"


def breakable(text: str) -> Markup:
    """A name in which a line may end before a capital letter and after a dot."""
    return Markup("<wbr>").join(re.split(r"(?<=[a-z])(?=[A-Z])|(?<=\.)(?=\w)", text))


def bound_words(experiment: Experiment, wanted: Wanted) -> str:
    """The bound as a phrase: `duplicates at or below 50`."""
    measure = next(one for one in experiment.measures if one.name == wanted.measure)
    return f"{measure.title} at or below {amount(wanted.at_most, measure.unit)}"


def coverage(results: Results, setting: Setting) -> str:
    """Sentences for readers who want to know what an interval is about."""
    design = setting.design
    if not len(setting.runs.runs):
        return "This setting has no runs yet."
    phases = f"{number(design.phases)} {'drawn' if design.drawn else 'evenly spaced'} phases"
    seeds = plural(design.seeds, "seed", "seeds")
    if design.kind == SAMPLED:
        if design.drawn and design.seeds == 1:
            covered = "the interval covers the instant of the failure, not other traffic"
            return f"{_cap(phases)} of one seed: {covered}."
        worth = setting.judged.independent if setting.judged else None
        if design.by_seed:
            return (
                f"{_cap(seeds)}, each at a phase of its own; the phases cover a whole period: the interval "
                "covers the traffic and the instant of the failure."
            )
        words = _sampled(design.drawn, design.phases, seeds, phases)
        if worth is not None and worth < len(setting.runs.runs):
            words += (
                f" Runs of one seed are alike: {number(len(setting.runs.runs))} runs count as "
                f"{number(int(worth))} independent ones."
            )
        return words
    if design.phases == 1:
        same = "Every seed gives the same run" if design.same_in_every_seed else "One run"
        return f"{same}, with the failure at one instant: other instants are not covered."
    same = (
        f"All {seeds} give the same runs, so they are no sample"
        if design.same_in_every_seed
        else "There is one seed, so other traffic is not covered"
    )
    return f"{_cap(phases)} cover a whole period. {same}, and no confidence is claimed."


def _sampled(drawn: bool, phases: int, seeds: str, words: str) -> str:
    if phases == 1 and not drawn:
        return f"{_cap(seeds)}, with the failure at one instant: the interval covers the traffic only."
    covered = (
        "traffic and instant of the failure" if drawn else "the traffic; the phases cover a whole period"
    )
    return f"{_cap(seeds)}, each with {words}: the interval covers {covered}."


def _cap(text: str) -> str:
    return text[:1].upper() + text[1:]


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
    """The answer of the experiment; it says when runs ended before their backlogs had drained."""
    answer = _answer_of(results)
    if not results.delivering:
        return answer
    runs = "1 run was" if results.delivering == 1 else f"{number(results.delivering)} runs were"
    note = f"{runs} still delivering at the end, so numbers of messages are at least these."
    pieces = answer.pieces
    if answer.verdict == "measured" and results.main.unit == "count":
        pieces = [("harm", "At least: "), *pieces]
    return Answer(answer.verdict, pieces, f"{note} {answer.more}".strip())


def _answer_of(results: Results) -> Answer:
    if not results.present:
        return Answer("no-runs", [("", "No run has finished yet.")], "")
    if not results.finished:
        text = f" of {plural(results.present, 'run', 'runs')} finished. The reasons are below."
        return Answer("failed", [("harm", "None"), ("", text)], "")
    wanted = results.experiment.wanted
    if wanted is None:
        return Answer("measured", _measured(results), coverage(results, results.settings[0]))
    if results.chosen is not None:
        return Answer("meets", _meets(results, wanted, results.chosen), _after_meets(results, results.chosen))
    closest = results.closest
    if results.all_miss:
        return Answer("misses", _misses(results, wanted, closest), coverage(results, closest.weakest))
    return Answer("undecided", _undecided(results, wanted), coverage(results, closest.weakest))


def failure_noun(experiment: Experiment) -> str:
    """What the runs are examples of: failovers where one is commanded, else failures."""
    commands = experiment.scenario_at(experiment.points[0]).commands
    return "failovers" if any(spec.do.endswith(".fail-over") for spec in commands) else "failures"


def _meets(results: Results, wanted: Wanted, chosen: Choice) -> Pieces:
    experiment, measure = results.experiment, results.main
    noun = failure_noun(experiment)
    pieces = [
        ("b", _capital(choice_words(experiment, chosen))),
        ("", f" keeps {measure.title} at or below "),
        ("b", amount(wanted.at_most, measure.unit)),
    ]
    each = _for_every(experiment)
    if chosen.sampled:
        return [
            *pieces,
            ("", " in "),
            ("b", millionths(wanted.share_millionths)),
            ("", f" of {noun}{each} ({millionths(wanted.confidence_millionths)} confidence, "),
            ("", f"{plural(chosen.runs, 'run', 'runs')})."),
        ]
    phases = chosen.weakest.design.phases
    if phases == 1:
        return [*pieces, ("", f"{each} at the "), ("b", "one instant"), ("", " of the failure that was run.")]
    return [
        *pieces,
        ("", " in "),
        ("b", millionths(wanted.share_millionths)),
        ("", f" of {noun}{each}, over {number(phases)} phases that cover the period evenly."),
    ]


def _for_every(experiment: Experiment) -> str:
    """Under which circumstances a choice meets the bound, as a phrase."""
    names = [axis_label(experiment, path) for path in circumstances(experiment)]
    if not names:
        return ""
    return f" for every value of {' and '.join(names)}"


def _after_meets(results: Results, chosen: Choice) -> str:
    parts = [coverage(results, chosen.weakest)]
    choices = len(results.choices)
    if choices > 1 and chosen.sampled:
        if results.choice_holds:
            parts.append(
                "Every more expensive setting meets it too, so the confidence also holds for the choice."
            )
        else:
            parts.append(
                f"The confidence is that of this setting alone, not of a choice among {number(choices)}."
            )
    undecided = results.cheaper_undecided
    if undecided:
        few = "runs" if undecided[0].sampled else "phases"
        parts.append(
            f"{plural(len(undecided), 'cheaper setting has', 'cheaper settings have')} too few {few}: "
            f"{choice_words(results.experiment, undecided[0])} {_needs(results, undecided[0])}."
        )
    return " ".join(parts)


def _misses(results: Results, wanted: Wanted, closest: Choice) -> Pieces:
    experiment = results.experiment
    what = "No setting" if experiment.axes else "The scenario does not keep"
    keeps = " keeps " if experiment.axes else " "
    return [
        ("harm", what),
        ("", f"{keeps}{bound_words(experiment, wanted)} in "),
        ("b", millionths(wanted.share_millionths)),
        ("", f" of {failure_noun(experiment)}{_for_every(experiment)}. {_closest(results, closest)} in "),
        ("b", percent(max(0.0, closest.weakest.share_within))),
        ("", f" of {plural(len(closest.weakest.runs.runs), 'run', 'runs')}{_at_worst(experiment, closest)}."),
    ]


def _closest(results: Results, closest: Choice) -> str:
    if not results.experiment.axes:
        return "It does"
    return f"The closest is {choice_words(results.experiment, closest)}, which does"


def _at_worst(experiment: Experiment, choice: Choice) -> str:
    """The circumstances of a choice's weakest setting, as a phrase."""
    weakest = choice.weakest.point.values
    words = [f"{axis_label(experiment, path)} {weakest[path]}" for path in circumstances(experiment)]
    return f" with {', '.join(words)}" if words else ""


def _undecided(results: Results, wanted: Wanted) -> Pieces:
    experiment, closest = results.experiment, results.closest
    if closest.within == closest.runs:
        share = f"all of {plural(closest.runs, 'run', 'runs')}"
    else:
        weakest = closest.weakest
        runs = len(weakest.runs.runs)
        inside = number(round(max(0.0, weakest.share_within) * runs))
        share = f"{inside} of {plural(runs, 'run', 'runs')}{_at_worst(experiment, closest)}"
    what = "whether a setting keeps" if experiment.axes else "whether the scenario keeps"
    few = "runs" if closest.sampled else "phases"
    best = choice_words(experiment, closest) if experiment.axes else "it"
    return [
        ("b", f"Too few {few} to tell"),
        ("", f" {what} {bound_words(experiment, wanted)} in {millionths(wanted.share_millionths)}"),
        ("", f" of {failure_noun(experiment)}{_for_every(experiment)}: {best} did in {share}"),
        ("", f" and {_needs(results, closest)}."),
    ]


def _needs(results: Results, choice: Choice) -> str:
    """How many runs or phases would decide, as the predicate of a sentence."""
    assert results.experiment.wanted is not None
    needed, few = choice.needed, "runs" if choice.sampled else "phases"
    if needed is None:
        return f"would not show it with any number of {few} if its share stayed the same"
    each = " in each setting" if len(choice.settings) > 1 else ""
    if choice.sampled:
        confidence = millionths(results.experiment.wanted.confidence_millionths)
        return f"needs about {number(needed)} runs{each} for {confidence} confidence"
    return f"needs {number(needed)} evenly spaced phases, or drawn phases"


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
