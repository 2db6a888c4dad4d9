"""The sections of Pulsar's scenario files. Those of clients are in `client_sections`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from avro.errors import AvroException
from avro.schema import make_avsc_object

from simulator.protocols.pulsar.scenario import model
from simulator.protocols.pulsar.scenario.model import PULSAR, RedeliveryBackoff
from simulator.protocols.pulsar.scenario.policies import (
    MESSAGE_AGE,
    PARTITIONS_MOST,
    POLICIES,
    QUOTA_KEYS,
    QUOTA_TYPES,
    SCHEMA_TYPES,
    SIZE,
    BacklogQuota,
)
from simulator.scenarios import names, units
from simulator.scenarios.declarations import PUBLISHING, Key, Section, Setting
from simulator.scenarios.kinds import BAD, LINKS, TEXT, Kind, list_of, pattern, read_text, reference
from simulator.scenarios.kinds import KINDS as COMMON
from simulator.scenarios.limits import LONGEST_US
from simulator.scenarios.tree import Node, Wrong, suggestion

if TYPE_CHECKING:
    from simulator.scenarios.reader import Reader


# --- the kinds of value that only Pulsar's scenario files and commands have
#
# The rules are those of `simulator.scenarios.kinds`.


EXAMPLE = "{type: record, name: Order, fields: [{name: id, type: long}]}"


def canonical_definition(value: Any) -> str:
    """JSON text of a schema given as a structure or as JSON text. Raises Wrong.

    The canonical text of an Avro schema in a scenario, checked by Avro's own library.

    Rules: members keep their order (fields of a record are ordered), nothing is added. Two schemas are the
    same when their texts are.
    """
    if isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Wrong(f"is not JSON: {error}", f"write the Avro schema, such as {EXAMPLE}") from None
    try:
        make_avsc_object(value)
    except (AvroException, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Wrong(
            f"is not an Avro schema: {error}",
            f"write it as Avro's specification defines it, such as {EXAMPLE}",
        ) from None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _read_partition(node: Node, key: Key, path: str, reader: Reader) -> str:
    topics = reader.names.of_section("topics")
    if node.text is None or names.PARTITION_SUFFIX.sub("", node.text) not in topics:
        shown = node.plain() if node.text is None else node.text
        raise Wrong(f'there is no topic "{shown}"', suggestion(shown, topics), code="unknown-name")
    return node.text


def _read_entry_position(node: Node, key: Key, path: str, reader: Reader) -> str:
    names.parse_position(node.plain())
    return node.value


def _read_position(node: Node, key: Key, path: str, reader: Reader) -> str:
    if node.value in ("earliest", "latest"):
        return node.value
    try:
        return _read_entry_position(node, key, path, reader)
    except Wrong as wrong:
        raise Wrong(wrong.what, f"{wrong.right}, or earliest or latest", wrong.code) from None


def _read_pairs(node: Node, key: Key, path: str, reader: Reader) -> Any:
    links = LINKS.read(node, key, path, reader)
    return BAD if links is BAD else tuple(dict.fromkeys(pair for pairs in links for pair in pairs))


def _by_name(
    node: Node,
    path: str,
    reader: Reader,
    read_one: Callable[[str, Node, str], Any],
    known: Collection[str],
    noun: str,
    example: str,
) -> Any:
    """A mapping from known names to the results of `read_one(name, node, path)`; BAD when any is wrong."""
    if not isinstance(node.value, dict):
        raise Wrong(f'"{node.plain()}" is not a mapping', f"write {example}")
    found: dict[str, Any] = {}
    for name, member in node.value.items():
        inner = f"{path}.{name}"
        if name in known:
            found[name] = read_one(name, member, inner)
        else:
            what = f'there is no {noun} "{name}"'
            reader.fail(member, inner, what, suggestion(name, known), "unknown-name", at_key=True)
            found[name] = BAD
    return BAD if any(value is BAD for value in found.values()) else found


_SECOND_US = 1_000_000
_PARTITIONS = Key("", "integer", "number of partitions", minimum=0, maximum=PARTITIONS_MOST)


def _read_partitions_by_cluster(node: Node, key: Key, path: str, reader: Reader) -> Any:
    found = _by_name(
        node,
        path,
        reader,
        lambda _, member, inner: reader.attempt(COMMON["integer"], member, _PARTITIONS, inner),
        reader.names.of_section("clusters"),
        "cluster",
        "{a: 2, b: 0}",
    )
    return BAD if found is BAD else tuple(found.items())


def _read_policies_by_cluster(node: Node, key: Key, path: str, reader: Reader) -> Any:
    return _by_name(
        node,
        path,
        reader,
        lambda _, member, inner: reader.members(member, POLICIES, inner, noun="policy"),
        reader.names.of_section("clusters"),
        "cluster",
        "{a: {defaultNumPartitions: 2}}",
    )


def _write_policies_by_cluster(value: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        cluster: {
            key.name: COMMON[key.kind].write(policies[key.field]) for key in POLICIES if key.field in policies
        }
        for cluster, policies in value.items()
    }


def backlog_quota(type_: str, values: dict[str, Any]) -> BacklogQuota:
    """A backlog quota of a type from its keys; refuses one without its limit, as pulsar-admin does."""
    needed, right = {
        SIZE: ("limit_bytes", "a size limit: limit, such as 10MB"),
        MESSAGE_AGE: ("limit_us", "a time limit: limitTime, such as 30s"),
    }[type_]
    if needed not in values:
        raise Wrong(f"quota type of '{type_}' needs {right.partition(':')[0]}", f"give {right}")
    limit_us = values.get("limit_us", -_SECOND_US) if type_ == MESSAGE_AGE else -_SECOND_US
    if limit_us % _SECOND_US:
        raise Wrong("limitTime is not in whole seconds", "write whole seconds, such as 30s")
    limit_bytes = values["limit_bytes"] if type_ == SIZE else -1
    return BacklogQuota(values["policy"], limit_bytes, limit_us // _SECOND_US)


def _read_backlog_quotas(node: Node, key: Key, path: str, reader: Reader) -> Any:
    def read_one(type_: str, member: Node, inner: str) -> Any:
        values = reader.members(member, QUOTA_KEYS, inner)
        try:
            return BAD if values is BAD else backlog_quota(type_, values)
        except Wrong as wrong:
            reader.fail(member, inner, wrong.what, wrong.right, wrong.code)
            return BAD

    example = "{destination_storage: {limit: 10MB, policy: consumer_backlog_eviction}}"
    return _by_name(node, path, reader, read_one, QUOTA_TYPES, "quota type", example)


def _write_backlog_quotas(value: dict[str, BacklogQuota]) -> dict[str, Any]:
    return {
        type_: {
            **({"limit": units.format_size(quota.limit_bytes)} if type_ == SIZE else {}),
            **({"limitTime": f"{quota.limit_s}s"} if type_ == MESSAGE_AGE else {}),
            "policy": quota.policy,
        }
        for type_, quota in value.items()
    }


_LONGEST_MS = LONGEST_US // 1000
BACKOFF_KEYS = (
    Key(
        "minDelayMs",
        "integer",
        "delay of a first delivery, in milliseconds; without it 10000",
        attribute="min_delay_ms",
        minimum=0,
        maximum=_LONGEST_MS,
    ),
    Key(
        "maxDelayMs",
        "integer",
        "longest delay, in milliseconds; without it 600000",
        attribute="max_delay_ms",
        minimum=0,
        maximum=_LONGEST_MS,
    ),
    Key(
        "multiplier",
        "decimal",
        "factor of each redelivery, above 1; without it 2",
        attribute="multiplier_millionths",
        minimum=1_000_001,
    ),
)


def _read_redelivery_backoff(node: Node, key: Key, path: str, reader: Reader) -> Any:
    values = reader.members(node, BACKOFF_KEYS, path)
    if values is BAD:
        return BAD
    made = RedeliveryBackoff(**values)
    if made.max_delay_ms < made.min_delay_ms:
        raise Wrong(
            f"maxDelayMs, {made.max_delay_ms}, is below minDelayMs, {made.min_delay_ms}",
            "give a maxDelayMs that is not below minDelayMs",
        )
    return made


def _write_redelivery_backoff(value: RedeliveryBackoff) -> dict[str, Any]:
    return {key.name: COMMON[key.kind].write(getattr(value, key.field)) for key in BACKOFF_KEYS}


def _read_avro(node: Node, key: Key, path: str, reader: Reader) -> str:
    return canonical_definition(node.plain())


CLUSTER, TOPIC = reference("cluster", "clusters"), reference("topic", "topics")
ADDRESS = Kind(
    (
        "a topic as the admin interface takes it: its name, or persistent://tenant/namespace/name in full; "
        "what is wrong with it is that interface's answer"
    ),
    TEXT,
    read_text,
)
PARTITION = Kind(
    "name of a topic or of one partition", pattern(names.NAME_PATTERN, x_names=["topics"]), _read_partition
)

KINDS: dict[str, Kind] = {
    "client": reference("producer or consumer", "producers", "consumers"),
    "clusters": list_of(CLUSTER, "a list of clusters"),
    "topics": list_of(TOPIC, "a list of topics"),
    "namespace": COMMON["namespace"],
    "topic-or-partition": PARTITION,
    "topics-or-partitions": list_of(PARTITION, "a list of topics or partitions"),
    "position": Kind(
        "ledger:entry, earliest or latest",
        pattern(r"(\d+:(-1|\d+)|earliest|latest)", x_words=["earliest", "latest"]),
        _read_position,
    ),
    "entry-position": Kind("ledger:entry", pattern(r"\d+:(-1|\d+)"), _read_entry_position),
    "address": ADDRESS,
    "addresses": list_of(ADDRESS, "a list of topics"),
    "partitions-by-cluster": Kind(
        "number of partitions by cluster",
        lambda key: {
            "type": "object",
            "propertyNames": {"x-names": ["clusters"]},
            "additionalProperties": {"type": "integer", "minimum": 0, "maximum": PARTITIONS_MOST},
        },
        _read_partitions_by_cluster,
        dict,
        lambda value: [list(pair) for pair in value],
    ),
    "policies-by-cluster": Kind(
        "policies by cluster",
        lambda key: {
            "type": "object",
            "propertyNames": {"x-names": ["clusters"]},
            "additionalProperties": {"$ref": "#/$defs/namespace-policies"},
        },
        _read_policies_by_cluster,
        _write_policies_by_cluster,
    ),
    "backlog-quotas": Kind(
        "backlog quotas by type, such as {destination_storage: {limit: 10MB, policy: producer_exception}}",
        lambda key: {
            "type": "object",
            "propertyNames": {"enum": list(QUOTA_TYPES)},
            "additionalProperties": {"$ref": "#/$defs/backlog-quota"},
        },
        _read_backlog_quotas,
        _write_backlog_quotas,
    ),
    "redelivery-backoff": Kind(
        "{minDelayMs: 1000, maxDelayMs: 60000, multiplier: 2}",
        lambda key: {"$ref": "#/$defs/redelivery-backoff"},
        _read_redelivery_backoff,
        _write_redelivery_backoff,
    ),
    "avro": Kind(
        "Avro schema, as YAML or JSON text",
        lambda key: {"type": ["object", "array", "string"]},
        _read_avro,
        json.loads,
    ),
    "pairs": Kind(
        LINKS.says, LINKS.schema, _read_pairs, lambda value: [names.format_link((pair,)) for pair in value]
    ),
}


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
        "messages at once; they need declared brokers (docs/pulsar.md)"
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
        "namespaces with policies, by tenant/namespace (docs/pulsar.md); one that is not declared "
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
        "(docs/pulsar.md)"
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
