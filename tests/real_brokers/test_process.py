"""A child that speaks JSON lines: answers, events, errors and every way in which it may end."""

from __future__ import annotations

import sys

import pytest

from script.real_brokers.rig import JsonProcess, ProcessError

CHILD = """
import json, sys
print("the log begins", file=sys.stderr, flush=True)
held = None
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"], "ok": True}
    do = request["do"]
    if do == "double":
        answer["value"] = 2 * request["value"]
    elif do == "hold":
        held = answer
        continue
    elif do == "release":
        print(json.dumps(answer))
        answer = held
    elif do == "tell":
        print(json.dumps({"e": "told", "t": 5, "text": request["text"]}))
    elif do == "fail":
        answer = {"id": request["id"], "ok": False, "error": "no such topic: orders"}
    elif do == "exit":
        print("the reason of the end", file=sys.stderr, flush=True)
        sys.exit(3)
    elif do == "ignore":
        continue
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def child(tmp_path):
    process = JsonProcess("the child")
    process.start([sys.executable, "-c", CHILD], tmp_path / "logs" / "child.log")
    yield process
    process.kill()


def test_a_request_returns_the_fields_of_its_answer(child):
    assert child.request("double", value=21)["value"] == 42


def test_answers_may_come_in_another_order_than_the_requests(child):
    held = child.begin("hold")
    child.request("release")
    assert held.result(10)["ok"]


def test_an_error_of_the_child_is_raised_with_its_text_and_the_request(child):
    with pytest.raises(ProcessError, match=r"the child could not do fail: no such topic: orders"):
        child.request("fail")


def test_a_line_without_an_id_is_an_event(child):
    child.request("tell", text="über")
    assert child.events.get_nowait() == {"e": "told", "t": 5, "text": "über"}


def test_events_are_given_to_the_function_that_wants_them(tmp_path):
    received = []
    process = JsonProcess("the child", received.append)
    process.start([sys.executable, "-c", CHILD], tmp_path / "child.log")
    process.request("tell", text="a")
    process.end()
    assert [event["text"] for event in received] == ["a"]


def test_a_child_that_ends_fails_its_request_with_the_end_of_its_log(child):
    with pytest.raises(ProcessError, match=r"ended during exit(.|\n)*the reason of the end"):
        child.request("exit")
    assert not child.is_alive


def test_a_killed_child_fails_what_waits_and_what_is_asked_later(child):
    waiting = child.begin("ignore")
    child.kill()
    with pytest.raises(ProcessError, match="ended during ignore"):
        waiting.result(10)
    with pytest.raises(ProcessError, match="double"):
        child.request("double", value=1)


def test_a_request_without_an_answer_times_out(child):
    with pytest.raises(ProcessError, match=r"did not answer ignore within 0.01 s"):
        child.request("ignore", timeout_s=0.01)


def test_a_child_ends_when_its_input_ends(child):
    child.end()
    assert not child.is_alive


def test_a_killed_process_can_be_started_again_and_its_log_is_continued(child, tmp_path):
    child.kill()
    child.start([sys.executable, "-c", CHILD], tmp_path / "logs" / "child.log")
    assert child.request("double", value=2)["value"] == 4
    assert (tmp_path / "logs" / "child.log").read_text().count("the log begins") >= 1


def test_a_process_that_was_never_started_says_so():
    with pytest.raises(ProcessError, match="the child does not run, so it cannot do double"):
        JsonProcess("the child").request("double", value=1)
