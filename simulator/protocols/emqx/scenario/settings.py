"""EMQX's settings, with the names and defaults of 5.9/5.10, and the lab's options for known faults.

For most options the correct behaviour is the default and the other value is the behaviour of EMQX's code. For
the last three options the default is the behaviour of the code (docs/durable-shared-subscriptions.md).
"""

from __future__ import annotations

from functools import partial

from simulator.protocols.emqx.scenario.families import EMQX
from simulator.scenarios.limits import BATCH_SETTING_MAX
from simulator.scenarios.setting import Setting

_Own = partial(Setting, protocol=EMQX)

SETTINGS: tuple[Setting, ...] = (
    _Own(
        "session_find_leader_timeout",
        1_000_000,
        "duration",
        "a connecting borrower asks its node's registry again after this",
        minimum=1,
    ),
    _Own(
        "session_ping_leader_interval",
        4_000_000,
        "duration",
        "from a ping's answer to the next ping",
        minimum=1,
    ),
    _Own(
        "session_ping_leader_timeout",
        4_000_000,
        "duration",
        "an unanswered ping resets the borrower after this",
        minimum=1,
    ),
    _Own(
        "session_unsubscribe_timeout",
        1_000_000,
        "duration",
        "how long an unsubscribing borrower waits for acknowledgements",
        minimum=1,
    ),
    _Own(
        "leader_renew_streams_interval",
        1_000_000,
        "duration",
        "time between two reassignment rounds",
        minimum=1,
    ),
    _Own(
        "leader_periodical_actions_interval",
        1_000_000,
        "duration",
        "time between two checks of deadlines, and of messages to send again",
        minimum=1,
    ),
    _Own(
        "leader_borrower_timeout",
        5_000_000,
        "duration",
        "a borrower is dead to the leader this long after its last ping",
        minimum=1,
    ),
    _Own(
        "leader_heartbeat_interval",
        10_000_000,
        "duration",
        "time between two commits of a leader, each of which renews its claim",
        minimum=1,
    ),
    _Own(
        "leader_claim_ttl",
        30_000_000,
        "duration",
        "a claim younger than this cannot be taken over",
        minimum=1,
    ),
    _Own(
        "batch_size",
        100,
        "integer",
        "messages fetched at once from a stream: the largest chunk",
        minimum=1,
        most=BATCH_SETTING_MAX,
    ),
    _Own(
        "max_inflight",
        32,
        "integer",
        "messages that a client may have unacknowledged",
        minimum=1,
        most=BATCH_SETTING_MAX,
    ),
    _Own("n_shards", 16, "integer", "shards of the durable storage at the start", minimum=1, most=256),
)

OPTIONS: tuple[Setting, ...] = (
    _Own(
        "emqxEdition",
        "enterprise",
        "choice",
        "in the community edition the agent is a stub: a shared subscription has no effect",
        ("enterprise", "community"),
    ),
    _Own(
        "secondConnectResponse",
        "tolerated",
        "choice",
        (
            "a second connect response is nothing (since February 2026, 6.x), or crashes the borrower's "
            "session, as shipped"
        ),
        ("tolerated", "crashes"),
    ),
    _Own(
        "lateProgress",
        "keep-highest",
        "choice",
        (
            "a progress report that arrives late leaves a stream's position where it is, or "
            "rewinds it, as shipped"
        ),
        ("keep-highest", "last-write-wins"),
    ),
    _Own(
        "resetWhileUnsubscribing",
        "ends",
        "choice",
        (
            "a borrower reset while it unsubscribes ends, or starts again for a "
            "subscription that is gone, as shipped"
        ),
        ("ends", "resubscribes"),
    ),
    _Own(
        "reassignmentTimers",
        "one",
        "choice",
        "rounds after a disconnect leave the periodic one alone, or each arms another endlessly, as shipped",
        ("one", "multiply"),
    ),
    _Own(
        "endOfStream",
        "handled",
        "choice",
        "the end of a stream frees it, or crashes the leader that receives it, as shipped",
        ("handled", "kills-leader"),
    ),
    _Own(
        "replayedGeneration",
        "remembered",
        "choice",
        (
            "that the last known generation was read is kept, or forgotten, so that it is read again from "
            "the start, as shipped"
        ),
        ("remembered", "forgotten"),
    ),
    _Own(
        "undeclaredElection",
        "fails",
        "choice",
        (
            "an election for a group that is not declared leaves nothing behind, or the claim of a leader "
            "that ended at once, which delays the next election until the claim is too old, as shipped"
        ),
        ("fails", "claims"),
    ),
    _Own(
        "qos0Subscriptions",
        "direct",
        "choice",
        (
            "a durable session's own subscriptions with quality 0 miss what is published while the client is "
            "away (since 5.10), or read it from storage (5.9); groups always read from storage"
        ),
        ("direct", "durable"),
    ),
    _Own(
        "secondRevokeFinished",
        "invalidates",
        "choice",
        (
            "a revoke-finished for a stream that its sender does not own any more gets a healthy borrower "
            "invalidated, as shipped, or changes nothing"
        ),
        ("invalidates", "ignored"),
    ),
    _Own(
        "redeclaredGroup",
        "adopted",
        "choice",
        (
            "a leader without a commit goes on from its positions when its group is destroyed and declared "
            "again, as shipped, or its first commit is refused and it ends"
        ),
        ("adopted", "fenced"),
    ),
    _Own(
        "revokeCarriesEpoch",
        False,
        "boolean",
        (
            "true: a revoke names the grant that it takes back, and a borrower ignores one about an earlier "
            "grant; as shipped it obeys a late or duplicated revoke, and no session reads the stream"
        ),
    ),
)
