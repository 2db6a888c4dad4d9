"""Arguments shared by commands of several subjects."""

from __future__ import annotations

from functools import partial

from simulator.protocols.pulsar.scenario.model import PULSAR
from simulator.scenarios.declarations import Command, Key
from simulator.scenarios.limits import LARGEST_COUNT

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
COUNT = Key(
    "count", "integer", "how many messages", required=True, minimum=1, maximum=LARGEST_COUNT, begin=10
)
EXPIRE_TIME = Key(
    "expireTime", "duration", "older than this, in whole seconds as in pulsar-admin", begin="60s"
)
EXPIRE_POSITION = Key("position", "entry-position", "ledger:entry up to which they expire")
