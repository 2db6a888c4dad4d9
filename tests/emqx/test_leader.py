"""Every cell of the leader's table (`emqx_ds_shared_sub_leader`), and its ranks."""

import pytest

from simulator.protocols.emqx.leader import (
    Assigned,
    Died,
    Dropped,
    Joined,
    Leader,
    LeaderFaults,
    RoundRequested,
    Saved,
    Send,
)
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
from simulator.protocols.emqx.storage import Rank, RankProgress
from tests.emqx.leaders import NOW, OTHER, OWNED, TIMEOUT, F, invalidated, leader, listed, received, state_of


@pytest.mark.parametrize(
    "state, after",
    [(GRANTING, LEADER_GRANTED), (LEADER_GRANTED, LEADER_GRANTED), (LEADER_REVOKING, LEADER_REVOKING)],
)
def test_continued_progress_is_saved(state, after):
    one = leader(state, F)
    assert Saved("s", F, 5, 8) in one.receive(NOW, received("update-progress", 8))
    assert state_of(one) == (after, F, 8)


@pytest.mark.parametrize("state, after", [(GRANTING, LEADER_GRANTED), (LEADER_GRANTED, LEADER_GRANTED)])
def test_an_unrequested_last_progress_leaves_the_stream_granted(state, after):
    one = leader(state, F)
    one.receive(NOW, received("update-progress", 8, True))
    assert state_of(one) == (after, F, 8)


def test_the_last_progress_of_a_revoked_stream_is_confirmed():
    one = leader(LEADER_REVOKING, F)
    effects = one.receive(NOW, received("update-progress", 8, True))
    assert effects[-1] == Send(F, "revoked", "s") and state_of(one) == (REVOKED_STATE, F, 8)


def test_progress_without_an_owner_is_ignored():
    one = leader()
    assert one.receive(NOW, received("update-progress", 8)) == [] and state_of(one) == (FREE, None, 5)


@pytest.mark.parametrize("finished", [False, True])
def test_progress_after_revoked_is_ignored(finished):
    one = leader(REVOKED_STATE, F)
    assert one.receive(NOW, received("update-progress", 8, finished)) == [] and state_of(one)[2] == 5


@pytest.mark.parametrize("position", [8, END])
@pytest.mark.parametrize("state", OWNED)
def test_progress_of_a_stream_of_another_owner_invalidates(state, position):
    one = leader(state, OTHER)
    assert invalidated(one.receive(NOW, received("update-progress", position)))
    assert state_of(one) == (state, OTHER, 5) and F not in one.borrowers


@pytest.mark.parametrize("state", OWNED[:3])
def test_the_end_of_a_revoked_stream_is_confirmed_and_saved(state):
    one = leader(state, F)
    effects = one.receive(NOW, received("update-progress", END))
    assert effects[-1] == Send(F, "revoked", "s") and state_of(one) == (REVOKED_STATE, F, END)
    assert one.receive(NOW, received("revoke-finished")) == [Assigned("s", F, FREE, END)]
    assert state_of(one) is None, "it is not shared any more"


def test_as_shipped_the_end_of_a_stream_kills_the_leader_before_it_is_saved():
    one = leader(LEADER_GRANTED, F, faults=LeaderFaults(end_of_stream_kills=True))
    (death,) = one.receive(NOW, received("update-progress", END))
    assert isinstance(death, Died) and state_of(one)[2] == 5


@pytest.mark.parametrize(
    "state, owner", [(FREE, None), *((state, F) for state in OWNED[:3]), *((state, OTHER) for state in OWNED)]
)
def test_revoke_finished_out_of_turn_invalidates(state, owner):
    one = leader(state, owner)
    assert invalidated(one.receive(NOW, received("revoke-finished"))) and F not in one.borrowers


@pytest.mark.parametrize("state, owner", [(FREE, None), *((state, OTHER) for state in OWNED)])
def test_a_duplicate_revoke_finished_changes_nothing_when_repaired(state, owner):
    """For a stream that the borrower owns and that is not revoked it is still invalidated: it released
    what the leader has as granted.
    """
    repaired = LeaderFaults(second_revoke_finished_invalidates=False)
    one = leader(state, owner, faults=repaired)
    assert (
        one.receive(NOW, received("revoke-finished")) == []
        and F in one.borrowers
        and state_of(one) == (state, owner, 5)
    )
    assert all(
        invalidated(leader(state, F, faults=repaired).receive(NOW, received("revoke-finished")))
        for state in OWNED[:3]
    )


def test_revoke_finished_frees_without_a_round():
    one = leader(REVOKED_STATE, F)
    assert one.receive(NOW, received("revoke-finished")) == [Assigned("s", F, FREE, 5)]


@pytest.mark.parametrize("state", OWNED)
def test_disconnect_with_the_stream_saves_its_progress(state):
    one = leader(state, F)
    effects = one.receive(NOW, received("disconnect", 9, True))
    assert effects == [
        Saved("s", F, 5, 9),
        Assigned("s", F, FREE, 9),
        Dropped(F, "disconnected"),
        RoundRequested(False),
    ]
    assert state_of(one) == (FREE, None, 9) and F not in one.borrowers


@pytest.mark.parametrize("state", OWNED)
def test_disconnect_without_the_stream_frees_it_unchanged(state):
    one = leader(state, F)
    effects = one.receive(NOW, received("disconnect"))
    assert Assigned("s", F, FREE, 5) in effects and not any(
        isinstance(effect, RoundRequested) for effect in effects
    )


@pytest.mark.parametrize("owner", [None, OTHER])
def test_disconnect_saves_no_progress_of_streams_of_other_owners(owner):
    one = leader(LEADER_GRANTED if owner else FREE, owner)
    one.receive(NOW, received("disconnect", 9, True))
    assert state_of(one)[1:] == (owner, 5)


def test_ping_is_answered_and_extends_the_deadline():
    one = leader()
    assert (
        one.receive(NOW, received("ping")) == [Send(F, "ping-response")] and one.borrowers[F] == NOW + TIMEOUT
    )


@pytest.mark.parametrize(
    "kind, position", [("ping", None), ("update-progress", 8), ("revoke-finished", None)]
)
def test_an_unknown_or_expired_borrower_is_invalidated(kind, position):
    one = leader(LEADER_GRANTED, F)
    assert invalidated(one.receive(NOW + TIMEOUT, received(kind, position))) and state_of(one) == (
        FREE,
        None,
        5,
    )
    one = leader()
    del one.borrowers[F], one.owned[F]
    assert invalidated(one.receive(NOW, received(kind, position)))


def test_disconnect_of_an_expired_borrower_counts_and_of_an_unknown_one_does_nothing():
    one = leader(LEADER_GRANTED, F)
    one.receive(NOW + TIMEOUT, received("disconnect", 9))
    assert state_of(one)[2] == 9
    one = leader()
    del one.borrowers[F], one.owned[F]
    assert one.receive(NOW, received("disconnect", 9)) == []


def test_connect_registers_and_grants_free_streams_instead_of_an_answer():
    one = Leader(1, "g", {"s": (Rank(0, 1), 5)}, RankProgress(), TIMEOUT, lambda count: 0)
    effects = one.receive(NOW, received("leader-wanted"))
    assert (
        effects[0] == Joined(F)
        and effects[-1] == Send(F, "grant", "s", (Progress("s", 5, False),), 1)
        and len(effects) == 3
    )
    assert one.receive(NOW, received("leader-wanted", who=OTHER)) == [
        Joined(OTHER),
        Send(OTHER, "leader-connect-response"),
    ]
    assert (
        one.receive(NOW + 1, received("leader-wanted")) == [Send(F, "leader-connect-response")]
        and one.borrowers[F] == NOW + TIMEOUT
    ), "not renewed"


@pytest.mark.parametrize("rewinds, kept", [(False, 5), (True, 3)])
def test_an_older_progress_rewinds_only_as_shipped(rewinds, kept):
    one = leader(LEADER_GRANTED, F, faults=LeaderFaults(progress_rewinds=rewinds))
    one.receive(NOW, received("update-progress", 3))
    assert state_of(one)[2] == kept


@pytest.mark.parametrize(
    "state, kind", [(GRANTING, "grant"), (LEADER_REVOKING, "revoke"), (REVOKED_STATE, "revoked")]
)
def test_unanswered_messages_are_sent_again(state, kind):
    one = leader(state, F)
    assert [effect.kind for effect in one.periodical(NOW)] == [kind]
    assert leader(LEADER_GRANTED, F).periodical(NOW) == []


def test_a_borrower_that_does_not_ping_is_dropped():
    one = leader(LEADER_GRANTED, F)
    one.borrowers[OTHER] += 1
    assert one.periodical(NOW + TIMEOUT) == [
        Dropped(F, "expired"),
        Assigned("s", F, FREE, 5),
        Send(F, "invalidate"),
    ]


def test_rounds_after_a_disconnect_multiply_only_as_shipped():
    for shipped, asked in ((False, [RoundRequested(False)]), (True, [RoundRequested(True)] * 2)):
        one = Leader(
            1, "g", {}, RankProgress(), TIMEOUT, lambda count: 0, LeaderFaults(rounds_multiply=shipped)
        )
        one.round(listed(2), lambda name: 0)
        one.receive(NOW, Message("leader-wanted", "g", F))
        effects = one.receive(
            NOW, Message("disconnect", "g", F, 0, None, (Progress("s0", 0, True), Progress("s1", 0, True)))
        )
        assert [effect for effect in effects if isinstance(effect, RoundRequested)] == asked


# --- ranks


def test_a_generation_is_passed_when_all_of_it_is_read_except_the_last_known_one():
    ranks = RankProgress()
    first, second = [("a", Rank(0, 1)), ("b", Rank(0, 1))], [("c", Rank(0, 2))]
    assert ranks.unread(first) == ["a", "b"]
    ranks.set_replayed("a", Rank(0, 1))
    ranks.set_replayed("b", Rank(0, 1))
    assert ranks.passed == {0: 0} and ranks.unread(first) == []
    assert ranks.unread(first + second) == ["c"] and ranks.passed == {0: 1}
    assert ranks.unread([("late", Rank(0, 1)), *second]) == ["c"], (
        "a stream that appears in a passed generation is never read"
    )


def test_later_generations_are_not_held_back():
    assert RankProgress().unread([("a", Rank(0, 1)), ("c", Rank(0, 2))]) == ["a", "c"]


def test_as_shipped_the_last_generation_is_dropped_once_it_is_read():
    ranks = RankProgress(forgets=True)
    ranks.unread([("a", Rank(0, 1))])
    ranks.set_replayed("a", Rank(0, 1))
    assert ranks.unread([("a", Rank(0, 1))]) == ["a"]
