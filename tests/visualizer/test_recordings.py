"""Recorded runs on the site: listed in the gallery, opened as labs, refused when they cannot be played."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from simulator import World, recordings
from tests.recorded_runs import record
from tests.visualizer.pages import Page
from visualizer.labs.definitions import copy_of, new_lab
from visualizer.models import Lab


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Path]:
    """The file of a recording that is listed beside the built-in ones."""
    recordings.use_folder(tmp_path)
    yield record("region-down", tmp_path / "run-017.jsonl")
    recordings.leave_folder(tmp_path)


def digest_of(path: Path) -> str:
    [found] = [one for one in recordings.listed() if one.path == path]
    assert isinstance(found, recordings.RecordedFile)
    return found.digest


def post(client: Client, body: object) -> Any:
    return client.post("/labs/", json.dumps(body), content_type="application/json")


@pytest.mark.django_db
def test_the_gallery_lists_recordings_and_unusable_files(client: Client, recording: Path) -> None:
    (recording.parent / "broken.jsonl").write_text("x\n")
    answer = client.get("/")
    [shown] = [one for one in answer.context["recordings"] if one["file"] == recording.name]
    assert (shown["system"], shown["date"], shown["file"]) == ("Pulsar 4.2.4", "2026-11-23", "run-017.jsonl")
    assert (shown["until_s"], shown["failovers"], shown["digest"]) == ("10", 1, digest_of(recording))
    page = answer.content.decode()
    assert "Recorded on real brokers" in page and "Pulsar 4.2.4, 2026-11-23" in page
    assert "Not listed: broken.jsonl line 1 is not JSON" in page
    assert all(scenario["name"] != "run-017" for scenario in answer.context["scenarios"])


@pytest.mark.django_db
def test_without_recordings_the_gallery_has_no_such_group(client: Client) -> None:
    if not recordings.listed():
        assert "Recorded on real brokers" not in client.get("/").content.decode()


@pytest.mark.django_db
def test_a_lab_of_a_recording_is_made_by_its_digest_with_and_without_scripts(
    client: Client, recording: Path
) -> None:
    digest = digest_of(recording)
    made = post(client, {"recording": digest, "at_us": 5_000_000})
    assert made.status_code == 201
    lab = Lab.objects.get(pk=made.json()["id"])
    assert f"recording: {digest}" in lab.scenario_text or f'recording: "{digest}"' in lab.scenario_text
    assert (lab.scenario_name, lab.position_us) == ("region-down", 5_000_000)
    assert client.post("/labs/", {"recording": digest}).status_code == 302
    assert copy_of(lab).lab.scenario_text == lab.scenario_text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"recording": "ab" * 32}, "unknown-recording"),
        ({"recording": 7}, "unknown-recording"),
        ({"seed": 3}, "bad-field"),
        ({"set": [["until", "3s"]]}, "bad-field"),
        ({"scenario": "two-regions"}, "bad-field"),
    ],
)
def test_a_request_that_is_not_a_recording_alone_is_refused(
    client: Client, recording: Path, more: dict[str, Any], code: str
) -> None:
    answer = post(client, {"recording": digest_of(recording), **more})
    assert answer.status_code == 400 and answer.json()["code"] == code
    assert not Lab.objects.exists()


@pytest.mark.django_db
def test_a_damaged_recording_makes_no_lab(client: Client, recording: Path) -> None:
    lines = recording.read_text().splitlines()
    recording.write_text("\n".join(lines[:-3]) + "\n")
    answer = post(client, {"recording": digest_of(recording)})
    assert answer.status_code == 400 and answer.json()["code"] == "bad-recording"
    assert "run-017.jsonl" in answer.json()["error"] and not Lab.objects.exists()


@pytest.fixture
async def owner(hub: Any, recording: Path) -> Any:
    made = await sync_to_async(new_lab)({"recording": digest_of(recording)})
    page = Page(made.lab.pk, made.token)
    page.welcome = await page.open()
    page.lab = made.lab
    await page.frame()
    yield page
    await page.close()


async def ask(lab: Lab, path: str) -> tuple[int, dict[str, Any]]:
    answer = await AsyncClient().get(f"/labs/{lab.pk}/{path}")
    return answer.status_code, json.loads(answer.content)


async def test_a_recorded_lab_plays_seeks_and_counts_and_takes_no_commands(
    owner: Any, recording: Path
) -> None:
    digest = digest_of(recording)
    assert owner.welcome["recorded"] == {
        "system": "Pulsar 4.2.4",
        "date": "2026-11-23",
        "measured": ["stored entries", "deliveries"],
        "inferred": ["causes"],
        "beside": f"/recordings/{digest}/compare/",
    }
    world = World.open("region-down")
    for at_us in (9_000_000, 3_000_000, 10_000_000):
        frame = await owner.seek(at_us)
        world.seek(at_us=at_us)
        assert frame["seq"] == world.seq
        length = world.view()["clusters"]["us-east"]["topics"]["orders"]["length"]
        assert frame["view"]["clusters"]["us-east"]["topics"]["orders"]["length"] == length
    refused = await owner.command(do="cluster.crash", cluster="us-east")
    assert (refused["ok"], refused["code"]) == (False, "recorded")
    assert "Pulsar 4.2.4, 2026-11-23" in refused["error"]
    status, why = await ask(owner.lab, "why-duplicates.json")
    assert status == 200 and why["failovers"][0]["duplicates"] == 7
    status, summary = await ask(owner.lab, "summary.json")
    assert status == 200 and summary["failovers"][0]["by_cause"] == world.failovers()[0]["by_cause"]


async def test_what_needs_a_simulated_run_is_not_offered(owner: Any) -> None:
    for path in (
        "what-if.json",
        "forecast/billing/orders.json",
        "creation.json",
        "brokers.json",
        "compare/columns.json",
    ):
        status, answer = await ask(owner.lab, path)
        assert status == 400 and answer["code"] == "not-offered", path
        assert "recorded on real brokers" in answer["error"]
    status, answer = await ask(owner.lab, "admin/stats/us-east/orders.json")
    assert status == 404 and "recorded on real brokers" in answer["error"]


async def test_a_lab_whose_recording_is_missing_says_so_and_opens_again_later(
    hub: Any, recording: Path
) -> None:
    made = await sync_to_async(new_lab)({"recording": digest_of(recording)})
    text = recording.read_text()
    recording.unlink()
    page = Page(made.lab.pk, made.token)
    welcome = await page.open()
    failure = welcome["failed"] or await page.until("error")
    assert "is not on this server" in failure["error"] and "Internal error" not in failure["error"]
    await page.close()
    stored = await Lab.objects.aget(pk=made.lab.pk)
    assert stored.state == Lab.State.READY
    recording.write_text(text)
    assert digest_of(recording)
