"""What each protocol declares without its engine: events for the trace; settings, options and commands for
scenario files.

Rules: `simulator.scenarios` reads this table, and nothing behind it imports the engine. What runs a protocol
is in `simulator.protocols.table`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.protocols.emqx import events as emqx_events
from simulator.protocols.emqx.commands import declared as emqx_commands
from simulator.protocols.emqx.scenario import settings as emqx_settings
from simulator.protocols.pulsar import events as pulsar_events
from simulator.protocols.pulsar.commands import declared as pulsar_commands
from simulator.protocols.pulsar.commands.declared import refusals as pulsar_refusals
from simulator.protocols.pulsar.scenario import settings as pulsar_settings
from simulator.scenarios.command import Command
from simulator.scenarios.families import EMQX, PULSAR
from simulator.scenarios.setting import Setting
from simulator.trace.registry import EventType, WordTable


@dataclass(frozen=True, slots=True)
class Declared:
    """`settings` have the broker's own names, `options` are the lab's switches.

    `refusals` have the meaning of each code with which a running system refuses commands. `events` are those
    of the trace that only this protocol writes; `word_tables` say what words in them stand for.
    """

    settings: tuple[Setting, ...]
    options: tuple[Setting, ...]
    commands: tuple[Command, ...]
    refusals: Mapping[str, str]
    events: tuple[EventType, ...]
    word_tables: tuple[WordTable, ...] = ()


DECLARED: dict[str, Declared] = {
    PULSAR: Declared(
        pulsar_settings.SETTINGS,
        pulsar_settings.OPTIONS,
        pulsar_commands.DECLARED,
        pulsar_refusals.REFUSALS,
        pulsar_events.EVENTS,
        pulsar_events.WORD_TABLES,
    ),
    EMQX: Declared(
        emqx_settings.SETTINGS,
        emqx_settings.OPTIONS,
        emqx_commands.DECLARED,
        emqx_commands.REFUSALS,
        emqx_events.EVENTS,
    ),
}
