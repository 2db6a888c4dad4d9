"""The leader's reassignment rounds: which streams are revoked, granted, found and removed."""

import pytest

from simulator.protocols.emqx.leader import Assigned, Dropped, Leader, Send
from simulator.protocols.emqx.protocol import (
    END,
    FREE,
    GRANTING,
    LEADER_GRANTED,
    LEADER_REVOKING,
    REVOKED_STATE,
    Message,
    Progress,
)
from simulator.protocols.emqx.storage import RankProgress
from tests.emqx.leaders import NOW, OTHER, TIMEOUT, F, listed


def settled(streams, borrowers):
    """A leader whose first borrower has all streams, granted; the others have just joined."""
    one = Leader(1, "g", {}, RankProgress(), TIMEOUT, lambda count: 0)
    one.round(listed(streams), lambda name: 0)
    for number in range(borrowers):
        who = (f"b{number}", 0, 0)
        one.receive(NOW, Message("leader-wanted", "g", who))
        for name in one.owned[who]:
            one.streams[name].state = LEADER_GRANTED
    return one


def granted(streams, owners, choose=lambda count: 0):
    """A leader with the streams s0, s1 and so on, some of them granted (by owner: the numbers of its streams)."""
    one = Leader(1, "g", {}, RankProgress(), TIMEOUT, choose)
    one.round(listed(streams), lambda name: 0)
    for who, numbers in owners.items():
        one.borrowers[who] = NOW + TIMEOUT
        one.owned[who] = {f"s{number}": None for number in numbers}
        for number in numbers:
            one.streams[f"s{number}"].owner, one.streams[f"s{number}"].state = who, LEADER_GRANTED
    return one


def told_of(effects):
    """(borrower, kind, stream) of the messages among the effects."""
    return [(one.borrower[0], one.kind, one.stream) for one in effects if isinstance(one, Send)]


def test_a_grant_and_its_revokes_have_one_epoch_and_the_next_grant_another():
    one = settled(2, 2)
    (revoke,) = [effect for effect in one.round(listed(2), lambda name: 0) if isinstance(effect, Send)]
    (again,) = one.periodical(NOW)
    assert again == revoke and revoke.epoch == one.streams[revoke.stream].epoch
    one.receive(
        NOW,
        Message("update-progress", "g", ("b0", 0, 0), 0, revoke.stream, (Progress(revoke.stream, 0, True),)),
    )
    one.receive(NOW, Message("revoke-finished", "g", ("b0", 0, 0), 0, revoke.stream))
    (grant,) = [effect for effect in one.round(listed(2), lambda name: 0) if isinstance(effect, Send)]
    assert grant.kind == "grant" and grant.epoch > revoke.epoch


@pytest.mark.parametrize(
    "streams, borrowers, targets",
    [
        (7, 3, [3, 2, 2]),
        (3, 2, [2, 1]),
        (4, 2, [2, 2]),
        (6, 3, [2, 2, 2]),
        (2, 5, [1, 1, 0, 0, 0]),
        (0, 2, [0, 0]),
    ],
)
def test_targets_differ_by_at_most_one_and_the_lowest_borrowers_get_the_remainder(
    streams, borrowers, targets
):
    assert list(settled(streams, borrowers).targets().values()) == targets


def test_a_round_revokes_what_is_too_much_and_skips_who_is_not_stable():
    one = settled(7, 3)
    effects = one.round(listed(7), lambda name: 0)
    assert sorted(effect.kind for effect in effects if isinstance(effect, Send)) == ["revoke"] * 4, (
        "nothing is free yet"
    )
    assert one.round(listed(7), lambda name: 0) == [], "b0 is not stable, and nothing is free"
    for name in [name for name, stream in one.streams.items() if stream.state == LEADER_REVOKING]:
        one.receive(NOW, Message("update-progress", "g", ("b0", 0, 0), 0, name, (Progress(name, 4, True),)))
        one.receive(NOW, Message("revoke-finished", "g", ("b0", 0, 0), 0, name))
    grants = [effect for effect in one.round(listed(7), lambda name: 0) if isinstance(effect, Send)]
    assert [effect.borrower[0] for effect in grants] == ["b1", "b1", "b2", "b2"] and {
        effect.progress[0].position for effect in grants
    } == {4}


def test_a_stream_that_storage_does_not_list_any_more_is_taken_back_without_asking():
    one = settled(2, 1)
    effects = one.round(listed(1), lambda name: 0)
    assert Send(("b0", 0, 0), "revoked", "s1") in effects and one.streams["s1"].state == REVOKED_STATE


def test_without_a_borrower_there_is_no_target_and_nothing_is_granted():
    one = granted(3, {})
    assert one.targets() == {} and one.round(listed(3), lambda name: 0) == []


def test_a_stream_read_to_its_end_is_not_shared_out():
    one = granted(3, {F: [0, 1], OTHER: [2]})
    one.receive(NOW, Message("update-progress", "g", F, 0, "s0", (Progress("s0", END, False),)))
    assert one.targets() == {F: 1, OTHER: 1}


@pytest.mark.parametrize(
    "streams, grants",
    [(4, [("f", "s2"), ("o", "s3")]), (6, [("f", "s2"), ("f", "s3"), ("o", "s4"), ("o", "s5")])],
)
def test_a_round_grants_what_a_borrower_lacks(streams, grants):
    one = granted(streams, {F: [0], OTHER: [1]})
    found = told_of(one.round(listed(streams), lambda name: 0))
    assert found == [(who, "grant", name) for who, name in grants]


def test_who_is_not_stable_is_granted_nothing_and_loses_nothing():
    """F has two too many, but one of them is still being granted; OTHER has joined."""
    one = granted(4, {F: [0, 1, 2, 3], OTHER: []})
    one.streams["s3"].state = GRANTING
    assert not one.stable(F) and one.stable(OTHER) and one.round(listed(4), lambda name: 0) == []
    one = granted(4, {F: [0], OTHER: [1]})
    one.streams["s0"].state = GRANTING
    assert told_of(one.round(listed(4), lambda name: 0)) == [("o", "grant", "s2")]


def test_streams_are_drawn_one_by_one_until_all_that_are_left_are_wanted():
    drawn = []

    def last(count):
        drawn.append(count)
        return count - 1

    one = granted(5, {F: [], OTHER: []}, last)
    found = told_of(one.round(listed(5), lambda name: 0))
    assert [name for _who, _kind, name in found] == ["s4", "s3", "s2", "s0", "s1"]
    assert drawn == [5, 4, 3], "the other two are all that is left for OTHER"


def test_each_grant_has_the_next_epoch():
    one = granted(3, {F: []})
    grants = [effect for effect in one.round(listed(3), lambda name: 0) if isinstance(effect, Send)]
    assert [grant.epoch for grant in grants] == [1, 2, 3]


def test_a_new_stream_begins_where_the_group_does_and_a_known_one_keeps_its_position():
    one = granted(1, {F: [0]})
    one.receive(NOW, Message("update-progress", "g", F, 0, "s0", (Progress("s0", 8, False),)))
    one.round(listed(2), lambda name: {"s0": 70, "s1": 71}[name])
    assert {name: stream.position for name, stream in one.streams.items()} == {"s0": 8, "s1": 71}


def test_a_stream_without_an_owner_that_storage_does_not_list_any_more_is_removed():
    one = granted(2, {})
    assert one.round(listed(1), lambda name: 0) == [] and list(one.streams) == ["s0"]


@pytest.mark.parametrize("state", [GRANTING, LEADER_GRANTED, LEADER_REVOKING])
def test_a_stream_that_storage_does_not_list_any_more_is_taken_back_in_every_state(state):
    one = granted(2, {F: [0, 1]})
    one.streams["s1"].state = state
    assert ("f", "revoked", "s1") in told_of(one.round(listed(1), lambda name: 0))


def test_a_stream_that_is_being_revoked_is_not_revoked_again():
    one = granted(2, {F: [0, 1]})
    assert told_of(one.round(listed(1), lambda name: 0)) == [("f", "revoked", "s1")]
    assert one.round(listed(1), lambda name: 0) == []


def test_a_borrower_that_is_dropped_frees_all_its_streams_in_order_of_assignment():
    one = granted(3, {F: [2, 0], OTHER: [1]})
    one.borrowers[OTHER] += 1
    assert one.periodical(NOW + TIMEOUT) == [
        Dropped(F, "expired"),
        Assigned("s2", F, FREE, 0),
        Assigned("s0", F, FREE, 0),
        Send(F, "invalidate"),
    ]
    assert F not in one.borrowers and F not in one.owned


def test_an_assignment_makes_no_move_that_its_table_does_not_have():
    one = granted(1, {F: [0]})
    one.streams["s0"].state = REVOKED_STATE
    with pytest.raises(AssertionError, match="s0: no move from revoked to granted"):
        one._move("s0", LEADER_GRANTED)
