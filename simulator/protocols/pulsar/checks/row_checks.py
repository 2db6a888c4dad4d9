"""The checks of Pulsar's rows, in order (docs/checks.md)."""

from __future__ import annotations

from simulator.checks.check import Check
from simulator.protocols.pulsar.checks.acknowledgements import (
    AckSyncRequests,
    MarkDelete,
    SafeUpdate,
    SyncedAcksKept,
)
from simulator.protocols.pulsar.checks.administration import (
    AutoCreated,
    CreatedWhereItMay,
    DeletedUnused,
    Permitted,
    SameShape,
    Terminated,
)
from simulator.protocols.pulsar.checks.audiences import AudiencesServed, BrokerLimits
from simulator.protocols.pulsar.checks.copies import ListsAgreed, PolicyRequests, RequestsCopied, StartRetries
from simulator.protocols.pulsar.checks.failovers import ConsumerReconnects, LookupRetries
from simulator.protocols.pulsar.checks.messages import (
    ExpiredMessages,
    FilteredMessages,
    MarkersHidden,
    MessagesKept,
    OneHop,
    OrderKept,
)
from simulator.protocols.pulsar.checks.migrations import (
    AnsweredWhenAble,
    CopiedBeforeDeleted,
    DrainedBeforeRedirect,
    LeftEmpty,
    MetadataComplete,
    MigrationStepsInOrder,
    ReceivedBeforeDeleted,
    SentWhereLookedUp,
    StateAsSent,
)
from simulator.protocols.pulsar.checks.schemas import SchemaFirst, SchemasByRule
from simulator.protocols.pulsar.checks.shadows import (
    AnnouncedToShadow,
    OffloadedReads,
    ShadowDeliversSource,
    ShadowFed,
    ShadowLastConfirmed,
    ShadowLosesAloud,
    ShadowNotifications,
    ShadowShape,
    ShadowWithinSource,
    ShadowWritesNothing,
)

MIGRATION_CHECKS = (SentWhereLookedUp, CopiedBeforeDeleted, ReceivedBeforeDeleted)
SHADOW_CHECKS = (ShadowWritesNothing, ShadowDeliversSource, ShadowWithinSource, ShadowLosesAloud)
FEEDING_CHECKS = (ShadowFed, AnnouncedToShadow, ShadowLastConfirmed, ShadowNotifications, ShadowShape)
ADMINISTRATION_CHECKS = (
    DeletedUnused,
    Terminated,
    Permitted,
    AnsweredWhenAble,
    StateAsSent,
    MetadataComplete,
    LeftEmpty,
)
CREATION_CHECKS = (ListsAgreed, CreatedWhereItMay, AutoCreated, SchemasByRule, StartRetries)
LATER_CHECKS = (
    ExpiredMessages,
    AckSyncRequests,
    LookupRetries,
    OffloadedReads,
    PolicyRequests,
    RequestsCopied,
    ConsumerReconnects,
)
ROW_CHECKS: tuple[type[Check], ...] = (
    SafeUpdate,
    MarkDelete,
    MarkersHidden,
    OrderKept,
    OneHop,
    MessagesKept,
    FilteredMessages,
    BrokerLimits,
    SameShape,
    SchemaFirst,
    *SHADOW_CHECKS,
    AudiencesServed,
    *MIGRATION_CHECKS,
    MigrationStepsInOrder,
    DrainedBeforeRedirect,
    SyncedAcksKept,
    *FEEDING_CHECKS,
    *ADMINISTRATION_CHECKS,
    *CREATION_CHECKS,
    *LATER_CHECKS,
)
