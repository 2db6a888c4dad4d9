"""The sections of Pulsar's scenario files. Those of clients are in `client_sections`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from avro.errors import AvroException
from avro.schema import make_avsc_object

from simulator.protocols.pulsar.scenario import model
from simulator.protocols.pulsar.scenario.model import POLICIES, PULSAR, RedeliveryBackoff
from simulator.protocols.pulsar.scenario.policies import (
    MESSAGE_AGE,
    PARTITIONS_MOST,
    QUOTA_KEYS,
    QUOTA_TYPES,
    SIZE,
    BacklogQuota,
)
from simulator.scenarios import names, units
from simulator.scenarios.declarations import Key, Section, Setting, keys_of
from simulator.scenarios.kinds import BAD, LINKS, TEXT, Kind, list_of, pattern, read_text, reference
from simulator.scenarios.kinds import KINDS as COMMON
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


BACKOFF_KEYS = keys_of(RedeliveryBackoff)


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
    most=1000,
    protocol=PULSAR,
)

SUBSCRIPTIONS = Section(
    "subscriptions",
    "subscription",
    model.SubscriptionSpec,
    "the subscriptions, by name",
    most=256,
    protocol=PULSAR,
)

CONSUMERS = Section(
    "consumers",
    "consumer",
    model.ConsumerSpec,
    "the consumers, by name",
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
    most=64,
    protocol=PULSAR,
)


CLUSTERS = Section(
    "clusters",
    "cluster",
    model.ClusterSpec,
    "the clusters, by name; the page shows them in this order",
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
    most=64,
    naming="namespace",
    protocol=PULSAR,
)

SCHEMAS = Section(
    "schemas",
    "schema",
    model.SchemaSpec,
    "message schemas, by name, for producers, consumers and commands",
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
    most=64,
    protocol=PULSAR,
)

TOPICS = Section(
    "topics",
    "topic",
    model.TopicSpec,
    "the topics, by name",
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
    most=64,
    protocol=PULSAR,
)

TENANTS = Section(
    "tenants",
    "tenant",
    model.TenantSpec,
    "the LookupService's map: tenants, each with the cluster where its clients find it",
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
