"""The pages, and creating a lab."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from simulator import World, load_scenario, scenario_names
from tests.visualizer.pages import SCENARIO
from visualizer.models import Lab, ScenarioPicture
from visualizer.pages.pictures import picture_at

pytestmark = pytest.mark.django_db


def post(client: Client, body: object, **headers: str):
    return client.post("/labs/", json.dumps(body), content_type="application/json", headers=headers)


def pictures(client: Client, *names: str) -> dict[str, dict]:
    return client.get("/scenarios/pictures.json", {"names": ",".join(names)}).json()


def test_the_gallery_is_served_before_its_pictures_and_keeps_each(client, monkeypatch):
    assert all(scenario["picture"] is None for scenario in client.get("/").context["scenarios"])
    made = pictures(client, *scenario_names())
    assert ScenarioPicture.objects.count() == len(made) == len(scenario_names())
    monkeypatch.setattr("visualizer.pages.pictures._computed", lambda scenario: pytest.fail("computed again"))
    answer = client.get("/")
    assert answer.status_code == 200
    shown = answer.context["scenarios"]
    assert sorted(scenario["name"] for scenario in shown) == sorted(scenario_names())
    assert shown[0]["name"] == "two-regions", "where a newcomer begins"
    cards = [card for family in answer.context["families"] for card in family["cards"]]
    assert sorted(side["name"] for card in cards for side in card["sides"]) == sorted(scenario_names())
    pairs = {card["option"]: [side["name"] for side in card["sides"]] for card in cards if card["option"]}
    assert pairs["reassignmentTimers"] == ["groups-rounds", "groups-rounds-as-shipped"] and len(pairs) == 10
    for scenario in shown:
        if scenario["family"] == "durable-shared-subscriptions":
            group = scenario["picture"]["group"]
            assert group["clients"] and any(stream["length"] for stream in group["streams"]), scenario["name"]
            continue
        assert scenario["picture"]["lanes"], scenario["name"]
        assert any(lane["cells"]["kind"] for lane in scenario["picture"]["lanes"]), scenario["name"]
    assert pictures(client, "region-down") == {"region-down": made["region-down"]}
    assert client.get("/scenarios/pictures.json", {"names": "region-down,etc"}).status_code == 404


def test_the_threads_of_a_picture_agree_with_the_snapshots(client):
    """region-down: the snapshot of 5 s covers shop/49 in every region; its thread ends behind that cell."""
    picture = pictures(client, "region-down")["region-down"]
    threads = [thread for thread in picture["threads"] if thread["of"] == "us-west"]
    assert threads
    for lane in picture["lanes"]:
        end = threads[-1]["ends"][lane["cluster"]]
        cells = lane["cells"]
        kinds = [kind for place, kind in enumerate(cells["kind"]) if cells["first"] + place <= end]
        assert (
            kinds
            and max(
                number
                for kind, number in zip(cells["kind"], cells["number"], strict=True)
                if kind < 100 and cells["first"] <= end
            )
            >= 49
        )
        told = [
            number
            for place, (kind, number) in enumerate(zip(cells["kind"], cells["number"], strict=True))
            if kind < 100 and cells["first"] + place <= end
        ]
        assert told[-1] == (49 if lane["cluster"] != "us-west" else told[-1])


def test_the_picture_of_a_group_shows_its_failure(client):
    """groups-two-readers: ada and ben both read two of the four streams.

    The leader has only ada in its table, and ben's lease outlives his last message.
    """
    shown = {
        name: one["group"]
        for name, one in pictures(
            client, "groups-two-readers", "groups-leader-crash-early", "groups-thousand-streams"
        ).items()
    }
    two_readers = shown["groups-two-readers"]
    assert [
        (one["believed"], one["readers"]) for one in two_readers["streams"] if len(one["readers"]) == 2
    ] == [(0, [0, 1]), (0, [0, 1])]
    ada, ben = two_readers["clients"]
    assert ben["own"] > 0 == ben["known"] and ada["known"] > 0
    assert shown["groups-leader-crash-early"]["leader"]["dead"]
    assert (
        len(shown["groups-thousand-streams"]["streams"]),
        len(shown["groups-thousand-streams"]["clients"]),
    ) == (9, 6)


def test_outcomes_are_those_of_the_real_runs_and_not_on_the_page(client):
    answer = client.get(
        "/scenarios/outcomes.json", {"names": "region-down,fail-over-and-back,two-regions"}
    ).json()
    assert answer["region-down"] == {
        "failovers": [{"duplicates": 7, "redeliveries": 0, "lost": 0, "stranded": 0}]
    }
    assert [one["duplicates"] for one in answer["fail-over-and-back"]["failovers"]] == [7, 6]
    assert answer["two-regions"] == {"failovers": []}
    # as a figure; a scenario's text may speak of duplicates
    assert '"duplicates"' not in client.get("/").content.decode()
    assert client.get("/scenarios/outcomes.json", {"names": "region-down,etc"}).status_code == 404
    assert client.get("/scenarios/outcomes.json").json() == {}


def test_a_lab_is_created_from_a_scenario_by_name(client):
    answer = post(client, {"scenario": "two-regions", "seed": 7})
    body = answer.json()
    assert answer.status_code == 201 and body["url"] == f"/labs/{body['id']}/"
    lab = Lab.objects.get(pk=body["id"])
    assert (
        lab.seed == 7 and lab.is_owner(body["token"]) and not lab.is_owner("other") and not lab.is_owner(None)
    )


def test_a_lab_is_created_from_a_text(client):
    body = post(client, {"yaml": SCENARIO}).json()
    assert Lab.objects.get(pk=body["id"]).scenario_name == "two-towns"


def test_every_problem_of_a_text_has_line_and_column(client):
    answer = post(
        client, {"yaml": SCENARIO.replace("until: 8s", "until: soon").replace("count: 300", "count: many")}
    )
    assert answer.status_code == 400
    problems = answer.json()["problems"]
    assert len(problems) == 2
    assert all(
        problem["line"] and problem["column"] and problem["message"] and problem["hint"]
        for problem in problems
    )
    assert not Lab.objects.exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "bad-field"),
        ({"scenario": "two-regions", "yaml": "x"}, "bad-field"),
        ({"scenario": "/etc/passwd"}, "unknown-scenario"),
        ({"scenario": ["two-regions"]}, "unknown-scenario"),
        ({"yaml": 7}, "bad-field"),
        ({"yaml": "x" * 400_000}, "bad-field"),
        ({"scenario": "two-regions", "seed": -1}, "bad-seed"),
        ({"scenario": "two-regions", "seed": "7"}, "bad-seed"),
        ({"scenario": "two-regions", "owner": "me"}, "bad-field"),
        ([], "bad-json"),
    ],
)
def test_an_invalid_request_creates_no_lab_and_has_a_reason(client, body, code):
    answer = post(client, body)
    assert answer.status_code == 400 and answer.json()["code"] == code
    assert answer.json()["error"] and answer.json()["hint"]


def test_a_text_can_never_refer_to_a_file(client):
    assert post(client, {"yaml": "pyproject.toml"}).json()["code"] == "bad-scenario"


def test_the_form_works_without_scripts(client):
    answer = client.post("/labs/", {"scenario": "two-regions"})
    assert answer.status_code == 302 and "#token=" in answer.headers["Location"]


def test_a_page_of_another_site_creates_no_lab(client):
    for origin in ("http://elsewhere.example", "null"):
        assert post(client, {"scenario": "two-regions"}, origin=origin).status_code == 403
    assert post(client, {"scenario": "two-regions"}, origin="http://testserver").status_code == 201


def test_a_get_request_creates_nothing(client):
    assert client.get("/labs/").status_code == 200 and not Lab.objects.exists()


def test_the_lab_page_contains_its_socket_and_api_addresses(client):
    lab = post(client, {"scenario": "two-regions"}).json()
    page = client.get(lab["url"]).content.decode()
    assert f'data-lab-id="{lab["id"]}"' in page
    assert f'data-socket-path="/ws/labs/{lab["id"]}/"' in page
    assert lab["token"] not in page


def test_an_unknown_lab_has_a_404_page(client):
    for path in ("/labs/nosuchlab/", "/labs/nosuchlab/replay/"):
        answer = client.get(path)
        assert answer.status_code == 404 and b"<html" in answer.content


def test_a_picture_shows_the_regions_in_the_files_order():
    scenario = load_scenario("region-down")
    world = World.from_scenario(scenario)
    world.run(2_000_000)
    lanes = picture_at(world)["lanes"]
    assert [(lane["cluster"], lane["number"]) for lane in lanes] == [
        ("us-west", 2),
        ("us-east", 1),
        ("eu-central", 0),
    ]


def test_a_picture_marks_the_duplicates_that_the_engine_counts():
    """region-down: before the crash those of the forecast in each other log, after it the delivered ones."""
    world = World.from_scenario(load_scenario("region-down"))
    world.run(5_600_000)
    lanes = {lane["cluster"]: lane["duplicates"] for lane in picture_at(world)["lanes"]}
    forecast = world.view()["forecast"]["billing"]
    assert lanes["us-west"] == {"delivered": False, "ranges": []}, (
        "nothing is in doubt where it was acknowledged"
    )
    for cluster in ("us-east", "eu-central"):
        log = forecast["entries"][cluster]["orders"]
        assert lanes[cluster] == {"delivered": False, "ranges": log["ranges"]} and log["ranges"]
        entries = sum(last - first + 1 for first, last in log["ranges"])
        assert log["messages"] <= entries
    world.run(6_500_000)
    lanes = {lane["cluster"]: lane["duplicates"] for lane in picture_at(world)["lanes"]}
    over = world.view()["failovers"][-1]
    marked = sum(last - first + 1 for first, last in lanes["us-east"]["ranges"])
    assert lanes["us-east"]["delivered"] and marked == over["duplicates"] > 0
    assert not lanes["eu-central"]["delivered"]
