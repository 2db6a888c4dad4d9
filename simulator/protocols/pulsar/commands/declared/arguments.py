"""Arguments shared by commands of several subjects."""

from __future__ import annotations

from functools import partial

from simulator.protocols.pulsar.scenario.families import PULSAR
from simulator.scenarios.command import Command
from simulator.scenarios.key import Key

command = partial(Command, protocol=PULSAR)
"""Declares a command of Pulsar."""

PRODUCER = Key("producer", "producer", "which producer", required=True)
CONSUMER = Key("consumer", "consumer", "which consumer", required=True)
CLIENT = Key("client", "client", "which producer or consumer", required=True)
CLUSTER = Key("cluster", "cluster", "which cluster", required=True)
TOPIC = Key("topic", "topic", "which topic", required=True)
PARTITION = Key("topic", "topic-or-partition", "which topic, or one partition of it", required=True)
SUBSCRIPTION = Key("subscription", "subscription", "which subscription", required=True)
ROLE = Key("role", "role", "who asks; without it a superuser")
ADMIN_CLUSTER = Key("cluster", "cluster", "cluster whose admin service gets the request", required=True)
