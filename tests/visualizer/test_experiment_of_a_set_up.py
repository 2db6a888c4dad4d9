"""The text of My set-up is the scenario of an experiment."""

from __future__ import annotations

import json

from simulator.experiments import batches, read_experiment_text, run_batch
from simulator.set_ups import completed, composed
from visualizer.experiments.composing import base_of, one_parameter


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
