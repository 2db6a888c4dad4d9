"""Commands about the clusters that a topic replicates to."""

from __future__ import annotations

from simulator.protocols.pulsar.commands.declared.arguments import (
    ADMIN_CLUSTER,
    CLUSTER,
    COUNT,
    EXPIRE_POSITION,
    EXPIRE_TIME,
    PARTITION,
    TOPIC,
    command,
)
from simulator.scenarios.declarations import Command, Key, When

_LISTED = Key("clusters", "names", "the whole new list", required=True)

CLUSTERS: tuple[Command, ...] = (
    command(
        "replication.remove-cluster",
        "remove a cluster from a topic's replication list; the replication cursors to it are deleted",
        (TOPIC, CLUSTER),
        refusals=("namespace-replication", "not-listed"),
        label="remove a cluster from the replication list",
        consequence=(
            "{cluster} receives no more messages and markers. Snapshots of the other regions no longer "
            "wait for it."
        ),
    ),
    command(
        "replication.add-cluster",
        "add a cluster to a topic's replication list; replication cursors to it start at replicationStartAt",
        (TOPIC, CLUSTER),
        refusals=("listed", "namespace-replication", "no-topic"),
        label="add a cluster to the replication list",
        consequence="{cluster} receives messages from now on, and snapshots wait for its response, too.",
    ),
)
_CURSOR = (
    Key("cluster", "cluster", "cluster that has the replication cursor", required=True),
    PARTITION,
    Key("to", "cluster", "cluster that it replicates to", required=True),
)
_NEVER_SENT = (
    " Messages among them that were not sent yet never reach {to|the other cluster}. After a failover there, "
    "those that nobody acked count as lost (never replicated)."
)

CURSORS: tuple[Command, ...] = (
    command(
        "replication.skip",
        "move a replication cursor over the next entries, as pulsar-admin topics skip -s pulsar.repl.CLUSTER",
        (*_CURSOR, COUNT),
        refusals=("404", "405", "cluster-down", "no-topic", "not-loaded"),
        label="skip messages of a replicator",
        consequence=(
            "The replicator of {topic} from {cluster} to {to|the other cluster} skips its next {count|few} "
            "entries, markers included.",
            _NEVER_SENT,
        ),
    ),
    command(
        "replication.clear",
        "clear a replication backlog, as pulsar-admin topics clear-backlog -s pulsar.repl.CLUSTER",
        _CURSOR,
        refusals=("404", "cluster-down", "no-topic", "not-loaded"),
        label="clear a replication backlog",
        consequence=(
            "The replicator of {topic} from {cluster} to {to|the other cluster} skips its whole backlog.",
            _NEVER_SENT,
        ),
    ),
    command(
        "replication.expire-messages",
        "expire a replicator's oldest entries, as pulsar-admin topics expire-messages -s pulsar.repl.CLUSTER",
        (*_CURSOR, EXPIRE_TIME, EXPIRE_POSITION),
        one_of=("expireTime", "position"),
        refusals=("404", "409", "cluster-down", "no-topic", "not-loaded"),
        label="expire messages of a replicator",
        consequence=(
            When(
                "position",
                {
                    "": (
                        "The replicator of {topic} from {cluster} to {to|the other cluster} skips its "
                        "oldest entries, up to the first that was published less than "
                        "{expireTime|that long} ago."
                    )
                },
                "The broker refuses a position: it looks for a subscription named pulsar.repl.{to}.",
            ),
            When("position", {"": _NEVER_SENT}),
        ),
    ),
    command(
        "replication.reset",
        "reset a replication cursor, which the broker refuses (#15466)",
        (
            *_CURSOR,
            Key("position", "position", "ledger:entry to send next, earliest or latest"),
            Key("time", "duration", "send again what was published from this instant on"),
        ),
        one_of=("position", "time"),
        refusals=("404", "405", "cluster-down", "no-topic", "not-loaded"),
        label="reset a replication cursor",
        consequence=(
            "The broker refuses it: reset-cursor works for subscriptions only (#15466, #14887). To replicate "
            "the log again, remove {to|the other cluster} from the replication list and add it with "
            "replicationStartAt earliest."
        ),
    ),
)
LISTS: tuple[Command, ...] = (
    command(
        "topic.set-replication-clusters",
        "set a topic's own replication list in one cluster",
        (
            ADMIN_CLUSTER,
            TOPIC,
            _LISTED,
            Key(
                "global",
                "boolean",
                "a global policy: it travels to the namespace's other clusters",
                default=False,
            ),
        ),
        refusals=("403", "404", "405", "409", "412", "500", "cluster-down"),
        label="give a topic its own replication list",
        consequence=(
            (
                "From {cluster} the topic replicates to {clusters|the clusters you name},"
                " whatever its namespace's list contains."
            ),
            When(
                "global",
                {
                    "true": (
                        " The policy is global: other clusters apply the same list, and one that is not "
                        "in it deletes the topic."
                    )
                },
            ),
        ),
    ),
    command(
        "topic.remove-replication-clusters",
        "remove a topic's own replication list: the namespace's applies",
        (ADMIN_CLUSTER, TOPIC, Key("global", "boolean", "the global policy, in all clusters", default=False)),
        refusals=("404", "405", "cluster-down"),
        label="remove a topic's own replication list",
        consequence="{cluster} uses the namespace's list again.",
    ),
)
