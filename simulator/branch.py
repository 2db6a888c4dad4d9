"""One branch of a lab's history: its trace, its checkpoints and its command log.

Rules: checkpoints are taken only at the branch's front, at the end of an instant; the next one is taken once
it costs at most a tenth of the memory of the rows since the last. For instants before its cut a branch uses
its parent's checkpoints. Such a state is `adopted`: it gets this branch's growing columns, which begin with
the same values.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from simulator.checks.check import Violation
from simulator.checks.checks import Checks
from simulator.scenarios.model import Scenario
from simulator.system.checkpoint import SharedObjects
from simulator.system.commanding import CommandRunner, schedule_command
from simulator.system.system import System
from simulator.trace.trace import BLOCK_ROWS, Block, Trace

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
