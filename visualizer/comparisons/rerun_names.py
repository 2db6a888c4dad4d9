"""Names of re-runs with fresh draws in addresses, such as `rerun-0-2500000-17-200000-poisson`.

The parts are branch, instant, number, spread and arrivals (`simulator.inevitable`). With the lab's inputs the
name determines the run.
"""

from __future__ import annotations

import re
from typing import Any

from simulator import Wrong
from simulator.inevitable import Draws, rerun_commands
from simulator.runs import Variant

RERUN = "rerun-"

_RERUN = re.compile(
    rf"{RERUN}(?P<branch>\d{{1,3}})-(?P<at_us>\d{{1,13}})-(?P<number>\d{{1,3}})"
    r"-(?P<spread>\d{1,6})-(?P<arrivals>[a-z-]{1,20})",
    re.ASCII,
)


def rerun_name(branch: int, at_us: int, number: int, draws: Draws) -> str:
    """The name of a re-run in addresses."""
    return f"{RERUN}{branch}-{at_us}-{number}-{draws.spread_millionths}-{draws.arrivals}"


def rerun_named(name: str, scenario: Any, inputs: dict[str, Any]) -> Variant | None:
    """The run of a name such as `rerun-0-2500000-17-200000-poisson`; None when it names none."""
    found = _RERUN.fullmatch(name)
    logs = {one["number"]: one["commands"] for one in inputs["branches"]}
    if found is None or int(found["branch"]) not in logs:
        return None
    at_us, number = int(found["at_us"]), int(found["number"])
    try:
        draws = Draws(int(found["spread"]), found["arrivals"])
    except Wrong:
        return None
    commands = rerun_commands(logs[int(found["branch"])], scenario.seed, at_us, number, draws)
    return Variant(name, f"re-run {number + 1} from {at_us / 1e6:.3f} s", scenario, commands)
