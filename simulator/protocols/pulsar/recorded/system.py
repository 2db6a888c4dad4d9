"""The system of a recorded run: its calendar holds the recorded rows, one instant after the other.

Rules: playing an instant writes its rows to the trace, unchanged, and applies them to the state. So seeking,
stepping, checkpoints and branches work as in a simulated run, and the digest at the end is that of the file.
Every command is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from pyroaring import BitMap

from simulator.log.cursors import runs
from simulator.protocols.pulsar.commands.effects import HANDLERS as COMMANDS
from simulator.protocols.pulsar.recorded.recording import RecordedState, Recording, recording_of
from simulator.protocols.pulsar.recorded.rows import HANDLERS
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.commands import CommandError
from simulator.scenarios.model import Scenario
from simulator.system.commanding import Begin
from simulator.system.system import Handlers
from simulator.trace.recorded_files import damaged
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

if TYPE_CHECKING:
    from simulator.counting import CountedFailover


# --- failovers of a recorded run up to an instant
#
# Rules: the counts of the whole recording say which deliveries are duplicates (docs/counting.md). An
# instant shows those that have happened by then. `lost` counts messages from the row on at which the target
# could not deliver them any more.


MARKED_RANGES_MAX = 200
"""Newest ranges of duplicates that one frame has of a failover."""


class RecordedWindow:
    """What a failover has caused so far."""

    forecast: dict[str, int] = {}

    def __init__(self, state: RecordedState, counted: CountedFailover) -> None:
        self._state, self._counted = state, counted

    def _before(self, listed: Any, role: str) -> int:
        """How many entries of a list have this row of evidence by now."""
        seqs = np.asarray(listed.evidence.get(role, ())) if len(listed) else np.empty(0, dtype=np.int64)
        return int(((seqs != NULL) & (seqs < self._state.seq)).sum())

    def _delivered(self, listed: Any) -> np.ndarray:
        """The rows of a list's deliveries so far."""
        seqs = np.asarray(listed.columns["delivered_seq"]) if len(listed) else np.empty(0, dtype=np.int64)
        return seqs[seqs < self._state.seq]

    def figures(self) -> dict[str, Any]:
        """The figures for a page."""
        counted, now_us = self._counted, self._state.now_us

        def by_now(at_us: int | None) -> int | None:
            return at_us if at_us is not None and at_us <= now_us else None

        first_us = by_now(counted.first_delivery_us)
        return {
            "duplicates": len(self._delivered(counted.duplicates_list)),
            "redeliveries": len(self._delivered(counted.redelivered_list)),
            "extra_deliveries": self._extra_deliveries(),
            "stranded": counted.stranded,
            "stranded_unprocessed": counted.stranded_unprocessed,
            "stranded_returned": self._before(counted.stranded_list, "returned"),
            "stranded_missing": self._missing(),
            "lost": self._before(counted.lost_list, "lost"),
            "first_delivery_us": first_us,
            "outage_us": None if first_us is None else counted.outage_us,
            "caught_up_us": by_now(counted.caught_up_us),
            "drained_us": by_now(counted.drained_us),
            "pending_repeats": counted.pending_repeats if self._state.seq >= counted.closed_seq else None,
            "forecast": {},
        }

    def _missing(self) -> int:
        """The unread messages that were not replicated and have not reached the target by now."""
        listed: Any = self._counted.stranded_list
        if not len(listed):
            return 0
        return int((np.asarray(listed.columns["unprocessed"]) & ~self._by_now(listed, "returned")).sum())

    def _by_now(self, listed: Any, role: str) -> np.ndarray:
        """Which messages of a list have their row of this role by now."""
        seqs = np.asarray(listed.evidence.get(role, np.full(len(listed), NULL)))
        return (seqs != NULL) & (seqs < self._state.seq)

    def _extra_deliveries(self) -> int:
        """Deliveries in the window of messages that it had delivered already."""
        counted, trace = self._counted, self._state.recording.trace
        last = min(self._state.seq, counted.closed_seq)
        if not counted.extra_deliveries or last <= counted.opened_seq:
            return 0
        wanted = {name: trace.number(value) for name, value in self._place().items()}
        columns = trace.columns(
            counted.opened_seq, last, ("type", "cluster", "subscription", "producer", "sequence_id")
        )
        chosen = columns["type"] == trace.vocabulary.code["message.delivered"]
        for name, number in wanted.items():
            chosen &= columns[name] == number
        messages = np.stack((columns["producer"][chosen], columns["sequence_id"][chosen]))
        return int(chosen.sum()) - np.unique(messages, axis=1).shape[1]

    def _place(self) -> dict[str, str]:
        return {"cluster": self._counted.target, "subscription": self._counted.subscription}

    def lost(self) -> BitMap:
        """The numbers of messages that are lost by now."""
        listed = self._counted.lost_list
        return self._numbers(listed, self._by_now(listed, "lost")) if len(listed) else BitMap()

    def missing(self) -> BitMap:
        """The numbers of messages that were not replicated and have not reached the target by now."""
        listed = self._counted.stranded_list
        return self._numbers(listed, ~self._by_now(listed, "returned")) if len(listed) else BitMap()

    def _numbers(self, listed: Any, chosen: np.ndarray) -> BitMap:
        producers, ids = listed.columns["producer"], listed.columns["sequence_id"]
        recording = self._state.recording
        names = recording.trace.names
        return BitMap(
            recording.numbers[names[producers[at]], int(ids[at])] for at in np.flatnonzero(chosen).tolist()
        )

    def entries(self) -> dict[str, dict[str, Any]]:
        """By topic of the target the cursor at the failover, and the entries with duplicates so far."""
        state, counted = self._state, self._counted
        marked: dict[str, BitMap] = {}
        for seq in self._delivered(counted.duplicates_list).tolist():
            row = state.recording.row(seq)
            log = state.clusters[counted.target].topics[row["topic"]].log
            marked.setdefault(row["topic"], BitMap()).add(log.index_of(row["ledger"], row["entry"]))
        cursors = state.cursors_at_failovers.get(counted.opened_seq, {})
        nothing = {"mark_delete_index": -1, "ranges": []}
        return {
            name: {
                **cursors.get(name, nothing),
                "duplicates": [list(pair) for pair in runs(marked.get(name, BitMap()))[-MARKED_RANGES_MAX:]],
            }
            for name in sorted({**cursors, **marked})
        }


class RecordedFailover:
    """A failover that has begun; the names are those of the engine's failovers."""

    def __init__(self, state: RecordedState, counted: CountedFailover) -> None:
        self.subscription, self.source, self.target = counted.subscription, counted.source, counted.target
        self.mode, self.at_us, self.seq = counted.mode, counted.at_us, counted.opened_seq
        self.window = RecordedWindow(state, counted)


def failovers_of(state: RecordedState) -> list[RecordedFailover]:
    """The failovers that have begun by now, in order."""
    return [
        RecordedFailover(state, counted)
        for counted in state.recording.failovers
        if counted.opened_seq < state.seq
    ]


ROWS_AT_ONCE = 500
"""Rows of one instant that one event of the calendar writes: a few milliseconds."""


class RecordedSystem(RecordedState):
    """A recorded run at an instant."""

    def schedule_next(self) -> None:
        """Put the next rows on the calendar, if there are any."""
        at_us = self.recording.next_at_us(self.seq)
        if at_us is not None:
            self.schedule(at_us, 0, self.play)

    def play(self, _argument: None) -> int:
        """Write the next rows of this instant and apply them."""
        recording, first = self.recording, self.seq
        last = min(first + ROWS_AT_ONCE, bisect_right(recording.instants, self.now_us, first))
        types = recording.trace.vocabulary.types
        for seq in range(first, last):
            values = recording.values(seq)
            self.rows.out.append(values)
            handle = HANDLERS.get(types[values[0]].name)
            if handle is not None:
                handle(self, recording.row(seq))
        self.schedule_next()
        return last - first

    @property
    def failovers(self) -> list[RecordedFailover]:  # type: ignore[override]
        """Failovers so far."""
        return failovers_of(self)


def build(scenario: Scenario, seed: int, trace: Trace) -> RecordedSystem:
    """A recorded run before its first row. Raises RecordingError."""
    recording = recording_of(scenario, trace.vocabulary)
    recorded = cast(PulsarScenario, scenario)
    _play_whole(recorded, seed, recording)
    return _system(recorded, seed, trace, recording)


def _system(scenario: PulsarScenario, seed: int, trace: Trace, recording: Recording) -> RecordedSystem:
    system = RecordedSystem(scenario, seed, trace, recording)
    system.handlers = _REFUSALS
    for name in recording.trace.names:
        trace.intern(name)
    system.schedule_next()
    return system


def _play_whole(scenario: PulsarScenario, seed: int, recording: Recording) -> None:
    """Play all rows once, so that a file with rows that cannot be is refused when it is opened."""
    if recording.played:
        return
    system = _system(scenario, seed, Trace(recording.trace.vocabulary), recording)
    try:
        while (at_us := system.next_at_us) is not None:
            system.run_instants(at_us, ROWS_AT_ONCE)
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        why = f"no {error} is known" if isinstance(error, KeyError) else str(error)
        raise damaged(recording.file.path, f"row {system.seq - 1} cannot be played: {why}") from error
    recording.played = True


def refuse(system: RecordedSystem, arguments: dict[str, Any], begin: Begin) -> NoReturn:
    """The answer to every command."""
    recorded = system.recording.file
    raise CommandError(
        "recorded",
        f"This run was recorded on real brokers ({recorded.system}, {recorded.date}). It can be played and "
        "searched, but takes no commands.",
        "Open the scenario itself to try commands on the simulator.",
    )


_REFUSALS = Handlers(dict.fromkeys(COMMANDS, refuse))
