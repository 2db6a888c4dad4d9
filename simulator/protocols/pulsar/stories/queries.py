"""The stories of failovers for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.counting.results import CountedRun
from simulator.protocols.pulsar.stories.case_messages import LISTS, groups, is_harm, page, story_of
from simulator.protocols.pulsar.stories.words import CAUSES, LOSSES
from simulator.story.queries import Stories, Story, StoryCase
from simulator.trace.trace import Trace

FIGURES = (
    "duplicates",
    "redeliveries",
    "stranded",
    "lost",
    "stranded_returned",
    "stranded_missing",
    "outage_us",
    "caught_up_us",
    "drained_us",
    "pending_repeats",
)


def _cases(counted: CountedRun) -> list[StoryCase]:
    return [StoryCase(None, failover) for failover in counted.failovers]


def _shown(case: StoryCase) -> dict[str, Any]:
    one = case.counted
    return {
        "subscription": one.subscription,
        "from": one.source,
        "to": one.target,
        "mode": one.mode,
        "at_us": one.at_us,
        "seq": one.opened_seq,
        **{name: getattr(one, name) for name in FIGURES},
        "groups": groups(one),
    }


def _lists(case: StoryCase) -> dict[str, Sequence[Any]]:
    return {kind: getattr(case.counted, name) for kind, name in LISTS.items()}


def _page(case: StoryCase, kind: str, cause: str, first: int, limit: int) -> dict[str, Any]:
    return page(case.counted, kind, cause, first, limit)


def _place_of(case: StoryCase, kind: str, producer: str, sequence_id: int) -> int | None:
    return getattr(case.counted, LISTS[kind]).place_of(producer=producer, sequence_id=sequence_id)


def _story(trace: Trace, case: StoryCase, kind: str, place: int, upto_seq: int) -> Story:
    case_, steps = story_of(trace, case.counted, kind, place, upto_seq)
    harm = is_harm(trace, case.counted, kind, place, upto_seq)
    return Story(case_.producer, case_.sequence_id, case_.cause, steps, harm)


STORIES = Stories(
    part="failovers",
    noun="failover",
    cases=_cases,
    shown=_shown,
    lists=_lists,
    unknown_kind="There is no kind {kind!r} of messages.",
    known_kinds=f"Kinds are {', '.join(LISTS)}.",
    page=_page,
    place_of=_place_of,
    story=_story,
    forecast_seq=lambda case: case.counted.opened_seq,
    causes={**CAUSES, **LOSSES},
)
