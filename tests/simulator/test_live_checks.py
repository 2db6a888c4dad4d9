"""Checks that keep up with a growing trace report the same as checks that read it from the start, in every
branch.
"""

from __future__ import annotations

from simulator import World
from simulator.branch import LiveChecks
from simulator.checks.checks import Checks
from simulator.protocols.pulsar.broker.subscription import Subscription
from simulator.trace import trace as trace_module


def read_from_the_start(world: World) -> list:
    checks = Checks(world.scenario)
    checks.read(world.trace, world.seq)
    return checks.violations


def broken_runs(monkeypatch) -> World:
    """A world in which a cursor that an Update has moved goes one entry back: claim 2 breaks."""
    original = Subscription.acknowledge_up_to

    def one_back(self, index, reason, cause):
        moved = original(self, index, reason, cause)
        if moved and reason == "update":
            here, back = (
                self.border.position(self.cursor.mark_delete),
                self.border.position(self.cursor.mark_delete - 1),
            )
            topic = self.topic
            self.runtime.rows.cursor_moved(
                cause,
                cluster=topic.cluster.number,
                topic=topic.number,
                subscription=self.number,
                at=here,
                to=back,
                reason="acknowledgement",
            )
        return moved

    monkeypatch.setattr(Subscription, "acknowledge_up_to", one_back)
    return World.open("two-regions")


def test_seeks_and_branches_do_not_change_what_checks_report(monkeypatch):
    monkeypatch.setattr(trace_module, "BLOCK_ROWS", 256)
    monkeypatch.setattr("simulator.branch.BLOCK_ROWS", 256)
    monkeypatch.setattr("simulator.checks.checks.BLOCK_ROWS", 256)
    world = broken_runs(monkeypatch)
    world.run()
    assert world.violations and world.violations == read_from_the_start(world)
    world.seek(at_us=4_000_000)
    assert world.violations == read_from_the_start(world)
    assert world.apply({"do": "link.cut", "link": "us-west <-> us-east"}).ok
    world.run()
    assert world.violations == read_from_the_start(world)
    assert world.fork().violations == read_from_the_start(world)


def test_a_branch_starts_at_the_nearest_capture(monkeypatch):
    monkeypatch.setattr("simulator.branch.BLOCK_ROWS", 256)
    world = World.open("two-regions")
    world.run()
    live = LiveChecks(world.scenario)
    live.violations(world.trace, world.seq)
    assert live.branched(700)._checks.position == 512
    assert live.branched(100)._checks.position == 0
