"""The system of a recorded run: its calendar holds the recorded rows, one instant after the other.

Rules: playing an instant writes its rows to the trace, unchanged, and applies them to the state. So seeking,
stepping, checkpoints and branches work as in a simulated run, and the digest at the end is that of the file.
Every command is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NoReturn, cast

from simulator.protocols.pulsar.commands.effects import HANDLERS as COMMANDS
from simulator.protocols.pulsar.recorded.failovers import RecordedFailover, failovers_of
from simulator.protocols.pulsar.recorded.recording import Recording, recording_of
from simulator.protocols.pulsar.recorded.rows_of_logs import HANDLERS as OF_LOGS
from simulator.protocols.pulsar.recorded.rows_of_replication import HANDLERS as OF_REPLICATION
from simulator.protocols.pulsar.recorded.rows_of_subscriptions import HANDLERS as OF_SUBSCRIPTIONS
from simulator.protocols.pulsar.recorded.state import RecordedState
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.commands import CommandError
from simulator.scenarios.model import Scenario
from simulator.system.commanding import Begin
from simulator.system.system import Handlers
from simulator.trace.recorded_files import damaged
from simulator.trace.trace import Trace

ROWS_AT_ONCE = 500
"""Rows of one instant that one event of the calendar writes: a few milliseconds."""

HANDLERS = {**OF_LOGS, **OF_REPLICATION, **OF_SUBSCRIPTIONS}
"""The rows that change the state; the others are shown and counted only."""


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
            self.emit(values)
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
