"""The report: traces in, a folder with page, figures and classified deliveries out.

`python -m spark_reports failover --trace PATH… --out DIR [--master URL]`

Rules: each protocol of the traces has a part with its own named steps, which run in order, or in lanes side
by side. Between steps, and inside Spark's jobs, a request to cancel is checked. Everything large stays in
Spark.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spark_reports import publish
from spark_reports.progress import Cancelled, Lanes, NullProgress, Step, Watch
from spark_reports.protocols.manifest import Part
from spark_reports.protocols.table import PROTOCOLS
from spark_reports.read import TraceInput, find_traces, scenarios_of
from spark_reports.tuning import cut_tasks, tuned


class FailoverReport:
    """One report in progress. `listener` receives progress, with the methods of `progress.NullProgress`."""

    def __init__(
        self,
        spark: Any,
        traces: Iterable[str | Path],
        out: str | Path,
        listener: Any = None,
        replay_url: str | None = None,
        compare: bool = False,
        changed: bool = True,
    ) -> None:
        """Prepare a report of these traces in the folder `out`.

        `replay_url` is absolute, since the page is also opened from a disk. Without it the page shows a
        command line. Without `changed`, no run is run again to find what would have helped.
        """
        self.spark = spark
        self.paths = list(traces)
        self.out = Path(out)
        self.listener = listener or NullProgress()
        self.replay_url = replay_url
        self.compare = compare
        self.changed = changed
        self.parts: list[Part] = []

    def make(self) -> dict[str, Any]:
        """Make the report and return the content of `report.json`.

        Raises Cancelled, TraceFileError, ScenarioError.
        """
        began = time.monotonic()
        self.inputs = find_traces(self.paths)
        protocols = [scenario.protocol for scenario in scenarios_of(self.inputs)]
        for name, protocol in PROTOCOLS.items():
            mine = [entry for entry, its in zip(self.inputs, protocols, strict=True) if its == name]
            self.parts += [protocol.part(self, mine)] if mine else []
        group = f"failover-report-{id(self)}-{time.monotonic_ns()}"
        try:
            rows = sum(entry.meta["rows"] for entry in self.inputs)
            with tuned(self.spark, rows), Watch(self.spark, self.listener, group) as watch:
                watch.run(self._steps(began))
        finally:
            for part in self.parts:
                part.release()
        return self.report

    def _steps(self, began: float) -> list[Step | Lanes]:
        return [
            *(step for part in self.parts for step in part.steps()),
            ("writing the page and the downloads", lambda: self._publish(began)),
        ]

    def cut_for(self, inputs: list[TraceInput]) -> None:
        """Set how many tasks Spark makes of these traces."""
        cut_tasks(self.spark, sum(entry.meta["rows"] for entry in inputs))

    def go_on(self) -> None:
        """Raise Cancelled when the report was cancelled."""
        if self.listener.cancel_wanted():
            raise Cancelled

    def _publish(self, began: float) -> None:
        runs = sorted((run for part in self.parts for run in part.runs), key=lambda run: run["run"])
        if self.replay_url:
            for run in runs:
                run["replay_url"] = self.replay_url
        self.out.mkdir(parents=True, exist_ok=True)
        tables = [part.deliveries() for part in self.parts]
        publish.write_deliveries(
            [table for table, _count in tables],
            self.out,
            sum(count for _table, count in tables),
        )
        made_by = {
            "spark": self.spark.version,
            "master": self.spark.conf.get("spark.master", "Spark Connect"),
            "seconds": time.monotonic() - began,
        }
        self.report = {
            "format": 1,
            "made_at": datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC"),
            "made_by": made_by,
            "runs": runs,
        }
        publish.write_small(self.report, self.out)
