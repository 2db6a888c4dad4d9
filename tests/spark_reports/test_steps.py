"""Which frames of a counting are made local, which are kept, and which queries get quick settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_reports import steps, tuning


class Frame:
    """A frame that has a number of rows only."""

    def __init__(self, rows: int) -> None:
        self.rows, self.persisted, self.counted = rows, 0, 0

    def persist(self, _level: object) -> Frame:
        self.persisted += 1
        return self

    def unpersist(self) -> None:
        self.persisted -= 1

    def count(self) -> int:
        self.counted += 1
        return self.rows


@pytest.fixture
def settings() -> dict[str, str]:
    return {}


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> Any:
    """Steps in a session that has settings only. A local frame is the pair ("local", the frame)."""
    monkeypatch.setattr(steps, "made_local", lambda _spark, frame: ("local", frame))
    conf = SimpleNamespace(
        get=settings.get, set=settings.__setitem__, unset=lambda name: settings.pop(name, None)
    )
    return steps.Steps(SimpleNamespace(conf=conf))


def test_a_settled_frame_is_local_up_to_the_most_rows_and_kept_above(counting: Any) -> None:
    small, large = Frame(tuning.SMALL_ROWS_MOST), Frame(tuning.SMALL_ROWS_MOST + 1)
    assert counting.settle(small) == ("local", small) and small.persisted == 0
    assert counting.settle(large) is large and large.persisted == 1
    counting.release()
    assert small.persisted == 0 and large.persisted == 0


def test_a_frame_of_a_known_number_of_rows_is_not_counted(counting: Any) -> None:
    known = Frame(tuning.SMALL_ROWS_MOST + 1)
    for rows in (7, tuning.SMALL_ROWS_MOST):
        few = Frame(rows)
        assert counting.settle(few, rows) == ("local", few) and few.counted == 0
    assert counting.settle(known, known.rows) is known


def test_each_frame_is_local_while_each_query_is_one_task(counting: Any, settings: dict[str, str]) -> None:
    settings[tuning.ONE_TASK] = "true"
    large = Frame(tuning.SMALL_ROWS_MOST + 1)
    assert counting.settle(large) == ("local", large) and large.persisted == 0


def test_queries_on_small_frames_get_the_settings_of_a_short_trace(
    counting: Any, settings: dict[str, str]
) -> None:
    local, kept = counting.settle(Frame(1)), counting.settle(Frame(tuning.SMALL_ROWS_MOST + 1))
    with counting.quick(local):
        assert settings == tuning.SHORT
        with counting.quick(local):
            assert settings == tuning.SHORT
        assert settings == tuning.SHORT
    assert not settings
    with counting.quick(local, kept):
        assert not settings


def test_queries_on_a_kept_frame_of_up_to_the_given_rows_get_these_settings_too(
    counting: Any, settings: dict[str, str]
) -> None:
    within = counting.settle(Frame(tuning.QUICK_ROWS_MOST), quick_most=tuning.QUICK_ROWS_MOST)
    beyond = counting.settle(Frame(tuning.QUICK_ROWS_MOST + 1), quick_most=tuning.QUICK_ROWS_MOST)
    assert within.persisted == beyond.persisted == 1
    with counting.quick(within):
        assert settings == tuning.SHORT
    with counting.quick(within, beyond):
        assert not settings
    counting.release()
    assert within.persisted == beyond.persisted == 0


def test_rows_near_a_frame_are_those_within_its_spans_and_all_of_a_short_trace(
    counting: Any, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps.transforms, "spans_of", lambda frame, name: [(5, 9), (40, 40)])
    monkeypatch.setattr(steps.transforms, "within", lambda name, found: (name, found))
    rows = SimpleNamespace(filter=lambda condition: ("filtered", condition))
    assert counting.near(rows, Frame(1), "seq") == ("filtered", ("seq", [(5, 9), (40, 40)]))
    settings[tuning.ONE_TASK] = "true"
    assert counting.near(rows, Frame(1), "seq") is rows
