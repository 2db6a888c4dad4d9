"""Pulsar's terms, in the order of the glossary."""

from __future__ import annotations

from simulator.protocols.pulsar.terms.log import CONSUMERS, LOG
from simulator.protocols.pulsar.terms.replication import FAILOVER, REPLICATION
from simulator.protocols.pulsar.terms.topics import MIGRATION, TOPICS
from simulator.protocols.terms import TermSection

TERMS: tuple[TermSection, ...] = (LOG, CONSUMERS, REPLICATION, FAILOVER, MIGRATION, TOPICS)
