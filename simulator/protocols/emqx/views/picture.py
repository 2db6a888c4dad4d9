"""Small pictures of group labs: the leader's view, streams with positions, clients with leases.

Rules: only as many items as fit a card. Streams with no reader or with two come first. Clients are numbered
as on the lab's page, for hue and shape.
"""

from __future__ import annotations

from typing import Any

STREAMS = 9
CLIENTS = 6
"""The most streams and clients of a card."""

STEP_US = 250_000
STEPS = 48
"""The number of steps of STEP_US after the first command at which instants are compared."""

QUIET_US = 1_000_000
"""Commands before this instant only prepare the run."""


def gallery_picture(world: Any) -> dict[str, Any]:
    """The picture of the instant after a command with the most trouble: no leader, or no or two readers.

    Without commands: half-way, or later when the first leader is elected.
    """
    scenario = world.scenario
    requested_us = [command.at_us for command in scenario.commands if command.at_us >= QUIET_US]
    if not requested_us:
        world.run(scenario.until_us // 2)
        while (
            not any(one["leaders"] for one in world.view()["groups"].values())
            and world.now_us < scenario.until_us
            and not world.limit_reached
        ):
            world.run(min(scenario.until_us, world.now_us + STEP_US))  # no leader has been elected yet
        return picture_at(world)
    found: tuple[int, dict[str, Any]] | None = None
    world.run(requested_us[0])
    for _step in range(STEPS):
        world.run(min(scenario.until_us, world.now_us + STEP_US))
        if found is None or _trouble(world) > found[0]:
            found = _trouble(world), picture_at(world)
        if world.now_us >= scenario.until_us or world.limit_reached:
            break
    assert found is not None
    return found[1]


def _trouble(world: Any) -> int:
    groups = world.view()["groups"].values()
    return sum(
        3 * one["figures"]["two_readers_now"] + one["figures"]["unowned_now"] + 2 * (not one["leaders"])
        for one in groups
        if one["figures"]
    )


def picture_at(world: Any) -> dict[str, Any]:
    """The picture of the first group at the present instant.

    Returns {at_us, lanes: [], group: {leader, clients, streams}}, or group None. `leader` is {dead, stable}
    or None. Clients are [{number, online, own, known}], with leases as shares of the longest. Streams are
    [{believed, state, readers, length, over (read to its end), committed, delivered}], with clients by
    number.
    """
    view = world.view()
    picture: dict[str, Any] = {"at_us": world.now_us, "lanes": [], "group": None}
    name = next(iter(view["groups"]), None)
    if name is None:
        return picture
    group = view["groups"][name]
    leader = next(iter(group["leaders"].values()), None)
    numbers = {client: number for number, client in enumerate(view["sessions"])}
    streams = [_stream(stream, one, view, leader, numbers) for stream, one in group["streams"].items()]
    odd = sorted(
        range(len(streams)),
        key=lambda place: (len(streams[place]["readers"]) == 1 or streams[place]["over"], place),
    )[:STREAMS]
    shown = [streams[place] for place in sorted(odd)]
    wanted = [number for one in shown for number in (*one["readers"], one["believed"]) if number is not None]
    clients = list(dict.fromkeys([*wanted, *numbers.values()]))[:CLIENTS]
    picture["group"] = {
        "leader": {"dead": leader is None, "stable": group["stability"]["stable"]}
        if leader or group["claim"]
        else None,
        "clients": [
            _client(client, number, view, name, leader)
            for client, number in numbers.items()
            if number in clients
        ],
        "streams": shown,
    }
    return picture


def _stream(
    name: str,
    one: dict[str, Any],
    view: dict[str, Any],
    leader: dict[str, Any] | None,
    numbers: dict[str, int],
) -> dict[str, Any]:
    believed = leader["streams"].get(name) if leader else None
    owner = believed and believed["owner"]
    readers = list(dict.fromkeys(numbers[who.rsplit("/", 1)[0]] for who in one["readers"]))
    furthest = max((reader["delivered"] for reader in one["readers"].values()), default=one["committed"])
    kept = view["streams"].get(name, {"length": furthest, "closed": False})
    over = kept["closed"] and one["committed"] >= kept["length"] and not readers
    return {
        "believed": numbers[owner.rsplit("/", 1)[0]] if owner else None,
        "state": believed["state"] if believed else None,
        "readers": readers,
        "length": kept["length"],
        "over": over,
        "committed": one["committed"],
        "delivered": furthest,
    }


def _client(
    client: str, number: int, view: dict[str, Any], group: str, leader: dict[str, Any] | None
) -> dict[str, Any]:
    """One client of the picture.

    `own` is its newest borrower's lease, `known` what the leader keeps of any of its borrowers, both as
    shares of the longest lease.
    """
    session = view["sessions"][client]
    whole_us = (
        view["spans_us"]["session_ping_leader_interval"] + view["spans_us"]["session_ping_leader_timeout"]
    )
    own = [
        one["until_us"]
        for one in session["borrowers"].values()
        if one["group"] == group and one["until_us"] is not None
    ]
    known = [
        one["deadline_us"]
        for who, one in (leader["borrowers"] if leader else {}).items()
        if who.rsplit("/", 1)[0] == client
    ]

    def share(instants: list[int]) -> float:
        return round(max(0, max(instants) - view["at_us"]) / whole_us, 3) if instants else 0

    return {
        "number": number,
        "online": session["state"] == "online",
        "own": share(own),
        "known": share(known),
    }
