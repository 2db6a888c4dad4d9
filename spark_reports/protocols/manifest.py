"""What a protocol declares to the report: how its runs are counted, and the texts of page and downloads.

Rules: each protocol has one `MANIFEST` in `spark_reports/protocols/<name>/manifest.py`, listed in
`spark_reports/protocols/table.py`. Every other module takes the manifest of a run's protocol and names no
protocol (`tests/test_protocol_folders.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from markupsafe import Markup
from pyspark.sql import DataFrame

from spark_reports.read import TraceInput

Run = dict[str, Any]
"""A run as `report.json` has it: what `spark_reports.runs.run_of` makes and a part completes."""

Figure = tuple[str, dict[str, Any]]
"""The id of a chart's place on the page, and its Plotly figure."""


class Part(Protocol):
    """The counting of one protocol's traces in one report. `runs` is complete after the last step."""

    runs: list[Run]

    def steps(self) -> list[tuple[str, Callable[[], None]]]:
        """Name and work of each step, in order."""

    def deliveries(self) -> tuple[DataFrame, int]:
        """The judged deliveries, with the columns of deliveries.parquet, and how many there are."""

    def release(self) -> None:
        """Free the frames that were kept."""


class Heading(NamedTuple):
    """The title of a page and the kind of report that its first line names."""

    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class PageParts:
    """What a protocol adds to the page; all take its runs.

    `alone` says that the page is about one subject only: one run with at most one failover or group.

    - `heading(runs, alone)`: None where another protocol or the run's title should name the page.
    - `overview(runs, alone)`: HTML of its lists over all runs.
    - `articles(runs, alone)`: HTML of each subject in full, in order.
    - `figures(runs)`: the charts for which the articles have places.
    - `definitions`: (term, meaning) for the end of the page.
    """

    heading: Callable[[list[Run], bool], Heading | None]
    overview: Callable[[list[Run], bool], list[Markup]]
    articles: Callable[[list[Run], bool], list[Markup]]
    figures: Callable[[list[Run]], list[Figure]]
    definitions: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One protocol's part of reports.

    - `name`: as in `simulator.protocols`.
    - `part(report, inputs)`: its counting; `report` is the `FailoverReport` being made.
    - `subjects(run)`: what a run's report is about, its failovers or groups.
    - `page`: see `PageParts`.
    - `csv_columns`, `csv_lines(run)`: of figures.csv.
    - `result_lines(run)`: what the command line prints at the end.
    """

    name: str
    part: Callable[[Any, list[TraceInput]], Part]
    subjects: Callable[[Run], Sequence[Any]]
    page: PageParts
    csv_columns: tuple[str, ...]
    csv_lines: Callable[[Run], list[dict[str, Any]]]
    result_lines: Callable[[Run], list[str]]
