"""The socket's protocol: welcome, frames, controls, resuming, refusals."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async

from labsite.asgi import application
from tests.visualizer.pages import SCENARIO, Page, Socket, saved
from visualizer.labs.hub import current_hub
from visualizer.models import Lab, LabCommand


@pytest.fixture
async def owner(made):
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.frame()
    yield page
    await page.close()


async def test_a_page_is_welcomed_and_starts_from_a_snapshot_frame(made):
    page = Page(made.lab.pk)
    welcome = await page.open()
    assert welcome["scenario"] == "two-towns"
    assert welcome["owner"] is False
    assert welcome["names"]["clusters"] == ["a", "b"]
    assert welcome["link_latency_us"] == {"a -> b": 20_000, "b -> a": 20_000}
    frame = await page.frame()
    assert frame["snapshot"] and frame["at_us"] == 0 and frame["playing"] is False
    await page.close()


async def test_playing_sends_numbered_frames_that_advance(owner):
    await owner.send({"type": "play", "speed": 5})
    await owner.frame(lambda frame: frame["at_us"] > 2_000_000)
    numbers = [frame["number"] for frame in owner.frames]
    assert numbers == list(range(1, len(numbers) + 1))
    instants = [frame["at_us"] for frame in owner.frames]
    assert instants == sorted(instants)


async def test_all_frames_together_contain_every_cell_and_control_row_once(owner, made):
    await owner.send({"type": "play", "speed": 8})
    last = await owner.frame(lambda frame: frame["at_us"] >= 3_000_000)
    assert not any(frame["sampled"] for frame in owner.frames)
    held: list[int] = []
    for frame in owner.frames:
        block = frame["cells"].get("a/orders")
        if block:
            held.extend(range(block["first"], block["first"] + len(block["kind"])))
    assert held == list(range(last["view"]["clusters"]["a"]["topics"]["orders"]["length"]))
    seqs = [row["seq"] for frame in owner.frames for row in frame["rows"]]
    assert seqs == sorted(set(seqs)) and seqs
    assert {row["type"] for frame in owner.frames for row in frame["rows"]} >= {
        "snapshot.completed",
        "update.applied",
    }


async def test_playing_stops_at_the_scenarios_end_and_may_continue(owner):
    await owner.seek(7_900_000)
    await owner.send({"type": "play", "speed": 10})
    end = await owner.frame(lambda frame: not frame["playing"] and frame["at_us"] > 7_900_000)
    assert end["at_us"] == 8_000_000
    await owner.send({"type": "play"})
    await owner.frame(lambda frame: frame["at_us"] > 8_000_000)


async def test_pause_and_speed_are_in_the_next_frame(owner):
    await owner.send({"type": "play", "speed": 2})
    await owner.frame(lambda frame: frame["playing"] and frame["speed"] == 2)
    await owner.send({"type": "speed", "speed": 0.5})
    await owner.frame(lambda frame: frame["speed"] == 0.5)
    await owner.send({"type": "pause"})
    await owner.frame(lambda frame: not frame["playing"])


async def test_seeking_begins_an_epoch_with_a_snapshot(owner):
    before = owner.frames[-1]["epoch"]
    frame = await owner.seek(4_000_000)
    assert frame["epoch"] > before and frame["number"] == 1
    assert frame["forecast"], "the risk curve of the stretch that was run comes along"
    assert len(frame["rows"]) > 20
    back = await owner.seek(1_000_000)
    assert back["epoch"] > frame["epoch"]
    assert back["view"]["furthest_us"] == 4_000_000


async def test_the_risk_curve_up_to_a_seek_target_is_sent_for_a_local_subscription_too(hub):
    from visualizer.labs.definitions import new_lab

    local = await sync_to_async(new_lab)({"yaml": SCENARIO.replace("replicateSubscriptionState: true, ", "")})
    page = Page(local.lab.pk, local.token)
    await page.open()
    frame = await page.seek(1_000_000)
    assert [at_us for at_us, _ in frame["forecast"] if at_us] == list(range(80_000, 1_000_001, 80_000)), (
        "a hundredth of the scenario's 8 s"
    )
    assert frame["forecast"][-1][1]["billing"]["b"] > 0
    await page.close()


async def test_seeking_to_a_row_goes_to_its_instant(owner):
    there = await owner.seek(2_000_000)
    row = there["rows"][5]
    await owner.send({"type": "seek", "seq": row["seq"]})
    frame = await owner.frame(lambda frame: frame["snapshot"] and frame["epoch"] > there["epoch"])
    assert frame["at_us"] == row["at_us"]


async def test_many_seeks_end_at_the_last_one(owner):
    for at_us in range(100_000, 3_000_000, 100_000):
        await owner.send({"type": "seek", "at_us": at_us})
    await owner.frame(lambda frame: frame["at_us"] == 2_900_000 and not frame["busy"])


async def test_a_command_after_a_seek_takes_effect_at_the_seeks_target(owner, made):
    await owner.send({"type": "seek", "at_us": 2_000_000})
    await owner.send({"type": "command", "id": 1, "command": {"do": "cluster.crash", "cluster": "b"}})
    await owner.send({"type": "seek", "at_us": 3_000_000})
    await owner.send({"type": "seek", "at_us": 4_000_000})
    await owner.frame(lambda frame: frame["at_us"] == 4_000_000)
    assert (await LabCommand.objects.aget(lab=made.lab)).at_us == 2_000_000


async def test_steps_go_from_control_row_to_control_row_and_back(owner):
    first = await owner.seek(1_000_000)
    await owner.send({"type": "step"})
    there = await owner.frame(lambda frame: frame["at_us"] > first["at_us"])
    assert there["rows"], "the step ends where a control row is"
    await owner.send({"type": "step"})
    further = await owner.frame(lambda frame: frame["at_us"] > there["at_us"])
    await owner.send({"type": "step-back"})
    back = await owner.frame(lambda frame: frame["at_us"] < further["at_us"])
    assert back["at_us"] == there["at_us"]


@pytest.mark.parametrize(
    ("which", "field"),
    [
        ("everything", "seq"),
        ({"message": ["web", 5]}, "producer"),
        ({"subscription": "billing"}, "subscription"),
    ],
)
async def test_steps_follow_their_filter(owner, which, field):
    await owner.send({"type": "step", "filter": which})
    frame = await owner.frame(lambda frame: frame["at_us"] > 0 and not frame["busy"])
    world = _world(owner)
    rows = [row for row in world.trace.rows(0, world.seq) if row["at_us"] == frame["at_us"]]
    assert any(field in row for row in rows)


async def test_a_command_after_a_step_begins_no_branch(owner):
    await owner.seek(1_000_000)
    for _ in range(5):
        await owner.send({"type": "step"})
    assert (await owner.command(do="link.cut", link="a -> b"))["ok"]
    assert _world(owner).branch == 0 and _world(owner).now_us == _world(owner).furthest_us


async def test_a_step_that_finds_nothing_is_reported_and_does_not_move(owner):
    await owner.send({"type": "step", "filter": {"message": ["nobody", 1]}})
    error = await owner.until("error")
    assert error["code"] == "nothing-there"
    assert _world(owner).now_us == 0


def _world(page: Page):
    lab_id = page.socket.scope["path"].split("/")[3]
    return current_hub().rooms[lab_id].part.session.world


async def test_a_command_is_stored_and_answered(owner, made):
    await owner.seek(2_000_000)
    result = await owner.command(do="cluster.crash", cluster="a")
    taken = {"type": "result", "id": "c", "ok": True, "code": None, "error": None, "hint": None}
    assert result == {**taken, "at_us": 2_000_000, "branch": 0}
    row = await LabCommand.objects.aget(lab=made.lab)
    assert (row.number, row.at_us, row.branch, row.command["do"]) == (1, 2_000_000, 0, "cluster.crash"), (
        "stored before it is answered"
    )
    await saved(made.lab.pk)
    assert (await LabCommand.objects.aget(lab=made.lab)).ok is True
    frame = await owner.frame(lambda frame: frame["view"]["clusters"]["a"]["state"] == "down")
    assert any(row["type"] == "cluster.crashed" for row in frame["rows"])


async def test_a_refused_command_has_a_hint_of_what_would_be_right(owner, made):
    result = await owner.command(do="cluster.crash", cluster="atlantis")
    assert result["ok"] is False
    assert result["code"] and result["error"] and result["hint"]
    await saved(made.lab.pk)
    assert (await LabCommand.objects.aget(lab=made.lab)).ok is False


async def test_a_command_in_the_past_begins_a_branch_and_the_old_one_stays(owner):
    await owner.seek(3_000_000)
    await owner.seek(2_000_000)
    await owner.command(do="link.cut", link="a -> b")
    frame = await owner.frame(lambda frame: frame["branch"] == 1)
    assert frame["snapshot"] and [branch["number"] for branch in frame["branches"]] == [0, 1]
    await owner.send({"type": "branch", "number": 0})
    frame = await owner.frame(lambda frame: frame["branch"] == 0)
    assert frame["view"]["links"]["a -> b"]["state"] == "up"


async def test_two_pages_show_the_same(owner, made):
    watcher = Page(made.lab.pk)
    await watcher.open()
    await owner.until("viewers", lambda viewers: viewers["count"] == 2)
    begun = await owner.seek(1_500_000)
    await owner.send({"type": "play", "speed": 4})
    for page in (owner, watcher):
        await page.frame(lambda frame: (frame["epoch"], frame["number"]) == (begun["epoch"], 6))
    mine = {(frame["epoch"], frame["number"]): frame for frame in owner.frames if not frame["snapshot"]}
    theirs = {(frame["epoch"], frame["number"]): frame for frame in watcher.frames if not frame["snapshot"]}
    shared = mine.keys() & theirs.keys()
    assert len(shared) > 3 and all(mine[key] == theirs[key] for key in shared)
    await watcher.close()


async def test_a_page_that_reconnects_soon_resumes_where_it_was(owner, made):
    page = Page(made.lab.pk)
    await page.open()
    await page.frame()
    await owner.send({"type": "play", "speed": 1})
    seen = await page.frame(lambda frame: frame["at_us"] > 200_000)
    await page.close()
    await owner.send({"type": "pause"})  # frames are kept for three seconds of play
    await owner.frame(lambda frame: not frame["playing"] and frame["number"] > seen["number"])
    again = Page(made.lab.pk)
    await again.open(epoch=seen["epoch"], number=seen["number"])
    following = await again.frame()
    assert (following["epoch"], following["number"], following["snapshot"]) == (
        seen["epoch"],
        seen["number"] + 1,
        False,
    )
    await again.close()


async def test_a_page_that_reconnects_in_another_epoch_starts_over(owner, made):
    page = Page(made.lab.pk)
    await page.open(epoch=12, number=3)
    assert (await page.frame())["snapshot"]
    await page.close()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "bad-json"),
        ("[1]", "bad-json"),
        ('{"type":"seek","at_us":NaN}', "bad-json"),
        ('{"type":"__class__"}', "unknown-type"),
        ('{"type":"seek"}', "bad-message"),
        ('{"type":"seek","at_us":-1}', "bad-message"),
        ('{"type":"seek","at_us":1.5}', "bad-message"),
        ('{"type":"play","speed":1e9}', "bad-message"),
        ('{"type":"play","volume":1}', "bad-message"),
        ('{"type":"command","command":{"cluster":"a"}}', "bad-message"),
        ('{"type":"hello"}', "hello-again"),
        ("x" * 70_000, "too-long"),
    ],
)
async def test_an_invalid_message_is_answered_with_a_reason(owner, text, code):
    await owner.socket.send_to(text_data=text)
    error = await owner.until("error")
    assert error["code"] == code and error["error"] and error["hint"]
    await owner.seek(100_000)  # and the lab continues


async def test_binary_messages_are_refused(owner):
    await owner.socket.send_to(bytes_data=b"\x00\x01")
    assert (await owner.until("error"))["code"] == "bad-json"


async def test_controls_need_the_owners_token(made):
    for token in (None, "wrong"):
        page = Page(made.lab.pk, token)
        assert (await page.open())["owner"] is False
        if token:
            assert (await page.until("error"))["code"] == "not-owner"
        await page.frame()
        for message in (
            {"type": "play"},
            {"type": "seek", "at_us": 5},
            {"type": "command", "command": {"do": "cluster.crash", "cluster": "a"}},
        ):
            await page.send(message)
            assert (await page.until("error"))["code"] == "not-owner"
        await page.close()
    assert await LabCommand.objects.acount() == 0


async def test_only_a_hash_of_the_token_is_stored(made):
    lab = await Lab.objects.aget(pk=made.lab.pk)
    assert made.token not in str(vars(lab))


async def test_a_message_before_hello_is_refused(made):
    page = Page(made.lab.pk, made.token)
    await page.socket.connect()
    await page.send({"type": "play"})
    assert (await page.receive())["code"] == "hello-first"
    await page.close()


async def test_messages_sent_before_welcome_are_handled_after_it(made):
    page = Page(made.lab.pk, made.token)
    await page.socket.connect()
    await page.send({"type": "hello", "token": made.token})
    await page.send({"type": "seek", "at_us": 500_000})
    assert (await page.receive())["type"] == "welcome"
    await page.frame(lambda frame: frame["at_us"] == 500_000)
    await page.close()


async def test_an_unknown_lab_is_not_found(hub):
    page = Page("nosuchlab")
    await page.socket.connect()
    await page.send({"type": "hello"})
    assert (await page.receive())["code"] == "not-found"
    assert (await page.receive())["type"] == "bye"


@pytest.mark.parametrize(
    "origin", [None, b"http://elsewhere.example", b"http://testserver:81", b"null", b"file://testserver"]
)
async def test_a_socket_from_another_origin_is_refused(made, origin):
    page = Page(made.lab.pk, origin=(b"origin", origin) if origin else None)
    connected, _ = await page.socket.connect()
    assert not connected


async def test_a_trusted_origin_may_differ_from_the_host(made, settings):
    settings.TRUSTED_ORIGINS = ["https://lab.example.org"]
    page = Page(made.lab.pk, origin=(b"origin", b"https://lab.example.org"))
    await page.open()
    await page.close()


async def test_a_disallowed_host_is_refused_even_with_a_matching_origin(made):
    headers = [(b"host", b"evil.example"), (b"origin", b"http://evil.example")]
    socket = Socket(application, f"/ws/labs/{made.lab.pk}/", headers=headers)
    connected, _ = await socket.connect()
    assert not connected
