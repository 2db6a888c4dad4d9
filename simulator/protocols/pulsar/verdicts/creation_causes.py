"""The ordered causes of the family topic-creation: those of replicated subscriptions."""

from __future__ import annotations

from simulator.protocols.pulsar.verdicts.causes import register_causes
from simulator.protocols.pulsar.verdicts.replicated_causes import CAUSES

FAMILY = "topic-creation"

register_causes(FAMILY, CAUSES)
