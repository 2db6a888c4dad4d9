"""How checks read.

Whatever the cuts, the same violations; captures and forks are independent; bounds hold.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.checks.check import REPORTED_PER_CLAIM
from simulator.checks.checks import CLAIMS, Checks
from simulator.checks.stretch import FIRST_CAPACITY_ROWS, Table, position, position_words
from simulator.protocols.pulsar.checks.row_checks import ROW_CHECKS
from tests.simulator.written_trace import WrittenTrace, scenario

CLUSTER = st.sampled_from(["a", "b"])
SMALL = st.integers(0, 3)

ACTS = {
    # rows with extreme values: most traces break several claims
    "stored": lambda written, cluster, number, entry: written.stored(cluster, number, entry),
    "replicated in": lambda written, cluster, number, entry: written.stored(
        cluster, number, entry, peer="b" if cluster == "a" else "a"
    ),
    "marker": lambda written, cluster, number, entry: written.marker(cluster, entry),
    "receipted": lambda written, cluster, number, entry: written.write(
        "message.receipted", cluster=cluster, producer="web", sequence_id=number
    ),
    "sent": lambda written, cluster, number, entry: written.write(
        "message.replicated",
        cluster=cluster,
        peer="b" if cluster == "a" else "a",
        producer="web",
        sequence_id=number,
        ledger=1,
        entry=entry,
    ),
    "rewound": lambda written, cluster, number, entry: written.write(
        "replicator.rewound", cluster=cluster, peer="b" if cluster == "a" else "a", ledger=1, entry=entry
    ),
    "opened": lambda written, cluster, number, entry: written.write(
        "replicator.created", cluster=cluster, peer="b" if cluster == "a" else "a", ledger=1, entry=entry - 1
    ),
    "delivered": lambda written, cluster, number, entry: written.about(
        "message.delivered", cluster, number, entry
    ),
    "acknowledged": lambda written, cluster, number, entry: written.about(
        "message.acknowledged", cluster, number, entry
    ),
    "created": lambda written, cluster, number, entry: written.created(cluster, 1, entry - 1),
    "moved": lambda written, cluster, number, entry: written.moved(cluster, number, entry),
    "reset": lambda written, cluster, number, entry: written.moved(cluster, number, entry, reason="reset"),
    "persisted": lambda written, cluster, number, entry: written.write(
        "cursor.persisted", cluster=cluster, subscription="billing", ledger=1, entry=entry, count=0
    ),
    "recovered": lambda written, cluster, number, entry: written.write(
        "cursor.recovered", cluster=cluster, subscription="billing", ledger=1, entry=entry, count=0
    ),
    "updated": lambda written, cluster, number, entry: written.update(
        cluster, "b" if cluster == "a" else "a", entry
    ),
    "applied": lambda written, cluster, number, entry: written.write(
        "update.applied",
        cluster=cluster,
        peer="b" if cluster == "a" else "a",
        subscription="billing",
        to_ledger=1,
        to_entry=entry,
    ),
    "closed": lambda written, cluster, number, entry: written.write(
        "ledger.closed", cluster=cluster, ledger=1, count=entry
    ),
    "removed": lambda written, cluster, number, entry: written.write(
        "message.removed", cluster=cluster, producer="web", sequence_id=number, ledger=1, entry=entry
    ),
    "refused": lambda written, cluster, number, entry: written.write(
        "replicator.start-refused",
        cluster=cluster,
        peer="b" if cluster == "a" else "a",
        count=number,
        duration_us=100_000 << entry,
        reason="conflict",
    ),
    "drifted": lambda written, cluster, number, entry: written.write(
        "topic.partitions-changed", cluster=cluster, count=entry, reason="command"
    ),
    "started": lambda written, cluster, number, entry: written.write(
        "replicator.started", cluster=cluster, peer="b" if cluster == "a" else "a"
    ),
    "created anew": lambda written, cluster, number, entry: written.write(
        "topic.created", cluster=cluster, count=entry, reason=("client", "command")[number % 2]
    ),
    "deleted": lambda written, cluster, number, entry: written.write(
        "topic.deleted", cluster=cluster, reason="command"
    ),
    "told to delete": lambda written, cluster, number, entry: written.write(
        "command.applied",
        reason="topic.delete",
        detail=f'{{"cluster": "{cluster}", "topic": "orders", "force": {"true" if number else "false"}}}',
    ),
}
ROWS = st.lists(st.tuples(st.sampled_from(sorted(ACTS)), CLUSTER, SMALL, SMALL), max_size=40)


def written_rows(rows) -> WrittenTrace:
    written = WrittenTrace()
    written.replicators("a", "b")
    for act, *values in rows:
        ACTS[act](written, *values)
    return written


@given(ROWS, st.lists(st.integers(0, 60), max_size=8))
def test_violations_do_not_depend_on_how_the_trace_was_cut(rows, cuts):
    trace = written_rows(rows).trace
    at_once, in_pieces = Checks(scenario()), Checks(scenario())
    at_once.read(trace)
    found = [violation for cut in sorted(cuts) for violation in in_pieces.read(trace, cut)]
    found += in_pieces.read(trace)
    assert found == in_pieces.violations == at_once.violations
    assert in_pieces.position == len(trace)


@given(ROWS, ROWS, ROWS)
def test_a_fork_and_a_restored_state_are_independent_of_the_other_branch(rows, here, there):
    before = len(written_rows(rows).trace)
    whole, other = written_rows(rows + here).trace, written_rows(rows + there).trace
    checks = Checks(scenario())
    checks.read(whole, before)
    captured, fork = checks.capture(), checks.copy()
    checks.read(whole)
    fork.read(other)
    assert checks.violations == fresh(whole)
    assert fork.violations == fresh(other)
    for trace in (other, whole):
        checks.restore(captured)
        checks.read(trace)
        assert checks.violations == fresh(trace)


def fresh(trace):
    checks = Checks(scenario())
    checks.read(trace)
    return checks.violations


def test_reading_a_range_already_read_finds_nothing():
    written = WrittenTrace()
    written.write("message.receipted", cluster="a", producer="web", sequence_id=0)
    checks = Checks(scenario())
    assert len(checks.read(written.trace)) == 1
    assert checks.read(written.trace, 0) == checks.read(written.trace) == []


def test_one_claim_reports_a_bounded_number_of_violations():
    written = WrittenTrace()
    for number in range(REPORTED_PER_CLAIM + 30):
        written.write("message.receipted", cluster="a", producer="web", sequence_id=number)
    checks = Checks(scenario())
    checks.read(written.trace, 25)
    checks.read(written.trace)
    assert [violation.seq for violation in checks.violations] == list(range(REPORTED_PER_CLAIM))


def test_many_producers_are_distinguished():
    written = WrittenTrace()
    for number in range(40_000):
        written.trace.intern(f"nobody-{number}")  # so that name numbers are large
    for producer in range(50):
        written.stored("a", 7, producer, producer=f"producer-{producer}")
        written.stored("b", 7, producer, producer=f"producer-{producer}", peer="a")
    assert Checks(scenario()).read(written.trace) == []


@pytest.mark.parametrize("ledger, entry", [(192, -1), (192, 0), (7655, 49_999)])
def test_positions_print_as_pulsar_prints_them(ledger, entry):
    assert position_words(position(ledger, entry)) == f"{ledger}:{entry}"


@given(st.lists(st.tuples(st.booleans(), st.integers(1, FIRST_CAPACITY_ROWS)), max_size=12))
def test_a_copied_table_does_not_see_rows_of_its_siblings(appends):
    table, copy = Table({"value": np.int64}), None
    here, there = [], []
    for number, (to_copy, count) in enumerate(appends):
        if copy is None and to_copy:
            copy, there = table.copy(), list(here)
        target, expected = (copy, there) if to_copy else (table, here)
        values = np.full(count, number)
        target.append({"value": values})
        expected += values.tolist()
    assert table.column("value").tolist() == here
    assert copy is None or copy.column("value").tolist() == there


def test_the_documents_list_every_claim_in_order():
    text = (Path(__file__).parents[2] / "docs" / "checks.md").read_text(encoding="utf-8")
    sections = [section.splitlines() for section in text.split("\n## ")[1:]]
    claimed = [lines[2].strip("> ") for lines in sections if len(lines) > 2 and lines[2].startswith("> ")]
    assert claimed == list(CLAIMS)


def test_the_claim_of_every_row_check_is_one_sentence():
    for check in ROW_CHECKS:
        assert check.claim.endswith(".")
        assert check.claim.count(". ") == 0
    assert len(set(CLAIMS)) == len(CLAIMS)
