"""One branch of a lab's history: its trace, its checkpoints and its command log.

Rules: checkpoints are taken only at the branch's front, at the end of an instant; the next one is taken once
it costs at most a tenth of the memory of the rows since the last. For instants before its cut a branch uses
its parent's checkpoints. Such a state is `adopted`: it gets this branch's growing columns, which begin with
the same values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.checks.check import Violation
from simulator.checks.checks import Checks
from simulator.counting import CountedRun
from simulator.scenarios.commands import CommandError
from simulator.scenarios.model import Scenario
from simulator.system.checkpoint import SharedObjects
from simulator.system.commanding import CommandRunner, execute, schedule_command
from simulator.system.system import System
from simulator.trace.trace import BLOCK_ROWS, Block, Trace

if TYPE_CHECKING:
    from simulator.world import World


# --- applies commands in slices of whole instants, and undoes an instant that would write too many rows
#
# Rules: an instant is finished or undone, however the run is cut into slices. After an undo the run is at
# the end of the last complete instant, and nothing of the undone one is left in trace, logs or tables.
# Which instant that is depends on the rows alone, never on the slices.


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


CHECKPOINT_ROWS_MIN = 16_384
"""The least number of rows between checkpoints.

Running them again takes about 60 ms. A run of the hardest mix spends 2 % of its time on checkpoints.
"""
ROW_BYTES = 40
"""Bytes of a packed row in memory; a checkpoint may cost a tenth of that for each row since the last."""

TABLES_BYTES_PER_ROW = 40
"""The tables of messages and entries, which each branch has of its own, and the live state.

About 350 bytes a message, of nine rows.
"""
BRANCH_BYTES = 1_000_000
"""The fixed memory of a branch: clusters, clients, views."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    at_us: int
    seq: int
    saved: bytes


class Branch:
    """One line of history: trace, checkpoints, command log.

    A branch made from another has its `parent`, the instant `cut_us` at which it begins, and the `command`
    that began it. Without `seekable` it has no checkpoints.
    """

    def __init__(
        self,
        number: int,
        runtime: System,
        parent: Branch | None = None,
        command: dict | None = None,
        seekable: bool = True,
    ) -> None:
        self.number = number
        self.parent = parent
        self.cut_us = runtime.now_us if parent else 0
        self.command = command
        self.trace = runtime.trace
        self._checks = parent.checks.branched(runtime.seq) if parent and seekable else None
        self.shared = SharedObjects(runtime.shared_types)
        self.checkpoints: list[Checkpoint] = []
        self.command_log: list[dict] = []
        self.furthest_us = runtime.now_us
        self.full_us: int | None = None  # the instant that would write more rows than a lab may hold
        self._grown = runtime.growing()
        self._scenario = runtime.scenario
        if seekable:
            self.save(runtime)

    @property
    def checks(self) -> LiveChecks:
        """The checks of this branch, made when they are first needed."""
        if self._checks is None:
            self._checks = LiveChecks(self._scenario)
        return self._checks

    # --- checkpoints

    def save(self, runtime: System) -> None:
        """Take a checkpoint of a state at the branch's front."""
        self.checkpoints.append(Checkpoint(runtime.now_us, runtime.seq, self.shared.save(runtime)))

    def save_if_due(self, runtime: System) -> None:
        """Take a checkpoint when enough rows were written since the last one."""
        last = self.checkpoints[-1]
        rows = runtime.seq - last.seq
        if (
            rows >= CHECKPOINT_ROWS_MIN
            and rows * ROW_BYTES >= 10 * len(last.saved)
            and runtime.now_us > last.at_us
        ):
            self.save(runtime)

    def nearest_us(self, at_us: int) -> int:
        """The instant of the last state at or before `at_us`."""
        return self._nearest(at_us)[1].at_us

    def _nearest(self, at_us: int) -> tuple[Branch, Checkpoint]:
        place = bisect_right(self.checkpoints, at_us, key=lambda checkpoint: checkpoint.at_us)
        if place:
            return self, self.checkpoints[place - 1]
        assert self.parent is not None, f"a root branch has no state at {at_us} us"
        return self.parent._nearest(at_us)

    def load(self, at_us: int) -> System:
        """Load the last state at or before an instant.

        The commands given by hand since then are put on its calendar.
        """
        owner, checkpoint = self._nearest(at_us)
        runtime = owner.shared.load(checkpoint.saved)
        runtime.write_to(self.trace, checkpoint.seq)
        if owner is not self:
            runtime.adopt(self._grown)
        runtime.drop(CommandRunner.run_by_hand)
        for entry in self.command_log[runtime.command_count :]:
            put_by_hand(runtime, entry)
        return runtime

    @property
    def checkpoint_bytes(self) -> int:
        """Memory of all checkpoints of this branch."""
        return sum(len(checkpoint.saved) for checkpoint in self.checkpoints)

    def describe(self) -> dict:
        """The branch as the page lists it."""
        parent = self.parent.number if self.parent is not None else None
        return {
            "number": self.number,
            "parent": parent,
            "at_us": self.cut_us,
            "command": self.command,
            "furthest_us": self.furthest_us,
        }


def memory_bytes(branches: list[Branch]) -> int:
    """An estimate of the memory of these branches of a lab; blocks that they share are counted once."""
    blocks: dict[Block, int] = {}
    own_bytes = 0
    for branch in branches:
        blocks.update(branch.trace.block_sizes())
        own_bytes += (
            BRANCH_BYTES
            + branch.trace.open_bytes
            + branch.checkpoint_bytes
            + TABLES_BYTES_PER_ROW * branch.trace.length
        )
    return sum(blocks.values()) + own_bytes


def put_by_hand(runtime: System, entry: dict) -> None:
    """Put a logged command on a state's calendar."""
    command = {name: value for name, value in entry.items() if name not in ("at_us", "number")}
    schedule_command(runtime, entry["at_us"], command, by_hand=True)


class LiveChecks:
    """Checks of one branch.

    Rules: a whole block is read as soon as it is sealed, the open end only when the result is requested. A
    capture at every block lets a new branch continue from there instead of reading the past again. At an
    earlier instant of the branch no row is read twice.
    """

    def __init__(self, scenario: Scenario, begun: Checks | None = None) -> None:
        self._scenario = scenario
        self._checks = begun if begun is not None else Checks(scenario)
        self._captures: list[Checks] = [self._checks.capture()]

    def read_sealed(self, trace: Trace) -> None:
        """Read the blocks that were completed since the last time."""
        while self._checks.position // BLOCK_ROWS < trace.length // BLOCK_ROWS:
            self._read(trace, self._block_end())

    def unread_rows(self, upto_seq: int) -> int:
        """Rows before `upto_seq` that the checks have not read."""
        return max(0, upto_seq - self._checks.position)

    def read_on(self, trace: Trace, upto_seq: int, rows: int) -> None:
        """Read at most `rows` more rows before `upto_seq`; a branch begins up to a block behind."""
        self._read(trace, min(upto_seq, self._checks.position + rows, self._block_end()))

    def violations(self, trace: Trace, upto_seq: int) -> list[Violation]:
        """Broken claims in the rows before `upto_seq`, in order."""
        self.read_sealed(trace)
        self._checks.read(trace, upto_seq)
        return [violation for violation in self._checks.violations if violation.seq < upto_seq]

    def _block_end(self) -> int:
        return (self._checks.position // BLOCK_ROWS + 1) * BLOCK_ROWS

    def _read(self, trace: Trace, upto_seq: int) -> None:
        """Read on within a block and keep a capture at its end."""
        self._checks.read(trace, upto_seq)
        if self._checks.position > self._captures[-1].position and self._checks.position % BLOCK_ROWS == 0:
            self._captures.append(self._checks.capture())

    def branched(self, seq: int) -> LiveChecks:
        """The checks of a branch that begins at `seq`, from the nearest capture before it."""
        nearest = next(capture for capture in reversed(self._captures) if capture.position <= seq)
        return LiveChecks(self._scenario, nearest.copy())
