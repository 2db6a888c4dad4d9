"""Texts of settings, amounts, shares and intervals for the report of an experiment."""

from __future__ import annotations

import math
import re

from markupsafe import Markup

from simulator.experiments import Experiment, Point, Wanted
from spark_reports.experiments.report.bound import MILLION
from spark_reports.experiments.report.choices import Choice
from spark_reports.experiments.report.figures import Ends
from spark_reports.html.numbers import number, span

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
