"""What happened to one message in a failover, beat by beat, in words a newcomer understands; lists of all of them.

`groups(failover)` and `page(failover, kind, cause, first, limit)` list a counted failover's messages, `story_of(trace,
failover, …)` tells one of them, `tell(case, rows, evidence)` is the pure function behind it, for readers that have rows but
no trace (the report). `CAUSES` and `KINDS` are the words for what stands over a list.
"""

from simulator.story.beats import Beat, Case, tell
from simulator.story.cast import groups, page, story_of
from simulator.story.words import CAUSES, KINDS, LOSSES

__all__ = ["CAUSES", "KINDS", "LOSSES", "Beat", "Case", "groups", "page", "story_of", "tell"]
