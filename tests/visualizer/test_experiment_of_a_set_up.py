"""The text of My set-up is the scenario of an experiment."""

from __future__ import annotations

import json

from simulator.experiments import batches, read_experiment_text, run_batch
from simulator.set_ups import completed, composed
from spark_reports.experiments.so_far import results_so_far
from visualizer.tasks.experiments import base_of, one_parameter


def test_the_text_of_my_set_up_runs_as_an_experiment():
    values = completed(
        {"rate": "20/s", "at": "4s", "after": "1s", "end": "3s", "period": "500", "timing": "nominal"}
    )
    block = "".join(f"  {line.text}\n" for line in composed(values))
    text = f"grid: {{consumers.billing-1.processing: [5ms, 20ms]}}\nphases: 4\nscenario: |\n{block}"
    experiment = read_experiment_text(text)
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    assert [row["phase_us"] for row in rows] == [0, 125_000, 250_000, 375_000] * 2
    assert {row["status"] for row in rows} == {"finished"}
    assert max(row["duplicates"] for row in rows) > 0


def test_a_set_up_of_a_group_is_the_base_of_an_experiment():
    base = base_of({"kind": "set-up", "query": "system=emqx&rate=20/s&streams=4&nodes=2&clients=2"})
    assert base.problems == () and "family: durable-shared-subscriptions" in base.text
    parameter = base.parameters()[0]
    text = one_parameter(
        base, parameter, {"values": ", ".join(parameter.parameter.values[:2]), "phases": "2"}
    )
    experiment = read_experiment_text(text)
    rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
    assert {row["status"] for row in rows} == {"finished"} and len(rows) > 2
    assert any(json.loads(row["causes"]) for row in rows), "the causes of groups are counted"


def test_runs_of_several_seeds_at_one_phase_have_an_interval_of_the_median_and_those_of_one_seed_none():
    block = "".join(f"  {line.text}\n" for line in composed(completed({"rate": "20/s", "end": "2s"})))

    def point(runs: str) -> dict:
        experiment = read_experiment_text(f"{runs}\nscenario: |\n{block}")
        rows = [row for batch in batches(experiment) for row in run_batch(experiment, batch)]
        found = results_so_far(experiment, rows)
        assert found["seeds"] == len(experiment.seeds)
        return found["points"][0]["figures"]["duplicates"]

    independent, one_seed = point("seeds: 8\nphases: 1"), point("seeds: 1\nphases: 8")
    low, high = independent["interval"]
    assert low <= independent["median"] <= high and one_seed["interval"] is None
