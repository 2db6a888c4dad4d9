"""A run of which only figures are wanted: no checks, no checkpoints, no branches.

Rules: it writes the same rows as a `World` of the same scenario. It runs forward only, and a fork of it goes
on independently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.branch import BRANCH_BYTES, TABLES_BYTES_PER_ROW
from simulator.counting.results import CountedRun
from simulator.protocols.registry import vocabulary
from simulator.protocols.table import protocol_of
from simulator.scenarios.model import CommandSpec, Scenario
from simulator.system.checkpoint import SharedObjects
from simulator.system.commanding import schedule_command
from simulator.system.system import System
from simulator.trace.trace import Trace
from simulator.world import ROWS_MAX

ALL_EVENTS = 1 << 62
SETTLING_US = 250_000
"""Simulated time between two looks at whether the measures are final: a few round trips and ack groups."""


class RunFailed(Exception):
    """A run cannot be carried out; the text says why."""


class FiguresRun:
    """A run at the end of an instant; `runtime` is the protocol's own `System`."""

    rows_max = ROWS_MAX

    def __init__(self, scenario: Scenario, runtime: System | None = None) -> None:
        self.scenario = scenario
        self.seed = scenario.seed
        self.protocol = protocol_of(scenario)
        self.runtime: Any = runtime or self.protocol.build(scenario, self.seed, Trace(vocabulary()))
        self._counted: CountedRun | None = None

    @property
    def trace(self) -> Trace:
        return self.runtime.trace

    @property
    def seq(self) -> int:
        """Rows up to now."""
        return self.runtime.seq

    @property
    def now_us(self) -> int:
        return self.runtime.now_us

    @property
    def memory_bytes(self) -> int:
        """An estimate of its memory in bytes: rows and tables."""
        trace = self.trace
        blocks = sum(trace.block_sizes().values())
        return blocks + trace.open_bytes + BRANCH_BYTES + TABLES_BYTES_PER_ROW * trace.length

    def run(self, until_us: int) -> None:
        """Run up to the end of an instant. Raises RunFailed when there are too many rows."""
        self.advance(until_us, ALL_EVENTS)

    def advance(self, until_us: int, events: int) -> bool:
        """Run at most about `events` queue events towards the end of an instant; True while more is left.

        Raises RunFailed when there are too many rows.
        """
        self._counted = None
        self.runtime.rows_max = self.rows_max
        more = self.runtime.run_instants(until_us, events, self.trace, self.rows_max)
        if self.seq > self.rows_max:
            raise RunFailed(
                f"it has more than {self.rows_max:,} rows at {self.now_us / 1e6:.6f} s, the most of a run; "
                "publish fewer messages, or end it earlier"
            )
        return more

    def finish(self, measures: Sequence[str]) -> None:
        """Run to the end of the scenario, or until these measures are final. Raises RunFailed."""
        until_us, is_settled = self.scenario.until_us, self.protocol.measured.settled
        last_us = max((spec.at_us for spec in self.scenario.commands), default=0)
        self.run(min(until_us, max(last_us, self.now_us)))
        while self.now_us < until_us and not is_settled(self.runtime, measures):
            self.run(min(until_us, self.now_us + SETTLING_US))

    def fork(self, scenario: Scenario) -> FiguresRun:
        """An independent run from here on, of a scenario that has been the same up to now."""
        return self.forks(scenario)()

    def forks(self, scenario: Scenario) -> Callable[[], FiguresRun]:
        """A function whose every call makes a fork at this instant, also after the run has gone on."""
        shared, trace, seq = SharedObjects(self.runtime.shared_types), self.trace, self.seq
        saved = shared.save(self.runtime)

        def made() -> FiguresRun:
            runtime = shared.load(saved)
            runtime.write_to(trace, seq)
            runtime.depart()
            return FiguresRun(scenario, runtime)

        return made

    def schedule(self, commands: list[CommandSpec]) -> None:
        """Put commands of a scenario on the calendar, as the building of a system does."""
        for spec in sorted(commands, key=lambda spec: spec.at_us):
            schedule_command(self.runtime, spec.at_us, {"do": spec.do, **spec.arguments})

    def counted(self) -> CountedRun:
        """The results of counting up to now."""
        if self._counted is None:
            self._counted = self.protocol.count(self.trace, self.scenario, self.seq)
        return self._counted

    def causes(self) -> dict[str, int]:
        """The duplicates of the run by cause, those without any left out."""
        return {name: count for name, count in self.protocol.measured.causes(self).items() if count}

    def without_failure(self) -> str | None:
        """Why no failover of the scenario took place; None if one did, or if it has none."""
        moves = [spec for spec in self.scenario.commands if spec.do.endswith(".fail-over")]
        if not moves or self.protocol.measured.failures(self):
            return None
        refused = [one["error"] for one in self.runtime.command_results if not one["ok"]]
        if refused:
            return f"the failover is refused at its instant: {refused[0]}"
        return "the run ends before the consumers move; let it run for longer"

    def delivering(self) -> int:
        """How many of its failovers still deliver their backlog, so that their figures are lower bounds."""
        return self.protocol.measured.delivering(self)

    def measured(self, measures: Sequence[str]) -> dict[str, int | None]:
        """These measures of the run."""
        found = self.protocol.measured.of(self)
        return {name: found[name] for name in measures}
