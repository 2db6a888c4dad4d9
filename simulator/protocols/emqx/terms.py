"""Terms of EMQX's durable shared subscriptions."""

from __future__ import annotations

from simulator.protocols.terms import LAB, Term, TermSection

TERMS: tuple[TermSection, ...] = (
    TermSection(
        "EMQX: durable shared subscriptions",
        (
            Term("Group", "A shared subscription, `$share/GROUP/FILTER`.", "MQTT 5 section 4.8.2"),
            Term(
                "Stream",
                (
                    "An ordered part of the stored messages, of one shard and generation, assigned to "
                    "clients as a whole."
                ),
                "`emqx_ds`",
                ("streams", "stream in its scheduler"),
            ),
            Term(
                "Session",
                "A client's subscriptions and progress, kept while it is offline.",
                "`emqx_persistent_session_ds`",
                ("client", "clients online", "sessions"),
            ),
            Term(
                "Leader",
                "The process that assigns a group's streams to borrowers and stores their progress.",
                "`emqx_ds_shared_sub_leader`",
                ("leader crash", "a crash now", "no leader"),
            ),
            Term(
                "Borrower",
                "A session's part in a group. A session that loses its leader gets a new borrower.",
                "`emqx_ds_shared_sub_borrower`",
            ),
            Term(
                "Rebalance",
                (
                    "The leader's regular assignment of streams: it revokes from those with too many and "
                    "grants the rest."
                ),
                "`emqx_ds_shared_sub_leader`, `leader_renew_streams_interval`",
                ("target", "stable", "next rebalance", "rebalances with changes"),
            ),
            Term(
                "Lease",
                "The right to read a stream: granted, then revoking, then gone.",
                "`emqx_ds_shared_sub_borrower`",
                ("leased to", "owner", "reader"),
            ),
            Term(
                "State",
                "The state in the leader's table (stream: granting, granted, revoking) or of a borrower.",
                "`emqx_ds_shared_sub_leader`, `emqx_ds_shared_sub_borrower`",
            ),
            Term(
                "Without a reader",
                (
                    "No session holds the stream's lease. It may be unassigned in the leader's table, or "
                    "granted and not read yet. Times are summed over streams; `unowned_us` in JSON."
                ),
                LAB,
                ("streams without a reader", "without a reader, sum of streams"),
            ),
            Term(
                "Unassigned", "Granted to no borrower in the leader's table.", "`emqx_ds_shared_sub_leader`"
            ),
            Term(
                "Two readers",
                (
                    "Two sessions hold the lease of one stream, so new messages are delivered to both: "
                    "possible from when the leader drops a borrower until the borrower stops reading."
                ),
                "`emqx_ds_shared_sub_borrower`",
                (
                    "with two readers",
                    "reads until, dropped at; between: two readers possible",
                    "keeps reading for",
                    "dropped in",
                    "leader drops it in",
                    "two readers at once",
                    "streams with two readers",
                ),
            ),
            Term(
                "Handover",
                "From the end of one session's lease to the start of the next; 0 when they overlap.",
                LAB,
                ("handover time", "handovers", "longest handover"),
            ),
            Term(
                "Progress",
                "How far a borrower reports a stream as acknowledged.",
                "`emqx_ds_shared_sub_borrower`",
                ("reported",),
            ),
            Term(
                "Commit, claim",
                (
                    "The leader's write to its store every 10 s, which also renews its claim to lead. A "
                    "claim is valid for 30 s."
                ),
                "`emqx_ds_shared_sub_leader`",
                ("committed", "last commit", "next commit"),
            ),
            Term(
                "Cursor of a stream",
                "An offset in the stream: committed, reported, acknowledged or delivered.",
                LAB,
                ("messages up to the next",),
            ),
            Term(
                "Chunk",
                (
                    "The messages of a stream that a session fetched together. Progress is reported when "
                    "all of it is acknowledged."
                ),
                "`emqx_persistent_session_ds_stream_scheduler`",
            ),
            Term(
                "Starved stream",
                "Granted by the leader to a borrower that no longer reads it.",
                LAB,
            ),
            Term(
                "Unread at the end",
                "Stored messages that no client had read by the end of the run.",
                LAB,
            ),
            Term(
                "Protocol message",
                "A message between a borrower and a leader. It has no sequence number and no epoch.",
                "`emqx_ds_shared_sub_proto`",
            ),
            Term(
                "Timer",
                "When a process acts next: find a leader, ping, give up.",
                "`emqx_ds_shared_sub_borrower`",
                ("in", "next check of deadlines and resends"),
            ),
        ),
    ),
)
