"""Audits on the site without Spark: uploads and their limits, who may do what, and how one ends."""

from __future__ import annotations

import gzip
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from labsite import bodies
from tests.visualizer.asgi_client import request
from tests.visualizer.test_clean import output_of_clean
from visualizer.labs import clients
from visualizer.live.wire import Refused
from visualizer.models import hash_of
from visualizer.tasks import requests, uploads
from visualizer.tasks.models import Audit, Experiment, any_queued, others_wait

pytestmark = pytest.mark.django_db(transaction=True)

ROW = b'{"ts":1767225600050000,"kind":"deliver","cluster":"a","message_id":1}\n'


@pytest.fixture(autouse=True)
def data_folder(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    settings.ALLOWED_HOSTS = ["testserver"]
    return tmp_path


def post(path: str, **body: Any) -> Any:
    return Client().post(path, json.dumps(body), content_type="application/json")


def send(*files: tuple[str, bytes], **fields: str) -> Any:
    sent = [SimpleUploadedFile(name, content) for name, content in files]
    return Client().post("/audits/", {**fields, **({"files": sent} if sent else {})})


def made(**fields: str) -> dict[str, str]:
    answer = send(("log.jsonl", ROW), **fields)
    assert answer.status_code == 201, answer.content
    return answer.json()


def change(one: dict[str, str], **columns: Any) -> Audit:
    Audit.objects.filter(pk=one["id"]).update(**columns)
    return Audit.objects.get(pk=one["id"])


def status(one: dict[str, str]) -> dict[str, Any]:
    return Client().get(f"{one['url']}status.json").json()


def stored(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "audits").rglob("*")) if folder.exists() else []


def test_an_upload_is_stored_and_its_task_is_queued() -> None:
    one = send(
        ("a/us west.jsonl", ROW), ("us-west.jsonl", ROW), ("_hidden.csv", b"ts\n"), format="auto"
    ).json()
    row = Audit.objects.get(pk=one["id"])
    assert (row.state, row.format, row.title) == ("queued", "auto", "us-west.jsonl and 2 more files")
    assert row.token_hash == hash_of(one["token"])
    names = [file["name"] for file in row.files]
    assert names == ["us-west.jsonl", "2-us-west.jsonl", "hidden.csv"], "Spark leaves out names with _ or ."
    assert [(row.input / name).read_bytes() for name in names] == [ROW, ROW, b"ts\n"]
    [queued] = DBTaskResult.objects.all()
    assert queued.task_path == "labsite.tasks.make_next"
    assert queued.args_kwargs["args"] == ["audits", "default"] and queued.queue_name == "default"
    page = Client().get(one["url"])
    assert b"Queued." in page.content and one["token"].encode() not in page.content


def test_the_example_needs_one_request_and_is_what_generate_writes(tmp_path: Path) -> None:
    from spark_reports.audit.generate.command import generate

    one = post("/audits/", example=True).json()
    row = Audit.objects.get(pk=one["id"])
    [path] = row.input.iterdir()
    generate(3000, tmp_path / "generated", "jsonl")
    [log] = (tmp_path / "generated" / "logs").iterdir()
    assert gzip.decompress(path.read_bytes()) == log.read_bytes()
    download = b"".join(Client().get("/audits/example-log.jsonl.gz").streaming_content)
    assert download == path.read_bytes()
    assert '"kind":"publish"' in Client().get("/audits/").content.decode().replace("&quot;", '"')


def test_the_form_offers_the_formats_of_the_command() -> None:
    from spark_reports.audit.detect import AUTO, FORMATS

    page = Client().get("/audits/").content.decode()
    for name in (AUTO, *FORMATS):
        assert f'<option value="{name}">' in page
    assert page.count("<option", 0, page.index("</select>")) == len(FORMATS) + 1


def test_the_form_offers_the_ready_mappings_of_the_command() -> None:
    from spark_reports.audit.mapping import READY

    page = (
        Client().get("/audits/").content.decode().partition('id="field-ready"')[2].partition("</select>")[0]
    )
    for name in READY:
        assert f'<option value="{name}">' in page
    assert page.count("<option") == len(READY) + 2, "none, and a pattern of one's own"


@pytest.mark.parametrize(
    ("files", "fields", "code", "words"),
    [
        ([], {}, "bad-field", "No file was chosen"),
        ([("log.jsonl", b"")], {}, "bad-field", "No file was chosen"),  # Django leaves out nothing else
        ([("log.jsonl", ROW), ("none.csv", b"")], {}, "bad-file", "none.csv is empty"),
        ([("logs.zip", b"PK")], {}, "bad-file", "logs.zip is an archive"),
        ([("log.jsonl.xz", b"x")], {}, "bad-file", "Unpack it"),
        ([(f"{number}.jsonl", ROW) for number in range(21)], {}, "too-large", "21 files"),
        ([(f"{number}.jsonl", ROW) for number in range(101)], {}, "too-large", "too many files"),
        ([("log.jsonl", ROW)], {"format": "xml"}, "bad-field", "no format 'xml'"),
        ([("log.jsonl", ROW)], {"mapping": "x" * 100_001}, "too-large", "100,001 characters"),
        ([("log.jsonl", ROW)], {"mapping": "x" * 1_100_000}, "too-large", "too long a mapping"),
    ],
)
def test_an_upload_that_cannot_be_taken_leaves_nothing(
    data_folder: Path, files: list[tuple[str, bytes]], fields: dict[str, str], code: str, words: str
) -> None:
    answer = send(*files, **fields)
    assert answer.status_code in (400, 413), answer.content
    found = answer.json()
    if files == [("log.jsonl", b"")]:
        code, words = "bad-file", "log.jsonl is empty"
    assert found["code"] == code and words in found["error"] + found["hint"]
    assert not Audit.objects.exists() and not DBTaskResult.objects.exists() and stored(data_folder) == []


def test_files_above_the_limit_are_refused(monkeypatch: Any, data_folder: Path) -> None:
    monkeypatch.setattr(uploads, "UPLOAD_MIB_MOST", 1)
    half = b"x" * (1 << 19)
    assert send(("a.jsonl", half), ("b.jsonl", half)).status_code == 201
    answer = send(("a.jsonl", half), ("b.jsonl", half), ("c.jsonl", b"x" * 60_000))
    assert (answer.status_code, answer.json()["error"]) == (413, "The files have 1.1 MiB together.")
    assert Audit.objects.count() == 1


async def test_a_body_above_the_limit_is_refused_as_it_arrives(monkeypatch: Any) -> None:
    monkeypatch.setattr(bodies.UPLOADS, "largest_bytes", 3_000_000)
    form = "multipart/form-data; boundary=x"
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.jsonl"\r\n\r\n'
    pieces = [head, *[b"x" * 100_000] * 28, b"\r\n--x--\r\n"]
    length = str(sum(map(len, pieces)))
    answer = await request("POST", "/audits/", chunks=pieces, content_type=form, content_length=length)
    assert answer.status == 201, "larger than the limit of other bodies"
    answer = await request("POST", "/audits/", chunks=[head, *[b"x" * 100_000] * 500], content_type=form)
    assert answer.status == 413 and answer.json()["code"] == "too-large" and answer.taken == 31
    length = str(3_000_001)
    answer = await request("POST", "/audits/", chunks=[b"x"], content_type=form, content_length=length)
    assert (answer.status, answer.taken) == (413, 0)
    for path, kind in (("/audits/mine/", form), ("/audits/", "application/json")):
        answer = await request("POST", path, chunks=[b"x" * 100_000] * 28, content_type=kind)
        assert answer.status == 413, "only an upload may be longer"


def test_without_room_nothing_is_stored(monkeypatch: Any, data_folder: Path) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "/var/lib/somewhere")

    monkeypatch.setattr(uploads.os, "replace", full)
    answer = send(("log.jsonl", ROW))
    assert answer.json()["code"] == "no-room" and "/var/lib" not in answer.content.decode()
    assert not Audit.objects.exists() and stored(data_folder) == []


def test_other_sites_and_other_visitors_are_refused() -> None:
    one = made()
    foreign = Client().post("/audits/", {}, headers={"Origin": "https://elsewhere.example"})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "foreign-origin")
    for act in ("cancel", "again", "delete"):
        for token in (None, "wrong", 5):
            assert post(f"{one['url']}{act}/", token=token).json()["code"] == "not-owner"
        assert post(f"/audits/nosuch/{act}/", token=one["token"]).status_code == 404
        assert Client().get(f"{one['url']}{act}/").status_code == 405
    assert status(one)["state"] == "queued"
    assert Client().get("/audits/nosuch/").status_code == 404
    assert Client().get("/audits/nosuch/status.json").status_code == 404


def test_audits_of_an_address_at_once_and_in_all_are_limited(monkeypatch: Any) -> None:
    monkeypatch.setattr(Audit, "WAITING_OF_CLIENT", 1)
    monkeypatch.setattr(Audit, "KEPT_OF_CLIENT", 2)
    token = clients.client.set("192.0.2.7")
    try:
        requests.new_audit(uploads.example(), "auto", "", "")
        with pytest.raises(Refused, match="queued or running already"):
            requests.new_audit(uploads.example(), "auto", "", "")
        Audit.objects.update(state="done")
        requests.new_audit(uploads.example(), "auto", "", "")
        Audit.objects.update(state="done")
        with pytest.raises(Refused, match="2 audits from your address are kept"):
            requests.new_audit(uploads.example(), "auto", "", "")
    finally:
        clients.client.reset(token)


def test_a_queued_audit_is_cancelled_and_tried_again_while_its_files_are_there() -> None:
    one = made()
    assert post(f"{one['url']}cancel/", token=one["token"]).json()["state"] == "cancelled"
    assert status(one)["may_retry"]
    assert post(f"{one['url']}again/", token=one["token"]).json()["state"] == "queued"
    assert Audit.next_in_turn() == (one["id"], 2)
    row = change(one, state="failed", error="It is no log.")
    (row.input / "log.jsonl").unlink()
    row.input.rmdir()
    assert not status(one)["may_retry"] and status(one)["words"] == "It is no log."
    assert post(f"{one['url']}again/", token=one["token"]).json()["hint"] == "Upload them again."


def test_a_dead_worker_is_noticed() -> None:
    one = made()
    change(one, state="running", worker_seen_at=timezone.now() - timedelta(seconds=60))
    found = status(one)
    assert (found["state"], found["error"]) == ("failed", Audit.SILENT) and "kept" in found["hint"]


def test_progress_and_result_are_in_words() -> None:
    one = made()
    now = {"state": "running", "worker_seen_at": timezone.now()}
    change(one, **now, step_name="checking the files")
    assert status(one)["words"] == "Checking the files."
    change(one, **now, step_number=2, step_count=5, step_name="reading the rows", tasks_done=1, tasks_count=4)
    assert status(one)["words"] == "Step 2 of 5: reading the rows. 1 of 4 Spark tasks are done."
    figures = {"messages": 1_000, "repeated": 12, "duplicates": 7}
    change(one, state="done", figures=figures)
    sentence = "12 of 1,000 messages were delivered more than once; 7 of them had been acknowledged before."
    assert status(one)["words"] == sentence
    change(one, figures={"messages": 5, "repeated": 0, "duplicates": None})
    assert status(one)["words"] == "0 of 5 messages were delivered more than once."
    change(one, figures={"messages": None, "repeated_most": 1_234})
    assert status(one)["words"] == "A failover at that instant would repeat at most 1,234 entries."
    [listed] = post("/audits/mine/", audits=[{"id": one["id"], "token": one["token"]}]).json()["tasks"]
    assert listed["title"] == "log.jsonl" and listed["url"] == one["url"]
    assert post("/audits/mine/", audits=[{"id": one["id"], "token": "x"}]).json()["gone"] == [one["id"]]


def test_results_are_served_when_the_audit_is_done_and_only_those_of_the_table() -> None:
    one = made()
    row = Audit.objects.get(pk=one["id"])
    row.result.mkdir()
    (row.result / "audit.html").write_text("<p>report</p>")
    assert Client().get(f"{one['url']}document/").status_code == 404, "not done yet"
    row = change(one, state="done", figures={"messages": 5, "repeated": 0, "duplicates": 0})
    shown = Client().get(f"{one['url']}document/")
    assert b"".join(shown.streaming_content) == b"<p>report</p>"
    assert "default-src 'none'" in shown.headers["Content-Security-Policy"]
    page = Client().get(one["url"]).content.decode()
    assert "download/html/" in page and "download/yaml/" not in page and "No scenario was made" in page
    (row.result / "scenario.yaml").write_text("format: 1\n")
    assert row.set_up_link.startswith("/my-set-up/#yaml=")
    assert row.set_up_link.partition("?")[0] in Client().get(one["url"]).content.decode()
    assert Client().get(f"{one['url']}download/input/").status_code == 404


def test_only_an_ended_audit_is_deleted_and_old_ones_are_cleaned(data_folder: Path) -> None:
    one, old, running = made(), made(), made()
    assert post(f"{one['url']}delete/", token=one["token"]).status_code == 409
    change(one, state="cancelled")
    assert post(f"{one['url']}delete/", token=one["token"]).json() == {}
    assert not (data_folder / "audits" / one["id"]).exists() and Client().get(one["url"]).status_code == 404
    long_ago = timezone.now() - timedelta(days=100)
    change(old, state="done", created_at=long_ago)
    change(running, state="running", created_at=long_ago)
    assert "1 audits" in output_of_clean()
    assert [path.name for path in (data_folder / "audits").iterdir()] == [running["id"]]


def test_compressed_uploads_keep_their_names() -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write(ROW)
    one = send(("us-west.jsonl.gz", packed.getvalue()), ("../../etc/passwd", b"x")).json()
    names = [file["name"] for file in Audit.objects.get(pk=one["id"]).files]
    assert names == ["us-west.jsonl.gz", "passwd"]


def test_an_experiment_gives_way_to_an_audit_and_the_warm_up_ends() -> None:
    experiment = Experiment.objects.create(title="e", text="", core_s=1, runs=1, state="running", client="a")
    assert not others_wait(experiment) and not any_queued()
    one = made()
    change(one, client="a")
    assert others_wait(experiment), "a task of another kind, of the same address too"
    assert any_queued()
    change(one, state="running")
    Experiment.objects.create(title="f", text="", core_s=1, runs=1, client="a")
    assert not others_wait(experiment), "experiments of one address wait for each other"
    Experiment.objects.filter(title="f").update(client="b")
    assert others_wait(experiment)
