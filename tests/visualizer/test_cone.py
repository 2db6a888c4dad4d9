"""Questions of the page's space-time diagram.

The causal cone of a row, message or marker, and the rows of a time window.
"""

from __future__ import annotations

import pytest

from visualizer.questions import rows


def descendants(world, seq: int) -> list[int]:
    """Computed in the plain way: follow the causes of every later row and check whether they include
    `seq`.
    """
    found = []
    for row in world.trace.rows(seq + 1):
        at = row
        while "cause_seq" in at and at["cause_seq"] > seq:
            at = world.trace.row(at["cause_seq"])
        if at.get("cause_seq") == seq:
            found.append(row["seq"])
    return found


async def test_a_cone_has_the_chain_of_causes_and_all_effects_of_the_row(ask, world):
    seq = world.trace.rows(types=["snapshot.requested"])[0]["seq"]
    status, body = await ask(f"cone.json?seq={seq}")
    assert status == 200 and body["row"] == world.trace.row(seq)
    assert "cause_seq" not in ([body["row"], *body["back"]])[-1]
    expected = descendants(world, seq)
    assert expected and [row["seq"] for row in body["forward"]] == expected[: rows.FORWARD_ROWS]
    assert body["more"] is (len(expected) > rows.FORWARD_ROWS)


async def test_a_message_and_a_marker_are_represented_by_their_first_row(ask, world):
    published = world.trace.rows(types=["message.published"])[3]
    _, body = await ask(f"cone.json?producer={published['producer']}&number={published['sequence_id']}")
    assert body["row"] == published
    assert {"message.stored", "message.delivered"} <= {row["type"] for row in body["forward"]}
    written = world.trace.rows(types=["marker.written"])[1]
    _, body = await ask(f"cone.json?marker={written['marker']}")
    assert body["row"] == written


async def test_a_long_cone_is_truncated_and_marked_as_such(ask, monkeypatch):
    monkeypatch.setattr(rows, "FORWARD_ROWS", 3)
    _, body = await ask("cone.json?seq=0")
    assert len(body["forward"]) == 3 and body["more"] is True


@pytest.mark.parametrize(
    "path",
    ["cone.json", "cone.json?seq=1&marker=1", "cone.json?producer=web", "passages.json?from_us=9&to_us=9"],
)
async def test_an_invalid_question_is_refused_with_a_reason(ask, path):
    status, body = await ask(path)
    assert status == 400 and body["hint"]


async def test_a_question_about_a_later_row_is_refused_with_a_reason(ask):
    for path in ("cone.json?seq=99999999", "cone.json?producer=nobody&number=1", "cone.json?marker=99999"):
        status, body = await ask(path)
        assert status == 404 and body["error"], path


async def test_a_time_window_has_its_rows(ask, world):
    _, body = await ask("passages.json?from_us=2000000&to_us=4000000")
    expected = [
        row
        for row in world.trace.rows(types=world.protocol.live.passages.listed)
        if 2_000_000 <= row["at_us"] <= 4_000_000
    ]
    assert expected and body["rows"] == expected and body["count"] == len(expected)


async def test_a_crowded_window_is_counted_with_each_sent_row_once(ask, world, monkeypatch):
    monkeypatch.setattr(rows, "LISTED_ROWS", 5)
    _, body = await ask("passages.json?from_us=0&to_us=6000000")
    assert "rows" not in body
    for link, kinds in body["bins"]["counts"].items():
        source, target = link.split(" -> ")
        for kind, numbers in kinds.items():
            sent = [
                row
                for row in world.trace.rows(types=["marker.sent"])
                if (row["cluster"], row["peer"], row["reason"]) == (source, target, kind)
            ]
            assert sum(numbers) == len(sent) > 0
            place = sent[0]["at_us"] // body["bins"]["width_us"]
            assert numbers[place] > 0


async def test_landmarks_are_the_faults_failovers_and_ended_snapshots_of_the_whole_branch(ask, world):
    _, body = await ask("landmarks.json")
    ended = list(world.trace.rows(types=["snapshot.completed"]))
    assert ended and body["rows"] == [*ended] and body["branch"] == 0
