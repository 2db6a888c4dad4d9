"""The work of each step of a migration, by strategy."""

from __future__ import annotations

from dataclasses import dataclass
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
    from simulator.protocols.pulsar.migration.migration import Migration
    from simulator.protocols.pulsar.migration.work import Work

_PROGRESS_STEPS = {
    ACKNOWLEDGEMENT_SYNC: AcknowledgementSync,
    SNAPSHOTS: Snapshots,
    NONE: Nothing,
    BLUE_GREEN: Nothing,
}


@dataclass(frozen=True)
class Works:
    """The work of every step of one migration."""

    metadata: Metadata
    topic_data: TopicData
    progress: Nothing
    switch: Draining | Switching
    clean_up: CleanUp

    def of(self, step: str) -> Work:
        """The work of a step, by its name."""
        return {
            METADATA: self.metadata,
            TOPIC_DATA: self.topic_data,
            PROGRESS: self.progress,
            SWITCH: self.switch,
            CLEAN_UP: self.clean_up,
        }[step]


def works(migration: Migration) -> Works:
    """The work of every step."""
    strategy = migration.run.strategy
    return Works(
        Metadata(migration),
        TopicData(migration),
        _PROGRESS_STEPS[strategy](migration),
        Draining(migration) if strategy == BLUE_GREEN else Switching(migration),
        CleanUp(migration),
    )
