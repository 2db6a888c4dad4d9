"""Random commands for any scenario, drawn from the table of commands.

Each argument is drawn by its kind from the scenario's names. Rules: a pure function of the generator that is
passed in. A command may be refused by the run; a kind that the scenario has no name for gives no command.
"""

from __future__ import annotations

from random import Random
from typing import Any

from simulator.scenarios.command_table import COMMANDS
from simulator.scenarios.key import Key, belongs
from simulator.scenarios.model import Scenario

DURATIONS = ("1ms", "20ms", "150ms", "300ms", "1s", "4s")
OPTIONAL_PERCENT = 40
"""Probability that an optional argument is given."""
SETTINGS = {
    "replicatedSubscriptionsSnapshotFrequencyMillis": (200, 1000),
    "replicatedSubscriptionsSnapshotTimeoutSeconds": (1,),
    "enableReplicatedSubscriptions": (True, False),
    "replicatedSubscriptionsSnapshotMaxCachedPerSubscription": (3,),
    "replicationStartAt": ("latest", "earliest"),
    "replicationProducerQueueSize": (5,),
    "brokerDeduplicationEnabled": (True, False),
    "managedLedgerMaxEntriesPerLedger": (7, 50000),
    "managedLedgerMinLedgerRolloverTimeMinutes": (0,),
    "managedLedgerDefaultMarkDeleteRateLimit": (0, 1),
    "retentionCheckIntervalInSeconds": (1,),
    "defaultRetentionTimeInMinutes": (-1, 0),
    "defaultRetentionSizeInMB": (-1, 0),
    "ttlDurationDefaultInSeconds": (0, 1, 3),
    "maxUnackedMessagesPerConsumer": (2, 0),
    "maxUnackedMessagesPerSubscription": (3, 0),
    "dispatcherMaxRoundRobinBatchSize": (1,),
    "activeConsumerFailoverDelayTimeMillis": (0, 1000),
    "delayedDeliveryEnabled": (True, False),
    "allowAutoTopicCreation": (True, False),
    "allowAutoTopicCreationType": ("partitioned", "non-partitioned"),
    "defaultNumPartitions": (1, 3),
    "createTopicToRemoteClusterForReplication": (True, False),
    "isAllowAutoUpdateSchemaEnabled": (True, False),
    "topicLevelPoliciesEnabled": (True, False),
    "clusterMigrationCheckDurationSeconds": (1, 0),
    "clusterMigrationAutoResourceCreation": (True, False),
    "managedLedgerOffloadDriver": ("none", "aws-s3"),
}


class NoneHere(Exception):
    """The scenario has nothing of this kind."""


def random_command(scenario: Scenario, chance: Random) -> dict[str, Any]:
    """One command in the form a person writes it."""
    names = sorted(name for name, command in COMMANDS.items() if belongs(command.protocol, scenario.protocol))
    while True:
        command = COMMANDS[chance.choice(names)]
        try:
            return {"do": command.name, **_arguments(scenario, command, chance)}
        except NoneHere:
            continue


def _arguments(scenario: Scenario, command: Any, chance: Random) -> dict[str, Any]:
    if command.name == "setting.change":
        setting = chance.choice(sorted(SETTINGS))
        return {"setting": setting, "value": chance.choice(SETTINGS[setting])}
    one = chance.choice(command.one_of) if command.one_of else None
    chosen = {}
    for key in command.arguments:
        if key.name in command.one_of:
            if key.name == one:
                chosen[key.name] = _value(scenario, key, chance)
        elif key.required or chance.randrange(100) < OPTIONAL_PERCENT:
            try:
                chosen[key.name] = _value(scenario, key, chance)
            except NoneHere:
                if key.required:
                    raise
    return chosen


def _value(scenario: Scenario, key: Key, chance: Random) -> Any:
    if key.kind == "choice":
        return chance.choice(key.choices)
    if key.kind == "boolean":
        return chance.random() < 0.5
    if key.kind == "integer":
        least = key.minimum or 0
        return min(least + chance.choice((0, 1, 2, 7, 40)), key.maximum or 40)
    if key.kind == "duration":
        return chance.choice(DURATIONS)
    if key.kind in ("names", "addresses"):
        names = _names(scenario, "clusters" if key.kind == "names" else "topics")
        return chance.sample(names, chance.randint(1, len(names)))
    if key.kind == "link":
        source, target = chance.sample(
            _names(scenario, "nodes" if scenario.nodes else "clusters", least=2), 2
        )
        return f"{source} {chance.choice(('->', '<->'))} {target}"
    if key.kind == "messages":
        return [
            f"{chance.choice(_names(scenario, 'producers'))}/{chance.randrange(200)}"
            for _ in range(chance.randint(1, 4))
        ]
    if key.kind in _PLAIN:
        return chance.choice(_PLAIN[key.kind])
    return chance.choice(_names(scenario, _SECTIONS.get(key.kind, key.kind), key.name))


_PLAIN = {"share": ("10%", "50%"), "distribution": ("1ms", "80ms", "2s"), "position": ("earliest", "latest")}
_SECTIONS = {
    "cluster": "clusters",
    "producer": "producers",
    "consumer": "consumers",
    "subscription": "subscriptions",
    "topic": "topics",
    "address": "topics",
    "broker": "brokers",
    "tenant": "tenants",
    "role": "roles",
    "schema": "schemas",
    "node": "nodes",
    "session": "sessions",
    "publisher": "publishers",
}


def _names(scenario: Scenario, section: str, key: str = "", least: int = 1) -> list[str]:
    if section == "client":
        names = [*scenario.producers, *scenario.consumers]
    elif section == "topic-or-partition":
        names = [
            part
            for name, topic in scenario.topics.items()
            for part in (name, *(f"{name}-partition-{number}" for number in range(topic.partitions)))
        ]
    elif section == "namespace":
        names = [*scenario.namespaces, *(topic.namespace for topic in scenario.topics.values())]
    elif section == "subscription-filter":
        names = [name for session in scenario.sessions.values() for name in session.subscriptions]
    elif section == "text":
        names = list(scenario.groups) if key == "group" else []
    else:
        names = list(getattr(scenario, section))
    if len(names) < least:
        raise NoneHere(section)
    return sorted(dict.fromkeys(names))
