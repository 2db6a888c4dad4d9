"""What an experiment measures in a run of groups, and the period with which its faults are moved."""

from __future__ import annotations

from simulator.protocols.emqx.scenario.model import EmqxScenario
from simulator.scenarios.settings import SETTINGS
from simulator.system.measured import Failure, Measure, Measured, MeasuredRun

SUMS = (
    Measure("duplicates", "duplicates"),
    Measure("redeliveries", "redelivered"),
    Measure("lost", "lost"),
    Measure("reordered", "reordered"),
    Measure("handovers", "handovers"),
    Measure("unowned_us", "time without a reader, sum of streams", "us"),
)
"""Sums over the groups of a run."""

HEARTBEAT = "leader_heartbeat_interval"
FAULTS = (
    "node.crash",
    "node.stop",
    "leader.crash",
    "leader.stop",
    "session.kill",
    "session.disconnect",
    "store.fail",
    "link.cut",
)


def _of(run: MeasuredRun) -> dict[str, int | None]:
    found = [group.summary() for group in run.counted().groups.values()]
    return {one.name: sum(group[one.name] for group in found) for one in SUMS}


def _period_us(scenario: EmqxScenario) -> int:
    """The time between two commits of a leader: what it has not committed is read again."""
    return scenario.settings.get(HEARTBEAT, SETTINGS[HEARTBEAT].default_under(scenario.options))


def _failures(run: MeasuredRun) -> list[Failure]:
    """The faults that took effect: groups have no failover that would be a row of its own."""
    return [
        Failure(result["at_us"], result["command"])
        for result in run.runtime.command_results
        if result["ok"] and result["command"] in FAULTS
    ]


MEASURED = Measured(SUMS, _of, _period_us, FAULTS, failures=_failures)
