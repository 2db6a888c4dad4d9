"""A lab presented to a class: followers see what the presenter shows, and cannot control it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import segno
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client
from django.utils import timezone

from tests.visualizer.pages import SCENARIO, Page
from visualizer.labs import clients, presentation
from visualizer.labs.definitions import new_lab
from visualizer.labs.hub import current_hub
from visualizer.labs.presentation import AWAY_TICKS, Pages, Presenting
from visualizer.live.wire import SHOWN_MOST, Refused, checked, is_shown
from visualizer.models import Lab, Presentation
from visualizer.presenting import views
from visualizer.presenting.codes import (
    ADDRESSES,
    CODE_LETTERS,
    WRONG_CODES,
    WRONG_CODES_S,
    WrongCodes,
    code_of,
    new_code,
)

SHOWN = {
    "panel": "time",
    "choices": {"topic": "orders"},
    "lit": {"message": ["web", 5]},
    "item": {"cluster": "a", "index": 5, "marker": None},
    "mark": "snapshot",
    "tour": {"step": 4, "asks": True},
}


async def post(path: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = await AsyncClient().post(path, json.dumps(body), content_type="application/json")
    return answer.status_code, json.loads(answer.content)


async def begun(made: Any) -> str:
    """Presents the lab and returns its code."""
    status, body = await post(f"/labs/{made.lab.pk}/present/", token=made.token)
    assert status == 201 and body["url"] == f"/join/{body['code']}/"
    return body["code"]


async def presenting(made: Any) -> Page:
    """The presenter's page, which has sent what it shows."""
    page = Page(made.lab.pk, made.token)
    await page.open()
    await page.send({"type": "present", "by": "first", "shown": SHOWN})
    await page.until("presentation", lambda message: message["shown"] == SHOWN)
    return page


async def following(made: Any) -> Page:
    page = Page(made.lab.pk)
    await page.open()
    return page


async def test_followers_see_what_the_presenter_shows_and_cannot_control_it(made):
    code = await begun(made)
    presenter, follower, other = await presenting(made), await following(made), await following(made)
    for page in (follower, other):
        seen = await page.until("presentation", lambda message: message["here"])
        assert (seen["code"], seen["by"], seen["shown"]) == (code, "first", SHOWN)
    await presenter.until("presentation", lambda message: message["followers"] == 2)
    await presenter.seek(2_000_000)
    assert (await follower.frame(lambda frame: frame["at_us"] == 2_000_000))["branch"] == 0
    later = {**SHOWN, "lit": None, "tour": None}
    await presenter.send({"type": "present", "by": "first", "shown": later})
    assert await other.until("presentation", lambda message: message["shown"] == later)

    for message in (
        {"type": "present", "by": "thief", "shown": {}},
        {"type": "command", "id": 1, "command": {"do": "cluster.crash", "cluster": "a"}},
        {"type": "seek", "at_us": 1_000_000},
        {"type": "play"},
    ):
        await follower.send(message)
        assert (await follower.until("error"))["code"] == "not-owner"
    room = await current_hub().room(made.lab.pk)
    assert room.part.session.world.now_us == 2_000_000 and not room.part.session.playback.playing
    assert room.presentation["by"] == "first" and room.presentation["shown"] == later
    await other.close()
    await presenter.until("presentation", lambda message: message["followers"] == 1)
    for page in (presenter, follower):
        await page.close()


async def test_a_follower_explores_in_a_copy_that_affects_nobody(made):
    await begun(made)
    presenter, follower = await presenting(made), await following(made)
    await presenter.seek(3_000_000)
    status, own = await post(f"/labs/{made.lab.pk}/copy/", at_us=3_000_000)
    assert status == 201
    explorer = Page(own["id"], own["token"])
    await explorer.open()
    frame = await explorer.frame(lambda frame: frame["at_us"] == 3_000_000)
    assert frame["view"]["clusters"]["a"]["state"] == "up"
    assert (await explorer.command(do="cluster.crash", cluster="a"))["ok"]
    frame = await presenter.seek(3_500_000)
    assert frame["view"]["clusters"]["a"]["state"] == "up" and len(frame["branches"]) == 1
    assert await Presentation.objects.filter(lab_id=own["id"]).acount() == 0
    for page in (presenter, follower, explorer):
        await page.close()


async def ticks(made: Any, count: int) -> None:
    room = await current_hub().room(made.lab.pk)
    for _ in range(count):
        await room.part.tick()


async def test_followers_are_told_that_the_presenter_has_disconnected_and_is_back(made):
    await begun(made)
    presenter, follower = await presenting(made), await following(made)
    await presenter.close()
    await ticks(made, AWAY_TICKS)
    away = await follower.until("presentation", lambda message: not message["here"])
    assert away["shown"] == SHOWN, "followers keep what was shown"
    back = await presenting(made)
    assert await follower.until("presentation", lambda message: message["here"])
    for page in (back, follower):
        await page.close()


async def test_another_page_of_the_owner_takes_over(made):
    await begun(made)
    presenter, follower = await presenting(made), await following(made)
    second = Page(made.lab.pk, made.token)
    assert (await second.open())["owner"]
    await second.send({"type": "present", "by": "second", "shown": {"panel": "time"}})
    for page in (presenter, follower):
        assert await page.until("presentation", lambda message: message["by"] == "second")
    await second.close()
    await ticks(made, AWAY_TICKS)
    away = await follower.until("presentation", lambda message: not message["here"])
    assert away["by"] == "second", "the first page is connected, but it no longer presents"
    for page in (presenter, follower):
        await page.close()


async def test_a_presentation_survives_a_restart_and_ends_for_everybody(made):
    code = await begun(made)
    await (await presenting(made)).close()
    current_hub().stop("Restart.")
    follower = await following(made)
    assert (await follower.until("presentation"))["code"] == code
    assert (await post(f"/labs/{made.lab.pk}/present/", token=made.token))[1]["code"] == code
    assert await post(f"/labs/{made.lab.pk}/present/end/", token=made.token) == (200, {})
    assert (await follower.until("presentation", lambda message: message["code"] is None))["type"]
    assert await sync_to_async(views.find_lab)(code) is None
    owner = Page(made.lab.pk, made.token)
    await owner.open()
    await owner.send({"type": "present", "by": "first", "shown": {}})
    assert (await owner.until("error"))["code"] == "not-presented"
    for page in (owner, follower):
        await page.close()


@pytest.mark.parametrize("path", ["present/", "present/end/"])
async def test_only_the_owner_begins_and_ends_a_presentation(made, path):
    code = await begun(made)
    for token in ("wrong", None, 5):
        status, body = await post(f"/labs/{made.lab.pk}/{path}", token=token)
        assert (status, body["code"]) == (403, "not-owner")
    assert await sync_to_async(views.find_lab)(code) == made.lab.pk


async def test_a_presentation_ends_with_its_time():
    sent: list[dict[str, Any]] = []
    live = Presenting(sent.append, {"code": "BCDFGH", "ends_at": "soon", "left_s": 2}, {"code": None})
    live.second_passed()
    assert live.message["code"] == "BCDFGH"
    live.second_passed()
    assert live.message["code"] is None
    with pytest.raises(Refused):
        live.show("first", {})
    live.close()


@pytest.mark.parametrize(
    "shown",
    [
        {"other": 1},
        {"panel": "x" * 201},
        {"choices": {"colour": "red"}},
        {"lit": {"seq": -1}},
        {"lit": {"seq": 1, "marker": 2}},
        {"lit": {"message": ["web", "5"]}},
        {"item": {f"field{number}": 1 for number in range(9)}},
        {"item": {"flight": {"from": "a"}}},
        {"tour": {"step": 100, "asks": False}},
        {"tour": {"step": 1}},
        {"item": {f"{number}{'k' * 190}": "v" * 200 for number in range(8)}, "panel": "p" * 200}
        | {"choices": dict.fromkeys(("topic", "target", "group"), "c" * 200)},
    ],
)
def test_what_a_page_shows_has_bounds(shown):
    assert is_shown(SHOWN) and is_shown({}) and not is_shown(shown)


async def test_a_message_that_is_too_long_is_refused(made):
    await begun(made)
    presenter = await presenting(made)
    long = {f"{number}{'k' * 190}": "v" * 200 for number in range(8)}
    assert len(json.dumps(long)) < SHOWN_MOST, "each field alone is within its bounds"
    choices = dict.fromkeys(("topic", "target", "group"), "c" * 200)
    shown = {"item": long, "panel": "p" * 200, "choices": choices}
    await presenter.send({"type": "present", "by": "first", "shown": shown})
    assert f"{SHOWN_MOST:,} characters" in (await presenter.until("error"))["hint"]
    await presenter.close()


# --- predictions of a class


def named(number: int) -> str:
    """The name that a page has made: 12 letters from a to p."""
    return "".join(chr(ord("a") + number // 16**digit % 16) for digit in range(12))


def asking(step: int, **more: Any) -> dict[str, Any]:
    return {"tour": {"step": step, "asks": True, **more}}


@pytest.fixture
async def live() -> AsyncIterator[Presenting]:
    """A presentation whose step 4 asks for a prediction."""
    presentation = Presenting(lambda _: None, {"code": "BCDFGH", "ends_at": "", "left_s": 9}, {"code": None})
    presentation.show("first", asking(4))
    yield presentation
    presentation.close()


async def test_predictions_are_counted_and_shown_once_the_presenter_reveals_them(made):
    await begun(made)
    presenter = await presenting(made)
    followers = [await following(made) for _ in range(3)]
    for number, (page, guess) in enumerate(zip(followers, ("7", "192:-1", "7"), strict=True)):
        await page.send({"type": "predict", "by": named(number), "step": 4, "guess": guess})
    seen = await presenter.until("presentation", lambda message: message["predictions"]["answers"] == 3)
    assert seen["predictions"] == {"step": 4, "answers": 3, "counts": None, "others": 0}
    await presenter.send({"type": "present", "by": "first", "shown": asking(4, reveals=4)})
    for page in (presenter, *followers):
        seen = await page.until("presentation", lambda message: message["predictions"]["counts"])
        assert seen["predictions"]["counts"] == [["7", 2], ["192:-1", 1]]
        assert not any(named(number) in json.dumps(seen) for number in range(3)), "no name is sent"
    await followers[0].send({"type": "predict", "by": named(0), "step": 4, "guess": "9"})
    assert (await followers[0].until("error"))["code"] == "revealed"
    for page in (presenter, *followers):
        await page.close()


async def test_a_page_has_one_prediction_for_each_step(made, live):
    for guess in ("1", "2"):
        live.predict(named(0), 4, guess)
    live.show("first", asking(4, reveals=4))
    assert live.message["predictions"]["counts"] == [("2", 1)]
    await begun(made)
    presenter, page = await presenting(made), await following(made)
    for number in range(2):
        await page.send({"type": "predict", "by": named(number), "step": 4, "guess": "1"})
    assert (await page.until("error"))["code"] == "bad-message"
    await presenter.until("presentation", lambda message: message["predictions"]["answers"] == 1)
    for one in (presenter, page):
        await one.close()


def answers_of(live: Presenting) -> int:
    return live.message["predictions"]["answers"]


async def test_a_page_that_connects_again_under_new_names_counts_once(live):
    neighbour = Pages("school", 3, (named(100), named(101)))
    for number in (100, 101):
        live.predict(named(number), 4, "7", neighbour)
    live.predict(named(200), 4, "5", Pages("home", 1, (named(200),)))
    for number in range(50):  # one page of the school, each time with the two others still there
        live.predict(named(number), 4, "9", Pages("school", 3, (named(100), named(101), named(number))))
    assert answers_of(live) == 4
    live.show("first", asking(4, reveals=4))
    assert dict(live.message["predictions"]["counts"]) == {"7": 2, "5": 1, "9": 1}


async def test_phones_that_went_to_sleep_keep_their_predictions(live):
    for number in range(5):
        live.predict(named(number), 4, "7", Pages("school", 5, ()))
    live.predict(named(3), 4, "8", Pages("school", 1, (named(3),)))  # the only one awake changes its own
    assert answers_of(live) == 5


async def test_one_device_cannot_stuff_the_histogram_by_reconnecting(made):
    await begun(made)
    presenter = await presenting(made)
    for number in range(6):
        page = Page(made.lab.pk)
        page.socket.scope["client"] = ("203.0.113.9", 1)
        await page.open()
        await page.send({"type": "predict", "by": named(number), "step": 4, "guess": str(number)})
        await page.send({"type": "predict", "by": named(number + 50), "step": 4, "guess": "1"})
        assert (await page.until("error"))["code"] == "bad-message", "the first one has been handled"
        await page.close()
    await presenter.send({"type": "present", "by": "first", "shown": asking(4, reveals=4)})
    seen = await presenter.until("presentation", lambda message: message["predictions"]["counts"])
    assert seen["predictions"]["counts"] == [["5", 1]]
    await presenter.close()


async def test_predictions_of_a_presentation_are_limited(live, monkeypatch):
    monkeypatch.setattr(presentation, "PREDICTIONS_PER_STEP", 20)
    monkeypatch.setattr(presentation, "PREDICTIONS_MOST", 30)
    monkeypatch.setattr(presentation, "DISTINCT_SENT", 5)
    for number in range(20):
        live.predict(named(number), 4, str(number))
    with pytest.raises(Refused, match="20 pages have predicted here"):
        live.predict(named(20), 4, "1")
    live.predict(named(0), 4, "5"), "a page that has predicted may change it"
    live.show("first", asking(4, reveals=4))
    found = live.message["predictions"]
    assert len(found["counts"]) == 5 and found["others"] + sum(n for _, n in found["counts"]) == 20
    live.show("first", asking(6))
    for number in range(10):
        live.predict(named(number), 6, "1")
    with pytest.raises(Refused, match="30 in all"):
        live.predict(named(10), 6, "1")


async def test_predictions_are_taken_only_for_the_step_that_was_asked_last(live):
    with pytest.raises(Refused, match="does not ask"):
        live.predict(named(0), 5, "1")
    live.show("first", {"tour": {"step": 5, "asks": False}})
    live.predict(named(0), 4, "1"), "typed when the presenter went on"
    live.set(None)
    with pytest.raises(Refused, match="does not ask"):
        live.predict(named(0), 4, "1")
    live.set({"code": "CCCCCC", "ends_at": "", "left_s": 9})
    assert live.message["predictions"] is None, "another presentation begins without them"


async def test_another_process_that_takes_the_lab_over_asks_again(live):
    taken = Presenting(lambda _: None, {"code": "BCDFGH", "ends_at": "", "left_s": 9}, live.message)
    taken.predict(named(0), 4, "1")
    assert taken.message["predictions"]["answers"] == 1
    taken.close()


@pytest.mark.parametrize(
    "wrong",
    [{"by": "ada"}, {"by": "z" * 12}, {"step": 0}, {"step": 100}, {"guess": "1" * 10}, {"guess": "<b>"}]
    + [{"guess": "١"}, {"guess": 7}, {"guess": "1:2:3"}],
)
def test_what_a_page_predicts_has_bounds(wrong):
    right = {"by": named(0), "step": 4, "guess": "192:-1"}
    assert checked("predict", right) == right
    with pytest.raises(Refused):
        checked("predict", {**right, **wrong})


# --- links


def qr(path: str, origin: str, **extra: Any) -> Any:
    return Client(**extra).get(path, {"origin": origin})


def test_the_qr_code_of_a_room_is_that_of_its_link(settings):
    settings.SHARED_ADDRESS = "http://192.0.2.7:8000"
    settings.TRUSTED_ORIGINS = ["https://lab.example.org"]
    for origin in ("http://testserver", settings.SHARED_ADDRESS, *settings.TRUSTED_ORIGINS):
        answer = qr("/join/BCDFGH/qr.svg", origin)
        assert (answer.status_code, answer["Content-Type"]) == (200, "image/svg+xml")
        wanted = segno.make(f"{origin}/join/BCDFGH/", error="m", micro=False)
        path = re.search(rb' d="(M4[^"]+)"', answer.content)[1]
        assert path == re.search(rb' d="(M4[^"]+)"', wanted.svg_inline(border=4).encode())[1]
        assert f'viewBox="0 0 {wanted.symbol_size(border=4)[0]} '.encode() in answer.content


@pytest.mark.parametrize("origin", ["http://other.example", "", "javascript:alert(1)", "x" * 500])
def test_no_qr_code_leads_to_another_site(origin, settings):
    answer = qr("/join/BCDFGH/qr.svg", origin)
    assert answer.status_code == 400 and len(answer.content) < 500
    assert qr("/join/123/qr.svg", "http://testserver").status_code == 400


def test_the_page_gets_the_address_for_other_computers(presented, settings):
    settings.SHARED_ADDRESS = "http://192.0.2.7:8000"
    page = Client().get(f"/labs/{presented[1]}/").content.decode()
    assert 'data-shared-address="http://192.0.2.7:8000"' in page


@pytest.mark.parametrize("host", ["lab.test:8000", "192.0.2.9", "<b>x", "a" * 5_000])
def test_a_host_that_is_not_allowed_gets_a_page_that_names_the_setting(host, caplog):
    answer = Client().get("/", HTTP_HOST=host)
    page = answer.content.decode()
    assert answer.status_code == 400 and "script/server --lan" in page and "ALLOWED_HOSTS=" in page
    assert "<b>x" not in page and len(page) < 4_000
    assert [(line.levelname, line.exc_info) for line in caplog.records] == [("WARNING", None)]
    assert len(caplog.text) < 400


# --- room codes


@pytest.fixture
def presented(transactional_db: Any) -> tuple[str, str]:
    """The code and id of a presented lab."""
    lab = new_lab({"yaml": SCENARIO}).lab
    return views.open_presentation(lab).code, lab.pk


@pytest.fixture
def at_address() -> Iterator[Callable[[str], Any]]:
    """Sets the address that the next requests count for."""
    before = clients.client.set("")
    yield clients.client.set
    clients.client.reset(before)


@pytest.fixture
def wrong_codes(monkeypatch: pytest.MonkeyPatch) -> WrongCodes:
    """Wrong codes counted for this test alone, by a clock that the test moves."""
    counted = WrongCodes(now=lambda: counted.now_s)  # type: ignore[attr-defined]
    counted.now_s = 0.0  # type: ignore[attr-defined]
    monkeypatch.setattr(views, "wrong_codes", counted)
    return counted


def test_a_code_leads_to_the_lab_however_it_is_typed(presented, wrong_codes):
    code, lab_id = presented
    typed = (code, code.lower(), f"{code[:3]} {code[3:]}", f" {code[:3]}-{code[3:].lower()} ")
    for path in [f"/join/{code}/", *(f"/join/?code={one}" for one in typed)]:
        answer = Client().get(path)
        assert (answer.status_code, answer["Location"]) == (302, f"/labs/{lab_id}/")
        assert answer["Cache-Control"] == "no-store"
    assert Client().get("/join/").status_code == 200


def test_codes_have_only_letters_that_are_not_confused():
    assert not set(CODE_LETTERS) & set("AEIOULNS0123456789")
    assert {code_of(new_code()) != "" for _ in range(100)} == {True}
    for typed in ("BCDFG", "BCDFGHJ", "BCDFG1", "BCDFGA", "<b>"):
        answer = Client().get("/join/", {"code": typed})
        assert answer.status_code == 400 and "6 of the letters" in answer.content.decode()
        assert "<b>" not in answer.content.decode().replace('<b data-part="', "")


def test_expired_and_wrong_codes_find_nothing(presented, wrong_codes):
    code, lab_id = presented
    assert Client().get("/join/ZZZZZZ/").status_code == 404
    Presentation.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    answer = Client().get(f"/join/{code}/")
    assert answer.status_code == 404 and "whether the presentation has ended" in answer.content.decode()
    again = views.open_presentation(Lab.objects.get(pk=lab_id))
    assert again.code != code and Presentation.objects.count() == 1, "the expired one is deleted"


def test_an_address_gives_at_most_so_many_wrong_codes(presented, wrong_codes, at_address):
    code, _lab_id = presented
    at_address("203.0.113.9")
    for _ in range(WRONG_CODES):
        assert Client().get("/join/ZZZZZZ/").status_code == 404
    answer = Client().get(f"/join/{code}/")
    assert answer.status_code == 429 and f"{WRONG_CODES} wrong codes" in answer.content.decode()
    at_address("203.0.113.10")
    assert Client().get(f"/join/{code}/").status_code == 302
    at_address("203.0.113.9")
    wrong_codes.now_s = WRONG_CODES_S  # type: ignore[attr-defined]
    assert Client().get(f"/join/{code}/").status_code == 302


def test_wrong_codes_are_counted_for_a_limited_number_of_addresses(wrong_codes):
    for number in range(ADDRESSES + 5):
        wrong_codes.add(f"10.{number >> 8}.{number & 255}.1")
    assert len(wrong_codes._counted) == ADDRESSES


@pytest.mark.parametrize(
    ("address", "other", "most"),
    [
        ("10.1.2.{:d}", "10.1.3.1", 240),  # hosts of one IPv4 /24
        ("2001:db8:7:1{:02x}::/64", "2001:db8:7:200::/64", 240),  # networks of one household's IPv6 /56
        ("2001:db8:7:{:x}00::/64", "2001:db8:8::/64", 600),  # households of one customer's IPv6 /48
    ],
)
def test_the_networks_of_one_owner_give_so_many_wrong_codes_together(wrong_codes, address, other, most):
    given = 0
    with pytest.raises(Refused, match=f"{most} wrong codes came from your network"):
        for number in range(254):
            for _ in range(4):
                wrong_codes.check(address.format(number + 1))
                wrong_codes.add(address.format(number + 1))
                given += 1
    assert given == most
    wrong_codes.check(other)


def test_presentations_of_an_address_and_of_a_site_are_limited(transactional_db, monkeypatch, at_address):
    labs = [new_lab({"yaml": SCENARIO}).lab for _ in range(4)]
    monkeypatch.setattr(views, "PRESENTATIONS_PER_CLIENT", 2)
    monkeypatch.setattr(views, "PRESENTATIONS", 3)
    at_address("203.0.113.9")
    first = [views.open_presentation(lab).code for lab in labs[:2]]
    assert views.open_presentation(labs[0]).code == first[0], "an open one is found again"
    with pytest.raises(Refused, match="2 labs are presented from your address"):
        views.open_presentation(labs[2])
    at_address("203.0.113.10")
    views.open_presentation(labs[2])
    with pytest.raises(Refused, match="3 labs are presented on this site"):
        views.open_presentation(labs[3])
    views.close_presentation(labs[0])
    views.open_presentation(labs[3])
    labs[3].delete()
    assert Presentation.objects.count() == 2, "a deleted lab is no longer presented"
