"""A vocabulary is checked when it is created.

Codes and names once each, known columns, codes of one byte.
"""

from __future__ import annotations

import pytest

from simulator.protocols.declared import DECLARED
from simulator.protocols.registry import VOCABULARY
from simulator.trace.registry import LARGEST_CODE, NULL, EventType, Vocabulary
from simulator.trace.shared_events import SHARED_EVENTS
from simulator.trace.trace import Trace


def event(code: int, name: str, *fields: str, plane: str = "data") -> EventType:
    return EventType(code, name, fields, plane, "an event of this test")


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (event(3, "b.done"), "declared twice"),
        (event(4, "a.done"), "declared twice"),
        (event(4, "b.done", "colour"), "colour is not in COLUMNS"),
        (event(4, "b.done", plane="paper"), "control or data, not paper"),
        (event(LARGEST_CODE + 1, "b.done"), "not between 0 and 255"),
    ],
)
def test_a_vocabulary_that_no_trace_could_hold_is_refused(second: EventType, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Vocabulary((event(3, "a.done"), second))


def test_codes_may_leave_gaps() -> None:
    vocabulary = Vocabulary((event(200, "b.done", "count"), event(3, "a.done", plane="control")))
    trace = Trace(vocabulary)
    trace.append((200, 5, NULL, 7))
    trace.append((3, 6, 0))
    assert trace.rows(types=["b.done"]) == [{"seq": 0, "at_us": 5, "type": "b.done", "count": 7}]
    assert trace.seqs(control_only=True) == [1]
    assert trace.prefix(1).rows() == trace.rows(0, 1)


def test_the_joined_registry_holds_each_event_once_and_without_gaps() -> None:
    lists = [SHARED_EVENTS, *(declared.events for declared in DECLARED.values())]
    declared = sorted((one for events in lists for one in events), key=lambda one: one.code)
    assert list(VOCABULARY.types) == declared
    assert [one.code for one in declared] == list(range(len(declared)))
