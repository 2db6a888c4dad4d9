"""Chooses a subscription's dispatcher by its type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.dispatch import Dispatcher, SingleActiveDispatcher
from simulator.protocols.pulsar.broker.dispatch_shared import KeySharedDispatcher, SharedDispatcher

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.subscription import Subscription


def dispatcher_for(subscription: Subscription) -> Dispatcher:
    """The dispatcher of the subscription's type."""
    if subscription.type == "Shared":
        return SharedDispatcher(subscription)
    if subscription.type == "Key_Shared":
        return KeySharedDispatcher(subscription)
    return SingleActiveDispatcher(subscription)
