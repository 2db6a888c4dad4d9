"""The events of all protocols: the vocabulary of engine, page, checks and reports.

Each protocol declares its own in `simulator/protocols/<name>/events`. `docs/trace.md` and the tables of the
page are tested against this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from re import Pattern

from simulator.protocols.declared import DECLARED
from simulator.trace import registry
from simulator.trace.registry import EventType, Vocabulary
from simulator.trace.shared_events import SHARED_EVENTS


def vocabulary() -> Vocabulary:
    """The vocabulary of a new trace: the events of the protocols that are in the table now.

    Raises ValueError when two of them use one code or one name.
    """
    return _joined(tuple(declared.events for declared in DECLARED.values()))


@lru_cache(maxsize=8)
def _joined(lists: tuple[tuple[EventType, ...], ...]) -> Vocabulary:
    return Vocabulary((*SHARED_EVENTS, *(event for events in lists for event in events)))


VOCABULARY = vocabulary()
EVENT_TYPES: tuple[EventType, ...] = VOCABULARY.types
BY_NAME, CODE = VOCABULARY.by_name, VOCABULARY.code


def pattern_of(types: Iterable[str]) -> Pattern[bytes]:
    """The pattern for `Trace.has_any` that matches any row of these types."""
    return registry.pattern_of(CODE[name] for name in types)
