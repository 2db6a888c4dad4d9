"""The checks of Pulsar's rows, in order (docs/checks.md)."""

from __future__ import annotations

from simulator.checks.check import Check
from simulator.protocols.pulsar.checks.announced_to_shadow import AnnouncedToShadow
from simulator.protocols.pulsar.checks.asked_again import AskedAgain
from simulator.protocols.pulsar.checks.audiences_served import AudiencesServed
from simulator.protocols.pulsar.checks.back_in_time import BackInTime
from simulator.protocols.pulsar.checks.blue_green import LeftEmpty
from simulator.protocols.pulsar.checks.broker_limits import BrokerLimits
from simulator.protocols.pulsar.checks.deletions import DeletedUnused, Terminated
from simulator.protocols.pulsar.checks.expired_rightly import ExpiredRightly
from simulator.protocols.pulsar.checks.filtered_rightly import FilteredRightly
from simulator.protocols.pulsar.checks.lists_agreed import ListsAgreed
from simulator.protocols.pulsar.checks.lookups import AnsweredWhenAble, StateAsSent
from simulator.protocols.pulsar.checks.mark_delete import MarkDelete
from simulator.protocols.pulsar.checks.markers_hidden import MarkersHidden
from simulator.protocols.pulsar.checks.migrations import (
    CopiedBeforeDeleted,
    ReceivedBeforeDeleted,
    SentWhereLookedUp,
)
from simulator.protocols.pulsar.checks.moved_whole import BroughtWhole
from simulator.protocols.pulsar.checks.moves_in_order import DrainedBeforeSentOn, StepsInOrder
from simulator.protocols.pulsar.checks.nothing_gone import NothingGone
from simulator.protocols.pulsar.checks.one_hop import OneHop
from simulator.protocols.pulsar.checks.order_kept import OrderKept
from simulator.protocols.pulsar.checks.permissions import Permitted
from simulator.protocols.pulsar.checks.policies_sensible import PoliciesSensible
from simulator.protocols.pulsar.checks.read_where_it_is import ReadWhereItIs
from simulator.protocols.pulsar.checks.requests_copied import RequestsCopied
from simulator.protocols.pulsar.checks.retries_wait import RetriesWait
from simulator.protocols.pulsar.checks.safe_update import SafeUpdate
from simulator.protocols.pulsar.checks.same_shape import SameShape
from simulator.protocols.pulsar.checks.schema_first import SchemaFirst
from simulator.protocols.pulsar.checks.schemas_by_rule import SchemasByRule
from simulator.protocols.pulsar.checks.shadow_bookies import ShadowKnowsFromBookies
from simulator.protocols.pulsar.checks.shadow_feeding import ShadowFed, ShadowHears
from simulator.protocols.pulsar.checks.shadow_shape import ShadowShape
from simulator.protocols.pulsar.checks.shadows import (
    ShadowDeliversSource,
    ShadowLosesAloud,
    ShadowWithinSource,
    ShadowWritesNothing,
)
from simulator.protocols.pulsar.checks.states_in_time import StatesInTime
from simulator.protocols.pulsar.checks.synced_acks_kept import SyncedAcksKept
from simulator.protocols.pulsar.checks.topics_created import AutoCreated, CreatedWhereItMay

MIGRATION_CHECKS = (SentWhereLookedUp, CopiedBeforeDeleted, ReceivedBeforeDeleted)
SHADOW_CHECKS = (ShadowWritesNothing, ShadowDeliversSource, ShadowWithinSource, ShadowLosesAloud)
FEEDING_CHECKS = (ShadowFed, AnnouncedToShadow, ShadowKnowsFromBookies, ShadowHears, ShadowShape)
ADMINISTRATION_CHECKS = (
    DeletedUnused,
    Terminated,
    Permitted,
    AnsweredWhenAble,
    StateAsSent,
    BroughtWhole,
    LeftEmpty,
)
CREATION_CHECKS = (ListsAgreed, CreatedWhereItMay, AutoCreated, SchemasByRule, RetriesWait)
LATER_CHECKS = (
    ExpiredRightly,
    StatesInTime,
    AskedAgain,
    ReadWhereItIs,
    PoliciesSensible,
    RequestsCopied,
    BackInTime,
)
ROW_CHECKS: tuple[type[Check], ...] = (
    SafeUpdate,
    MarkDelete,
    MarkersHidden,
    OrderKept,
    OneHop,
    NothingGone,
    FilteredRightly,
    BrokerLimits,
    SameShape,
    SchemaFirst,
    *SHADOW_CHECKS,
    AudiencesServed,
    *MIGRATION_CHECKS,
    StepsInOrder,
    DrainedBeforeSentOn,
    SyncedAcksKept,
    *FEEDING_CHECKS,
    *ADMINISTRATION_CHECKS,
    *CREATION_CHECKS,
    *LATER_CHECKS,
)
