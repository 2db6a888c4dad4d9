"""Protocols by role: what a shadow's losses need of its topic and subscriptions.

Rules: `shadow.topic.ShadowTopic`, `broker.subscription.Subscription` and `broadcast.audience.Audience` play
these roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from simulator.protocols.pulsar.storage.roles import (
    AudienceOfLog,
    RuntimeOfLog,
    SubscriptionOfLog,
    TopicOfLog,
)

if TYPE_CHECKING:
    from pyroaring import BitMap

    from simulator.protocols.pulsar.shadow.log import ShadowLog
    from simulator.protocols.pulsar.shadow.reads import Reads


class RuntimeOfLosses(RuntimeOfLog, Protocol):
    """Clock, trace, and messages received and acknowledged by applications, by subscription."""

    acknowledged: dict[str, BitMap]
    delivered: dict[str, BitMap]


class SubscriptionOfLosses(SubscriptionOfLog, Protocol):
    """A subscription of a shadow topic."""

    def acknowledge_up_to(self, index: int, reason: str, cause: int) -> bool:
        """Move the mark-delete to `index`; True when it moved."""


class AudienceOfLosses(AudienceOfLog, Protocol):
    """Many cursors of one topic."""

    def pushed(self, first_index: int) -> None:
        """The ledgers below an entry were deleted."""


class TopicOfLosses(TopicOfLog, Protocol):
    """A shadow topic. `lost` are the messages deleted before they were acknowledged, by subscription."""

    shadow_log: ShadowLog
    lost: dict[str, BitMap]
    reads: Reads

    @property
    def runtime(self) -> RuntimeOfLosses:
        """Clock, trace and tables."""

    @property
    def subscriptions(self) -> Mapping[str, SubscriptionOfLosses]:
        """Its subscriptions by name."""

    @property
    def audiences(self) -> Mapping[str, AudienceOfLosses]:
        """Its audiences by name."""

    def wake_dispatchers(self, cause: int) -> None:
        """Dispatchers continue."""
