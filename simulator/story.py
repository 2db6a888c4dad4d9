"""The parts that the stories of all protocols share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from simulator.counting import CountedRun, LazyList
from simulator.trace.registry import NULL
from simulator.trace.trace import Trace

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One step; `kind` is its kind, `row` the trace row that it describes and a diagram highlights."""

    kind: str
    at_us: int
    seq: int
    words: str
    row: Row


_CHUNK_ROWS = 4 * 65_536


def rows_where(trace: Trace, end_seq: int, first_seq: int = 0, **equal: int | None) -> list[int]:
    """Seqs of the rows whose columns have these values."""
    found: list[int] = []
    for first in range(first_seq, end_seq, _CHUNK_ROWS):
        columns = trace.columns(first, min(first + _CHUNK_ROWS, end_seq), names=tuple(equal))
        chosen = np.ones(len(next(iter(columns.values()))), dtype=bool)
        for name, value in equal.items():
            chosen &= columns[name] == (NULL if value is None else value)
        found += (first + np.flatnonzero(chosen)).tolist()
    return found


# --- the interface of a protocol's stories: cases, lists of messages by cause, one message's story


BURSTS = 400
"""Parts of a run in which duplicates are counted for the time axes: a few pixels of a slider each."""


class StoryCase(NamedTuple):
    """One case whose messages have stories, such as a failover: its counted result, and its name if any."""

    name: str | None
    counted: Any


class Story(NamedTuple):
    """A message with its story."""

    producer: str
    sequence_id: int
    cause: str
    steps: list[StoryStep]
    harm: bool = True
    """False: the message was rightly delivered again, had been processed, or is only late."""


@dataclass(frozen=True, slots=True)
class Stories:
    """The stories of a protocol.

    `part` is the key of the answer that lists the cases, `noun` the word for one case.

    - `cases(counted_run)`: in order, numbered from 0.
    - `shown(case)`: its entry in a list; `forecast_seq(case)`: the row at which a forecast was made for it,
      None
      where there is none.
    - `lists(case)`: by kind the messages that have a story. `unknown_kind` and `known_kinds` are the texts
      that
      refuse another kind; the first has a placeholder for it.
    - `page(case, kind, cause, first, limit)`: messages of a kind and cause.
    - `place_of(case, kind, producer, sequence_id)`: a message's index in the list of its kind, or None.
    - `causes`: by cause its heading and a sentence, in the order of decision; {} without such texts.
    - `story(trace, case, kind, place, upto_seq)`: that message's story.
    """

    part: str
    noun: str
    cases: Callable[[CountedRun], list[StoryCase]]
    shown: Callable[[StoryCase], dict[str, Any]]
    lists: Callable[[StoryCase], dict[str, Sequence[Any]]]
    unknown_kind: str
    known_kinds: str
    page: Callable[[StoryCase, str, str, int, int], dict[str, Any]]
    place_of: Callable[[StoryCase, str, str, int], int | None]
    story: Callable[[Trace, StoryCase, str, int, int], Story]
    forecast_seq: Callable[[StoryCase], int | None] = lambda case: None
    causes: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def _no_cases(counted: CountedRun) -> list[StoryCase]:
    return []


def _no_case(*asked: Any) -> Any:
    raise LookupError("this protocol has no stories")


NO_STORIES = Stories(
    "failovers", "failover", _no_cases, _no_case, _no_case, "", "", _no_case, _no_case, _no_case
)
"""The stories of a protocol that has none."""


def bursts_of(duplicates: Sequence[Any], end_us: int) -> list[dict[str, Any]]:
    """When the duplicates of a case were delivered, by cause, in at most `BURSTS` parts of the run.

    Returns [{"from_us", "until_us", "cause", "count"}] with the first and the last delivery of each.
    """
    width_us = max(1, -(-(end_us + 1) // BURSTS))
    if isinstance(duplicates, LazyList):
        instants, causes = duplicates.column("at_us"), duplicates.column("cause")
    else:
        instants, causes = [one.at_us for one in duplicates], [one.cause for one in duplicates]
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for at_us, cause in sorted(zip(map(int, instants), causes, strict=True)):
        burst = found.setdefault(
            (at_us // width_us, cause), {"from_us": at_us, "until_us": at_us, "cause": cause, "count": 0}
        )
        burst["until_us"] = at_us
        burst["count"] += 1
    return list(found.values())
