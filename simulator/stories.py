"""What happened to one message in a failover or in a shared group, beat by beat, in words a newcomer
understands; lists of all of them.

`groups(failover)` and `page(failover, kind, cause, first, limit)` list a counted failover's messages,
`story_of(trace, failover, …)` tells one of them, `tell(case, rows, evidence)` is the pure function behind it,
for readers that have rows but no trace (the report). `CAUSES` and `KINDS` are the words for what stands over
a list. `shared_groups`, `shared_page`, `shared_place_of` and `shared_story` are the same of a counted group,
`GROUP_CAUSES` its words.
"""

from simulator.protocols.emqx.stories.group_words import GROUP_CAUSES
from simulator.protocols.emqx.stories.shared import shared_groups, shared_page, shared_place_of, shared_story
from simulator.protocols.pulsar.stories.cast import groups, page, story_of
from simulator.protocols.pulsar.stories.steps import Beat, Case, tell
from simulator.protocols.pulsar.stories.words import CAUSES, KINDS, LOSSES

__all__ = [
    "CAUSES",
    "GROUP_CAUSES",
    "KINDS",
    "LOSSES",
    "Beat",
    "Case",
    "groups",
    "page",
    "shared_groups",
    "shared_page",
    "shared_place_of",
    "shared_story",
    "story_of",
    "tell",
]
