"""Which work each step of a migration is, by strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.migration.clean_up import CleanUp
from simulator.protocols.pulsar.migration.data import TopicData
from simulator.protocols.pulsar.migration.draining import Draining
from simulator.protocols.pulsar.migration.metadata import Metadata
from simulator.protocols.pulsar.migration.progress import AcknowledgementSync, Nothing, Snapshots
from simulator.protocols.pulsar.migration.run import (
    ACKNOWLEDGEMENT_SYNC,
    BLUE_GREEN,
    CLEAN_UP,
    METADATA,
    NONE,
    PROGRESS,
    SNAPSHOTS,
    SWITCH,
    TOPIC_DATA,
)
from simulator.protocols.pulsar.migration.switching import Switching

if TYPE_CHECKING:
    from simulator.protocols.pulsar.migration.work import MigrationOfStep, Work

_TOLD = {ACKNOWLEDGEMENT_SYNC: AcknowledgementSync, SNAPSHOTS: Snapshots, NONE: Nothing, BLUE_GREEN: Nothing}


def works(migration: MigrationOfStep) -> dict[str, Work]:
    """The work of every step, by its name."""
    strategy = migration.run.strategy
    return {
        METADATA: Metadata(migration),
        TOPIC_DATA: TopicData(migration),
        PROGRESS: _TOLD[strategy](migration),
        SWITCH: Draining(migration) if strategy == BLUE_GREEN else Switching(migration),
        CLEAN_UP: CleanUp(migration),
    }
