"""One run of an experiment as a scenario: its number says its point, seed and phase."""

from __future__ import annotations

from simulator import Scenario
from simulator.experiments import Experiment, first_fault_us, replayed
from visualizer.live.wire import Refused


def run_number(experiment: Experiment, text: str) -> int:
    """The number of a run in an address. Raises Refused."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
    if not 0 <= number < experiment.runs:
        raise Refused(
            "not-found",
            f"This experiment has no run {text[:20]}.",
            f"Runs are numbered 0 to {experiment.runs - 1}.",
        )
    return number


def scenario_of_run(experiment: Experiment, number: int) -> tuple[Scenario, int]:
    """The scenario of a run, with its own seed and instants, and its first fault, 0 without one."""
    batch, phase = divmod(number, experiment.phases)
    point_number, seed_place = divmod(batch, len(experiment.seeds))
    point, seed = experiment.points[point_number], experiment.seeds[seed_place]
    offsets_us = experiment.offsets_us(experiment.scenario_at(point, seed), point, seed)
    row = {"run": number, "point": point_number, "seed": seed, "phase_us": offsets_us[phase]}
    scenario = replayed(experiment, row)
    return scenario, first_fault_us(scenario) or 0
