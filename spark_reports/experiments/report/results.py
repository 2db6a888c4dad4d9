"""Everything that the page and the JSON file show, computed once from the runs.

Rules: settings are in the order of their cost. The main measure is that of the wanted bound, else the
first one. Nothing here formats text.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.experiments import Experiment, Measure, expected, first_fault_us, replayed
from spark_reports.experiments.report.choices import (
    MEETS,
    MISSES,
    UNDECIDED,
    Choice,
    Setting,
    cheapest_first,
    choices_of,
    judged,
)
from spark_reports.experiments.report.figures import (
    FINISHED,
    Share,
    design_of,
    figures_of,
    runs_by_point,
    variance_shares,
)

FAILED_MOST = 100
"""The most failed runs that are listed one by one."""


@dataclass(frozen=True)
class Failed:
    """A run that failed, as in its row."""

    run: int
    point: int
    seed: int
    phase_us: int | None
    reason: str


@dataclass(frozen=True)
class Results:
    """The settings from the cheapest on, and what concerns all of them."""

    experiment: Experiment
    settings: tuple[Setting, ...]
    shares: tuple[Share, ...] | None
    failed: tuple[Failed, ...]
    reasons: tuple[tuple[str, int], ...]
    partial: bool
    delivering: int = 0

    @cached_property
    def main(self) -> Measure:
        """The measure that the answer is about."""
        wanted = self.experiment.wanted
        measures = self.experiment.measures
        return next((one for one in measures if wanted and one.name == wanted.measure), measures[0])

    @property
    def present(self) -> int:
        """Runs in the table."""
        return sum(len(one.runs.runs) for one in self.settings)

    @property
    def missing(self) -> int:
        """Runs that are not in the table."""
        return self.experiment.runs - self.present

    @property
    def failures(self) -> int:
        """Runs that failed."""
        return sum(count for _, count in self.reasons)

    @property
    def finished(self) -> int:
        """Runs with figures."""
        return self.present - self.failures

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """What can be chosen, from the cheapest on."""
        return choices_of(self.experiment, self.settings)

    @cached_property
    def chosen(self) -> Choice | None:
        """The cheapest choice that meets the wanted bound."""
        wanted = self.experiment.wanted is not None
        return next((one for one in self.choices if wanted and one.verdict == MEETS), None)

    @cached_property
    def closest(self) -> Choice:
        """The choice whose weakest setting has the largest share within; of equal ones the cheapest."""
        return max(self.choices, key=lambda one: one.weakest.share_within)

    @cached_property
    def cheaper_undecided(self) -> tuple[Choice, ...]:
        """Choices without a verdict that are cheaper than the chosen one; all, if none is chosen."""
        end = len(self.choices) if self.chosen is None else self.choices.index(self.chosen)
        return tuple(one for one in self.choices[:end] if one.verdict == UNDECIDED)

    def spread(self, most: int) -> list[Setting]:
        """At most so many settings with a value, evenly spread, with the weakest of the choice."""
        settings = [one for one in self.settings if one.figures[self.main.name].known]
        if len(settings) <= most:
            return settings
        places = [at * (len(settings) - 1) // (most - 1) for at in range(most)]
        if self.chosen is not None:
            chosen = next(at for at, one in enumerate(settings) if one is self.chosen.weakest)
            if chosen not in places:
                places[min(range(1, most - 1), key=lambda at: abs(places[at] - chosen))] = chosen
        return [settings[place] for place in sorted(places)]

    @property
    def choice_holds(self) -> bool:
        """Whether every more expensive choice meets the bound too.

        Then the choice is the end of a sequence of tests in a fixed order, from the most expensive one on,
        and has the confidence of one test.
        """
        if self.chosen is None:
            return False
        return all(one.verdict == MEETS for one in self.choices[self.choices.index(self.chosen) :])

    @property
    def all_miss(self) -> bool:
        """Whether every choice misses the bound."""
        return all(one.verdict == MISSES for one in self.choices)

    def is_chosen(self, setting: Setting) -> bool:
        """Whether a setting belongs to the answer."""
        return self.chosen is not None and any(setting is one for one in self.chosen.settings)


def results_of(experiment: Experiment, table: pa.Table, partial: bool) -> Results:
    """The results of the runs in a table. Raises ValueError for a table that is not of this experiment."""
    names = [one.name for one in experiment.measures]
    if not names:
        raise ValueError("nothing is measured in runs of this scenario; a protocol declares its measures")
    by_point = runs_by_point(experiment, table, names)
    wanted = experiment.wanted
    settings = []
    for point in cheapest_first(experiment):
        runs = by_point[point.number]
        design = design_of(experiment, runs)
        settings.append(
            Setting(
                point,
                runs,
                design,
                {name: figures_of(design, runs, name) for name in names},
                None if wanted is None else judged(wanted, design, runs),
            )
        )
    main = names[0] if wanted is None else wanted.measure
    shares = variance_shares(experiment, by_point, main) if experiment.axes else None
    rows = table.filter(pc.not_equal(table["status"], FINISHED)).sort_by("run")
    return Results(
        experiment,
        tuple(settings),
        None if shares is None else tuple(shares),
        tuple(_failed(row) for row in rows.slice(0, FAILED_MOST).to_pylist()),
        _reasons(rows),
        partial or experiment.runs > table.num_rows,
        _delivering(table),
    )


def _delivering(table: pa.Table) -> int:
    """Runs that ended before the backlog of a failover had drained; 0 in a table of an older version."""
    if "delivering" not in table.column_names:
        return 0
    return int(pc.sum(pc.greater(table["delivering"], 0)).as_py() or 0)


def _failed(row: dict[str, object]) -> Failed:
    return Failed(row["run"], row["point"], row["seed"], row["phase_us"], row["reason"] or "")  # type: ignore[arg-type]


def _reasons(rows: pa.Table) -> tuple[tuple[str, int], ...]:
    """Each reason with its number of runs, the most frequent first."""
    counted = pc.value_counts(rows["reason"].combine_chunks()).to_pylist()
    found = [(one["values"] or "", one["counts"]) for one in counted]
    return tuple(sorted(found, key=lambda one: (-one[1], one[0])))


# --- the median and the worst run of each setting, and how a reader opens them at the failure
#
# Rules: of equal runs it is the first. A run that never reached what is measured is worse than every
# number. With an address of the site a run is a link there; without one its complete scenario is inside the
# page, as a file to save, so that it also works in a page that is attached to an e-mail.


SETTINGS_MOST = 20
"""The most settings whose runs are in the page: two scenarios of about 3 KB each."""

MEDIAN, WORST = "median", "worst"


@dataclass(frozen=True)
class Example:
    """A run to open: `at_us` is the instant of its first fault, None where it has none.

    `link` leads to the site. `file` and `data` are the name and the address of the inlined scenario.
    `expected` is the least and the greatest value in closed form, None where none covers the run.
    """

    kind: str
    run: int
    seed: int
    phase_us: int
    value: int | None
    at_us: int | None
    link: str | None
    file: str
    data: str | None
    expected: tuple[int, int] | None


def examples_of(results: Results, setting: Setting, site_url: str | None) -> list[Example]:
    """The median and the worst run of a setting; none without finished runs."""
    found = []
    for kind, place in _places(results, setting):
        runs = setting.runs
        row = {
            "point": setting.point.number,
            "seed": int(runs.seeds[place]),
            "phase_us": int(runs.phases_us[place]),
        }
        scenario = replayed(results.experiment, row)
        at_us = first_fault_us(scenario)
        values = runs.measures[results.main.name]
        run, file = int(runs.runs[place]), f"run-{int(runs.runs[place])}.yaml"
        text = scenario.canonical_text.encode()
        found.append(
            Example(
                kind,
                run,
                row["seed"],
                row["phase_us"],
                int(values.numbers[place]) if values.known[place] else None,
                at_us,
                None if site_url is None else link_of(site_url, run, at_us),
                file,
                f"data:application/yaml;base64,{b64encode(text).decode()}" if site_url is None else None,
                (expected(results.experiment, row) or {}).get(results.main.name),
            )
        )
    return found


def link_of(site_url: str, run: int, at_us: int | None) -> str:
    """The address of a run below the experiment's own address on the site, at an instant."""
    at = "" if at_us is None else f"?at_us={at_us}"
    return f"{site_url.rstrip('/')}/runs/{run}/{at}"


def _places(results: Results, setting: Setting) -> list[tuple[str, int]]:
    """The place of each example among the runs of the setting."""
    figures = setting.figures[results.main.name]
    if not figures.known + figures.never:
        return []
    values = setting.runs.measures[results.main.name]
    never = setting.runs.finished & ~values.known
    median = never if figures.median is None else values.known & (values.numbers == figures.median)
    worst = never if figures.never else values.known & (values.numbers == figures.largest)
    return [(MEDIAN, int(np.argmax(median))), (WORST, int(np.argmax(worst)))]
