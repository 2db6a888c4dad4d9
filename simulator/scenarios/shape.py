"""The shape of a scenario file: every key, declared once.

Rules: loader, canonical text, JSON Schema and `docs/scenarios.md` come from this table; defaults stand in
`model.py` only. `kind` names an entry of `kinds.KINDS`; `attribute` is the field of the model when its name
differs.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from simulator.scenarios import model
from simulator.scenarios.families import EMQX, PROTOCOL_OF, PULSAR
from simulator.scenarios.limits import LARGEST_INTEGER, LONGEST_MEAN_US


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping.

    `default` is for commands, as written in a file; sections take theirs from the model.
    """

    name: str
    kind: str
    says: str
    required: bool = False
    attribute: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    protocol: str = ""  # the protocol that has it; "" is all

    @property
    def field(self) -> str:
        return self.attribute or self.name


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping of names to objects of one type. `most` bounds how many there may be."""

    name: str
    noun: str
    model: type
    says: str
    keys: tuple[Key, ...]
    most: int
    required: bool = False
    naming: str = "name"  # the kind of its names: name | namespace
    protocol: str = PULSAR  # the protocol that has it; "" is all


def default_of(section_model: type, key: Key) -> Any:
    """The model's default of a key, None when it has none."""
    for entry in fields(section_model):
        if entry.name == key.field:
            if entry.default is not MISSING:
                return entry.default
            return entry.default_factory() if entry.default_factory is not MISSING else None
    raise KeyError(f"{section_model.__name__} has no field {key.field}")


FAMILIES = tuple(PROTOCOL_OF)

HEAD = (
    Key("format", "integer", "version of the format; this is 1", required=True, minimum=1, maximum=1),
    Key("name", "name", "name of the scenario", required=True),
    Key("title", "text", "one line for lists and headings", required=True),
    Key("family", "choice", "which protocol it shows", required=True, choices=FAMILIES),
    Key("about", "text", "what happens, for a reader who has not run it"),
    Key("watch", "text", "what to look at while it runs"),
    Key("seed", "integer", "the one number that all chance comes from", minimum=0, maximum=LARGEST_INTEGER),
    Key(
        "until",
        "duration",
        "simulated time after which the run ends",
        required=True,
        attribute="until_us",
        minimum=1,
    ),
    Key("settings", "settings", "broker settings under Pulsar's own names, for every cluster"),
    Key("options", "options", "the lab's own switches for version-dependent or hypothetical behaviour"),
)

CLUSTERS = Section(
    "clusters",
    "cluster",
    model.ClusterSpec,
    "the clusters, by name; the page shows them in this order",
    (
        Key("settings", "settings", "broker settings that differ from the scenario's"),
        Key(
            "firstLedger",
            "integer",
            "number of the first ledger opened here; without it the lab chooses",
            attribute="first_ledger",
            minimum=0,
            maximum=1_000_000_000,
        ),
        Key(
            "peerClusters",
            "clusters",
            "clusters that may not stand beside it in a namespace's replication list",
            attribute="peer_clusters",
        ),
    ),
    most=16,
    required=True,
)

TOPIC_TYPES = ("non-partitioned", "partitioned")
SCHEMA_STRATEGIES = (
    "FULL",
    "BACKWARD",
    "FORWARD",
    "FULL_TRANSITIVE",
    "BACKWARD_TRANSITIVE",
    "FORWARD_TRANSITIVE",
    "ALWAYS_COMPATIBLE",
    "ALWAYS_INCOMPATIBLE",
)
SCHEMA_TYPES = (
    "AVRO",
    "JSON",
    "STRING",
    "BOOLEAN",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "FLOAT",
    "DOUBLE",
    "BYTES",
)
PARTITIONS_MOST = 256

POLICIES = (
    Key(
        "replicationClusters",
        "clusters",
        "clusters that get what is published here; without it only itself",
        attribute="replication_clusters",
    ),
    Key(
        "allowedClusters",
        "clusters",
        "clusters where its topics may live without replication (PIP-321)",
        attribute="allowed_clusters",
    ),
    Key(
        "allowAutoTopicCreation",
        "boolean",
        "a client that connects to a missing topic creates it",
        attribute="allow_auto_topic_creation",
    ),
    Key(
        "allowAutoTopicCreationType",
        "choice",
        "what it creates",
        attribute="allow_auto_topic_creation_type",
        choices=TOPIC_TYPES,
    ),
    Key(
        "defaultNumPartitions",
        "integer",
        "with how many partitions, where that is partitioned",
        attribute="default_num_partitions",
        minimum=0,
        maximum=PARTITIONS_MOST,
    ),
    Key(
        "schemaCompatibilityStrategy",
        "choice",
        "what a new schema must be to those before",
        attribute="schema_compatibility_strategy",
        choices=SCHEMA_STRATEGIES,
    ),
    Key(
        "isAllowAutoUpdateSchema",
        "boolean",
        "clients may register schemas",
        attribute="is_allow_auto_update_schema",
    ),
    Key(
        "isAllowAutoUpdateSchemaWithReplicator",
        "boolean",
        "replicators may, also where clients may not (PIP-433)",
        attribute="is_allow_auto_update_schema_with_replicator",
    ),
    Key(
        "schemaValidationEnforced",
        "boolean",
        "producers without a schema are refused where the topic has one",
        attribute="schema_validation_enforced",
    ),
    Key(
        "changeEventsPartitions",
        "integer",
        (
            "the system topic `__change_events` exists with so many partitions, 0 as a plain topic; without "
            "it not yet"
        ),
        attribute="change_events_partitions",
        minimum=0,
        maximum=PARTITIONS_MOST,
    ),
)
"""Policies of a namespace in one cluster."""

NAMESPACES = Section(
    "namespaces",
    "namespace",
    model.NamespaceSpec,
    (
        "namespaces with policies, by tenant/namespace (docs/topic-creation.md); one that is not declared "
        "exists everywhere with defaults, and its topics replicate as they say themselves"
    ),
    (
        Key("clusters", "clusters", "where it exists; without it everywhere"),
        *POLICIES,
        Key("overrides", "policies-by-cluster", "what is different in one cluster"),
    ),
    most=64,
    naming="namespace",
)

SCHEMAS = Section(
    "schemas",
    "schema",
    model.SchemaSpec,
    "message schemas, by name, for producers, consumers and commands",
    (
        Key("type", "choice", "Pulsar's schema type", required=True, choices=SCHEMA_TYPES),
        Key(
            "definition",
            "avro",
            (
                "the Avro schema, for AVRO and JSON: {type: record, name: Order, fields: [{name: id, type: "
                "long}]}"
            ),
        ),
    ),
    most=256,
)

LINK = (
    Key("latency", "distribution", "how long one thing takes from end to end"),
    Key("bandwidth", "bandwidth", "bytes a second; without it unlimited", attribute="bandwidth_bytes_per_s"),
    Key("loss", "share", "share of messages that never arrive", protocol=EMQX),
    Key("duplication", "share", "share of messages that arrive a second time", protocol=EMQX),
    Key(
        "reordering",
        "share",
        "share of messages that take three times as long, and so are overtaken",
        protocol=EMQX,
    ),
)

BROKERS = Section(
    "brokers",
    "broker",
    model.BrokerSpec,
    (
        "brokers with limits, by name; a cluster that declares none has no limits of this kind "
        "(docs/broadcast.md)"
    ),
    (
        Key("cluster", "cluster", "where it is", required=True),
        Key(
            "topics",
            "topics-or-partitions",
            (
                "topics that it serves at the start; the others go, in order of their names, to the broker "
                "of their cluster with the fewest topics, the first by name among equals"
            ),
        ),
        Key(
            "dispatchTime",
            "duration",
            "its time for each entry that it hands to one consumer, one after another",
            attribute="dispatch_us",
        ),
        Key(
            "bandwidth",
            "bandwidth",
            "bytes a second going out to consumers; without it unlimited",
            attribute="bandwidth_bytes_per_s",
        ),
        Key(
            "connectTime",
            "duration",
            "its time for each consumer that subscribes, one after another",
            attribute="connect_us",
        ),
    ),
    most=64,
)

TOPICS = Section(
    "topics",
    "topic",
    model.TopicSpec,
    "the topics, by name",
    (
        Key("clusters", "clusters", "the replication list", required=True),
        Key(
            "partitions",
            "integer",
            "number of partitions; 0 is a plain topic",
            minimum=0,
            maximum=PARTITIONS_MOST,
        ),
        Key(
            "replication",
            "pairs",
            "the pairs that replicate, such as [a -> b]; without it all of them, both ways",
        ),
        Key("settings", "settings", "topic policies under broker setting names (time to live, retention…)"),
        Key("namespace", "namespace", "tenant/namespace that holds it, such as acme/orders"),
        Key(
            "exists",
            "partitions-by-cluster",
            (
                "where it is when the run begins, with how many partitions: {a: 2, b: 0}, 0 is a plain "
                "topic, {} is nowhere; without it in all its clusters"
            ),
        ),
        Key(
            "shadowOf",
            "topic",
            (
                "makes it a shadow topic of that topic: other subscriptions on the same ledgers, in one "
                "cluster of the source's"
            ),
            attribute="shadow_of",
        ),
        Key(
            "shadowReplication",
            "boolean",
            "a shadow's: its source's list of shadow topics names it when the run begins (without it: yes)",
            attribute="shadow_replication",
        ),
    ),
    most=64,
    required=True,
)

ROLES = Section(
    "roles",
    "role",
    model.RoleSpec,
    (
        "the roles, by name; with any, clients need permission for what they do, and without any everybody "
        "may do everything"
    ),
    (
        Key("superuser", "boolean", "may do everything"),
        Key("produce", "topics", "topics to which it may produce"),
        Key(
            "consume",
            "topics",
            "topics from which it may consume; a topic and its shadows are different topics",
        ),
        Key(
            "shadowTopicPolicy",
            "topics",
            "topics whose list of shadow topics it may set: WRITE on the policy SHADOW_TOPIC",
            attribute="shadow_topic_policy",
        ),
    ),
    most=64,
)

_PUBLISHING = (
    Key("start", "duration", "instant of its first message", attribute="start_us"),
    Key(
        "stop", "duration", "it publishes nothing from this instant on; without it never", attribute="stop_us"
    ),
    Key(
        "every",
        "duration",
        "one message each; not together with `rate`",
        attribute="every_us",
        minimum=1,
        maximum=LONGEST_MEAN_US,
    ),
    Key(
        "rate",
        "rate",
        "messages per second, instead of `every`",
        attribute="every_us",
        maximum=LONGEST_MEAN_US,
    ),
    Key(
        "arrivals",
        "choice",
        "at regular instants, or as a Poisson process with `every` as mean",
        choices=("regular", "poisson"),
    ),
    Key("at", "instants", "the very instants, instead of `start` and `every`", attribute="at_us"),
    Key(
        "count",
        "integer",
        "number of messages; without it until `stop` or the end",
        minimum=0,
        maximum=100_000_000,
    ),
    Key("size", "size", "bytes of each message", attribute="size_bytes", maximum=5 * 2**20),
)
"""When a client publishes and how much, in whatever protocol."""

PRODUCERS = Section(
    "producers",
    "producer",
    model.ProducerSpec,
    "the producers, by name; one without `every`, `rate` or `at` publishes on command only",
    (
        Key("topic", "topic", "where it publishes", required=True),
        Key("cluster", "cluster", "where it is connected; without it the LookupService says"),
        *_PUBLISHING,
        Key(
            "keys",
            "integer",
            "number of keys, taken in turn; without it messages have no key",
            minimum=1,
            maximum=1_000_000,
        ),
        Key("batch", "integer", "messages that travel in one entry", minimum=1, maximum=1000),
        Key(
            "sendTimeout",
            "duration",
            "after which it gives a message up; 0s is never",
            attribute="send_timeout_us",
        ),
        Key(
            "replicateTo",
            "clusters",
            "clusters that get its messages; [] is none, without it everyone",
            attribute="replicate_to",
        ),
        Key("delay", "delay", "delayed delivery: which messages, and for how long"),
        Key("paused", "boolean", "begins paused"),
        Key("schema", "schema", "schema of its messages; without it bytes"),
        Key("role", "role", "as whom it connects, where the scenario has roles"),
    ),
    most=1000,
)

SUBSCRIPTIONS = Section(
    "subscriptions",
    "subscription",
    model.SubscriptionSpec,
    "the subscriptions, by name",
    (
        Key("topic", "topic", "what it subscribes to", required=True),
        Key("type", "choice", "subscription type", choices=("Exclusive", "Failover", "Shared", "Key_Shared")),
        Key(
            "replicateSubscriptionState",
            "boolean",
            "its consumers ask for a replicated subscription",
            attribute="replicate_subscription_state",
        ),
        Key(
            "initialPosition",
            "choice",
            "where its consumers begin when it does not exist yet",
            attribute="initial_position",
            choices=("Latest", "Earliest"),
        ),
        Key(
            "acknowledgementSync",
            "choice",
            (
                "whether clusters tell each other what is acknowledged, message by message: never, on "
                "command, or again and again"
            ),
            attribute="acknowledgement_sync",
            choices=("none", "once", "periodic"),
        ),
        Key(
            "ackSyncPeriod",
            "duration",
            "time between two such messages, when periodic",
            attribute="ack_sync_period_us",
            minimum=1000,
        ),
    ),
    most=256,
)

CONSUMERS = Section(
    "consumers",
    "consumer",
    model.ConsumerSpec,
    "the consumers, by name",
    (
        Key("subscription", "subscription", "which subscription it consumes", required=True),
        Key("cluster", "cluster", "where it is connected; without it the LookupService says"),
        Key("start", "duration", "instant at which it subscribes", attribute="start_us"),
        Key(
            "stop",
            "duration",
            (
                "instant at which it closes, once done with the message at work; what it holds goes back; "
                "without it never"
            ),
            attribute="stop_us",
        ),
        Key(
            "receiverQueueSize",
            "integer",
            (
                "messages it lets the broker push ahead; 0 is none: one message is fetched at a time, "
                "partitions are refused, and a batch closes it"
            ),
            attribute="receiver_queue_size",
            minimum=0,
            maximum=1_000_000,
        ),
        Key("processing", "distribution", "from delivery to acknowledgement; one message at a time"),
        Key("acknowledge", "choice", "how it acknowledges", choices=("individual", "cumulative", "never")),
        Key(
            "acknowledgmentGroupTime",
            "duration",
            "acks are sent together after this; 0s is at once",
            attribute="acknowledgment_group_time_us",
        ),
        Key(
            "negativeAckRedeliveryDelay",
            "duration",
            "from a negative ack to the request for redelivery, 100ms at least",
            attribute="negative_ack_redelivery_delay_us",
        ),
        Key(
            "ackTimeout",
            "duration",
            "an unacknowledged message is asked for again after this; 0s is off",
            attribute="ack_timeout_us",
        ),
        Key(
            "hold",
            "hold",
            "messages that it keeps unacknowledged, and for how long; without `for` until released",
        ),
        Key(
            "negativeAcknowledge",
            "nack",
            "messages that it acknowledges negatively on their first delivery",
            attribute="negative_acknowledge",
        ),
        Key(
            "batchIndexAcknowledgment",
            "boolean",
            "acks of single messages of a batch are sent",
            attribute="batch_index_acknowledgment",
        ),
        Key("paused", "boolean", "begins paused: connected, but takes nothing"),
        Key("schema", "schema", "schema that it reads with; without it bytes"),
        Key("role", "role", "as whom it connects, where the scenario has roles"),
    ),
    most=1000,
)

AUDIENCES = Section(
    "audiences",
    "audience",
    model.AudienceSpec,
    (
        "very many alike Exclusive subscriptions, each with one consumer that takes and acknowledges "
        "messages at once; they need declared brokers (docs/broadcast.md)"
    ),
    (
        Key("topic", "topic", "what they subscribe to", required=True),
        Key("cluster", "cluster", "where they are connected", required=True),
        Key("subscriptions", "integer", "how many they are", required=True, minimum=1, maximum=200_000),
        Key(
            "initialPosition",
            "choice",
            "where each begins",
            attribute="initial_position",
            choices=("Latest", "Earliest"),
        ),
        Key("start", "duration", "instant at which they all ask to connect", attribute="start_us"),
        Key("stop", "duration", "instant at which they all close; without it never", attribute="stop_us"),
    ),
    most=64,
)

TENANTS = Section(
    "tenants",
    "tenant",
    model.TenantSpec,
    "the LookupService's map: tenants, each with the cluster where its clients find it",
    (
        Key("cluster", "cluster", "the physical cluster of the tenant when the run begins", required=True),
        Key("roles", "names", "roles with permissions on its namespaces"),
    ),
    most=64,
)

NODES = Section(
    "nodes",
    "node",
    model.NodeSpec,
    "the nodes of an EMQX cluster, by name; storage is the same at all of them",
    (),
    most=16,
    required=True,
    protocol=EMQX,
)

GROUPS = Section(
    "groups",
    "group",
    model.GroupSpec,
    (
        "groups of durable shared subscriptions, by the lab's name; one that is not listed begins when a "
        "session first subscribes to it"
    ),
    (
        Key("filter", "topic-filter", "which topics it shares", required=True),
        Key("group", "text", "its name at the broker; without it the lab's"),
        Key("queue", "boolean", "clients ask for it as $queue/FILTER"),
        Key("startTime", "duration", "it reads what was stored from this instant on", attribute="start_us"),
        Key("declared", "boolean", "it is declared when the run begins; false: by the command group.declare"),
    ),
    most=1000,
    protocol=EMQX,
)

PUBLISHERS = Section(
    "publishers",
    "publisher",
    model.PublisherSpec,
    "MQTT publishers, by name; one without `every`, `rate` or `at` publishes on command only",
    (
        Key("topic", "topic-name", "where it publishes", required=True),
        Key("qos", "integer", "quality of service", minimum=0, maximum=2),
        *_PUBLISHING,
        Key(
            "clients",
            "integer",
            (
                "MQTT clients that it stands for, taken in turn; all of one client's messages go to one "
                "shard; without it one for each shard"
            ),
            minimum=1,
            maximum=100_000,
        ),
        Key(
            "topics",
            "integer",
            "topics, taken in turn: TOPIC/0, TOPIC/1…; 1 is the topic itself",
            minimum=1,
            maximum=10_000,
        ),
        Key("paused", "boolean", "begins paused"),
    ),
    most=1000,
    protocol=EMQX,
)

SESSIONS = Section(
    "sessions",
    "session",
    model.SessionSpec,
    "MQTT clients with their sessions, by name",
    (
        Key("node", "node", "node to which it connects", required=True),
        Key(
            "subscriptions",
            "subscriptions",
            "what it subscribes to when it first connects: topic filters, $share/GROUP/FILTER, $queue/FILTER",
        ),
        Key(
            "qos",
            "integer",
            "quality of service that it asks for; the lesser of this and the publisher's counts",
            minimum=0,
            maximum=2,
        ),
        Key("start", "duration", "instant at which it connects", attribute="start_us"),
        Key("stop", "duration", "instant at which it disconnects; without it never", attribute="stop_us"),
        Key("processing", "distribution", "from delivery to acknowledgement; one message at a time"),
        Key(
            "reconnect",
            "duration",
            (
                "after a crash it connects again after this, at its node or another that is up; without it "
                "not at all"
            ),
            attribute="reconnect_us",
            minimum=1,
        ),
        Key(
            "durable",
            "boolean",
            "it outlives its connection; an in-memory session cannot share in a durable group",
        ),
        Key("paused", "boolean", "begins without acknowledging anything"),
    ),
    most=1000,
    protocol=EMQX,
)

SECTIONS = (
    CLUSTERS,
    BROKERS,
    NAMESPACES,
    SCHEMAS,
    TOPICS,
    ROLES,
    PRODUCERS,
    SUBSCRIPTIONS,
    CONSUMERS,
    AUDIENCES,
    TENANTS,
    NODES,
    GROUPS,
    PUBLISHERS,
    SESSIONS,
)

MOST_COMMANDS = 2_000
"""Commands of a scenario: reading so many takes a second. A lab's own commands are not counted here."""
MOST_LINK_PATTERNS = 1000
DEFAULT_LATENCY_US = 40_000
"""Latency of a link that the scenario says nothing about."""

ORDER = (
    "format",
    "name",
    "title",
    "family",
    "about",
    "watch",
    "seed",
    "until",
    "settings",
    "options",
    "clusters",
    "links",
    "brokers",
    "tenants",
    "namespaces",
    "schemas",
    "topics",
    "roles",
    "producers",
    "subscriptions",
    "consumers",
    "audiences",
    "nodes",
    "groups",
    "publishers",
    "sessions",
    "commands",
    "expect",
    "compare",
)
"""The keys of the file in the order of the canonical text."""
