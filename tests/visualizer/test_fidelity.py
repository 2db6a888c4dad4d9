"""The page `/fidelity/`: the committed comparison, or that there is none."""

from __future__ import annotations

import html
import json
import re

import pytest

from simulator import recordings
from spark_reports.cli import main
from spark_reports.protocols.pulsar.fidelity.charts import difference_words, main_of
from tests.spark_reports.synthetic_pairs import measured_content
from visualizer.fidelity import views

pytestmark = pytest.mark.django_db


@pytest.fixture
def content(tmp_path, monkeypatch):
    """Synthetic content in place of the committed one."""
    monkeypatch.setattr(views, "MEASURED", measured_content(tmp_path))
    return json.loads(views.MEASURED.read_text())


def test_without_a_comparison_the_page_says_so_and_shows_no_figure(client, tmp_path, monkeypatch):
    monkeypatch.setattr(views, "MEASURED", tmp_path / "measured.json")
    views.MEASURED.write_text("null\n")
    page = client.get("/fidelity/").content.decode()
    assert "No comparison has been measured with this version yet." in page
    assert "data-chart" not in page and "<table" not in page


def test_the_committed_file_can_be_shown(client):
    answer = client.get("/fidelity/")
    assert answer.status_code == 200
    assert (views.measured() is None) == ("No comparison has been measured" in answer.content.decode())


def test_the_summary_and_the_page_of_each_job_show_every_cell_and_chart(client, content):
    page = client.get("/fidelity/").content.decode()
    check_blocks(page, content["overview"])
    assert '<a href="/fidelity/" aria-current="page">Fidelity</a>' in page
    assert len(content["jobs"]) > 1
    for job in content["jobs"]:
        assert f'href="/fidelity/{job["anchor"]}/"' in page
        check_blocks(client.get(f"/fidelity/{job['anchor']}/").content.decode(), job["blocks"])
        assert all(f'"{block["name"]}"' not in page for block in job["blocks"] if block["kind"] == "chart")
    assert client.get("/fidelity/no-such-job/").status_code == 404


def check_blocks(page, blocks):
    text = html.unescape(page)
    for block in blocks:
        assert block["title"] in text
        if block["kind"] == "chart":
            (figure,) = re.findall(
                rf'<script id="{block["name"]}" type="application/json">(.*?)</script>', page, re.DOTALL
            )
            assert json.loads(figure) == block["figure"]
            assert page.count(f'data-chart="{block["name"]}"') == 1
        elif block["kind"] == "table":
            for row in block["rows"]:
                assert "".join(f"<td>{cell}</td>" for cell in row["cells"]) in text


def pages_of(client, content) -> list[str]:
    return [client.get(f"/fidelity/{job['anchor']}/").content.decode() for job in content["jobs"]]


def test_a_simulated_run_of_a_listed_pair_opens_as_a_lab(client, content):
    page = "".join(pages_of(client, content))
    texts = [html.unescape(one) for one in re.findall(r'name="yaml" value="([^"]*)"', page)]
    assert len(texts) == 3, "the first pairs have a scenario"
    answer = client.post("/labs/", {"yaml": texts[0]})
    assert answer.status_code == 302 and answer["Location"].startswith("/labs/")


def test_a_real_run_opens_where_the_server_has_its_recording(client, content, tmp_path):
    pairs = next(block for block in content["jobs"][0]["blocks"] if block["kind"] == "pairs")
    digest, folder = (
        pairs["rows"][0]["recording"],
        tmp_path / "in" / "three-regions" / pairs["rows"][0]["folder"],
    )
    offered = f'name="recording" value="{digest}"'
    assert offered not in "".join(pages_of(client, content))
    recordings.use_folder(folder)
    try:
        assert offered in "".join(pages_of(client, content))
        answer = client.post("/labs/", {"recording": digest})
    finally:
        recordings.leave_folder(folder)
    assert answer.status_code == 302 and answer["Location"].startswith("/labs/")


def test_the_recordings_of_the_listed_pairs_are_written_for_the_site(client, content, tmp_path):
    into = tmp_path / "compared"
    into.mkdir()
    (into / "earlier.jsonl.gz").write_bytes(b"")
    arguments = ["fidelity", "--input", str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--recordings", str(into)]) == 0
    pairs = next(block for block in content["jobs"][0]["blocks"] if block["kind"] == "pairs")
    digests = {row["recording"] for row in pairs["rows"] if row.get("recording")}
    assert [path.name for path in sorted(into.iterdir())] == sorted(
        f"three-regions-{digest[:8]}.jsonl.gz" for digest in digests
    )
    recordings.use_folder(into)
    try:
        page = "".join(pages_of(client, content))
        for digest in digests:
            assert f'href="/recordings/{digest}/compare/"' in page
            assert client.get(f"/recordings/{digest}/compare/").status_code == 200
    finally:
        recordings.leave_folder(into)


def test_texts_of_the_content_are_escaped(client, content, monkeypatch):
    content["jobs"][0]["title"] = "<script>alert(1)</script>"
    monkeypatch.setattr(views, "measured", lambda: content)
    page = client.get("/fidelity/").content.decode() + pages_of(client, content)[0]
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


def test_the_content_has_the_figures_of_the_summary(tmp_path):
    measured_content(tmp_path)
    data = json.loads((tmp_path / "out" / "fidelity.json").read_text())
    for job, row in zip(data["summary"]["jobs"], data["content"]["overview"][0]["rows"], strict=True):
        assert row["cells"][0] == job["job"] and difference_words(main_of(job)) in row["cells"]
