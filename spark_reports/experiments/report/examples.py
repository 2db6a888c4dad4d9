"""The median and the worst run of each setting, and how a reader opens them at the failure.

Rules: of equal runs it is the first. A run that never reached what is measured is worse than every number.
With an address of the site a run is a link there; without one its complete scenario is inside the page, as a
file to save, so that it also works in a page that is attached to an e-mail.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass

import numpy as np

from simulator.experiments import expected, first_fault_us, replayed
from spark_reports.experiments.report.choices import Setting
from spark_reports.experiments.report.results import Results

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
