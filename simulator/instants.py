"""Applies commands in slices of whole instants, and undoes an instant that would write too many rows.

Rules: an instant is finished or undone, however the run is cut into slices. After an undo the run is at the
end of the last complete instant, and nothing of the undone one is left in trace, logs or tables. Which
instant that is depends on the rows alone, never on the slices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.counting import CountedRun
from simulator.scenarios.commands import CommandError
from simulator.system.commanding import execute
from simulator.system.system import System
from simulator.trace.trace import BLOCK_ROWS

if TYPE_CHECKING:
    from simulator.branch import Branch
    from simulator.scenarios.model import Scenario
    from simulator.trace.trace import Trace
    from simulator.world import World

BRANCHES_MAX = 20
"""The most branches of a lab: each may hold as many rows as a lab, and a longer list is hard to read."""

SLICE_EVENTS = 4_000
"""Queue events per slice of an uncut run; after each slice it is checked whether a checkpoint is due."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The answer to a command: ok, or a code, what is wrong and what would be right.

    A refused command has changed nothing.
    """

    ok: bool
    code: str | None = None
    error: str | None = None
    hint: str | None = None


class RunFailed(Exception):
    """A run of which only figures are wanted cannot be carried out; the text says why."""


class Undo:
    """The return to the state at the end of an instant of a branch; -1 is before the first.

    With `cut`, the rows after it are deleted.
    """

    def __init__(self, branch: Branch, at_us: int, cut: bool) -> None:
        self.at_us, self.cut = at_us, cut
        self.runtime = branch.load(max(at_us, 0))

    def step(self, events: int) -> bool:
        """World at most about `events` queue events; True while more is left."""
        if self.at_us >= 0 and self.runtime.run_instants(self.at_us, events):
            return True
        if self.cut:
            self.runtime.cut_back()
        return False


class Applying:
    """A command under way: `step` runs a slice of its instant.

    `result` is set when `step` returns False.
    """

    def __init__(self, world: World, command: dict) -> None:
        self.world = world
        self.result: CommandResult | None = None
        self._command = command
        self._begun = False
        self._parent: Branch | None = None  # the branch that was left, when the command began a new one
        self._full_us: int | None = None

    def step(self, events: int) -> bool:
        """World at most about `events` queue events; True while more is left."""
        world = self.world
        if not self._begun:
            if not world.whole:  # a command takes effect when its instant is finished
                world.advance(world.now_us, events)
                return True
            try:
                self._begin(world.check(self._command))
            except CommandError as error:
                self.result = CommandResult(False, error.code, str(error), error.hint)
                return False
        world.advance(world.now_us, events)
        if not world.whole:
            return True
        if self.result is None:
            self.result = CommandResult(True)
        return False

    def _begin(self, normal: dict) -> None:
        world = self.world
        if world.now_us < world.furthest_us or world.seq < len(world.trace):
            if len(world.branches) >= BRANCHES_MAX:
                raise CommandError(
                    "too-many",
                    f"this lab has {BRANCHES_MAX} branches already, the most it may",
                    "go to the end of a branch and play on there, or copy the lab",
                )
            self._parent = world.begin_branch(normal)
        branch = world.present_branch
        self._full_us, branch.full_us = branch.full_us, None  # the command may reduce later rows
        branch.command_log.append({"at_us": world.now_us, "number": len(branch.command_log), **normal})
        world.runtime.command_count += 1
        world.applying, self._begun = self, True
        execute(world.runtime, normal)

    def undo(self, rows_max: int) -> Undo:
        """Refuse the command, whose instant would write too many rows, and return to the state before it."""
        world = self.world
        at_us, do = world.now_us, self._command["do"]
        if self._parent is not None:
            world.drop_branch(self._parent)
        else:
            world.present_branch.command_log.pop()
            world.present_branch.full_us = self._full_us
        self.result = CommandResult(
            False,
            "limit",
            (
                f"{do} would take this lab beyond {rows_max:,} rows, the most it may hold, so it was not "
                f"carried out"
            ),
            "give a smaller count, go back to an earlier instant, or copy the lab",
        )
        return Undo(world.present_branch, at_us, cut=self._parent is None)


class Advancing:
    """The part of a world that runs: slice by slice, instant by instant, up to the row limit."""

    runtime: System
    scenario: Scenario
    rows_max: int | None
    figures_only: bool
    applying: Applying | None
    _branch: Branch
    _undo: Undo | None
    _counted: CountedRun | None

    @property
    def seq(self) -> int:
        """Rows up to now; the branch may hold more, of later instants."""
        return self.runtime.seq

    @property
    def now_us(self) -> int:
        return self.runtime.now_us

    @property
    def trace(self) -> Trace:
        """The whole trace of the present branch, later rows included."""
        return self._branch.trace

    @property
    def unchecked_rows(self) -> int:
        """Rows up to now that the checks have not read; `violations` reads all of them."""
        return self._branch.checks.unread_rows(self.seq) if self.whole else 0

    def _keep_forecasts(self) -> None:
        """Keep the forecast of each failover; the world implements it."""

    @property
    def limit_reached(self) -> str | None:
        """Why the branch is full and cannot run further, else None."""
        full_us = self._branch.full_us
        if full_us is None:
            return None
        return (
            f"The instant {full_us / 1e6:.6f} s would take this lab beyond {self.rows_max:,} rows, the "
            f"most it may hold, so it pauses before it. "
            "Go back and play another branch, copy the lab, or open a shorter scenario."
        )

    @property
    def whole(self) -> bool:
        """Whether the world is at the end of an instant.

        Within one there is nothing to view, command or save: `advance` first.
        """
        return self._undo is None and (self.runtime.whole or self._branch.full_us == 0)

    def run(self, until_us: int | None = None) -> None:
        """World up to `until_us` (default: the scenario's end), or until the row bound."""
        until_us = self.scenario.until_us if until_us is None else until_us
        while self.advance(until_us, SLICE_EVENTS):
            pass

    def advance(
        self, until_us: int, events: int = SLICE_EVENTS, pause: Callable[[], bool] | None = None
    ) -> bool:
        """World at most about `events` queue events towards `until_us`; True while more is left.

        It may stop in the middle of an instant (then not `whole`). `pause` is called before each further
        instant and can stop the run there. Raises RunFailed when there are too many rows and only figures are
        wanted.
        """
        if self._undo is not None:
            return self._go_back(events)
        runtime, branch, rows_max = self.runtime, self._branch, self.rows_max
        if branch.full_us is not None:
            until_us = min(until_us, branch.full_us - 1)
        runtime.rows_max = rows_max
        rows = None if rows_max is None else branch.trace
        more = runtime.run_instants(until_us, events, rows, rows_max or 0, pause)
        if rows_max is not None and runtime.seq > rows_max:
            self._undo_instant(rows_max)
            return True
        if runtime.whole:
            self.applying = None
            self._after_running()
        return more

    def _undo_instant(self, rows_max: int) -> None:
        """Undo the instant under way, which would write too many rows.

        Which instant that is depends on the rows alone, not on the slices of the run.
        """
        if self.figures_only:
            raise RunFailed(
                f"it has more than {rows_max:,} rows at {self.now_us / 1e6:.6f} s, the most of a run; "
                "publish fewer messages, or end it earlier"
            )
        if self.applying is not None:
            self._undo = self.applying.undo(rows_max)
            self.applying = None
        else:
            self._branch.full_us = self._branch.trace.at_us(rows_max)
            self._undo = Undo(self._branch, self._branch.full_us - 1, cut=True)

    def _go_back(self, events: int) -> bool:
        """World a slice of the return from an undone instant; True while more is left."""
        assert self._undo is not None
        if self._undo.step(events):
            return True
        self.runtime, self._undo, self._counted = self._undo.runtime, None, None
        self._after_running()
        return False

    def _finish_instant(self) -> None:
        """World to the end of the instant under way."""
        while not self.whole:
            self.advance(self.now_us)

    def _after_running(self) -> None:
        if self.figures_only:
            return
        if self.runtime.seq == self._branch.trace.length:
            self._branch.furthest_us = max(self._branch.furthest_us, self.runtime.now_us)
            self._branch.save_if_due(self.runtime)
            # the rows of a very large instant are checked in slices, or on request
            if self.unchecked_rows < 2 * BLOCK_ROWS:
                self._branch.checks.read_sealed(self.trace)
            self._keep_forecasts()


class Seek:
    """A seek under way: `step` runs a slice of it."""

    def __init__(self, world: World, at_us: int) -> None:
        self.world = world
        self.at_us = at_us
        self._begun = False
        if world.whole:
            self._begin()

    def _begin(self) -> None:
        world, self._begun = self.world, True
        if self.at_us < world.now_us or world.present_branch.nearest_us(self.at_us) > world.now_us:
            world.load_nearest(self.at_us)

    def step(self, events: int = SLICE_EVENTS) -> bool:
        """World at most about `events` queue events; True while more is left."""
        if self._begun:
            return self.world.advance(self.at_us, events)
        self.world.advance(self.world.now_us, events)  # the instant under way first
        if self.world.whole:
            self._begin()
        return True
