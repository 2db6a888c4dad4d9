"""The checks of durable shared subscriptions.

Each passes where the rules hold, and each is broken by a mutation of its rule.
"""

import pytest

from simulator.checks.checks import Checks
from simulator.protocols.emqx import checks as checks
from simulator.protocols.emqx import leader, protocol
from simulator.protocols.emqx.borrower import Agent, Borrower
from simulator.protocols.emqx.protocol import GRANTING, Progress
from simulator.protocols.emqx.session import Session
from simulator.protocols.emqx.system import Emqx
from tests.emqx.group_runs import open_world

BODY = """
settings: {n_shards: 2, leader_heartbeat_interval: 1s}
nodes: {n: {}}
groups: {g: {filter: "t/#"}}
publishers: {p: {topic: t, start: 1s, every: 50ms, stop: 9s}}
sessions:
  a: {node: n, subscriptions: ["$share/g/t/#"], processing: 40ms}
  b: {node: n, start: 3500ms, stop: 7s, subscriptions: ["$share/g/t/#"], processing: 40ms}
"""


APART = BODY.replace("nodes: {n: {}}", "nodes: {m: {}, n: {}}").replace("b: {node: n", "b: {node: m")
"""With two nodes a conflict over a stream takes time."""


def claims_broken(body=BODY, until="12s"):
    world = open_world(body, until=until)
    world.run()
    return {violation.claim for violation in world.violations}


def test_a_correct_run_has_no_violations():
    assert claims_broken() == set()


def test_tables_of_the_checks_agree_with_the_protocols():
    def states(moves):
        return {state: tuple(after) for state, after in moves.items()}

    assert states(protocol.ASSIGNMENT_MOVES) == checks.ASSIGNMENT
    assert states(protocol.LEASE_MOVES) == checks.LEASE
    assert {state: after for state, after in checks.BORROWER.items() if state} == states(
        protocol.BORROWER_MOVES
    )


def test_a_lease_that_is_never_released_is_detected(monkeypatch):
    note = Agent._note_lease
    monkeypatch.setattr(
        Agent,
        "_note_lease",
        lambda self, borrower, stream, position, state, cause: (
            cause if state == "absent" else note(self, borrower, stream, position, state, cause)
        ),
    )
    assert checks.LegalMoves.claim in claims_broken()


def test_a_leader_that_grants_an_owned_stream_is_detected(monkeypatch):
    def assign(self, who, count, free):
        effects = []
        for name in list(self.streams)[: max(count, 0)]:
            self.streams[name].owner, self.owned[who][name] = who, None
            effects += [self._move(name, GRANTING), self._send(name, self.streams[name])]
        return effects

    monkeypatch.setattr(leader.Leader, "_assign", assign)
    monkeypatch.setattr(
        leader,
        "ASSIGNMENT_MOVES",
        {state: tuple(protocol.ASSIGNMENT_MOVES) for state in protocol.ASSIGNMENT_MOVES},
    )
    monkeypatch.setattr(
        leader.Leader, "_free", lambda self, name: leader.Assigned(name, self.streams[name].owner, "free", 0)
    )
    assert checks.OneOwner.claim in claims_broken(APART)


def test_a_position_reported_inside_a_chunk_is_detected(monkeypatch):
    fetch = Session._fetch

    def fetch_and_report(self, reading):
        fetch(self, reading)
        if reading is not None and reading.blocked and reading.borrower is not None:
            self.agent.report(
                reading.borrower, [Progress(reading.stream, reading.end, False)], reading.chunk_seq
            )

    monkeypatch.setattr(Session, "_fetch", fetch_and_report)
    assert checks.PersistedAcknowledged.claim in claims_broken()


def test_a_skipped_message_is_detected(monkeypatch):
    fetch = Session._fetch

    def skip(self, reading):
        if reading is not None and not reading.blocked and not reading.released and reading.end == 3:
            reading.begin = reading.end = 4
        fetch(self, reading)

    monkeypatch.setattr(Session, "_fetch", skip)
    broken = claims_broken()
    assert checks.NothingPassedOver.claim in broken and checks.PersistedAcknowledged.claim in broken


JOINED = APART.replace(", stop: 7s", "")
"""A session joins and stays."""

GRANTS_LOST = (
    JOINED
    + """commands:
  - {at: 3s, do: protocol.lose, type: grant, session: b}
  - {at: 3s, do: protocol.lose, type: revoke-finished, session: a}
"""
)
"""The grant of b's first stream is lost, and so is the message that a released one."""

LEADERLESS = JOINED + "commands: [{at: 5s, do: leader.crash, group: g}]"


@pytest.mark.parametrize("body", (JOINED, GRANTS_LOST, LEADERLESS))
def test_a_settled_group_has_no_violations(body):
    assert claims_broken(body, until="80s") == set()


@pytest.mark.parametrize(
    "body",
    [
        JOINED.replace("settings: {", "settings: {leader_borrower_timeout: 2s, "),
        JOINED.replace(
            "leader_heartbeat_interval: 1s", "leader_heartbeat_interval: 20s, leader_claim_ttl: 8s"
        ),
        JOINED + "commands: [{at: 5s, do: link.slow, link: n <-> m, latency: 1500ms}]",
    ],
)
def test_nothing_is_claimed_where_pings_claims_or_answers_cannot_be_in_time(body):
    assert claims_broken(body, until="80s") == set()


def test_a_round_that_revokes_nothing_from_overloaded_borrowers_is_detected(monkeypatch):
    monkeypatch.setattr(leader.Leader, "_revoke", lambda self, who, count: [])
    assert claims_broken(JOINED, until="80s") == {checks.Settled.claim}


def test_a_leader_that_repeats_no_message_is_detected(monkeypatch):
    monkeypatch.setattr(leader, "TRANSIENT", ())
    assert claims_broken(GRANTS_LOST, until="80s") == {checks.Settled.claim}


def test_a_dead_leaders_claim_that_is_valid_for_too_long_is_detected(monkeypatch):
    setting = Emqx.setting
    monkeypatch.setattr(
        Emqx,
        "setting",
        lambda system, name: 120_000_000 if name == "leader_claim_ttl" else setting(system, name),
    )
    assert claims_broken(LEADERLESS, until="80s") == {checks.Settled.claim}


LATE = (
    BODY.replace("start: 3500ms, stop: 7s", "start: 2500ms, stop: 6s")
    + "commands: [{at: 2800ms, do: protocol.delay, type: revoke, by: 4500ms}]"
)
"""The stream moves to b and back; then the revoke by which a released it arrives a second time."""


def test_a_stream_left_unread_by_a_late_revoke_is_exempt_as_shipped():
    world = open_world(LATE, until="80s")
    world.run()
    assert world.violations == [] and world.view()["groups"]["g"]["stability"]["starved"] == 1
    (unread,) = [
        one for one in world.view()["groups"]["g"]["leaders"]["1"]["streams"].values() if "starved" in one
    ]
    assert unread["state"] == "granted" and unread["owner"] == "a/0"


def test_a_stream_left_unread_is_not_exempt_where_a_revoke_carries_an_epoch(monkeypatch):
    assert claims_broken("options: {revokeCarriesEpoch: true}\n" + LATE, until="80s") == set()
    monkeypatch.setattr(
        Borrower,
        "_revoke",
        lambda self, message, revoke=Borrower._revoke: revoke(
            self, message._replace(epoch=self.streams[message.stream].epoch)
        ),
    )
    assert claims_broken("options: {revokeCarriesEpoch: true}\n" + LATE, until="80s") == {
        checks.Settled.claim
    }


def test_a_revoke_without_a_round_is_detected(monkeypatch):
    """The leader revokes a stream and does not record it: what its owner then leaves unread is no late
    revoke.
    """

    def revoke(self, who, count):
        return [
            leader.Send(who, protocol.REVOKE, name, (), self.streams[name].epoch)
            for name in self._some(list(self.owned[who]), count)
        ]

    monkeypatch.setattr(leader.Leader, "_revoke", revoke)
    assert claims_broken(JOINED, until="80s") == {checks.Settled.claim}


def test_private_streams_do_not_exempt_a_group_from_the_check(monkeypatch):
    """Chunks of a private subscription are never reported, so they are no chunks that a client holds."""
    monkeypatch.setattr(leader.Leader, "_revoke", lambda self, who, count: [])
    own = JOINED.replace('subscriptions: ["$share/g/t/#"]', 'subscriptions: ["$share/g/t/#", own/x]').replace(
        "publishers: {", "publishers: {own: {topic: own/x, every: 500ms}, "
    )
    assert claims_broken(own, until="80s") == {checks.Settled.claim}


@pytest.mark.parametrize("rows", (1, 7, 100))
def test_the_result_does_not_depend_on_how_the_rows_were_cut(monkeypatch, rows):
    monkeypatch.setattr(leader.Leader, "_revoke", lambda self, who, count: [])
    world = open_world(JOINED, until="60s")
    world.run()
    pieces = Checks(world.scenario)
    for upto in range(rows, world.seq + rows, rows):
        pieces.read(world.trace, upto)
    assert pieces.violations == world.violations != []


@pytest.mark.parametrize("check", checks.GROUP_CHECKS)
def test_a_copy_of_a_check_is_independent(check):
    world = open_world(BODY)
    first = check(world.scenario)
    other = first.copy()
    for name in ("states", "owners", "reached", "above", "groups", "held"):
        if hasattr(first, name):
            getattr(first, name)[("x", "y")] = {1: None}
            assert getattr(other, name) == {}
