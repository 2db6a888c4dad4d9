"""Runs of durable shared subscriptions that no built-in scenario covers.

Random faults of code and network, and groups of every shape beside private subscriptions.
"""

from __future__ import annotations

from random import Random

from simulator import Trace, World
from simulator.protocols.emqx.protocol import MESSAGES
from simulator.protocols.registry import BY_NAME, VOCABULARY
from simulator.trace.registry import COLUMNS, NAME, NULL
from tests.emqx.group_runs import SECOND, run
from tests.emqx.test_group_swarm import NODES, SESSIONS, SHARE, SHIPPED, world_of

SEEDS = (14, 30, 43, 56, 58)
"""Among them every cause, two readers and redeliveries."""

CUT = ((3, 18 * SECOND), (10, 12 * SECOND), (15, 22 * SECOND), (21, 5 * SECOND))
"""Random runs that end while messages are to be delivered again: seed and end."""

MANY_SHAPES = """
settings: {n_shards: 2, batch_size: 4}
nodes: {n1: {}, n2: {}}
links: {default: {latency: 5ms}}
groups: {all: {filter: "#"}, one-level: {filter: "t/+"}, late: {filter: "t/a", startTime: 2s}, system: {filter: "$sys/#"}, queue: {group: $queue, filter: "t/#"}}
publishers:
  a: {topic: t/a, every: 70ms, stop: 18s}
  b: {topic: t/b/c, every: 90ms, stop: 18s, qos: 0}
  c: {topic: t, every: 110ms, stop: 18s, qos: 2}
  d: {topic: $sys/x, every: 400ms, stop: 18s}
sessions:
  ada: {node: n1, start: 500ms, processing: 40ms, reconnect: 7s, subscriptions: ["$share/all/#", "$share/one-level/t/+", "$queue/t/#", "t/#"]}
  bob: {node: n2, start: 1s, processing: 30ms, reconnect: 3s, subscriptions: ["$share/all/#", "$share/late/t/a", "$queue/t/#"]}
  eve: {node: n2, start: 4s, processing: 1ms, qos: 0, subscriptions: ["$share/all/#", "$share/system/$sys/#", "$share/one-level/t/+"]}
commands:
  - {at: 5s, do: session.kill, session: ada}
  - {at: 9s, do: leader.crash, group: all}
  - {at: 11s, do: storage.close-generation}
  - {at: 12s, do: group.destroy, group: queue}
  - {at: 13s, do: session.kill, session: bob}
  - {at: 14s, do: group.declare, group: queue, startTime: 13s}
  - {at: 15s, do: node.crash, node: n2}
"""


def random_world(seed: int, until_us: int = 60 * SECOND) -> World:
    """Three sessions on two nodes, up to fourteen faults, some of the code's own."""
    chance = Random(seed)
    options = {name: value for name, value in SHIPPED.items() if chance.random() < 0.35}
    schedule = [(chance.randint(100, 20_000), _fault(chance)) for _ in range(chance.randint(4, 14))]
    link = chance.choice(("", ", loss: 10%", ", loss: 5%, duplication: 5%, reordering: 10%"))
    world = world_of(
        schedule, seed, link, chance.choice((1, 3, 100)), chance.choice(("0s", "20ms", "150ms")), options
    )
    world.run(until_us)
    return world


def _fault(chance: Random) -> str:
    session = chance.choice(SESSIONS)
    return chance.choice(
        (
            f"session.kill, session: {session}",
            f"session.disconnect, session: {session}",
            f"session.connect, session: {session}",
            f"session.pause-acks, session: {session}",
            f"session.resume-acks, session: {session}",
            f"session.subscribe, session: {session}, topic: {SHARE}",
            f"session.unsubscribe, session: {session}, topic: {SHARE}",
            "leader.crash, group: g",
            "leader.stop, group: g",
            "storage.close-generation",
            "storage.add-shards, count: 1",
            "store.fail, for: 3s",
            f"node.crash, node: {chance.choice(NODES)}",
            f"node.restart, node: {chance.choice(NODES)}",
            "link.cut, link: n1 <-> n2",
            "link.heal, link: n1 <-> n2",
            f"protocol.lose, type: {chance.choice(MESSAGES)}",
            f"protocol.delay, type: {chance.choice(MESSAGES)}, by: {chance.randint(1, 12_000)}ms",
            f"protocol.duplicate, type: {chance.choice(MESSAGES)}, by: {chance.randint(0, 3_000)}ms",
            f"session.connect, session: {session}, node: {chance.choice(NODES)}",
            f"node.stop, node: {chance.choice(NODES)}",
            f"store.fail, for: {chance.randint(20, 90)}s, node: {chance.choice(NODES)}",
            f"config.update, setting: leader_borrower_timeout, value: {chance.randint(2_000, 8_000)}ms",
        )
    )


def group_worlds() -> dict[str, World]:
    """By name."""
    whole = {f"groups-random-{seed}": random_world(seed) for seed in SEEDS}
    cut = {f"groups-cut-{seed}": random_world(seed, until_us) for seed, until_us in CUT}
    return whole | cut | {"groups-of-every-shape": run(MANY_SHAPES, until="50s")}


def lost_by_hand(world: World) -> Trace:
    """The rows of a run in which every seventh message was never delivered, though positions passed it.

    No engine of the lab does that, but counting must detect it.
    """
    trace = Trace(VOCABULARY)
    for row in world.trace.rows():
        gone = row["type"] in ("message.delivered", "message.acknowledged") and row["sequence_id"] % 7 == 0
        event = BY_NAME["store.failed" if gone else row["type"]]
        values = (row.get(name, NULL) for name in event.fields)
        trace.append(
            (
                event.code,
                row["at_us"],
                row.get("cause_seq", NULL),
                *(
                    trace.intern(value) if COLUMNS[name][0] == NAME and value != NULL else value
                    for name, value in zip(event.fields, values, strict=True)
                ),
            )
        )
    return trace
