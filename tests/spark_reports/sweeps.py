"""Small experiments for the tests of sweeps, and a plain recount of their runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator import World, load_scenario_text
from simulator.experiments import Experiment, batches, read_experiment_text, replayed, run_batch
from spark_reports.experiments.job import store_of
from spark_reports.experiments.listener import NullListener, Standing

PERIOD = "settings.replicatedSubscriptionsSnapshotFrequencyMillis"

SMALL = f"""
format: 1
name: snapshot-period
scenario: region-down
grid:
  {PERIOD}: [250, 1000]
seeds: [3, 8]
phases: 3
"""
"""Two points, two seeds and three phases: 4 batches and 12 runs."""


def small(**changes: Any) -> Experiment:
    """The small experiment, with other values of some keys."""
    text = SMALL
    for key, value in changes.items():
        kept = [line for line in text.splitlines() if not line.startswith(f"{key}:")]
        text = "\n".join([*kept, f"{key}: {value}"])
    return read_experiment_text(text)


def recounted(experiment: Experiment, row: dict[str, Any]) -> dict[str, Any]:
    """The figures of one run, from its own scenario's text and nothing of the sweep."""
    text = replayed(experiment, row).canonical_text
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    failovers = world.summary()["failovers"]
    sums = ("duplicates", "extra_deliveries", "redeliveries", "stranded", "stranded_unprocessed", "lost")
    found = {name: sum(one[name] for one in failovers) for name in (*sums, "reordered")}
    found["outage_us"] = max(one["outage_us"] for one in failovers)
    found["drained_us"] = max(one["drained_us"] - one["at_us"] for one in failovers)
    return {"seed": world.seed, **found}


def bytes_without_spark(experiment: Experiment, folder: Path) -> bytes:
    """The bytes of runs.parquet, made in this process."""
    store = store_of(experiment, folder)
    with store.opened():
        for batch in batches(experiment):
            store.add(pa.Table.from_pylist(list(run_batch(experiment, batch)), store.columns))
        return store.finish().read_bytes()


class Recorded(NullListener):
    """Keeps what it is called with; wants a cancel once `cancel_at` runs are finished."""

    def __init__(self, cancel_at: int | None = None) -> None:
        self.standings: list[Standing] = []
        self.notices: list[str] = []
        self._cancel_at = cancel_at

    def stands(self, standing: Standing) -> None:
        self.standings.append(standing)

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def cancel_wanted(self) -> bool:
        finished = self.standings[-1].finished if self.standings else 0
        return self._cancel_at is not None and finished >= self._cancel_at
