"""The stories of shared groups, as the page requests them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulator.counting.results import CountedRun
from simulator.protocols.emqx.stories.group_words import GROUP_CAUSES
from simulator.protocols.emqx.stories.shared import (
    KIND,
    shared_groups,
    shared_page,
    shared_place_of,
    shared_story,
)
from simulator.story.queries import Stories, Story, StoryCase
from simulator.trace.trace import Trace

FIGURES = ("duplicates", "redeliveries", "lost")


def _cases(counted: CountedRun) -> list[StoryCase]:
    return [StoryCase(name, group) for name, group in sorted(counted.groups.items())]


def _shown(case: StoryCase) -> dict[str, Any]:
    return {
        "group": case.name,
        "at_us": 0,
        **{name: getattr(case.counted, name) for name in FIGURES},
        "groups": shared_groups(case.counted),
    }


def _lists(case: StoryCase) -> dict[str, Sequence[Any]]:
    return {KIND: case.counted.duplicates_list}


def _page(case: StoryCase, kind: str, cause: str, first: int, limit: int) -> dict[str, Any]:
    return shared_page(case.counted, cause, first, limit)


def _place_of(case: StoryCase, kind: str, producer: str, sequence_id: int) -> int | None:
    return shared_place_of(case.counted, producer, sequence_id)


def _story(trace: Trace, case: StoryCase, kind: str, place: int, upto_seq: int) -> Story:
    duplicate = case.counted.duplicates_list[place]
    steps = shared_story(trace, case.name or "", duplicate)
    return Story(duplicate.producer, duplicate.sequence_id, duplicate.cause, steps)


STORIES = Stories(
    part="shared",
    noun="group",
    cases=_cases,
    shown=_shown,
    lists=_lists,
    unknown_kind="There is no kind {kind!r} of a group's messages.",
    known_kinds="There are stories of duplicates.",
    page=_page,
    place_of=_place_of,
    story=_story,
    causes=GROUP_CAUSES,
)
