"""The sections of Pulsar's scenario files. Those of clients are in `client_sections`."""

from __future__ import annotations

from functools import partial

from simulator.protocols.pulsar.scenario import model
from simulator.protocols.pulsar.scenario.families import PULSAR
from simulator.protocols.pulsar.scenario.kinds import BACKOFF_KEYS
from simulator.protocols.pulsar.scenario.policies import PARTITIONS_MOST, POLICIES, QUOTA_KEYS, SCHEMA_TYPES
from simulator.scenarios.key import Key, Section
from simulator.scenarios.publishing import PUBLISHING
from simulator.scenarios.setting import Setting

# --- the options for shadow topics: as shipped, as proposed in PIP-180, or as read in the source


_own = partial(Setting, protocol=PULSAR)

SHADOW_OPTIONS: tuple[Setting, ...] = (
    _own(
        "shadowReplicationLatency",
        1_000,
        "duration",
        "from a source's broker to its shadow's: one entry's position",
    ),
    _own(
        "shadowMetadataLatency",
        5_000,
        "duration",
        "from a change of a source's list of ledgers until its shadows have read it",
    ),
    _own(
        "shadowCachesReplicatedEntries",
        False,
        "boolean",
        (
            "shadow replicators send payloads, which the shadow's broker caches: the proposal; as shipped "
            "they send none (#23236, #23147)"
        ),
    ),
    _own(
        "cacheReadsFromBookies",
        True,
        "boolean",
        "what one cursor reads from the bookies is cached for the next (PIP-430); false as before",
    ),
    _own(
        "shadowReadsPiggybackedLac",
        False,
        "boolean",
        (
            "who opens a ledger that is being written sees all but its last entry, as BookKeeper's entries "
            "carry it; false: nothing, unless bookkeeperExplicitLacIntervalInMills adds more"
        ),
    ),
    _own(
        "shadowLastConfirmedRefresh",
        "never",
        "choice",
        (
            "whether a shadow asks the bookies when a cursor wants entries beyond its last "
            "confirmed one: "
            "the proposal's on-read, never built"
        ),
        ("never", "on-read"),
    ),
    _own(
        "shadowReplicatorRetry",
        "terminates",
        "choice",
        (
            "a shadow replicator whose first start fails ends until the next policy check, as shipped, or "
            "tries again with backoff"
        ),
        ("terminates", "retries"),
    ),
    _own(
        "shadowRemoveLast",
        "keeps-running",
        "choice",
        (
            "taking the last shadow off a source's list leaves its replicator running until the source is "
            "unloaded, as shipped, or ends it"
        ),
        ("keeps-running", "ends"),
    ),
    _own(
        "shadowPartitionChanges",
        "copied-once",
        "choice",
        (
            "a shadow has the partitions that its source had when it was created, as shipped, or follows "
            "its source, as proposed"
        ),
        ("copied-once", "follow-source"),
    ),
    _own(
        "shadowReplicatorAutoResetBacklogEntries",
        0,
        "integer",
        (
            "IN THE PROPOSAL ONLY, never built: a shadow replicator with a larger backlog is put to the "
            "end of the log; 0 is off"
        ),
        minimum=0,
    ),
    _own(
        "shadowReplicationInStats",
        "absent",
        "choice",
        "whether topic stats have the proposal's map shadowReplication; as shipped they have none",
        ("absent", "proposal"),
    ),
    _own(
        "shadowDeletesSharedLedgers",
        False,
        "boolean",
        (
            "HAZARD, read in the source and not confirmed: trimming or deleting a shadow topic deletes the "
            "ledgers that it shares"
        ),
    ),
)


# --- sections of clients: producers, subscriptions, consumers and audiences


PRODUCERS = Section(
    "producers",
    "producer",
    model.ProducerSpec,
    "the producers, by name; one without `every`, `rate` or `at` publishes on command only",
    (
        Key("topic", "topic", "where it publishes", required=True),
        Key("cluster", "cluster", "cluster that it connects to; default: what the LookupService returns"),
        *PUBLISHING,
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
        Key("role", "role", "role that it connects with, where the scenario has roles"),
    ),
    most=1000,
    protocol=PULSAR,
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
    protocol=PULSAR,
)

CONSUMERS = Section(
    "consumers",
    "consumer",
    model.ConsumerSpec,
    "the consumers, by name",
    (
        Key("subscription", "subscription", "which subscription it consumes", required=True),
        Key("cluster", "cluster", "cluster that it connects to; default: what the LookupService returns"),
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
            "acknowledgmentGroupPhase",
            "duration",
            (
                "an instant at which its first process sends a group; the others are a whole number of "
                "periods before and after it; without it the option ackGroupPhase decides"
            ),
            attribute="acknowledgment_group_phase_us",
        ),
        Key(
            "negativeAckRedeliveryDelay",
            "duration",
            "from a negative ack to the request for redelivery, 100ms at least",
            attribute="negative_ack_redelivery_delay_us",
        ),
        Key(
            "negativeAckRedeliveryBackoff",
            "redelivery-backoff",
            "delays that grow with the redelivery count of a message, instead of negativeAckRedeliveryDelay",
            attribute="negative_ack_redelivery_backoff",
        ),
        Key(
            "negativeAckPrecisionBitCnt",
            "integer",
            (
                "bits that the due time of a negative ack loses, in milliseconds: 8 is up to 255 ms early, "
                "but a delay after the first pending one at the earliest"
            ),
            attribute="negative_ack_precision_bits",
            minimum=0,
            maximum=32,
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
            "messages that it acknowledges negatively on their first deliveries",
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
        Key("role", "role", "role that it connects with, where the scenario has roles"),
    ),
    most=1000,
    protocol=PULSAR,
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
    protocol=PULSAR,
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
            "clusters that must not be in the same replication list of a namespace",
            attribute="peer_clusters",
        ),
    ),
    most=16,
    required=True,
    sites=True,
    protocol=PULSAR,
)

NAMESPACES = Section(
    "namespaces",
    "namespace",
    model.NamespaceSpec,
    (
        "namespaces with policies, by tenant/namespace (docs/topic-creation.md); one that is not declared "
        "exists everywhere with defaults, and its topics replicate by their own lists"
    ),
    (
        Key("clusters", "clusters", "where it exists; without it everywhere"),
        *POLICIES,
        Key("overrides", "policies-by-cluster", "what is different in one cluster"),
    ),
    most=64,
    naming="namespace",
    protocol=PULSAR,
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
    protocol=PULSAR,
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
    protocol=PULSAR,
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
    protocol=PULSAR,
)

ROLES = Section(
    "roles",
    "role",
    model.RoleSpec,
    (
        "the roles, by name; with any, clients need permission for what they do, and "
        "without any every client may do everything"
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
    protocol=PULSAR,
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
    protocol=PULSAR,
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
)

ORDER = (
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
)
"""The order of sections in the canonical text."""

KEY_GROUPS = {
    "namespace-policies": POLICIES,
    "backlog-quota": QUOTA_KEYS,
    "redelivery-backoff": BACKOFF_KEYS,
}
"""Mappings that kinds of this protocol refer to in the JSON Schema."""
