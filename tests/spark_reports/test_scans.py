"""What tasks compute of a share of one run's messages, beside plain loops over the same rows."""

from __future__ import annotations

import pickle
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import World, load_scenario
from simulator.protocols.emqx.verdicts.groups import summed
from simulator.protocols.pulsar.verdicts.shares import figures_of, whole_of
from spark_reports.protocols.emqx import counting as emqx_counting
from spark_reports.protocols.pulsar.scans import consumers, coverage, judging, logs, tallies
from spark_reports.read import TraceInput, find_traces, unreadable
from spark_reports.scans import columns, control, tasks
from spark_reports.scans.files import TEXT, FileScan, Scan, Wanted
from spark_reports.transforms import NEVER
from spark_reports.tuning import ONE_TASK
from tests.emqx.group_runs import run as run_groups
from tests.spark_reports.conftest import run_scenario, write_run
from tests.spark_reports.group_worlds import MANY_SHAPES

CLUSTERS, SUBSCRIPTIONS = ("a", "b", "c"), ("s", "t")
PUBLISHED, DELIVERED, ACKNOWLEDGED = "message.published", "message.delivered", "message.acknowledged"
DRIVER: Any = SimpleNamespace(conf=SimpleNamespace(get={ONE_TASK: "true"}.get))
"""A session in which each query is one task, so that the driver scans."""


class FailoverWindow(NamedTuple):
    """One failover of a run: after the row `failover_seq` and before the row `end_seq`."""

    failover_seq: int
    subscription: str
    target: str
    end_seq: int


def plain_verdicts(rows: list[dict[str, Any]], windows: list[FailoverWindow]) -> dict[int, tuple[Any, ...]]:
    """Verdict, failover, latest ack and publish of each delivery, by seq, row by row."""
    published: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["type"] == PUBLISHED:
            published.setdefault((row["producer"], row["sequence_id"]), row)
    delivered, acks, moved = defaultdict(set), {}, defaultdict(set)
    found: dict[int, tuple[Any, ...]] = {}
    for row in rows:
        message = (row["producer"], row["sequence_id"])
        of = (*message, row["subscription"])
        origin = published.get(message, {})
        ack = acks.get(of, {})
        about = (ack.get("seq"), ack.get("cluster"), origin.get("cluster"), origin.get("key"))
        if row["type"] == ACKNOWLEDGED:
            acks[of] = row
        elif row["type"] == DELIVERED:
            failover = next(
                (
                    window.failover_seq
                    for window in windows
                    if (window.subscription, window.target) == (row["subscription"], row["cluster"])
                    and window.failover_seq < row["seq"] < window.end_seq
                ),
                None,
            )
            if failover is None:
                verdict = "repeated" if row["cluster"] in delivered[of] else "plain"
            elif failover in moved[of]:
                verdict = "extra"
            else:
                verdict = "duplicate" if ack else "redelivery" if delivered[of] else "first"
            delivered[of].add(row["cluster"])
            moved[of].add(failover)
            found[row["seq"]] = (verdict, failover, *about)
    return found


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[FailoverWindow]]:
    """Rows of a few messages in any order, and windows that do not overlap within a subscription."""
    rows = []
    for number in range(draw(st.integers(0, 40))):
        kind = draw(st.sampled_from((PUBLISHED, DELIVERED, ACKNOWLEDGED)))
        rows.append(
            {
                "type": kind,
                "seq": 100 * number + 50,
                "producer": draw(st.sampled_from("pq")),
                "sequence_id": draw(st.sampled_from([0, 1, 7])),
                "subscription": None if kind == PUBLISHED else draw(st.sampled_from(SUBSCRIPTIONS)),
                "cluster": draw(st.sampled_from(CLUSTERS)),
                "key": draw(st.none() | st.integers(0, 3)),
                "at_us": number,
            }
        )
    windows = []
    for name in SUBSCRIPTIONS:
        cuts = sorted(draw(st.sets(st.integers(0, 40), max_size=4)))
        for begin, end in zip(cuts, [*cuts[1:], 41][: len(cuts)], strict=True):
            windows.append(
                FailoverWindow(100 * begin + len(windows), name, draw(st.sampled_from(CLUSTERS)), 100 * end)
            )
    moves = [
        {
            "type": "failover.started",
            "seq": window.failover_seq,
            "subscription": window.subscription,
            "cluster": "a",
            "peer": window.target,
            "at_us": 0,
        }
        for window in windows
    ]
    return rows + moves, windows


def table_of(rows: list[dict[str, Any]], wanted: Wanted) -> pa.Table:
    plain = pa.schema(
        [(field.name, pa.string() if field.type == TEXT else field.type) for field in wanted.schema]
    )
    return pa.Table.from_pylist(rows, plain).cast(wanted.schema).unify_dictionaries().combine_chunks()


@given(histories())
def test_verdicts_are_those_of_a_loop_over_the_rows(
    history: tuple[list[dict[str, Any]], list[FailoverWindow]],
) -> None:
    rows, windows = history
    expected = plain_verdicts([row for row in rows if "producer" in row], windows)
    names = ("verdict", "failover_seq", "ack_seq", "ack_cluster", "origin", "key")
    batches = table_of(rows, judging.WANTED).to_batches()
    inputs = judging.Inputs({0: 5000}, {0: None})
    for of in (1, 3):
        found = [
            row
            for share in range(of)
            for row in judging.deliveries(
                0, (share, of), [of_share(batch, share, of) for batch in batches], inputs
            ).to_pylist()
        ]
        assert {row["seq"]: tuple(row[name] for name in names) for row in found} == expected


def of_share(batch: pa.RecordBatch, share: int, of: int) -> pa.RecordBatch:
    """The rows of a share's messages, and those of failovers."""
    numbers = batch.column("sequence_id").to_pylist()
    return batch.take(
        pa.array(
            [at for at, number in enumerate(numbers) if number is None or number % of == share], pa.int64()
        )
    )


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2), st.integers(0, 1 << 61), st.booleans())),
)
def test_rows_are_ordered_by_several_keys(rows: list[tuple[int, int, int, bool]]) -> None:
    keys = [np.array([row[number] for row in rows], np.int64) for number in range(3)]
    for count in (2, 3):  # with the third one the keys do not fit one integer
        order = columns.order_by(*keys[:count])
        assert order.tolist() == sorted(range(len(rows)), key=lambda at: rows[at][:count])


@pytest.fixture(scope="module")
def world() -> World:
    return run_scenario("region-down-twice")


@pytest.fixture(scope="module")
def trace(world: World, tmp_path_factory: pytest.TempPathFactory) -> TraceInput:
    [entry] = find_traces([write_run(world, tmp_path_factory.mktemp("scans") / "run.parquet")])
    return entry


def works(rows: list[dict[str, Any]], inputs: judging.Inputs) -> dict[str, tuple[Scan, dict[str, Any]]]:
    """Every scan of a report, with the failovers of this run."""
    moves = [row for row in rows if row["type"] == "failover.started"]
    ends = [*(row["seq"] for row in moves[1:]), NEVER]
    windows = [
        FailoverWindow(row["seq"], row["subscription"], row["peer"], end)
        for row, end in zip(moves, ends, strict=True)
    ]
    topic = next(row["topic"] for row in rows if row["type"] == "topic.loaded")
    targets = [
        coverage.Target(
            0, one.failover_seq, topic, one.subscription, one.target, 100_000,
            (coverage.Step(-1, 40, 3), coverage.Step(40, 1 << 61, 9)),
        )
        for one in windows
    ]  # fmt: skip
    sources = [consumers.Source(0, row["seq"], row["subscription"], row["cluster"]) for row in moves]
    return {
        "deliveries": (judging.DELIVERIES, {"inputs": inputs}),
        "coverage": (coverage.SCAN, {"targets": targets}),
        "consumers": (consumers.SCAN, {"sources": sources}),
        "tallies": (tallies.SCAN, {}),
        "log bins": (logs.BINS, {"bins_us": {0: 100_000}}),
        "control": (control.SCAN, {}),
    }


FIGURES = {
    "messages", "oldest_us", "delivered", "acknowledged", "unacked", "slowest_us", "rows", "entries", "size_bytes",
    "acks", "last_entry", "past_us", "deliveries",
}  # fmt: skip
"""Columns of sums and extremes; a share has its part of them."""


def joined(rows: list[Any]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """The rows by their keys, with the figures of equal keys joined as the report joins them."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in (row.asDict() for row in rows):
        key = tuple((name, value) for name, value in row.items() if name not in FIGURES)
        mine = found.setdefault(key, {"times": 0})
        mine["times"] += 1 if not FIGURES & {*row} else 0
        for name in FIGURES & {*row}:
            ways = {"oldest_us": min, "past_us": min, "slowest_us": max, "last_entry": max}
            values = [value for value in (mine.get(name), row[name]) if value is not None]
            mine[name] = ways.get(name, sum)(values) if values else None
    return {key: tuple(sorted(figures.items())) for key, figures in found.items()}


@pytest.fixture(scope="module")
def scan_works(trace: TraceInput) -> dict[str, tuple[Scan, dict[str, Any]]]:
    return works(pq.read_table(trace.path).to_pylist(), inputs_of(trace))


def inputs_of(trace: TraceInput) -> judging.Inputs:
    return judging.Inputs({0: trace.meta["rows"]}, {0: load_scenario(trace.meta["scenario"])})


def scanned(entry: TraceInput, scan_works: dict[str, tuple[Scan, dict[str, Any]]]) -> dict[str, Any]:
    scans = tasks.Scans(DRIVER, [entry], {})
    return {name: joined(scans.rows(scan, **options)) for name, (scan, options) in scan_works.items()}


def test_any_number_of_shares_and_both_kinds_of_files_give_the_same(
    world: World, trace: TraceInput, scan_works: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scanned(trace, scan_works)
    assert all(whole.values()), {name for name, found in whole.items() if not found}
    [lines] = find_traces([write_run(world, tmp_path / "run.jsonl")])
    assert scanned(lines, scan_works) == whole
    for rows in (trace.meta["rows"] // 3, 100):
        monkeypatch.setattr(tasks, "ROWS_OF_A_SHARE", rows)
        assert scanned(trace, scan_works) == whole


def test_rows_in_any_order_and_without_a_younger_column_are_read(
    trace: TraceInput, scan_works: Any, tmp_path: Path
) -> None:
    table = pq.read_table(trace.path)
    mixed = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows))).drop_columns(
        ["tenant"]
    )
    pq.write_table(mixed, tmp_path / "mixed.parquet", row_group_size=300)
    assert scanned(TraceInput(0, tmp_path / "mixed.parquet", trace.meta), scan_works) == scanned(
        trace, scan_works
    )


def test_rows_of_hidden_subscriptions_are_left_out(trace: TraceInput) -> None:
    def rows(hidden: dict[int, list[str]]) -> list[Any]:
        return tasks.Scans(DRIVER, [trace], hidden).rows(judging.DELIVERIES, inputs=inputs_of(trace))

    [name] = {row.subscription for row in rows({})}
    assert not rows({0: [name]})
    assert rows({1: [name]})
    assert not tasks.Scans(DRIVER, [trace], {}).of([1]).rows(judging.DELIVERIES, inputs=inputs_of(trace))


@pytest.mark.parametrize("shares", [1, 3, 8])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_shares_of_a_file_add_up_to_the_engines_counts(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: int, suffix: str
) -> None:
    [entry] = find_traces([write_run(world, tmp_path / f"run{suffix}")])
    monkeypatch.setattr(tasks, "ROWS_OF_A_SHARE", -(-entry.meta["rows"] // shares))
    scans, inputs = tasks.Scans(DRIVER, [entry], {}), inputs_of(entry)
    if shares > 1:
        surveys = [pickle.loads(row.survey) for row in scans.rows(judging.SURVEY, inputs=inputs)]
        names = judging.WANTED.schema.names
        rows = scans.table(control.SCAN).select(names).cast(judging.WANTED.schema)
        inputs = inputs._replace(wholes={0: whole_of(inputs.facts(0, rows.to_batches()), surveys)})
    found = scans.rows(judging.JUDGE, inputs=inputs, every=False)
    counts = [pickle.loads(row["counts"]) for row in found if row["counts"] is not None]
    assert len(counts) == shares
    counted, summary = figures_of(counts)["failovers"], world.summary()["failovers"]
    for ours, theirs in zip(counted, summary, strict=True):
        assert {name: ours.get(name) for name in theirs} == {**theirs, "forecast": None, "reordered": 0}
    assert sum(row.verdict == "duplicate" for row in found) == sum(one["duplicates"] for one in counted) > 0
    assert all((row.cause is None) == (row.verdict != "duplicate") for row in found)
    assert {row.evidence_seq for row in found} - {None} <= set(range(entry.meta["rows"]))


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_a_file_that_is_damaged_after_it_was_found_is_named(
    world: World, tmp_path: Path, suffix: str
) -> None:
    [entry] = find_traces([write_run(world, tmp_path / f"run{suffix}")])
    content = bytearray(entry.path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 400] = b"{" * 400
    entry.path.write_bytes(content)
    with pytest.raises(ValueError, match="trace rows that cannot be read") as caught:
        tasks.Scans(DRIVER, [entry], {}).rows(control.SCAN)
    assert unreadable(caught.value) == (
        f"{entry.path}: its rows cannot be read, it was damaged after it was written; write it again with "
        f"`simulate --trace`"
    )


@pytest.mark.slow
def test_tasks_find_what_the_driver_finds(
    spark: Any, trace: TraceInput, scan_works: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scanned(trace, scan_works)
    monkeypatch.setattr(tasks, "ROWS_OF_A_SHARE", 700)
    scans = tasks.Scans(spark, [trace], {})
    for name, (scan, options) in scan_works.items():
        assert joined(scans.rows(scan, **options)) == whole[name], name


def test_a_share_has_all_rows_of_its_messages(trace: TraceInput) -> None:
    wanted = Wanted(("message.stored",), ("seq", "sequence_id"), ("producer",))
    seen: dict[int, set[int]] = defaultdict(set)
    rows = 0
    for share in range(4):
        scan = FileScan(Scan(wanted, lambda _run, found: found, wanted.schema), {}, {})
        for batch in scan.of_shares([(0, str(trace.path), share, 4)]):
            rows += batch.num_rows
            for number in batch.column("sequence_id").to_pylist():
                seen[number].add(share)
    assert rows == sum(row["type"] == "message.stored" for row in pq.read_table(trace.path).to_pylist())
    assert all(len(shares) == 1 for shares in seen.values()) and len({*map(str, seen.values())}) == 4


def test_groups_are_counted_the_same_in_any_shares_of_any_file(tmp_path: Path) -> None:
    """In Parquet, in JSON lines, and with rows in any order: figures of the engine, and equal deliveries."""
    world = run_groups(MANY_SHAPES, until="50s")
    paths = [write_run(world, tmp_path / f"run{suffix}") for suffix in (".parquet", ".jsonl")]
    table = pq.read_table(paths[0])
    mixed = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    pq.write_table(mixed, tmp_path / "mixed.parquet", row_group_size=300)
    options = {"ends_us": {0: world.trace.at_us(world.seq - 1)}, "scenarios": {0: world.scenario}}
    deliveries = []
    for path in (*paths, tmp_path / "mixed.parquet"):
        for of in (1, 3):
            shares = [(0, str(path), share, of) for share in range(of)]
            rows = pa.Table.from_batches(
                FileScan(emqx_counting.SCAN, options, {}).of_shares(shares)
            ).to_pylist()
            groups = [pickle.loads(row["counts"]) for row in rows if row["counts"]]
            figures = {name: summed([one[name] for one in groups]).summary() for name in groups[0]}
            assert figures == world.summary()["groups"], (path, of)
            deliveries.append(sorted((row for row in rows if not row["counts"]), key=lambda row: row["seq"]))
    assert deliveries[0] and all(found == deliveries[0] for found in deliveries)
