"""An audit from the upload to the report and the scenario, with the real worker code on Spark."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from labsite import attempts, spark_worker
from simulator import World, load_scenario_text
from spark_reports.audit.generate.command import generate
from spark_reports.session import JavaMissing
from visualizer.tasks.models import Audit

pytestmark = pytest.mark.django_db(transaction=True)

ROW = {"ts": 1_767_225_600_000_000, "kind": "deliver", "cluster": "a", "topic": "t", "message_id": "m"}


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    settings.ALLOWED_HOSTS = ["testserver"]
    return settings.DATA_DIR


def post(path: str, **body: Any) -> Any:
    return Client().post(path, json.dumps(body), content_type="application/json")


def sent(*files: tuple[str, bytes], **fields: str) -> dict[str, str]:
    answer = Client().post("/audits/", {**fields, "files": [SimpleUploadedFile(*file) for file in files]})
    assert answer.status_code == 201, answer.content
    return answer.json()


def lines(*rows: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def ended(one: dict[str, str]) -> dict[str, Any]:
    """The state of the audit after the worker has done it; no path of the server may be in it."""
    spark_worker.AuditAttempt.run(*Audit.next_in_turn())
    found = Client().get(f"{one['url']}status.json").json()
    assert found["over"] and str(Audit.objects.get(pk=one["id"]).folder) not in json.dumps(found)
    return found


def content(path: str) -> bytes:
    return b"".join(Client().get(path).streaming_content)


def test_the_example_becomes_a_report_and_a_scenario_in_which_a_region_fails(
    spark: Any, tmp_path: Path, data_folder: Path
) -> None:
    one = post("/audits/", example=True).json()
    found = ended(one)
    generate(3000, tmp_path / "generated", "jsonl")
    [truth] = json.loads((tmp_path / "generated" / "truth.json").read_text())["groups"]
    expected = {name: truth[name] for name in ("messages", "duplicates")}
    assert found["figures"] == {**expected, "repeated": truth["repeated_messages"]}
    assert found["words"].startswith(f"{truth['repeated_messages']:,} of {truth['messages']:,} messages")
    row = Audit.objects.get(pk=one["id"])
    assert sorted(path.name for path in row.folder.iterdir()) == ["result"], "the upload is deleted"
    for kind in ("html", "json", "csv", "parquet", "yaml"):
        assert str(data_folder).encode() not in content(f"{one['url']}download/{kind}/"), kind
    assert b"<dt>input</dt><dd>upload</dd>" in content(f"{one['url']}document/")
    page = Client().get(one["url"]).content.decode()
    packed = page.partition("/my-set-up/#yaml=")[2].partition('"')[0]
    text = zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -15).decode()
    assert text.encode() == content(f"{one['url']}download/yaml/")
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    [failover] = world.summary()["failovers"]
    assert failover["duplicates"] > 0, "the scenario answers what a failure of the region repeats"


def test_several_files_with_a_mapping_and_unreadable_rows(spark: Any, data_folder: Path) -> None:
    mapping = "format: 1\ncolumns: {ts: at, kind: what, message_id: id, cluster: where, subscription: who}\n"
    row = {"at": 1_767_225_600, "what": "deliver", "id": "m", "where": "east", "who": "billing"}
    west = lines(row, {**row, "at": row["at"] + 5}, {"at": "never"})
    east = gzip.compress(lines({**row, "where": "west", "at": row["at"] + 9}))
    found = ended(one := sent(("west.jsonl", west), ("east.jsonl.gz", east), mapping=mapping))
    assert found["figures"] == {"messages": 1, "repeated": 1, "duplicates": None}
    [unreadable] = map(json.loads, content(f"{one['url']}download/unreadable/").splitlines())
    assert unreadable["file"] == "west.jsonl", "without the server's path"


def test_stats_internal_of_both_clusters(spark: Any) -> None:
    from tests.spark_reports.test_audit_formats import STATISTICS  # samples of the other formats

    files = [(f"{name}.json", json.dumps(STATISTICS).encode()) for name in ("west", "east")]
    found = ended(sent(*files))
    assert found["figures"]["messages"] is None and found["words"].startswith("A failover at that instant")


@pytest.mark.parametrize(
    ("files", "fields", "words"),
    [
        ([("notes.txt", b"To whom it may concern\n" * 60)], {}, "notes.txt: it is no log in a known format"),
        ([("log.csv", b"a,b\n1,2\n")], {}, "log.csv: its columns are a (1), b (2)"),
        ([("log.jsonl.gz", b"not gzip at all")], {}, "log.jsonl.gz is damaged"),
        ([("log.jsonl.gz", gzip.compress(lines(ROW) * 99)[:-20])], {}, "log.jsonl.gz is damaged"),
        ([("log.parquet", b"PAR1 and no more")], {}, "log.parquet is no Parquet file"),
        ([("log.jsonl", lines(ROW))], {"mapping": "format: 2\n"}, 'mapping:1:9: format: "2"; the only'),
        ([("a.json", b'{"entriesAddedCounter": 1, "cursors": {}}')], {}, "a.json: it is no output of"),
    ],
)
def test_an_upload_that_is_no_log_ends_with_a_message_and_leaves_nothing(
    spark: Any, files: list[tuple[str, bytes]], fields: dict[str, str], words: str
) -> None:
    one = sent(*files, **fields)
    found = ended(one)
    assert found["state"] == "failed" and words in found["error"] and "--" not in found["error"]
    assert not found["may_retry"] and list(Audit.objects.get(pk=one["id"]).folder.iterdir()) == []
    assert Client().get(f"{one['url']}document/").status_code == 404


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("log.jsonl.gz", lambda: gzip.compress(lines(ROW) * 20_000)),
        ("log.jsonl.bz2", lambda: bz2.compress(b"x" * 2_000_000)),
    ],
)
def test_an_upload_that_expands_beyond_its_limit_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch, name: str, packed: Any
) -> None:
    monkeypatch.setattr(spark_worker, "EXPANDED_MIB_MOST", 1)
    monkeypatch.setattr(spark_worker, "open_session", lambda **_: pytest.fail("Spark was started"))
    one = sent((name, packed()))
    found = ended(one)
    assert found["error"].startswith(f"With {name} the files ") and "more than" in found["error"]
    assert list(Audit.objects.get(pk=one["id"]).folder.iterdir()) == []


RANGE = '{"timestamp":1,"name":"records_consumed","partitions":[{"minOffset":1,"maxOffset":9999}]}'


@pytest.mark.parametrize(
    "line",
    [
        RANGE,
        RANGE.replace("consumed", "\\u0063onsumed"),
        RANGE.replace('"', "'"),
        f"{RANGE} and more",
        RANGE.replace('"timestamp"', f'"padding":"{"x" * (1 << 20)}","timestamp"'),
        RANGE.replace("[{", '[{"minOffset":"a","maxOffset":true},{'),
    ],
    ids=["plain", "escaped", "single quotes", "text after it", "a long line", "a bad partition before it"],
)
def test_a_line_that_stands_for_many_records_is_counted_however_it_is_written(
    spark: Any, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(spark_worker, "ROWS_MOST", 20_000)
    found = ended(sent(("consumer.log", f"{RANGE.replace('9999', '2')}\n{line}\r{line}\n{line}\n".encode())))
    assert "stand for 29,999 records, and at most 20,000 are counted" in found["error"]


def test_a_parquet_file_is_measured_without_reading_its_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"ts": pa.array([1] * 50_000)}), path)
    check = spark_worker.UploadCheck(lambda: None)
    check.check(path)
    assert check.rows == 50_000
    monkeypatch.setattr(spark_worker, "ROWS_MOST", 99_999)
    with pytest.raises(spark_worker.BadUpload, match="more than 99,999 rows together"):
        check.check(path)


def test_a_cancelled_audit_can_be_tried_again(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = post("/audits/", example=True).json()
    step = spark_worker.AuditAttempt.step

    def cancelled(row: spark_worker.AuditAttempt, number: int, of: int, name: str) -> None:
        step(row, number, of, name)
        if number == 2:
            Audit.objects.filter(pk=one["id"]).update(cancel_wanted=True)
            row._try_to_write()

    monkeypatch.setattr(spark_worker.AuditAttempt, "step", cancelled)
    found = ended(one)
    assert (found["state"], found["may_retry"]) == ("cancelled", True)
    folder = Audit.objects.get(pk=one["id"]).folder
    assert [path.name for path in folder.iterdir()] == ["input"], "no half-written result"
    monkeypatch.undo()


def test_a_cancel_is_noticed_while_files_are_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_worker.AuditAttempt, "cancel_wanted", lambda row: True)
    monkeypatch.setattr(spark_worker.UploadCheck, "_add_bytes", lambda *_: pytest.fail("it went on"))
    assert ended(sent(("log.jsonl.gz", gzip.compress(lines(ROW) * 9))))["state"] == "cancelled"


def test_without_java_the_page_names_the_package_and_the_files_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_java(**_: Any) -> None:
        raise JavaMissing("On Debian: apt-get install openjdk-17-jre-headless.")

    monkeypatch.setattr(spark_worker, "open_session", no_java)
    found = ended(post("/audits/", example=True).json())
    assert "openjdk-17-jre-headless" in found["hint"] and found["may_retry"]


def test_a_failure_shows_no_path_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("/var/lib/somewhere is broken")

    monkeypatch.setattr(spark_worker, "open_session", broken)
    monkeypatch.setattr(attempts, "forget_broken_session", lambda: None)
    found = ended(post("/audits/", example=True).json())
    assert "internal error (RuntimeError)" in found["error"] and "/var/lib" not in json.dumps(found)
