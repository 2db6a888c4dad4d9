"""Definitions at the end of an audit's page."""

DEFINITIONS: tuple[tuple[str, str], ...] = (
    (
        "Message",
        "One publish, identified by the id that its producer assigned, or by partition and position where "
        "the log has no "
        "such id.",
    ),
    (
        "In several clusters",
        "A message that one subscription received in more than one cluster: what a failover repeats.",
    ),
    (
        "In one cluster",
        "A message that one subscription received more than once, always in the same cluster: a negative "
        "acknowledgement, a timeout, or a consumer that disconnected.",
    ),
    (
        "Duplicate",
        "A message that was delivered again after it had been acknowledged, in any cluster. Unknown where "
        "the log has no acknowledgements.",
    ),
    ("Extra deliveries", "Deliveries of a message beyond the first."),
    ("Gap", "Time from the first to the second delivery of a message."),
    (
        "Lost",
        "Published, never received nor acknowledged, between the first and the last published message that "
        "the "
        "subscription received. Claimed only for a log that is declared complete.",
    ),
)
