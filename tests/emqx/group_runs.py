"""Small scenarios of durable shared subscriptions for tests, and queries of a run."""

from __future__ import annotations

from simulator import World, load_scenario

SECOND = 1_000_000


def open_world(body: str, until: str = "20s", seed: int = 1) -> World:
    """A world of a scenario given without its head.

    Leaders at other nodes can be reached (emqx#18143) unless the text says otherwise. Everything else is as
    shipped by default.
    """
    head = (
        f"format: 1\nname: x\ntitle: x\nfamily: durable-shared-subscriptions\nuntil: {until}\nseed: {seed}\n"
    )
    reachable = [("options.remoteLeaders", "reachable")] if "remoteLeaders" not in body else []
    return World.from_scenario(load_scenario(head + body.strip() + "\n", overrides=reachable))


def run(body: str, until: str = "20s", seed: int = 1) -> World:
    """The same, run to its end; a refused command is a mistake in the test."""
    world = open_world(body, until, seed)
    world.run()
    refused = [one for one in world.command_results if not one["ok"]]
    assert not refused, refused
    return world


def rows(world: World, *types: str, **equal) -> list[dict]:
    """The rows of these types with these fields."""
    found = world.trace.rows(0, world.seq, types=types)
    return [row for row in found if all(row.get(name) == value for name, value in equal.items())]


def group(world: World, name: str) -> dict:
    """What was counted of a group."""
    summary = world.summary()
    assert summary["violations"] == []
    return summary["groups"][name]


def instants(world: World, client: str) -> list[int]:
    """The instants at which a client received messages."""
    return [row["at_us"] for row in rows(world, "message.delivered", client=client)]


def tick_after(world: World, at_us: int) -> int:
    """When the first leader checks its deadlines next after an instant."""
    interval_us = world.runtime.setting("leader_periodical_actions_interval")
    phase_us = world.runtime.leaders[1].due_us("periodical_actions") % interval_us
    return at_us + 1 + (phase_us - at_us - 1) % interval_us
