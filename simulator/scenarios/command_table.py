"""Every command that a person may give, with its arguments, declared once.

Rules: `kind` is an entry of `kinds.KINDS`; defaults are written as in a file. Scenario files, menus, docs and
the engine's `apply` (through `commands.normalise_command`) all come from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.scenarios.command_table_creation import DECLARED as TOPIC_CREATION
from simulator.scenarios.command_table_emqx import DECLARED as OF_EMQX
from simulator.scenarios.families import EMQX, PULSAR
from simulator.scenarios.limits import LARGEST_COUNT, LONGEST_MEAN_US, PUBLISHED_AT_ONCE_MAX
from simulator.scenarios.shape import Key

MARKER_WORDS = ("snapshot_request", "snapshot_response", "snapshot", "subscription_update")
"""Marker types as the trace's registry names them (a test compares)."""


@dataclass(frozen=True, slots=True)
class Command:
    """`one_of` are arguments of which exactly one must be given."""

    name: str
    says: str
    arguments: tuple[Key, ...]
    one_of: tuple[str, ...] = ()
    protocol: str = PULSAR  # the protocol that has it; "" is all


_PRODUCER = Key("producer", "producer", "which producer", required=True)
_CONSUMER = Key("consumer", "consumer", "which consumer", required=True)
_CLIENT = Key("client", "client", "which producer or consumer", required=True)
_CLUSTER = Key("cluster", "cluster", "which cluster", required=True)
_TOPIC = Key("topic", "topic", "which topic", required=True)
_PARTITION = Key("topic", "topic-or-partition", "which topic, or one partition of it", required=True)
_SUBSCRIPTION = Key("subscription", "subscription", "which subscription", required=True)
_LINK = Key("link", "link", "which link: a -> b one way, a <-> b both", required=True)
_PEER = Key("peer", "cluster", "only on the way to this cluster; without it to any")
_MARKER = Key("type", "choice", "type of the marker", required=True, choices=MARKER_WORDS)
_COUNT = Key("count", "integer", "how many messages", required=True, minimum=1, maximum=LARGEST_COUNT)

_ROLE = Key("role", "role", "who asks; without it a superuser")
_SHADOW_SOURCE = Key("topic", "address", "the source topic", required=True)
_TENANT = Key("tenant", "tenant", "which tenant", required=True)
_STEPS = ("metadata", "topic-data", "consumption-progress", "switch", "clean-up")
_STRATEGIES = ("acknowledgement-sync", "snapshots", "none", "blue-green")

_MIGRATE = (
    _TENANT,
    Key("to", "cluster", "cluster that the tenant moves to", required=True),
    Key(
        "strategy",
        "choice",
        (
            "how consumption progress is carried over; blue-green copies nothing and drains the old cluster "
            "(PIP-188)"
        ),
        default="acknowledgement-sync",
        choices=_STRATEGIES,
    ),
    Key(
        "through",
        "choice",
        "the last step that begins by itself, as soon as its precondition holds",
        default="consumption-progress",
        choices=_STEPS,
    ),
    Key(
        "startAt",
        "choice",
        (
            "where copying begins: earliest brings the old backlog too, latest is Pulsar's default for a new "
            "replication cursor"
        ),
        default="earliest",
        choices=("earliest", "latest"),
    ),
)

_FAIL_OVER = (
    _SUBSCRIPTION,
    Key("from", "cluster", "cluster that its consumers leave", required=True),
    Key("to", "cluster", "cluster that they go to", required=True),
    Key(
        "mode",
        "choice",
        (
            "crash: the clients die with the cluster; planned: they finish and close; drained: "
            "planned, after "
            "waiting for the target; auto: by probing, as Pulsar's AutoClusterFailover"
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
)

_DECLARED: tuple[tuple[str, str, tuple[Key, ...]], ...] = (
    (
        "producer.publish",
        "publish messages at once",
        (
            _PRODUCER,
            Key("count", "integer", "how many messages", default=1, minimum=1, maximum=PUBLISHED_AT_ONCE_MAX),
        ),
    ),
    ("producer.start", "connect a producer and let it publish", (_PRODUCER,)),
    ("producer.stop", "close a producer after what it has sent is receipted", (_PRODUCER,)),
    ("producer.pause", "let a producer publish nothing for now", (_PRODUCER,)),
    ("producer.resume", "let a paused producer go on", (_PRODUCER,)),
    (
        "producer.slow",
        "change a producer's interval",
        (
            _PRODUCER,
            Key("every", "duration", "one message each", required=True, minimum=1, maximum=LONGEST_MEAN_US),
        ),
    ),
    ("consumer.start", "let a consumer subscribe", (_CONSUMER,)),
    ("consumer.stop", "let a consumer finish what it holds, send its acks and close", (_CONSUMER,)),
    ("consumer.pause", "let a consumer take nothing for now; it stays connected", (_CONSUMER,)),
    ("consumer.resume", "let a paused consumer go on", (_CONSUMER,)),
    (
        "consumer.slow",
        "change how long a consumer takes for a message",
        (_CONSUMER, Key("processing", "distribution", "from delivery to acknowledgement", required=True)),
    ),
    ("client.kill", "kill a producer or consumer: what it has not sent is gone", (_CLIENT,)),
    ("client.close", "close a producer or consumer cleanly", (_CLIENT,)),
    (
        "consumer.hold",
        "keep messages unacknowledged that a consumer gets from now on",
        (
            _CONSUMER,
            Key("messages", "messages", "these very messages"),
            Key("share", "share", "this share of all"),
            Key("for", "duration", "for how long; without it until released"),
        ),
    ),
    (
        "consumer.release",
        "acknowledge what a consumer holds",
        (_CONSUMER, Key("messages", "messages", "only these; without it all")),
    ),
    (
        "consumer.negative-acknowledge",
        "negatively acknowledge messages that are delivered and not acked",
        (_CONSUMER, Key("messages", "messages", "which messages", required=True)),
    ),
    (
        "cluster.crash",
        "let all brokers of a cluster die; what was not persisted is gone",
        (
            _CLUSTER,
            Key(
                "clients",
                "boolean",
                "the region's producers and consumers die with it; false: they live and try again",
                default=True,
            ),
        ),
    ),
    ("cluster.restart", "start a crashed cluster from what it had persisted", (_CLUSTER,)),
    ("cluster.lose", "lose a cluster and its data for good", (_CLUSTER,)),
    (
        "topic.unload",
        "unload a topic from its broker; clients reconnect",
        (
            _CLUSTER,
            _PARTITION,
            Key(
                "broker",
                "broker",
                (
                    "load it again at this declared broker, as pulsar-admin's --destinationBroker; "
                    "without it "
                    "where it was"
                ),
            ),
        ),
    ),
    ("link.cut", "let nothing pass a link", (_LINK,)),
    ("link.heal", "let a cut or slowed link work as declared", (_LINK,)),
    (
        "link.slow",
        "change a link's latency",
        (_LINK, Key("latency", "duration", "the new latency", required=True)),
    ),
    (
        "marker.delay",
        "delay the next marker of a type on the wire",
        (_CLUSTER, _PEER, _MARKER, Key("by", "duration", "by how much", required=True)),
    ),
    ("marker.drop", "remove the next marker of a type from the wire", (_CLUSTER, _PEER, _MARKER)),
    (
        "subscription.reset",
        "put a cursor to a position or an instant of publishing",
        (
            _SUBSCRIPTION,
            _CLUSTER,
            Key("position", "position", "ledger:entry to deliver next, earliest or latest"),
            Key("time", "duration", "deliver again what was published from this instant on"),
        ),
    ),
    (
        "subscription.sync-acknowledgements",
        "send a subscription's acknowledged state to another cluster now",
        (
            _SUBSCRIPTION,
            Key("from", "cluster", "cluster that sends it", required=True),
            Key("to", "cluster", "cluster that receives it", required=True),
        ),
    ),
    ("subscription.skip", "move a cursor over the next messages", (_SUBSCRIPTION, _CLUSTER, _COUNT)),
    ("subscription.clear", "move a cursor to the end of its log", (_SUBSCRIPTION, _CLUSTER)),
    (
        "subscription.create",
        "create a subscription",
        (
            _SUBSCRIPTION,
            _CLUSTER,
            Key(
                "initialPosition",
                "choice",
                "where it begins",
                default="Latest",
                choices=("Latest", "Earliest"),
            ),
            Key("replicated", "boolean", "with replicated state", default=False),
        ),
    ),
    ("subscription.delete", "delete a subscription with its cursor", (_SUBSCRIPTION, _CLUSTER)),
    (
        "subscription.replicate",
        "switch a subscription's replication on or off in one cluster",
        (
            _SUBSCRIPTION,
            _CLUSTER,
            Key("enabled", "boolean", "on or off", required=True),
            Key("topic", "topic-or-partition", "only this partition; without it all"),
        ),
    ),
    (
        "replication.remove-cluster",
        "take a cluster off a topic's replication list; the cursors towards it go with it",
        (_TOPIC, _CLUSTER),
    ),
    (
        "replication.add-cluster",
        "put a cluster on a topic's replication list; cursors towards it begin at replicationStartAt",
        (_TOPIC, _CLUSTER),
    ),
    (
        "topic.grow",
        "add partitions to a partitioned topic",
        (
            _TOPIC,
            Key("partitions", "integer", "how many it shall have", required=True, minimum=1, maximum=256),
        ),
    ),
    (
        "setting.change",
        "change a broker setting",
        (
            Key("cluster", "cluster", "only there; without it everywhere"),
            Key("setting", "setting-name", "which setting", required=True),
            Key("value", "setting-value", "its new value", required=True),
        ),
    ),
    (
        "topic.crash",
        "let the broker that holds a topic die; another takes the topic, with what was persisted",
        (_CLUSTER, _PARTITION, Key("downtime", "duration", "until the other broker has it", default="0s")),
    ),
    ("topic.terminate", "let a topic take no more messages, for good", (_CLUSTER, _PARTITION)),
    (
        "topic.truncate",
        "clear the backlog of every cursor of a topic and delete all its ledgers but the open one",
        (_CLUSTER, _PARTITION),
    ),
    (
        "topic.offload",
        "copy a topic's closed ledgers to other storage, by its managedLedgerOffloadDriver",
        (
            _CLUSTER,
            _PARTITION,
            Key("deleteFromBookies", "boolean", "delete them from the bookies then", default=False),
        ),
    ),
    (
        "producer.send",
        "send one message and show the broker's answer",
        (
            _PRODUCER,
            Key(
                "position",
                "position",
                "the message brings its own position, as those of a shadow replicator do",
            ),
            Key("partition", "integer", "to this partition", minimum=0, maximum=255),
        ),
    ),
    (
        "schema.get",
        "ask for a topic's schema (getSchema); a shadow topic answers with its source's",
        (
            _CLUSTER,
            _TOPIC,
            Key("version", "integer", "which; without it the newest", minimum=0, maximum=1_000_000),
        ),
    ),
    ("schema.list", "ask for all schemas of a topic (getAllSchemas)", (_CLUSTER, _TOPIC)),
    (
        "schema.version",
        "ask which version a schema has in a topic (getVersionBySchema)",
        (_CLUSTER, _TOPIC, Key("schema", "schema", "which declared schema", required=True)),
    ),
    (
        "shadow.create",
        "create a declared shadow topic; that its source feeds it is a step of its own",
        (
            _CLUSTER,
            Key("topic", "address", "the shadow topic", required=True),
            Key("source", "address", "its source", required=True),
            _ROLE,
        ),
    ),
    (
        "shadow.delete",
        "delete a shadow topic with its subscriptions",
        (
            _CLUSTER,
            Key("topic", "address", "the shadow topic", required=True),
            Key("force", "boolean", "even if it is still in use", default=False),
            _ROLE,
        ),
    ),
    (
        "shadow.source",
        "ask which topic a shadow topic reads",
        (_CLUSTER, Key("topic", "address", "the shadow topic", required=True)),
    ),
    (
        "shadow.set",
        "set a topic's list of shadow topics, which feeds those that are on it (PUT …/shadowTopics)",
        (_CLUSTER, _SHADOW_SOURCE, Key("shadows", "addresses", "the shadow topics", required=True), _ROLE),
    ),
    (
        "shadow.list",
        "ask for a topic's list of shadow topics (GET …/shadowTopics)",
        (_CLUSTER, _SHADOW_SOURCE, _ROLE),
    ),
    (
        "shadow.remove",
        "remove a topic's list of shadow topics (DELETE …/shadowTopics)",
        (_CLUSTER, _SHADOW_SOURCE, _ROLE),
    ),
    (
        "snapshot.finish-partial",
        "UNSAFE: finish the pending snapshots of a topic with the answers at hand",
        (_CLUSTER, _PARTITION),
    ),
    ("subscription.fail-over", "move a subscription's consumers from one cluster to another", _FAIL_OVER),
    ("migration.start", "begin to move a tenant to another cluster", _MIGRATE),
    ("migration.pause", "let a migration rest where it is", (_TENANT,)),
    ("migration.resume", "let a paused or failed migration go on", (_TENANT,)),
    ("migration.advance", "begin the next step of a migration", (_TENANT,)),
    (
        "migration.switch",
        "begin step 4: send the tenant's clients to the new cluster",
        (_TENANT, Key("force", "boolean", "also when it is not safe yet", default=False)),
    ),
    (
        "migration.clean-up",
        "begin step 5: delete the tenant's resources in the old cluster",
        (
            _TENANT,
            Key("force", "boolean", "even if messages or acknowledgements are only there", default=False),
        ),
    ),
    (
        "migration.roll-back",
        "take a migration back: clients return to the old cluster, the new one is cleaned",
        (_TENANT,),
    ),
    ("lookup.stop", "stop the LookupService: no request is answered", ()),
    ("lookup.start", "let the LookupService answer again", ()),
    (
        "cluster.migrate",
        "mark a cluster as migrated, or not (PIP-188)",
        (
            _CLUSTER,
            Key("migrated", "boolean", "its topics are migrated", default=True),
            Key("to", "cluster", "the green cluster; needed where it is marked migrated"),
        ),
    ),
    (
        "namespace.migrate",
        "mark a namespace as migrated in a cluster, or not (PIP-188)",
        (
            _CLUSTER,
            Key("namespace", "namespace", "which namespace", required=True),
            Key("migrated", "boolean", "its topics are migrated", default=True),
        ),
    ),
)

_OF_ALL = ("link.cut", "link.heal", "link.slow")
"""Links join sites, whatever runs there."""

COMMANDS: dict[str, Command] = {
    **{
        name: Command(
            name,
            says,
            arguments,
            ("position", "time") if name == "subscription.reset" else (),
            "" if name in _OF_ALL else PULSAR,
        )
        for name, says, arguments in (*_DECLARED, *TOPIC_CREATION)
    },
    **{name: Command(name, says, arguments, protocol=EMQX) for name, says, arguments in OF_EMQX},
}
