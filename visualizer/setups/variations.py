"""The twenty runs that answer "if this region goes down": the seed and the instant of each.

Rules: run N has seed N, and its commands and its end are later by (N - 1) twentieths of the snapshot period
of the region that fails. With constant latencies twenty seeds could make twenty equal runs, and the number of
duplicates depends mainly on the age of the last snapshot. So the runs sample that age evenly. Each is a
scenario with overrides that `manage.py simulate` accepts too.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator import Scenario, format_duration
from simulator.scenarios.settings import SETTINGS
from visualizer.setups.reading import Failure

RUNS = 20

_PERIOD = "replicatedSubscriptionsSnapshotFrequencyMillis"


@dataclass(frozen=True, slots=True)
class Variation:
    seed: int
    shift_us: int
    at_us: int  # of the fail-over in this run
    overrides: tuple[tuple[str, str], ...]  # ("dotted.path", "value"), as `--set`


def period_us(scenario: Scenario, cluster: str) -> int:
    """The snapshot period of the region where the consumers are."""
    own = scenario.clusters[cluster].settings
    return 1000 * int(own.get(_PERIOD, scenario.settings.get(_PERIOD, SETTINGS[_PERIOD].default)))


def variations(scenario: Scenario, failure: Failure) -> list[Variation]:
    period = period_us(scenario, failure.source)
    return [_variation(scenario, failure, seed, period * (seed - 1) // RUNS) for seed in range(1, RUNS + 1)]


def _variation(scenario: Scenario, failure: Failure, seed: int, shift_us: int) -> Variation:
    later = [
        (f"commands[{index}].at", format_duration(command.at_us + shift_us))
        for index, command in enumerate(scenario.commands)
    ]
    overrides = (*later, ("until", format_duration(scenario.until_us + shift_us))) if shift_us else ()
    return Variation(seed, shift_us, failure.at_us + shift_us, overrides)
