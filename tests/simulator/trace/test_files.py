"""Tests of trace files.

What is written is read back to the byte, from both formats, and a changed file is detected.
"""

import json

import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.protocols.registry import EVENT_TYPES, VOCABULARY
from simulator.trace.files import SCHEMA, TraceFileError, read_meta, read_trace, write_trace
from simulator.trace.registry import COLUMNS, NAME_COLUMNS, NULL
from simulator.trace.trace import Trace

META = {"engine_version": "0", "scenario": "name: tiny\n", "seed": 3, "commands": [], "until_us": 10}


def small_trace(rows):
    """A trace of (type code, field values); names are drawn from a short list."""
    trace = Trace(VOCABULARY)
    for at_us, (code, values) in enumerate(rows):
        fields = []
        for name, value in zip(EVENT_TYPES[code].fields, values, strict=False):
            fields.append(
                NULL if value is None else trace.intern(f"n{value % 5}") if name in NAME_COLUMNS else value
            )
        fields += [NULL] * (len(EVENT_TYPES[code].fields) - len(fields))
        trace.append((code, at_us, at_us - 1 if at_us else NULL, *fields))
    return trace


rows = st.lists(
    st.tuples(st.integers(0, len(EVENT_TYPES) - 1), st.lists(st.none() | st.integers(-1, 2**40), max_size=9)),
    max_size=40,
)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
@given(rows=rows)
@settings(max_examples=25, deadline=None)
def test_a_trace_is_read_back_with_its_digest(tmp_path_factory, suffix, rows):
    trace = small_trace(rows)
    path = tmp_path_factory.mktemp("trace") / f"run{suffix}"
    write_trace(path, trace, META)
    back = read_trace(path, VOCABULARY)
    assert back.trace.digest() == trace.digest()
    assert back.trace.rows() == trace.rows()
    assert back.meta["seed"] == 3 and back.meta["trace_sha256"] == trace.digest()


def test_parquet_columns_are_those_of_the_registry_in_its_order(tmp_path):
    write_trace(tmp_path / "run.parquet", small_trace([(0, [1])]), META)
    schema = parquet.read_schema(tmp_path / "run.parquet")
    assert schema.names == ["seq", *COLUMNS]
    assert schema.remove_metadata() == SCHEMA
    assert [path.name for path in tmp_path.iterdir()] == ["run.parquet"]


def test_jsonl_begins_with_the_run_and_leaves_nulls_out(tmp_path):
    write_trace(tmp_path / "run.jsonl", small_trace([(0, [None]), (3, [2])]), META)
    head, first, second = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert head["failover-lab"]["scenario"] == META["scenario"]
    assert first == {"seq": 0, "at_us": 0, "type": "run.started"}
    assert second["cluster"] == "n2"
    assert read_meta(tmp_path / "run.jsonl")["rows"] == 2


def test_an_unreadable_file_is_refused_with_a_reason(tmp_path):
    with pytest.raises(TraceFileError, match="ends in .parquet or .jsonl"):
        write_trace(tmp_path / "run.csv", Trace(VOCABULARY), META)
    (tmp_path / "other.parquet").write_bytes(b"no")
    with pytest.raises(TraceFileError, match="not a Parquet file"):
        read_trace(tmp_path / "other.parquet", VOCABULARY)
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(TraceFileError, match="not a Failover Lab trace"):
        read_trace(tmp_path / "other.jsonl", VOCABULARY)


def test_a_changed_row_is_detected(tmp_path):
    path = tmp_path / "run.jsonl"
    write_trace(path, small_trace([(3, [2]), (4, [2])]), META)
    path.write_text(path.read_text().replace('"at_us":1', '"at_us":9'))
    with pytest.raises(TraceFileError, match="changed after it was written"):
        read_trace(path, VOCABULARY)
