"""Messages to a leader about unknown streams, the ends of streams, equal positions, and at deadlines."""

import pytest

from simulator.protocols.emqx.leader import (
    Assigned,
    Assignment,
    Died,
    Dropped,
    LeaderFaults,
    RoundRequested,
    Saved,
    Send,
)
from simulator.protocols.emqx.protocol import (
    END,
    FREE,
    LEADER_GRANTED,
    REVOKED_STATE,
    Message,
    Progress,
)
from simulator.protocols.emqx.storage import Rank
from tests.emqx.leaders import NOW, TIMEOUT, F, invalidated, leader, received, state_of


def about_another_stream(kind, progress=()):
    return Message(kind, "g", F, 0, "unknown", progress)


def test_progress_of_an_unknown_stream_is_ignored():
    one = leader(LEADER_GRANTED, F)
    message = about_another_stream("update-progress", (Progress("unknown", 8, False),))
    assert one.receive(NOW, message) == [] and state_of(one) == (LEADER_GRANTED, F, 5)


def test_revoke_finished_of_an_unknown_stream_invalidates_only_as_shipped():
    assert invalidated(leader().receive(NOW, about_another_stream("revoke-finished")))
    repaired = leader(faults=LeaderFaults(second_revoke_finished_invalidates=False))
    assert repaired.receive(NOW, about_another_stream("revoke-finished")) == []


def test_a_disconnect_that_lists_an_unknown_stream_frees_only_the_borrowers_own():
    one = leader(LEADER_GRANTED, F)
    listed = (Progress("unknown", 3, True), Progress("s", 9, True))
    effects = one.receive(NOW, about_another_stream("disconnect", listed))
    assert effects == [
        Saved("s", F, 5, 9),
        Assigned("s", F, FREE, 9),
        Dropped(F, "disconnected"),
        RoundRequested(False),
    ]


def test_a_disconnect_that_lists_the_end_of_a_stream_removes_it():
    one = leader(LEADER_GRANTED, F)
    effects = one.receive(NOW, received("disconnect", END, True))
    assert effects == [
        Saved("s", F, 5, END),
        Assigned("s", F, FREE, END),
        Dropped(F, "disconnected"),
        RoundRequested(False),
    ]
    assert state_of(one) is None
    assert one.round([("s", Rank(0, 1))], lambda name: 0) == [] and state_of(one) is None, (
        "marked as replayed"
    )


def test_as_shipped_a_disconnect_that_lists_the_end_of_a_stream_kills_the_leader():
    """What the disconnect listed before that stream is saved and freed."""
    one = leader(LEADER_GRANTED, F, faults=LeaderFaults(end_of_stream_kills=True))
    one.streams["t"] = Assignment(Rank(1, 1), 5)
    one.streams["t"].owner, one.streams["t"].state = F, LEADER_GRANTED
    one.owned[F]["t"] = None
    listed = (Progress("s", 9, True), Progress("t", END, True))
    *saved, death = one.receive(NOW, about_another_stream("disconnect", listed))
    assert saved == [Saved("s", F, 5, 9), Assigned("s", F, FREE, 9)] and isinstance(death, Died)
    assert one.streams["t"].position == 5


def test_a_leader_that_the_end_of_a_stream_would_kill_takes_every_other_progress():
    one = leader(LEADER_GRANTED, F, faults=LeaderFaults(end_of_stream_kills=True))
    assert one.receive(NOW, received("update-progress", 8)) == [Saved("s", F, 5, 8)]
    assert one.receive(NOW, received("disconnect", 9, True))[0] == Saved("s", F, 8, 9)


def test_a_stream_read_to_its_end_is_removed_even_if_its_mark_was_forgotten():
    """With the fault `forgets`, the marks of the last known generation go when all of it is read."""
    one = leader(LEADER_GRANTED, F)
    one.ranks.forgets = True
    one.receive(NOW, received("update-progress", END))
    assert not one.ranks.replayed("s", Rank(0, 1))
    one.receive(NOW, received("revoke-finished"))
    assert state_of(one) is None


def test_a_stream_marked_as_replayed_is_removed_even_if_its_position_was_rewound():
    one = leader(LEADER_GRANTED, F, faults=LeaderFaults(progress_rewinds=True))
    one.receive(NOW, received("update-progress", END))
    effects = one.receive(NOW, received("disconnect", 3, True))
    assert effects[:2] == [Saved("s", F, END, 3), Assigned("s", F, FREE, 3)] and state_of(one) is None


@pytest.mark.parametrize("rewinds, saved", [(False, [1001]), (True, [999, 1001])])
def test_a_progress_equal_to_the_saved_one_is_not_saved_again(rewinds, saved):
    for position in range(999, 1002):
        one = leader(LEADER_GRANTED, F, 1000, LeaderFaults(progress_rewinds=rewinds))
        effects = one.receive(NOW, received("update-progress", position))
        assert effects == ([Saved("s", F, 1000, position)] if position in saved else [])


def test_without_faults_an_older_progress_is_not_saved():
    one = leader(LEADER_GRANTED, F)
    assert one.receive(NOW, received("update-progress", 3)) == [] and state_of(one)[2] == 5


@pytest.mark.parametrize("late_us", [0, 1, TIMEOUT])
def test_a_message_at_the_deadline_or_after_it_is_too_late(late_us):
    one = leader()
    assert one.receive(NOW + TIMEOUT + late_us, received("ping"))[0] == Dropped(F, "expired")
    one = leader(LEADER_GRANTED, F)
    assert one.periodical(NOW + TIMEOUT + late_us)[0] == Dropped(F, "expired")


def test_a_message_just_before_the_deadline_is_in_time():
    one = leader(LEADER_GRANTED, F)
    assert one.periodical(NOW + TIMEOUT - 1) == []
    assert one.receive(NOW + TIMEOUT - 1, received("ping")) == [Send(F, "ping-response")]


def test_who_is_unknown_is_dropped_as_unknown():
    one = leader()
    assert one.receive(NOW, received("ping", who=("new", 0, 0)))[0] == Dropped(("new", 0, 0), "unknown")


def test_a_revoked_names_no_grant():
    one = leader(REVOKED_STATE, F)
    one.streams["s"].epoch = 7
    (message,) = one.periodical(NOW)
    assert message.epoch == 0 and message.progress == ()


def test_a_borrower_is_known_by_its_id_in_every_message():
    """An id that is equal, not the same object: what two messages bear."""
    one = leader(LEADER_GRANTED, F)
    effects = one.receive(NOW, received("disconnect", 9, True, who=(*F,)))
    assert effects[0] == Saved("s", F, 5, 9)


@pytest.mark.parametrize("who", [("a", 0, 0), ("z", 0, 0)])
def test_progress_of_anothers_stream_invalidates_lower_and_higher_ids(who):
    one = leader(LEADER_GRANTED, F)
    one.borrowers[who], one.owned[who] = NOW + TIMEOUT, {}
    effects = one.receive(NOW, received("update-progress", 8, who=who))
    assert effects[-1] == Send(who, "invalidate") and state_of(one) == (LEADER_GRANTED, F, 5)
