"""The words of stories: what each kind and cause is called, and why each case came about.

Rules: one sentence each, present facts in plain words, no term that the page does not show; `{x}` is the
region where the message was last acknowledged, `{to}` the one that delivered it, `{subscription}` the
subscription. A test asks for words for every cause and every "why" that counting can give.
"""

from __future__ import annotations

KINDS: dict[str, tuple[str, str]] = {
    # kind: heading, what it means
    "duplicates": ("Seen twice", "{to} delivered them although the application had already finished them."),
    "redeliveries": (
        "Delivered again, never finished",
        (
            "They had been handed out before and nobody had acknowledged them, so {to} was right to deliver "
            "them again."
        ),
    ),
    "stranded": (
        "Stranded in {from}",
        "Their producer was told that they are safe, but at the move {to} did not have them.",
    ),
    "lost": (
        "Lost",
        (
            "Their producer was told that they are safe, nobody ever finished them, and {to} cannot deliver "
            "them any more."
        ),
    ),
}

CAUSES: dict[str, tuple[str, str]] = {
    # cause of a duplicate: heading, what it means
    "resent_copy": (
        "Stored twice",
        (
            "A connection broke before the confirmation was back, so the message was sent again; {to} had "
            "passed the first copy and delivered the second."
        ),
    ),
    "subscription_missing": (
        "{to} did not know {subscription}",
        "No update about {subscription} had ever reached {to}, so it began at a place of its own.",
    ),
    "not_replicated": (
        "Progress was never shared",
        "{x} was not set up to tell {to} how far {subscription} is.",
    ),
    "cursor_went_back": (
        "{to} went back",
        "{to} had passed these messages already and fell back behind them.",
    ),
    "ack_not_registered": (
        "The acknowledgement never arrived",
        "The application had finished them, but the broker in {x} did not hear of it in time.",
    ),
    "not_in_target_yet": (
        "They came to {to} too late",
        "They reached {to} only after the move, so nothing told before it could cover them.",
    ),
    "sync_in_flight": (
        "The news was on its way",
        "{x} had sent what is acknowledged, these included; {to} had not taken it in when it sent them out.",
    ),
    "after_last_sync": (
        "Newer than the last sync",
        "They were finished after {x} last told {to} what is acknowledged.",
    ),
    "ack_hole": (
        "An older message held the line",
        (
            "Other regions are only told up to where everything is acknowledged. An older message was not, "
            "so these behind it did not count."
        ),
    ),
    "update_in_flight": (
        "The news was on its way",
        "{x} had sent the update that covers them; {to} had not taken it in when it delivered them.",
    ),
    "snapshot_evicted": (
        "The snapshot was thrown away",
        "A snapshot that covers them was complete, and the full cache in {x} had dropped it.",
    ),
    "snapshot_unused": (
        "The snapshot lay unused",
        "A snapshot that covers them was complete, and {x} never came to send its update.",
    ),
    "snapshot_incomplete": (
        "The snapshot was not finished in time",
        "A snapshot was due that would have covered them; something kept it from being finished.",
    ),
    "after_newest_snapshot": (
        "Newer than the newest snapshot",
        "They were finished after the newest snapshot. Taking one only every so often has this price.",
    ),
}

LOSSES: dict[str, tuple[str, str]] = {
    # cause of a loss: heading, what it means
    "subscription_began_after": (
        "{subscription} began after them",
        "{to} opened {subscription} at a place after these messages.",
    ),
    "cursor_moved_past": (
        "Passed without delivery",
        "The position of {subscription} in {to} was moved over them.",
    ),
    "never_replicated": (
        "Never copied to {to}",
        "No copy of them reached {to}, and none will be sent any more.",
    ),
    "removed": ("Deleted in {to}", "{to} had deleted them before they were delivered."),
}

WHY: dict[tuple[str, str], str] = {
    # (cause, why): the sentence at the instant where the chance was gone
    (
        "resent_copy",
        "stored-twice",
    ): "{to} tells copies apart by their place only, so the second copy counted as new.",
    (
        "subscription_missing",
        "no-update-had-arrived",
    ): "No update about {subscription} had reached {to} yet, so it did not even know the name.",
    (
        "not_replicated",
        "not-flagged",
    ): "{subscription} is not replicated in {x}: its progress is never told to another region.",
    (
        "not_replicated",
        "feature-off",
    ): "Replicated subscriptions are switched off, so no progress is told to another region.",
    (
        "not_replicated",
        "one-cluster",
    ): "{x} has no other region on its list any more, so there was nobody to tell.",
    ("cursor_went_back", "reset"): "Somebody put {subscription} in {to} back to an earlier place.",
    ("cursor_went_back", "recovered-older"): (
        "{to} came back from a crash with an older note of its position: the newest acknowledgements had "
        "not been written down."
    ),
    ("cursor_went_back", "deleted"): "{subscription} was deleted in {to}, and its position with it.",
    (
        "cursor_went_back",
        "already-dispatched",
    ): "The message lay already in another consumer's queue when {to} heard of the acknowledgement.",
    ("ack_not_registered", "not-sent-or-on-the-wire"): (
        "The acknowledgement was still with the consumer, or on its way to the broker, and was lost with it."
    ),
    (
        "ack_not_registered",
        "acknowledged-after-the-end",
    ): "It was finished only after {x} could still tell anybody.",
    (
        "not_in_target_yet",
        "appended-after-the-failover",
    ): "At the move the message was not in {to} yet, so no position told before could include it.",
    ("sync_in_flight", "on-the-wire"): "The request that says so was still on the wire.",
    ("sync_in_flight", "lost-on-the-wire"): "The request that says so was lost when the connection broke.",
    (
        "sync_in_flight",
        "already-dispatched",
    ): "When {to} heard of it, the message lay already in the consumer's queue.",
    (
        "after_last_sync",
        "newest-sent",
    ): "{x} had sent its last request before the broker took note of this acknowledgement.",
    ("after_last_sync", "forgotten"): (
        "{x}'s broker had taken note of this acknowledgement and forgot it again, in a crash or by a "
        "reset, before it sent its next request."
    ),
    ("after_last_sync", "none-sent"): "{x} had not told {to} anything yet.",
    ("ack_hole", "behind-a-hole"): (
        "Only the position up to which everything is acknowledged is told to {to}; an older message kept "
        "it from moving past this one."
    ),
    ("ack_hole", "forgotten-at-recovery"): (
        "{x} had crashed and come back without this acknowledgement, so its position stood before the "
        "message again."
    ),
    ("update_in_flight", "never-left"): "The update that covers it never left {x}.",
    ("update_in_flight", "on-the-wire"): "The update that covers it was still on the wire.",
    ("update_in_flight", "lost-on-the-wire"): "The update that covers it was lost when the connection broke.",
    ("update_in_flight", "dropped"): "The update that covers it was taken off the wire by hand.",
    (
        "update_in_flight",
        "backlog",
    ): "The update that covers it lay in {to}, behind other entries, and had not been applied.",
    ("update_in_flight", "refused"): "{to} had the update that covers it, and refused it.",
    (
        "update_in_flight",
        "already-dispatched",
    ): "When {to} applied the update, the message lay already in the consumer's queue.",
    (
        "snapshot_evicted",
        "cache-rule",
    ): "The cache of snapshots in {x} was full and had dropped the one that covers it.",
    ("snapshot_unused", "lost-at-unload"): (
        "{x} had forgotten the snapshot: snapshots kept in memory are gone when the topic moves or the "
        "broker stops."
    ),
    (
        "snapshot_unused",
        "lost-at-reset",
    ): "{x} had forgotten the snapshot: resetting the position throws all snapshots away.",
    (
        "snapshot_unused",
        "lost-at-switching-off",
    ): "{x} had forgotten the snapshot: switching replication off throws all snapshots away.",
    ("snapshot_unused", "not-yet-read"): (
        "{x} had not yet read its own snapshot: it lay in the log behind messages that were still to be read."
    ),
    ("snapshot_unused", "no-ack-after"): (
        "{x} looks for a snapshot to use when an acknowledgement comes in, and none came after this one "
        "was there."
    ),
    (
        "snapshot_incomplete",
        "one-way",
    ): "No snapshot can ever be finished: {to} does not replicate back, so its answer has no way home.",
    (
        "snapshot_incomplete",
        "cluster-down",
    ): "A region was down, and a snapshot needs the answer of every region.",
    (
        "snapshot_incomplete",
        "link",
    ): "A link was cut, slow or broken, and a snapshot needs the answer of every region.",
    ("snapshot_incomplete", "timeout"): "The snapshot waited too long for its answers and was given up.",
    (
        "snapshot_incomplete",
        "backlog",
    ): "The snapshot's messages queued behind other entries and were not through in time.",
    (
        "after_newest_snapshot",
        "newest-used",
    ): "{to} knew of progress only up to the newest snapshot, and this message comes after that.",
    (
        "after_newest_snapshot",
        "none-used",
    ): "Snapshots were complete, but none that {x} could use by then covers it.",
    (
        "after_newest_snapshot",
        "no-snapshot",
    ): "No snapshot was complete yet, so {to} knew of no progress at all.",
    (
        "subscription_began_after",
        "cursor-opened-later",
    ): "{subscription} began in {to} after this message, so it is never delivered there.",
    (
        "cursor_moved_past",
        "mark-delete-passed-it",
    ): "The position of {subscription} in {to} moved over it although nobody had finished it.",
    ("cursor_moved_past", "not-in-source"): (
        "The region that wrote this update did not hold the message then, but an update names a position "
        "in {to}, and everything before it counts as acknowledged."
    ),
    ("removed", "ledger-deleted"): "{to} deleted the part of the log that held it.",
    ("removed", "cluster-lost"): "{to} was lost for good, and its copy with it.",
    ("never_replicated", "cluster-lost"): "The region that should have sent it was lost for good.",
    ("never_replicated", "not-replicated-there"): "The region that holds it does not replicate to {to}.",
    ("never_replicated", "replication-removed"): "Replication to {to} was switched off before it was sent.",
    ("never_replicated", "replication-began-after"): "Replication to {to} began after it.",
    (
        "never_replicated",
        "passed-over",
    ): "Replication passed it over: it is not meant for {to}, or it had expired.",
    ("never_replicated", "deduplicated"): "{to} took it for a repeat and did not store it.",
    ("never_replicated", "removed-at-origin"): "It was deleted where it came from before it was sent.",
}
