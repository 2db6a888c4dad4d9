"""Tests of a user's own set-up.

Form to text, problems at their fields, twenty runs equal to those of the command line.
"""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from labsite.asgi import application
from simulator import load_scenario_text
from simulator.headless import simulate
from tests.visualizer.pages import HOST, ORIGIN, Page, Socket
from tests.visualizer.test_pump import Clock
from visualizer.labs.pump import Pump
from visualizer.live.wire import Refused
from visualizer.setups import studies as studies_module
from visualizer.setups.form import DEFAULTS, completed, composed
from visualizer.setups.groups import GROUPS
from visualizer.setups.reading import failure_of, read_form
from visualizer.setups.studies import RUNNING, WAITING, Studies
from visualizer.setups.study import FIGURES, Study
from visualizer.setups.variations import RUNS, variations

SMALL = {"rate": "40/s", "at": "3s", "after": "500ms", "end": "2s"}


def text_of(**given: str) -> str:
    return "".join(f"{line.text}\n" for line in composed(completed(given)))


def problems_of(**given: str) -> list[tuple[str, str]]:
    _, reading = read_form(completed(given))
    return [(problem["field"], f"{problem['message']}; {problem['hint']}") for problem in reading.problems]


# --- the form


def test_the_initial_form_is_a_valid_scenario():
    scenario = load_scenario_text(text_of())
    assert scenario.links["us-west", "us-east"].latency.nominal_us == 40_000, "half of the round trip"
    assert [command.do for command in scenario.commands] == ["cluster.crash", "subscription.fail-over"]
    assert scenario.commands[1].at_us == 25_000_000 and scenario.until_us == 40_000_000


def test_every_field_has_a_default_and_a_place():
    placed = [field.name for _, _, fields in GROUPS for field in fields]
    assert sorted(placed) == sorted(DEFAULTS)


def test_deliveries_and_ack_groups_are_as_measured_only_on_request():
    assert "timing" not in text_of(), "nominal is the default and is not written"
    assert load_scenario_text(text_of(timing="measured")).options["timing"] == "measured"
    assert [field for field, _ in problems_of(timing="exact")] == ["timing"]


def test_three_regions_have_three_round_trips():
    values = {"regions": "a, b, c", "rtt.a.b": "10ms", "rtt.c.a": "31us"}
    scenario = load_scenario_text(text_of(**values))
    assert scenario.commands[0].arguments["cluster"] == "a", (
        "the first region goes down when the default one is not there"
    )
    latencies = {pair: link.latency.nominal_us for pair, link in scenario.links.items()}
    assert latencies["a", "b"] == latencies["b", "a"] == 5_000
    assert latencies["a", "c"] + latencies["c", "a"] == 31, "an odd microsecond is not lost"
    assert latencies["b", "c"] == 40_000


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"rate": "fast"}, [("rate", '"fast" is not a rate; write a number per second, such as 100/s')]),
        (
            {"processing": "soon"},
            [
                (
                    "processing",
                    '"soon" is not a duration; write a number with us, ms, s, m or h, such as 40ms or 1.5s',
                )
            ],
        ),
        ({"consumers": "three"}, [("consumers", '"three" is not a whole number; write how many, such as 2')]),
        ({"consumers": "2000"}, [("consumers", "2000 consumers are too many; at most 1000")]),
        ({"cache": "2"}, [("cache", "2 is too small; at least 3 with the cache rule spread")]),
        (
            {"rtt.us-west.us-east": "80"},
            [
                (
                    "rtt.us-west.us-east",
                    "80 has no unit; write a number with us, ms, s, m or h, such as 40ms or 1.5s",
                )
            ],
        ),
        ({"to": "us-west"}, [("to", "is the cluster that they leave; name another cluster")]),
        ({"from": "atlantis"}, [("from", 'there is no cluster "atlantis"; one of us-east, us-west')]),
        (
            {"slow_share": "2"},
            [("slow_share", '"2" is not a share; write a percentage from 0% to 100%, such as 1% or 0.5%')],
        ),
        (
            {"after": "later"},
            [
                (
                    "after",
                    '"later" is not a duration; write a number with us, ms, s, m or h, such as 40ms or 1.5s',
                )
            ],
        ),
        ({"period": "1s"}, [("period", '"1s" is not a whole number; write a whole number')]),
    ],
)
def test_a_problem_is_shown_at_its_field_in_the_loaders_text(given, expected):
    assert problems_of(**given) == expected


def test_two_wrong_fields_are_both_reported():
    assert [field for field, _ in problems_of(rate="fast", queue="-1")] == ["rate", "queue"]


@pytest.mark.parametrize(
    "typed", ["{a: b}", "- x", "#", '"', "a\n  b: c", "x: y", "&anchor", "'", "\x00", "\u2028x", "<script>"]
)
@pytest.mark.parametrize("field", ["regions", "rate", "processing", "from", "consumers", "period"])
def test_any_input_stays_one_value(field, typed):
    """No value can open a mapping of its own: problems are about values, at this field or one that names
    it.
    """
    lines, reading = read_form(completed({field: typed}))
    assert reading.problems, "none of these is right"
    assert not any(
        "not YAML" in problem["message"] or "unknown key" in problem["message"]
        for problem in reading.problems
    )
    assert len(reading.text.splitlines()) >= len(lines) - 1


@pytest.mark.django_db
def test_the_page_keeps_the_input_and_shows_what_is_wrong(client: Client):
    page = client.get("/my-set-up/", {"rate": "fast <b>", "from": "atlantis"}).content.decode()
    assert 'value="fast &lt;b&gt;"' in page and "<b>&quot;" not in page
    assert "is not a rate" in page and 'aria-invalid="true"' in page
    assert '<option value="atlantis" selected>' in page, "a choice that is none stays chosen"


@pytest.mark.django_db
def test_the_address_contains_the_set_up(client: Client):
    answer = client.get("/my-set-up/scenario.json", {"regions": "a, b", "rtt.a.b": "10ms"}).json()
    assert answer["problems"] == [] and answer["failure"] == {
        "from": "a",
        "to": "b",
        "mode": "crash",
        "at": "25s",
        "period_us": 1_000_000,
    }
    assert "a <-> b: {latency: 5ms}" in answer["yaml"]
    assert "".join("".join(text for text, _ in pieces) + "\n" for pieces in answer["lines"]) == answer["yaml"]
    assert answer["pairs"] == [{"name": "rtt.a.b", "between": ["a", "b"], "value": "10ms"}]


@pytest.mark.django_db
def test_problems_of_a_users_text_have_line_and_column(client: Client):
    def check(text: Any) -> Any:
        return client.post("/my-set-up/check/", json.dumps({"yaml": text}), content_type="application/json")

    wrong = check(text_of().replace("rate: 100/s", "rate: many")).json()["problems"]
    assert [(problem["line"], problem["column"]) for problem in wrong] == [
        (19, wrong[0]["column"])
    ] and "many" in wrong[0]["message"]
    assert check("a: [").json()["problems"][0]["line"] == 1
    assert check(text_of()).json()["failure"]["to"] == "us-east"
    without = check(text_of().split("commands:")[0]).json()
    assert without["failure"] is None and "subscription.fail-over" in without["no_failure"]
    assert check(7).status_code == 400 and check("x" * 300_000).status_code == 400


# --- the twenty runs


def run_to_the_end(text: str) -> list[dict[str, Any]]:
    """A study driven without a pump, which waits for its threads where necessary."""
    from asgiref.sync import async_to_sync

    told: list[dict[str, Any]] = []
    ended: list[Study] = []
    study = Study("study", text, told.append, ended.append)

    async def drive() -> None:
        while not ended:
            if study.blocked_on is not None:
                study.resumed(await study.blocked_on())
            study.turn(0.0)

    async_to_sync(drive)()
    return told


def test_each_run_equals_that_of_the_command_line():
    text = text_of(**SMALL)
    told = run_to_the_end(text)
    assert [message["type"] for message in told] == ["asked", *["run"] * RUNS, "done"]
    planned = {run["seed"]: run for run in told[0]["runs"]}
    for run in told[1:-1:6]:
        out, err = io.StringIO(), io.StringIO()
        sets = [f"{path}={value}" for path, value in planned[run["seed"]]["set"]]
        assert simulate(text, out, err, seed=run["seed"], sets=sets, as_json=True) == 0, err.getvalue()
        counted = json.loads(out.getvalue())["failovers"][0]
        assert {name: run[name] for name in FIGURES} == {name: counted[name] for name in FIGURES}
        assert run["at_us"] == planned[run["seed"]]["at_us"]
    assert len({run["duplicates"] for run in told[1:-1]}) > 3, "twenty equal runs would answer nothing"


def test_the_failure_happens_at_twenty_instants_of_one_period():
    scenario = load_scenario_text(text_of(period="2000"))
    planned = variations(scenario, failure_of(scenario))
    assert [one.seed for one in planned] == list(range(1, RUNS + 1))
    assert [one.shift_us for one in planned] == [100_000 * number for number in range(RUNS)]
    last = load_scenario_text(text_of(period="2000"), seed=RUNS, overrides=planned[-1].overrides)
    assert [command.at_us for command in last.commands] == [
        command.at_us + 1_900_000 for command in scenario.commands
    ]
    assert last.until_us == scenario.until_us + 1_900_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (text_of(rate="fast"), "bad-scenario"),
        (text_of().split("commands:")[0], "no-failure"),
        (text_of(**{**SMALL, "rate": "40000/s", "arrivals": "regular"}), "too-large"),
        (text_of(**SMALL).replace("until: 5500ms", "until: 3200ms"), "no-failure"),
    ],
    ids=["wrong", "nothing fails", "too large", "ends too early"],
)
def test_an_impossible_request_is_refused_with_a_reason(text, code, monkeypatch):
    monkeypatch.setattr("visualizer.setups.study.ROWS_OF_A_RUN", 20_000)
    last = run_to_the_end(text)[-1]
    assert last["type"] == "error" and last["code"] == code and last["error"] and last["hint"]


def test_an_internal_error_ends_this_study_only_and_is_reported(monkeypatch, caplog):
    told: list[dict[str, Any]] = []
    ended: list[Study] = []
    study = Study("study", text_of(), told.append, ended.append)
    with caplog.at_level(logging.ERROR):
        study.failed(ZeroDivisionError("by us"))
    assert told[0]["code"] == "engine-bug" and ended == [study] and "internal error" in caplog.text
    assert study.turn(0.0) is False and study.due_s(0.0) is None


# --- many studies


def test_a_few_studies_run_at_once_and_the_others_are_queued(monkeypatch):
    clock = Clock()
    studies = Studies(Pump(lambda session, error: None, clock, clock.sleep))
    told: dict[int, list[dict[str, Any]]] = {number: [] for number in range(RUNNING + WAITING + 1)}
    cancels = [studies.ask(f"text {number}", told[number].append) for number in range(RUNNING + WAITING)]
    assert told[RUNNING][0] == {"type": "waiting", "before": RUNNING}
    with pytest.raises(Refused) as refused:
        studies.ask("one more", told[RUNNING + WAITING].append)
    assert refused.value.code == "too-many"
    cancels[0]()
    assert told[RUNNING + 1][-1] == {"type": "waiting", "before": RUNNING}, "who waits moves up"
    cancels[RUNNING + 3]()  # a waiting one leaves the queue
    assert told[RUNNING + 4][-1]["before"] == told[RUNNING + 2][-1]["before"] + 1
    for cancel in cancels:
        cancel()
    assert studies._running == [] and not studies._line


class Question:
    """A page that sends a request on the answers' socket."""

    def __init__(self) -> None:
        self.socket = Socket(application, "/ws/answers/", headers=[(b"host", HOST.encode()), ORIGIN])

    async def ask(self, text: str) -> None:
        connected, _ = await self.socket.connect()
        assert connected
        await self.socket.send_to(text_data=json.dumps({"type": "ask", "yaml": text}))

    async def next(self) -> dict[str, Any]:
        return json.loads(await self.socket.receive_from())


async def test_an_answer_arrives_run_by_run_while_a_lab_plays(made: Any, hub: Any):
    page, question = Page(made.lab.pk, made.token), Question()
    await page.open()
    await page.send({"type": "play", "speed": 1})
    await question.ask(text_of(**SMALL))
    kinds = []
    while not kinds or kinds[-1] != "done":
        kinds.append((await question.next())["type"])
        if len(kinds) == 3:
            frame = await page.frame()
            later = await page.frame(lambda other: other["at_us"] > frame["at_us"])
            assert later["playing"], "the lab goes on beside the twenty runs"
    assert kinds == ["asked", *["run"] * RUNS, "done"]
    again = Question()
    await again.ask(text_of(**SMALL))
    assert (await again.next())["type"] == "asked" and hub.studies._running == [], (
        "the same text is answered from memory"
    )
    for one in (question, again):
        await one.socket.disconnect()
    await page.close()


async def test_closing_the_socket_cancels_the_request(hub: Any):
    question = Question()
    await question.ask(text_of())
    assert (await question.next())["type"] == "asked"
    assert len(hub.studies._running) == 1
    await question.socket.disconnect()
    assert hub.studies._running == []


@pytest.mark.parametrize("message", ["nonsense", "[]", '{"type": "ask"}', '{"type": "ask", "yaml": 7}'])
async def test_an_invalid_request_is_refused_with_a_reason(hub: Any, message: str):
    question = Question()
    await question.socket.connect()
    await question.socket.send_to(text_data=message)
    answer = await question.next()
    assert answer["type"] == "error" and answer["error"] and answer["hint"]
    await question.socket.disconnect()


# --- a lab of one of the runs


@pytest.mark.django_db(transaction=True)
async def test_a_run_opens_as_a_lab_at_its_failover(hub: Any):
    from visualizer.labs.definitions import new_lab

    text = text_of(**SMALL)
    scenario = load_scenario_text(text)
    one = variations(scenario, failure_of(scenario))[7]
    made = await sync_to_async(new_lab)(
        {"yaml": text, "seed": one.seed, "set": [list(pair) for pair in one.overrides], "at_us": one.at_us}
    )
    page = Page(made.lab.pk, made.token)
    welcome = await page.open()
    frame = await page.frame(lambda frame: frame["snapshot"] and frame["at_us"] == one.at_us)
    assert welcome["seed"] == one.seed and frame["view"]["failovers"], (
        "it stands where its consumers have just moved"
    )
    await page.close()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "body",
    [
        {"at_us": -1},
        {"at_us": 10**12},
        {"at_us": "soon"},
        {"set": "until=3s"},
        {"set": [["until"]]},
        {"set": [["until", 3]]},
    ],
)
def test_a_lab_is_not_created_from_invalid_fields(client: Client, body: dict[str, Any]):
    answer = client.post("/labs/", json.dumps({"yaml": text_of(), **body}), content_type="application/json")
    assert answer.status_code == 400 and answer.json()["code"] == "bad-field"


@pytest.mark.django_db
def test_an_invalid_change_is_reported_by_the_loader(client: Client):
    answer = client.post(
        "/labs/", json.dumps({"yaml": text_of(), "set": [["until", "soon"]]}), content_type="application/json"
    )
    assert answer.status_code == 400 and "until" in answer.json()["problems"][0]["path"]


def test_the_number_of_kept_answers_is_bounded(monkeypatch):
    monkeypatch.setattr(studies_module, "KEPT", 3)
    clock = Clock()
    studies = Studies(Pump(lambda session, error: None, clock, clock.sleep))
    for number in range(5):
        studies._keep(str(number), [])
    assert list(studies._kept) == ["2", "3", "4"]
