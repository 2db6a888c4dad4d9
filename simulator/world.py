"""A lab: one scenario that can be run, viewed, changed by commands, sought and branched.

This is the simulator's Python API (docs/http-api.md).

Rules: reading never changes a run. A command takes effect at the end of the present instant. A command in the
past of its branch begins a new branch, and the old one is kept. All work can be done in slices of queue
events (`advance`, `Seek`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from simulator import stepping, summary
from simulator.branch import (
    SLICE_EVENTS,
    Advancing,
    Applying,
    Branch,
    CommandResult,
    Seek,
    Undo,
    memory_bytes,
    put_by_hand,
)
from simulator.checks.checks import Checks
from simulator.counting import CountedRun
from simulator.protocols.registry import vocabulary
from simulator.protocols.table import protocol_of
from simulator.scenarios.commands import normalise_command
from simulator.scenarios.loader import load_scenario
from simulator.scenarios.model import Scenario
from simulator.system.commanding import CommandRunner
from simulator.trace.trace import Trace
from simulator.views import live

ROWS_MAX = 5_000_000
"""The most rows of a branch: about 200 MB of trace.

An instant that would write more is undone; the lab then pauses before it and gives the reason.
"""

_NO_FORECASTS: tuple[tuple[int, int, int], dict] = ((-1, -1, -1), {})
"""The forecasts by (subscription, source), after the (branch, instant, rows) at which they were computed."""


class _Accepted(Exception):
    """Raised once a command's function has checked everything, before it changes the run."""


class World(Advancing):
    """A run that can be viewed, changed by commands and sought in.

    `rows_max` None lifts the row limit (headless runs). With `begun` false its first instant is still to be
    run, in slices: `advance(0, …)` until it is `whole`. With `figures_only` it runs forward only, without
    checkpoints, and too many rows raise RunFailed: it writes the same rows in less time and memory.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        rows_max: int | None = ROWS_MAX,
        begun: bool = True,
        figures_only: bool = False,
    ) -> None:
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self.rows_max = rows_max
        self.figures_only = figures_only
        self.protocol = protocol_of(scenario)
        # the protocol's own subclass of `System`
        self.runtime: Any = self.protocol.build(scenario, self.seed, Trace(vocabulary()))
        self._branches = [Branch(0, self.runtime, seekable=not figures_only)]
        self._branch = self._branches[0]
        self._undo: Undo | None = None
        self.applying: Applying | None = None
        self._counted: CountedRun | None = None
        self._counted_whole: tuple[int, CountedRun] | None = None  # (branch, what it holds)
        # (branch, seq of a failover): the forecast at its instant
        self._forecasts_at_failovers: dict[tuple[int, int], dict] = {}
        self._forecasts = _NO_FORECASTS
        # where `violations_until` stopped, so that the next search begins there
        self._judged_seq = 0
        if begun:
            self._finish_instant()

    # --- opening

    @classmethod
    def from_scenario(
        cls, scenario: Scenario, seed: int | None = None, rows_max: int | None = ROWS_MAX, begun: bool = True
    ) -> World:
        """A world at instant 0."""
        return cls(scenario, seed, rows_max, begun)

    @classmethod
    def open(
        cls,
        scenario: str | Path,
        seed: int | None = None,
        settings: dict[str, Any] | None = None,
        rows_max: int | None = ROWS_MAX,
    ) -> World:
        """A world from a scenario's name, file or text; `settings` are dotted paths to values.

        Raises ScenarioError.
        """
        overrides = [(path, str(value)) for path, value in (settings or {}).items()]
        return cls(load_scenario(scenario, seed=seed, overrides=overrides), None, rows_max)

    @classmethod
    def replay(
        cls,
        scenario: Scenario,
        seed: int,
        command_log: list[dict],
        until_us: int,
        rows_max: int | None = ROWS_MAX,
    ) -> World:
        """The run that a command log describes, at `until_us`.

        It has the same bytes as the run that wrote the log.
        """
        world = cls(scenario, seed, rows_max)
        for entry in command_log:
            world.schedule_logged(entry)
        world.run(until_us)
        return world

    def schedule_logged(self, entry: dict) -> None:
        """Put a command of a log on the calendar (not before now)."""
        self._branch.command_log.append(dict(entry))
        put_by_hand(self.runtime, entry)

    # --- position and names

    @property
    def memory_bytes(self) -> int:
        """An estimate of its memory in bytes: rows, checkpoints, tables.

        What branches share is counted once.
        """
        return memory_bytes(self._branches)

    @property
    def furthest_us(self) -> int:
        """The furthest instant that this branch has been run to."""
        return self._branch.furthest_us

    @property
    def branch(self) -> int:
        return self._branch.number

    @property
    def branches(self) -> list[dict]:
        return [branch.describe() for branch in self._branches]

    def branch_inputs(self) -> list[dict]:
        """For every branch its number, the commands given by hand, and how far it has been run."""
        return [
            {
                "number": branch.number,
                "commands": [dict(entry) for entry in branch.command_log],
                "furthest_us": branch.furthest_us,
            }
            for branch in self._branches
        ]

    @property
    def branch_without_commands(self) -> int | None:
        """The branch to which no command has been given by hand; None when there is none."""
        return next((branch.number for branch in self._branches if not branch.command_log), None)

    @property
    def subscriptions(self) -> list[str]:
        """Names of all subscriptions, those that commands made included, sorted."""
        return self.runtime.subscription_names

    @property
    def topics(self) -> dict[str, list[str]]:
        """The names of topics and partitions, by cluster."""
        return self.runtime.topic_names

    @property
    def command_log(self) -> list[dict]:
        """The commands given by hand in this branch, in order."""
        return [dict(entry) for entry in self._branch.command_log]

    def _keep_forecasts(self) -> None:
        """Keep the forecast of each failover so far: a seek back discards the state that holds it."""
        for failover in self.runtime.failovers:
            self._forecasts_at_failovers[self.branch, failover.seq] = failover.window.forecast

    # --- seeking and branches

    def begin_seek(self, at_us: int | None = None, seq: int | None = None) -> Seek:
        """Begin to go to the end of an instant, or of a row's instant, in slices.

        A row number beyond the last row means the last row.
        """
        return Seek(self, stepping.instant_of(self._branch.trace, at_us, seq))

    def seek(self, at_us: int | None = None, seq: int | None = None) -> None:
        """Go exactly to the end of an instant; beyond the furthest one, run up to it."""
        seek = self.begin_seek(at_us, seq)
        while seek.step(SLICE_EVENTS):
            pass

    def step(self, filter: str | dict | None = None) -> dict | None:
        """Go to the end of the instant of the next row that passes the filter.

        None when no row passes within a minute of simulated time.
        """
        return stepping.step(self, filter)

    def step_back(self, filter: str | dict | None = None) -> dict | None:
        """Go to the end of the last earlier instant with a row that passes the filter; None at the start."""
        return stepping.step_back(self, filter)

    def switch_branch(self, number: int) -> None:
        """Switch to another branch, at the same instant if it has been run that far, else at its front."""
        self._finish_instant()
        seek = self.begin_switch(number)
        while seek.step(SLICE_EVENTS):
            pass

    def begin_switch(self, number: int) -> Seek:
        """Begin `switch_branch` in slices; the world must be `whole`."""
        if not 0 <= number < len(self._branches):
            raise ValueError(f"there is no branch {number}: there are 0 to {len(self._branches) - 1}")
        at_us = min(self.now_us, self._branches[number].furthest_us)
        self._branch = self._branches[number]
        self.load_nearest(at_us)
        return Seek(self, at_us)

    def load_nearest(self, at_us: int) -> None:
        """Go to the nearest saved state at or before an instant."""
        self.runtime = self._branch.load(at_us)
        self._counted = None

    def fork(self) -> World:
        """An independent world at the same instant, with the same past."""
        self._finish_instant()
        return self.forks()()

    def forks(self) -> Callable[..., World]:
        """A function whose every call makes a fork at this instant, also after the run has gone on.

        Its argument, if any, is the scenario of the fork, which has been the same up to now.
        """
        parent, trace, seq = self._branch, self.trace, self.seq
        saved = parent.shared.save(self.runtime)

        def made(scenario: Scenario = self.scenario) -> World:
            other = World.__new__(World)
            other.scenario = scenario
            other.seed, other.rows_max, other.protocol = self.seed, self.rows_max, self.protocol
            other.figures_only = self.figures_only
            other._counted = other._counted_whole = other._undo = other.applying = None
            other._branches, other._forecasts_at_failovers, other._forecasts = [], {}, _NO_FORECASTS
            other._judged_seq = 0
            other.runtime = parent.shared.load(saved)
            other.runtime.write_to(trace, seq)
            other.runtime.scenario = other.scenario
            other._branch_off(parent, None)
            return other

        return made

    @property
    def present_branch(self) -> Branch:
        """The present branch."""
        return self._branch

    def begin_branch(self, command: dict) -> Branch:
        """Begin a branch for a command in the past and return the branch that was left."""
        parent = self._branch
        self._branch_off(parent, command)
        return parent

    def drop_branch(self, parent: Branch) -> None:
        """Remove the branch that was just begun and go back to its parent."""
        del self._branches[-1]
        self._branch = parent

    def _branch_off(self, parent: Branch, command: dict | None) -> None:
        """Begin a branch at the present state, without the later commands by hand of its parent."""
        self.runtime.depart()
        self.runtime.drop(CommandRunner.run_by_hand)
        branch = Branch(len(self._branches), self.runtime, parent, command, not self.figures_only)
        branch.command_log = parent.command_log[: self.runtime.command_count]
        self._branches.append(branch)
        self._branch = branch
        self._keep_forecasts()

    # --- commands

    def apply(self, command: dict) -> CommandResult:
        """Give a command now.

        A refused one has code, error and hint, and nothing has changed.
        """
        applying = self.begin_apply(command)
        while applying.step(SLICE_EVENTS):
            pass
        assert applying.result is not None
        return applying.result

    def begin_apply(self, command: dict) -> Applying:
        """Begin `apply` in slices."""
        self._counted = None
        return Applying(self, command)

    def check(self, command: dict) -> dict:
        """The normalised command if it would be accepted now. Raises CommandError; changes nothing."""
        normal = normalise_command(command, self.scenario)

        def begin(**_answer: Any) -> int:
            raise _Accepted

        try:
            self.runtime.handlers[normal["do"]](
                self.runtime, {name: value for name, value in normal.items() if name != "do"}, begin
            )
        except _Accepted:
            return normal
        raise AssertionError(f"{normal['do']} neither began nor refused")

    # --- reading

    def summary(self) -> dict:
        """The summary of the run up to now (docs/counting.md)."""
        return summary.summarise(self, self.protocol)

    def counted(self) -> CountedRun:
        """The results of counting up to now."""
        if self._counted is None or self._counted.upto_seq != self.seq:
            self._counted = self.protocol.count(self.trace, self.scenario, self.seq)
        return self._counted

    def counted_whole(self) -> CountedRun:
        """The results of counting all rows of this branch, wherever the world is now."""
        if self._counted_whole is None or (self._counted_whole[0], self._counted_whole[1].upto_seq) != (
            self.branch,
            len(self.trace),
        ):
            self._counted_whole = (self.branch, self.protocol.count(self.trace, self.scenario, None))
        return self._counted_whole[1]

    def forecast_at(self, opened_seq: int) -> dict[str, int]:
        """The forecast at the instant of a failover of this branch.

        `opened_seq` is the seq of its `failover.started` row.
        """
        return self._forecasts_at_failovers[self.branch, opened_seq]

    def check_on(self, rows: int) -> None:
        """Let the checks read at most `rows` more of the rows up to now."""
        self._branch.checks.read_on(self.trace, self.seq, rows)

    @property
    def violations(self) -> list:
        """Broken invariants up to now, in order."""
        return self._branch.checks.violations(self.trace, self.seq)

    def violations_until(self, at_us: int) -> list:
        """Broken invariants up to the end of an instant, at the latest now.

        Rows after it stay unread, which is what saves time.
        """
        self._judged_seq = self.trace.first_after(at_us, self._judged_seq)
        return self._branch.checks.violations(self.trace, min(self.seq, self._judged_seq))

    def all_violations(self, failovers: list[dict]) -> list:
        """Broken invariants of the run and of its counted failovers."""
        return [*self.violations, *Checks(self.scenario).check_counts(failovers)]

    def live_failovers(self) -> list[dict]:
        """The figures of `failovers[]` that the engine keeps as it delivers.

        The summary has all figures, counted from the rows.
        """
        return [
            {
                "subscription": one.subscription,
                "from": one.source,
                "to": one.target,
                "mode": one.mode,
                "at_us": one.at_us,
                **one.window.figures(),
            }
            for one in self.runtime.failovers
        ]

    def failovers(self) -> list[dict]:
        """`failovers[]` of the summary, without the rest of it."""
        return self.protocol.failovers(self)

    @property
    def command_results(self) -> list[dict]:
        """`commands[]` of the summary: the result of each command so far."""
        return [dict(result) for result in self.runtime.command_results]

    def forecast(self, subscription: str, source: str | None = None) -> dict[str, dict[str, int]]:
        """The forecast per remote that consumers could move to, if `source` failed now.

        `source` defaults to the cluster where the consumers are. The result is cached until the world moves.
        """
        here = (self.branch, self.now_us, self.seq)
        if self._forecasts[0] != here:
            self._forecasts = (here, {})
        forecasts, made = self.protocol.forecasts, self._forecasts[1]
        source = source or forecasts.source_of(self.runtime, subscription)
        if (subscription, source) not in made:
            made[subscription, source] = forecasts.to_targets(self.runtime, subscription, source)
        return made[subscription, source]

    def sync_lag(self, subscription: str) -> dict[str, int]:
        """The age of the oldest message that a remote's cursor does not cover, by remote, us."""
        return self.protocol.forecasts.sync_lag(self.runtime, subscription)

    def snapshot_rules(self, topic: str) -> dict[str, dict]:
        """Why no snapshot is taken now, by cluster that has the topic.

        Each has the rule of the tick that stops it, in words, and what would let it continue.
        """
        return self.protocol.inspection.snapshot_rules(self.runtime, topic)

    def view(self, judged_us: int | None = None) -> dict:
        """The live state for the page.

        Claims are checked up to now, or up to the instant `judged_us`.
        """
        return live.view(self, self.protocol, judged_us)

    def broker_load(self) -> dict:
        """Load of declared brokers over time, and latency of their readers."""
        return self.protocol.inspection.broker_load(self)

    def creation(self) -> dict:
        """Topics, policies and replicators of every cluster, with what keeps each replicator from running."""
        return self.protocol.inspection.creation(self)

    def replicator_starts(self, source: str, target: str, topic: str) -> dict:
        """One replicator's starts: refusals so far, and the messages that waited over time."""
        return self.protocol.inspection.replicator_starts(self, source, target, topic)

    def cells(self, cluster: str, topic: str, first: int, count: int) -> dict:
        """Cells of a log for the page."""
        return self.protocol.inspection.cells(self.runtime, cluster, topic, first, count)

    def flights(self, limit: int = 500) -> tuple[list[dict], dict[str, int]]:
        """Messages on the links: a sample, and how many are on each link."""
        return self.protocol.flights(self.runtime, limit)

    def marker(self, number: int) -> dict:
        """A marker's bytes, its JSON and the links it was sent on."""
        return self.protocol.inspection.marker(self, number)

    def begin_admin(self, tool: str, cluster: str, topic: str | None = None) -> Iterator[None]:
        """The output of an admin tool now, in pieces (docs/command-line.md).

        Yields between pieces and returns the answer. Raises AdminError.
        """
        return self.protocol.admin.ask(self.runtime, tool, cluster, topic)

    def admin(self, tool: str, cluster: str, topic: str | None = None) -> dict:
        """The output of an admin tool now, in one call."""
        pieces = self.begin_admin(tool, cluster, topic)
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                return end.value

    def digest(self) -> str:
        """SHA-256 of the trace of this branch up to now."""
        return self.trace.digest(self.seq)
