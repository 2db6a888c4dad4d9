"""The claims about tenants' migrations hold in every kind of run in the library, and a violated rule is
reported by the matching claim.
"""

import pytest

from simulator.protocols.pulsar.checks import migrations
from simulator.protocols.pulsar.checks.migrations import (
    CopiedBeforeDeleted,
    DrainedBeforeRedirect,
    MigrationStepsInOrder,
    ReceivedBeforeDeleted,
    SentWhereLookedUp,
)
from simulator.protocols.pulsar.client.consumer import Consumer
from simulator.protocols.pulsar.lookup import Brokers, LookupService
from simulator.protocols.pulsar.migration import blue_green
from simulator.protocols.pulsar.migration import run as machine
from simulator.protocols.pulsar.migration.steps import (
    AcknowledgementSync,
    CleanUp,
    Metadata,
    Switching,
    TopicData,
)
from tests.simulator.checked import claims_broken_in
from tests.simulator.test_blue_green import CHECKED, GREEN
from tests.simulator.test_migration import BACK, BASE, CLEAN_UP, PARTS, START, SWITCH, run

SENT, COPIED, RECEIVED, ORDERED, DRAINED = (
    check.claim
    for check in (
        SentWhereLookedUp,
        CopiedBeforeDeleted,
        ReceivedBeforeDeleted,
        MigrationStepsInOrder,
        DrainedBeforeRedirect,
    )
)
CUT = "at: 4900ms, do: link.cut, link: blue <-> green"
FORCED = SWITCH + ", force: true"
SOON = CLEAN_UP.replace("9s", "5500ms")


def broken_claims(*commands, **more):
    """Claims that a run breaks."""
    return claims_broken_in(run(*commands, **more))


@pytest.mark.parametrize(
    "commands, base",
    [
        ([START, SWITCH, CLEAN_UP], BASE),
        ([START, SWITCH, CLEAN_UP], PARTS),
        ([START, SWITCH, BACK], BASE),
        (GREEN, CHECKED),
        ([START, CUT, FORCED, SOON], BASE),
        ([START, CUT, FORCED, BACK], BASE),
        ([START + ", strategy: none", SWITCH, CLEAN_UP], BASE),
    ],
)
def test_a_correct_migration_has_no_violations(commands, base):
    assert broken_claims(*commands, base=base) == set()


def test_a_lookup_service_that_answers_with_an_old_map_is_detected(monkeypatch):
    monkeypatch.setattr(
        LookupService,
        "cluster_of",
        lambda self, base: self.runtime.scenario.tenants[self.tenant_of(base)].cluster,
    )
    assert broken_claims(START, SWITCH) == {SENT}


@pytest.mark.parametrize("client", [Consumer, Brokers])
def test_a_client_that_ignores_the_answer_of_its_lookup_is_detected(monkeypatch, client):
    found = client.found
    monkeypatch.setattr(client, "found", lambda self, cluster, cause: found(self, "blue", cause))
    assert broken_claims(START, SWITCH) == {SENT}


def test_clean_up_that_does_not_wait_for_the_copies_is_detected(monkeypatch):
    monkeypatch.setattr(CleanUp, "conditions", lambda self: [])
    held = BASE.replace("messages: [web/50]", "messages: [web/50, web/485]")  # published in blue, at 4.95 s
    assert broken_claims(START, CUT, FORCED, SOON, base=held) >= {COPIED, RECEIVED}


def test_clean_up_that_does_not_wait_for_acks_is_detected(monkeypatch):
    conditions = CleanUp.conditions
    monkeypatch.setattr(CleanUp, "conditions", lambda self: conditions(self)[:-1])
    assert broken_claims(START, SWITCH, SOON) == {RECEIVED}


def test_a_roll_back_that_cleans_up_at_once_is_detected(monkeypatch):
    for work in (AcknowledgementSync, TopicData, Metadata):
        monkeypatch.setattr(work, "undo_conditions", lambda self: [])
    held = BASE.replace("messages: [web/50]", "messages: [web/50, web/585]")  # published in green, at 5.95 s
    assert broken_claims(
        START, SWITCH, "at: 5900ms, do: link.cut, link: blue <-> green", BACK, base=held
    ) >= {COPIED, RECEIVED}


def test_the_checks_use_the_same_steps_as_the_state_machine():
    assert migrations.STEPS == machine.STEPS and migrations.NOT_OF == machine.SKIPPED_STEPS


def test_a_skipped_step_is_detected(monkeypatch):
    done = machine.ACTIONS["done"]

    def skips_a_step(self, now_us, words):
        effects = done(self, now_us, words)
        self.at += self.steps[self.at].name == machine.PROGRESS
        return effects

    monkeypatch.setitem(machine.ACTIONS, "done", skips_a_step)
    monkeypatch.setattr(Switching, "conditions", lambda self: [])
    assert ORDERED in broken_claims(START, SWITCH)


def test_a_roll_back_in_the_wrong_order_is_detected(monkeypatch):
    def first_things_first(self, now_us, words):
        self.at = min(number for number, step in enumerate(self.steps) if self._to_undo(step))
        return []

    monkeypatch.setitem(machine.ACTIONS, "roll-back", first_things_first)
    monkeypatch.setattr(Metadata, "undo_conditions", lambda self: [])
    assert ORDERED in broken_claims(START, SWITCH, BACK)


def test_a_consumer_redirected_before_its_subscription_is_drained_is_detected(monkeypatch):
    monkeypatch.setattr(blue_green, "drained", lambda subscription: True)
    assert DRAINED in broken_claims(*GREEN, base=CHECKED)


def test_steps_forced_by_an_operator_are_not_checked():
    slow = BASE.replace("processing: 1ms", "processing: 15ms")
    latest = START + ", startAt: latest"
    world = run(
        latest, FORCED, "at: 12s, do: migration.clean-up, tenant: acme, force: true", base=slow, until="20s"
    )
    assert world.summary()["failovers"][0]["lost"] > 0 and world.summary()["violations"] == []
