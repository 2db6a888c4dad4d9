"""The options for shadow topics: as shipped, as proposed in PIP-180, or as read in the source."""

from __future__ import annotations

from functools import partial

from simulator.protocols.pulsar.scenario.families import PULSAR
from simulator.scenarios.setting import Setting

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
