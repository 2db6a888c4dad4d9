"""A simulated system: its interface to the world, and what all protocols share.

Rules: one System per world. Rows are written to the trace only by `rows` and `emit_rows`. A world before the
end of its branch counts rows without writing them again. `growing` returns everything append-only, so that
branches share it (`simulator.system.checkpoint`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simulator.kernel.clock import Clock
from simulator.kernel.random import draw, stream_key
from simulator.scenarios.rule_files import not_repeated
from simulator.scenarios.settings import OPTIONS
from simulator.trace.registry import NULL, Name, NameNumber
from simulator.trace.shared_events import SharedRows
from simulator.trace.trace import RowColumns, Trace

if TYPE_CHECKING:
    from simulator.kernel.links import Link
    from simulator.scenarios.model import Scenario

MILLION = 1_000_000


class Handlers(dict):
    """The functions that carry out commands: name -> function(system, arguments, begin).

    It is a type of its own, so that checkpoints share it.
    """


class ExistingRows:
    """Takes the rows that exist already from a system's writers: it counts each, and compares it if asked."""

    __slots__ = ("system",)

    length = folds_after = 0
    """Equal, so that a writer gives every row to `append`."""

    def __init__(self, system: System) -> None:
        self.system = system

    def append(self, row: tuple[int, ...]) -> int:
        """Count a row and return its seq. Raises RuleError if it must be the one that exists and is not."""
        system = self.system
        trace, seq = system.trace, system.counted or 0
        if system.compares_replays and (before := trace.row_tuple(seq)) != row:
            was, now = (trace.as_dict(seq, values) for values in (before, row))
            raise not_repeated(f"row {seq} was {was} and is now {now}")
        if seq + 1 < trace.length:
            system.counted = seq + 1
        else:
            system.write_to(trace, seq + 1)
        return seq


class System(Clock):
    """Clock, trace writer, options and links of a simulated system.

    `handlers` is set by the code that builds the system.
    """

    __slots__ = (
        "scenario",
        "seed",
        "trace",
        "rows",
        "counted",
        "options",
        "links",
        "command_count",
        "command_results",
        "handlers",
        "rows_max",
        "compares_replays",
    )

    writers: type[SharedRows] = SharedRows
    """The class that declares the protocol's rows."""

    shared_types: tuple[type, ...] = ()
    """The protocol's append-only types, which worlds of a branch share: checkpoints only refer to them."""

    failovers: Sequence[Any] = ()
    """Failovers so far, in a protocol that has them."""

    def __init__(self, scenario: Scenario, seed: int, trace: Trace) -> None:
        super().__init__()
        self.compares_replays = False  # with a rule of one's own, whose repetition may differ
        self.scenario = scenario
        self.seed = seed
        self.trace = trace
        self.rows = self.writers(self)
        self.write_to(trace, 0)
        self.options: dict[str, Any] = dict(scenario.options)
        self.links: dict[tuple[str, str], Link] = {}
        self.command_count = 0
        self.command_results: list[dict] = []  # as the summary shows them
        self.handlers = Handlers()
        self.rows_max: int | None = None  # where the run under way pauses

    # --- what a protocol provides to the world

    @property
    def subscription_names(self) -> list[str]:
        """Names of subscriptions that can fail over, sorted."""
        return []

    @property
    def topic_names(self) -> dict[str, list[str]]:
        """The names of the logs that the page can show as cells, by cluster."""
        return {}

    def growing(self) -> dict[Any, Any]:
        """The append-only objects, by name, which a branch keeps once."""
        return {}

    def adopt(self, grown: Mapping[Any, Any]) -> None:
        """Continue with another branch's `growing`, which begins with the same values."""

    def depart(self) -> None:
        """Copy everything append-only, as a new branch must before it writes."""
        self.write_to(self.trace.prefix(self.seq), self.seq)

    def cut_back(self) -> None:
        """Delete what is after this state, for every world of the branch, when an instant is undone."""
        self.trace.cut(self.seq)
        self.write_to(self.trace, self.seq)

    def link_cut(self, link: Link, cause: int) -> None:
        """Called after a link was cut, for the consequences of the protocol."""

    def link_healed(self, link: Link) -> None:
        """Called after a link was healed."""

    def publish_at_random(self) -> None:
        """Let producers with regular intervals draw them from now on, with the same mean."""

    # --- options

    def option(self, name: str) -> Any:
        """The value of a lab option in force: the scenario's, or its default under `timing` and profile."""
        return OPTIONS[name].value_under(self.options)

    # --- trace

    def write_to(self, trace: Trace, seq: int) -> None:
        """Set the write position to before row `seq` of a trace: `rows` counts a row that exists already."""
        behind = seq < trace.length
        self.trace = trace
        self.counted = seq if behind else None  # of the rows that exist already
        if not behind:
            self.rows.out = trace
        elif type(self.rows.out) is not ExistingRows:
            self.rows.out = ExistingRows(self)

    @property
    def seq(self) -> int:
        """Rows up to now."""
        return self.trace.length if self.counted is None else self.counted

    def emit_rows(self, count: int, parts: Sequence[RowColumns]) -> None:
        """Write `count` rows at once, as `Trace.append_rows` takes them."""
        seq = self.seq
        self.trace.append_rows(count, parts, first=self.trace.length - seq)
        self.write_to(self.trace, seq + count)

    def name(self, name: Name) -> NameNumber:
        """The number of a name in the trace, NULL for None."""
        if isinstance(name, str):
            return self.trace.intern(name)
        return NULL if name is None else name

    # --- random draws

    def chance(self, stream: str, index: int, share_millionths: int) -> bool:
        """Whether the item numbered `index` of `stream` falls in the share.

        It is a pure function of seed, stream and index.
        """
        return (
            share_millionths > 0 and draw(stream_key(self.seed, stream), index) % MILLION < share_millionths
        )
