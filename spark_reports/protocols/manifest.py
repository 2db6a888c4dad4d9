"""What a protocol declares to reports: the counting of its runs, and the texts of page and downloads.

Rules: each protocol has one `MANIFEST` in `spark_reports/protocols/<name>/manifest.py`, listed in
`spark_reports/protocols/table.py`. Every other module uses the manifest of a run's protocol and names no
protocol (`tests/test_protocol_folders.py`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from markupsafe import Markup
from pyspark.sql import DataFrame

from spark_reports.progress import Lanes, Step
from spark_reports.read import TraceInput

Run = dict[str, Any]
"""A run in `report.json`, which `spark_reports.runs.run_of` makes and a part completes."""

Figure = tuple[str, dict[str, Any]]
"""The id of a chart's place on the page, and its Plotly figure."""


class Part(Protocol):
    """The counting of one protocol's traces in one report. `runs` is complete after the last step."""

    runs: list[Run]

    def steps(self) -> Sequence[Step | Lanes]:
        """Name and work of each step, in order. Steps of lanes do not depend on each other's."""

    def deliveries(self) -> tuple[DataFrame, int]:
        """The classified deliveries with the columns of deliveries.parquet, and their number."""

    def release(self) -> None:
        """Free the frames that were kept."""


class Heading(NamedTuple):
    """The title of a page and the kind of report that its first line names."""

    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class PageParts:
    """What a protocol adds to the page, from its runs.

    `alone` means that the page is about one subject only: one run with at most one failover or group.

      - `heading(runs, alone)`: None where another protocol or the run's title should name the page.
      - `overview(runs, alone)`: HTML of its lists over all runs.
      - `articles(runs, alone)`: HTML of each subject in full, in order.
      - `figures(runs)`: the charts that the articles have places for.
      - `definitions`: (term, meaning) for the end of the page.
    """

    heading: Callable[[list[Run], bool], Heading | None]
    overview: Callable[[list[Run], bool], list[Markup]]
    articles: Callable[[list[Run], bool], list[Markup]]
    figures: Callable[[list[Run]], list[Figure]]
    definitions: tuple[tuple[str, str], ...]


class Command(NamedTuple):
    """A command of `python -m spark_reports` that one protocol adds.

    `run` gets the parsed arguments, prints what is wrong on standard error, and returns the exit code.
    """

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One protocol's declaration to reports.

    - `name`: as in `simulator.protocols`.
    - `part(report, inputs)`: its counting. `report` is the `FailoverReport` in progress.
    - `subjects(run)`: the subjects of a run's report, its failovers or groups.
    - `page`: see `PageParts`.
    - `csv_columns`, `csv_lines(run)`: of figures.csv.
    - `result_lines(run)`: the lines that the command line prints at the end.
    - `commands`: see `Command`.
    """

    name: str
    part: Callable[[Any, list[TraceInput]], Part]
    subjects: Callable[[Run], Sequence[Any]]
    page: PageParts
    csv_columns: tuple[str, ...]
    csv_lines: Callable[[Run], list[dict[str, Any]]]
    result_lines: Callable[[Run], list[str]]
    commands: tuple[Command, ...] = ()
