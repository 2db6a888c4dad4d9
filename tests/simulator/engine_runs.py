"""Short scenarios for tests of the engine.

A text without its head becomes a world; rows of the trace are selected by their fields.
"""

from __future__ import annotations

from simulator import World, load_scenario_text

HEAD = "format: 1\nname: engine-test\ntitle: Engine test\n"
MS, SECOND = 1_000, 1_000_000


def open_world(
    body: str, until: str = "10s", seed: int = 1, family: str = "replicated-subscriptions", **more
) -> World:
    """A world at instant 0."""
    return World.from_scenario(
        load_scenario_text(f"{HEAD}family: {family}\nuntil: {until}\nseed: {seed}\n{body}"), **more
    )


def run(body: str, until: str = "10s", seed: int = 1, **more) -> World:
    """The same, run to its end."""
    world = open_world(body, until, seed, **more)
    world.run()
    return world


def rows(world: World, type_: str, **wanted) -> list[dict]:
    """Rows of a type up to now whose fields have these values (a missing field is None)."""
    found = world.trace.rows(0, world.seq, types=[type_])
    return [row for row in found if all(row.get(name) == value for name, value in wanted.items())]


def at_ms(found: list[dict]) -> list[float]:
    """The rows' instants in milliseconds."""
    return [row["at_us"] / MS for row in found]


def numbers(found: list[dict]) -> list[int]:
    """The rows' sequence ids."""
    return [row["sequence_id"] for row in found]


def positions(found: list[dict]) -> list[str]:
    """The rows' positions."""
    return [f"{row['ledger']}:{row['entry']}" for row in found]


def do(world: World, name: str, **arguments) -> None:
    """Give a command that must be accepted; `from_` and `for_` mean `from` and `for`."""
    result = world.apply({"do": name, **{key.rstrip("_"): value for key, value in arguments.items()}})
    assert result.ok, (name, result.error, result.hint)


def topic(world: World, cluster: str, name: str = "t") -> dict:
    """A topic of the live view."""
    return world.view()["clusters"][cluster]["topics"][name]


def subscription(world: World, cluster: str, name: str = "s", topic_name: str = "t") -> dict:
    """A subscription of the live view."""
    return topic(world, cluster, topic_name)["subscriptions"][name]
