"""The effects of the commands of a simulated EMQX, one function per command.

Rules: a function first checks and raises CommandError, then calls `begin()`, then acts
(`simulator.system.commanding`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simulator.protocols.emqx.network import Order
from simulator.protocols.emqx.publisher import PAUSED, RUNNING
from simulator.protocols.emqx.scenario.sections import Subscription, parse_subscription
from simulator.protocols.emqx.session import Session
from simulator.scenarios.commands import CommandError
from simulator.scenarios.tree import Wrong
from simulator.scenarios.units import format_duration
from simulator.system import links
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.emqx.publisher import Publisher
    from simulator.protocols.emqx.system import Emqx

SHARDS_MAX = 256
STOP_RANK = 5
"""After messages, timers and sessions of the instant."""

PORTION_MESSAGES = 100
"""Messages that a command publishes in one event: a millisecond or two, with the readers that it wakes."""


# --- sessions


def connect(system: Emqx, arguments: dict, begin: Begin) -> None:
    """session.connect: a client connects or reconnects; this closes a connection that it still has."""
    session = system.sessions[arguments["session"]]
    node = arguments.get("node", session.node)
    if not system.nodes[node].up:
        raise CommandError("node-down", f"{node} is down", "name a node that is up, or restart it")
    cause = begin()
    session.connect(cause, node, arguments.get("clean", False))


def disconnect(system: Emqx, arguments: dict, begin: Begin) -> None:
    """session.disconnect: the connection ends in order, or the client is lost and the session notices."""
    _online(system, arguments).disconnect(begin())


def kill(system: Emqx, arguments: dict, begin: Begin) -> None:
    """session.kill: the session's process dies."""
    _online(system, arguments).kill(begin(), "killed")


def subscribe(system: Emqx, arguments: dict, begin: Begin) -> None:
    """session.subscribe: to a private filter or a group; repeating a subscription changes nothing."""
    session = _online(system, arguments)
    wanted = _subscription(arguments)
    if wanted.group is not None and not session.spec.durable:
        raise CommandError(
            "not-durable",
            f"{session.name} is kept in memory: nothing would keep its place in a stream of the group",
            "use a durable session, or the filter alone",
        )
    session.subscribe(arguments["topic"], begin())


def unsubscribe(system: Emqx, arguments: dict, begin: Begin) -> None:
    """session.unsubscribe: ends a private or shared subscription."""
    session = _online(system, arguments)
    wanted = _subscription(arguments)
    numbers = [number for number, one in session.subscriptions.items() if one == wanted]
    if not numbers:
        has = ", ".join(one.text for one in session.subscriptions.values()) or "nothing"
        raise CommandError("not-subscribed", f"{session.name} has no {arguments['topic']}", f"it has {has}")
    session.unsubscribe(numbers[0], begin())


def pause_acks(system: Emqx, arguments: dict, begin: Begin) -> None:
    """session.pause-acks: the client receives messages and acknowledges none."""
    session = system.sessions[arguments["session"]]
    if session.acks_paused:
        raise CommandError(
            "already-paused",
            f"{session.name} acknowledges nothing as it is",
            "let it go on with session.resume-acks",
        )
    begin()
    session.acks_paused = True


def resume_acks(system: Emqx, arguments: dict, begin: Begin) -> None:
    """session.resume-acks: the client acknowledges again."""
    session = system.sessions[arguments["session"]]
    if not session.acks_paused:
        raise CommandError(
            "not-paused", f"{session.name} acknowledges", "pause it first with session.pause-acks"
        )
    begin()
    session.acks_paused = False
    session.be_due()


def _subscription(arguments: dict) -> Subscription:
    try:
        return parse_subscription(arguments["topic"])
    except Wrong as wrong:
        raise CommandError("bad-topic", wrong.what, str(wrong.right)) from None


def _online(system: Emqx, arguments: dict) -> Session:
    session = system.sessions[arguments["session"]]
    if not session.online:
        raise CommandError("not-connected", f"{session.name} is not connected", "connect it first")
    return session


# --- leaders, groups, nodes


def crash_leader(system: Emqx, arguments: dict, begin: Begin) -> None:
    """leader.crash: kills the process of the group's leader."""
    leaders = _leaders(system, arguments["group"])
    cause = begin()
    for leader in leaders:
        leader.crash(cause, "crashed")


def stop_leader(system: Emqx, arguments: dict, begin: Begin) -> None:
    """leader.stop: the process shuts down cleanly, commits its progress and releases its claim."""
    leaders = _leaders(system, arguments["group"])
    cause = begin()
    for leader in leaders:
        leader.stop(cause, "stopped")


def _leaders(system: Emqx, group: str) -> list:
    leaders = system.leaders_of(_group(system, group))
    if not leaders:
        raise CommandError(
            "no-leader", f"{group} has no leader", "one is elected when a session subscribes to the group"
        )
    return leaders


def _group(system: Emqx, name: str) -> str:
    if name not in system.groups:
        known = ", ".join(system.groups) or "none yet"
        raise CommandError("unknown-name", f'there is no group "{name}"', f"groups are: {known}")
    return name


def declare(system: Emqx, arguments: dict, begin: Begin) -> None:
    """group.declare: declares a group that the scenario lists, with its start."""
    name = arguments["group"]
    if name in system.store.groups:
        raise CommandError("already-declared", f"{name} is declared", "destroy it first")
    spec = system.scenario.groups.get(name)
    if spec is None:
        raise CommandError(
            "unknown-name",
            f"the scenario lists no group {name}",
            "list it in the section groups, with declared: false",
        )
    cause = begin()
    group = "$queue" if spec.queue else spec.group or name
    system.declare(name, group, spec.filter, arguments.get("startTime_us", system.now_us), cause)


def destroy(system: Emqx, arguments: dict, begin: Begin) -> None:
    """group.destroy: deletes the group with its progress; no messages are kept for it from now on."""
    name = _group(system, arguments["group"])
    if name not in system.store.groups:
        raise CommandError(
            "not-declared", f"{name} is not declared", "declare it, or let a session subscribe to it"
        )
    system.destroy(name, begin())


def crash_node(system: Emqx, arguments: dict, begin: Begin) -> None:
    """node.crash: kills every process of the node."""
    node = system.nodes[arguments["node"]]
    if not node.up:
        raise CommandError("not-up", f"{node.name} is down", "crash a node that is up")
    seq = system.rows.node_crashed(begin(), cluster=node.name)
    for leader in [one for one in system.leaders.values() if one.alive and one.node == node.name]:
        leader.crash(seq, "node-crash")
    node.up = False
    system.registries[node.name].electors.clear()
    for session in system.sessions.values():
        if session.online and session.node == node.name:
            session.kill(seq, "node-crash")


def stop_node(system: Emqx, arguments: dict, begin: Begin) -> None:
    """node.stop: a clean shutdown; with evacuation its clients are disconnected cleanly first."""
    node = system.nodes[arguments["node"]]
    if not node.up:
        raise CommandError("not-up", f"{node.name} is down", "stop a node that is up")
    seq = system.rows.node_stopped(begin(), cluster=node.name)
    if arguments.get("evacuate", False):
        for session in system.sessions.values():
            if session.online and session.node == node.name:
                session.disconnect(seq, "evacuated")
    # after the messages that the node's processes send each other at this instant
    system.schedule(system.now_us, STOP_RANK, system.stop_node, (node.name, seq))


def restart_node(system: Emqx, arguments: dict, begin: Begin) -> None:
    """node.restart: the node starts empty; its sessions return when their clients connect."""
    node = system.nodes[arguments["node"]]
    if node.up:
        raise CommandError("not-down", f"{node.name} is up", "crash or stop it first")
    system.rows.node_restarted(begin(), cluster=node.name)
    node.up = True


# --- storage and the leaders' store


def close_generation(system: Emqx, arguments: dict, begin: Begin) -> None:
    """storage.close-generation: ends the streams of all shards; later messages open new ones."""
    cause = begin()
    closed = system.storage.next_generation(system.now_us)
    kept = sum(stream.kept for stream in closed)
    seq = system.rows.generation_opened(cause, ledger=system.storage.generation, count=kept)
    for stream in closed:
        if stream.kept:
            system.rows.stream_closed(
                seq,
                topic=stream.name,
                count=stream.rank.shard,
                ledger=stream.rank.generation,
                entry=stream.length,
            )
        system.wake(stream)


def add_shards(system: Emqx, arguments: dict, begin: Begin) -> None:
    """storage.add-shards: clients are distributed over more shards from now on."""
    count = arguments["count"]
    if system.storage.shards + count > SHARDS_MAX:
        raise CommandError(
            "too-many", f"that would be {system.storage.shards + count} shards", f"at most {SHARDS_MAX}"
        )
    cause = begin()
    system.storage.shards += count
    system.rows.shards_added(cause, count=count, entry=system.storage.shards)


def fail_store(system: Emqx, arguments: dict, begin: Begin) -> None:
    """store.fail: the leaders' store is unavailable for a while, to all nodes or to one."""
    seq = begin()
    if "node" in arguments:
        system.store.cut_until_us[arguments["node"]] = max(
            system.now_us + arguments["for_us"], system.store.cut_until_us.get(arguments["node"], 0)
        )
        system.rows.store_unreachable(seq, cluster=arguments["node"], duration_us=arguments["for_us"])
        return
    system.store.failing_until_us = system.now_us + arguments["for_us"]
    system.rows.store_failed(seq, duration_us=arguments["for_us"])


def update_config(system: Emqx, arguments: dict, begin: Begin) -> None:
    """config.update: sets a timer's duration on all nodes (durable_queues)."""
    name, value_us = arguments["setting"], arguments["value_us"]
    if system.setting(name) == value_us:
        raise CommandError(
            "no-change", f"{name} is already {format_duration(value_us)}", "give another value"
        )
    seq = begin()
    system.update_setting(name, value_us)
    system.rows.config_updated(seq, reason=name, detail=format_duration(value_us), duration_us=value_us)


# --- messages between processes, publishers


def disturb(fate: str) -> Handler:
    """protocol.lose, protocol.delay, protocol.duplicate: an order for the next message that matches."""

    def order(system: Emqx, arguments: dict, begin: Begin) -> None:
        begin()
        system.network.orders.append(
            Order(
                fate,
                arguments["type"],
                arguments.get("session"),
                arguments.get("group"),
                arguments.get("by_us", 0),
                arguments.get("stream"),
                arguments.get("skip", 0),
            )
        )

    return order


def publish(system: Emqx, arguments: dict, begin: Begin) -> None:
    """publisher.publish: publishes `count` messages at once."""
    system.in_portions(_published(system.publishers[arguments["publisher"]], arguments["count"], begin()))


def _published(publisher: Publisher, count: int, cause: int) -> Iterator[int]:
    for number in range(1, count + 1):
        publisher.publish(cause)
        if number % PORTION_MESSAGES == 0:
            yield PORTION_MESSAGES


def pause_publisher(system: Emqx, arguments: dict, begin: Begin) -> None:
    """publisher.pause: stops publishing."""
    publisher = system.publishers[arguments["publisher"]]
    if publisher.state != RUNNING:
        raise CommandError("already-paused", f"{publisher.name} is paused", "resume it first")
    system.rows.client_changed(begin(), cluster=None, client=publisher.name, reason=PAUSED)
    publisher.pause()


def resume_publisher(system: Emqx, arguments: dict, begin: Begin) -> None:
    """publisher.resume: starts publishing again."""
    publisher = system.publishers[arguments["publisher"]]
    if publisher.state != PAUSED:
        raise CommandError("not-paused", f"{publisher.name} publishes", "pause it first")
    system.rows.client_changed(begin(), cluster=None, client=publisher.name, reason=RUNNING)
    publisher.resume()


HANDLERS: dict[str, Handler] = {
    "session.connect": connect,
    "session.disconnect": disconnect,
    "session.kill": kill,
    "session.subscribe": subscribe,
    "session.unsubscribe": unsubscribe,
    "session.pause-acks": pause_acks,
    "session.resume-acks": resume_acks,
    "leader.crash": crash_leader,
    "leader.stop": stop_leader,
    "group.declare": declare,
    "group.destroy": destroy,
    "node.crash": crash_node,
    "node.stop": stop_node,
    "node.restart": restart_node,
    **links.HANDLERS,
    "storage.close-generation": close_generation,
    "storage.add-shards": add_shards,
    "store.fail": fail_store,
    "config.update": update_config,
    "protocol.lose": disturb("lose"),
    "protocol.delay": disturb("delay"),
    "protocol.duplicate": disturb("duplicate"),
    "publisher.publish": publish,
    "publisher.pause": pause_publisher,
    "publisher.resume": resume_publisher,
}
