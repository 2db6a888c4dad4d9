"""EMQX's settings, with the names and defaults of 5.9/5.10, and the lab's options for known faults.

Every option's default is the behaviour of release 5.10 as shipped. The profile `proposal` has the repaired
values (docs/durable-shared-subscriptions.md).
"""

from __future__ import annotations

from functools import partial

from simulator.protocols.emqx.scenario.model import EMQX
from simulator.scenarios.declarations import Profile, Setting
from simulator.scenarios.limits import BATCH_SETTING_MAX

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
        "remoteLeaders",
        "unreachable",
        "choice",
        (
            "as shipped (emqx#18143), a borrower's messages to a leader at another node are sent to the "
            "borrower's own node, so only sessions at the leader's node read; or they reach the leader, as "
            "since 6.0.4, 6.1.4, 6.2.3 and 6.3.0"
        ),
        ("unreachable", "reachable"),
    ),
    _Own(
        "secondConnectResponse",
        "crashes",
        "choice",
        (
            "a second connect response crashes the borrower's session, as shipped, or is ignored "
            "(emqx#16789, since 6.1.1)"
        ),
        ("crashes", "tolerated"),
    ),
    _Own(
        "lateProgress",
        "last-write-wins",
        "choice",
        (
            "a progress report that arrives late moves a stream's position back, as shipped, or leaves it "
            "where it is"
        ),
        ("last-write-wins", "keep-highest"),
    ),
    _Own(
        "resetWhileUnsubscribing",
        "resubscribes",
        "choice",
        (
            "a borrower that is reset while it unsubscribes starts again for a subscription that is gone, as "
            "shipped, or ends"
        ),
        ("resubscribes", "ends"),
    ),
    _Own(
        "reassignmentTimers",
        "multiply",
        "choice",
        "each round after a disconnect starts another periodic one that never ends, as shipped, or none",
        ("multiply", "one"),
    ),
    _Own(
        "endOfStream",
        "kills-leader",
        "choice",
        "the end of a stream crashes the leader that receives it, as shipped, or frees the stream",
        ("kills-leader", "handled"),
    ),
    _Own(
        "replayedGeneration",
        "forgotten",
        "choice",
        (
            "that the last known generation was read is forgotten, so that it is read again from the start, "
            "as shipped, or kept"
        ),
        ("forgotten", "remembered"),
    ),
    _Own(
        "undeclaredElection",
        "claims",
        "choice",
        (
            "an election for a group that is not declared leaves the claim of a leader that ended at once, "
            "which delays the next election until the claim is too old, as shipped, or nothing"
        ),
        ("claims", "fails"),
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
        "leaderTimerPhase",
        "aligned",
        "choice",
        (
            "the first deadline check of a leader comes one interval after its start, and rounds and checks "
            "keep their phase, or it comes within the first interval, drawn for each leader, as when the two "
            "timers have drifted apart by the time that their work takes"
        ),
        ("aligned", "drawn"),
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

SHIPPED, PROPOSAL = "5.10", "proposal"

PROFILES = (
    Profile(SHIPPED, "EMQX 5.10 as shipped, with its known faults"),
    Profile(
        PROPOSAL,
        (
            "the proposal (EIP 0028), with the faults of the code repaired; its messages carry no epoch, "
            "as in the proposal"
        ),
        {
            "remoteLeaders": "reachable",
            "secondConnectResponse": "tolerated",
            "lateProgress": "keep-highest",
            "resetWhileUnsubscribing": "ends",
            "reassignmentTimers": "one",
            "endOfStream": "handled",
            "replayedGeneration": "remembered",
            "undeclaredElection": "fails",
            "secondRevokeFinished": "ignored",
            "redeclaredGroup": "fenced",
        },
    ),
)
"""The first profile's values are the defaults of the options."""
