"""The choices of an experiment: settings that differ only in circumstances belong to one choice.

Rules: with `cheaper`, the parameters that it names are chosen, and the others are circumstances, such as a
latency: a choice meets the bound if it does under each of them. Tests that must all succeed need no
correction. Without `cheaper` every parameter is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.experiments import Experiment, Point
from spark_reports.experiments.report.bound import MEETS, MISSES, UNDECIDED, Judged
from spark_reports.experiments.report.columns import PointRuns
from spark_reports.experiments.report.design import SAMPLED, Design
from spark_reports.experiments.report.figures import Figures


@dataclass(frozen=True)
class Setting:
    """A point of the grid with what was measured there."""

    point: Point
    runs: PointRuns
    design: Design
    figures: dict[str, Figures]
    judged: Judged | None

    @property
    def share_within(self) -> float:
        """The share of runs within the bound; below 0 without runs."""
        return self.judged.within / self.judged.runs if self.judged and self.judged.runs else -1.0

    @property
    def largest(self) -> int:
        """The largest value of the wanted measure."""
        return self.judged.largest if self.judged else 0


@dataclass(frozen=True)
class Choice:
    """The values that are chosen, and its settings, one for each combination of circumstances."""

    values: dict[str, str]
    settings: tuple[Setting, ...]

    @property
    def verdict(self) -> str:
        """Meets the bound, misses it, or undecided."""
        verdicts = {one.judged.verdict for one in self.settings if one.judged}
        return next((one for one in (MISSES, UNDECIDED, MEETS) if one in verdicts), UNDECIDED)

    @property
    def weakest(self) -> Setting:
        """The setting with the smallest share within the bound, of equal ones the largest value."""
        return min(
            self.settings, key=lambda one: (one.share_within, -one.judged.largest if one.judged else 0)
        )

    @property
    def runs(self) -> int:
        """The runs of all of its settings."""
        return sum(len(one.runs.runs) for one in self.settings)

    @property
    def within(self) -> int:
        """Its runs within the bound."""
        return sum(one.judged.within for one in self.settings if one.judged)

    @property
    def sampled(self) -> bool:
        """Whether a confidence belongs to it."""
        return any(one.design.kind == SAMPLED for one in self.settings)

    @property
    def needed(self) -> int | None:
        """Runs, or phases, for each of its settings that would decide; None if no number would."""
        found = [one.judged.needed for one in self.settings if one.judged and one.judged.verdict == UNDECIDED]
        known = [one for one in found if one is not None]
        return max(known) if known and len(known) == len(found) else None


def chosen_paths(experiment: Experiment) -> list[str]:
    """The parameters that are chosen, in the order of the grid."""
    paths = [axis.path for axis in experiment.axes]
    preferred = dict(experiment.cheaper)
    return [path for path in paths if path in preferred] or paths


def circumstances(experiment: Experiment) -> list[str]:
    """The parameters with several values that are not chosen."""
    chosen = chosen_paths(experiment)
    return [axis.path for axis in experiment.axes if axis.path not in chosen and len(axis.values) > 1]


def choices_of(experiment: Experiment, settings: Sequence[Setting]) -> tuple[Choice, ...]:
    """The choices, in the order of their first settings."""
    paths = chosen_paths(experiment)
    groups: dict[tuple[str, ...], list[Setting]] = {}
    for one in settings:
        groups.setdefault(tuple(one.point.values[path] for path in paths), []).append(one)
    return tuple(
        Choice(dict(zip(paths, values, strict=True)), tuple(members)) for values, members in groups.items()
    )
