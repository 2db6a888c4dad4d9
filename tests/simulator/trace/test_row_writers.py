"""Writers of rows: columns by keyword, declared once, checked by mypy; the row that they write."""

from __future__ import annotations

import inspect
import re

import pytest
from mypy import api

from simulator.protocols.pulsar.events import PulsarRows
from simulator.system.system import System
from simulator.trace.registry import NULL, Name, Rows, control, data
from simulator.trace.shared_events import SHARED_EVENTS
from simulator.trace.trace import FOLD_ROWS, Trace
from simulator.world import World

RIGHT = "rows.cursor_moved(0, cluster='a', topic=1, subscription=None, at=(1, 2), to=(1, 3), reason='update')"

WRONG = {
    "rows.ledger_opened(0, cluster='a', topic='orders')": "Missing named argument",
    "rows.ledger_opened(0, cluster='a', topic='orders', ledger=1, count=2)": "Unexpected keyword argument",
    "rows.ledger_opened(0, cluster='a', topic=1, ledger='orders')": '"ledger".*expected "int"',
    "rows.ledger_opened(0, 'a', 'orders', 1)": "Too many positional arguments",
    "rows.cursor_recovered(0, cluster='a', topic='t', subscription='s', at=7, count=(1, 2))": '"at".*expected',
    "rows.ledger_opened(0, **names)": "Missing named argument",
    "rows.topic_lodaed(0, cluster='a', topic='t')": "no attribute",
}


def test_mypy_refuses_a_row_with_a_wrong_column(tmp_path) -> None:
    lines = [RIGHT, *WRONG]
    path = tmp_path / "rows.py"
    head = "from simulator.protocols.pulsar.events import PulsarRows, TopicNames\n\n\n"
    body = "\n".join(f"    {line}" for line in lines)
    path.write_text(f"{head}def write(rows: PulsarRows, names: TopicNames) -> None:\n{body}\n")
    events = ["simulator/trace/registry.py", "simulator/trace/shared_events.py"]
    arguments = ["--follow-imports=skip", f"--cache-dir={tmp_path / 'cache'}", "--no-error-summary"]
    output, failure, _code = api.run([*arguments, *events, "simulator/protocols/pulsar/events.py", str(path)])
    assert not failure, failure
    found = re.findall(r"rows\.py:(\d+): error: (.*)", output)
    errors = {lines[int(number) - 5]: text for number, text in reversed(found)}
    assert set(errors) == set(WRONG), output
    for line, words in WRONG.items():
        assert re.search(words, errors[line]), (line, errors[line])


def test_a_writer_takes_columns_by_keyword_only() -> None:
    for event in (*SHARED_EVENTS, *PulsarRows.events):
        writer = getattr(PulsarRows, event.name.replace(".", "_").replace("-", "_"))
        columns = list(inspect.signature(writer).parameters.values())[2:]
        assert all(column.kind is column.KEYWORD_ONLY for column in columns), event.name
        assert all(column.default is column.empty for column in columns), event.name


class OwnRows(Rows):
    """Writers of this test."""

    __slots__ = ()

    @control(0, "the log was opened")
    def log_opened(self, cause: int, *, cluster: Name, peer: Name, topic: Name, count: int | None) -> int: ...

    @data(1, "nothing but its cause")
    def log_closed_late(self, cause: int) -> int: ...


def test_the_declaration_is_the_writers_signature() -> None:
    opened, closed = OwnRows.events
    assert (opened.code, opened.name, opened.plane) == (0, "log.opened", "control")
    assert opened.fields == ("cluster", "peer", "topic", "count")
    assert (closed.name, closed.plane, closed.fields) == ("log.closed-late", "data", ())


def test_an_annotation_that_no_row_can_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="log_measured: count is float; a column is Name,"):

        class WrongRows(Rows):
            @data(2, "a float")
            def log_measured(self, cause: int, *, count: float) -> int: ...


def test_a_row_has_numbers_for_names_and_null_for_none() -> None:
    world = World.open("two-regions")
    rows, trace = world.runtime.rows, world.runtime.trace
    number = trace.intern("a")
    seq = rows.cursor_moved(
        NULL, cluster="a", topic=number, subscription=None, at=(1, 2), to=(1, 3), reason="update"
    )
    assert seq == len(trace) - 1
    assert trace.row_tuple(seq)[2:] == (NULL, number, number, NULL, 1, 2, 1, 3, trace.number("update"))
    assert trace.row(seq)["type"] == "cursor.moved"


def test_rows_of_a_writer_are_those_of_append_across_folds_and_blocks(monkeypatch) -> None:
    monkeypatch.setattr("simulator.trace.trace.BLOCK_ROWS", FOLD_ROWS + 7)
    world = World.open("two-regions")
    system: System = world.runtime
    plain = Trace(system.trace.vocabulary)
    for seq in range(len(system.trace)):
        plain.append(system.trace.row_tuple(seq))
    for count in range(3 * FOLD_ROWS):
        seq = system.rows.link_slowed(count, cluster=count % 3, peer=2, duration_us=count)
        assert seq == plain.append((8, system.now_us, count, count % 3, 2, count))
    plain.names = system.trace.names
    assert plain.digest() == system.trace.digest()
