"""Audits of logs in several formats: every figure against a recount in plain Python, and bad input."""

from __future__ import annotations

import csv
import gzip
import json
import random
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simulator import ScenarioError
from spark_reports import tuning
from spark_reports.audit import command
from spark_reports.audit.errors import AuditError, input_problem
from spark_reports.audit.formats.tables import read_csv
from spark_reports.audit.inputs import InputFile, bounded, list_files
from spark_reports.audit.job import Audit
from spark_reports.audit.mapping import Mapping, mapping_of
from spark_reports.cli import main
from tests.oracle.audit import lost, recount

START_US = 1_700_000_000_000_000
NAMES = ("cluster", "topic", "partition", "message_id", "subscription", "consumer")


def rows_of(seed: int, messages: int = 400) -> list[dict[str, Any]]:
    """Publishes, deliveries and acknowledgements with repeats, moves between clusters, and some losses."""
    draw = random.Random(seed)
    rows = []
    for number in range(messages):
        at_us = START_US + number * 10_000
        message = {"topic": "orders", "partition": number % 3, "message_id": f"shop/{number}"}
        rows.append(
            {
                **message,
                "at_us": at_us,
                "kind": "publish",
                "cluster": "us-west",
                "subscription": None,
                "consumer": None,
            }
        )
        for name in ("billing", "audit"):
            own = {**message, "subscription": name}
            for repeat in range(draw.choice([1, 1, 1, 0, 2, 3])):
                cluster = draw.choice(["us-west", "us-east"])
                at_us += draw.randrange(1_000, 900_000, 1_000)
                got = {**own, "at_us": at_us, "cluster": cluster, "consumer": f"{cluster}-{repeat}"}
                rows += [{**got, "kind": "deliver"}] * draw.choice([1, 1, 1, 1, 2])
                if name == "billing" and draw.random() < 0.5:
                    rows.append({**got, "kind": "ack", "at_us": at_us + 1_000})
    return rows


def write_json_lines(path: Path, rows: list[dict[str, Any]], *more: str) -> Path:
    lines = [
        json.dumps({"ts": row["at_us"] // 1000, "kind": row["kind"], **{name: row[name] for name in NAMES}})
        for row in rows
    ]
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as file:
        file.write("\n".join([*lines, *more]) + "\n")
    return path


def write_csv_file(path: Path, rows: list[dict[str, Any]], *more: str) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "ts", *NAMES])
        for row in rows:
            text = datetime.fromtimestamp(row["at_us"] / 1e6, UTC).isoformat()
            writer.writerow(
                [row["kind"].upper(), text, *("" if row[name] is None else row[name] for name in NAMES)]
            )
        file.write("\n".join([*more, ""]))
    return path


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    columns = {name: [row[name] for row in rows] for name in (*NAMES, "kind")}
    pq.write_table(pa.table({"ts": [row["at_us"] for row in rows], **columns}), path)
    return path


@pytest.fixture(scope="module")
def audited(
    spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], list[dict[str, Any]], Path]:
    """One audit of a directory with every table format, bad rows and three time units."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "logs").mkdir()
    rows = rows_of(1)
    third = len(rows) // 3
    write_json_lines(
        folder / "logs/a.jsonl.gz", rows[:third], "no JSON", '{"kind": "ack", "message_id": "x"}', "[1]"
    )
    write_csv_file(
        folder / "logs/b.csv",
        rows[third : 2 * third],
        "deliver,yesterday,us-west,orders,0,x,billing,c",
        "deliver,1,2,3,4,5,6,7,8,9",
    )
    write_parquet(folder / "logs/c.parquet", rows[2 * third :])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "SHORT_ROWS_MOST", 0)  # as of a long log
        report = Audit(spark, [str(folder / "logs")], folder / "out").make()
    return report, rows, folder / "out"


def test_a_short_log_is_audited_with_settings_of_its_own_and_the_same_result(
    audited: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report, _rows, out = audited
    seen = []
    count = Audit._count
    monkeypatch.setattr(Audit, "_count", lambda audit: seen.append(tuning.one_task(spark)) or count(audit))
    again = Audit(spark, [str(out.parent / "logs")], tmp_path / "out").make()
    assert seen == [True] and not tuning.one_task(spark)
    own = {"made_at", "made_by"}
    assert {name: told for name, told in again.items() if name not in own} == {
        name: told for name, told in report.items() if name not in own
    }


def test_every_figure_equals_the_plain_recount(audited: Any) -> None:
    report, rows, _out = audited
    expected = recount(rows)
    got = {(one["subscription"], one["topic"], one["partition"]): one for one in report["groups"]}
    assert got.keys() == expected.keys() and len(got) == 6
    for name, figures in expected.items():
        assert {key: got[name][key] for key in figures} == figures, name
    assert sum(one["in_several_clusters"] for one in expected.values()) > 50
    assert sum(one["repeated_rows"] for one in expected.values()) > 50


def test_the_files_hold_the_same_figures(audited: Any, spark: Any) -> None:
    report, _rows, out = audited
    assert json.loads((out / "audit.json").read_text()) == report
    lines = list(csv.DictReader((out / "audit.csv").open()))
    assert [int(line["in_several_clusters"]) for line in lines] == [
        one["in_several_clusters"] for one in report["groups"]
    ]
    assert [line["duplicates"] == "" for line in lines] == [
        one["subscription"] == "audit" for one in report["groups"]
    ]
    messages = pq.read_table(out / "repeated.parquet").to_pylist()
    assert len(messages) == sum(one["repeated_messages"] for one in report["groups"])
    assert all(one["deliveries"] > 1 for one in messages)
    page = (out / "audit.html").read_text()
    assert (
        "delivered more than once" in page
        and "shop/" in page
        and "https://" not in page.partition("<script>")[0]
    )
    assert not list(out.parent.glob(".out.partial*"))


def test_bad_rows_are_counted_and_kept_beside(audited: Any) -> None:
    report, rows, out = audited
    assert report["rows"] == {
        "total": len(rows) + 5,
        "readable": len(rows),
        "unreadable": 5,
        "by_kind": {kind: sum(row["kind"] == kind for row in rows) for kind in ("ack", "deliver", "publish")},
    }
    kept = [json.loads(line) for line in (out / "unreadable.jsonl").read_text().splitlines()]
    assert sorted((Path(one["file"]).name, one["problem"]) for one in kept) == [
        ("a.jsonl.gz", "it is no JSON object"),
        ("a.jsonl.gz", "it is no JSON object"),
        ("a.jsonl.gz", "ts is missing"),
        ("b.csv", "its number of cells differs from the header's"),
        ("b.csv", "ts is no instant between 1970 and 2100"),
    ]
    assert "no JSON" in {one["text"] for one in kept}


def test_findings_name_units_repeated_rows_and_what_is_unknown(audited: Any) -> None:
    report, rows, _out = audited
    found = {one["code"]: one["count"] for one in report["findings"]}
    assert found.keys() == {"unreadable", "repeated_rows", "mixed_time_units"}
    third = len(rows) // 3
    assert found["mixed_time_units"] == len(rows) - max(third, len(rows) - 2 * third)
    for one in report["losses"]:
        missing = lost(rows, one["subscription"])
        assert one["between"] == len(missing) > 0
        assert one["lost"] is None and len(one["unknown_because"]) >= 2


def test_a_loss_is_claimed_for_a_complete_log_and_skew_is_found(spark: Any, tmp_path: Path) -> None:
    """Acknowledgements of undelivered messages are left out: they show that deliveries are missing."""
    rows = [
        {**row, "at_us": row["at_us"] - (3_000_000 if row["cluster"] == "us-east" else 0)}
        for row in rows_of(2, 100)
    ]
    mapping = mapping_of(
        "format: 1\ncomplete: true\ntime_unit: us\nkinds: {SEEN: deliver, noise: ignore}\nconstants: {topic: orders}\n"
        "columns: {ts: at, kind: what.name, message_id: id, cluster: region.a, subscription: s, consumer: c, partition: p}",
        "m.yaml",
    )
    kinds = {"deliver": "seen"}
    lines = [
        json.dumps(
            {
                "at": str(row["at_us"]),
                "what": {"name": kinds.get(row["kind"], row["kind"])},
                "region.a": row["cluster"],
                "id": row["message_id"],
                "s": row["subscription"],
                "c": row["consumer"],
                "p": row["partition"],
            }
        )
        for row in rows
    ]
    (tmp_path / "log.txt").write_text("\n".join([*lines, '{"at": 1, "what": {"name": "noise"}}']) + "\n")
    report = Audit(spark, [str(tmp_path / "log.txt")], tmp_path / "out", mapping).make()
    assert report["rows"]["total"] == len(rows)
    assert {one["subscription"]: one["lost"] for one in report["losses"]} == {
        name: len(lost(rows, name)) for name in ("audit", "billing")
    }
    skewed = [one for one in report["findings"] if one["code"] == "clock_skew"]
    assert len(skewed) == 1 and "us-east" in skewed[0]["text"] and skewed[0]["count"] > 10
    expected = recount(rows)
    for one in report["groups"]:
        assert (
            one["in_several_clusters"]
            == expected[one["subscription"], "orders", one["partition"]]["in_several_clusters"]
        )


def test_every_problem_of_a_mapping_is_reported_with_its_line() -> None:
    with pytest.raises(ScenarioError) as error:
        mapping_of(
            "format: 2\ncolumns: {tss: time}\nkinds: {A: akc}\ntime_unit: m\nfrom_path: {cluster: '(a)(b)'}\nidentity: position\n",
            "m.yaml",
        )
    places = [str(problem).split(": ")[:2] for problem in error.value.problems]
    assert places == [
        ["m.yaml:1:9", "format"],
        ["m.yaml:2:11", "columns.tss"],
        ["m.yaml:5:22", "from_path.cluster"],
        ["m.yaml:3:12", "kinds.A"],
        ["m.yaml:4:12", "time_unit"],
        ["m.yaml:2:10", "columns.ts"],
        ["m.yaml:1:1", "columns.kind"],
        ["m.yaml:1:1", "columns.message_id"],
        ["m.yaml:6:11", "identity"],
    ]


@pytest.mark.parametrize(
    "name, content, words",
    [
        ("absent.jsonl", None, "no such file or directory"),
        ("empty.jsonl", b"", "no file there has content"),
        ("prose.txt", b"Dear operator,\nall is well.\n", "no log in a known format"),
        ("log.parquet", b"no parquet at all", "no Parquet file"),
        (
            "wrong.jsonl",
            b'{"ts": "soon", "kind": "deliver", "message_id": "a"}\n',
            "none of the 1 rows can be used",
        ),
    ],
)
def test_bad_input_has_a_clear_message_and_leaves_no_result(
    spark: Any, tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert words in failure(Audit(spark, [str(tmp_path / name)], tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_missing_connector_is_named_with_its_package(spark: Any, tmp_path: Path) -> None:
    words = failure(Audit(spark, ["s3a://bucket/logs"], tmp_path / "out"))
    assert re.search(r"s3a://: .*--packages org\.apache\.hadoop:hadoop-aws:\d+\.\d+\.\d+ ", words)
    assert "write s3a:// instead" in failure(Audit(spark, ["s3://bucket/logs"], tmp_path / "out"))
    words = failure(Audit(spark, ["hdfs://127.0.0.1:9/logs"], tmp_path / "out"))
    assert words == "the path cannot be reached: nothing accepts connections at localhost:9"


def test_a_file_that_is_no_zstd_is_named(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl.zst").write_bytes(b'{"ts": 1, "kind": "deliver"}\n')
    assert "log.jsonl.zst: its rows cannot be read" in failure(
        Audit(spark, [str(tmp_path / "log.jsonl.zst")], tmp_path / "out")
    )


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_compressed_input_that_expands_too_far_is_refused(spark: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"big.{kind}.gz"
    row = {"ts": 1_700_000_000, "kind": "deliver", "message_id": "x" * 1000}
    lines = {"jsonl": [json.dumps(row)], "csv": [",".join(row), ",".join(map(str, row.values()))]}[kind]
    with gzip.open(path, "wt") as file:
        file.write("\n".join([*lines[:-1], *lines[-1:] * 3000, ""]))
    words = failure(Audit(spark, [str(path)], tmp_path / "out", expanded_mib=1))
    assert words.endswith(
        f"/big.{kind}.gz expands to more than 1 MiB; raise the limit with --expanded-mib if that is right"
    )


def test_a_compressed_csv_within_the_limit_has_the_rows_of_a_plain_one(spark: Any, tmp_path: Path) -> None:
    text = "ts,kind,message_id\n1700000000,deliver,a\n1700000001,deliver,a\n1700000002,deliver,b,too many\n"
    files = []
    for name, opened in (("plain.csv", open), ("packed.csv.gz", gzip.open)):
        with opened(tmp_path / name, "wt") as file:
            file.write(text)
        (found,) = list_files(spark, [str(tmp_path / name)])
        files.append([InputFile(found.path, found.size_bytes)])
    rows = [
        sorted(tuple(row) for row in read_csv(spark, one, Mapping(), 1).drop("file").collect())
        for one in files
    ]
    assert rows[0] == rows[1] and len(rows[0]) == 3
    mixed = read_csv(spark, [*files[0], *files[1]], Mapping(), 1)
    assert mixed.count() == 6


def test_the_limit_counts_each_file_of_a_task_by_itself() -> None:
    def batch(*names: str) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"value": ["x" * 400_000] * len(names), "file": list(names)})

    passed = bounded(1)
    small = [batch("a", "a"), batch("b", "b"), batch("c", "c")]
    assert list(passed(iter(small))) == small
    with pytest.raises(ValueError, match="b expands to more than 1 MiB"):
        list(passed(iter([batch("a", "b"), batch("b", "b")])))


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["audit", "--input", "x", "--mapping", "absent.yaml", "--out", "o"], "No such file or directory"),
        (
            ["audit", "--input", "x", "--mapping", "bad.yaml", "--out", "o"],
            "bad.yaml:2:11: columns.tss: unknown key",
        ),
        (["generate", "--rows", "0", "--out", "o"], "write a number from 1"),
        (["generate", "--rows", "9", "--out", "."], "is not empty"),
    ],
)
def test_the_command_line_refuses_bad_arguments_before_spark_starts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.yaml").write_text("format: 1\ncolumns: {tss: a, kind: b, message_id: c}\n")
    assert main(arguments) == 2
    assert words in capsys.readouterr().err and not (tmp_path / "o").exists()


def test_java_optimises_its_code_for_large_input_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "QUICK_BYTES_MOST", 20)
    monkeypatch.setattr(command, "QUICK_PARQUET_BYTES_MOST", 70)
    (tmp_path / "a.parquet").write_bytes(bytes(50))
    assert command.quick([str(tmp_path)])
    (tmp_path / "b.jsonl").write_bytes(bytes(20))
    assert command.quick([str(tmp_path)])
    (tmp_path / "b.jsonl").write_bytes(bytes(21))
    assert not command.quick([str(tmp_path)]) and not command.quick([str(tmp_path / "b.jsonl")])
    assert not command.quick([str(tmp_path / "a.parquet")] * 2)
    assert not command.quick(["s3a://bucket/logs"])


def failure(audit: Audit) -> str:
    """The text that the command line prints for the audit's error."""
    try:
        audit.make()
    except AuditError as error:
        return str(error)
    except Exception as error:
        return input_problem(error) or f"not explained: {error}"
    raise AssertionError("the audit succeeded")
