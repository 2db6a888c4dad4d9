"""`creation` of a report's run, for `report.json`: replicators' starts, waiting messages, topics.

Rules: only small rows are collected to the driver: one per replicator, bin and reported refusal. A run whose
replicators all started at once and that created nothing has no such part (None).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from spark_reports.flows import bin_widths_us, piled_up
from spark_reports.local import from_rows
from spark_reports.protocols.pulsar.schemas import GRID, STARTS
from spark_reports.protocols.pulsar.transforms import creation
from spark_reports.schemas import BINS
from spark_reports.transforms.places import is_type

REFUSALS_MOST = 2_000
HAPPENED_MOST = 60
ENDS = {
    "replicator.started": "replicates",
    "replicator.start-refused": "does not start",
    "replicator.stopped": "connected, but stopped",
    "replicator.removed": "taken off the list",
}
"""The state of a replicator at the end, by its last row. Otherwise it is `NOT_CONNECTED`."""
NOT_CONNECTED, DOWN = "not connected", "down with its region"


def add_creation(spark: Any, runs: list[dict[str, Any]], control: Any, rows: Any) -> None:
    """Add its part to every run."""
    for run in runs:
        run["creation"] = None
    if not control.filter(is_type("replicator.start-refused", "replicator.stopped", *creation.HAPPENED)).head(
        1
    ):
        return
    started = creation.starts(control).collect()
    troubled = [row for row in started if row.refused and row.created_seq is not None]
    down = [(row.run, row.cluster) for row in creation.regions_down(control).collect()]
    refusals = creation.refusals(control).orderBy("run", "at_us").limit(REFUSALS_MOST).collect()
    happened = creation.happened(control).orderBy("run", "seq").collect()
    widths = bin_widths_us(runs)
    logs = _logs(spark, troubled)
    flows = _flows(spark, rows, logs, widths) if troubled else {}
    delays = (
        _delays(spark, rows, logs, [(run["run"], widths[run["run"]], run["until_us"]) for run in runs])
        if troubled
        else {}
    )
    for run in runs:
        mine = [row for row in started if row.run == run["run"]]
        found = [_words_apart(row) for row in happened if row.run == run["run"]]
        if found or any(row.refused for row in mine):
            run["creation"] = {
                "replicators": _replicators(
                    mine,
                    flows,
                    delays,
                    [row for row in refusals if row.run == run["run"]],
                    widths[run["run"]],
                    run["until_us"],
                    down,
                ),
                "happened": found[:HAPPENED_MOST],
                "happened_of": len(found),
            }


def _words_apart(row: Any) -> dict[str, Any]:
    return {name: value for name, value in row.asDict().items() if value is not None}


def _logs(spark: Any, troubled: list[Any]) -> Any:
    return from_rows(
        spark,
        [(row.run, row.cluster, row.peer, row.topic, row.base, row.created_seq) for row in troubled],
        STARTS,
    )


def _delays(
    spark: Any, rows: Any, logs: Any, grid: list[tuple[int, int, int]]
) -> dict[tuple, dict[int, int]]:
    """The oldest pending send's age by bin, of each topic and direction."""
    delays: dict[tuple, dict[int, int]] = defaultdict(dict)
    for row in creation.delays(rows, logs, from_rows(spark, grid, GRID)).collect():
        delays[row.run, row.cluster, row.peer, row.base][row.bin] = row.delay_us
    return delays


def _flows(
    spark: Any, rows: Any, logs: Any, widths: dict[int, int]
) -> dict[tuple, dict[int, tuple[int, int]]]:
    """Messages that arrived and left by bin, of each topic and direction."""
    flows: dict[tuple, dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in creation.waiting(rows, logs, from_rows(spark, sorted(widths.items()), BINS)).collect():
        flows[row.run, row.cluster, row.peer, row.base][row.bin] = (row.came, row.left)
    return flows


def _replicators(
    started: list[Any],
    flows: dict,
    delays: dict,
    refusals: list[Any],
    bin_us: int,
    until_us: int,
    down: list[tuple[int, str]],
) -> list[dict[str, Any]]:
    """One object per topic and direction, with its logs together.

    `down`: run and region of each region that is down at the end.
    """
    together: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for row in started:
        together[row.cluster, row.peer, row.base].append(row)
    found = []
    for (source, target, base), rows in sorted(together.items()):
        rows.sort(key=lambda row: row.topic)
        last = next(
            (row for row in rows if row.last not in ("replicator.started", "replicator.removed")), rows[0]
        )
        place = (rows[0].run, source, target, base)
        flow, delay = flows.get(place), delays.get(place, {})
        instants, waiting = piled_up(flow or {}, bin_us, until_us)
        still = [row for row in rows if row.last in ("replicator.start-refused", "replicator.stopped")]
        end = (
            DOWN
            if (rows[0].run, source) in down and last.last != "replicator.removed"
            else ENDS.get(last.last, NOT_CONNECTED)
        )
        found.append(
            {
                "from": source,
                "to": target,
                "topic": base,
                "end": end,
                "logs": len(rows),
                "logs_still": len(still),
                "refused": sum(row.refused for row in rows),
                "first_refused_us": min(
                    (row.first_refused_us for row in rows if row.first_refused_us is not None), default=None
                ),
                "words": next((row.words for row in (*still, *rows) if row.words), None),
                "waiting": waiting[-1],
                "curve": {
                    "at_us": instants,
                    "messages": waiting,
                    "delay_us": [0, *(delay.get(number, 0) for number in range(len(instants) - 1))],
                }
                if flow
                else None,
                "refused_at_us": [
                    row.at_us
                    for row in refusals
                    if (row.cluster, row.peer, row.base) == (source, target, base)
                ],
            }
        )
    return found
