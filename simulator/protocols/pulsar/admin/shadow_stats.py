"""The statistics of a source about its shadows: absent as shipped, optionally PIP-180's map.

With the option for it a source has the field `shadowReplication`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.shadow.replicator import ShadowReplicator


def full_name(replicator: ShadowReplicator) -> str:
    """The shadow topic's name in full."""
    topics = replicator.runtime.scenario.topics
    base = (
        replicator.shadow if replicator.shadow in topics else replicator.shadow.rpartition("-partition-")[0]
    )
    return f"persistent://{topics[base].namespace}/{replicator.shadow}"


def cursor_name(replicator: ShadowReplicator) -> str:
    """`pulsar.repl-` and the shadow topic's name, URL-encoded (`ShadowReplicator`)."""
    return f"pulsar.repl-{quote_plus(full_name(replicator))}"


def shadow_replication(topic: Topic) -> dict[str, Any]:
    """The proposal's field with ReplicatorStatsImpl of every shadow, or an empty object."""
    if topic.runtime.option("shadowReplicationInStats") != "proposal":
        return {}
    return {
        "shadowReplication": {
            full_name(one): _of(one) for _name, one in sorted(topic.shadows.replicators.items())
        }
    }


def _of(one: ShadowReplicator) -> dict[str, Any]:
    return {
        "msgRateIn": 0.0,
        "msgThroughputIn": 0.0,
        "msgInCount": 0,
        "bytesInCount": 0,
        "msgRateOut": 0.0,
        "msgThroughputOut": 0.0,
        "msgOutCount": one.sent_messages,
        "bytesOutCount": one.sent_bytes,
        "msgRateExpired": 0.0,
        "msgExpiredCount": 0,
        "replicationBacklog": one.backlog,
        "connected": one.state == "started",
        "replicationDelayInSeconds": 0,
    }
