"""Broker settings under Pulsar's own names and defaults, and the simulator's own options.

Rules: a value in a scenario is checked against its kind. Unknown names are errors. Units are in Pulsar's
names (Millis, Seconds, Minutes…). Defaults are those of Pulsar's ServiceConfiguration and broker.conf, and of
its Java client, except managedLedgerNewEntriesCheckDelayInMillis (docs/fidelity.md).
"""

from __future__ import annotations

from functools import partial

from simulator.protocols.pulsar.scenario.model import PULSAR
from simulator.protocols.pulsar.scenario.policies import (
    HOLD,
    PARTITIONS_MOST,
    QUOTA_POLICIES,
    SCHEMA_STRATEGIES,
)
from simulator.protocols.pulsar.scenario.sections import SHADOW_OPTIONS
from simulator.scenarios.declarations import MEASURED, NOMINAL, TIMING, Setting
from simulator.scenarios.limits import BATCH_SETTING_MAX, LONGEST_SETTING_US
from simulator.scenarios.model import Distribution
from simulator.scenarios.rule_files import BUILT_IN
from simulator.scenarios.units import LARGEST_BYTES

# --- the options for time inside a cluster: `timing`, and what it stands for
#
# Rules: by default nothing inside a cluster takes time, and figures can be derived by hand. `measured` are
# the values of Pulsar 4.2.4's brokers and Java client (docs/fidelity.md). A broker setting with a measured
# value has it in its own declaration.


_own = partial(Setting, protocol=PULSAR)

TIMING_OPTIONS: tuple[Setting, ...] = (
    _own(
        TIMING,
        NOMINAL,
        "choice",
        (
            "the defaults of the settings and options that have a measured value: nominal, no time inside "
            "a cluster and one phase for all, so that figures can be derived by hand, or as measured "
            "beside Pulsar 4.2.4"
        ),
        (NOMINAL, MEASURED),
    ),
    _own(
        "ackGroupPhase",
        "aligned",
        "choice",
        (
            "when a client's timer of ack groups starts: when it connects, or up to one period earlier, "
            "drawn (the Java client's constructor starts it before the subscribe reaches the broker)"
        ),
        ("aligned", "drawn"),
        measured="drawn",
    ),
    _own(
        "ackGroupDrift",
        0,
        "duration",
        (
            "by how much each period of that timer is longer than acknowledgmentGroupTime: a flush is late "
            "by this, and the next period begins when it has ended (scheduleWithFixedDelay)"
        ),
        measured=100,
    ),
    _own(
        "appendTime",
        Distribution(),
        "distribution",
        (
            "how long the append of an entry takes, drawn per entry, first in, first out: from its end on "
            "the entry is confirmed, and dispatchers and replicators can read it"
        ),
        measured=Distribution("lognormal", value_us=3_500, sigma_millionths=400_000),
    ),
    _own(
        "processingOverhead",
        0,
        "duration",
        (
            "what a client needs for each message beside the application's processing: to wake up, ack "
            "and take the next one; not for audiences"
        ),
        measured=60,
    ),
    _own(
        "topicLoadTime",
        Distribution(),
        "distribution",
        (
            "from an operator's unload of a topic until a broker has loaded it again, drawn per topic and "
            "load; clients that wait for it are connected then"
        ),
        measured=Distribution("uniform", low_us=150_000, high_us=450_000),
    ),
    _own(
        "subscribeTime",
        Distribution(),
        "distribution",
        (
            "from a client's subscribe until the broker has its consumer, drawn each time; consumers that "
            "start at 0 are connected then; not for audiences"
        ),
        measured=Distribution("uniform", low_us=10_000, high_us=40_000),
    ),
    _own(
        "deliveryTime",
        Distribution(),
        "distribution",
        (
            "from a message's dispatch until it is in the consumer's receiver queue, drawn per entry, first "
            "in, first out; not for audiences"
        ),
        measured=Distribution("lognormal", value_us=230, sigma_millionths=500_000),
    ),
    _own(
        "newEntriesCheckLateness",
        Distribution(),
        "distribution",
        (
            "by how much a cursor at the end of a log looks for new entries later than "
            "managedLedgerNewEntriesCheckDelayInMillis, because of the read before it and of the timer, "
            "drawn each time; without that delay it has no effect"
        ),
        measured=Distribution("uniform", low_us=100, high_us=500),
    ),
)


SETTINGS: tuple[Setting, ...] = (
    _own(
        "enableReplicatedSubscriptions",
        True,
        "boolean",
        "replicated subscriptions, broker wide",
        dynamic=False,
    ),
    _own(
        "replicatedSubscriptionsSnapshotFrequencyMillis",
        1000,
        "integer",
        "period of the snapshot controller's timer",
        minimum=1,
        dynamic=False,
    ),
    _own(
        "replicatedSubscriptionsSnapshotTimeoutSeconds",
        30,
        "integer",
        "age at which a pending snapshot is swept, both rounds together",
        minimum=1,
        dynamic=False,
    ),
    _own(
        "replicatedSubscriptionsSnapshotMaxCachedPerSubscription",
        None,
        "integer",
        "snapshots kept per subscription; 30, or 10 under the option snapshotCacheRule oldest-first",
        minimum=1,
        dynamic=False,
    ),
    _own(
        "replicationStartAt",
        "latest",
        "choice",
        "where a new replication cursor starts",
        ("latest", "earliest"),
    ),
    _own(
        "keepAliveIntervalSeconds",
        30,
        "integer",
        "period of a replicator's ping; the second one after a partition began breaks its connection",
        minimum=1,
    ),
    _own(
        "replicationProducerQueueSize",
        1000,
        "integer",
        "entries a replicator may have on the wire without receipt",
        minimum=1,
        most=BATCH_SETTING_MAX,
        dynamic=False,
    ),
    _own(
        "brokerDeduplicationEnabled",
        False,
        "boolean",
        "drop entries that a producer or replicator sends again",
    ),
    _own(
        "managedLedgerMaxEntriesPerLedger",
        50000,
        "integer",
        "entries after which a ledger is full",
        minimum=1,
    ),
    _own(
        "managedLedgerMaxSizePerLedgerMbytes",
        2048,
        "integer",
        "size after which a ledger is full",
        minimum=1,
    ),
    _own(
        "managedLedgerMaxLedgerRolloverTimeMinutes",
        240,
        "integer",
        "age after which a ledger is full",
        minimum=1,
    ),
    _own(
        "managedLedgerMinLedgerRolloverTimeMinutes",
        10,
        "integer",
        "a younger ledger is never rolled over",
        minimum=0,
    ),
    _own(
        "managedLedgerCursorPositionFlushSeconds",
        60,
        "integer",
        "a dirty cursor is flushed at latest after this",
        minimum=1,
    ),
    _own(
        "managedLedgerDefaultMarkDeleteRateLimit",
        1,
        "integer",
        "cursor writes per second; 0 is every one at once",
        minimum=0,
    ),
    _own(
        "managedLedgerMaxUnackedRangesToPersist",
        200000,
        "integer",
        "individually deleted ranges that survive a close or crash",
        minimum=0,
    ),
    _own(
        "managedLedgerNewEntriesCheckDelayInMillis",
        0,
        "integer",
        (
            "delay after which a cursor at the end of a log looks for new entries and is notified of them; "
            "10 in Pulsar, 0 here"
        ),
        minimum=0,
        dynamic=False,
        measured=10,
    ),
    _own(
        "retentionCheckIntervalInSeconds",
        120,
        "integer",
        "period of ledger trimming",
        minimum=1,
        dynamic=False,
    ),
    _own(
        "defaultRetentionTimeInMinutes",
        0,
        "integer",
        "how long acknowledged ledgers are kept; -1 is without limit",
        minimum=-1,
    ),
    _own(
        "defaultRetentionSizeInMB",
        0,
        "integer",
        "how much acknowledged data is kept; -1 is all",
        minimum=-1,
    ),
    _own("ttlDurationDefaultInSeconds", 0, "integer", "message time to live; 0 is off", minimum=0),
    _own(
        "messageExpiryCheckIntervalInMinutes",
        5,
        "integer",
        "period of the TTL check",
        minimum=1,
        dynamic=False,
    ),
    _own("backlogQuotaCheckEnabled", True, "boolean", "the check of backlog quotas runs"),
    _own(
        "backlogQuotaCheckIntervalInSeconds",
        60,
        "integer",
        "period of the check of backlog quotas",
        minimum=1,
        dynamic=False,
    ),
    _own(
        "backlogQuotaDefaultLimitBytes",
        -1,
        "integer",
        "size of a topic's backlog at which its quota is exceeded; -1 is no limit",
        minimum=-1,
        most=LARGEST_BYTES,
    ),
    _own(
        "backlogQuotaDefaultLimitSecond",
        -1,
        "integer",
        "age of the oldest unacknowledged message at which the quota is exceeded; -1 is no limit",
        minimum=-1,
        most=LONGEST_SETTING_US // 1_000_000,
    ),
    _own(
        "backlogQuotaDefaultRetentionPolicy",
        HOLD,
        "choice",
        "what the broker does then: hold or refuse producers, or drop the oldest messages of slow cursors",
        QUOTA_POLICIES,
    ),
    _own(
        "preciseTimeBasedBacklogQuotaCheck",
        False,
        "boolean",
        "the age is that of the oldest entry, not the one of its closed ledger",
    ),
    _own(
        "managedLedgerCursorResetLedgerCloseTimestampMaxClockSkewMillis",
        60_000,
        "integer",
        (
            "a search by publish time leaves out ledgers that were closed earlier or later than its instant "
            "by more than this; -1: it leaves out none, as before this setting"
        ),
        minimum=-1,
    ),
    _own(
        "maxUnackedMessagesPerConsumer",
        50000,
        "integer",
        "unacknowledged messages at which dispatch to a consumer stops; 0 is off",
        minimum=0,
    ),
    _own(
        "maxUnackedMessagesPerSubscription",
        200000,
        "integer",
        "unacknowledged messages at which dispatch of a subscription stops; 0 is off",
        minimum=0,
    ),
    _own(
        "keySharedLookAheadMsgInReplayThresholdPerConsumer",
        4000,
        "integer",
        (
            "messages for each consumer that a Key_Shared subscription reads past those that cannot go "
            "yet; 0 is off"
        ),
        minimum=0,
    ),
    _own(
        "keySharedLookAheadMsgInReplayThresholdPerSubscription",
        40000,
        "integer",
        "the same for all its consumers together",
        minimum=0,
    ),
    _own(
        "dispatcherMaxReadBatchSize",
        500,
        "integer",
        "entries read at once by a dispatcher",
        minimum=1,
        most=BATCH_SETTING_MAX,
    ),
    _own(
        "dispatcherMaxRoundRobinBatchSize",
        20,
        "integer",
        "entries given to one Shared consumer in a turn",
        minimum=1,
        most=BATCH_SETTING_MAX,
    ),
    _own(
        "activeConsumerFailoverDelayTimeMillis",
        1000,
        "integer",
        "wait before a new active consumer reads",
        minimum=0,
    ),
    _own(
        "activeConsumerFailoverConsistentHashing",
        False,
        "boolean",
        (
            "Failover: the active consumer of a partition comes from the hash ring, too, not from its "
            "number (PIP-392)"
        ),
        dynamic=False,
    ),
    _own(
        "acknowledgmentAtBatchIndexLevelEnabled",
        True,
        "boolean",
        "acks of single messages of a batch are kept",
    ),
    _own("delayedDeliveryEnabled", True, "boolean", "deliverAt is honoured for Shared and Key_Shared"),
    _own("allowAutoTopicCreation", True, "boolean", "a client that connects to a missing topic creates it"),
    _own(
        "allowAutoTopicCreationType",
        "non-partitioned",
        "choice",
        "what it creates",
        ("non-partitioned", "partitioned"),
    ),
    _own(
        "defaultNumPartitions",
        1,
        "integer",
        "with how many partitions, where that is partitioned",
        minimum=1,
        most=PARTITIONS_MOST,
    ),
    _own(
        "createTopicToRemoteClusterForReplication",
        True,
        "boolean",
        "replicators, and the requests that are copied, create what the remote lacks (PIP-370)",
        dynamic=False,
    ),
    _own(
        "schemaCompatibilityStrategy",
        "FULL",
        "choice",
        "what a new schema must be to those before",
        SCHEMA_STRATEGIES,
    ),
    _own("isAllowAutoUpdateSchemaEnabled", True, "boolean", "clients may register schemas"),
    _own(
        "isSchemaValidationEnforced",
        False,
        "boolean",
        "producers without a schema are refused where the topic has one",
    ),
    _own(
        "bookkeeperExplicitLacIntervalInMills",
        0,
        "integer",
        (
            "how often a writer reports to the bookies what is confirmed in its open ledger, for readers "
            "that open it; 0 is never"
        ),
        minimum=0,
    ),
    _own(
        "replicationPolicyCheckDurationSeconds",
        600,
        "integer",
        "period of the check that starts missing shadow replicators; 0 is never",
        minimum=0,
        dynamic=False,
    ),
    _own(
        "managedLedgerCacheEvictionTimeThresholdMillis",
        1000,
        "integer",
        "how long an entry stays in a broker's cache (counted for topics with shadows)",
        minimum=0,
    ),
    _own(
        "managedLedgerOffloadDriver",
        "none",
        "choice",
        "where ledgers are offloaded to, and who can read them there",
        ("none", "aws-s3", "google-cloud-storage", "azureblob", "filesystem"),
    ),
    _own(
        "topicLevelPoliciesEnabled",
        True,
        "boolean",
        "topics may have policies of their own; a list of shadow topics is one",
    ),
    _own(
        "clusterMigrationCheckDurationSeconds",
        0,
        "integer",
        "period of the blue-green check of every topic; 0 is off (PIP-188)",
        minimum=0,
        dynamic=False,
    ),
    _own(
        "clusterMigrationAutoResourceCreation",
        False,
        "boolean",
        "the blue-green check creates tenant, namespace and subscriptions in green",
    ),
)

OPTIONS: tuple[Setting, ...] = (
    _own(
        "snapshotCacheRule",
        "spread",
        "choice",
        "which snapshot a full cache gives up: spread (4.0.9, 4.1.3 on) or oldest-first (before)",
        ("spread", "oldest-first"),
    ),
    _own(
        "replicatedSubscriptionsRule",
        BUILT_IN,
        "rule",
        "the rule of replicated subscriptions: built-in, or by its name that of the file that --rules loads",
    ),
    _own(
        "forcedControllerStart",
        True,
        "boolean",
        "a marker from a remote cluster starts the controller there",
    ),
    _own(
        "firstSnapshotTickFails",
        "never",
        "choice",
        "a race ends a controller's first tick with an exception; drawn: in 25 of 100 starts, as measured",
        ("never", "drawn", "always"),
    ),
    _own(
        "lookupOnSnapshotArrival",
        True,
        "boolean",
        "a snapshot that arrives in the cache is looked up at once (#16651)",
    ),
    _own(
        "missingSubscriptionCreation",
        "earliest",
        "choice",
        (
            "an Update for a missing subscription creates it at earliest and applies the position "
            "(#20767), or, before, at latest without it"
        ),
        ("earliest", "latest"),
    ),
    _own(
        "initialSnapshotCoversOlder",
        True,
        "boolean",
        "a controller that starts on a topic with data takes a snapshot at once (#26655)",
    ),
    _own(
        "replicationTopicCreation",
        "implemented",
        "choice",
        (
            "how replication, topic creation and schemas meet: before PIP-433, as its text "
            "proposes, or as "
            "it was built (docs/pulsar.md)"
        ),
        ("before", "proposal", "implemented"),
    ),
    _own(
        "topicConsistencyCheck",
        True,
        "boolean",
        (
            "before PIP-433: a broker refuses to create a partition whose partitioned topic does not exist "
            "(PIP-414); false: it makes a plain topic of that name"
        ),
    ),
    _own(
        "negativeAckTracker",
        "bitmap",
        "choice",
        (
            "when a client requests redelivery after negative acks: bitmap, each "
            "when it is due (PIP-393; 4.0.4 has it, 4.0.1 does not), or rounds, three in a delay (before)"
        ),
        ("bitmap", "rounds"),
    ),
    _own(
        "redirectClearsCumulativeAck",
        True,
        "boolean",
        (
            "a client that a blue-green migration redirects forgets its last cumulative ack (#23693, "
            "4.0.4 has it, 4.0.1 does not); false: it drops messages of green that are not above it"
        ),
    ),
    _own(
        "expirySearch",
        "of-cursor",
        "choice",
        (
            "the periodic TTL check: of-cursor, each cursor looks for expired messages, one with consumers "
            "and a small backlog once its oldest is past 1.5 times the TTL; of-topic, one search for all "
            "cursors, without that patience (#24622; 4.0.7 and 4.2.4 have it, 4.0.5 does not)"
        ),
        ("of-cursor", "of-topic"),
    ),
    _own(
        "expirySearchRange",
        "all-entries",
        "choice",
        (
            "what expiry of a single cursor searches: all-entries of the log (4.2.4), or active-entries, "
            "those after its mark-delete, until none is unacknowledged (4.0.5 and 4.0.7, where the periodic "
            "check of 4.0.7 is expirySearch: of-topic)"
        ),
        ("all-entries", "active-entries"),
    ),
    _own(
        "lookupFailoverRelease",
        "4.2.4",
        "choice",
        (
            "the Java client of a failover with `probe: lookup`: 4.2.4; 4.0.7, which checks at a fixed rate "
            "and keeps old states of clusters that it skips or leaves (#25388, #25826); 4.0.5, whose checks "
            "end permanently when it finds no cluster (#23336)"
        ),
        ("4.2.4", "4.0.7", "4.0.5"),
    ),
    *SHADOW_OPTIONS,
    _own(
        "unsafePartialSnapshotAfter",
        0,
        "duration",
        (
            "UNSAFE. PIP-33's later work: a pending snapshot this old is finished with the answers at "
            "hand, and a disconnected remote no longer stops the tick; 0 is off"
        ),
    ),
    *TIMING_OPTIONS,
    _own("lookupLatency", 2_000, "duration", "from a client's request to the LookupService to its answer"),
)
