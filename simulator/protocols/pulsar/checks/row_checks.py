"""The checks of Pulsar's rows, in order (docs/checks.md)."""

from __future__ import annotations

from simulator.checks.check import Check
from simulator.protocols.pulsar.checks.ack_sync_requests import AckSyncRequests
from simulator.protocols.pulsar.checks.announced_to_shadow import AnnouncedToShadow
from simulator.protocols.pulsar.checks.audiences_served import AudiencesServed
from simulator.protocols.pulsar.checks.blue_green import LeftEmpty
from simulator.protocols.pulsar.checks.broker_limits import BrokerLimits
from simulator.protocols.pulsar.checks.consumer_reconnects import ConsumerReconnects
from simulator.protocols.pulsar.checks.deletions import DeletedUnused, Terminated
from simulator.protocols.pulsar.checks.expired_messages import ExpiredMessages
from simulator.protocols.pulsar.checks.filtered_messages import FilteredMessages
from simulator.protocols.pulsar.checks.lists_agreed import ListsAgreed
from simulator.protocols.pulsar.checks.lookup_retries import LookupRetries
from simulator.protocols.pulsar.checks.lookups import AnsweredWhenAble, StateAsSent
from simulator.protocols.pulsar.checks.mark_delete import MarkDelete
from simulator.protocols.pulsar.checks.markers_hidden import MarkersHidden
from simulator.protocols.pulsar.checks.messages_kept import MessagesKept
from simulator.protocols.pulsar.checks.metadata_complete import MetadataComplete
from simulator.protocols.pulsar.checks.migration_steps import DrainedBeforeRedirect, MigrationStepsInOrder
from simulator.protocols.pulsar.checks.migrations import (
    CopiedBeforeDeleted,
    ReceivedBeforeDeleted,
    SentWhereLookedUp,
)
from simulator.protocols.pulsar.checks.offloaded_reads import OffloadedReads
from simulator.protocols.pulsar.checks.one_hop import OneHop
from simulator.protocols.pulsar.checks.order_kept import OrderKept
from simulator.protocols.pulsar.checks.permissions import Permitted
from simulator.protocols.pulsar.checks.policy_requests import PolicyRequests
from simulator.protocols.pulsar.checks.requests_copied import RequestsCopied
from simulator.protocols.pulsar.checks.safe_update import SafeUpdate
from simulator.protocols.pulsar.checks.same_shape import SameShape
from simulator.protocols.pulsar.checks.schema_first import SchemaFirst
from simulator.protocols.pulsar.checks.schemas_by_rule import SchemasByRule
from simulator.protocols.pulsar.checks.shadow_bookies import ShadowLastConfirmed
from simulator.protocols.pulsar.checks.shadow_feeding import ShadowFed, ShadowNotifications
from simulator.protocols.pulsar.checks.shadow_shape import ShadowShape
from simulator.protocols.pulsar.checks.shadows import (
    ShadowDeliversSource,
    ShadowLosesAloud,
    ShadowWithinSource,
    ShadowWritesNothing,
)
from simulator.protocols.pulsar.checks.start_retries import StartRetries
from simulator.protocols.pulsar.checks.synced_acks_kept import SyncedAcksKept
from simulator.protocols.pulsar.checks.topics_created import AutoCreated, CreatedWhereItMay

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
