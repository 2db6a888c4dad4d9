"""Commands about subscriptions: their cursors, their replication, and moving their consumers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.protocols.pulsar.commands.declared.arguments import (
    CLUSTER,
    COUNT,
    EXPIRE_POSITION,
    EXPIRE_TIME,
    SUBSCRIPTION,
    command,
)
from simulator.scenarios.declarations import Command, Key, Objection, When


def _leaves(values: Mapping[str, Any]) -> Objection | None:
    source, target = values["from"], values["to"]
    if source == target:
        return Objection("to", "is the cluster that they leave", "name another cluster")
    listed = values.get("pulsarServiceUrlArray")
    if listed is not None and (listed[:1] != (source,) or target not in listed):
        return Objection(
            "pulsarServiceUrlArray",
            f"does not begin with {source}, or lacks {target}",
            f"name {source} first, and {target} after it",
        )
    return None


_FAIL_OVER = (
    SUBSCRIPTION,
    Key("from", "cluster", "cluster that its consumers leave", required=True),
    Key("to", "cluster", "cluster that they go to", required=True),
    Key(
        "mode",
        "choice",
        (
            "crash: the clients die with the cluster; planned: they finish and close; drained: "
            "planned, after "
            "waiting for the target; auto: by probing, as Pulsar's AutoClusterFailover or "
            "SameAuthParamsLookupAutoClusterFailover"
        ),
        required=True,
        choices=("crash", "planned", "drained", "auto"),
    ),
    Key("producers", "boolean", "the topic's producers move too", default=False),
    Key("limit", "duration", "drained: how long to wait for the target at most", default="30s"),
    Key("stop-producers", "boolean", "drained: stop the topic's producers while waiting", default=False),
    Key("probeInterval", "duration", "auto: time between two probes", default="30s", minimum=1),
    Key("failoverDelay", "duration", "auto: how long the cluster must have been down", default="30s"),
    Key("switchBackDelay", "duration", "auto: how long it must have been up again", default="60s"),
    Key("switchBack", "boolean", "auto: go back when it is up again", default=True),
    Key(
        "probe",
        "choice",
        (
            "auto: connect, as without it: a TCP connection, with the four keys above "
            "(AutoClusterFailover); lookup: the lookup of a topic, with the keys below "
            "(SameAuthParamsLookupAutoClusterFailover)"
        ),
        choices=("connect", "lookup"),
    ),
    Key(
        "pulsarServiceUrlArray",
        "clusters",
        "lookup: the clusters in order of preference; without it `from` and `to`",
    ),
    Key(
        "failoverThreshold",
        "integer",
        "lookup: so many failed checks in a row make a cluster Failed, two at least; without it 5",
        minimum=1,
    ),
    Key(
        "recoverThreshold",
        "integer",
        "lookup: so many successful checks in a row make it Healthy again, two at least; without it 5",
        minimum=1,
    ),
    Key(
        "checkHealthyIntervalMs",
        "integer",
        "lookup: milliseconds from the end of a check to the next one; without it 1000",
        minimum=1,
    ),
    Key(
        "markTopicNotFoundAsAvailable",
        "boolean",
        (
            "lookup: true, as without it: a lookup that is answered with an error counts as answered, also "
            "that of a proxy without a broker"
        ),
        begin=True,
    ),
)

CURSORS: tuple[Command, ...] = (
    command(
        "subscription.reset",
        "reset a cursor to a position or a publish time",
        (
            SUBSCRIPTION,
            CLUSTER,
            Key("position", "position", "ledger:entry to deliver next, earliest or latest"),
            Key("time", "duration", "deliver again what was published from this instant on"),
            Key(
                "by",
                "choice",
                (
                    "administrator: pulsar-admin reset-cursor, after which a running client still drops what "
                    "its last cumulative ack covers; client: its own seek, which clears that"
                ),
                default="administrator",
                choices=("administrator", "client"),
            ),
        ),
        one_of=("position", "time"),
        refusals=("cluster-down", "no-subscription", "no-topic"),
        label="reset a cursor",
        consequence=(
            "The cursor of {subscription} in {cluster} is reset. Backward, messages are redelivered; "
            "forward, they are never delivered. Cached snapshots are lost."
        ),
    ),
    command(
        "subscription.sync-acknowledgements",
        "send a subscription's acknowledged state to another cluster now",
        (
            SUBSCRIPTION,
            Key("from", "cluster", "cluster that sends it", required=True),
            Key("to", "cluster", "cluster that receives it", required=True),
        ),
        refusals=("cluster-down", "no-subscription", "no-sync", "no-topic", "not-reachable"),
        label="sync ack state to another region",
        consequence=(
            "{from|The source cluster} sends {to|the target cluster} every acked message, and {to|the "
            "target cluster} does not deliver those. Acks after this instant are not synced."
        ),
    ),
    command(
        "subscription.skip",
        "move a cursor over the next messages",
        (SUBSCRIPTION, CLUSTER, COUNT),
        refusals=("cluster-down", "no-subscription", "no-topic"),
        label="skip messages",
        consequence=(
            "The next messages in {cluster} are skipped without being read. They count as skipped, not as "
            "lost."
        ),
    ),
    command(
        "subscription.clear",
        "move a cursor to the end of its log",
        (SUBSCRIPTION, CLUSTER),
        refusals=("cluster-down", "no-subscription", "no-topic"),
        label="clear a backlog",
        consequence="The backlog of {subscription} in {cluster} is skipped without being read.",
    ),
    command(
        "subscription.expire-messages",
        "expire a subscription's oldest messages, as pulsar-admin topics expire-messages",
        (SUBSCRIPTION, CLUSTER, EXPIRE_TIME, EXPIRE_POSITION),
        one_of=("expireTime", "position"),
        refusals=("404", "405", "409", "cluster-down", "no-topic", "not-loaded"),
        label="expire messages",
        consequence=(
            When(
                "position",
                {
                    "": (
                        "The oldest messages of {subscription} in {cluster}, up to the first that was "
                        "published less than {expireTime|that long} ago, are not delivered any more."
                    )
                },
                "Messages of {subscription} in {cluster} up to {position} are not delivered any more.",
            ),
            " They count as expired, not as lost. No update tells the other regions.",
        ),
    ),
    command(
        "subscription.create",
        "create a subscription",
        (
            SUBSCRIPTION,
            CLUSTER,
            Key(
                "initialPosition",
                "choice",
                "where it begins",
                default="Latest",
                choices=("Latest", "Earliest"),
            ),
            Key("replicated", "boolean", "with replicated state", default=False),
        ),
        refusals=("cluster-down", "exists", "no-topic"),
        consequence=(
            "{subscription} starts in {cluster} at the ",
            When(
                "initialPosition",
                {"Earliest": "oldest retained message."},
                "next message. Messages stored before are not delivered to it.",
            ),
        ),
    ),
    command(
        "subscription.delete",
        "delete a subscription with its cursor",
        (SUBSCRIPTION, CLUSTER),
        refusals=("cluster-down", "has-consumers", "no-subscription", "no-topic"),
        label="delete a subscription",
        consequence=(
            "{subscription} and its cursor are deleted in {cluster}. An update from another region "
            "creates it again at the update's position."
        ),
    ),
    command(
        "subscription.replicate",
        "turn a subscription's replication on or off in one cluster",
        (
            SUBSCRIPTION,
            CLUSTER,
            Key("enabled", "boolean", "on or off", required=True, begin=True),
            Key("topic", "topic-or-partition", "only this partition; without it all"),
        ),
        refusals=("cluster-down", "feature-off", "no-subscription", "no-topic"),
        label="turn replication of a subscription on or off",
        consequence=When(
            "enabled",
            {"true": "{cluster} replicates {subscription}: it caches snapshots and publishes updates."},
            (
                "{cluster} publishes no more updates for {subscription}. The other regions' cursors stop, "
                "and after a failover everything since then is a duplicate."
            ),
        ),
    ),
)
FAIL_OVER: tuple[Command, ...] = (
    command(
        "subscription.fail-over",
        "move a subscription's consumers from one cluster to another",
        _FAIL_OVER,
        check=_leaves,
        refusals=("looks-up", "no-consumers", "no-topic", "source-down"),
        label="fail over",
        consequence=When(
            "mode",
            {
                "planned": (
                    "Consumers finish what they have received, close, and reconnect there. What no update "
                    "has synced to the target is delivered as duplicates."
                ),
                "drained": "Consumers move when the target's cursor has caught up or the limit has passed.",
                "auto": (
                    "Clients probe their region and move by themselves when it has not answered for long "
                    "enough."
                ),
            },
            "Consumers of {subscription} continue in {to|the other cluster} at once, from the cursor there.",
        ),
    ),
)
