"""The settings that a swarm may choose, with values that reach other branches of the rules."""

from __future__ import annotations

SWARM_SETTINGS: dict[str, tuple] = {
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
